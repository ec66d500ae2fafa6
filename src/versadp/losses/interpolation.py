"""Cubic interpolation in a table, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from versadp.noise.kernel import compiled

if TYPE_CHECKING:
    from versadp.inputs import Array


def _cubic(start: float, width: float, table: Array, v: Array, out: Array) -> None:
    """Write each column of a table on a uniform grid at v, by cubic interpolation through four neighbours."""
    last = table.shape[0] - 3
    for i in range(v.shape[0]):
        at = min(max(int((v[i] - start) / width), 1), last)
        x = (v[i] - start) / width - at
        w0, w1 = -x * (x - 1.0) * (x - 2.0) / 6.0, (x + 1.0) * (x - 1.0) * (x - 2.0) / 2.0
        w2, w3 = -(x + 1.0) * x * (x - 2.0) / 2.0, (x + 1.0) * x * (x - 1.0) / 6.0
        for k in range(table.shape[1]):
            out[k, i] = w0 * table[at - 1, k] + w1 * table[at, k] + w2 * table[at + 1, k] + w3 * table[at + 2, k]


cubic = compiled(_cubic)
