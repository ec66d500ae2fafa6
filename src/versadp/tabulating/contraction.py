"""Means over records of the functions of cells, and of their products, from the joint histogram.

In a block with the coin κ a cell's indicator is undone by

    psi_B = P + R,    P = Π_c g_c(code)/κ,    R = (1 - 1/κ) Π_c mean of g_c,

and over blocks these multiply. A function u of the measure multiplies P by u and R by its mean over outputs, in the
block that it lies in: with A = P Π_{other blocks} psi and B = R Π_{other blocks} psi,

    psi_u = A u + B ū,    Σ psi_u = A Σu + B ū n,
    Σ psi_u psi_w = A A' Σuw + A B' w̄ Σu + B A' ū Σw + B B' ū w̄ n,

sums over the records with one joint code. Joint codes are few, so that everything is a product of small matrices.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from versadp.inputs import Array
    from versadp.tabulating.counting import Counted
    from versadp.tabulating.layout import Layout

LARGEST = 2**22  # numbers in an array of joint codes and cells: 32 MB


class Means(NamedTuple):
    """Means over records.

    Attributes
    ----------
    rows : int
    first : array (functions * cells,)
        Of psi: all cells of the first function, then of the next one.
    second : array (functions * cells, functions * cells)
        Of products of two.
    calibrated : bool
        True with totals: what is left of the noise does not move with the shares.
    """

    rows: int
    first: Array
    second: Array
    calibrated: bool = False

    @property
    def cov(self) -> Array:
        """The covariance of `first`."""
        return np.asarray((self.second - np.outer(self.first, self.first)) / max(self.rows - 1, 1))


def contract(layout: Layout, counted: Counted, cells: NDArray[np.int64]) -> Means:
    """Return the means of some cells.

    Parameters
    ----------
    layout : Layout
    counted : Counted
    cells : array (cells, columns) of int
        The level of each column; the number of its levels stands for all of them.
    """
    f, width = layout.functions, layout.functions * len(cells)
    first, second, rows = np.zeros((f, len(cells))), np.zeros((f, len(cells), f, len(cells))), 0.0
    for codes, sums in lots(counted, width):
        kept, drawn = factors(layout, codes, cells)
        mean = drawn_means(layout, codes)
        n = sums[:, 0, 0]
        rows += float(n.sum())
        for i in range(f):
            first[i] += kept.T @ sums[:, 0, i]
            first[i] += 0.0 if drawn is None else drawn.T @ (n * mean[:, i])
            for j in range(i, f):
                block = kept.T @ (kept * sums[:, i, j, None])
                if drawn is not None:
                    mixed = drawn.T @ (kept * (sums[:, 0, j] * mean[:, i])[:, None])
                    other = mixed.T if i == j else kept.T @ (drawn * (sums[:, 0, i] * mean[:, j])[:, None])
                    block += mixed + other + drawn.T @ (drawn * (n * mean[:, i] * mean[:, j])[:, None])
                second[i, :, j] += block
                if i != j:
                    second[j, :, i] += block.T
    total = max(rows, 1.0)
    return Means(round(rows), first.ravel() / total, second.reshape(width, width) / total)


def lots(counted: Counted, width: int) -> Iterable[tuple[NDArray[np.int64], Array]]:
    """Yield joint codes and sums in parts whose matrices are small."""
    step = max(1, LARGEST // max(width, 1))
    for start in range(0, len(counted.codes), step):
        yield counted.codes[start : start + step], counted.sums[start : start + step]


def factors(layout: Layout, codes: NDArray[np.int64], cells: NDArray[np.int64]) -> tuple[Array, Array | None]:
    """Return A and B of the formula above, (codes, cells): psi is their sum. Without a measure B is in A."""
    rate = math.prod(part.rate for part in layout.parts)
    out, kept, drawn = np.full((len(codes), len(cells)), 1 / rate), None, None
    for part in layout.parts:
        p = np.full(out.shape, 1 / part.keep)
        r = np.full(out.shape, 1 - 1 / part.keep)
        for j in part.axes:
            coding = layout.coding(layout.axes[j])
            p *= coding.kept[codes[:, j]][:, cells[:, j]]
            if part.keep != 1:
                r *= coding.drawn[codes[:, j]][:, cells[:, j]]
        if part.measured and part.keep != 1:
            kept, drawn = p, r
        else:
            out *= p + r
    return (out, None) if kept is None or drawn is None else (out * kept, out * drawn)


def drawn_means(layout: Layout, codes: NDArray[np.int64]) -> Array:
    """Return the means over outputs of the functions of the measure, (codes, functions); 0 if publicly missing."""
    out = np.zeros((len(codes), layout.functions))
    out[:, 0] = 1.0
    if layout.lookup is not None:
        out[:, 1:] = layout.lookup[1]
        out[codes[:, -1] == 1, 1:] = 0.0
    return out


def all_cells(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the levels of all cells, the last column fastest.

    Examples
    --------
    >>> all_cells((2, 2)).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    return np.stack(np.unravel_index(np.arange(int(np.prod(shape))), shape), axis=1).astype(np.int64)
