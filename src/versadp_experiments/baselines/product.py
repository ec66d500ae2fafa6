"""Independent Laplace noise on every column, with its product correction (the paper's eq. CL-Lap).

    X1_j = x_j + Laplace of variance s²;      corrected l = prod_j (1 - (s²/2) d²/dx_j²) l

For a loss of the index u = theta_0 + x'theta the operator is a polynomial in D = d/du,

    prod_j (1 - (s² theta_j²/2) D²) l = sum_k e_k l^(2k)(u),  e_k elementary symmetric polynomials of -s² theta_j²/2

so d noisy columns need 2d derivatives of the loss: squared loss has two; logistic has all, as polynomials in p = 1/(1
+ e^-u), growing like (2k)!/pi^2k, and losses with kinks have none. Each column has pure epsilon_j = 2 sqrt(2)/s, a
record d of them. The response is public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.polynomial import Polynomial
from scipy.optimize import minimize
from scipy.special import expit

from versadp_experiments.baselines.method import DEVICE, Budget, Estimate, Method, Sample, laplace, pure

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]


@lru_cache(maxsize=32)
def sigmoid_derivative(order: int) -> Polynomial:
    """Return the derivative of 1/(1 + e^-u) as a polynomial in it: P_0 = p, P_(k+1) = P_k' p(1 - p).

    Examples
    --------
    >>> sigmoid_derivative(1).coef
    array([ 0.,  1., -1.])
    """
    if order == 0:
        return Polynomial([0.0, 1.0])
    return sigmoid_derivative(order - 1).deriv() * Polynomial([0.0, 1.0, -1.0])


def corrected(theta: Array, x: Array, y: Array, square: float, terms: int | None = None) -> tuple[Array, Array]:
    """Return the corrected logistic loss of each record and its gradient in theta = (constant, slopes).

    Parameters
    ----------
    square : float
        Variance of the noise of a column.
    terms : int, optional
        How many of the e_k are used; fewer than all is another correction, and wrong for this noise.
    """
    slopes = theta[1:]
    roots = -square * slopes**2 / 2
    e = np.array([1.0])
    for root in roots:
        e = np.convolve(e, [1.0, root])
    u = theta[0] + x @ slopes
    p = np.asarray(expit(u))
    last = len(e) if terms is None else terms + 1
    value, slope = np.logaddexp(0.0, u) - y * u, p - y
    for k in range(1, last):
        value = value + e[k] * sigmoid_derivative(2 * k - 1)(p)
        slope = slope + e[k] * sigmoid_derivative(2 * k)(p)
    gradient = np.column_stack([slope, slope[:, None] * x])
    for j in range(len(slopes)):  # e_k moves with theta_j: by the others' e_(k-1), times -s² theta_j
        others = np.array([1.0])
        for i, root in enumerate(roots):
            others = others if i == j else np.convolve(others, [1.0, root])
        for k in range(1, last):
            gradient[:, 1 + j] += -square * slopes[j] * others[k - 1] * sigmoid_derivative(2 * k - 1)(p)
    return value, gradient


@dataclass(frozen=True)
class ProductCorrection(Method):
    """Logistic regression on independent Laplace noise."""

    box: float = 5.0
    name: ClassVar[str] = "independent Laplace"
    reference: ClassVar[str] = "Lu, Chen and Qiu, eq. CL-Lap; Stefanski 1989"
    where: ClassVar[str] = DEVICE
    reusable: ClassVar[bool] = True

    def scale(self, columns: int, budget: Budget) -> float:
        """Return Laplace's scale for one column: 2 over its share of epsilon.

        Examples
        --------
        >>> ProductCorrection().scale(3, Budget(6.0))
        1.0
        """
        return 2 * columns / budget.epsilon

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:  # noqa: ARG002 (as the others)
        """Return pure epsilon: 2 over the scale, for each column."""
        return pure(columns * 2 / self.scale(columns, budget))

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Minimise the corrected loss in a box (it need not be convex); errors by the sandwich."""
        n, d = sample.x.shape
        scale = self.scale(d, budget)
        x, square = sample.x + laplace(rng, scale, (n, d)), 2 * scale**2

        def mean(theta: Array) -> tuple[float, Array]:
            value, gradient = corrected(theta, x, sample.y, square)
            return float(value.mean()), gradient.mean(axis=0)

        found = minimize(mean, np.zeros(d + 1), jac=True, method="L-BFGS-B", bounds=[(-self.box, self.box)] * (d + 1))
        theta = np.asarray(found.x)
        return Estimate(theta, sandwich(lambda t: corrected(t, x, sample.y, square)[1], theta))


def sandwich(scores: Callable[[Array], Array], theta: Array) -> Array:
    """Return standard errors from per-record scores, their derivative by differences.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 3.0, 6.0])
    >>> sandwich(lambda t: (t[0] - x)[:, None], np.array([3.0])).round(4)
    array([0.9354])
    """
    each, h = scores(theta), 1e-4
    eye = np.eye(len(theta)) * h
    slope = np.array([(scores(theta + e).mean(axis=0) - scores(theta - e).mean(axis=0)) / (2 * h) for e in eye]).T
    if not np.isfinite(slope).all() or np.linalg.matrix_rank(slope) < len(theta):
        return np.full(len(theta), math.inf)
    inverse = np.linalg.inv(slope)
    covariance = inverse @ (each.T @ each) @ inverse.T / len(each) ** 2
    return np.sqrt(np.diag(covariance))
