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

from versadp.auditing.records import as_numbers, table_of, value_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from versadp.auditing.records import Path
    from versadp.noise import Block
    from versadp.release.mechanism import Mechanism
    from versadp.schema import Column

    Array = NDArray[np.float64]
    Seen = Mapping[str, Array]  # released columns as numbers


@dataclass(frozen=True)
class Pair:
    """Two neighbouring records: the private columns, levels as their numbers, what is missing as NaN."""

    null: dict[str, float]
    other: dict[str, float]
    name: str = "opposite corners"


class Releases(NamedTuple):
    """Releases of many copies of the two records, as numbers."""

    null: Seen
    other: Seen


def released(mechanism: Mechanism, pair: Pair, n: int, path: Path) -> Releases:
    """Release n copies of both records; rows are mixed, so that halves of them are alike whatever the path sorted."""
    order = np.random.default_rng().permutation(n)
    tables = (path(copies(mechanism, record, n)) for record in (pair.null, pair.other))
    seen = [{k: v[order] for k, v in as_numbers(table, mechanism.released_schema).items()} for table in tables]
    return Releases(*seen)


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
    return float(value_at(column, np.array([share]))[0])


def copies(mechanism: Mechanism, record: Mapping[str, float], n: int) -> Any:
    """Return a table of n copies of a record; public columns are 0."""
    return table_of(mechanism.schema, {name: np.full(n, value) for name, value in record.items()})


def scores(mechanism: Mechanism, pair: Pair, seen: Seen) -> Array:
    """Return the log likelihood ratio of `other` against `null` for each released record."""
    ratios = [block.log_ratio(_of(block, seen), *_ends(block, pair)) for block in mechanism.blocks]
    return np.asarray(np.sum(ratios, axis=0))


def events(mechanism: Mechanism, pair: Pair, seen: Seen) -> dict[str, NDArray[np.bool_]]:
    """Return what an attacker can look for beside the likelihood ratio."""
    found: dict[str, NDArray[np.bool_]] = {}
    for block in mechanism.blocks:
        found |= block.events(_of(block, seen), *_ends(block, pair))
    return found


def labels(mechanism: Mechanism, releases: Releases) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return what an attacker can tabulate, under either record."""
    found: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
    for block in mechanism.blocks:
        null, other = (block.labels(_of(block, seen)) for seen in releases)
        found |= {name: (null[name], other[name]) for name in null}
    return found


def _of(block: Block, seen: Seen) -> Array:
    """Return the released values of a block, (columns, rows)."""
    return np.stack([seen[name] for name in block.columns])


def _ends(block: Block, pair: Pair) -> list[Array]:
    """Return a block's values in the two records."""
    return [np.array([record[name] for name in block.columns]) for record in (pair.null, pair.other)]
