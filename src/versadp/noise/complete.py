"""Complete cases: what undoes the noise of a window in functions that are 0 where a value is missing.

Without missing values a window with the coin κ is undone, with e = released - centre and the weight 1/κ, by

    (x_j - c_j)(x_l - c_l)  <-  weight e_j e_l + 1{j = l} ((1 - weight) drawn_j - near_j)
    e^{i t'(x - c)}         <-  (weight e^{i t'e} + (1 - weight) mean over outputs) / mean over a window

Let P tell whether a released record shows all values, and S be the share of redrawn records that do. A kept record
shows all of them if it has them, so that for any f that is 0 where one is missing

    f  <-  a ψ,    a = P/κ + (1 - 1/κ) S,    ψ the above with the weight P/(κ a):

`P/κ` times what is seen and `(1 - 1/κ) S` times the mean over complete outputs, either way. f = 1 gives a itself. Where
it is public what is missing, incomplete records are left out and the others are as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.block import Case
from versadp.noise.closed import Products, Waves, product_of, spread_ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise.closed import Complex
    from versadp.noise.window import WindowBlock

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Lattices:
    """Columns of a window without missing values, and the weight of a kept record in the inverse.

    Attributes
    ----------
    columns : tuple of str
    bounds : tuple of pairs
    last, window : tuple of int
        Lattices are 0 to `last`; windows have so many points.
    weight : float

    Examples
    --------
    >>> Lattices(("age",), ((0.0, 4.0),), (4,), (3,), 2.0).products().shift
    array([[-4.66666667]])
    """

    columns: tuple[str, ...]
    bounds: tuple[tuple[float, float], ...]
    last: tuple[int, ...]
    window: tuple[int, ...]
    weight: float

    @property
    def _sizes(self) -> tuple[Array, Array, Array]:
        """Steps, and how many points a window and all outputs have."""
        step = np.array([(high - low) / max(m, 1) for (low, high), m in zip(self.bounds, self.last, strict=True)])
        return step, np.array(self.window), np.add(self.last, self.window)

    def products(self) -> Products:
        """Return the inverse of columns and of products of two."""
        step, window, outputs = self._sizes
        drawn, near = ((n**2.0 - 1) * step**2 / 12 for n in (outputs, window))
        centre = np.array([(low + high) / 2 for low, high in self.bounds])
        return Products(centre, self.weight, np.diag((1 - self.weight) * drawn - near))

    def waves(self, t: Complex) -> Waves:
        """Return the inverse of waves."""
        step, window, outputs = self._sizes
        near, drawn = window * step / 2, outputs * step / 2
        gain = product_of(spread_ratio(t, step / 2, near), self.weight)
        return Waves(gain, product_of(spread_ratio(t, drawn, near), 1 - self.weight))


def lattices(block: WindowBlock, weight: float) -> Lattices:
    """Return a window's columns as if none were ever missing."""
    return Lattices(block.columns, block.bounds, block.last, block.window, weight)


def complete_cases(block: WindowBlock, released: Array) -> tuple[NDArray[np.int64], tuple[Case, ...]]:
    """Return which case each released record (columns, n) of a window is, and each case's factor and lattices.

    Cases are: complete; not complete, which the noise may have made so; and publicly not complete, which are left out.
    """
    unknown = np.isnan(released)
    public = np.array([null == "public" for null in block.nulls])
    case = np.where(unknown[public].any(axis=0), 2, unknown[~public].any(axis=0).astype(np.int64))
    shown = math.prod(
        (m + w) / n
        for m, w, n, null in zip(block.last, block.window, block.outputs, block.nulls, strict=True)
        if null is True
    )
    redrawn = (1 - 1 / block.keep) * shown
    whole = 1 / block.keep + redrawn
    return case, (
        Case(whole, lattices(block, 1 / (block.keep * whole))),
        Case(redrawn, lattices(block, 0.0)),
        Case(0.0, lattices(block, 0.0)),
    )
