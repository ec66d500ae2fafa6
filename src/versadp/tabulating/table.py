"""`table`: a cross-table of a release, corrected for its noise, in one pass over its records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from versadp import inputs
from versadp.correction.calibrated_means import calibrated_means
from versadp.errors import ParameterError
from versadp.fitting.design_covariance import covariance_words
from versadp.inference.checks import check_level
from versadp.inference.summary import guarantee
from versadp.release.release import as_release
from versadp.tabulating.axes import check_columns, is_measured, read_axes
from versadp.tabulating.calibrated import with_totals
from versadp.tabulating.cell_quantiles import read_quantiles
from versadp.tabulating.contraction import all_cells
from versadp.tabulating.counting import distinct_values
from versadp.tabulating.layout import Layout, read_measure
from versadp.tabulating.result import Table
from versadp.tabulating.signed import cell_means

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from versadp.engine import Engine
    from versadp.release.release import Release
    from versadp.tabulating.axes import Axis

MOST_COLUMNS = 4  # of a table: chosen; with more, noise leaves next to nothing in a cell


def table(
    release: Release | str | Path,
    *columns: str,
    bins: Mapping[str, Sequence[Any]] | None = None,
    values: str | None = None,
    quantiles: Sequence[float] = (),
    spread: bool = False,
    missing: bool = False,
    level: float = 0.95,
    simultaneous: bool = False,
    margins: bool = True,
    sharp: bool = False,
    engine: str | Engine = "auto",
) -> Table:
    """Return a table of one to four columns of a release, corrected for its noise: counts, shares, means.

    Parameters
    ----------
    release : Release, str or Path
        A release, or the folder of one; a folder may be larger than memory.
    *columns : str
        One to four columns: categories, numbers and dates with bins, public columns with few values.
    bins : mapping of str to sequence, optional
        Rising edges of each number: `[18, 30, 50, 90]` cuts into [18, 30), [30, 50) and [50, 90], the last one closed.
    values : str, optional
        A number whose means and sums are wanted in each cell.
    quantiles : sequence of float, optional
        Levels of the quantiles of `values` in each cell.
    spread : bool
        Whether standard deviations of `values` are wanted, too.
    missing : bool
        Whether what is missing is a level of its own. By default the table is of the records that have a value in all
        of its columns.
    level : float
        Of the intervals.
    simultaneous : bool
        Whether the intervals of one statistic hold all at once with that level (Bonferroni).
    margins : bool
        Whether sums over columns are shown.
    sharp : bool
        Whether edges are sharp on fine lattices, too, where that costs very much (docs/guides/tables.md).
    engine : str or Engine
        Where to compute, as for `fit`.

    Returns
    -------
    Table

    Examples
    --------
    >>> import numpy as np, pandas as pd, versadp as vdp
    >>> rng = np.random.default_rng(0)
    >>> age, region = rng.integers(18, 91, 20_000), rng.choice(["north", "south"], 20_000)
    >>> schema = vdp.Schema({"age": vdp.Bounded(18, 90, step=1), "region": vdp.Categorical(["north", "south"])})
    >>> release = vdp.calibrate(schema, epsilon=8).release(pd.DataFrame({"age": age, "region": region}))
    >>> found = vdp.table(release, "region", "age", bins={"age": [18, 30, 50, 90]})
    >>> young = found.cell("north", "[18, 30)").count
    >>> bool(abs(young.value - ((age < 30) & (region == "north")).sum()) < 6 * young.error)
    True
    >>> shares = [found.cell(name, "total").share.value for name in ("north", "south")]
    >>> round(sum(shares), 9)
    1.0
    """
    opened = as_release(release)
    check_level(level)
    axes = prepare(opened, columns, bins or {}, missing=missing, engine=engine)
    if values is not None:
        _check_values(opened, values, columns)
    elif quantiles or spread:
        raise ParameterError("quantiles and spreads are of a number", hint="name it: values='income'")
    taus = [inputs.number("quantiles", q, 0, 1, open_low=True, open_high=True) for q in quantiles]
    measure = None if values is None else read_measure(opened, values, spread=spread)
    layout = Layout.of(opened, axes, measure, sharp=sharp)
    layout.check_size()
    (means,) = cell_means(opened, layout, [all_cells(layout.shape)], engine)
    means, told = with_totals(means, calibrated_means(opened), layout)
    widening = float(opened.mechanism.schema.rows_per_person**0.5)
    facts = guarantee(opened) | told
    if words := covariance_words(opened, "robust"):
        facts["covariance"] = words
    found = Table(layout, means, level, widening, facts, simultaneous=simultaneous, margins=margins)
    if taus:
        assert values is not None
        found.quantiles = read_quantiles(opened, layout, values, sorted(set(taus)), z=found.z, engine=engine)
    return found


def prepare(
    release: Release, columns: Sequence[str], bins: Mapping[str, Sequence[Any]], *, missing: bool, engine: str | Engine
) -> tuple[Axis, ...]:
    """Return the columns of a table, with the values of public ones."""
    if not 1 <= len(columns) <= MOST_COLUMNS:
        raise ParameterError(
            f"a table has one to {MOST_COLUMNS} columns, not {len(columns)}", hint="ask for several tables"
        )
    columns = [each for column in columns for each in inputs.names("columns", [column])]
    check_columns(release, columns)
    public = [name for name in columns if name in release.mechanism.schema.public and name not in bins]
    return read_axes(release, columns, bins, distinct_values(release, public, engine), missing=missing)


def _check_values(release: Release, values: str, columns: Sequence[str]) -> None:
    check_columns(release, [values])
    if values in columns:
        raise ParameterError(
            f"{values!r} is a column of the table and cannot have means in it", hint="leave it out of one of both"
        )
    assert values in release.mechanism.schema.columns or is_measured(release, values)
