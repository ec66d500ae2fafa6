"""From a fit to `Results`: the header that states the guarantee, the effective sample size, advice on failure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction import ByLevel, CustomModel, LinearModel, SignedPoints
from versadp.estimation import ScoreSet, score_sets
from versadp.fitting.failure import records_wanted
from versadp.formula.terms import Terms
from versadp.inference import Results
from versadp.inference.chi_square import LEVEL, SpecificationTest
from versadp.inference.trust import MOST_STRENGTH, Trust
from versadp.noise.selection_check import cut_chance, lacking_chance
from versadp.release.bounds.wording import bounds_line
from versadp.release.target.person import unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from versadp.correction import Records
    from versadp.estimation import Asked, Curve, Fit
    from versadp.fitting.postestimation import Further
    from versadp.fitting.problem import Problem
    from versadp.fitting.sample_design import Study
    from versadp.inference.effects import Renewal
    from versadp.losses import IndexLoss, Multinomial, RecordLoss
    from versadp.release.release import Release

EPSILON = 4.0
EVALUATORS: dict[type, str] = {SignedPoints: "signed points", ByLevel: "Laplacian by level"}
FEW, NUMBERS = 2000, 10_000_000  # numbers that points of a record may take, and of all records
LOOKED = 20_000  # records in which values that are lacking are looked for: what matters is seen in so many
HARDLY = 0.25  # of a size, as its standard error: then it is not told; with a half, chance decides what is


@dataclass(frozen=True)
class Answer:
    """A fit, the problem that it solves, a part of the records in memory, and what further questions are asked of.

    `said` is what the summary says of how it was found.
    """

    problem: Problem
    fit: Fit
    sample: Records
    asked: Asked | None = None
    said: Mapping[str, str] = field(default_factory=dict)


def results(
    release: Release,
    answer: Answer,
    again: Callable[[], Answer],
    *,
    method: str,
    loss: IndexLoss | RecordLoss | Multinomial,
    seed: int,
    shown: str | None = None,
    study: Study | None = None,
    further: Further | None = None,
    renewal: Renewal | None = None,
) -> Results:
    """Return a fit as the user sees it.

    Parameters
    ----------
    release : Release
    answer : Answer
    again : callable
        What gives the answer once more.
    method : str
    loss : IndexLoss, RecordLoss or Multinomial
        What was minimised, as `as_loss` gives it: it knows its name, and how an index becomes a prediction.
    seed : int
        Of the draws.
    shown : str, optional
        The formula as it was given.
    study : Study, optional
        How the records were drawn.
    further : Further, optional
        What gives more of the fit.
    renewal : Renewal, optional
        What brings it up to date.
    """
    problem, found = answer.problem, answer.fit
    alone = study is None or study.is_plain  # every record for itself
    at = found.theta if found.bias is None else found.theta - found.bias
    theta, cov = problem.to_user(at, found.cov) if found.converged or found.weak else (None, None)
    size, error = effective_size(answer, seed) if found.converged and alone else (None, None)
    return Results(
        theta,
        cov,
        problem.names,
        found.outcome,
        found.n,
        loss=loss.name,
        method=method,
        formula=None if problem.design is None else shown or problem.design.formula,
        header=header(release)
        | _blurred(problem)
        | _correction(answer)
        | ({} if study is None else study.said)
        | dict(answer.said),
        effective_n=size,
        weights=found.weights or None,
        predict_link=loss.prediction,
        design=_terms(problem),
        classes=tuple(map(str, getattr(problem.model, "classes", ()))),
        advice=_advice(answer, method),
        curves={} if found.curve is None else {problem.names[0]: found.curve},
        trust=Trust(_strengths(answer), _moved(problem, found.sets), _test(answer, method), error),
        bias=_bias(answer),
        more_sets=partial(_sets, again) if found.converged and answer.asked is not None and alone else None,
        offset=None if study is None else study.offset,
        further=further,
        renewal=renewal,
    )


def _terms(problem: Problem) -> Terms | None:
    """Return the right side of the formula: once, or once for each class of the response but the reference."""
    if problem.design is None:
        return None
    terms = problem.design.terms
    return Terms(problem.names, terms.factors * (len(problem.names) // len(terms.names)), terms.levels)


def _strengths(answer: Answer) -> dict[str, float]:
    """Return strengths by coefficient; none where curvature does not vary and is none."""
    known = () if answer.fit.strength is None else np.clip(answer.fit.strength, -MOST_STRENGTH, MOST_STRENGTH).tolist()
    return {name: t for name, t in zip(answer.problem.names, known, strict=False) if not np.isnan(t)}


def _bias(answer: Answer) -> dict[str, float]:
    """Return what was taken off each coefficient."""
    problem, off = answer.problem, answer.fit.bias
    return {} if off is None else dict(zip(problem.names, (problem.scale @ off).tolist(), strict=True))


def _test(answer: Answer, method: str) -> SpecificationTest | None:
    """Return the specification test; none of a naive fit, which takes noise for what was there."""
    if method == "naive":
        return None
    statistic, df = answer.fit.contrasts or (0.0, 0)
    cut = _cut(answer)
    return None if cut is None and not df else SpecificationTest.of(statistic, df, 1.0 if cut is None else cut)


def _cut(answer: Answer) -> float | None:
    """Return how likely it is, at most, that noisy columns lack the values that they lack; None where none can tell."""
    sample, units = answer.sample, answer.problem.units
    if units.exact_rate is not None:
        cut = cut_chance(sample.z, units)
        return cut if answer.fit.contrasts is not None or cut < LEVEL else None
    # of all of them: who has the records may have sorted them
    z = sample.take(np.arange(0, sample.rows, max(1, sample.rows // LOOKED))).z
    columns = {name: z[:, j] * units.unit[j] + units.centre[j] for j, name in enumerate(units.names)}
    return lacking_chance(answer.problem.blocks, columns)


def _sets(again: Callable[[], Answer]) -> dict[str, ScoreSet]:
    """Return score sets of a fit that is not weak, for whoever asks."""
    answer = again()
    assert answer.asked is not None
    return _moved(answer.problem, score_sets(answer.fit, answer.asked))


def _moved(problem: Problem, sets: tuple[ScoreSet, ...]) -> dict[str, ScoreSet]:
    """Return score sets by the coefficients that they are of, in the user's units."""
    moved = (ScoreSet(each.at + shift, each.least) for each, shift in zip(sets, problem.shift, strict=False))
    return dict(zip(problem.names, moved, strict=False))


