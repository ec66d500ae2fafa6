"""Two records that are as far apart as the unit allows, and how an attacker tells their releases apart.

The corners of the domain are furthest apart; pairs in its interior, far and near, and one attribute after the other
are tried as well if that is asked for. A claim is for all of them.

Records are independent, so one release of n copies of a record gives n samples of what an attacker may see. The score
is the log likelihood ratio of the mechanism's own law: by Neyman and Pearson nothing separates the two better. Events
that no density knows of (values off the grid, values that hit a record) are tried beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.schema import Bounded, Categorical

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
    name: str = "opposite corners"


class Releases(NamedTuple):
    """What was released of many copies of the two records."""

    null: Any
    other: Any


def worst_pair(mechanism: Mechanism, unit: str) -> Pair:
    """Return the two records that are hardest to protect: every block's, or the one block's that protects least."""
    ends = [block.extremes(unit) for block in mechanism.blocks]
    null = {name: value for first, _ in ends for name, value in first.items()}
    if unit == "record":
        return Pair(null, {name: value for _, second in ends for name, value in second.items()})
    missed = [float(block.profile(unit).beta(0.01)) for block in mechanism.blocks]
    return Pair(null, null | ends[int(np.argmin(missed))][1], "the attribute that is protected least")


def all_pairs(mechanism: Mechanism, unit: str) -> list[Pair]:
    """Return pairs of all kinds: corners, far and near ones in the interior; of an attribute, every one in turn.

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema
    >>> mech = Mechanism(Schema({"a": Bounded(0, 1), "b": Bounded(0, 1)}), scale=0.5)
    >>> [pair.name for pair in all_pairs(mech, "attribute")][:3]
    ['the attribute that is protected least', 'b: 0 against 1', 'a: 0.25 against 0.75']
    """
    schema = mechanism.schema
    private = {name: schema.columns[name] for name in schema.private}
    low, middle = ({name: _at(column, share) for name, column in private.items()} for share in (0.0, 0.5))
    pairs = [worst_pair(mechanism, unit)]
    others = np.random.default_rng(0).random((3, 2)).tolist()  # of the parity, and whatever else, that chance has it
    for base, *shares in (
        (low, 0.0, 1.0),
        (middle, 0.25, 0.75),
        (middle, 0.5, 0.55),
        *((middle, *at) for at in others),
    ):
        first, second = ({name: _at(column, share) for name, column in private.items()} for share in shares)
        if unit == "record":
            pairs.append(Pair(first, second, f"{shares[0]:.3g} against {shares[1]:.3g} of every width"))
            continue
        for name in private:
            words = f"{name}: {first[name]:g} against {second[name]:g}"
            pairs.append(Pair(base | {name: first[name]}, base | {name: second[name]}, words))
    for name, column in private.items():  # whether a value is there at all
        if getattr(column, "nullable", False) is True:
            pairs.append(Pair(middle, middle | {name: np.nan}, f"{name}: {middle[name]:g} against missing"))
    different = [pair for pair in pairs if pair.null != pair.other]
    return list({(*pair.null.values(), *pair.other.values()): pair for pair in reversed(different)}.values())[::-1]


def _at(column: Column, share: float) -> float:
    """Return the value, or the number of the level, so far into a column."""
    if isinstance(column, Bounded):
        place = share if column.steps is None else round(share * column.steps) / column.steps
        return column.lower + place * (column.upper - column.lower)
    assert isinstance(column, Categorical)
    return float(round(share * (len(column.levels) - 1)))


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


def labels(mechanism: Mechanism, releases: Releases) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return what an attacker can tabulate, under either record."""
    found: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
    for block in mechanism.blocks:
        null, other = (block.labels(_released(block, mechanism, table)) for table in releases)
        found |= {name: (null[name], other[name]) for name in null}
    return found


def _released(block: Block, mechanism: Mechanism, table: Any) -> Array:
    return np.stack([_values(table[name], mechanism.schema.columns[name]) for name in block.columns])


def _seen(block: Block, mechanism: Mechanism, pair: Pair, table: Any) -> tuple[Array, Array, Array]:
    """Return the released values of a block, (columns, rows), and its values in the two records."""
    null, other = (np.array([record[name] for name in block.columns]) for record in (pair.null, pair.other))
    return _released(block, mechanism, table), null, other


def _values(column: Any, declared: Column) -> Array:
    """Return a released column as numbers, levels as their place, what is missing as NaN."""
    import pyarrow as pa

    from versadp.release.path.table import read_table
    from versadp.schema import Schema

    table = read_table(pa.table({"x": column}), Schema({"x": declared}), released=True)
    return table.private["x"].astype(float)
