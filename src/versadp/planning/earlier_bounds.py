"""Bounds from an earlier release of such people, which is public: they cost nothing.

Each bound is a corrected quantile, moved outwards by one cell beyond its own (`release/bounds/cells.py`). Where it is
not known, because of the noise or of the bounds of the earlier release, that side keeps what the earlier release had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.describing.describe import describe
from versadp.errors import ParameterError
from versadp.release.bounds.cells import learnable
from versadp.release.bounds.estimate import rare_levels_merged, with_bounds
from versadp.schema import Bounded, Categorical
from versadp.schema.learnt import EARLIER, Clipped, LearntBounds

if TYPE_CHECKING:
    from versadp.describing.column import ColumnDescription
    from versadp.release.bounds.cells import Cells
    from versadp.release.release import Release
    from versadp.schema import Column, Schema


def bounds_of_release(release: Release, schema: Schema, coverage: float) -> Schema:
    """Return the schema with the bounds that an earlier release shows.

    Parameters
    ----------
    release : Release
        With columns of the same names and kinds.
    schema : Schema
        As declared.
    coverage : float
        Share of the values between the bounds.

    Examples
    --------
    >>> import numpy as np, pandas as pd, versadp as vdp
    >>> schema = vdp.Schema({"age": vdp.Bounded(0, 1000)})
    >>> people = pd.DataFrame({"age": np.random.default_rng(0).uniform(20, 80, 50_000)})
    >>> earlier = vdp.calibrate(schema, epsilon=4).release(people, key=bytes(range(32)))
    >>> vdp.fit_bounds(earlier, schema).columns["age"]
    Bounded(lower=11.7, upper=95.9, declared=(0.0, 1000.0))
    """
    declared, there = schema.as_declared(), release.mechanism.schema.columns
    cells = learnable(declared)
    both = [name for name in cells if type(there.get(name)) is type(declared.columns[name])]
    if not both:
        raise ParameterError(
            "the earlier release has none of the columns whose bounds are wanted", hint="they go by their names"
        )
    tail = (1 - coverage) / 2
    if not tail:
        return declared
    found = describe(release, quantiles=(tail, 1 - tail), columns=both)
    made: dict[str, Column] = {}
    clipped: dict[str, Clipped] = {}
    for name in both:
        better = _better(declared.columns[name], cells[name], found[name], there[name], tail)
        if better is not None:
            made[name], clipped[name] = better
    learnt = LearntBounds(EARLIER, 1.0, {}, 0, 0.0, coverage, 0.0, 0.0, "record", clipped)
    return declared.with_columns(made, learnt)


def _better(
    column: Column, cells: Cells, found: ColumnDescription, earlier: Column, tail: float
) -> tuple[Column, Clipped] | None:
    if isinstance(column, Categorical):
        return _merged(column, found, tail)
    assert isinstance(column, Bounded)
    assert isinstance(earlier, Bounded)
    ends = [found.quantiles[tau] for tau in sorted(found.quantiles)]
    known = [np.isfinite(each.value) for each in ends]
    first = int(np.searchsorted(cells.starts, ends[0].value if known[0] else earlier.lower, side="right")) - known[0]
    last = int(np.searchsorted(cells.starts, ends[1].value if known[1] else earlier.upper, side="right")) + known[1]
    first, last = max(first, 0), min(last, cells.size - 1)
    made = with_bounds(column, float(cells.low[first]), float(cells.high[last]))
    return None if made == column else (made, Clipped(tail, tail, tail / 2, 0.0, 0.0))


def _merged(column: Categorical, found: ColumnDescription, tail: float) -> tuple[Column, Clipped] | None:
    """Return a category with its rare levels merged, and the share of people that have them; None without any."""
    shares = [found.shares.get(level) for level in column.levels]
    rare = np.array([each is None or not each.told or each.value < 2 * each.error for each in shares])
    merged = rare_levels_merged(column, rare)
    share = sum(each.value for each, gone in zip(shares, rare, strict=True) if each is not None and gone)
    return None if merged is None else (merged, Clipped(0.0, float(share), tail, 0.0, 0.0))
