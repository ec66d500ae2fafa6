"""From a fit to `Results`: the header that states the guarantee, the effective sample size, advice on failure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction import CustomModel, One, Signed
from versadp.inference import Results

if TYPE_CHECKING:
    from versadp.correction import Batch
    from versadp.estimation import Fit
    from versadp.losses import IndexLoss, RecordLoss
    from versadp.models.problem import Problem
    from versadp.release.release import Release

EPSILON = 4.0
ADVICE = {
    "indefinite": "the corrected objective has no interior minimum on these records",
    "stalled": "no step reduces the corrected score",
    "diverged": "the coefficients run away; with two classes they may be separable",
    "iterations": "too many steps",
}


@dataclass(frozen=True)
class Answer:
    """A fit, the problem that it solves, and a part of the records in memory."""

    problem: Problem
    fit: Fit
    sample: Batch


def results(release: Release, answer: Answer, *, method: str, loss: IndexLoss | RecordLoss, seed: int) -> Results:
    """Return a fit as the user sees it."""
    problem, found = answer.problem, answer.fit
    theta, cov = problem.to_user(found.theta, found.cov)
    share = raw_share(answer, seed)
    return Results(
        theta,
        cov,
        problem.names,
        found.outcome,
        found.n,
        loss=loss.name,
        method=method,
        formula=None if problem.design is None else problem.design.formula,
        header=_header(release),
        effective_n=None if share is None else share * found.n,
        weights=found.weights or None,
        predict_link=loss.prediction,
        design=problem.design,
        advice=_advice(answer, method),
    )


def raw_share(answer: Answer, seed: int) -> float | None:
    """Return the ratio of the variance that raw records would give to the one achieved, in the metric of V.

    `tr(V^-1 A0) / tr(V^-1 A)`, A the covariance of the scores used and A0 that of the scores at the true records. A0 is
    the mean of corrected products of scores over signed, clipped points; where it cannot be had there is no ratio.
    """
    problem, found = answer.problem, answer.fit
    model, units = problem.model, problem.units
    if not found.converged or units.exact_rate == 0 or not problem.noisy or isinstance(model, CustomModel):
        return None
    rng = np.random.default_rng([seed, 0xACE])
    few = answer.sample
    if few.rows > 20_000:  # at random: files are often sorted
        few = few.take(rng.choice(few.rows, 20_000, replace=False))
    if few.weight is not None:  # scores carry a weight each, and their products two
        few = replace(few, weight=few.weight**2)
    points = Signed(model, units, (One(),), near=2, far=2).prepare(few, rng)
    psi, hessian = model.score(points.rows, found.theta), found.info["hessian"]
    raw = points.factor[0] @ np.einsum("ip,ip->i", psi @ np.linalg.inv(hessian), psi) / points.n
    achieved = np.trace(found.cov @ hessian) * found.n
    share = float(raw / achieved) if achieved > 0 else 0.0
    return min(share, 1.0) if share > 0 else None


def _header(release: Release) -> dict[str, str]:
    """Return what the summary says first: mechanism and guarantee."""
    mechanism, profile = release.mechanism, release.privacy("record")
    noise = repr(mechanism).removeprefix("<Mechanism: ").removesuffix(">")
    return {
        "mechanism": noise + (", INSECURE (seeded)" if release.insecure else ""),
        "privacy unit": "record",
        "epsilon": f"{EPSILON:g}",
        "delta": f"{profile.delta(EPSILON):.4g}",
        "delta floor": f"{profile.delta_floor:.4g}",
    }


def _advice(answer: Answer, method: str) -> str | None:
    found = answer.fit
    if found.converged:
        return None
    what = ADVICE.get(found.outcome, "the fit did not end at a minimum")
    rate = answer.problem.units.exact_rate
    more = "a release with an exact_rate above 0" if rate == 0 else f"an exact_rate above {rate:g}"
    ways = ["more records", more, "fewer coefficients", *(["method 'efficient'"] if method != "efficient" else [])]
    return f"{what}: {', '.join(ways[:-1])} or {ways[-1]} would help"
