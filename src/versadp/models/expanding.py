"""Before a natural loss is fitted in closed form: the series of the loss where its index lies, and a start.

The series needs to know how far the index reaches, which the coefficients tell, so a rough fit comes first: corrected
least squares, stretched to the scale of the loss. From there Newton steps on a part of the records lead to where the
fit to all of them begins; none leaves the interval of the series, which moves along.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction import CustomModel
from versadp.correction.series import index_law, series
from versadp.estimation import Family
from versadp.estimation import start as plain_fit
from versadp.losses.expansion import Expansion
from versadp.losses.line import lift_of
from versadp.losses.starts import newton
from versadp.models.methods import closed_form, is_expanded
from versadp.models.source import MemorySource

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction import Expanded, Records, Stratified
    from versadp.engine import Engine
    from versadp.estimation import Moments
    from versadp.models.problem import Problem

    Array = NDArray[np.float64]

ROUNDS = 20
NEAR = 0.3  # standard errors
FAR = 100.0  # a first guess of an index this wide is none


def expanded(problem: Problem, sample: Records, engine: Engine, seed: int) -> tuple[Problem, Array] | None:
    """Return a problem with the series of its loss, and where to start; None if it is not fitted in closed form."""
    form = _form(problem)
    if form is None:
        return None
    loss, seen = form.model.loss, form.prepare(sample, np.random.default_rng(0))
    theta, law = _start(problem, form, seen, sample), None
    for _ in range(ROUNDS):
        if law is None or not law.holds(index_law(form, seen, theta)):
            found, law = series(form, seen, theta, loss)
            form = replace(form, expansion=found)
            family = Family((form,), MemorySource((sample,)), form.model.size, engine, seed)
        now = family.moments(theta, np.ones(1))
        if not _is_convex(now):
            break
        move = -np.linalg.solve(now.hessian, now.score[0])
        near, within = bool((np.abs(move) < NEAR * np.sqrt(np.diag(now.covariance()))).all()), law
        while not within.reaches(index_law(form, seen, theta + move)):  # beyond, the series is none of the loss
            move, law = move / 2, None
        theta = theta + move
        if near:
            break
    return replace(problem, expansion=form.expansion), theta


def _is_convex(moments: Moments) -> bool:
    """Tell whether a Newton step leads anywhere."""
    finite = np.isfinite(moments.hessian).all() and np.isfinite(moments.score).all()
    return bool(finite and np.linalg.eigvalsh(moments.hessian)[0] > 0)


def serves(problem: Problem, sample: Records, theta: Array) -> bool:
    """Tell whether the index lies at a theta where the series of a problem was made for."""
    form = _form(problem)
    if form is None or problem.expansion is None:
        return True
    low, high = problem.expansion.interval
    law = index_law(form, form.prepare(sample, np.random.default_rng(0)), theta)
    return low <= law.low and law.high <= high


def _form(problem: Problem) -> Expanded | Stratified | None:
    """Return the form in which a series will be undone, if there is one."""
    model = problem.model
    if isinstance(model, CustomModel) or problem.units.exact_rate is not None or not problem.blocks:
        return None
    if not is_expanded(model.loss) or model.loss.expansion() is not None:
        return None
    return closed_form(problem, Expansion(), waves=True)


def _start(problem: Problem, form: Expanded | Stratified, seen: Any, sample: Records) -> Array:
    """Return corrected least squares on the scale of the loss: around the index g that gives the mean response.

    theta = g + (ψ[m m'])^-1 ψ[m (y - A'(g))] / A''(g)
    """
    assert not isinstance(problem.model, CustomModel)
    if np.linalg.eigvalsh(seen.squares)[0] <= 0:
        return plain_fit(problem.model, problem.units, sample)
    loss, lift = form.model.loss, lift_of(seen.m)
    at = np.zeros(1) if lift is None else newton(loss, np.ones((1, 1)), np.array([seen.y.mean()]))
    slope, bend = (float(each[0]) for each in loss.derivatives(at, np.zeros(1), 2))
    line = replace(form, expansion=Expansion(linear=slope))
    score, _ = line.evaluate(seen, np.zeros(form.model.size), np.ones((1, 1)), hessian=False)
    with np.errstate(all="ignore"):  # a corrected mean response may be one that the loss never gives
        theta = -np.linalg.solve(seen.squares, score.sum(axis=(0, 1))) / bend + (0.0 if lift is None else at * lift)
    if not np.isfinite(theta).all() or index_law(form, seen, theta).width > FAR:
        return plain_fit(problem.model, problem.units, sample)
    return np.asarray(theta)
