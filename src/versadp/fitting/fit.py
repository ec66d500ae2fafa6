"""`fit`: learn from a release.

read      arguments and records (`fit_request.py`, `source.py`)
design    model, units and blocks (`sample_design.py`, `models.py`)
fit       approximate, combine, solve, diagnose (`estimate.py`)
report    `Results`, which recompute what is asked for later (`report.py`, `job.py`)
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from versadp.engine import at_work
from versadp.errors import ParameterError
from versadp.fitting.absorb import fit_absorbed
from versadp.fitting.fit_request import FitRequest
from versadp.fitting.instruments import fit_instruments, has_instruments
from versadp.fitting.job import Job
from versadp.fitting.likelihood import fit_likelihood
from versadp.fitting.report import report
from versadp.fitting.sample_design import make_sample_design

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike

    from versadp.engine import Engine
    from versadp.inference import Results
    from versadp.noise.extension import Extension
    from versadp.release.release import Release


def fit(
    release: Release | str | Path,
    formula: str | None = None,
    *,
    loss: Any = "squared",
    method: str = "efficient",
    extension: str | Extension | None = None,
    draws: int = 20,
    start: ArrayLike | None = None,
    weights: ArrayLike | str | None = None,
    weight_type: str = "survey",
    offset: str | None = None,
    cov_type: str = "robust",
    groups: str | None = None,
    subset: str | None = None,
    absorb: str | None = None,
    random_state: int = 0,
    engine: str | Engine = "auto",
) -> Results:
    """Fit a model to released records, undoing the noise in expectation.

    Where columns of the model may be missing (`nullable`), the fit is about the records in which none is. A column of
    `Dates` is the number of days since its lower bound.

    Parameters
    ----------
    release : Release or path
        A release, or its folder.
    formula : str, optional
        Such as `"y ~ age + np.log1p(income) + C(region)"`; none for losses of whole records. With instruments
        `"y ~ x + age | z + age"`: two-stage least squares.
    loss : str, loss or callable
        "squared", "logistic", "check", "hinge", "huber", "poisson", "multinomial"; an object of `versadp.losses`
        such as `Check(tau=0.9)`, `Mean("age")`, `Share("region")`, `Quantile(f, 0.5)`; or `loss(x, theta) -> (n,)` of
        your own.
    method : str
        "efficient" (default), "analytic", "drcl", "sdrcl", "sl", or "naive" for comparison; "likelihood" is more
        precise for few noisy columns, and assumes that the response follows the law that the loss belongs to.
    extension : str or Extension, optional
        "none", "zero", "clip" or "damped", for methods other than "efficient".
    draws : int
        Second randomisations a record, for methods "drcl", "sdrcl" and "sl".
    start : array_like, optional
        Start, in the units of the answer; needed for a loss of your own.
    weights : array_like or str, optional
        A weight for each record in the order of the release, which is not that of the input, or the public column that
        holds them. Weights that depend on a noisy column would bias everything, and are refused where they can be seen.
    weight_type : {"survey", "frequency"}
        What a weight means. "survey" (default): a record stands for so many people of a population, and was drawn once:
        standard errors are those of one record. "frequency": so many records are the same, and each counts for itself,
        its noise too: standard errors are those of as many rows.
    offset : str, optional
        A public column, or an expression of some, that is added to the index with the coefficient 1: the logarithm of
        an exposure, under Poisson loss. `y ~ age + offset(log_exposure)` says the same.
    cov_type : {"robust", "cluster", "rows"}
        How the covariance is estimated: people are independent ("robust", the sandwich; "HC1" is the same), or records
        with the same value of the public column `groups` belong together ("cluster"; groups alone mean that). Where a
        person may have up to k rows, "robust" multiplies the sandwich by k, which holds for any dependence within a
        person; "rows" takes rows for independent all the same.
    groups : str, optional
        The column of the clusters; nobody may have rows in two of them.
    subset : str, optional
        A condition on public columns, such as "year > 2000": other records are left out.
    absorb : str, optional
        A public column with an intercept per level that is not estimated: fixed effects, for squared loss.
    random_state : int
        Of the draws.
    engine : str or Engine
        Where the work runs: "local" is all cores of this machine, "serial" one thread; "auto" is "local", and
        "serial" for functions of yours. "dask" starts a cluster on this machine for a release on disk,
        "dask://host:port" joins one, and so does a client; what is in memory is worked on here.

    Returns
    -------
    Results

    Examples
    --------
    >>> import numpy as np, pandas as pd, versadp as vdp
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 20_000)
    >>> people = pd.DataFrame({"x": x, "y": 1 + 2 * x + rng.normal(size=20_000)})
    >>> schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Public()})
    >>> release = vdp.Mechanism(schema, scale=0.5, exact_rate=0.1).release(people)
    >>> result = vdp.fit(release, "y ~ x")
    >>> bool(abs(result.params["x"] - 2) < 5 * result.bse["x"])
    True
    """
    request = FitRequest.read(
        release,
        formula,
        loss,
        method,
        start,
        extension=extension,
        draws=draws,
        weights=weights,
        weight_type=weight_type,
        offset=offset,
        cov_type=cov_type,
        groups=groups,
        subset=subset,
        random_state=random_state,
        engine=engine,
    )
    with at_work(engine) as runner:
        if runner.name == "processes":
            raise ParameterError("fits do not run on processes", hint="use engine='threads', or one process per fit")
        if method == "likelihood" and absorb is None and not has_instruments(formula):
            return fit_likelihood(request, runner)
        make = partial(make_sample_design, request.release, loss=request.minimised, weights=weights, **request.design)
        if absorb is not None:
            return fit_absorbed(request, runner, make, fit, absorb)
        if has_instruments(formula):
            return fit_instruments(request, runner, make, fit)
        design = make(formula=formula)
        job = Job(request, design, runner, fit)
        return report(job.estimate(), job)
