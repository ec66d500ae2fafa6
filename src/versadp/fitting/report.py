"""From a fit to `Results`: the header that states the guarantee, the effective sample size, advice on failure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction import CustomModel, LinearModel, SignedPoints
from versadp.estimation import ScoreSet, sample_size_needed, score_sets
from versadp.estimation.sizes import NUMBERS_AT_ONCE, PART_ROWS
from versadp.estimation.thresholds import KNOWN_SIZE_ERROR
from versadp.fitting.totals import note_alone
from versadp.formula.terms import Terms
from versadp.inference import Results
from versadp.inference.chi_square import LEVEL, SpecificationTest
from versadp.inference.summary import guarantee
from versadp.inference.trust import MOST_STRENGTH, Trust
from versadp.noise.selection_check import cut_chance, lacking_chance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from versadp.correction import Records
    from versadp.estimation import Curve, Diagnostics, Fit
    from versadp.fitting.job import Job
    from versadp.fitting.problem import Problem
    from versadp.fitting.sample_design import SampleDesign
    from versadp.losses import IndexLoss, Multinomial, RecordLoss

    Array = NDArray[np.float64]

MOST_POINTS = 2_000  # signed points per record from which the sample size is estimated: more take over a second


@dataclass(frozen=True)
class FitReport:
    """A fit with what its results are made from.

    Attributes
    ----------
    problem : Problem
        What was solved.
    fit : Fit
    sample : Records
        All records, or a random part.
    diagnostics : Diagnostics, optional
        What the fit was diagnosed by.
    notes : mapping of str to str
        What the summary says of how it was found.
    """

    problem: Problem
    fit: Fit
    sample: Records
    diagnostics: Diagnostics | None = None
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_estimate(self) -> bool:
        """True if there are coefficients to tell: those of a minimum, weak or not."""
        return self.fit.converged or self.fit.weak

    def coefficients(self) -> tuple[Array, Array] | tuple[None, None]:
        """Return coefficients and covariance in the user's units, the bias taken off; None of a failure."""
        fit = self.fit
        if not self.has_estimate:
            return None, None
        return self.problem.to_user(fit.theta if fit.bias is None else fit.theta - fit.bias, fit.cov)


def report(answer: FitReport, job: Job) -> Results:
    """Return a fit as the user sees it, which asks its job for more."""
    request, found = job.request, answer.fit
    more = found.converged and answer.diagnostics is not None and job.design.is_plain
    return results(
        answer,
        job.design,
        loss=request.minimised,
        method=request.method,
        seed=request.seed,
        formula=request.formula,
        more_sets=partial(_sets, job) if more else None,
        **job.later(),
    )


def results(
    answer: FitReport,
    design: SampleDesign,
    *,
    loss: IndexLoss | RecordLoss | Multinomial,
    method: str,
    seed: int,
    formula: str | None,
    **later: Any,
) -> Results:
    """Return a fit as the user sees it.

    Parameters
    ----------
    answer : FitReport
    design : SampleDesign
    loss : IndexLoss, RecordLoss or Multinomial
        What was minimised: it knows its name, and how an index becomes a prediction.
    method : str
    seed : int
        Of the draws.
    formula : str or None
        As it was given.
    later
        What gives more on demand: `more_sets`, `postestimation`, `updater`.
    """
    problem, found = answer.problem, answer.fit
    theta, cov = answer.coefficients()
    size, error = effective_size(answer, seed) if found.converged and design.is_plain else (None, None)
    return Results(
        theta,
        cov,
        problem.names,
        found.outcome,
        found.n,
        loss=loss.name,
        method=method,
        formula=None if problem.design is None else formula or problem.design.formula,
        header=guarantee(design.release)
        | note_alone(design.release)
        | _blurred(problem)
        | _notes(answer)
        | design.notes
        | dict(answer.notes),
        effective_n=size,
        weights=found.weights or None,
        predict_link=loss.prediction,
        design=_terms(problem),
        classes=tuple(map(str, getattr(problem.model, "classes", ()))),
        advice=_advice(answer, method),
        curves={} if found.curve is None else {problem.names[0]: found.curve},
        trust=Trust(_strengths(answer), _moved(problem, found.sets), _test(answer, method), error),
        bias=_bias(answer),
        offset=design.offset,
        **later,
    )


