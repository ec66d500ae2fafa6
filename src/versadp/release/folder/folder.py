"""A release on disk, or in a store: Parquet parts and a manifest.

A folder is read whole, batch by batch, or by handles: one small object a Parquet row group, that can be sent to
another process and read there. Whichever way, a part's digest is checked before its records are used.
"""

from __future__ import annotations

import secrets
import shutil
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from versadp import inputs
from versadp.engine import Pool
from versadp.errors import ParameterError, ReleaseError, VersadpError
from versadp.release.atomic_write import create, sync_file, sync_folder
from versadp.release.folder.manifest import MANIFEST, Manifest, read_manifest, text_of
from versadp.release.folder.part_file import PartFile, spoilt
from versadp.release.folder.parts import GROUP_ROWS, part_name, part_options, part_rows, plain_table
from versadp.release.folder.publish import put_release
from versadp.release.folder.signature import SIGNATURE, copied
from versadp.release.folder.storage import DAMAGED, InStore, OnDisk, footer_of, storage_of
from versadp.release.object_store import Stored, is_stored, place_of
from versadp.release.path.order import lot_start, lots_of, row_hash

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from os import PathLike

    from versadp.release.folder.metadata import Metadata
    from versadp.release.mechanism import Mechanism
    from versadp.release.path.order import Order
    from versadp.release.release import Release
    from versadp.release.totals.sheet import Totals

PART_ROWS = 2**20
MOST_BYTES = 2**30
ASKED = 8  # requests to a store at a time
# parts whose bytes this process has looked at, each with the opening of its folder: a folder that is opened anew is
# looked at anew, copies of one that were sent to a process are not
_checked: set[tuple[str, str]] = set()
_checking: defaultdict[tuple[str, str], Lock] = defaultdict(Lock)  # threads that want the same part wait for one


