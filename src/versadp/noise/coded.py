"""A window seen through indicators of its categories' levels: what models with `C(region)` undo.

Of a category with L levels let o be the indicators of some of them. Kept it is exact and redrawn it is even, so that
around the centre 1/L, with e = o(released) - 1/L,

    o - 1/L               <- e/kappa
    (o_a - 1/L)(o_b - 1/L) <- e_a e_b/kappa + (1 - 1/kappa) (1{a = b}/L - 1/L²)
    e^{i t'(o - 1/L)}     <- e^{i t'e}/kappa + (1 - 1/kappa) mean over levels l of e^{i (t_l - mean t)}

and with numbers in the same block there is one coin for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.closed import Factor, Products, Waves, joined
from versadp.noise.points import MAX_POINTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise.block import Block
    from versadp.noise.closed import Complex
    from versadp.noise.points import How

    Array = NDArray[np.float64]


def indicator(column: str, level: int) -> str:
    """Return the name of the indicator of a level, by its number.

    Examples
    --------
    >>> indicator("region", 2)
    'region[2]'
    """
    return f"{column}[{level}]"


@dataclass(frozen=True)
class Category:
    """Indicators of some levels of a category that is drawn evenly if it is not kept.

    Examples
    --------
    >>> category = Category("region", 4, (1, 3))
    >>> category.covariance
    array([[ 0.1875, -0.0625],
           [-0.0625,  0.1875]])
    """

    column: str
    levels: int
    chosen: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the indicators."""
        return tuple(indicator(self.column, level) for level in self.chosen)

    @property
    def around(self) -> Array:
        """Indicators of every level around their mean, (levels, chosen)."""
        return np.eye(self.levels)[:, list(self.chosen)] - 1 / self.levels

    @property
    def covariance(self) -> Array:
        """Covariance of the indicators of an even draw."""
        return np.asarray(self.around.T @ self.around / self.levels)

    def wave(self, t: Complex) -> Factor:
        """Return the mean of waves over all levels, and its derivatives."""
        around = self.around
        each = np.exp(1j * t @ around.T) / self.levels
        second = -np.einsum("ml,la,lb->mab", each, around, around)
        return Factor(each.sum(axis=1), 1j * each @ around, second)


@dataclass(frozen=True)
class Coded:
    """A block whose categories are seen as indicators. It has inverses of products and waves, and no points.

    Attributes
    ----------
    keep : float
        Probability that the block is kept.
    numbers : Block or None
        The numbers of the block, with its coin.
    categories : tuple of Category

    Examples
    --------
    >>> coded = Coded(0.5, None, (Category("member", 2, (1,)),))
    >>> coded.columns, coded.products().shift
    (('member[1]',), array([[-0.25]]))
    """

    keep: float
    numbers: Block | None
    categories: tuple[Category, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Numbers, then indicators."""
        own = () if self.numbers is None else self.numbers.columns
        return (*own, *(name for category in self.categories for name in category.names))

    @property
    def nullable(self) -> tuple[str, ...]:
        """None: what may be missing is not seen through indicators."""
        return ()

    def units(self, centre: Array) -> None:
        """Return none: its noise is not Laplace."""

    def point_count(self, how: How) -> int:  # noqa: ARG002 - as all blocks
        """Return more than anybody works with: indicators are undone in closed form."""
        return MAX_POINTS + 1

    def products(self) -> Products | None:
        """Return the inverse of products of numbers and indicators."""
        inner = None if self.numbers is None else self.numbers.products()
        if not self.keep or (inner is None and self.numbers is not None):
            return None
        centre, shift = ([], []) if inner is None else ([inner.centre], [inner.shift])
        for category in self.categories:
            centre.append(np.full(len(category.chosen), 1 / category.levels))
            shift.append((1 - 1 / self.keep) * category.covariance)
        from scipy.linalg import block_diag

        return Products(np.concatenate(centre), 1 / self.keep, block_diag(*shift))

    def waves(self, t: Complex) -> Waves | None:
        """Return the inverse of waves: those of the numbers, and of redrawn records the mean over all levels."""
        own = 0 if self.numbers is None else len(self.numbers.columns)
        inner = None if self.numbers is None else self.numbers.waves(t[:, :own])
        if not self.keep or (inner is None and self.numbers is not None):
            return None
        gain, level = inner or (_constant(1 / self.keep, len(t)), _constant(1 - 1 / self.keep, len(t)))
        drawn, at = [], own
        for category in self.categories:
            drawn.append(category.wave(t[:, at : at + len(category.chosen)]))
            at += len(category.chosen)
        return Waves(joined(gain, _constant(1.0, len(t), at - own)), joined(level, *drawn))


def _constant(value: float, count: int, columns: int = 0) -> Factor:
    """Return a factor that does not depend on its columns."""
    shapes = (count, columns), (count, columns, columns)
    return Factor(np.full(count, value, complex), *(np.zeros(shape, complex) for shape in shapes))
