"""Series or signed points: of two corrections of a loss with kinks the one is taken that is predicted to vary less.

A series is blurred where windows have erased what a kink needs, and then it is the only way. Where columns lie on few
lattice points without windows, all outputs can be written out, and the loss is what it is. Both are evaluated on a part
of the records where their fits begin: with v the sandwich variance of a coefficient, that of a series times
`1 + shift²`, series are taken if the mean of `log v(series)/v(points)` is negative.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from versadp.estimation import Family
from versadp.estimation.combine import simplex_weights, trace_matrix
from versadp.estimation.newton import definite
from versadp.estimation.sizes import PART_ROWS
from versadp.fitting.methods import forms_of
from versadp.fitting.source import MemorySource
from versadp.noise.points import How

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction import Records
    from versadp.engine import Engine
    from versadp.fitting.problem import Problem

    Array = NDArray[np.float64]
    Begun = tuple[Problem, Array]

FEW = 100  # points of a record that are written out without a thought


def few_points(problem: Problem) -> bool:
    """Tell whether a record has so few signed points that they may be the better correction."""
    return math.prod(block.point_count(How()) for block in problem.blocks) <= FEW


def less_varying(series: Begun, points: Begun, sample: Records, engine: Engine, seed: int) -> Begun:
    """Return the problem, and where it starts, whose correction is predicted to vary less; it says so."""
    if sample.rows > PART_ROWS:
        sample = sample.take(
            np.sort(np.random.default_rng([seed, 0xC401]).choice(sample.rows, PART_ROWS, replace=False))
        )
    of_series, of_points = (_variances(*each, sample, engine, seed) for each in (series, points))
    expansion = series[0].expansion
    assert expansion is not None
    of_series = of_series * (1 + expansion.shift**2)
    if not np.isfinite(of_points).all() and not np.isfinite(of_series).all():
        return series
    with np.errstate(invalid="ignore"):
        ratio = float(np.exp(np.mean(np.log(of_series) - np.log(of_points)) / 2))
    if ratio < 1:
        return series[0].approximated(taken=f"series, for signed points {_times(1 / ratio)}"), series[1]
    return points[0].approximated(taken=f"signed points, for a series {_times(ratio)}"), points[1]


def _times(ratio: float) -> str:
    return f"would have {ratio:.3g} times the standard error" if math.isfinite(ratio) else "has no curvature"


def _variances(problem: Problem, theta: Array, sample: Records, engine: Engine, seed: int) -> Array:
    """Return the sandwich variances at a theta; infinite without curvature."""
    forms = forms_of(problem, "efficient", None, 20, sample.rows)
    family = Family(forms, MemorySource((sample,)), problem.model.size, engine, seed)
    mix = np.ones(len(family.names))
    if mix.size > 1:  # members in equal parts but the widest, then by their weights
        mix[-1] = 0.0
        first = family.moments(theta, mix / mix.sum())
        if not definite(first.hessian):
            return np.full(theta.size, np.inf)
        every = family.moments(theta, np.eye(mix.size), hessian=False)
        mix = simplex_weights(trace_matrix(every, first.hessian, np.arange(theta.size)))
    now = family.moments(theta, mix)
    if not np.isfinite(now.hessian).all() or np.linalg.eigvalsh(now.hessian)[0] <= 0:
        return np.full(theta.size, np.inf)
    return np.asarray(np.diag(now.covariance()))
