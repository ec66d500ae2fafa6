"""The histogram of a column from its corrected distribution function, for any law of its values.

    share of [a, b) = S(b) - S(a),        S(b) the mean of what undoes a ramp around b, or a step below it

A ramp tells on which side of a border a value lies unless it is within half a ramp of it: there, values are counted in
part on either side. An even density loses as much as it gains. A heap on a border is seen by the mass near it,

    e = H(b) - (H(b - R) + H(b + R))/2,        H(b) = S(b + R/2) - S(b - R/2)

which is 0 for a density that is straight, and the heap's share for a heap: bands of both cells reach `max(e, 0)/2`
further.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.likelihood.histogram import Histogram

if TYPE_CHECKING:
    from versadp.describing.cumulative import Cumulative
    from versadp.inputs import Array

# cells of a histogram, at most and at least, and the largest standard error of a share relative to the mean share:
# cells are joined until it is met (docs/theory/describe.md)
CELLS, FEWEST_CELLS, MOST_ERROR = 32, 4, 1 / 3


def histogram(found: Cumulative, low: float, high: float) -> Histogram | None:
    """Return the shares of even cells between the bounds, or of all values if they are fewer.

    Parameters
    ----------
    found : Cumulative
        With a psi of its own; None is returned for one in cells.
    low, high : float
        The bounds.
    """
    if found.cells is not None:
        return None
    values = found.values
    if values is not None and values.size <= CELLS:
        borders = np.concatenate([[values[0]], (values[1:] + values[:-1]) / 2, [values[-1]]])
        return _cells(found, borders, 0.0)
    told = None
    for count in (CELLS, CELLS // 2, CELLS // 4, FEWEST_CELLS):
        borders = np.linspace(low, high, count + 1)
        told = _cells(found, borders, 0.0 if found.ramp is None or values is not None else (high - low) / count / 2)
        if np.sqrt(np.mean(told.error**2)) <= MOST_ERROR / count:
            break
    return told


def _cells(found: Cumulative, borders: Array, width: float) -> Histogram:
    """Return the shares of the cells between borders, with ramps of a width around them."""
    inner, size = borders[1:-1], borders.size - 1
    near = np.concatenate([inner + k * width / 2 for k in (-3, -1, 1, 3)]) if width else np.empty(0)
    psi = found.psi(np.append(inner, near), width)
    everybody = found.psi(np.array([np.inf]), width)
    below = np.concatenate([np.zeros_like(everybody), psi[:, : inner.size], everybody], axis=1)
    share, cov = found.means(np.diff(below, axis=1))
    kept = np.clip(_rising(np.append(0.0, np.cumsum(share))), 0.0, 1.0)  # no share is negative
    room = np.zeros(size)
    if width and inner.size:
        each = found.means(psi[:, inner.size :])[0].reshape(4, -1)
        excess = (each[2] - each[1]) - ((each[1] - each[0]) + (each[3] - each[2])) / 2
        beyond = np.maximum(excess, 0.0) / 2
        room = np.append(0.0, beyond) + np.append(beyond, 0.0)
    return Histogram(borders[:-1], borders[1:], np.diff(kept), cov, room)


def _rising(score: Array) -> Array:
    """Return the nearest rising curve."""
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(score).x)