def effective_size(answer: Answer, seed: int) -> tuple[float | None, float | None]:
    """Return how many records without noise would tell as much, and its standard error; None if hardly known."""
    share, error = raw_share(answer, seed)
    if share is None or (error is not None and error > HARDLY * share):
        return None, None
    n = answer.fit.n
    return share * n, None if error is None else error * n


def raw_share(answer: Answer, seed: int) -> tuple[float | None, float | None]:
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
    rng = np.random.default_rng([seed, 0xACE])
    form, few = _few_points(problem), answer.sample
    if form.points > FEW:
        return None, None
    rows = min(20_000, NUMBERS // form.points)
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


def _share_of_quantile(curve: Curve, tau: float, answer: Answer) -> float | None:
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


def header(release: Release) -> dict[str, str]:
    """Return what the summary says first: mechanism and guarantee, as it was asked for where that is known."""
    mechanism, asked = release.mechanism, release.mechanism.target
    unit = (asked and asked.unit) or unit_of(mechanism.schema, None)
    epsilon = EPSILON if asked is None or asked.epsilon is None else asked.epsilon
    hidden = asked is not None and asked.shuffled is not None
    profile, among = (release.privacy(unit) if hidden else mechanism.privacy(unit)), release.order.among
    noise = repr(mechanism).removeprefix("<Mechanism: ").removesuffix(">")
    return {
        "mechanism": noise + (", INSECURE (seeded)" if release.insecure else ""),
        "privacy unit": unit + (f", hidden among {among:,} in an order that tells nothing" if hidden and among else ""),
        "epsilon": f"{epsilon:g}",
        "delta": f"{profile.delta(epsilon):.4g}",
        "delta floor": f"{profile.delta_floor:.4g}",
        **({"bounds": clipped} if (clipped := bounds_line(mechanism.schema)) else {}),
    }


def _correction(answer: Answer) -> dict[str, str]:
    """Return what was taken: evaluators of several blocks with the weights of their members, or one of two forms."""
    asked, fit, said = answer.asked, answer.fit, dict(answer.said)
    if asked is None or not answer.problem.extended or not fit.weights:
        return said
    told = []
    for form in asked.family.forms:
        evaluator = EVALUATORS.get(type(form), "closed form")
        told.append(f"{evaluator}: {', '.join(f'{name} {fit.weights[name]:.3g}' for name in form.names)}")
    told += [said["correction"]] if "correction" in said else []
    return said | {"correction": "; ".join(told)}


def _blurred(problem: Problem) -> dict[str, str]:
    """Return over what a loss with kinks was smoothed, if it was: which loss is estimated."""
    expansion, model = problem.expansion, problem.model
    if expansion is None or not expansion.blur or not isinstance(model, LinearModel):
        return {}
    noisy = model.response >= 0 and model.loss.residual
    unit = float(problem.units.unit[model.response]) if noisy else 1.0
    every = (expansion,) if problem.blurs is None else problem.blurs.expansions
    said = [f"±{each.blur * unit:.3g}" for each in every]
    return {"kinks smoothed over": " to ".join(said[:1] + said[1:][-1:])}


def _in_numbers(answer: Answer) -> list[str]:
    """Return how many records it would take, as far as these tell."""
    if answer.asked is None or isinstance(answer.problem.model, CustomModel):
        return []
    least = records_wanted(answer.asked, answer.fit.n)
    if least is None or least <= answer.fit.n:
        return []
    if not np.isfinite(least):
        return ["these records tell nothing of how many would do: squared loss needs least of them"]
    return [f"with this noise it takes about {least:,.0f} records or more, and these are {answer.fit.n:,}"]


def _advice(answer: Answer, method: str) -> str | None:
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
