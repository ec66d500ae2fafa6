"""Check that a release that claims a shuffle is sorted by its public hash, and has groups as large as it claims.

A shuffled release is sorted by a hash of what is released, batch after batch, so anybody can check it, and the check is
exact: n rows in another order, however it came about, pass with probability 1/n!. Where the hash falls a new batch
begins, and in each batch the records with equal public values are counted again: a claim of larger groups is false.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from versadp.release.path.order import Alike, count_alike, row_hash
from versadp.release.path.table import read_table

if TYPE_CHECKING:
    from versadp.release.release import Release


def order_holds(release: Release) -> bool | None:
    """Return whether rows are sorted as is claimed; None where no order is claimed.

    Examples
    --------
    >>> import pyarrow as pa, versadp as vdp
    >>> mech = vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(0, 1)}), scale=0.5)
    >>> release = mech.release(pa.table({"x": [0.1, 0.4, 0.9]}))
    >>> order_holds(release), order_holds(vdp.Release(release.frame.take([2, 1, 0]), mech, order=release.order))
    (True, False)
    """
    if release.order.alike is None:
        return None
    falls, last = 0, np.zeros(0, np.uint64)
    for batch in release.batches():
        hashes = np.concatenate([last, row_hash(dict(zip(batch.schema.names, batch.columns, strict=True)))])
        falls += int(np.count_nonzero(hashes[1:] < hashes[:-1]))
        last = hashes[-1:]
    return falls < max(len(release.order.alike), 1)  # each batch that was shuffled by itself begins anew


def recount_alike(release: Release) -> tuple[int, ...]:
    """Return the smallest number of records with equal public values in each run of rows sorted by their hash.

    Two batches are one run if the second begins with a larger hash than the first ends with; the smallest group of
    both together is never smaller than the smaller one of theirs.

    Examples
    --------
    >>> import pyarrow as pa, versadp as vdp
    >>> mech = vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(0, 1), "y": vdp.Public()}), scale=0.5)
    >>> recount_alike(mech.release(pa.table({"x": [0.1, 0.4, 0.9], "y": [0, 0, 1]})))
    (1,)
    """
    schema, shown = release.mechanism.schema, release.mechanism.released_schema
    found, rows, last = [Alike()], [0], np.zeros(0, np.uint64)
    for batch in release.batches():
        hashes = np.concatenate([last, row_hash(dict(zip(batch.schema.names, batch.columns, strict=True)))])
        starts = np.flatnonzero(hashes[1:] < hashes[:-1]) + 1 - last.size
        edges = [0, *starts.tolist(), batch.num_rows]
        for number, (start, stop) in enumerate(itertools.pairwise(edges)):
            if number:
                found.append(Alike())
                rows.append(0)
            if stop > start:
                some = read_table(pa.Table.from_batches([batch.slice(start, stop - start)]), shown, released=True)
                found[-1].add([count_alike(some.shown(schema))])
                rows[-1] += stop - start
        last = hashes[-1:]
    return tuple(alike.smallest(n) for alike, n in zip(found, rows, strict=True))


def groups_hold(release: Release) -> bool | None:
    """Return whether groups with equal public values are as large as is claimed; None where no shuffle is claimed.

    Examples
    --------
    >>> import pyarrow as pa, versadp as vdp
    >>> from versadp.release.path.order import Order
    >>> mech = vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(0, 1), "y": vdp.Public()}), scale=0.5)
    >>> release = mech.release(pa.table({"x": [0.1, 0.4, 0.9], "y": [0, 0, 1]}))
    >>> groups_hold(release), groups_hold(vdp.Release(release.frame, mech, order=Order((3,))))
    (True, False)
    """
    claimed = [alike for alike in release.order.alike or () if alike]  # a batch may have no records
    if release.order.alike is None or not order_holds(release):
        return None  # nothing can be counted of rows in another order, which `order_holds` tells
    found = recount_alike(release)
    if len(found) == len(claimed):
        return all(alike <= n for alike, n in zip(claimed, found, strict=True))
    return min(claimed, default=0) <= min(found)
