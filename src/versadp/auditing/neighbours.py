"""Two records that are as far apart as the unit allows, and how an attacker tells their releases apart.

Records are independent, so one release of n copies of a record gives n samples of what an attacker may see. The score
is the log likelihood ratio of the mechanism's own law: by Neyman and Pearson nothing separates the two better. Events
that no density knows of (values off the grid, values that hit a record) are tried beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.schema import Categorical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from versadp.noise import Block
    from versadp.release.mechanism import Mechanism
    from versadp.schema import Column

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """Two neighbouring records: the private columns, levels as their numbers, what is missing as NaN."""

    null: dict[str, float]
    other: dict[str, float]


def worst_pair(mechanism: Mechanism, unit: str) -> Pair:
    """Return the two records that are hardest to protect: every block's, or the one block's that protects least."""
    ends = [block.extremes(unit) for block in mechanism.blocks]
    null = {name: value for first, _ in ends for name, value in first.items()}
    if unit == "record":
        return Pair(null, {name: value for _, second in ends for name, value in second.items()})
    missed = [float(block.profile(unit).beta(0.01)) for block in mechanism.blocks]
    return Pair(null, null | ends[int(np.argmin(missed))][1])


def copies(mechanism: Mechanism, record: Mapping[str, float], n: int) -> Any:
    """Return a table of n copies of a record; public columns are 0."""
    import pyarrow as pa

    from versadp.release.path.dates import date_of
    from versadp.schema import Dates

    columns = {}
    for name, column in mechanism.schema.columns.items():
        value: Any = record.get(name, 0)
        if np.isnan(value):
            value = None
        elif isinstance(column, Categorical):
            value = column.levels[int(value)]
        elif isinstance(column, Dates):
            value = date_of(value, column)
        columns[name] = pa.repeat(pa.scalar(value), n)
    if mechanism.schema.id is not None:
        columns[mechanism.schema.id] = pa.array(np.arange(n))
    return pa.table(columns)


def scores(mechanism: Mechanism, pair: Pair, table: Any) -> Array:
    """Return the log likelihood ratio of `other` against `null` for each released record."""
    ratios = [block.log_ratio(*_seen(block, mechanism, pair, table)) for block in mechanism.blocks]
    return np.asarray(np.sum(ratios, axis=0))


def events(mechanism: Mechanism, pair: Pair, table: Any) -> dict[str, NDArray[np.bool_]]:
    """Return what an attacker can look for beside the likelihood ratio."""
    found: dict[str, NDArray[np.bool_]] = {}
    for block in mechanism.blocks:
        found |= block.events(*_seen(block, mechanism, pair, table))
    return found


def _seen(block: Block, mechanism: Mechanism, pair: Pair, table: Any) -> tuple[Array, Array, Array]:
    """Return the released values of a block, (columns, rows), and its values in the two records."""
    columns = [_values(table[name], mechanism.schema.columns[name]) for name in block.columns]
    null, other = (np.array([record[name] for name in block.columns]) for record in (pair.null, pair.other))
    return np.stack(columns), null, other


def _values(column: Any, declared: Column) -> Array:
    """Return a released column as numbers, levels as their place, what is missing as NaN."""
    import pyarrow as pa

    from versadp.release.path.table import read_table
    from versadp.schema import Schema

    table = read_table(pa.table({"x": column}), Schema({"x": declared}), released=True)
    return table.private["x"].astype(float)
