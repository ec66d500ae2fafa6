"""`fit`: learn from a release."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.correction import CustomModel, RecordModel
from versadp.engine import Serial, at_work, is_far
from versadp.errors import ParameterError, near
from versadp.estimation import (
    Asked,
    Family,
    Fit,
    Outcome,
    Question,
    bandwidths,
    descend,
    efficient,
    influence_scale,
    invert,
    judged,
    last_steps,
    solve,
    zero_of_line,
)
from versadp.estimation import start as plain_fit
from versadp.fitting.approximate import expanded, few_points, less_varying, line_in_closed_form, serves
from versadp.fitting.basis import in_basis
from versadp.fitting.blurring import blurred
from versadp.fitting.coarse import refuse_coarse
from versadp.fitting.likelihood import fit_likelihood, refuse_options
from versadp.fitting.line import corrected_line, tamed
from versadp.fitting.members import wants_series
from versadp.fitting.methods import METHODS, closed_now, forms_of
from versadp.fitting.models import make_problem
from versadp.fitting.persons import ROWS, refuse_people, widened_for_people
from versadp.fitting.postestimation import Further, recounted
from versadp.fitting.projecting import begun, raised, without_kinks
from versadp.fitting.quantile import smoothed_quantile
from versadp.fitting.rehearsal import STEADY_FROM, rehearse
from versadp.fitting.report import Answer, results
from versadp.fitting.sample_design import make_study
from versadp.fitting.scale import scaled
from versadp.fitting.source import MemorySource
from versadp.fitting.update import Renewal, state_of
from versadp.fitting.weights import vector
from versadp.losses import as_loss
from versadp.release.release import as_release

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from versadp.correction import Records
    from versadp.engine import Engine
    from versadp.fitting.problem import Problem
    from versadp.fitting.update_state import State
    from versadp.inference import Results
    from versadp.losses.pilot_line import Line
    from versadp.noise.extension import Extension
    from versadp.release.release import Release

    Array = NDArray[np.float64]

SAMPLE_ROWS = 100_000
REHEARSE_BELOW = 10_000
JUDGED = 200_000  # records times coefficients
PILOT_THRIFT = 5
STEP = 0.5
BEYOND = 10.0  # records a coefficient that must lie beyond a quantile, of those that would tell as much without noise


@dataclass(frozen=True)
class _Choice:
    """How to fit."""

    method: str
    extension: str | Extension | None
    draws: int
    seed: int
    engine: Engine

    @property
    def is_free(self) -> bool:
        """True if the form of the correction is ours to choose."""
        return self.method == "efficient" and self.extension is None


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
        Such as `"y ~ age + np.log1p(income) + C(region)"`; none for losses of whole records.
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
        How the covariance is estimated: people are independent ("robust", the sandwich), or records with the same
        value of the public column `groups` belong together ("cluster"). Where a person may have up to k rows,
        "robust" multiplies the sandwich by k, which holds for any dependence within a person; "rows" takes rows for
        independent all the same.
    groups : str, optional
        The column of the clusters; nobody may have rows in two of them.
    subset : str, optional
        A condition on public columns, such as "year > 2000": other records are left out.
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
    opened = as_release(release)
    inputs.whole("draws", draws, 1)
    inputs.whole("random_state", random_state, 0)
    if method not in METHODS:
        raise ParameterError(f"there is no method {method!r}", hint=near(method, METHODS))
    begin = None if start is None else vector("start", start)
    minimised = as_loss(loss)
    about: dict[str, Any] = {
        "weight_type": weight_type,
        "offset": offset,
        "cov_type": cov_type,
        "groups": groups,
        "subset": subset,
    }
    with at_work(engine) as runner:
        if runner.name == "processes":
            raise ParameterError("fits do not run on processes", hint="use 'threads', or a process of your own a fit")
        if method == "likelihood":
            if cov_type != ROWS:
                refuse_people(opened, "a fit by likelihood")
            refuse_options(
                extension=extension, start=start, weights=weights, offset=offset, groups=groups, subset=subset
            )
            return fit_likelihood(opened, formula, minimised, runner)
        study = make_study(opened, formula, minimised, weights=weights, **about)
        size = None if begin is None else begin.size
        free = extension is None and method in {"efficient", "naive"}
        keeper = None if is_far(runner) and study.release.on_disk else runner  # who is far reads for itself

        def problem() -> Problem:
            made = make_problem(study.release, study.formula, minimised, study.weights, size, free=free, keeper=keeper)
            return made if study.labels is None else replace(made, source=made.source.labelled(study.labels))

        first = problem()
        # functions of a user need not be safe on threads
        own = isinstance(first.model, CustomModel | RecordModel)
        choice = _Choice(method, extension, draws, random_state, Serial() if own and engine == "auto" else runner)

        def again(given: Problem | None = None) -> Answer:
            # nothing that the fit has worked on is kept for who asks more
            found = estimate(given or problem(), choice, begin)
            found = found if study.labels is None else recounted(found, study)
            return found if study.rows_per_person == 1 else widened_for_people(found, study)

        def refit(**changed: Any) -> Results:
            options = {"formula": formula, "loss": loss, "method": method, "weights": weights}
            return fit(opened, **(options | about | {"random_state": random_state, "engine": engine} | changed))

        def state() -> State:
            given = {"formula": formula, "loss": minimised, "method": method, "extension": extension, "draws": draws}
            own = {"seed": random_state, "weights": weights, "offset": offset, "subset": subset}
            return state_of(opened, study, again(), given | own)

        asked_more = Further(study, again, refit, str(getattr(minimised, "link", None)), method, minimised.name)
        return results(
            study.release,
            again(first),
            again,
            method=method,
            loss=minimised,
            seed=random_state,
            shown=formula,
            study=study,
            further=asked_more,
            renewal=Renewal(state, engine=engine),
        )


def estimate(problem: Problem, choice: _Choice, begin: Array | None) -> Answer:
    """Fit a problem. A loss with kinks that fails is smoothed more; a user's is tried from where it began, too."""
    sample = problem.sample(min(SAMPLE_ROWS, problem.source.rows), choice.seed, choice.engine)
    if problem.quantile is not None:
        if begin is not None:
            _sized(begin, problem)
        smoothed = smoothed_quantile(problem, problem.quantile) if choice.is_free and problem.blocks else None
        if smoothed is not None:
            return Answer(problem, smoothed.fit, sample, said=smoothed.said)
        return Answer(problem, _inverted(problem, problem.quantile, choice, sample), sample)
    problem = in_basis(problem, sample)
    problem = begun(problem) if choice.is_free else problem
    line = _line(problem, choice, sample)
    problem, line = scaled(problem, line, sample, choice.engine, choice.seed, method=choice.method)
    for ladder in (True, False):  # sharp series may hardly bend: then all coefficients are blurred by rule
        found, last, asked = _tried(problem, choice, begin, (sample, line), ladder=ladder)
        verdict = judged(found, asked)
        if verdict.fit.converged or last.blurs is None:
            break
    fit = verdict.complete()
    if choice.method != "naive" and found.converged:
        refuse_coarse(last, found, sample)
    taken = last.taken or (getattr(asked.family.forms[0], "said", "") if len(asked.family.forms) == 1 else "")
    return Answer(last, fit, sample, asked, {"correction": taken} if taken else {})


