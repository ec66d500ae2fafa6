"""Lattices that are even in a function of a column (`schema/spacing.py`): from values to points, and back.

Lattice points are 0..m, and outputs lie half a step apart from them where windows have an even number of points. Values
at all half steps are in one table of doubles, the same on every machine: a value is rounded to the point whose half
steps it lies between, by comparisons alone, and an output is looked up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.schema.spacing import FARTHEST, even_number, from_even, half_steps, to_even

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MOST_POINTS = 2**17  # outputs of such a column: a table of their half steps takes 2 MB and 0.1 s
FEWEST_POINTS = 2**10  # lattice points: values are rounded to a hundredth of themselves, or less, in 13 powers of e
MOST_BY_RULE = 2**15  # lattice points by rule


@dataclass(frozen=True)
class Scale:
    """One column whose lattice is even in a function of it.

    Parameters
    ----------
    spacing : str
    lower, upper : float
        Bounds of the column.
    last, window : int
        Lattice points are 0 to `last`; windows have so many of them.

    Examples
    --------
    >>> scale = Scale("log1p", 0.0, 1_000_000.0, 2**10, 101)
    >>> scale.points(np.array([0.0, 20_000.0, 1_000_000.0]))
    array([   0.,  734., 1024.])
    >>> scale.values(np.array([0.0, 734.0, 1024.0])).round()
    array([      0.,   19988., 1000000.])
    """

    spacing: str
    lower: float
    upper: float
    last: int
    window: int

    def __post_init__(self) -> None:
        reach = (self.ends[1] - self.ends[0]) / self.last * self.window / 2
        if max(map(abs, self.ends)) + reach > FARTHEST:
            raise ParameterError(
                "a column is so wide that what is released may be infinite",
                hint="divide it by a constant, with its bounds, or leave out its spacing",
            )
        if self.last < FEWEST_POINTS or self.last + self.window > MOST_POINTS:
            raise ParameterError(
                f"a lattice with a spacing has {FEWEST_POINTS:,} cells or more, and at most {MOST_POINTS:,} outputs",
                hint="leave out cells= and window=, which are chosen by rule",
            )

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds on the even scale."""
        return even_number(self.spacing, self.lower), even_number(self.spacing, self.upper)

    @property
    def step(self) -> float:
        """Distance of lattice points on the even scale."""
        return (self.ends[1] - self.ends[0]) / self.last

    @property
    def factor(self) -> float:
        """By how much a kept value, plus one, is off at most: half a window."""
        return float(from_even(self.spacing, np.array((self.window - 1) / 2 * self.step))) + 1

    @cached_property
    def _table(self) -> Array:
        return half_steps(self.lower, self.upper, self.last, self.window)

    def points(self, values: Array) -> Array:
        """Return the lattice points nearest to values inside the bounds."""
        between = self._table[self.window + 1 : self.window + 2 * self.last : 2]
        return np.searchsorted(between, values, side="right").astype(np.float64)

    def values(self, points: Array) -> Array:
        """Return the values at lattice points, or half way between two; NaN for NaN."""
        at = np.rint(2 * points) + self.window
        known = np.isfinite(at)
        out = self._table[np.clip(np.where(known, at, 0), 0, self._table.size - 1).astype(np.int64)]
        return np.where(known, out, np.nan)

    def places(self, values: Array) -> Array:
        """Return where values lie among lattice points, which are whole numbers, up to rounding."""
        return np.asarray((to_even(self.spacing, values) - self.ends[0]) / self.step)
