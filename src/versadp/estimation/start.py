"""Where to start, and how much to smooth: both from the records inside the box.

A plain fit on the records that lie in the box (the least noisy ones, mostly) is attenuated, but it is in the basin of
the right minimum.

**Bandwidth** of kinked losses: `h = c s ((p + log m)/m)^0.4`, at most 2 s, with m the records in the box, s the scale
of their residuals, c = 4 (0.25/(tau (1 - tau)))^0.4 for check and c = 6, s = 1 for hinge. The kernel is of fourth
order, so the bias is O(h^4); `docs/efficient.md` compares it with the standard error. Curvature, which is noisier, is
smoothed by 1.5 h; where that exceeds 1.5 s, by 1.5 s or h, whichever is more. A fit that fails is tried with twice h.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.losses import Check, Hinge, Huber, Logistic, Poisson
from versadp.losses.record import differences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction import Batch, CustomModel, IndexModel, Units

    Array = NDArray[np.float64]

DESCENT_ROWS = 20_000
WIDER = 1.5


def _nearest(units: Units, batch: Batch, least: int) -> NDArray[np.int64]:
    """Return which records are in the box; at least so many of the nearest."""
    q = units.distance2(batch.z)
    count = min(batch.rows, max(int((q == 0).sum()), least))
    return np.sort(np.argpartition(q, count - 1)[:count]) if count < batch.rows else np.arange(batch.rows)


def nearest_rows(model: IndexModel, units: Units, batch: Batch) -> tuple[Array, Array]:
    """Return design and response of the records in the box, clipped; at least the 20 p nearest."""
    index = _nearest(units, batch, 20 * model.size)
    chosen = batch.take(index)
    m, y = model.rows(units.clip(chosen.z), np.arange(index.size), chosen)
    finite = np.isfinite(m).all(axis=1) & np.isfinite(y)
    return m[finite], y[finite]


def descend(model: CustomModel, units: Units, batch: Batch, begin: Array) -> Array:
    """Return where a plain fit of a user's loss ends that starts where the user says; it need not be convex there."""
    from scipy.optimize import minimize

    x, unit = _some_rows(model, units, batch), influence_scale(model, units, batch, begin)

    def mean(move: Array) -> tuple[float, Array]:
        theta = begin + unit * move
        try:
            with np.errstate(all="ignore"):
                return float(model.loss.value(x, theta).mean()), unit * model.loss.gradient(x, theta).mean(axis=0)
        except ParameterError:  # not finite: a step that was too long
            return np.inf, np.zeros_like(move)

    here = np.zeros_like(begin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a search that met a value that is not finite
        found = minimize(mean, here, jac=True, method="BFGS", options={"maxiter": 200})
    return begin + unit * found.x if np.isfinite(found.x).all() and found.fun < mean(here)[0] else begin


def influence_scale(model: CustomModel, units: Units, batch: Batch, theta: Array) -> Array:
    """Return the standard deviation of a record's influence on each coefficient of a user's loss: its unit."""
    x = _some_rows(model, units, batch)
    usual = np.maximum(np.abs(theta), 1.0)
    scale, steps = usual, 1e-4 * usual
    for _ in range(3):  # curvature first over a guess of a step, then over one that fits
        try:
            with np.errstate(all="ignore"):
                bend = differences(lambda t: model.loss.gradient(x, t).mean(axis=0), theta, steps)
                scale = (model.loss.gradient(x, theta) @ np.linalg.inv((bend + bend.T) / 2)).std(axis=0)
        except (ParameterError, np.linalg.LinAlgError):
            return usual
        # where a loss is flat no step would be wide enough
        scale = np.where(np.isfinite(scale) & (scale > 0), np.minimum(scale, 100 * usual), usual)
        steps = 0.1 * scale
    return scale


def _some_rows(model: CustomModel, units: Units, batch: Batch) -> Array:
    """Return some of the records in the box, at random: files are often sorted."""
    index = _nearest(units, batch, 20 * model.size)
    if index.size > DESCENT_ROWS:
        index = np.random.default_rng(0).choice(index, DESCENT_ROWS, replace=False)
    chosen = batch.take(index)
    return model.rows(units.clip(chosen.z), np.arange(index.size), chosen)


def start(model: IndexModel, units: Units, batch: Batch) -> Array:
    """Return the plain fit of the records nearest to the box."""
    m, y = nearest_rows(model, units, batch)
    loss = model.loss
    ridge = _ridge(m)
    if isinstance(loss, Logistic | Poisson | Hinge):
        return _newton(loss, m, y, ridge)
    theta = _robust(m, y) if isinstance(loss, Check | Huber) else np.linalg.solve(m.T @ m + ridge, m.T @ y)
    constant = np.flatnonzero((m == m[:1]).all(axis=0) & (m[0] != 0))
    if isinstance(loss, Check) and constant.size:
        theta[constant[0]] += np.quantile(y - m @ theta, loss.tau) / m[0, constant[0]]
    return np.asarray(theta)


def _ridge(m: Array) -> Array:
    return np.asarray((1e-6 * np.trace(m.T @ m) / m.shape[1] + 1e-300) * np.eye(m.shape[1]))


def _robust(m: Array, y: Array) -> Array:
    """Fit least squares, or least absolute deviations if outliers tilt it: losses that start here do not mind them."""
    ridge = _ridge(m)
    theta = np.linalg.solve(m.T @ m + ridge, m.T @ y)
    residual = y - m @ theta
    if np.std(residual) <= 10 * np.abs(residual).mean():  # an outlier among n makes this ratio about the root of n
        return np.asarray(theta)
    for _ in range(25):  # reweighted least squares
        size = np.abs(y - m @ theta)
        weight = 1 / (np.maximum(size, 1e-3 * np.median(size)) + 1e-9 * size.mean() + 1e-300)
        weighted = m * (weight / weight.mean())[:, None]
        theta = np.linalg.solve(weighted.T @ m + ridge, weighted.T @ y)
    return np.asarray(theta)


def _spread(residual: Array) -> float:
    """Return the scale of residuals by their quartiles, or further out if most residuals are nearly the same."""
    shares, widths = np.array([0.25, 0.1, 0.05, 0.01]), np.array([1.349, 2.563, 3.290, 4.653])
    ranges = np.quantile(residual, 1 - shares) - np.quantile(residual, shares)
    enough = np.flatnonzero(ranges > 1e-3 * ranges[-1])
    return float((ranges / widths)[enough[0]]) if enough.size else float(residual.std())


def _newton(loss: Logistic | Poisson | Hinge, m: Array, y: Array, ridge: Array) -> Array:
    """Fit a convex loss by damped Newton; hinge starts from a logistic fit."""
    smooth = Logistic() if isinstance(loss, Hinge) else loss
    target = (y + 1) / 2 if isinstance(loss, Hinge) else y
    theta = np.zeros(m.shape[1])
    for _ in range(25):
        s, s1 = smooth.derivatives(m @ theta, target, 2)
        direction = -np.linalg.solve(m.T @ (m * s1[:, None]) + ridge, m.T @ s)
        theta = theta + direction / max(1.0, float(np.abs(m @ direction).max()) / 4.0)
        if float(np.abs(m @ direction).max()) < 1e-3:
            break
    return theta


def bandwidths(model: IndexModel, units: Units, batch: Batch, *, factor: float = 1.0) -> tuple[float, float]:
    """Return the smoothing of a kinked loss and of its curvature, 0 for other losses."""
    loss = model.loss
    if not loss.kinked:
        return 0.0, 0.0
    m, y = nearest_rows(model, units, batch)
    rate = ((model.size + np.log(len(y))) / len(y)) ** 0.4
    if isinstance(loss, Check):
        residual = y - m @ _robust(m, y)
        spread = min(float(residual.std()), _spread(residual))
        wide = 4.0 * rate * (0.25 / (loss.tau * (1 - loss.tau))) ** 0.4
    else:
        spread, wide = 1.0, 6.0 * rate
    h = max(1e-9, factor * spread * min(2.0, wide))
    return float(h), float(max(h, min(WIDER * h, WIDER * spread)))