def _tried(
    problem: Problem, choice: _Choice, begin: Array | None, seen: tuple[Records, Line | None], *, ladder: bool
) -> tuple[Fit, Problem, Asked]:
    """Return the first attempt that finds a minimum, or the last."""
    attempts = [(1.0, True)]
    if isinstance(problem.model, CustomModel):
        attempts += [(2.0, True), (1.0, False)]
    elif problem.model.loss.kinked:
        attempts += [(2.0, True)]
    for factor, descending in attempts:
        found = _attempt(problem, choice, begin, seen, factor, descending=descending, ladder=ladder)
        if found[0].converged:
            break
    return found


def _line(problem: Problem, choice: _Choice, sample: Records) -> Line | None:
    """Return the corrected line, if the loss wants one and there is something to correct."""
    model = problem.model
    if isinstance(model, CustomModel) or not model.loss.by_line or not problem.blocks or choice.method == "naive":
        return None
    if choice.is_free and (line := line_in_closed_form(problem, tamed(problem, sample))) is not None:
        return line
    return corrected_line(problem, sample, choice.engine, choice.seed, getattr(model.loss, "tau", 0.5))


def _attempt(
    problem: Problem,
    choice: _Choice,
    begin: Array | None,
    seen: tuple[Records, Line | None],
    factor: float,
    *,
    descending: bool,
    ladder: bool = True,
) -> tuple[Fit, Problem, Asked]:
    """Approximate the score, start, combine and solve; `factor` multiplies what kinks are smoothed over."""
    if choice.is_free and begin is None and (solved := _at_once(problem, choice, seen[0])) is not None:
        return solved
    if isinstance(problem.model, CustomModel):
        assert begin is not None
        problem, theta = _differenced(problem, problem.model, seen[0], begin, factor, descending=descending)
    else:
        problem, theta = _approximated(problem, choice, seen, factor)
        problem = blurred(problem, theta, seen[0]) if ladder else problem
        if begin is not None:
            theta = problem.to_fit(_sized(begin, problem))
    if problem.degrees is not None:
        problem, theta = _projected(problem, choice, seen, theta)
    return _solved(problem, choice, seen, theta)


