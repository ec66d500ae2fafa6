"""Two records that are as far apart as the unit allows, and how an attacker tells their releases apart.

Records are independent, so one release of n copies of a record gives n samples of what an attacker may see. The score
is the log likelihood ratio of the mechanism's own law: by Neyman and Pearson nothing separates the two better. Events
that no density knows of (values off the grid, values that hit a record) are tried beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.privacy.curves.radial import log_density
from versadp.schema import Bounded, Categorical

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.release.mechanism import Mechanism

    Array = NDArray[np.float64]

CERTAIN = 1e6  # the score of an exact hit: beyond every density ratio


@dataclass(frozen=True)
class Pair:
    """Two neighbouring records."""

    null: dict[str, Any]
    other: dict[str, Any]


def worst_pair(mechanism: Mechanism, unit: str) -> Pair:
    """Return the two records that are hardest to protect: opposite corners, or the column with the least noise."""
    null: dict[str, Any] = {}
    other: dict[str, Any] = {}
    for name, column in mechanism.schema.columns.items():
        if isinstance(column, Bounded):
            null[name], other[name] = column.lower, column.upper
        elif isinstance(column, Categorical):
            null[name], other[name] = column.levels[0], column.levels[1]
        else:
            null[name] = other[name] = 0
    if mechanism.schema.id is not None:
        null[mechanism.schema.id] = other[mechanism.schema.id] = 0
    if unit == "attribute":
        weakest = _weakest(mechanism)
        other = {name: other[name] if name == weakest else null[name] for name in null}
    return Pair(null, other)


def _weakest(mechanism: Mechanism) -> str:
    """Return the column whose own block gives the attacker the most at small false alarms."""
    from versadp.privacy import randomized_response, symmetric_laplace, zero_inflated

    missed = {}
    for name, response in zip(mechanism.schema.categorical, mechanism.channels.responses, strict=True):
        missed[name] = randomized_response(response.levels, response.keep).beta(0.01)
    if mechanism.scale:
        name, scale = min(mechanism.scale.items(), key=lambda item: item[1])
        block = symmetric_laplace(len(mechanism.scale), 1 / scale)
        missed[name] = zero_inflated(block, mechanism.exact_rate).beta(0.01)
    return min(missed, key=missed.__getitem__)


def copies(mechanism: Mechanism, record: dict[str, Any], n: int) -> Any:
    """Return a table of n copies of a record."""
    import pyarrow as pa

    columns = {name: pa.repeat(pa.scalar(value), n) for name, value in record.items()}
    if mechanism.schema.id is not None:
        columns[mechanism.schema.id] = pa.array(np.arange(n))
    return pa.table(columns)


def scores(mechanism: Mechanism, pair: Pair, table: Any) -> Array:
    """Return the log likelihood ratio of `other` against `null` for each released record."""
    total = np.zeros(table.num_rows)
    laplace = mechanism.channels.laplace
    if laplace is not None:
        y = np.stack([table[name].to_numpy() for name in mechanism.schema.numeric], axis=1)
        ends = [np.array([record[name] for name in mechanism.schema.numeric]) for record in (pair.null, pair.other)]
        radius = [np.linalg.norm((y - end) / laplace.sigma, axis=1) for end in ends]
        # within half a step of a record the density is that of the cell, not of the pole
        near = 0.5 / float(laplace.sigma_steps.max())
        logs = [log_density(laplace.dim, np.maximum(r, near)) for r in radius]
        total += logs[1] - logs[0]
        if laplace.exact_rate and not (ends[0] == ends[1]).all():
            total[(np.abs(y - ends[1]) <= laplace.step / 2).all(axis=1)] = CERTAIN
            total[(np.abs(y - ends[0]) <= laplace.step / 2).all(axis=1)] = -CERTAIN
    for name, response in zip(mechanism.schema.categorical, mechanism.channels.responses, strict=True):
        if pair.null[name] != pair.other[name]:
            seen = np.asarray(table[name].to_pylist(), dtype=object)
            step = np.log1p(response.levels * response.keep / (1 - response.keep))
            total += step * ((seen == pair.other[name]).astype(float) - (seen == pair.null[name]).astype(float))
    return total


def events(mechanism: Mechanism, pair: Pair, table: Any) -> dict[str, NDArray[np.bool_]]:
    """Return what an attacker can look for beside the likelihood ratio."""
    found: dict[str, NDArray[np.bool_]] = {}
    laplace = mechanism.channels.laplace
    if laplace is None:
        return found
    y = np.stack([table[name].to_numpy() for name in mechanism.schema.numeric])
    lower, step = np.array(laplace.lower)[:, None], laplace.step[:, None]
    steps = (y - lower) / step
    found["a value off the release grid"] = (steps != np.rint(steps)).any(axis=0)
    bits = y[0] * 2.0**53
    found["low bits: y * 2^53 is no whole number"] = bits != np.rint(bits)
    for record, word in ((pair.null, "first"), (pair.other, "second")):
        end = np.array([record[name] for name in mechanism.schema.numeric])[:, None]
        found[f"some value just that of the {word} record"] = (y == end).any(axis=0)
        found[f"all values just those of the {word} record"] = (y == end).all(axis=0)
    return found
