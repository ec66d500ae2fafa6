"""A fingerprint of released records that does not depend on how they are cut into files or sorted.

    (n, sum over rows of hash(row) mod 2^64)

The hash is the public one of `release/path/order.py`. Two sets of records with one fingerprint are the same records:
others have it with probability about 2^-64.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from versadp.engine import is_far, nearby
from versadp.release.folder.parts import plain_table
from versadp.release.path.order import row_hash

if TYPE_CHECKING:
    from versadp.engine import Engine
    from versadp.release.folder.folder import Handle
    from versadp.release.release import Release

Fingerprint = tuple[int, int]
HASHES = 2**64


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
    worker = engine if is_far(engine) and release.on_disk else nearby(engine)
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
