"""The columns of a law of people: its points in each column, and which of them may have led to a released value.

A record with the lattice point x is kept, and shows an output z evenly from its window {x, ..., x + w - 1}, or is
redrawn (`noise/window.py`). A released value is thus likely for the points in a box, and so is what a redrawn record
shows for all points:

    kept     1/w  for points with z - w < x <= z, and for a missing value if z is in the middle of all outputs
    redrawn  1/(number of outputs)

A publicly missing value, and a public column, show the point itself in both. Outputs with the same boxes tell the same
and are one code. A number has at most so many points; those of a finer lattice are evenly spread over it, and stand for
the values around them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.schema import Bounded, Categorical, Dates

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from versadp.inputs import Array
    from versadp.noise.lattice import Lattice
    from versadp.schema import Column

    Whole = NDArray[np.int64]

CORNERS = 4  # of the boxes of a kept record: two intervals of points
NEAR = 1e-9  # of a step, by which two of them differ for rounding


class Boxes(NamedTuple):
    """Mass of boxes as sums of the cumulative law: one row per code, places filled up with weight 0.

    Attributes
    ----------
    place : array of int (codes, corners)
        Points up to which the law is added up, the last one included.
    weight : array (codes, corners)
    """

    place: Whole
    weight: Array

    def scaled(self, factor: float) -> Boxes:
        """Return the boxes with other weights."""
        return Boxes(self.place, self.weight * factor)

    def beside(self, other: Boxes) -> Boxes:
        """Return the sums of both."""
        return Boxes(np.hstack([self.place, other.place]), np.hstack([self.weight, other.weight]))


@dataclass(frozen=True, eq=False)
class Axis:
    """One column of a law.

    Attributes
    ----------
    name : str
    declared : Column
    points : array
        Values of a number, days of a date, numbers of levels; the last is NaN if a value may be missing.
    lattice : Lattice, optional
        None for a public column.
    place : array of int
        The lattice points of those that are values.
    levels : tuple
        Labels of a category, values of a public column; empty for numbers and dates.
    """

    name: str
    declared: Column
    points: Array
    lattice: Lattice | None
    place: Whole
    levels: tuple[Any, ...] = ()

    @property
    def size(self) -> int:
        """Number of points."""
        return self.points.size

    @property
    def known(self) -> int:
        """Number of points that are values."""
        return self.place.size

    @property
    def ordered(self) -> bool:
        """True for numbers and dates that are private."""
        return not self.levels

    @property
    def step(self) -> float:
        """Distance of declared values; 0 for a number without a step."""
        if isinstance(self.declared, Dates):
            return 1.0
        return float(getattr(self.declared, "step", None) or 0.0)

    @property
    def gap(self) -> float:
        """Distance of neighbouring points, in units of the column; 0 where they are all values that there are."""
        if not self.ordered or self.known < 2:
            return 0.0
        gap = float(np.diff(self.points[: self.known]).max())
        return 0.0 if gap <= self.step * (1 + NEAR) else gap

    @cached_property
    def _coded(self) -> tuple[Whole, Boxes, Boxes]:
        """The code of each output, a missing one last; kept and redrawn boxes of each code."""
        low, high, extra = self._intervals()
        rows = np.stack([low, high, extra])
        kept, code = np.unique(rows, axis=1, return_inverse=True)
        low, high, extra = kept
        public = self.lattice is None or (not self.lattice.unseen and self.size > self.known)
        likely, drawn = (
            (1.0, 1.0)
            if self.lattice is None
            else (1 / self.lattice.window, 1 / (self.lattice.last + self.lattice.window + self.lattice.unseen))
        )
        missing = low == self.known
        first, last = (low, high) if self.lattice is None else (np.zeros_like(low), np.full_like(high, self.size))
        if public and self.lattice is not None:
            first, last = np.where(missing, low, 0), np.where(missing, high, self.known)
        certain = public & (missing | (self.lattice is None))
        own = _boxes(low, high, np.where(certain, 1.0, likely))
        also = _boxes(extra, np.where(extra >= 0, self.size, extra), np.where(extra >= 0, likely, 0.0))
        return code.reshape(-1), own.beside(also), _boxes(first, last, np.where(certain, 1.0, drawn))

    def _intervals(self) -> tuple[Whole, Whole, Whole]:
        """Return first and behind-last point of each output's box, and where a second one begins, else -1."""
        if self.lattice is None:
            each = np.arange(self.size)
            return each, each + 1, np.full(self.size, -1)
        w, z = self.lattice.window, np.arange(self.lattice.shown)
        low = np.searchsorted(self.place, z - w + 1, side="left")
        high = np.searchsorted(self.place, z, side="right")
        empty = high <= low  # windows narrower than points are apart
        between = (self.place[1:] + self.place[:-1]) / 2
        nearest = np.searchsorted(between, z - (w - 1) / 2)
        low, high = np.where(empty, nearest, low), np.where(empty, nearest + 1, high)
        extra = np.full(z.size, -1)
        if self.lattice.unseen:
            extra[self.lattice.central > 0] = self.known
        # behind all outputs what is missing, whoever sees it; without missing values nobody shows it
        last = self.size - 1
        return np.append(low, last), np.append(high, last + 1), np.append(extra, -1)

    @property
    def codes(self) -> int:
        """Number of codes."""
        return len(self._coded[1].place)

    @property
    def kept(self) -> Boxes:
        """Likelihood of each code for a kept record, as boxes of points."""
        return self._coded[1]

    @property
    def redrawn(self) -> Boxes:
        """Likelihood of each code for a redrawn record, as boxes of points."""
        return self._coded[2]

    def code(self, values: Array | pa.Array) -> Whole:
        """Return the codes of released values: numbers, days, numbers of levels; of public ones the values."""
        if self.lattice is None:
            import pyarrow.compute as pc

            found = pc.index_in(values, value_set=_as_array(self.levels, values))
            return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)
        places = self.lattice.places(np.asarray(values, float))
        return self._coded[0][np.where(places < 0, self.lattice.shown, places)]


