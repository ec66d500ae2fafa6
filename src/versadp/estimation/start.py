"""Starting values and bandwidths: the loss states both, from the records inside the box.

A plain fit on the records that lie in the box (the least noisy ones, mostly) is attenuated, but it is in the basin of
the right minimum. A fit of a kinked loss that fails is tried with twice the bandwidth.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.estimation.sizes import PART_ROWS
from versadp.losses.differentiation import differences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction import CustomModel, IndexModel, Records
    from versadp.noise.units import Units

    Array = NDArray[np.float64]


def _nearest(units: Units, records: Records, least: int) -> NDArray[np.int64]:
    """Return the positions of the records in the box; at least the `least` nearest."""
    q = units.distance2(records.z)
    count = min(records.rows, max(int((q == 0).sum()), least))
    return np.sort(np.argpartition(q, count - 1)[:count]) if count < records.rows else np.arange(records.rows)


def nearest_rows(model: IndexModel, units: Units, records: Records) -> tuple[Array, Array]:
    """Return design and response of the records in the box, clipped; at least the 20 p nearest."""
    index = _nearest(units, records, 20 * model.size)
    chosen = records.take(index)
    m, y = model.rows(units.clip(chosen.z), np.arange(index.size), chosen)
    finite = np.isfinite(m).all(axis=1) & np.isfinite(y)
    return m[finite], y[finite]


def descend(model: CustomModel, units: Units, records: Records, begin: Array) -> Array:
    """Return where a plain fit of a user's loss ends that starts where the user says; it need not be convex there."""
    from scipy.optimize import minimize

    x, unit = _some_rows(model, units, records), influence_scale(model, units, records, begin)

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


def influence_scale(model: CustomModel, units: Units, records: Records, theta: Array) -> Array:
    """Return the standard deviation of a record's influence on each coefficient of a user's loss: its unit."""
    x = _some_rows(model, units, records)
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


def _some_rows(model: CustomModel, units: Units, records: Records) -> Array:
    """Return some of the records in the box, at random: files are often sorted."""
    index = _nearest(units, records, 20 * model.size)
    if index.size > PART_ROWS:
        index = np.random.default_rng(0).choice(index, PART_ROWS, replace=False)
    chosen = records.take(index)
    return model.rows(units.clip(chosen.z), np.arange(index.size), chosen)


def start(model: IndexModel, units: Units, records: Records) -> Array:
    """Return the plain fit of the records nearest to the box, as the loss makes it."""
    return model.loss.start(*nearest_rows(model, units, records))


def bandwidths(model: IndexModel, units: Units, records: Records, *, factor: float = 1.0) -> tuple[float, float]:
    """Return the smoothing of a kinked loss and of its curvature, as the loss says; 0 for other losses."""
    if not model.loss.kinked:
        return 0.0, 0.0
    return model.loss.bandwidths(*nearest_rows(model, units, records), factor)
