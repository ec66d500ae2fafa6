"""Compiled loops of the totals: each record is looked at a few times per column and once per pair of columns.

They run without Python's lock, and every sum is of whole numbers below 2^53, so that order does not matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from versadp.noise.kernel import rounded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Whole = NDArray[np.int64]


@rounded
def to_nodes(content: Array, words: NDArray[np.uint64], low: Whole, share: NDArray[np.uint64], out: Whole) -> None:
    """Round lattice points to the node below, or with a word below a share to the next; beyond the last are missing."""
    for r in range(content.size):
        k = min(int(content[r]), low.size - 1)
        out[r] = low[k] + (words[r] < share[k] if words.size else 0)


@rounded
def count_pairs(one: Whole, other: Whole, table: Whole) -> None:
    """Count records by their cells in two columns, (cells, cells)."""
    for r in range(one.size):
        table[one[r], other[r]] += 1


@rounded
def sum_by_cell(cell: Whole, values: Array, out: Array) -> None:
    """Add up values (parts, n) by cell, (cells, parts)."""
    for part in range(values.shape[0]):
        for r in range(cell.size):
            out[cell[r], part] += values[part, r]