def _as_array(levels: tuple[Any, ...], values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return pa.array(levels, type=values.type)


def _boxes(low: Whole, high: Whole, weight: Array | float) -> Boxes:
    """Return mass between points as differences of the cumulative law."""
    weights = np.broadcast_to(np.asarray(weight, float), low.shape)
    below = np.where(low > 0, -weights, 0.0)
    return Boxes(np.maximum(np.stack([high - 1, low - 1], axis=1), 0), np.stack([weights, below], axis=1))


def make_axis(name: str, declared: Column, lattice: Lattice | None, most: int, levels: tuple[Any, ...] = ()) -> Axis:
    """Return a column with at most `most` points, those of missing values apart.

    Examples
    --------
    >>> from versadp.noise.lattice import Lattice
    >>> axis = make_axis("age", Bounded(18, 90), Lattice(18.0, 0.01, 7200, 1000, keep=0.5), most=10)
    >>> axis.points
    array([18., 26., 34., 42., 50., 58., 66., 74., 82., 90.])
    >>> axis.codes < 30
    True
    """
    if lattice is None:
        each = np.arange(len(levels))
        return Axis(name, declared, each.astype(float), None, each, levels)
    nullable = bool(getattr(declared, "nullable", False))
    if isinstance(declared, Categorical):
        place, levels = np.arange(len(declared.levels)), tuple(declared.levels)
        points = place.astype(float)
    else:
        assert isinstance(declared, Bounded)
        place = np.unique(np.rint(np.linspace(0, lattice.last, min(most, lattice.last + 1))).astype(np.int64))
        points = lattice.low + lattice.step * place
    return Axis(name, declared, np.append(points, np.nan) if nullable else points, lattice, place, levels)
