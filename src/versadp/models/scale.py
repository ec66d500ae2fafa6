"""The scale of residuals for a loss whose parameters are multiples of it, and the fit: both in turns.

With psi the score and chi that of the scale (`IndexLoss.scale_score`), s the scale,

    theta:   mean of psi - B chi = 0           s:   mean of chi = 0           B = E d psi/ds / E d chi/ds

all corrected like any score. The mean of `psi - B chi` does not change with s to first order, so a fit by it, and its
standard errors, are those of theta and s solved together, although the s in it is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction import CustomModel
from versadp.estimation.start import nearest_rows
from versadp.losses.line import Line
from versadp.models.line import quick_family, quick_fit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction import Records
    from versadp.engine import Engine
    from versadp.estimation.family import Prepared
    from versadp.losses import IndexLoss
    from versadp.models.problem import Problem

    Array = NDArray[np.float64]

TURNS = 8
ENOUGH = 1e-3  # of the scale: what is left matters to second order
FARTHEST = 2.0  # times as wide or narrow is the next scale at most


@dataclass(frozen=True)
class Scores:
    """What one pass asks of some records: sums of the scale's score and of its derivatives."""

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
