"""Records without noise: the solvers of scikit-learn, under one objective.

    mean of the loss over records, by weight  +  alpha (l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2)

The intercept is not penalised. Each solver gets the penalty in its own parametrisation and a tolerance far below the
precision of any result. Check and hinge loss without a penalty are solved as linear programmes.

Huber's scale s and coefficients minimise `mean of s rho(r/s) + s c/2`, c = E min(N^2, k^2) (`losses/huber.py`). With
s = a sigma, a = 1/√c, that is scikit-learn's objective with epsilon = k a, which is never below 1.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.errors import ParameterError
from versadp.losses import Check, Hinge, Huber, Logistic, Poisson, Squared

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.inputs import Array

# options of scikit-learn's solvers: they agree with statsmodels to 1e-6 (tests/learners/test_noiseless.py), and warn if
# the number of steps does not suffice, which happens in no test
PRECISE = {"tol": 1e-10, "max_iter": 10_000}
CERTAIN = 30.0  # |index| beyond which a probability is 0 or 1 up to 1e-13, rounding


class Records(NamedTuple):
    """Records without noise; weights are None if all are equal."""

    x: Array
    y: Array
    weight: Array | None
    intercept: bool

    @property
    def total(self) -> float:
        """The sum of weights."""
        return float(len(self.y) if self.weight is None else self.weight.sum())

    @property
    def share(self) -> Array:
        """The weights, scaled to sum to 1."""
        return (np.ones(len(self.y)) if self.weight is None else self.weight) / self.total


def minimise(records: Records, loss: Any, alpha: float) -> tuple[Array, float]:
    """Return coefficients and intercept that minimise the mean of a loss of an index and a ridge penalty."""
    kind = type(loss)
    if kind is Check and alpha:
        raise ParameterError("check loss has no ridge here", hint="use QuantileRegressor(alpha=), a lasso")

    def coded() -> Records:
        return records._replace(y=loss.response(records.y))

    exact: dict[type, Callable[[], tuple[Array, float]]] = {
        Check: lambda: check(records, 0.0, loss.tau),
        Squared: lambda: squared(records, alpha, 0.0),
        Poisson: lambda: poisson(records, alpha),
        Logistic: lambda: logistic(coded(), alpha),
        Hinge: lambda: hinge(coded(), alpha),
    }
    if kind in exact:
        return exact[kind]()
    if kind is Huber and loss.unscaled:
        return huber(records, alpha, loss.k)
    if loss.kinked or loss.unscaled:
        raise ParameterError(
            f"{loss.name} loss has kinks or no fixed scale: without noise there is no solver for it here",
            hint="use vdp.losses.Check or Hinge, which are solved exactly, or a smooth loss",
        )
    return smooth(coded(), alpha, loss)


def squared(records: Records, alpha: float, l1_ratio: float) -> tuple[Array, float]:
    """Return coefficients and intercept of squared loss."""
    from sklearn import linear_model

    model: Any
    if alpha == 0:
        model = linear_model.LinearRegression(fit_intercept=records.intercept)
    elif l1_ratio == 0:
        model = linear_model.Ridge(alpha * records.total, fit_intercept=records.intercept)
    else:
        options = {"l1_ratio": l1_ratio, "fit_intercept": records.intercept, **PRECISE}
        model = linear_model.ElasticNet(alpha, **options)
    return _fitted(model, records)


def logistic(records: Records, alpha: float) -> tuple[Array, float]:
    """Return coefficients and intercept of logistic loss, y in {0, 1}."""
    from sklearn import linear_model
    from sklearn.exceptions import ConvergenceWarning

    strength = np.inf if alpha == 0 else 1 / (alpha * records.total)
    options = {"solver": "newton-cholesky", "fit_intercept": records.intercept, **PRECISE}
    with warnings.catch_warnings():  # of singular curvature, which the warning below explains
        warnings.simplefilter("ignore")
        coef, intercept = _fitted(linear_model.LogisticRegression(C=strength, **options), records)
    if alpha == 0 and np.abs(records.x @ coef + intercept).max() > CERTAIN:
        warnings.warn(
            "a plane separates the classes, or nearly so: coefficients without a penalty have no finite estimate, and "
            "these are where the solver stopped; use alpha > 0",
            ConvergenceWarning,
            stacklevel=2,
        )
    return coef, intercept


def poisson(records: Records, alpha: float) -> tuple[Array, float]:
    """Return coefficients and intercept of Poisson loss."""
    from scipy.linalg import LinAlgWarning
    from sklearn import linear_model

    options = {"solver": "newton-cholesky", "fit_intercept": records.intercept, **PRECISE}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinAlgWarning)  # of collinear columns, for which it changes the solver
        return _fitted(linear_model.PoissonRegressor(alpha=alpha, **options), records)


def check(records: Records, alpha: float, tau: float) -> tuple[Array, float]:
    """Return coefficients and intercept of check loss with a lasso penalty, by a linear programme."""
    from sklearn import linear_model

    model = linear_model.QuantileRegressor(quantile=tau, alpha=alpha, fit_intercept=records.intercept, solver="highs")
    return _fitted(model, records)


def hinge(records: Records, alpha: float) -> tuple[Array, float]:
    """Return coefficients and intercept of hinge loss, y in {-1, 1}, by a linear or a quadratic programme."""
    from sklearn import svm

    if alpha == 0:
        return _hinge_programme(records)
    cost = 1 / (alpha * records.total)
    if records.intercept:
        return _fitted(svm.SVC(kernel="linear", C=cost, tol=PRECISE["tol"]), records)
    options = {"loss": "hinge", "fit_intercept": False, "random_state": 0, **PRECISE, "max_iter": 1_000_000}
    return _fitted(svm.LinearSVC(C=cost, **options), records)


def _hinge_programme(records: Records) -> tuple[Array, float]:
    """Return the minimum of the mean of xi >= 0, subject to y (x'w + b) >= 1 - xi."""
    from scipy import sparse
    from scipy.optimize import linprog
    from sklearn.exceptions import ConvergenceWarning

    (n, p), k = records.x.shape, int(records.intercept)
    share = records.share
    design = np.column_stack([records.x, np.ones((n, k))]) * records.y[:, None]
    above = -sparse.hstack([sparse.csr_array(design), sparse.eye_array(n)], format="csr")
    bounds = [(None, None)] * (p + k) + [(0, None)] * n
    found = linprog(np.concatenate([np.zeros(p + k), share]), A_ub=above, b_ub=-np.ones(n), bounds=bounds)
    if found.x is None or found.fun is None:
        raise ParameterError(f"the linear programme has no solution: {found.message}", hint="use alpha > 0")
    coef, intercept = found.x[:p], float(found.x[p]) if k else 0.0
    if found.fun < 1e-9:
        warnings.warn(
            "a plane separates the classes, and many planes have no loss: this is the one with the widest margin; "
            "use alpha > 0",
            ConvergenceWarning,
            stacklevel=3,
        )
        return _widest(records, (coef, intercept))
    return coef, intercept


def _widest(records: Records, one: tuple[Array, float]) -> tuple[Array, float]:
    """Return the plane without loss and the least |w|, the limit of small penalties; `one` if it is not found."""
    seen = slice(None) if records.weight is None else records.weight > 0
    x, y = records.x[seen], records.y[seen]
    small = 1e-8 / max(float(one[0] @ one[0]), 1e-300)
    coef, intercept = hinge(Records(x, y, None, records.intercept), min(small, 1e-6) / len(y))
    return (coef, intercept) if (y * (x @ coef + intercept)).min() > 1 - 1e-6 else one


def huber(records: Records, alpha: float, k: float) -> tuple[Array, float]:
    """Return coefficients and intercept of Huber loss, with the scale estimated."""
    from sklearn import linear_model

    middle = Huber(k).normal
    options = {"fit_intercept": records.intercept, **PRECISE}
    a = middle**-0.5
    model = linear_model.HuberRegressor(epsilon=k * a, alpha=alpha * a * records.total, **options)
    coef, intercept = _fitted(model, records)
    return _polished(records, (coef, intercept, float(model.scale_) * a), alpha, k, middle)


def _polished(
    records: Records, at: tuple[Array, float, float], alpha: float, k: float, middle: float
) -> tuple[Array, float]:
    """Return coefficients after Newton steps on both equations of Huber loss; the quasi-Newton solver stops early."""
    (n, p), one = records.x.shape, int(records.intercept)
    share = records.share
    design = np.column_stack([records.x, np.ones((n, one))])
    free = alpha * np.append(np.ones(p), np.zeros(one))

    def equations(theta: Array, s: float) -> tuple[Array, Array]:
        z = (records.y - design @ theta) / s
        near = share * (np.abs(z) <= k)
        by_z = design * near[:, None]
        first = np.append(free * theta - (share * np.clip(z, -k, k)) @ design, middle - share @ np.minimum(z * z, k**2))
        slope = by_z.T @ design / s + np.diag(free)
        across = (by_z.T @ z)[:, None] / s
        return first, np.block([[slope, across], [2 * across.T, np.atleast_2d(2 * (near @ (z * z)) / s)]])

    theta, s = np.append(at[0], [at[1]] * one), at[2]
    if not s > 0:
        return at[0], at[1]
    first, bend = equations(theta, s)
    for _ in range(20):
        try:
            step = np.linalg.solve(bend, first)
        except np.linalg.LinAlgError:
            break
        if not s - step[-1] > 0:
            break
        after, again = equations(theta - step[:-1], s - step[-1])
        if not np.abs(after).max() < np.abs(first).max():
            break
        theta, s, first, bend = theta - step[:-1], s - step[-1], after, again
    return theta[:p], float(theta[p]) if one else 0.0


def smooth(records: Records, alpha: float, loss: Any) -> tuple[Array, float]:
    """Return coefficients and intercept of a loss of an index without kinks, by trust-region Newton steps."""
    (n, p), one = records.x.shape, int(records.intercept)
    share = records.share
    centre = records.x.mean(axis=0) * one
    spread = np.where((sd := records.x.std(axis=0)) > 0, sd, 1.0)
    design = np.column_stack([(records.x - centre) / spread, np.ones((n, one))])
    free = alpha * np.append(spread**-2.0, np.zeros(one))

    def value(theta: Array) -> float:
        return float(share @ loss.value(design @ theta, records.y) + (free * theta) @ theta / 2)

    def slope(theta: Array) -> Array:
        return np.asarray((share * loss.derivatives(design @ theta, records.y, 1)[0]) @ design + free * theta)

    def bend(theta: Array) -> Array:
        second = share * loss.derivatives(design @ theta, records.y, 2)[1]
        return np.asarray((design * second[:, None]).T @ design + np.diag(free))

    theta = _minimum(value, slope, bend, np.asarray(loss.start(design, records.y), dtype=float))
    coef = theta[:p] / spread
    return coef, float(theta[p] - centre @ coef) if one else 0.0


def _minimum(
    value: Callable[[Array], float], slope: Callable[[Array], Array], bend: Callable[[Array], Array], start: Array
) -> Array:
    from scipy.optimize import minimize
    from sklearn.exceptions import ConvergenceWarning

    found = minimize(value, start, jac=slope, hess=bend, method="trust-exact", options={"gtol": 1e-9})
    if not found.success and np.abs(slope(found.x)).max() > 1e-6:
        warnings.warn(
            f"the solver reached no minimum: {found.message}; scale the columns, or use alpha > 0",
            ConvergenceWarning,
            stacklevel=3,
        )
    return np.asarray(found.x)


def own(records: Array, loss: Any, start: Array) -> Array:
    """Return the parameters that minimise the mean of a user's `loss(x, theta)`."""
    from scipy.optimize import minimize

    def value(theta: Array) -> float:
        return float(np.mean(loss(records, theta)))

    found = minimize(value, start, method="BFGS")
    # BFGS stops at kinks; a simplex search continues there, and changes nothing elsewhere
    return np.asarray(minimize(value, found.x, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x)


def _fitted(model: Any, records: Records) -> tuple[Array, float]:
    model.fit(records.x, records.y, sample_weight=records.weight)
    return np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
