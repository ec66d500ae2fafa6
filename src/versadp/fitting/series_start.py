"""The series of a loss of an index, where its argument lies, and where a fit with it starts.

A series needs to know how far the index reaches, which the coefficients tell, so a rough fit comes first: corrected
least squares, stretched to the scale of a natural loss, moved to the quantile of its residuals for check loss. From
there Newton steps on a part of the records lead to where the fit to all of them begins; none leaves the interval of the
series, which moves along.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction import CustomModel, argument_of, as_terms
from versadp.correction.argument import Index, Residual
from versadp.correction.index_law import distribution_of, index_law
from versadp.correction.series import Place, series
from versadp.estimation import Family
from versadp.estimation import start as plain_fit
from versadp.estimation.thresholds import FEW_RECORDS
from versadp.fitting.source import MemorySource
from versadp.losses.expansion import Expansion
from versadp.losses.pilot_line import Line, lift_of
from versadp.losses.starts import newton

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versadp.correction import Records, Terms
    from versadp.correction.argument import Argument
    from versadp.engine import Engine
    from versadp.estimation import Moments
    from versadp.fitting.problem import Problem

    Array = NDArray[np.float64]

ROUNDS = 20  # Newton steps of a start at most: each may need a new series
NEAR = 0.3  # standard errors of a step after which a fit to all records starts: its first step is twice as long
START_ROWS = 30_000  # records that a loss with kinks is started on: many waves, and only a start is wanted
FAR = 100.0  # width of the index beyond which a first guess is none
SMOOTH = 0.42  # of the scale of residuals, or of the index: densities are as smooth as that (docs/theory/correction.md)


def expanded(
    problem: Problem, sample: Records, engine: Engine, seed: int, *, line: Line | None = None, factor: float = 1.0
) -> tuple[Problem, Array] | None:
    """Return a problem with the series of its loss, and where to start; None if it is not fitted in closed form.

    A loss that is not smooth is blurred by `factor` times the rule; that of a residual needs its line.
    """
    argument = _argument(problem)
    # level by level there are series of natural losses
    form = _form(problem) if isinstance(argument, Index) else closed_form(problem)
    if form is None or argument is None:
        return None
    if not argument.loss.smooth and sample.rows > START_ROWS:
        sample = sample.take(np.sort(np.random.default_rng(seed).permutation(sample.rows)[:START_ROWS]))
    seen = form.prepare(sample, np.random.default_rng(0))
    theta = _start(argument, form, seen) if line is None else argument.loss.start_on(line)
    if theta is None:
        theta = plain_fit(problem.model, problem.units, sample)  # type: ignore[arg-type] # no custom model has an argument
    if line is None and isinstance(argument, Residual) and not argument.loss.smooth:
        line = line_in_closed_form(problem, sample)  # for its scale

    place = Place(form, seen, theta, argument, problem.source.rows)
    blur = partial(_blur, argument, line=line, factor=factor)
    expansion, theta = _series_and_start(place, blur, MemorySource((sample,)), engine, seed)
    return problem.approximated(expansion=expansion), theta


def _series_and_start(
    place: Place, blur: Callable[[float], float], source: MemorySource, engine: Engine, seed: int
) -> tuple[Expansion, Array]:
    """Return a series of the loss and where its score is nearly zero: a new one where the index leaves the last.

    `blur` says over what a loss is smoothed whose index has some standard deviation.
    """
    within = None
    for _ in range(ROUNDS):
        law = index_law(place.form, place.seen, place.theta)
        if within is None or not within.holds(law):
            found, within = series(replace(place, blur=blur(law.sd)))
            place = replace(place, form=replace(place.form, expansion=found))
            family = Family((place.form,), source, place.form.model.size, engine, seed)
        now = family.moments(place.theta, np.ones(1))
        if not _is_convex(now):
            break
        move, reached = -np.linalg.solve(now.hessian, now.score[0]), within
        near = bool((np.abs(move) < NEAR * np.sqrt(np.diag(now.covariance()))).all())
        while not reached.reaches(index_law(place.form, place.seen, place.theta + move)):
            move, within = move / 2, None  # beyond, the series is none of the loss
        place = replace(place, theta=place.theta + move)
        if near:
            break
    return place.form.expansion, place.theta


def _is_convex(moments: Moments) -> bool:
    """Tell whether a Newton step leads anywhere."""
    finite = np.isfinite(moments.hessian).all() and np.isfinite(moments.score).all()
    return bool(finite and np.linalg.eigvalsh(moments.hessian)[0] > 0)


def serves(problem: Problem, sample: Records, theta: Array) -> bool:
    """Tell whether the index lies at a theta where the series of a problem was made for."""
    form = None if problem.expansion is None else _form(problem)
    if form is None or problem.expansion is None:
        return True
    low, high = problem.expansion.interval
    law = index_law(form, form.prepare(sample, np.random.default_rng(0)), theta)
    return low <= law.low and law.high <= high


def moves_few(problem: Problem, sample: Records, which: NDArray[np.intp]) -> bool:
    """Tell whether some of the user's coefficients, whatever they are, move the index of few records only.

    With m the regressor of a coefficient it is E m² / max m²: of a level of a category the share of its records.
    """
    form = _form(problem)
    if form is None:
        return True
    seen, ways = form.prepare(sample, np.random.default_rng(0)), np.linalg.inv(problem.scale).T[which]
    tops = [max(abs(end) for end in form.ends(seen, way)) ** 2 for way in ways]
    shares = [way @ seen.squares @ way / seen.total / top for way, top in zip(ways, tops, strict=True)]
    return bool(sum(shares) <= FEW_RECORDS)


def closed_form(problem: Problem) -> Terms | None:
    """Return the form in which powers and waves of the index will be undone, if it is one for all of a record."""
    form = _form(problem)
    return None if form is None or form.strata is not None else form


def _form(problem: Problem) -> Terms | None:
    """Return the form in which a series will be undone, if there is one: for all of a record, or level by level."""
    model = problem.model
    if isinstance(model, CustomModel) or problem.units.exact_rate is not None or not problem.blocks:
        return None
    return as_terms(model, problem.units, problem.blocks, Expansion())


def has_series(problem: Problem) -> bool:
    """Tell whether a loss will be fitted by a series."""
    argument = _argument(problem)
    return (
        argument is not None and (_form(problem) if isinstance(argument, Index) else closed_form(problem)) is not None
    )


def place_of(problem: Problem, sample: Records) -> tuple[Terms, Argument, Any] | None:
    """Return the form, the argument and some records that a series is made for; None if there will be none."""
    argument = _argument(problem)
    form = _form(problem) if isinstance(argument, Index) else closed_form(problem)
    if form is None or argument is None:
        return None
    return form, argument, form.prepare(sample, np.random.default_rng(0))


def _argument(problem: Problem) -> Argument | None:
    """Return what the loss of a problem is a function of, if it needs a series."""
    model = problem.model
    if isinstance(model, CustomModel) or model.loss.expansion() is not None:
        return None
    return argument_of(model.loss)


def _blur(argument: Argument, spread: float, line: Line | None, factor: float) -> float:
    """Return over what a loss that is not smooth is blurred: a part of the scale of residuals, or of the index."""
    if argument.loss.smooth:
        return 0.0
    scale = spread if line is None else line.scale(getattr(argument.loss, "tau", 0.5))
    return factor * SMOOTH * scale


def line_in_closed_form(problem: Problem, sample: Records) -> Line | None:
    """Return the corrected line of a sample and how its residuals lie, by powers and waves; None if it has none."""
    form = closed_form(problem)
    if form is None:
        return None
    seen = form.prepare(sample, np.random.default_rng(0))
    theta = least_squares(form, seen)
    if theta is None:
        return None
    law = index_law(form, seen, theta)
    reach = Residual(form.model.loss).reach(form, seen, law.low, law.high)
    return Line(theta, lift_of(seen.m), *distribution_of(form, seen, theta, reach))


def least_squares(form: Terms, seen: Any, slope: float = 0.0) -> Array | None:
    """Return `(ψ[m m'])^-1 ψ[m (y - slope)]`; None where corrected squares have no inverse."""
    if np.linalg.eigvalsh(seen.squares)[0] <= 0:
        return None
    line = replace(form, expansion=Expansion(linear=slope))
    score, _ = line.evaluate(seen, np.zeros(form.model.size), np.ones((1, 1)), hessian=False)
    return np.asarray(-np.linalg.solve(seen.squares, score.sum(axis=(0, 1))))


def _start(argument: Argument, form: Terms, seen: Any) -> Array | None:
    """Return corrected least squares; of a natural loss on its scale, around the index g that gives the mean response.

    theta = g + (ψ[m m'])^-1 ψ[m (y - A'(g))] / A''(g)
    """
    loss, lift = form.model.loss, lift_of(seen.m)
    at, slope, bend = np.zeros(1), 0.0, 1.0
    if isinstance(argument, Index):
        at = at if lift is None else newton(loss, np.ones((1, 1)), np.array([seen.y.mean()]))
        slope, bend = (float(each[0]) for each in loss.derivatives(at, np.zeros(1), 2))
    with np.errstate(all="ignore"):  # a corrected mean response may be one that the loss never gives
        line = least_squares(form, seen, slope)
        theta = None if line is None else line / bend + (0.0 if lift is None else at * lift)
    if theta is None or not np.isfinite(theta).all() or index_law(form, seen, theta).width > FAR:
        return None
    return np.asarray(theta)
