"""Whether the rows of a release that claims a shuffle stand in the order of their public hash.

A shuffled release is sorted by a hash of what is released, batch after batch, so anybody can check it, and the check is
exact: n rows in another order, however it came about, pass with probability 1/n!.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.release.path.order import row_hash

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
