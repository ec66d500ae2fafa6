"""Where to start, and how much to smooth: both from the records inside the box.

A plain fit on the records that lie in the box (the least noisy ones, mostly) is attenuated, but it is in the basin of
the right minimum.

**Bandwidth** of kinked losses: `h = c s ((p + log m)/m)^0.4`, at most 2 s, with m the records in the box, s the scale
of their residuals, c = 4 (0.25/(tau (1 - tau)))^0.4 for check and c = 6, s = 1 for hinge. The kernel is of fourth
order, so the bias is O(h^4); `docs/efficient.md` compares it with the standard error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.losses import Check, Hinge, Logistic, Poisson

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction import Batch, CustomModel, IndexModel, Units

    Array = NDArray[np.float64]

DESCENT_ROWS = 20_000


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


def descend(model: CustomModel, units: Units, batch: Batch, begin: Array) -> tuple[Array, Array]:
    """Return where a plain fit of a user's loss ends that starts where the user says, and each coefficient's scale.

    The loss need not be convex there. The scale is the standard deviation of a record's influence on the coefficient.
    """
    from scipy.optimize import minimize

    index = _nearest(units, batch, 20 * model.size)[:DESCENT_ROWS]
    chosen = batch.take(index)
    x = model.rows(units.clip(chosen.z), np.arange(index.size), chosen)

    def mean(theta: Array) -> tuple[float, Array]:
        return float(model.loss.value(x, theta).mean()), model.loss.gradient(x, theta).mean(axis=0)

    found = minimize(mean, begin, jac=True, method="BFGS", options={"maxiter": 200})
    theta = np.asarray(found.x) if np.isfinite(found.x).all() and np.isfinite(found.fun) else begin
    scale = (model.loss.gradient(x, theta) @ np.asarray(found.hess_inv)).std(axis=0)
    usual = np.maximum(np.abs(theta), 1.0)
    return theta, np.where(np.isfinite(scale) & (scale > 0), scale, usual)


def start(model: IndexModel, units: Units, batch: Batch) -> Array:
    """Return the plain fit of the records nearest to the box."""
    m, y = nearest_rows(model, units, batch)
    loss = model.loss
    ridge = 1e-6 * np.trace(m.T @ m) / max(m.size, 1) * np.eye(model.size) * len(m) + 1e-300 * np.eye(model.size)
    if isinstance(loss, Logistic | Poisson | Hinge):
        return _newton(loss, m, y, ridge)
    theta = np.linalg.solve(m.T @ m + ridge, m.T @ y)
    constant = np.flatnonzero((m == m[:1]).all(axis=0) & (m[0] != 0))
    if isinstance(loss, Check) and constant.size:
        theta[constant[0]] += np.quantile(y - m @ theta, loss.tau) / m[0, constant[0]]
    return np.asarray(theta)


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


def bandwidth(model: IndexModel, units: Units, batch: Batch, *, factor: float = 1.0) -> float:
    """Return the smoothing of a kinked loss, 0 for the others."""
    loss = model.loss
    if not loss.kinked:
        return 0.0
    m, y = nearest_rows(model, units, batch)
    rate = ((model.size + np.log(len(y))) / len(y)) ** 0.4
    if not isinstance(loss, Check):
        return float(factor * min(2.0, 6.0 * rate))
    residual = y - m @ np.linalg.lstsq(m, y, rcond=None)[0]
    quartiles = np.quantile(residual, [0.25, 0.75])
    spread = min(float(residual.std()), float(quartiles[1] - quartiles[0]) / 1.349) or float(residual.std())
    wide = 4.0 * rate * (0.25 / (loss.tau * (1 - loss.tau))) ** 0.4
    return float(factor * max(1e-9, spread * min(2.0, wide)))
