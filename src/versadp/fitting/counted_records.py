"""Records that a state has counted: by digests of parts, by edition, and by a fingerprint of all records.

    fingerprint = (n, sum over rows of hash(row) mod 2^64)

It does not depend on how records are cut into files or sorted: the hash is the public one of `release/path/order.py`.
Two sets of records with one fingerprint are the same records: others have it with probability about 2^-64.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from versadp.engine import is_remote, local_engine
from versadp.errors import DataError, ReleaseError
from versadp.release.folder.edition_folders import find_editions
from versadp.release.folder.folder import Folder
from versadp.release.folder.parts import plain_table
from versadp.release.path.order import row_hash

if TYPE_CHECKING:
    from collections.abc import Collection

    from versadp.engine import Engine
    from versadp.fitting.update_state import State
    from versadp.release.folder.folder import Handle
    from versadp.release.release import Release

Fingerprint = tuple[int, int]
HASHES = 2**64  # values of the public row hash


def fingerprint(release: Release, engine: Engine) -> Fingerprint:
    """Return the fingerprint of all records of a release, in one pass.

    Examples
    --------
    >>> import pyarrow as pa, versadp as vdp
    >>> from versadp.engine import Serial
    >>> mech = vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(0, 1)}), scale=0.5)
    >>> one, two = (vdp.Release(pa.table({"x": x}), mech) for x in ([0.5, 0.25, 0.75], [0.75, 0.5, 0.25]))
    >>> fingerprint(one, Serial()) == fingerprint(two, Serial())
    True
    """
    worker = engine if is_remote(engine) and release.on_disk else local_engine(engine)
    found = worker.sum(partial(_of_handle, release), release.handles())
    return (0, 0) if found is None else (found[0], found[1] % HASHES)


def _of_handle(release: Release, handle: Handle) -> Fingerprint:
    rows = plain_table(release.read(handle).select(list(release.mechanism.schema.columns)))
    hashes = row_hash(dict(zip(rows.column_names, rows.columns, strict=True)))
    return rows.num_rows, int(np.add.reduce(hashes, dtype=np.uint64))


def is_among(new: Fingerprint, seen: tuple[Fingerprint, ...]) -> bool:
    """Return whether records are all of those that were seen up to some point, or those seen at once.

    Examples
    --------
    >>> is_among((5, 7), ((3, 4), (2, 3))), is_among((2, 3), ((3, 4), (2, 3))), is_among((5, 4), ((3, 4), (2, 3)))
    (True, True, False)
    """
    rows = total = 0
    for count, hashes in seen:
        rows, total = rows + count, (total + hashes) % HASHES
        if new in {(rows, total), (count, hashes)}:
            return True
    return False


def refuse_counted(new: Fingerprint, seen: tuple[Fingerprint, ...]) -> None:
    """Refuse records that were seen, in whatever files they are now."""
    if is_among(new, seen):
        raise DataError(
            "all of these records are in the state already, in files that are cut otherwise",
            hint="go on from the folder that they are from, or from a copy of it: vdp.load(folder).save(copy)",
        )


def edition_of(release: Release) -> int | None:
    """Return which edition of its folder a release is; None for a table."""
    return None if release.manifest is None else release.edition


def refuse_other_edition(release: Release, edition: int | None, parts: Collection[str]) -> None:
    """Refuse records of people who were counted already, as another edition has them.

    Parameters
    ----------
    release : Release
    edition : int, optional
        Of what was counted, if that is known.
    parts : collection of str
        Digests of the parts that were counted.
    """
    source, own = release._source, edition_of(release)  # noqa: SLF001 - where its records are
    other = None not in {own, edition} and own != edition
    if not other and isinstance(source, Folder) and release.other_editions:
        there = find_editions(source.storage.path)[0].manifests.items()
        other = not {part.sha256 for number, each in there if number != own for part in each.parts}.isdisjoint(parts)
    if other:
        before = f"; or go on with the one of the state: vdp.load(folder, edition={edition})" if edition else ""
        raise ReleaseError(
            "the state is of another edition: most of these people are in it already, with other noise",
            hint=f"fit this edition anew{before}",
        )


def mechanism_digest(release: Release) -> str:
    """Return a digest of the mechanism that made a release."""
    text = json.dumps(release.mechanism.to_dict(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def part_digests(release: Release) -> list[str]:
    """Return digests of the released parts: a folder's manifest has them, and a table is one part."""
    source = release._source  # noqa: SLF001 - where its records are
    if isinstance(source, Folder):
        return [part.sha256 for part in source.manifest.parts]
    import pyarrow as pa

    whole = hashlib.sha256()
    for batch in release.batches():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema.remove_metadata()) as writer:
            writer.write_batch(batch.replace_schema_metadata(None))
        whole.update(sink.getvalue())
    return [whole.hexdigest()]


def unseen(release: Release, state: State) -> tuple[Release, list[str]]:
    """Return what a state has not seen of a release, and the digests of its parts."""
    if mechanism_digest(release) != state.mechanism:
        raise ReleaseError(
            "the new records were released by another mechanism than the old ones",
            hint="append to the release, or release with the same mechanism; or fit the two by themselves",
        )
    refuse_other_edition(release, state.edition, state.seen)
    digests, before = part_digests(release), set(state.seen)
    new = [digest for digest in digests if digest not in before]
    if not new:
        raise DataError("all of these records are in the state already", hint="give what came since")
    source = release._source  # noqa: SLF001 - as above
    if len(new) < len(digests):
        assert isinstance(source, Folder)
        parts = tuple(part for part in source.manifest.parts if part.sha256 not in before)
        source = replace(source, manifest=replace(source.manifest, parts=parts))
        release = release.with_source(source)
    return release, new