class _Reading:
    """Turns what arrow says about a part that is not what it seems into our error."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, DAMAGED) and not isinstance(problem, VersadpError):
            raise spoilt(f"a part cannot be read ({type(problem).__name__})") from None


@dataclass(frozen=True)
class Handle:
    """A row group of a release: where it is, and which records it holds; small, and read by `Folder.read_handle`."""

    file: str
    group: int
    first: int
    rows: int


@dataclass(frozen=True)
class Folder:
    """A release folder whose manifest has been read and checked; parts are checked when they are read.

    Examples
    --------
    >>> import pandas as pd, tempfile, versadp as vdp
    >>> schema = vdp.Schema({"age": vdp.Bounded(18, 90), "y": vdp.Public()})
    >>> people = pd.DataFrame({"age": [30, 41], "y": [0, 1]})
    >>> release = vdp.Mechanism(schema, scale=0.25, exact_rate=0.2).release(people, shuffle=False)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     release.save(place + "/released")
    ...     folder = open_folder(place + "/released")
    ...     for handle in folder.handles():
    ...         print(handle, folder.read_handle(handle, ["y"]).to_pydict())
    Handle(file='part-00000.parquet', group=0, first=0, rows=2) {'y': [0, 1]}
    """

    storage: OnDisk | InStore
    manifest: Manifest
    _opening: str = field(default_factory=lambda: secrets.token_hex(8), repr=False, compare=False)
    ahead: bool = field(default=False, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as a name: a worker reads the manifest, once, and refuses another than this."""
        return _reopened, (self.storage, self.manifest.digest, self._opening)

    @property
    def mechanism(self) -> Mechanism:
        """Mechanism that made the noise."""
        return self.manifest.mechanism

    @property
    def rows(self) -> int:
        """Number of records."""
        return self.manifest.rows

    @property
    def insecure(self) -> bool:
        """True if the noise came from a seed."""
        return self.manifest.insecure

    def read(self) -> pa.Table:
        """Return all records."""
        with _Reading():
            return pa.concat_tables([unpacked(self._file(part).read()) for part in self.manifest.parts])

    @cached_property
    def totals(self) -> tuple[Totals, ...]:
        """Noisy totals of each batch, read and checked; empty if there are none."""
        if not self.manifest.totals:
            return ()
        from versadp.release.totals.file import read_totals

        return tuple(read_totals(self.storage, part, self.mechanism) for part in self.manifest.totals)

    def batches(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the records part by part, at most `rows` at a time; with `columns` these alone are read."""
        names = self._names(columns)
        for part in self.manifest.parts:
            with _Reading(), self._file(part) as file:
                for packed in file.iter_batches(rows, columns=names):
                    batch = unpacked(packed)
                    yield batch if names is None else batch.select(names)

    @property
    def travels(self) -> bool:
        """True if handles can be read elsewhere: wherever the folder can be seen."""
        return True

    @property
    def where(self) -> str:
        """Place of the records."""
        return self.storage.where

    @cached_property
    def types(self) -> pa.Schema:
        """Names and types of the columns, from the footer of the first part."""
        with _Reading():
            return self.storage.footer(self.manifest.parts[0]).schema.to_arrow_schema()

    def handles(self) -> tuple[Handle, ...]:
        """Return a handle for every row group, in the order of the records; only footers are read."""
        handles: list[Handle] = []
        first = 0
        for part, footer in zip(self.manifest.parts, _footers(self.storage, self.manifest), strict=True):
            groups = [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]
            if sum(groups) != part.rows:
                raise spoilt(f"{part.name} has other records than the manifest says")
            for group, rows in enumerate(groups):
                handles.append(Handle(part.name, group, first, rows))
                first += rows
        return tuple(handles)

    def read_handle(self, handle: Handle, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the records of a row group, with all columns or those that are named."""
        names = self._names(columns)
        part = next((part for part in self.manifest.parts if part.name == handle.file), None)
        if part is None:
            raise ParameterError(f"the release has no part {handle.file!r}", hint="take handles from this folder")
        with _Reading(), self._opened(self._at_hand(part) if self.ahead else self._check(part)) as file:
            # in this thread: whoever wants more reads several handles at a time
            table = unpacked(file.read_row_group(handle.group, columns=names, use_threads=False))
        if table.num_rows != handle.rows:  # its footer was another when handles were made
            raise spoilt(f"{part.name} was changed after release")
        return table if names is None else table.select(names)

    def _names(self, columns: Sequence[str] | None) -> list[str] | None:
        """Return the columns to read: arrow would pass over a name that it does not find."""
        for name in columns or ():
            if name not in self.mechanism.schema.columns:
                raise ParameterError(f"the release has no column {name!r}", hint="columns are those of the schema")
        return None if columns is None else list(columns)

    def check(self) -> None:
        """Refuse parts whose bytes are not what the manifest says; what was checked already is not read again."""
        with _Reading():
            for part in self.manifest.parts:
                self._check(part)

    def _file(self, part: PartFile) -> pq.ParquetFile:
        """Open a part that is what the manifest says."""
        return self._opened(self._check(part))

    def _opened(self, part: Any) -> pq.ParquetFile:
        """Open a part; texts stay in their dictionaries, each once, until it is known how long they are together."""
        return pq.ParquetFile(part, read_dictionary=list(self.mechanism.schema.columns))

    def _at_hand(self, part: PartFile) -> Any:
        """Return the part, or where it is: at once if another thread is taking its digest, else once it is checked."""
        if self.storage.slow or not _checking[self._opening, part.name].locked():
            return self._check(part)
        _check_footer(part, self.storage.footer(part), self.mechanism.schema.columns)
        return self.storage.again(part)

    def _check(self, part: PartFile) -> Any:
        """Return the part, or where it is, once its bytes are what the manifest says."""
        own = self._opening, part.name
        with _checking[own]:
            if own not in _checked:
                _check_footer(part, footer_of(part, self.storage.opened(part)), self.mechanism.schema.columns)
                _checked.add(own)
        return self.storage.again(part)


def unpacked(rows: Any) -> Any:
    """Return records with their texts written out, unless they would be longer than a group may be."""
    for at, column in enumerate(rows.columns):
        if pa.types.is_dictionary(column.type):
            chunks = getattr(column, "chunks", [column])
            for chunk in chunks:
                length = pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() or 0
                if length > MOST_BYTES:
                    raise spoilt(f"texts of a group would unpack to more than {MOST_BYTES // 2**20} MiB")
            rows = rows.set_column(at, rows.schema.names[at], column.cast(pa.large_string()))
    return rows


@lru_cache(maxsize=8)
def _reopened(storage: OnDisk | InStore, digest: str, opening: str) -> Folder:
    manifest = read_manifest(storage)
    if manifest.digest != digest:
        raise spoilt("the release was replaced or appended to while it was being read")
    return Folder(storage, manifest, opening)


def open_folder(path: str | PathLike[str] | Stored) -> Folder:
    """Read a release's manifest and check it, and the ends of its parts."""
    return open_storage(storage_of(place_of(path, "the folder of a release")))


def open_storage(storage: OnDisk | InStore) -> Folder:
    """Read the manifest of the release in a storage and check it, and the ends of its parts."""
    manifest = read_manifest(storage)
    for part, footer in zip(manifest.parts, _footers(storage, manifest), strict=True):
        _check_footer(part, footer, manifest.mechanism.schema.columns)
    return Folder(storage, manifest)


def _footers(storage: OnDisk | InStore, manifest: Manifest) -> Iterator[Any]:
    """Yield the footers of all parts; a store is asked for several at a time."""
    return (
        Pool("threads", ASKED).map(storage.footer, manifest.parts)
        if storage.slow
        else map(storage.footer, manifest.parts)
    )


def write_folder(
    path: str | Path | Stored, release: Release, folder: Folder | None = None, metadata: Metadata | None = None
) -> None:
    """Write a release, which may be that of a folder, to a new folder; it appears whole or not at all."""
    if is_stored(path):
        put_release(Stored.at(str(path)), release, folder, metadata)
        return
    target = inputs.path(path, "a new folder")
    if target.exists():
        raise ReleaseError(f"{str(target)!r} exists already", hint="a release is written once: choose a new folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.parent / f".{target.name}.{secrets.token_hex(6)}.partial"
    scratch.mkdir()
    try:
        if folder is None:
            parts = _write_parts(scratch, release)
            said = (metadata or release.metadata).begun(release.metadata.earlier)
            made = Manifest.of(
                release.mechanism,
                parts,
                insecure=release.insecure,
                order=release.order,
                metadata=said,
                totals=_write_totals(scratch, release),
            )
            made.write(scratch)
        else:
            _copy_editions(folder, scratch)
        sync_folder(scratch)
        scratch.rename(target)
        sync_folder(target.parent)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _write_totals(scratch: Path, release: Release) -> list[PartFile]:
    """Write the totals of a release in memory, which is one batch."""
    from versadp.release.totals.file import write_totals

    totals = release.totals
    return [] if totals is None else [write_totals(scratch, 0, totals)]


def _copy_editions(folder: Folder, scratch: Path) -> None:
    """Copy a release with all editions of its folder: they are out together."""
    from versadp.release.folder.edition_folders import all_editions, edition_place

    for number, edition in all_editions(folder).items():
        place = edition_place(scratch, number)
        place.mkdir(exist_ok=True)
        _copy(edition, place)
        if number > 1:
            sync_folder(place)


def _copy(folder: Folder, scratch: Path) -> None:
    """Copy a release as it is: parts that have other bytes would be taken for other records."""
    for part in (*folder.manifest.parts, *folder.manifest.totals):
        found = folder.storage.opened(part)
        with _Reading(), scratch.joinpath(part.name).open("xb") as out:
            if isinstance(found, Path):
                with found.open("rb") as file:
                    shutil.copyfileobj(file, out)
            else:
                with found:
                    shutil.copyfileobj(found, out)
        sync_file(scratch / part.name)
    create(scratch / MANIFEST, text_of(folder.manifest, folder.storage), mode=0o666)
    if (signature := copied(folder.storage)) is not None:
        create(scratch / SIGNATURE, signature, mode=0o666)


def _write_parts(folder: Path, release: Release) -> list[PartFile]:
    table, schema = plain_table(release.to_arrow()), release.mechanism.schema
    parts = []
    for number, (start, stop) in enumerate(pairwise(_cuts(table, release.order, part_rows(schema, PART_ROWS)))):
        path, piece = folder / part_name(number), table.slice(start, stop - start)
        pq.write_table(piece, path, row_group_size=GROUP_ROWS, **part_options(schema))
        sync_file(path)
        parts.append(PartFile.of(path, piece.num_rows))
    return parts


def _cuts(table: pa.Table, order: Order, rows: int) -> list[int]:
    """Return where parts begin, and the end: by hash if the records are sorted as one, so that files are cut alike."""
    lots = lots_of(len(table), rows)
    if order.alike is None or len(order.alike) > 1 or lots == 1:
        return [*range(0, max(len(table), 1), rows), len(table)]
    hashes = row_hash(dict(zip(table.column_names, table.columns, strict=True)))
    starts = np.array([lot_start(number, lots) for number in range(lots)], np.uint64)
    return [*np.searchsorted(hashes, starts).tolist(), len(table)]


def _check_footer(part: PartFile, footer: Any, columns: Collection[str]) -> None:
    """Refuse a part of which more would come out than one of ours can hold: by rows, and by the size of its pages."""
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    if footer.num_rows != part.rows or sum(group.num_rows for group in groups) != part.rows:
        raise spoilt(f"{part.name} has other records than the manifest says")
    # a part of a sorted release holds a share of all hashes, and so any number of records that are alike
    if footer.num_columns != len(columns) or any(group.num_rows > GROUP_ROWS for group in groups):
        raise spoilt(f"{part.name} has more records or columns than versadp writes into a part")
    if {footer.schema.column(number).path for number in range(footer.num_columns)} != set(columns):
        raise spoilt(f"{part.name} has other columns than the manifest says")
    if any(group.total_byte_size > MOST_BYTES for group in groups):
        raise spoilt(f"{part.name} would unpack to more than {MOST_BYTES // 2**20} MiB a group")