def _differenced(
    problem: Problem, model: CustomModel, sample: Records, begin: Array, factor: float, *, descending: bool
) -> tuple[Problem, Array]:
    """Return a user's loss with steps for differences of its score, and a start from a descent on plain records."""
    theta = descend(model, problem.units, sample, begin) if descending else begin
    # several plain standard errors: wide enough for kinks to be averaged over, narrow enough for curvature
    scale = influence_scale(model, problem.units, sample, theta)
    steps = factor * STEP * problem.source.rows**-0.2 * scale
    return replace(problem, model=replace(model, steps=steps)), theta


def _approximated(
    problem: Problem, choice: _Choice, seen: tuple[Records, Line | None], factor: float
) -> tuple[Problem, Array]:
    """Return the problem with the terms that are near its score, or smoothed for signed points, and a start."""
    sample, line = seen
    closed = None
    if choice.is_free and wants_series(problem):
        closed = expanded(problem, sample, choice.engine, choice.seed, line=line, factor=factor)
    if closed is None:
        return _begun(problem, sample, line, factor)
    model = problem.model
    smooth = not isinstance(model, CustomModel) and model.loss.smooth
    if problem.extended and smooth:  # one member beside others, which are nearer to begin with
        return closed[0], _begun(problem, sample, line, factor)[1]
    if not smooth and (problem.extended or few_points(problem)):
        points = _begun(problem, sample, line, factor)
        return less_varying(closed, points, sample, choice.engine, choice.seed)
    return closed


def _projected(
    problem: Problem, choice: _Choice, seen: tuple[Records, Line | None], theta: Array
) -> tuple[Problem, Array]:
    """Return the problem with the degrees of its projection, and a start: a first answer tells which serve the last."""
    sample, line = seen
    problem = raised(without_kinks(problem, line), theta, sample, choice.engine, seed=choice.seed, line=line)
    first = _single(*_families(problem, choice, sample), theta)
    theta = first.theta if first.converged else theta
    return raised(problem, theta, sample, choice.engine, seed=choice.seed, line=line), theta


def _solved(
    problem: Problem, choice: _Choice, seen: tuple[Records, Line | None], theta: Array
) -> tuple[Fit, Problem, Asked]:
    """Return the fit from a start: members combined, or the zero of the score of one."""
    sample, rows = seen[0], problem.source.rows
    family, small = _families(problem, choice, sample)
    asked = _asked(problem, choice, seen, (family, small), theta)
    if choice.method == "efficient" and len(family.names) > 1:
        steady = family.size == 1 and problem.units.exact_rate is not None
        again = _rehearsal(problem, choice, sample) if steady and rows < STEADY_FROM else None
        return efficient(family, small, theta, problem.groups, rehearsal=again), problem, asked
    found = _single(family, small, theta)
    if found.converged and not serves(problem, sample, found.theta):
        found = Fit.failed(found.theta, Outcome.DIVERGED, rows)
    return replace(found, cov=problem.widened(found.cov)), problem, asked


def _at_once(problem: Problem, choice: _Choice, sample: Records) -> tuple[Fit, Problem, Asked] | None:
    """Return the fit of a score that is linear in the coefficients; None if it is not, or has no minimum.

    Nobody need know where to begin, nor look at a part of the records first.
    """
    if isinstance(problem.model, CustomModel) or problem.units.exact_rate is not None or not problem.blocks:
        return None
    if problem.extended:  # of several members none is solved by itself
        return None
    form, powers = closed_now(problem), problem.model.loss.expansion()
    if form is None or powers is None or not powers.is_quadratic:
        return None
    family = Family((form,), problem.source, problem.model.size, choice.engine, choice.seed)
    theta = zero_of_line(family)
    if theta is None:
        return None
    found = last_steps(family, theta, np.ones((1, 1)), (np.arange(family.size),))
    asked = _asked(problem, choice, (sample, None), (family, family), theta)
    return (found, problem, asked) if found.converged else None


