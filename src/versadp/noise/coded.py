"""A window seen through numbers for its categories' levels: what models with `C(region)` undo.

Of a category with L levels let o be columns of numbers, one a level: indicators, or any contrasts. Kept it is exact and
redrawn it is even, so that around the mean over levels, with e = o(released) - mean and v_l = o_l - mean,

    o - mean            <- e/kappa
    (o - mean)(o - mean)' <- e e'/kappa + (1 - 1/kappa) mean over levels of v v'
    e^{i t'(o - mean)}  <- e^{i t'e}/kappa + (1 - 1/kappa) mean over levels of e^{i t'v}

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


def code(column: str, number: int) -> str:
    """Return the name of one of the columns of numbers that a category is seen through.

    Examples
    --------
    >>> code("region", 2)
    'region[2]'
    """
    return f"{column}[{number}]"


@dataclass(frozen=True)
class Category:
    """Columns of numbers for the levels of a category that is drawn evenly if it is not kept.

    Attributes
    ----------
    column : str
    coding : tuple of tuples
        A row a level, a number a column.

    Examples
    --------
    >>> category = Category("region", ((0, 0), (1, 0), (0, 0), (0, 1)))
    >>> category.names, category.covariance
    (('region[0]', 'region[1]'), array([[ 0.1875, -0.0625],
           [-0.0625,  0.1875]]))
    """

    column: str
    coding: tuple[tuple[float, ...], ...]

    @property
    def levels(self) -> int:
        """How many there are."""
        return len(self.coding)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        return tuple(code(self.column, number) for number in range(len(self.coding[0])))

    @property
    def centre(self) -> Array:
        """Means over levels."""
        return np.asarray(np.mean(self.coding, axis=0), dtype=float)

    @property
    def around(self) -> Array:
        """Columns around their means, (levels, columns)."""
        return np.array(self.coding, dtype=float) - self.centre

    @property
    def covariance(self) -> Array:
        """Covariance of the columns of an even draw."""
        return np.asarray(self.around.T @ self.around / self.levels)

    def wave(self, t: Complex) -> Factor:
        """Return the mean of waves over all levels, and its derivatives."""
        around = self.around
        each = np.exp(1j * t @ around.T) / self.levels
        second = -np.einsum("ml,la,lb->mab", each, around, around)
        return Factor(each.sum(axis=1), 1j * each @ around, second)


@dataclass(frozen=True)
class Coded:
    """A block whose categories are seen as numbers. It has inverses of products and waves, and no points.

    Attributes
    ----------
    keep : float
        Probability that the block is kept.
    numbers : Block or None
        The numbers of the block, with its coin.
    categories : tuple of Category

    Examples
    --------
    >>> coded = Coded(0.5, None, (Category("member", ((0,), (1,))),))
    >>> coded.columns, coded.products().shift
    (('member[0]',), array([[-0.25]]))
    """

    keep: float
    numbers: Block | None
    categories: tuple[Category, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Numbers, then those of categories."""
        own = () if self.numbers is None else self.numbers.columns
        return (*own, *(name for category in self.categories for name in category.names))

    @property
    def nullable(self) -> tuple[str, ...]:
        """None: what may be missing is not seen so."""
        return ()

    def units(self, centre: Array) -> None:
        """Return none: its noise is not Laplace."""

    def point_count(self, how: How) -> int:  # noqa: ARG002 - as all blocks
        """Return more than anybody works with: they are undone in closed form."""
        return MAX_POINTS + 1

    def products(self) -> Products | None:
        """Return the inverse of products of numbers."""
        inner = None if self.numbers is None else self.numbers.products()
        if not self.keep or (inner is None and self.numbers is not None):
            return None
        centre, shift = ([], []) if inner is None else ([inner.centre], [inner.shift])
        for category in self.categories:
            centre.append(category.centre)
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
            drawn.append(category.wave(t[:, at : at + len(category.names)]))
            at += len(category.names)
        return Waves(joined(gain, _constant(1.0, len(t), at - own)), joined(level, *drawn))


def _constant(value: float, count: int, columns: int = 0) -> Factor:
    """Return a factor that does not depend on its columns."""
    shapes = (count, columns), (count, columns, columns)
    return Factor(np.full(count, value, complex), *(np.zeros(shape, complex) for shape in shapes))
