"""`fit_bounds`: a schema with effective bounds, from a table, a file, or an earlier release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from versadp.engine import as_engine
from versadp.errors import ParameterError
from versadp.noise.words import check_key, fresh_key
from versadp.release.bounds.cells import learnable
from versadp.release.bounds.count import counted, people_in_cells
from versadp.release.bounds.law import COVERAGE, SHARE, BoundsRequest
from versadp.release.bounds.learn import learnt_schema, planned
from versadp.release.files.sources import BATCH_ROWS, Source, open_fitting
from versadp.release.path.table import read_table, survey

if TYPE_CHECKING:
    from versadp.engine import Engine
    from versadp.schema import Schema


def fit_bounds(
    data: Any,
    schema: Schema,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    unit: str | None = None,
    share: float = SHARE,
    coverage: float = COVERAGE,
    pure: bool = False,
    spacing: bool = False,
    columns: list[str] | None = None,
    key: bytes | None = None,
    engine: str | Engine = "auto",
) -> Schema:
    """Return the schema with bounds that hold most values, learnt with noise, for a share of a privacy target.

    Noise is relative to the bounds, and what a column can hold is often much wider than what it does hold. Bounds
    that were read off the records would leak; these come from noisy counts of people per cell of the declared range,
    and what that costs is part of what every mechanism on the schema states. `calibrate` needs the same target, and
    leaves the rest of it for the records. Rare levels of categories with ten levels or more become "other" (-1 of whole
    numbers).

    This looks at the records each time it is called without a `key`, and nobody keeps account of it;
    `versadp release --fit-bounds` does both steps as one release, in the ledger.

    Parameters
    ----------
    data : table, str, Path, Source, Release or None
        What is to be released, as `Mechanism.release` or `release_file` take it. A `Release`: an earlier one of such
        people, with the columns of the schema, which costs nothing; no target is then given.
        None: nothing is looked at, and the schema says what it will cost, for `release_file(..., fit_bounds=True)`.
    schema : Schema
        With the declared bounds, which stay what people were promised.
    epsilon, delta : float
        The target of the release; without a delta it is pure.
    unit : {"person", "record", "attribute"}, optional
        What it protects, as for `calibrate`.
    share : float
        Of the target, for the bounds: of mu squared where there is a delta, else of epsilon.
    coverage : float
        Share of a column's values that its bounds are to hold, half of the rest on either side. With few people
        bounds hold fewer, where noise cannot tell, or stay as they are declared. 1 keeps all.
    pure : bool
        Geometric noise although there is a delta: for windows that are not shuffled, whose epsilon is all they have.
    spacing : bool
        Choose by the same counts, for each number without a step, whether windows are even in its values or in
        log(1 + x), where values are spread wider (`Bounded(spacing=)`).
    columns : list of str, optional
        Which columns to look at; all by default. The fewer, the less noise.
    key : bytes, optional
        32 secret random bytes: the same key, schema, target and counts give the same bounds. Drawn by default.
    engine : str or Engine
        Where files are read, as for `release_file`.

    Returns
    -------
    Schema
        `schema.bounds` says what was spent and how many values are clipped.

    Examples
    --------
    >>> import numpy as np, pandas as pd, versadp as vdp
    >>> people = pd.DataFrame({"income": np.exp(np.random.default_rng(0).normal(9.8, 0.7, 100_000))})
    >>> schema = vdp.Schema({"income": vdp.Bounded(0, 500_000)})
    >>> fitted = vdp.fit_bounds(people, schema, epsilon=1, delta=1e-6, key=bytes(range(32)))
    >>> fitted.columns["income"]
    Bounded(lower=2900.0, upper=111500.0, declared=(0.0, 500000.0))
    >>> mech = vdp.calibrate(fitted, epsilon=1, delta=1e-6, shuffled=100_000)
    >>> mech.privacy(shuffled=100_000).delta(1.0) <= 1e-6
    True
    """
    from versadp.release.release import Release

    if isinstance(data, Release):
        if epsilon is not None or delta is not None:
            raise ParameterError("an earlier release costs nothing: there is no target", hint="leave epsilon out")
        from versadp.planning.earlier_bounds import bounds_of_release

        return bounds_of_release(data, schema, coverage)
    if epsilon is None:
        raise ParameterError("give the target of the release: epsilon, and delta if there is one", hint="epsilon=1")
    if columns is not None and (unknown := [name for name in columns if name not in schema.private]):
        raise ParameterError(f"{', '.join(map(repr, unknown))}: no private columns", hint="leave them out")
    request = BoundsRequest.of(
        schema, epsilon, delta, unit=unit, share=share, coverage=coverage, pure=pure, spacing=spacing
    )
    plan = planned(schema, request, columns)
    if plan.bounds is None or data is None:
        return plan
    cells = learnable(plan, list(plan.bounds.levels))
    if isinstance(data, str | Path | Source):
        counts = counted(open_fitting(data, plan), plan, cells, as_engine(engine), BATCH_ROWS)
    else:
        table = read_table(data, plan)
        survey(table, plan)
        counts = people_in_cells(table, cells)
    return learnt_schema(plan, counts, fresh_key() if key is None else check_key(key))
