"""Roots of decreasing functions: many brackets at once, both ends kept.

The ITP method (Oliveira and Takahashi): interpolate, truncate toward the middle, project into the range that keeps
bisection's worst case. Both ends of the bracket are returned, because callers want the end on the safe side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

Array = NDArray[np.float64]


def crossing(
    function: Callable[[Array], Array], low: Array, high: Array, *, tolerance: float = 1e-13
) -> tuple[Array, Array]:
    """Shrink brackets of a decreasing function around its zeros.

    Parameters
    ----------
    function : callable
        Takes and returns arrays; decreasing; may jump.
    low, high : ndarray
        Ends of the brackets. Where the function is not above 0 at `low`, both ends come back as `low`.
    tolerance : float
        Final width, relative to `max(|high|, 1e-3)`.

    Returns
    -------
    low, high : ndarray
        The function is above 0 at the first and at or below 0 at the second, as given.

    Examples
    --------
    >>> low, high = crossing(lambda x: 2 - x * x, np.array([0.0]), np.array([4.0]))
    >>> bool(low[0] <= 2**0.5 <= high[0]), bool(high[0] - low[0] < 1e-12)
    (True, True)
    """
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    at_low, at_high = function(low), function(high)
    high = np.where(at_low <= 0, low, high)
    width = tolerance * np.maximum(np.abs(high), 1e-3)
    halvings = np.ceil(np.log2(np.maximum((high - low) / width, 1))) + 1
    pull = 0.2 / np.maximum(high - low, 1e-300)
    for step in range(int(halvings.max(initial=0)) + 1):
        if np.all(high - low <= width):
            break
        middle = 0.5 * (low + high)
        slack = np.maximum(0.5 * width * 2.0 ** np.minimum(halvings - step, 1000) - 0.5 * (high - low), 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            secant = (at_high * low - at_low * high) / (at_high - at_low)
        secant = np.where(np.isfinite(secant), secant, middle)
        toward = np.sign(middle - secant)
        nudge = np.minimum(np.maximum(pull * (high - low) ** 2, 0.25 * width), np.abs(middle - secant))
        trial = secant + toward * nudge
        trial = np.where(np.abs(trial - middle) <= slack, trial, middle - toward * slack)
        trial = np.clip(trial, low, high)
        value = function(trial)
        above = value > 0
        low, at_low = np.where(above, trial, low), np.where(above, value, at_low)
        high, at_high = np.where(above, high, trial), np.where(above, at_high, value)
    return low, high
