"""A lattice that is too coarse: values between its points were rounded to the nearest before any noise.

Rounding to points that are h apart adds h²/12 to the variance of a column and nothing to its covariances (Sheppard), so
that with V the mean Hessian and c the mean curvature of the loss in its index, coefficients would move by

    V^-1 c diag(h²/12) theta       to second order

if it were undone. For any other score s, functions of columns and losses of one's own among them, it is

    V^-1 Σ_c (h_c²/24) E ∂²s/∂x_c²,       which the model says anywhere, corrected by a projection (`projection.py`).

Where that is more than a standard error the answer is about the lattice and not about the column,
and is refused. A column with a declared step has no values in between, and there is nothing to undo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.correction import LinearModel, Projection
from versadp.errors import ParameterError
from versadp.noise.terms import can_undo

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction import Records
    from versadp.estimation import Fit
    from versadp.fitting.problem import Problem

    Array = NDArray[np.float64]

ROWS = 500  # records that second derivatives are averaged over
DEGREE, STEP = 4, 0.02  # of a projection of them; of a column's width


def refuse_coarse(problem: Problem, found: Fit, sample: Records) -> None:
    """Refuse a fit that rounding to a lattice has moved by more than a standard error."""
    moved = rounding_shift(problem, found, sample)
    if moved is None:
        return
    worst = int(np.argmax(np.abs(moved)))
    if abs(moved[worst]) > 1:
        coarse = ", ".join(name for name in problem.units.names if problem.rounded.get(name))
        raise ParameterError(
            f"the lattice is too coarse: undoing that values were rounded to it ({coarse}) would move "
            f"{problem.names[worst]} by {abs(moved[worst]):.2g} standard errors",
            hint="release with more cells, or with the rule's own; if values lie on the lattice, declare its step",
        )


def rounding_shift(problem: Problem, found: Fit, sample: Records) -> Array | None:
    """Return by how many standard errors each coefficient would move; None if nothing was rounded, or none can tell."""
    model, hessian = problem.model, found.hessian
    if hessian is None or not any(problem.rounded.values()):
        return None
    error = np.sqrt(np.diag(problem.scale @ found.cov @ problem.scale.T))
    if not isinstance(model, LinearModel):
        bent = _bent_score(problem, found.theta, sample)
        return None if bent is None else np.asarray(problem.scale @ np.linalg.solve(hessian, bent) / error)
    step = np.array([problem.rounded.get(name, 0.0) for name in problem.units.names]) / problem.units.unit
    bend = _curvature(problem, hessian)
    if bend is None:
        return None
    added = np.zeros(model.size)
    added[model.noisy] = (step**2 / 12)[model.columns[model.noisy]]
    away = np.linalg.solve(hessian, bend * added * found.theta)
    return np.asarray(problem.scale @ away / error)


def _bent_score(problem: Problem, theta: Array, sample: Records) -> Array | None:
    """Return `Σ_c (h_c²/24) E ∂²s/∂x_c²` by differences of the score at the points of a projection."""
    blocks, units, model = problem.blocks, problem.units, problem.model
    if sample.released is None or not can_undo(blocks):
        return None
    few = sample.take(np.sort(np.random.default_rng(0).permutation(sample.rows)[:ROWS]))
    sizes = [lattice.values.size for lattice in Projection(blocks, ()).lattices]
    category = set() if problem.design is None else set(problem.design.private)
    every = zip(units.names, sizes, strict=True)
    projection = Projection(blocks, tuple(k - 1 if name in category else min(DEGREE, k - 1) for name, k in every))
    assert few.released is not None
    weight = projection.weights(few.released) / few.rows
    record, total = np.repeat(np.arange(few.rows), projection.size), np.zeros(theta.size)
    for c, name in enumerate(units.names):
        step, far = problem.rounded.get(name, 0.0) / units.unit[c], STEP * (units.upper[c] - units.lower[c])
        if not step:
            continue
        for move, times in ((-far, 1.0), (0.0, -2.0), (far, 1.0)):
            z = (projection.points - units.centre) / units.unit
            z[:, c] = np.clip(z[:, c], units.lower[c] + far, units.upper[c] - far) + move
            score = model.score(model.rows(np.tile(z, (few.rows, 1)), record, few), theta)  # type: ignore[arg-type] # its own
            total += times * step**2 / 24 / far**2 * (weight.ravel() @ score)
    return total


def _curvature(problem: Problem, hessian: Array) -> float | None:
    """Return the mean curvature in the index: the Hessian of the constant."""
    assert isinstance(problem.model, LinearModel)
    if problem.model.loss.quadratic:
        return 1.0
    if "Intercept" not in problem.names or problem.model.basis is not None:
        return None
    at = problem.names.index("Intercept")
    return float(hessian[at, at])
