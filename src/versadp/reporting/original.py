"""The same model fitted to the original data, without noise: for the provider's eyes only.

Only the columns of the model are read. Values are moved to their bounds first, as the release does it, and records of
which something is missing are left out, as a fit to the release leaves them out.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import VersadpError
from versadp.fitting.public_facts import public_levels, public_values
from versadp.formula.design import make_design
from versadp.losses import as_loss
from versadp.planning.raw_precision import raw_fit
from versadp.release.path.dates import from_dates
from versadp.reporting.comparison import batches_of
from versadp.schema import Bounded, Categorical, Dates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.inference import Results
    from versadp.release.release import Release
    from versadp.schema import Column

    Array = NDArray[np.float64]


def original_fit(result: Results, release: Release, loss: Any, raw: Any) -> tuple[Array, Array] | None:
    """Return coefficients of the original data and their standard errors; None for a loss that has no plain fit.

    Parameters
    ----------
    result : Results
        The fit to the release.
    release : Release
    loss : str or loss
        Of that fit.
    raw : path or table
        The original data.
    """
    minimised: Any = as_loss(loss)
    if not minimised.needs_formula or getattr(minimised, "by_level", False) or result.formula is None:
        return None
    schema = release.mechanism.schema
    design = make_design(result.formula, schema, partial(public_levels, release), partial(public_values, release))
    parts: dict[str, list[NDArray[Any]]] = {name: [np.empty(0)] for name in design.used}
    for batch in batches_of(raw, schema):
        for name, seen in parts.items():
            seen.append(_values(batch.column(batch.schema.get_field_index(name)), schema.columns[name]))
    read = {name: np.concatenate(seen[1:] or seen) for name, seen in parts.items()}
    there = np.ones(len(next(iter(read.values()))), bool)
    for values in read.values():
        there &= np.array([value is not None for value in values]) if values.dtype == object else values == values  # noqa: PLR0124 - NaN
    m, y = design.evaluate({name: values[there] for name, values in read.items()})
    finite = np.isfinite(m).all(axis=1) & np.isfinite(y)
    m, y = m[finite], y[finite]
    try:
        found = raw_fit(minimised, m, minimised.coding(np.unique(y))(y), np.asarray(result.params.values, float))
    except VersadpError:  # terms that cannot be told apart even there
        return None
    return found.theta, found.bse(len(y))


def _values(values: Any, column: Column) -> NDArray[Any]:
    import pyarrow as pa

    if isinstance(column, Dates):
        return np.clip(from_dates(values, column), column.lower, column.upper)
    if isinstance(column, Bounded):
        numbers = np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=float)
        return np.asarray(np.clip(numbers, column.lower, column.upper))
    if isinstance(column, Categorical) and isinstance(column.levels[0], str):
        return np.array([column.released_as(level) for level in values.cast(pa.string()).to_pylist()], dtype=object)
    if isinstance(column, Categorical) and column.merged:
        return np.array([column.released_as(level) for level in values.to_pylist()])
    return np.asarray(values.to_numpy(zero_copy_only=False))
