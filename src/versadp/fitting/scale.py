"""Alternate between residual scale and coefficients, for a loss whose parameters are multiples of the scale.

With psi the score and chi that of the scale (`IndexLoss.scale_score`), s the scale,

    theta:   mean of psi - B chi = 0           s:   mean of chi = 0           B = E d psi/ds / E d chi/ds

all corrected like any score. The mean of `psi - B chi` does not change with s to first order, so a fit by it, and its
standard errors, are those of theta and s solved together, although the s in it is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction import CustomModel, LinearModel
from versadp.estimation.sizes import PART_ROWS
from versadp.estimation.start import nearest_rows
from versadp.fitting.line import quick_family, quick_fit
from versadp.fitting.series_start import closed_form, expanded
from versadp.losses.pilot_line import Line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction import Records
    from versadp.engine import Engine
    from versadp.estimation.moments import Prepared
    from versadp.fitting.problem import Problem
    from versadp.losses import IndexLoss

    Array = NDArray[np.float64]

TURNS = 8  # alternations at most: they end when the scale changes by less than ENOUGH
ENOUGH = 1e-3  # of the scale: what is left matters to second order
FARTHEST = 2.0  # times as wide or narrow is the next scale at most
STEP = 0.02  # of the scale, for differences of its score: their error is of its square


@dataclass(frozen=True)
class Scores:
    """Sums of one pass over records: of the scale's score and of its derivatives."""

    loss: IndexLoss
    theta: Array
    mix: Array

    def sums(self, prepared: Prepared) -> tuple[int, float, Array, float]:
        """Return number, and the sums of the score, of its derivatives in theta and in the scale."""
        (points,) = prepared
        m, y = points.rows
        value, by_index, by_scale = self.loss.scale_score(m @ self.theta, y)
        weight = self.mix @ points.factor
        return points.n, float(weight @ value), (weight * by_index) @ m, float(weight @ by_scale)


def scaled(
    problem: Problem, line: Line | None, sample: Records, engine: Engine, seed: int, *, method: str
) -> tuple[Problem, Line | None]:
    """Return the problem of a loss that knows its scale, and the line from which it starts.

    Parameters
    ----------
    problem : Problem
    line : Line or None
        Corrected; None takes the records as they are.
    sample : Records
        All records, or a random part.
    engine : Engine
    seed : int
        Of the draws.
    method : str
        "naive" corrects nothing.
    """
    model = problem.model
    if isinstance(model, CustomModel) or not model.loss.unscaled:
        return problem, line
    if line is not None and method == "efficient" and closed_form(problem) is not None:
        return _in_closed_form(problem, line, sample, engine, seed)
    method = "naive" if method == "naive" else "efficient"
    line = line or Line.plain(*nearest_rows(model, problem.units, sample))
    theta, scale, tilt = line.theta, line.deviation() or 1.0, None
    for _ in range(TURNS):
        loss = model.loss.scaled(scale)
        now = problem.minimising(loss, tilt)
        family = quick_family(now, sample, engine, seed, method=method)
        found = quick_fit(now, family, theta)
        if found is None:
            break
        theta = found
        mix = np.ones(len(family.names))
        if mix.size > 1:
            mix[-1] = 0.0  # the widest varies most
        _, value, by_theta, by_scale = family.total(Scores(loss, theta, mix / mix.sum()))
        if by_scale <= 0:
            break
        before, tilt = scale, by_theta / by_scale
        scale = float(np.clip(scale - value / by_scale, scale / FARTHEST, scale * FARTHEST))
        if abs(scale - before) < ENOUGH * scale:
            break
    return problem.minimising(model.loss.scaled(scale), tilt), replace(line, theta=theta)


def _in_closed_form(
    problem: Problem, line: Line, sample: Records, engine: Engine, seed: int
) -> tuple[Problem, Line | None]:
    """Do the same by series, that of the scale's score beside that of the loss; its derivative is by differences."""
    form = closed_form(problem)
    assert form is not None
    assert not isinstance(problem.model, CustomModel)
    # the scale matters to second order only
    few = sample.take(np.sort(np.random.default_rng(seed).permutation(sample.rows)[:PART_ROWS]))
    seen = form.prepare(few, np.random.default_rng(0))
    waiting, scale, tilt = problem.model.loss, line.deviation() or 1.0, np.zeros(form.model.size)
    for _ in range(TURNS):
        score: list[tuple[Array, Array]] = []
        for size in (scale, scale * (1 + STEP)):
            now = problem.minimising(waiting.scaled(size), tilt)
            found = expanded(now, few, engine, seed, line=line)
            assert found is not None
            assert found[0].expansion is not None
            assert isinstance(now.model, LinearModel)
            line = line if score else replace(line, theta=found[1])
            own = replace(form, model=now.model, expansion=found[0].expansion)
            score.append(own.aside(seen, line.theta, slope=True))
        (value, by_theta), (further, _) = score
        by_scale = float((further - value).sum()) / (STEP * scale)
        if by_scale <= 0:
            break
        before, tilt = scale, by_theta / by_scale
        scale = float(np.clip(scale - value.sum() / by_scale, scale / FARTHEST, scale * FARTHEST))
        if abs(scale - before) < ENOUGH * scale:
            break
    return problem.minimising(waiting.scaled(scale), tilt), line
