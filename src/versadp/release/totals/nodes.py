"""One column in the totals: nodes on its lattice, and stochastic rounding to them.

Nodes are every `stride`-th lattice point from the first on, and the last one. A lattice point between two nodes goes
to the upper one with probability equal to how far it is up, so that for any function v of the nodes

    E v(rounded x)  =  Σ_k v(k) hat_k(x),     hat_k = 1 at node k, 0 at all others, and straight in between.

A sum over rounded records is therefore unbiased for the sum of functions of the records' own lattice points. What
rounding does to one record depends on that record and its own words alone, so it changes no sensitivity. The stride
divides the column's window, so that records are undone on the nodes alone (`noise/lattice.py`, merged outputs).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from versadp.display.numbers import brief
from versadp.schema import Dates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise.lattice import Lattice
    from versadp.schema import Column

    Array = NDArray[np.float64]
    Whole = NDArray[np.int64]
    Function = str | tuple[int, int]  # a named function, or (number of nodes, node)

ONE, POSITION, SQUARE, MISSING = "1", "position", "square", "missing"
MOST_ONE_WAY = 64  # cells of a column in sheet A (docs/theory/totals.md: more only add noise to smooth questions)
LEAST_ONE_WAY = 16  # nodes of a number that is rounded: with fewer even means lose by the rounding
MOST_TWO_WAY = 32  # natural levels of a number in sheet C
ROUNDED_TWO_WAY = 17  # nodes in sheet C beyond: a function of two columns is off by a 2,000th of its second derivative
STEEPNESS, FARTHEST = 2.0, 2.8  # T, and where a wave is nearly lost (docs/theory/totals.md)
SHARES, STEPS = (1e-3, 3.0), 2000  # windows over lattices that are compared, each 0.4% wider than the one before
POSITION_UNITS = 2**8  # the position 1 in whole numbers, at most: finer ones cost delta (`noise.totals_error`)
FINE_CELLS = 63 * 2**7  # of a lattice in place of one with too many points: about those of a number without a step
MOST_POINTS = 2**16 + 1  # of a lattice on which functions are tabled: 180 years of days, 50 MB


@dataclass(frozen=True)
class Nodes:
    """Every `stride`-th of the lattice points 0 to `points - 1`, and the last.

    Examples
    --------
    >>> Nodes(6, 2).places, Nodes(6, 2).hats
    (array([0, 2, 4, 5]), array([[1. , 0. , 0. , 0. ],
           [0.5, 0.5, 0. , 0. ],
           [0. , 1. , 0. , 0. ],
           [0. , 0.5, 0.5, 0. ],
           [0. , 0. , 1. , 0. ],
           [0. , 0. , 0. , 1. ]]))
    """

    points: int
    stride: int

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return -(-(self.points - 1) // self.stride) + 1

    @property
    def places(self) -> Whole:
        """Lattice points of the nodes."""
        return np.minimum(np.arange(self.nodes) * self.stride, self.points - 1)

    @property
    def rounds(self) -> bool:
        """True if there are fewer nodes than lattice points."""
        return self.stride > 1

    @property
    def hats(self) -> Array:
        """Probability that each lattice point is rounded to each node, (points, nodes)."""
        x, places = np.arange(self.points), self.places
        return np.stack([np.interp(x, places, row) for row in np.eye(self.nodes)], axis=1)

    @cached_property
    def _steps(self) -> tuple[Whole, NDArray[np.uint64]]:
        """The node below each lattice point, and the share of 2^64 that goes up; last of a missing value."""
        places = self.places
        low = np.searchsorted(places, np.arange(self.points), side="right") - 1
        wide = np.diff(places, append=self.points).astype(np.uint64)
        rest = (np.arange(self.points) - places[low]).astype(np.uint64)
        share = rest * (np.uint64(2**64 - 1) // wide[low])
        return np.append(low, self.nodes), np.append(share, np.uint64(0))

    def rounded(self, content: Array, words: NDArray[np.uint64] | None = None) -> Whole:
        """Return nodes for lattice points: upwards with a word below its share of 2^64.

        Parameters
        ----------
        content : array
            Lattice points; a missing value is beyond the last, and gets the node behind all others.
        words : array of uint64, optional
            One per record; none where nothing is rounded.
        """
        from versadp.release.totals.kernel import to_nodes

        assert words is not None or not self.rounds
        out = np.empty(len(content), np.int64)
        drawn = words if words is not None and self.rounds else np.empty(0, np.uint64)
        to_nodes(np.ascontiguousarray(content, np.float64), drawn, *self._steps, out)
        return out


@lru_cache(maxsize=1024)
def window_beside_totals(numbers: int, combinations: int, epsilon: float) -> float:
    """Return the window of each number, over its lattice, of a block whose records stand beside totals.

    Totals serve what depends on one or two columns, so windows are made for steep functions of many:

        c = argmin 1/(kappa(c)² sinc(c T/√d)^(2d)),   kappa = F/(1 + F),   F = (e^ε - 1) (c/(1 + c))^d/combinations,

    the variance of a wave of frequency T along the diagonal of the domain [-1, 1]^d.

    Examples
    --------
    >>> [round(window_beside_totals(6, 2, epsilon), 2) for epsilon in (5.76, 7.27)]
    [0.9, 0.72]
    """
    share = np.geomspace(*SHARES, STEPS)
    frequency = share * STEEPNESS / math.sqrt(numbers)
    kept = (share / (1 + share)) ** numbers / combinations * math.expm1(epsilon)
    cost = -2 * np.log(kept / (1 + kept)) - 2 * numbers * np.log(np.sinc(np.minimum(frequency, FARTHEST) / math.pi))
    return float(share[np.argmin(np.where(frequency < FARTHEST, cost, np.inf))])


def window_for_totals(points: int, cells: int, column: Column) -> tuple[int, int]:
    """Return a window's points and a lattice's cells, near those given, with which a number can be in totals.

    Examples
    --------
    >>> from versadp import Bounded
    >>> window_for_totals(17, 72, Bounded(18, 90, step=1)), window_for_totals(10**5, 5 * 10**5, Bounded(0, 5e5, step=1))
    ((16, 72), (1664, 8064))
    """
    dates = isinstance(column, Dates)
    if cells >= MOST_POINTS and not dates:
        points, cells = round(points * FINE_CELLS / cells), FINE_CELLS
    stride = -(-cells // (MOST_ONE_WAY - 1))
    if dates:  # a window of dates is odd
        stride += stride % 2 == 0
        return stride * max(1, 2 * round((points / stride - 1) / 2) + 1), cells
    return stride * max(1, round(points / stride)), cells


def fewest_merged(points: int, window: int) -> int | None:
    """Return the least divisor of a window that leaves few enough nodes; None if none leaves a fitting number.

    Examples
    --------
    >>> fewest_merged(8535, 4096), fewest_merged(73, 18), fewest_merged(73, 17), fewest_merged(41, 17)
    (256, 2, None, 1)
    """
    for stride in range(1, window + 1):
        if window % stride == 0 and Nodes(points, stride).nodes <= MOST_ONE_WAY:
            return stride if stride == 1 or Nodes(points, stride).nodes >= LEAST_ONE_WAY else None
    return None


@dataclass(frozen=True)
class TotalsColumn:
    """Functions of one column that are summed.

    Attributes
    ----------
    name : str
    points : int
        Of its lattice: of a category its levels.
    missing : bool
        Whether a missing value is one more cell.
    category : bool
    stride : int
        Lattice points between the nodes of a number; 1 of a category.
    """

    name: str
    points: int
    missing: bool
    category: bool
    stride: int = 1

    @cached_property
    def one_way(self) -> Nodes:
        """Nodes of sheets A and B."""
        return Nodes(self.points, self.stride)

    @cached_property
    def two_way(self) -> Nodes:
        """Nodes of sheet C: levels of a category are never merged."""
        if self.category or self.points <= MOST_TWO_WAY:
            return Nodes(self.points, 1)
        times = -(-(self.points - 1) // (self.stride * (ROUNDED_TWO_WAY - 1)))
        return Nodes(self.points, self.stride * times)

    @property
    def rounds(self) -> bool:
        """True if the column needs a word per record."""
        return self.one_way.rounds or self.two_way.rounds

    @property
    def scale(self) -> int:
        """Whole number that stands for the position 1."""
        return min(self.points - 1, POSITION_UNITS)

    @cached_property
    def positions(self) -> Whole:
        """Position of each node in whole numbers, from -scale to scale."""
        share = 2 * self.one_way.places / (self.points - 1) - 1
        return np.rint(self.scale * share).astype(np.int64)

    def cells(self, nodes: Nodes) -> list[Function]:
        """Return the indicator functions of nodes, and of a missing value."""
        return [*((nodes.nodes, k) for k in range(nodes.nodes)), *([MISSING] if self.missing else [])]

    @property
    def parts(self) -> list[Function]:
        """The score vector: the levels of a category, or a number's position; 1 where the value is missing."""
        if self.category:
            return self.cells(self.one_way)
        return [POSITION, *([MISSING] if self.missing else [])]

    def table(self, functions: list[Function]) -> Array:
        """Return functions at the lattice points and, in one row more, where the value is missing."""
        out = np.zeros((self.points + 1, len(functions)))
        hats = {nodes.nodes: nodes.hats for nodes in (self.one_way, self.two_way)}
        at = np.zeros(1) if self.category else self.positions / self.scale
        for j, function in enumerate(functions):
            if isinstance(function, tuple):
                out[:-1, j] = hats[function[0]][:, function[1]]
            elif function == MISSING:
                out[-1, j] = 1.0
            elif function == ONE:
                out[:, j] = 1.0
            else:
                out[:-1, j] = self.one_way.hats @ (at if function == POSITION else at**2)
        return out

    def square(self, part: Function) -> Function:
        """Return the square of a part of the score vector: indicators are their own."""
        return SQUARE if part == POSITION else part

    def label(self, function: Function, lattice: Lattice, column: Column) -> str:
        """Return what a cell or a moment is called in tables."""
        if not isinstance(function, tuple):
            return function
        count, k = function
        if self.category:
            return str(column.levels[k])  # type: ignore[union-attr] # a category has levels
        nodes = self.one_way if count == self.one_way.nodes else self.two_way
        value = float(lattice.values[nodes.places[k]])
        if isinstance(column, Dates):
            from versadp.release.path.dates import date_of

            return str(date_of(float(np.rint(value)), column))
        return brief(value, 6)
