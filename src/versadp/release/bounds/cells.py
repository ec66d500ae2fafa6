"""Into which cells a column's declared range is cut, whatever the records hold, to count people in them.

    a number           even in asinh(x/s), s = max |bound|/sinh(6): a constant ratio far from 0, even near it
    with a step, date  the same, or even for dates, of whole steps; each step by itself where there are few
    a category         its levels

A person is counted once in the cells, once in blocks of 4 of them and once in blocks of 16: sums over many cells, such
as tails, are then known with several times less noise than single cells would give. What is missing, if that is
private, is a cell and a block of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from versadp.schema import Bounded, Categorical, Dates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.schema import Column, Schema

    Array = NDArray[np.float64]

CELLS = 64
STRETCH = 6.0  # of asinh: cells far from 0 are a tenth wider each than the one before, e^(6/64)
BLOCKS = (1, 4, 16)  # cells per count
FEWEST_STEPS = 8  # steps: a column with fewer keeps its declared bounds
FEWEST_LEVELS = 10  # levels: a category with fewer keeps all
_FIRST_BITS = 16  # of a number: sign, exponent and 4 digits; such numbers are within a sixteenth of one another
_DIGITS = 4  # of the ends of cells, so that they are the same on every machine


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one column.

    Attributes
    ----------
    starts : ndarray
        Values from which on a cell begins, but the first; a category's are numbers of levels.
    low, high : ndarray
        Lower bound if a cell is the first that is kept, upper bound if it is the last; in the column's own units.
    hidden : bool
        Whether missing is one more cell, the last.
    ordered : bool
        Whether neighbouring cells make blocks; levels do not.
    """

    starts: Array
    low: Array
    high: Array
    hidden: bool
    ordered: bool = True

    @property
    def size(self) -> int:
        """Number of cells that hold a value."""
        return len(self.low)

    @property
    def blocks(self) -> tuple[int, ...]:
        """Number of cells in the blocks of each resolution."""
        return tuple(size for size in BLOCKS if size == 1 or (self.ordered and 2 * size < self.size))

    @property
    def counts(self) -> int:
        """Number of counts of all resolutions."""
        return sum(-(-self.size // block) + self.hidden for block in self.blocks)

    def sums(self, people: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counts of all resolutions of people per cell, missing last."""
        leaves = people if self.hidden else people[:-1]
        return np.rint(self.incidence @ leaves).astype(np.int64) if self.ordered else leaves

    @cached_property
    def incidence(self) -> Array:
        """Which cells each count sums up, (counts, cells), missing last."""
        leaves = np.arange(self.size + self.hidden)
        rows = []
        for size in self.blocks:
            block = np.where(leaves < self.size, leaves // size, -1)
            rows += [block == number for number in np.unique(block[: self.size])] + [block == -1] * self.hidden
        return np.array(rows, dtype=np.float64)

    def count(self, values: Array) -> NDArray[np.int64]:
        """Return how many values lie in each cell, missing last; values beyond the ends are in the cells there."""
        from versadp.noise.kernel import count_in_cells

        given = np.ascontiguousarray(values, np.float64)
        if not self.ordered:  # numbers of levels
            missing = np.isnan(given)
            return np.bincount(np.where(missing, self.size, given).astype(np.int64), minlength=self.size + 1)
        counts = np.zeros(self.size + 1, np.int64)
        count_in_cells(given, self.starts, self._near, 64 - _FIRST_BITS, counts)
        return counts

    @cached_property
    def _near(self) -> NDArray[np.int64]:
        """First cell of the numbers that begin with each combination of sign, exponent and a few digits."""
        first = np.arange(2**_FIRST_BITS, dtype=np.uint64) << np.uint64(64 - _FIRST_BITS)
        rest = np.uint64(2 ** (64 - _FIRST_BITS) - 1)
        least = np.where(first >> np.uint64(63), first | rest, first).view(np.float64)  # of negative ones the largest
        return np.where(np.isnan(least), 0, np.searchsorted(self.starts, least, side="right"))

    def __reduce__(self) -> tuple[object, ...]:
        return Cells, (self.starts, self.low, self.high, self.hidden, self.ordered)


def cells_of(column: Column) -> Cells | None:
    """Return the cells of a column, or None if nothing is to be learnt about it.

    Examples
    --------
    >>> cells = cells_of(Bounded(0, 500_000))
    >>> cells.size, cells.high[:3].tolist(), cells.low[-2:].tolist()
    (64, [232.7, 467.5, 706.4], [414500.0, 455300.0])
    >>> cells_of(Bounded(0, 30, step=1)).low[:3].tolist(), cells_of(Bounded(0, 1, step=1))
    ([0.0, 1.0, 2.0], None)
    """
    hidden = getattr(column, "nullable", False) is True
    if isinstance(column, Categorical):
        numbers = np.arange(len(column.levels), dtype=np.float64)
        many = not isinstance(column.levels[0], bool) and len(numbers) >= FEWEST_LEVELS
        return Cells(numbers[1:] - 0.5, numbers, numbers, hidden, ordered=False) if many and not column.merged else None
    if not isinstance(column, Bounded) or column.declared is not None:
        return None
    if column.steps is None:
        ends = _even_in_asinh(column.lower, column.upper)
        return Cells(ends[1:-1], ends[:-1], ends[1:], hidden)
    if column.steps < FEWEST_STEPS:
        return None
    assert column.step is not None
    first = _whole_steps(column)
    low, high = (column.lower + column.step * place for place in (first[:-1], first[1:] - 1))
    return Cells(low[1:] - column.step / 2, low, high, hidden)


def learnable(schema: Schema, columns: list[str] | None = None) -> dict[str, Cells]:
    """Return the cells of all columns about which something is to be learnt, or of some."""
    found = {name: cells_of(schema.columns[name]) for name in schema.private if columns is None or name in columns}
    return {name: cells for name, cells in found.items() if cells is not None}


def _even_in_asinh(low: float, high: float) -> Array:
    unit = max(abs(low), abs(high)) / np.sinh(STRETCH)
    inner = unit * np.sinh(np.linspace(np.arcsinh(low / unit), np.arcsinh(high / unit), CELLS + 1)[1:-1])
    # of the distance from the nearer of 0 and the bound: digits of 1,000,003 would tell nothing of its decimals
    origin = low if low > 0 else high if high < 0 else 0.0
    digits = _DIGITS - 1 - np.floor(np.log10(np.maximum(np.abs(inner - origin), 1e-300)))
    rounded = [origin + round(x - origin, int(d)) for x, d in zip(inner.tolist(), digits.tolist(), strict=True)]
    return np.unique([low, *(x for x in rounded if low < x < high), high])


def _whole_steps(column: Bounded) -> NDArray[np.float64]:
    """Return the step with which each cell begins, and the one behind the last."""
    assert column.steps is not None
    assert column.step is not None
    if column.steps < CELLS or isinstance(column, Dates):
        return np.unique(np.rint(np.linspace(0, column.steps + 1, min(column.steps + 1, CELLS) + 1)))
    ends = _even_in_asinh(column.lower, column.upper)
    return np.unique(np.append(np.rint((ends[:-1] - column.lower) / column.step), column.steps + 1.0))
