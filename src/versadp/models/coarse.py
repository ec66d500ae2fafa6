"""A lattice that is too coarse: values between its points were rounded to the nearest before any noise.

Rounding to points that are h apart adds h²/12 to the variance of a column and nothing to its covariances (Sheppard), so
that with V the mean Hessian and c the mean curvature of the loss in its index, coefficients would move by

    V^-1 c diag(h²/12) theta       to second order

if it were undone. Where that is more than a standard error the answer is about the lattice and not about the column,
and is refused. A column with a declared step has no values in between, and there is nothing to undo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.correction import LinearModel
from versadp.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.estimation import Fit
    from versadp.models.problem import Problem

    Array = NDArray[np.float64]


def refuse_coarse(problem: Problem, found: Fit) -> None:
    """Refuse a fit that rounding to a lattice has moved by more than a standard error."""
    moved = rounding_shift(problem, found)
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


def rounding_shift(problem: Problem, found: Fit) -> Array | None:
    """Return by how many standard errors each coefficient would move; None if nothing was rounded, or none can tell."""
    model, hessian = problem.model, found.hessian
    if not isinstance(model, LinearModel) or hessian is None or not any(problem.rounded.values()):
        return None
    step = np.array([problem.rounded.get(name, 0.0) for name in problem.units.names]) / problem.units.unit
    bend = _curvature(problem, hessian)
    if bend is None:
        return None
    added = np.zeros(model.size)
    added[model.noisy] = (step**2 / 12)[model.columns[model.noisy]]
    away = np.linalg.solve(hessian, bend * added * found.theta)
    return np.asarray((problem.scale @ away) / np.sqrt(np.diag(problem.scale @ found.cov @ problem.scale.T)))


def _curvature(problem: Problem, hessian: Array) -> float | None:
    """Return the mean curvature in the index: the Hessian of the constant."""
    assert isinstance(problem.model, LinearModel)
    if problem.model.loss.quadratic:
        return 1.0
    if "Intercept" not in problem.names or problem.model.basis is not None:
        return None
    at = problem.names.index("Intercept")
    return float(hessian[at, at])