def _asked(
    problem: Problem, choice: _Choice, seen: tuple[Records, Line | None], families: tuple[Family, Family], theta: Array
) -> Asked:
    """Return what will be asked of a fit by the members over all records, and over few, from a start."""
    model, (sample, line), (family, small) = problem.model, seen, families
    # a series bends everywhere, whatever it is the series of
    bends = not isinstance(model, CustomModel) and (problem.expansion is not None or not model.loss.kinked)
    groups = problem.groups if len(family.names) > 1 else (np.arange(theta.size),)
    tested = small if problem.source.rows > SAMPLE_ROWS else family
    few = _part(family, sample, choice.seed)
    noisy = choice.method == "efficient" and bool(problem.blocks)
    smooth = bends and bool(getattr(model.loss, "smooth", False))
    return Asked(family, few, tested, small, problem.scale, groups, theta, bends, _scarce(model, line), noisy, smooth)


def _scarce(model: Any, line: Line | None) -> bool:
    """Tell whether so few records lie beyond a quantile that its estimate is not normal, by what the line knows."""
    tau = getattr(model.loss, "tau", None)
    return line is not None and tau is not None and line.records * min(tau, 1 - tau) < BEYOND * line.theta.size


def _begun(problem: Problem, sample: Records, line: Line | None, factor: float) -> tuple[Problem, Array]:
    """Return a problem smoothed as its loss says, and where it starts: by the line, or by the records in the box."""
    model, units = problem.model, problem.units
    assert not isinstance(model, CustomModel)
    if model.begin is not None:
        return problem, model.begin
    if line is None:
        return problem.smoothed(*bandwidths(model, units, sample, factor=factor)), plain_fit(model, units, sample)
    return problem.smoothed(*model.loss.bandwidths_on(line, factor)), model.loss.start_on(line)


def _inverted(problem: Problem, question: Question, choice: _Choice, sample: Records) -> Fit:
    """Return a quantile by inverting the corrected distribution function."""
    family, small = _families(problem, choice, sample)
    if choice.method == "naive":  # noisy values lie anywhere
        question = Question(question.tau)
    several = len(family.names) > 1 and problem.source.rows <= REHEARSE_BELOW and problem.units.exact_rate is not None
    return invert(family, small, question, rehearsal=_rehearsal(problem, choice, sample) if several else None)


def _families(problem: Problem, choice: _Choice, sample: Records) -> tuple[Family, Family]:
    """Return the members over all records; and with fewer draws, or over a random part, for pilot and weights."""
    rows, size = problem.source.rows, problem.model.size
    forms = forms_of(problem, choice.method, choice.extension, choice.draws, rows)
    family = Family(forms, problem.source, size, choice.engine, choice.seed)
    small = family
    if rows > SAMPLE_ROWS:
        few = forms_of(problem, choice.method, choice.extension, choice.draws, SAMPLE_ROWS)
        small = Family(few, MemorySource((sample,)), size, choice.engine, choice.seed)
    elif choice.method == "efficient":
        few = forms_of(problem, choice.method, choice.extension, choice.draws, rows, thrift=PILOT_THRIFT)
        if sum(form.points for form in few) < sum(form.points for form in forms):
            small = Family(few, problem.source, size, choice.engine, choice.seed)
    return family, small


def _part(family: Family, sample: Records, seed: int) -> Family:
    """Return the family over a random part of the records, if they are many."""
    rows = int(np.clip(JUDGED / family.size, 5000, 20_000))
    if family.source.rows <= rows:
        return family
    some = np.random.default_rng([seed, 0x1D9E]).choice(sample.rows, rows, replace=False)
    return replace(family, source=MemorySource((sample.take(np.sort(some)),)))


def _rehearsal(problem: Problem, choice: _Choice, sample: Records) -> Family:
    """Return the family over records released again; with few draws each, for its covariance alone is used."""
    forms = forms_of(problem, choice.method, choice.extension, choice.draws, REHEARSE_BELOW)
    source = MemorySource((rehearse(sample, problem.units, choice.seed),))
    return Family(forms, source, problem.model.size, choice.engine, choice.seed)


def _single(family: Family, small: Family, theta: Array) -> Fit:
    """Solve one member's equation: on a random part first, if there are many records, then a step or two on all."""
    first = solve(small, theta, np.ones(1), tolerance=0.01 if small is family else 0.1)
    if not first.converged:
        return Fit.failed(first.theta, first.outcome, family.source.rows)
    if small is not family:
        return last_steps(family, first.theta, np.ones((1, 1)), (np.arange(theta.size),))
    moments = first.moments
    return Fit(first.theta, moments.covariance(), first.outcome, moments.n, hessian=moments.hessian)


def _sized(begin: Array, problem: Problem) -> Array:
    if begin.size != len(problem.names):
        raise ParameterError(
            f"start has {begin.size} numbers, but the model has {len(problem.names)} coefficients",
            hint=f"one for each of {', '.join(problem.names)}",
        )
    return begin
