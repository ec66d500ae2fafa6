"""The signed sample: the product of the blocks' inverses, written out as weighted rows.

Blocks have their own coins, so the operator that undoes a record's noise is the product of its blocks' inverses:
numeric points times category levels, weights multiplied. One block's formula across two blocks would be biased.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from versadp.errors import ParameterError
from versadp.release.path.table import to_levels
from versadp.schema import Categorical

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise.extension import Extension
    from versadp.release.mechanism import Mechanism
    from versadp.release.path.table import Table

    Array = NDArray[np.float64]

MAX_POINTS = 10_000


@dataclass(frozen=True)
class SignedSample:
    """Weighted rows, and the record that each belongs to."""

    columns: dict[str, Any]
    weight: Array
    record: NDArray[np.int64]


def signed_sample(
    table: Table,
    mechanism: Mechanism,
    *,
    draws: int,
    extension: str | Extension,
    columns: list[str] | None,
    rng: np.random.Generator,
) -> SignedSample:
    """Return the signed sample of a released table; see `Release.augment`."""
    wanted = _wanted(columns, list(mechanism.schema.columns))
    points, weight = np.empty((1, table.rows, 0)), np.ones((1, table.rows))
    laplace = mechanism.channels.laplace
    if laplace is not None and set(wanted) & set(table.numeric):
        block = np.stack(list(table.numeric.values()), axis=1)
        points, weight = laplace.invert(block, draws=draws, extension=extension, rng=rng)
    levels, level_weight = _level_points(table, mechanism, wanted)
    if weight.shape[0] * level_weight.shape[0] > MAX_POINTS:
        raise ParameterError(
            f"{weight.shape[0] * level_weight.shape[0]} rows a record are too many",
            hint="name the columns of the analysis: augment(columns=[...]), or take fewer draws",
        )
    # axes: numeric point, level combination, record
    product = weight[:, None, :] * level_weight[None, :, :]
    record, point, combination = np.nonzero(product.transpose(2, 0, 1))
    out: dict[str, Any] = {}
    for name in wanted:
        column = mechanism.schema.columns[name]
        if name in table.numeric:
            out[name] = points[point, record, list(table.numeric).index(name)]
        elif isinstance(column, Categorical):
            out[name] = to_levels(levels[name][combination], column)
        else:
            out[name] = table.public[name].take(pa.array(record))
    return SignedSample(out, product[point, combination, record], record)


def _wanted(columns: list[str] | None, known: list[str]) -> list[str]:
    unknown = [name for name in columns or () if name not in known]
    if unknown:
        raise ParameterError(f"there is no column {unknown[0]!r}", hint=f"the release has {', '.join(known)}")
    return known if columns is None else [name for name in known if name in columns]


def _level_points(table: Table, mechanism: Mechanism, wanted: list[str]) -> tuple[dict[str, NDArray[np.int64]], Array]:
    """Return every combination of levels of the categories in the analysis, and its weight for each record."""
    names = [name for name in table.codes if name in wanted]
    channels = dict(zip(table.codes, mechanism.channels.responses, strict=True))
    sizes = [channels[name].levels for name in names]
    if np.prod(sizes, dtype=float) > MAX_POINTS:
        raise ParameterError(
            f"the categories have {np.prod(sizes, dtype=float):.0f} combinations of levels, which are too many",
            hint="name the columns of the analysis: augment(columns=[...])",
        )
    weight = np.ones((1, table.rows))
    for name in names:
        each = channels[name].invert(table.codes[name])
        weight = (weight[:, None, :] * each[None, :, :]).reshape(-1, table.rows)
    combinations = np.indices(sizes).reshape(len(sizes), weight.shape[0])
    return dict(zip(names, combinations, strict=True)), weight
