"""Table 2: logistic regression, each of the paper's losses minimised over a box for theta.

With u = x'theta, l(u, y) = (1 - y) u + log(1 + e^-u), s = 1/(1 + e^-u) and the Laplacian of l in x |theta|² s'(u):

    SL   l(X2) - (lambda²/2) |theta|² s'(X2'theta)
    sDR  l(X1) - ((1 - delta) lambda²/2) |theta|² s'(X2'theta)
    DR   (1/delta) l(X1) + (1 - 1/delta) l(X2)

The corrected losses need not be convex, nor bounded below: what is reported is the minimum that a bounded quasi-Newton
method reaches from 0. `versadp.fit` has no box; the two agree where the box does not bind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versadp_experiments.cells import Cell
    from versadp_experiments.sampling import Sample

    Array = NDArray[np.float64]
    Loss = Callable[[Array], tuple[float, Array]]


def plain(x: Array, y: Array) -> Loss:
    """Return the mean logistic loss with its gradient."""

    def loss(theta: Array) -> tuple[float, Array]:
        u = x @ theta
        value = float(((1 - y) * u + np.logaddexp(0.0, -u)).mean())
        return value, x.T @ (expit(u) - y) / len(y)

    return loss


def curvature(x: Array) -> Loss:
    """Return half the mean Laplacian of the loss in x, with its gradient."""

    def loss(theta: Array) -> tuple[float, Array]:
        s = expit(x @ theta)
        first = s * (1 - s)
        mean, square = float(first.mean()), float(theta @ theta)
        slope = x.T @ (first * (1 - 2 * s)) / len(s)
        return square * mean / 2, theta * mean + square / 2 * slope

    return loss


def combined(first: Loss, second: Loss, a: float, b: float) -> Loss:
    """Return a times one loss plus b times another."""

    def loss(theta: Array) -> tuple[float, Array]:
        f, g = first(theta), second(theta)
        return a * f[0] + b * g[0], a * f[1] + b * g[1]

    return loss


def losses(cell: Cell, sample: Sample) -> dict[str, Loss]:
    """Return the paper's losses of one data set."""
    rate, square = cell.exact_rate, cell.noise**2
    at1, at2, bend = plain(sample.x1, sample.y), plain(sample.x2, sample.y), curvature(sample.x2)
    return {
        "Oracle": plain(sample.x, sample.y),
        "Naive": at1,
        "SL": combined(at2, bend, 1.0, -square),
        "sDR": combined(at1, bend, 1.0, -(1 - rate) * square),
        "DR": combined(at1, at2, 1 / rate, 1 - 1 / rate),
    }


def boxed(loss: Loss, start: Array, box: tuple[float, float] | None) -> Array:
    """Minimise in a box, or freely, from a start."""
    bounds = None if box is None else [box] * start.size
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x)


def estimates(cell: Cell, sample: Sample) -> dict[str, list[float]]:
    """Return the coefficients by each of the paper's methods."""
    start = np.zeros(sample.x.shape[1])
    return {name: boxed(loss, start, cell.box).tolist() for name, loss in losses(cell, sample).items()}
