"""Points that noisy columns may have come from: cells of each column's domain, and every combination of them.

A cell is as wide as the release can tell values apart, or as few cells as can be worked with allow. Values are taken to
lie evenly in their cell, and models are evaluated in its middle.

A law of S points explains a share S/n of any n numbers by chance, scores among them: standard errors would be too long
by half of that, and laws that follow chance make slopes flatter. So there are at least 20 records for a point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import ParameterError
from versadp.schema import Bounded, Categorical
from versadp.schema.spacing import LINEAR, from_even

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from versadp.noise import Block
    from versadp.schema import Column, Schema

    Array = NDArray[np.float64]

MOST = 1500  # weights that are fitted at once
FINE = {0: 1, 1: 64, 2: 18, 3: 8}  # cells of each number, by how many numbers there are
COARSE = 6  # cells of a number are no fewer
RECORDS = 20  # for each point


@dataclass(frozen=True)
class Support:
    """Points of some noisy columns.

    Attributes
    ----------
    columns : tuple of str
    low, high : array (columns, S)
        Ends of the cells; a category's are half a step around the number of its level.
    """

    columns: tuple[str, ...]
    low: Array
    high: Array

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self.low.T)

    @property
    def middle(self) -> Array:
        """The points, (columns, S)."""
        return (self.low + self.high) / 2

    def values(self, schema: Schema, texts: frozenset[str]) -> dict[str, NDArray[Any]]:
        """Return the columns at the points, as a formula sees them: categories by their levels."""
        out: dict[str, NDArray[Any]] = {}
        for name, at in zip(self.columns, self.middle, strict=True):
            column = schema.columns[name]
            if isinstance(column, Categorical):
                levels = np.array(column.levels, dtype=object)[np.rint(at).astype(np.int64)]
                out[name] = levels if name in texts else levels.astype(float)
            else:
                out[name] = from_even(getattr(column, "spacing", LINEAR), at)
        return out

    def features(self, schema: Schema) -> Array:
        """Return what densities go with: numbers around their mean, all levels but the first, (S, features)."""
        out = []
        for name, at in zip(self.columns, self.middle, strict=True):
            column = schema.columns[name]
            if isinstance(column, Categorical):
                out += [(np.rint(at) == level).astype(float) for level in range(1, len(column.levels))]
            else:
                out.append((at - at.mean()) / (at.std() or 1.0))
        return np.stack(out, axis=1) if out else np.zeros((self.size, 0))


def cells_of(name: str, schema: Schema, blocks: Sequence[Block], most: int) -> Array:
    """Return the cells of a noisy column, `most` at most, (2, cells)."""
    block = next(block for block in blocks if name in block.columns)
    found = block.cells(name, schema.columns[name], most)
    if found is None:
        raise ParameterError(
            f"the noise of {name!r} does not say how likely its outputs are", hint="use method 'efficient'"
        )
    return found


def make_support(
    names: tuple[str, ...], schema: Schema, blocks: Sequence[Block], strata: int = 1, records: float = np.inf
) -> Support:
    """Return all combinations of the cells of some columns, as fine as can be worked with.

    Parameters
    ----------
    names : tuple of str
        Noisy columns.
    schema : Schema
    blocks : sequence of Block
        Their noise.
    strata : int
        How many laws are fitted.
    records : float
        From how many records.
    """
    numbers = [name for name in names if name in schema.numeric]
    levels = {name: cells_of(name, schema, blocks, MOST) for name in names if name not in schema.numeric}
    room = MOST / strata / np.prod([each.shape[1] for each in levels.values()])
    if len(numbers) > max(FINE) or (room ** (1 / len(numbers)) < COARSE if numbers else room < 1):
        raise ParameterError(
            f"a likelihood serves few noisy columns, and {', '.join(names)} have too many values together",
            hint="use method 'efficient', or fewer columns",
        )
    most = int(min(FINE[len(numbers)], room ** (1 / max(len(numbers), 1))))
    told = max(COARSE, (records / RECORDS * room / MOST) ** (1 / max(len(numbers), 1)))
    cells = {name: most if _is_told_apart(schema.columns[name], most) else int(min(most, told)) for name in numbers}
    every: Mapping[str, Array] = levels | {name: cells_of(name, schema, blocks, cells[name]) for name in numbers}
    low, high = (
        np.stack([each.ravel() for each in np.meshgrid(*(every[name][end] for name in names), indexing="ij")])
        if names
        else np.zeros((0, 1))
        for end in (0, 1)
    )
    return Support(names, low, high)


def _is_told_apart(column: Column, most: int) -> bool:
    """Return True if a number is declared to have few values: they have a point each, however few the records are."""
    return isinstance(column, Bounded) and column.steps is not None and column.steps < most
