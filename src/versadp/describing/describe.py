"""`describe`: corrected statistics of all columns of a release, in one pass over its records."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from versadp import inputs
from versadp.correction.calibrated_means import calibrated_means
from versadp.describing.calibrated import words as words_of_totals
from versadp.describing.description import Description
from versadp.describing.groups import GroupedDescription, describe_groups
from versadp.describing.layout import Layout
from versadp.describing.one_pass import Gathered, gather, no_records
from versadp.describing.statistics import Statistics
from versadp.engine import at_work, local_engine
from versadp.errors import NoSuchName, ParameterError, near
from versadp.fitting.design_covariance import covariance_words
from versadp.inference.checks import check_level
from versadp.inference.summary import guarantee
from versadp.release.release import as_release

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from versadp.engine import Engine
    from versadp.release.release import Release

QUANTILES = (0.25, 0.5, 0.75)  # levels of the quantiles by default: the quartiles


@overload
def describe(
    release: Release | str | Path,
    *,
    level: float = ...,
    quantiles: Sequence[float] = ...,
    columns: Sequence[str] | None = ...,
    by: None = None,
    bins: None = None,
    engine: str | Engine = ...,
) -> Description: ...
@overload
def describe(
    release: Release | str | Path,
    *,
    level: float = ...,
    quantiles: Sequence[float] = ...,
    columns: Sequence[str] | None = ...,
    by: str,
    bins: Mapping[str, Sequence[Any]] | None = ...,
    engine: str | Engine = ...,
) -> GroupedDescription: ...
def describe(
    release: Release | str | Path,
    *,
    level: float = 0.95,
    quantiles: Sequence[float] = QUANTILES,
    columns: Sequence[str] | None = None,
    by: str | None = None,
    bins: Mapping[str, Sequence[Any]] | None = None,
    engine: str | Engine = "auto",
) -> Description | GroupedDescription:
    """Return means, sds, quantiles, shares and correlations of the columns of a release, corrected for its noise.

    Parameters
    ----------
    release : Release, str or Path
        A release, or the folder of one; a folder may be larger than memory.
    level : float
        Of the intervals.
    quantiles : sequence of float
    columns : sequence of str, optional
        Columns to describe; all by default. Correlations are of at most 50 numbers.
    by : str, optional
        A category, a public column, or a number with `bins`: means, spreads, quantiles and shares in each group.
    bins : mapping of str to sequence, optional
        Edges of the number that groups, as for `table`.
    engine : str or Engine
        Where to compute, as for `fit`.

    Returns
    -------
    Description, or GroupedDescription with `by`

    Examples
    --------
    >>> import numpy as np, pandas as pd, versadp as vdp
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"age": rng.uniform(20, 80, 20_000), "member": rng.random(20_000) < 0.3})
    >>> schema = vdp.Schema({"age": vdp.Bounded(18, 90), "member": vdp.Categorical([False, True])})
    >>> described = vdp.describe(vdp.calibrate(schema, epsilon=4).release(people))
    >>> abs(described["age"].mean.value - 50) < 5 * described["age"].mean.error
    True
    >>> described["member"].shares[True].low < 0.35
    True
    """
    opened = as_release(release)
    check_level(level)
    taus = tuple(np.unique([inputs.number("quantiles", q, 0, 1, open_low=True, open_high=True) for q in quantiles]))
    from scipy.special import ndtri

    schema = opened.mechanism.schema.columns
    columns = None if columns is None else inputs.names("columns", columns)
    for name in columns or ():
        if name not in schema:
            raise NoSuchName(f"there is no column {name!r}", hint=near(name, schema))
    if by is not None:
        return describe_groups(opened, by, bins=bins, level=level, quantiles=taus, columns=columns, engine=engine)
    layout = Layout.of(opened, columns)
    with at_work(engine) as given:
        if given.name == "processes":
            raise ParameterError("describe does not run on processes", hint="use engine='local' or 'serial'")
        runner = given if opened.on_disk else local_engine(given)
        found = runner.sum(partial(gather, opened, layout), list(opened.handles()))
    gathered = no_records(layout) if found is None else Gathered(*found)
    widening = float(opened.mechanism.schema.rows_per_person**0.5)
    z = float(ndtri(0.5 + level / 2)) * widening
    totals = calibrated_means(opened)
    statistics = Statistics(layout, gathered, z, tuple(map(float, taus)), widening, totals)
    words = covariance_words(opened, "robust")
    return Description(
        statistics, level, guarantee(opened) | words_of_totals(totals) | ({"covariance": words} if words else {})
    )
