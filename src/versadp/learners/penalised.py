"""Penalised fits of released records: the corrected objective and a penalty.

    corrected mean loss(theta)  +  alpha (l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2)

The penalty is in the units of the columns, as in scikit-learn; `Scaler` makes these comparable. Smooth losses have a
ridge, by Newton steps from the fit without a penalty. Squared loss is a quadratic form,

    theta'H theta / 2 + g'theta,     H the corrected Gram matrix, g = -H theta^ if there is a fit without penalty,

and also has lasso and elastic net. H is unbiased and need not be positive semidefinite: negative eigenvalues of its
correlation matrix are set to 0, which gives the nearest one that is; with enough records there are none. Penalised
coefficients have no intervals, since they are biased by construction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.correction import CustomModel, LinearModel
from versadp.engine import as_engine
from versadp.errors import EstimationError, ParameterError
from versadp.fitting.estimate import estimate
from versadp.fitting.models import make_problem
from versadp.fitting.solver import SolverOptions
from versadp.fitting.weights import record_weights

if TYPE_CHECKING:
    from versadp.fitting.problem import Problem
    from versadp.fitting.report import FitReport
    from versadp.formula.terms import Terms
    from versadp.inputs import Array
    from versadp.release.release import Release

CONVERGED = 1e-9  # relative size of a Newton step in the norm of the curvature: 1e-6 standard errors at 1e6 records
MOST_STEPS = 50  # of Newton; near a minimum five suffice, and without one it stops at an indefinite curvature


class Penalty(NamedTuple):
    """The size of a penalty and the share of it that is a lasso's."""

    alpha: float
    l1_ratio: float = 0.0


def fit_penalised(
    release: Release, formula: str, loss: Any, penalty: Penalty, *, method: str, draws: int, seed: int, weights: Any
) -> tuple[tuple[str, ...], Array, Terms]:
    """Return names, coefficients and terms of a penalised fit to a release."""
    _refuse(loss, penalty, method)
    free = method == "efficient"
    problem = make_problem(release, formula, loss, record_weights(weights, release), None, free=free)
    answer = estimate(problem, SolverOptions(method, None, draws, seed, as_engine("auto")))
    assert answer.diagnostics is not None
    assert problem.design is not None
    around = Around.of(answer)
    shrunk = np.array([name != "Intercept" for name in problem.names], dtype=float)
    if loss.quadratic:
        theta = quadratic(*around.quadratic_form(), shrunk, penalty)
    else:
        theta = around.newton(penalty.alpha * shrunk)
    return problem.names, theta, problem.design.terms


def _refuse(loss: Any, penalty: Penalty, method: str) -> None:
    if not getattr(loss, "smooth", False):
        raise ParameterError(
            f"{loss.name} loss of released records takes no penalty: its corrected objective has many minima",
            hint="use alpha=0, or a smooth loss: squared, logistic, poisson",
        )
    if penalty.l1_ratio and not loss.quadratic:
        raise ParameterError(f"{loss.name} loss of released records has only a ridge penalty", hint="use l1_ratio=0")
    if method == "likelihood":
        raise ParameterError("method 'likelihood' takes no penalty", hint="use method='efficient'")


