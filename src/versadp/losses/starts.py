"""Starting values from uncorrected fits: least squares, robust regression, damped Newton.

A start need not be a minimum: it must lie in the right basin of attraction. A ridge of a millionth keeps designs
without full rank from failing here; they are refused later, with the terms that are collinear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.inputs import Array
    from versadp.losses.index_loss import IndexLoss

# ratio of the sd of residuals to their quartile scale from which least absolute deviations are used: chosen; both are
# starts in the same basin, and without outliers the ratio is below 2 (Laplace 1.4, t with 3 degrees of freedom 1.5)
OUTLIER_RATIO = 5.0


def least_squares(m: Array, y: Array) -> Array:
    """Return the least squares fit of a response to a design.

    Examples
    --------
    >>> least_squares(np.ones((3, 1)), np.array([1.0, 2.0, 6.0])).round(3)
    array([3.])
    """
    return np.asarray(np.linalg.solve(m.T @ m + _ridge(m), m.T @ y))


def robust(m: Array, y: Array) -> Array:
    """Return the least squares fit, or the least absolute deviations fit if there are outliers.

    Examples
    --------
    >>> y = np.append(np.zeros(999), 1e9)
    >>> robust(np.ones((1000, 1)), y).round(3)
    array([0.])
    """
    ridge = _ridge(m)
    theta = least_squares(m, y)
    residual = y - m @ theta
    # one outlier among n makes the second ratio about the root of n, even if all other residuals are equal
    if np.std(residual) <= min(OUTLIER_RATIO * spread(residual), 10 * np.abs(residual).mean()):
        return theta
    for _ in range(25):  # reweighted least squares
        size = np.abs(y - m @ theta)
        weight = 1 / (np.maximum(size, 1e-3 * np.median(size)) + 1e-9 * size.mean() + 1e-300)
        weighted = m * (weight / weight.mean())[:, None]
        theta = np.linalg.solve(weighted.T @ m + ridge, weighted.T @ y)
    return np.asarray(theta)


def spread(residual: Array) -> float:
    """Return the scale of residuals by their quartiles, or by outer quantiles if most residuals are nearly equal.

    Examples
    --------
    >>> round(spread(np.append(np.linspace(-1, 1, 999), 1e9)), 2)
    0.74
    """
    shares, widths = np.array([0.25, 0.1, 0.05, 0.01]), np.array([1.349, 2.563, 3.290, 4.653])
    ranges = np.quantile(residual, 1 - shares) - np.quantile(residual, shares)
    enough = np.flatnonzero(ranges > 1e-3 * ranges[-1])
    return float((ranges / widths)[enough[0]]) if enough.size else float(residual.std())


def newton(loss: IndexLoss, m: Array, y: Array, bandwidth: float = 0.0) -> Array:
    """Return the end of damped Newton steps from 0; no step changes an index by more than 4.

    Examples
    --------
    >>> from versadp.losses import Poisson
    >>> np.exp(newton(Poisson(), np.ones((3, 1)), np.array([1.0, 2.0, 6.0]))).round(3)
    array([3.])
    """
    ridge, theta = _ridge(m), np.zeros(m.shape[1])
    for _ in range(25):
        s, s1 = loss.derivatives(m @ theta, y, 2, bandwidth)
        bend = np.maximum(s1, 0.0)  # where a loss is not convex, a gradient step
        direction = -np.linalg.solve(m.T @ (m * bend[:, None]) + ridge, m.T @ s)
        theta = theta + direction / max(1.0, float(np.abs(m @ direction).max()) / 4.0)
        if float(np.abs(m @ direction).max()) < 1e-3:
            break
    return theta


def downhill(loss: IndexLoss, m: Array, y: Array) -> Array:
    """Return the end of Newton steps if the mean loss is lower there than at 0, else 0: the loss may not be convex.

    Examples
    --------
    >>> from versadp.losses import Logistic
    >>> downhill(Logistic(), np.ones((2, 1)), np.array([0.0, 1.0])).round(3)
    array([0.])
    """
    bandwidth = 1.0 if loss.kinked else 0.0  # the kinks of other losses lie at an index of about 1
    with np.errstate(all="ignore"):
        found, nowhere = newton(loss, m, y, bandwidth), np.zeros(m.shape[1])
        below = loss.value(m @ found, y).mean() <= loss.value(m @ nowhere, y).mean()
    return found if below else nowhere


def separating(m: Array, high: NDArray[np.bool_]) -> Array:
    """Return the logistic regression of the class, a start for losses of two classes that are not smooth.

    Examples
    --------
    >>> separating(np.array([[-1.0], [-1.0], [1.0], [1.0]]), np.array([False, True, True, True])).round(2)
    array([1.1])
    """
    from versadp.losses.logistic import Logistic

    return newton(Logistic(), m, high.astype(float))


def _ridge(m: Array) -> Array:
    return np.asarray((1e-6 * np.trace(m.T @ m) / m.shape[1] + 1e-300) * np.eye(m.shape[1]))
