"""One column in the totals: evenly spaced nodes on its lattice, and stochastic rounding to them.

A lattice with as many nodes as points needs no rounding. With fewer, a lattice point between two nodes goes to the
upper one with probability equal to how far it is up, so that for any function v of the nodes

    E v(rounded x)  =  Σ_k v(k) hat_k(x),     hat_k = 1 at node k, 0 at all others, and straight in between.

A sum over rounded records is therefore unbiased for the sum of functions of the records' own lattice points. What
rounding does to one record depends on that record and its own words alone, so it changes no sensitivity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

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
MOST_ONE_WAY = 64  # cells of a column in sheet A (theory of the totals: more only add noise to smooth questions)
MOST_TWO_WAY = 32  # natural levels of a number in sheet C
ROUNDED_TWO_WAY = 16  # nodes in sheet C beyond: a function of two columns is off by a 1,800th of its second derivative
MOST_POSITIONS = 2**10 + 1  # nodes of a position: sums of products of 2^43 people fit 64 bits
MOST_POINTS = 2**16 + 1  # of a lattice on which functions are tabled: 180 years of days, 70 MB


class Nodes(NamedTuple):
    """`nodes` evenly spaced nodes on the lattice points 0 to `points - 1`, both ends among them.

    Examples
    --------
    >>> Nodes(5, 3).hats
    array([[1. , 0. , 0. ],
           [0.5, 0.5, 0. ],
           [0. , 1. , 0. ],
           [0. , 0.5, 0.5],
           [0. , 0. , 1. ]])
    """

    points: int
    nodes: int

    @property
    def rounds(self) -> bool:
        """True if there are fewer nodes than lattice points."""
        return self.nodes < self.points

    @property
    def hats(self) -> Array:
        """Probability that each lattice point is rounded to each node, (points, nodes)."""
        place = np.arange(self.points) * ((self.nodes - 1) / max(self.points - 1, 1))
        return np.asarray(np.maximum(1 - np.abs(place[:, None] - np.arange(self.nodes)), 0.0))

    def rounded(self, content: Whole, words: NDArray[np.uint64] | None) -> Whole:
        """Return nodes for lattice points: upwards with a word below its share of 2^64.

        Parameters
        ----------
        content : array of int64
            Lattice points.
        words : array of uint64, optional
            One per record; none where nothing is rounded.
        """
        if not self.rounds:
            return content
        assert words is not None
        low, rest = np.divmod(content * (self.nodes - 1), self.points - 1)
        up = words < rest.astype(np.uint64) * np.uint64(2**64 // (self.points - 1))
        return np.asarray(low + up)


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
    """

    name: str
    points: int
    missing: bool
    category: bool

    @property
    def one_way(self) -> Nodes:
        """Nodes of sheet A."""
        return Nodes(self.points, min(self.points, MOST_ONE_WAY))

    @property
    def two_way(self) -> Nodes:
        """Nodes of sheet C: levels of a category are never merged."""
        few = self.category or self.points <= MOST_TWO_WAY
        return Nodes(self.points, self.points if few else ROUNDED_TWO_WAY)

    @property
    def positions(self) -> Nodes:
        """Nodes of a number's position in sheet B."""
        return Nodes(self.points, min(self.points, MOST_POSITIONS))

    @property
    def rounds(self) -> bool:
        """True if the column needs a word per record."""
        return self.one_way.rounds or self.two_way.rounds

    @property
    def scale(self) -> int:
        """Whole number that stands for the position 1."""
        return self.positions.nodes - 1

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
        at = np.linspace(-1, 1, self.positions.nodes)
        for j, function in enumerate(functions):
            if isinstance(function, tuple):
                out[:-1, j] = hats[function[0]][:, function[1]]
            elif function == MISSING:
                out[-1, j] = 1.0
            elif function == ONE:
                out[:, j] = 1.0
            else:
                out[:-1, j] = self.positions.hats @ (at if function == POSITION else at**2)
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
        value = lattice.low + lattice.step * k * (self.points - 1) / max(count - 1, 1)
        if isinstance(column, Dates):
            from versadp.release.path.dates import date_of

            return str(date_of(float(np.rint(value)), column))
        return brief(value, 6)