class Around(NamedTuple):
    """The corrected score and curvature near a fit without penalty, in the user's units."""

    answer: FitReport
    mix: Array
    size: float  # the user's loss over the loss that is fitted, in other units

    @classmethod
    def of(cls, answer: FitReport) -> Around:
        """Return it with the weights of the members of the fit, or with equal weights if the fit failed."""
        assert answer.diagnostics is not None
        members = len(answer.diagnostics.family.names)
        equal = np.ones(members)
        if members > 1:
            equal[-1] = 0.0
        mix = equal / equal.sum() if answer.fit.mix is None else answer.fit.mix[0]
        return cls(answer, mix, _unit(answer.problem) ** 2)

    def at(self, theta: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian of the corrected mean loss at the user's coefficients."""
        problem, diagnostics = self.answer.problem, self.answer.diagnostics
        assert diagnostics is not None
        moments = diagnostics.family.moments(problem.to_fit(theta), self.mix)
        back = np.linalg.inv(problem.scale)
        return self.size * moments.score[0] @ back, self.size * back.T @ moments.hessian @ back

    def estimate(self) -> Array | None:
        """Return the fit without penalty in the user's units, None if there is none."""
        found, problem = self.answer.fit, self.answer.problem
        if not found.converged:
            return None
        return problem.to_user(found.theta if found.bias is None else found.theta - found.bias, found.cov)[0]

    def quadratic_form(self) -> tuple[Array, Array]:
        """Return H and g of the quadratic objective."""
        found = self.estimate()
        zero = np.zeros(len(self.answer.problem.names))
        slope, bend = self.at(zero)
        return bend, slope if found is None else -bend @ found

    def newton(self, ridge: Array) -> Array:
        """Return the minimum of the corrected mean loss with a ridge penalty."""
        found, problem, diagnostics = self.estimate(), self.answer.problem, self.answer.diagnostics
        assert diagnostics is not None
        theta = problem.to_user(diagnostics.start, np.eye(diagnostics.start.size))[0] if found is None else found
        slope, bend = self.at(theta)
        for _ in range(MOST_STEPS):
            total, curved = slope + ridge * theta, bend + np.diag(ridge)
            try:
                np.linalg.cholesky(curved)
            except np.linalg.LinAlgError:
                break
            step = np.linalg.solve(curved, total)
            size = float(total @ step)
            if size < CONVERGED**2 * (1 + float(theta @ curved @ theta)):
                return theta - step
            for halving in range(12):
                after = theta - 0.5**halving * step
                slope, bend = self.at(after)
                left = slope + ridge * after
                if float(left @ np.linalg.solve(curved, left)) < size * (1 - 0.1 * 0.5**halving):
                    break
            else:
                break
            theta = after
        raise EstimationError(
            "no minimum of the penalised objective was found", hint="use a larger alpha, or more records"
        )


def _unit(problem: Problem) -> float:
    """Return the unit by which a fit divides a noisy response."""
    model = problem.model
    if isinstance(model, CustomModel) or not isinstance(model, LinearModel) or model.response < 0:
        return 1.0
    return float(problem.units.unit[model.response]) if model.loss.residual else 1.0


def quadratic(H: Array, g: Array, shrunk: Array, penalty: Penalty) -> Array:
    """Return the minimum of `theta'H theta/2 + g'theta` and a penalty on the coefficients with `shrunk` 1.

    Examples
    --------
    >>> quadratic(np.diag([1.0, 2.0]), np.array([-3.0, -0.1]), np.ones(2), Penalty(0.5, 1.0)).round(9)
    array([2.5, 0. ])
    """
    from sklearn.linear_model import ElasticNet

    root = _root(H)
    target = np.linalg.pinv(root.T, rcond=1e-9) @ -g
    alpha, l1 = penalty
    if l1 == 0:
        return np.asarray(np.linalg.solve(root.T @ root + np.diag(alpha * shrunk), root.T @ target), dtype=np.float64)
    # coefficients without a penalty are concentrated out
    held, kept = np.flatnonzero(shrunk == 0), np.flatnonzero(shrunk)
    onto = np.linalg.pinv(root[:, held])
    design, left = (m - root[:, held] @ (onto @ m) for m in (root[:, kept], target))
    rows = np.sqrt(len(root))
    model = ElasticNet(alpha, l1_ratio=l1, fit_intercept=False, tol=1e-12, max_iter=100_000)
    theta = np.empty(len(g))
    theta[kept] = model.fit(rows * design, rows * left).coef_
    theta[held] = onto @ (target - root[:, kept] @ theta[kept])
    return theta


def _root(H: Array) -> Array:
    """Return R with R'R = H, or with the nearest positive semidefinite correlation matrix."""
    diagonal = np.diag(H)
    if not np.isfinite(H).all() or (diagonal <= 0).any():
        raise EstimationError(
            "the corrected variance of a column is not positive", hint="leave the column out, or use more records"
        )
    size = np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(H / np.outer(size, size))
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * size)