def _terms(problem: Problem) -> Terms | None:
    """Return the right side of the formula: once, or once for each class of the response but the reference."""
    if problem.design is None:
        return None
    terms = problem.design.terms
    return Terms(problem.names, terms.factors * (len(problem.names) // len(terms.names)), terms.levels)


def _strengths(answer: FitReport) -> dict[str, float]:
    """Return strengths by coefficient; none where curvature does not vary and is none."""
    known = () if answer.fit.strength is None else np.clip(answer.fit.strength, -MOST_STRENGTH, MOST_STRENGTH).tolist()
    return {name: t for name, t in zip(answer.problem.names, known, strict=False) if not np.isnan(t)}


def _bias(answer: FitReport) -> dict[str, float]:
    """Return the bias that was taken off each coefficient."""
    problem, off = answer.problem, answer.fit.bias
    return {} if off is None else dict(zip(problem.names, (problem.scale @ off).tolist(), strict=True))


def _test(answer: FitReport, method: str) -> SpecificationTest | None:
    """Return the specification test; none of a naive fit, which takes noise for what was there."""
    if method == "naive":
        return None
    statistic, df = answer.fit.contrasts or (0.0, 0)
    cut = _cut(answer)
    return None if cut is None and not df else SpecificationTest.of(statistic, df, 1.0 if cut is None else cut)


def _cut(answer: FitReport) -> float | None:
    """Return an upper bound of the chance that noisy columns lack the values that they lack; None if unknown."""
    sample, units = answer.sample, answer.problem.units
    if units.exact_rate is not None:
        cut = cut_chance(sample.z, units)
        return cut if answer.fit.contrasts is not None or cut < LEVEL else None
    # evenly over all records, since files are often sorted
    z = sample.take(np.arange(0, sample.rows, max(1, sample.rows // PART_ROWS))).z
    columns = {name: z[:, j] * units.unit[j] + units.centre[j] for j, name in enumerate(units.names)}
    return lacking_chance(answer.problem.blocks, columns)


def _sets(job: Job) -> dict[str, ScoreSet]:
    """Return score sets of a fit that is not weak, computed on demand."""
    answer = job.estimate()
    assert answer.diagnostics is not None
    return _moved(answer.problem, score_sets(answer.fit, answer.diagnostics))


def _moved(problem: Problem, sets: tuple[ScoreSet, ...]) -> dict[str, ScoreSet]:
    """Return score sets by coefficient, in the user's units."""
    moved = (ScoreSet(each.at + shift, each.least) for each, shift in zip(sets, problem.shift, strict=False))
    return dict(zip(problem.names, moved, strict=False))


def effective_size(answer: FitReport, seed: int) -> tuple[float | None, float | None]:
    """Return the sample size without noise that would be as precise, and its standard error; None if hardly known."""
    share, error = raw_share(answer, seed)
    if share is None or (error is not None and error > KNOWN_SIZE_ERROR * share):
        return None, None
    n = answer.fit.n
    return share * n, None if error is None else error * n


def raw_share(answer: FitReport, seed: int) -> tuple[float | None, float | None]:
    """Return the ratio of the variance that raw records would give to the one achieved, and its standard error.

    `tr(V^-1 A0) / tr(V^-1 A)`, A the covariance of the scores used and A0 that of the scores at the true records. A0 is
    the mean of corrected products of scores over signed, clipped points; where it cannot be had there is no ratio.
    """
    problem, found = answer.problem, answer.fit
    model, units = problem.model, problem.units
    if found.curve is not None and problem.quantile is not None:
        return (_share_of_quantile(found.curve, problem.quantile.tau, answer) if problem.blocks else None), None
    if found.hessian is None or units.exact_rate == 0 or not problem.blocks or isinstance(model, CustomModel):
        return None, None
    if not problem.has_points:
        return None, None
    rng = np.random.default_rng([seed, 0xACE])
    form, few = _few_points(problem), answer.sample
    if form.points > MOST_POINTS:
        return None, None
    rows = min(PART_ROWS, 5 * NUMBERS_AT_ONCE // form.points)
    if few.rows > rows:  # at random: files are often sorted
        few = few.take(rng.choice(few.rows, rows, replace=False))
    if few.weight is not None:  # scores carry a weight each, and their products two
        few = replace(few, weight=few.weight**2)
    points = form.prepare(few, rng)
    psi = model.score(points.rows, found.theta)
    squares = points.factor[0] * np.einsum("ip,ip->i", psi @ np.linalg.inv(found.hessian), psi)
    raw = squares.sum() / points.n
    error = np.bincount(points.record, squares, points.n).std() / np.sqrt(points.n)
    achieved = np.trace(found.cov @ found.hessian) * found.n
    share = float(raw / achieved) if achieved > 0 else 0.0
    return (min(share, 1.0), float(error / achieved)) if share > 0 else (None, None)


def _share_of_quantile(curve: Curve, tau: float, answer: FitReport) -> float | None:
    """Return `tau (1 - tau)`, the variance of a raw record's indicator, over the one achieved."""
    weight = answer.sample.weight
    raw = tau * (1 - tau) * (1.0 if weight is None else float((weight**2).mean()))
    achieved = answer.fit.n * float(np.interp(curve.estimate, curve.at, curve.error)) ** 2
    return min(raw / achieved, 1.0) if achieved > 0 else None


def _few_points(problem: Problem) -> SignedPoints:
    """Return a correction with few points a record, clipped."""
    if problem.units.exact_rate is None:
        blocks, missing = problem.blocks, problem.nullable
        return SignedPoints(problem.model, problem.units, blocks=blocks, near=2, far=2, draws=2, nullable=missing)
    return SignedPoints(problem.model, problem.units, near=2, far=2)


def _notes(answer: FitReport) -> dict[str, str]:
    """Return what the summary says of the correction: of several blocks the evaluators and the weights of members."""
    diagnostics, fit, notes = answer.diagnostics, answer.fit, dict(answer.notes)
    if diagnostics is None or not answer.problem.extended or not fit.weights or "correction" in notes:
        return notes
    told = [
        f"{form.evaluator}: {', '.join(f'{name} {fit.weights[name]:.3g}' for name in form.names)}"
        for form in diagnostics.family.forms
    ]
    return notes | {"correction": "; ".join(told)}


def _blurred(problem: Problem) -> dict[str, str]:
    """Return the width over which a loss with kinks was smoothed, if it was: it tells which loss is estimated."""
    expansion, model = problem.expansion, problem.model
    if expansion is None or not expansion.blur or not isinstance(model, LinearModel):
        return {}
    noisy = model.response >= 0 and model.loss.residual
    unit = float(problem.units.unit[model.response]) if noisy else 1.0
    every = (expansion,) if problem.blurs is None else problem.blurs.expansions
    said = [f"±{each.blur * unit:.3g}" for each in every]
    return {"kinks smoothed over": " to ".join(said[:1] + said[1:][-1:])}


def _in_numbers(answer: FitReport) -> list[str]:
    """Return advice on the sample size, as far as these records tell."""
    if answer.diagnostics is None or isinstance(answer.problem.model, CustomModel):
        return []
    least = sample_size_needed(answer.diagnostics, answer.fit.n)
    if least is None or least <= answer.fit.n:
        return []
    if not np.isfinite(least):
        return ["cannot estimate the sample size needed; squared loss needs the fewest records"]
    return [f"with this noise it takes about {least:,.0f} records or more, and these are {answer.fit.n:,}"]


def _advice(answer: FitReport, method: str) -> str | None:
    found = answer.fit
    if found.converged:
        return None
    rate = answer.problem.units.exact_rate
    facts = [found.outcome.advice]
    if rate is not None:
        facts.append(f"the exact_rate of this release is {rate:g}")
    elif answer.problem.blocks:  # which have none
        facts = [found.outcome.advice.replace("exact_rate", "epsilon"), *_in_numbers(answer)]
        if _blurred(answer.problem):
            facts.append("a loss with kinks is what zero-inflated noise is for: ask for a release with noise='zil'")
    if method != "efficient":
        facts.append(f"method 'efficient' may find what {method!r} does not")
    return "; ".join(facts)
