"""Searches on a profile: the least epsilon for a delta, the least beta for an alpha.

Whatever point a search ends at, what is evaluated there is a valid bound, so a search that stops early is loose and
never wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from versadp.errors import ParameterError
from versadp.privacy.roots import crossing

if TYPE_CHECKING:
    from versadp.privacy.profile import PrivacyProfile

Array = NDArray[np.float64]

_MANY = 16  # rates at once from which on the whole curve is looked at first
_FARTHEST = 1e12  # no search goes beyond this epsilon


def least_epsilon(profile: PrivacyProfile, wanted: Array) -> Array:
    """Return the least epsilons at which delta is not above what is wanted.

    Parameters
    ----------
    profile : PrivacyProfile
        The guarantee.
    wanted : ndarray
        One-dimensional; above the floor, or at it where `pure_epsilon` is finite.

    Returns
    -------
    ndarray
        The upper ends of the final brackets, which are safe.

    Examples
    --------
    >>> from versadp.privacy import gaussian
    >>> least_epsilon(gaussian(1.0), np.array([1e-5])).round(4)
    array([4.3772])
    """
    last = min(profile.pure_epsilon, _FARTHEST)
    high = np.full(wanted.shape, min(1.0, last))
    short = profile._curve(high)[0] > wanted  # noqa: SLF001
    while (high[short] < last).any():
        high = np.where(short, np.minimum(4 * high, last), high)
        short = profile._curve(high)[0] > wanted  # noqa: SLF001
    if short.any() and np.isinf(profile.pure_epsilon):
        raise ParameterError(f"no epsilon below {_FARTHEST:g} holds at this delta", hint="ask for a larger delta")
    target = np.maximum(wanted, 1e-300)

    def above(eps: Array) -> Array:  # log of the ratio, which tells neighbouring floats apart
        return np.asarray(np.log(np.maximum(profile._curve(eps)[0], 1e-300) / target))  # noqa: SLF001

    return crossing(above, np.zeros_like(high), high)[1]


def least_beta(profile: PrivacyProfile, rates: Array) -> Array:
    """Return `sup_ε 1 - delta(ε) - e^ε α`: the ε is where the false alarms `P(L > ε)` pass α.

    Parameters
    ----------
    profile : PrivacyProfile
        The guarantee.
    rates : ndarray
        False alarms α, one-dimensional, in (0, 1).

    Returns
    -------
    ndarray
        Rounded down; may be below 0 by rounding.

    Examples
    --------
    >>> from versadp.privacy import gaussian
    >>> least_beta(gaussian(1.0), np.array([0.05])).round(6)
    array([0.740489])
    """
    target = np.log(rates)

    def above(eps: Array) -> Array:
        return np.asarray(np.log(np.maximum(profile._signed(eps)[1], 5e-324)) - target)  # noqa: SLF001

    # where the curve is smooth an error in ε enters squared
    tolerance = 1e-14 if profile._kinked else 1e-5  # noqa: SLF001
    ends = np.stack(crossing(above, *_brackets(profile, rates), tolerance=tolerance))
    delta = profile._signed(ends.ravel())[0].reshape(ends.shape)  # noqa: SLF001
    with np.errstate(over="ignore"):
        values = 1 - delta - np.exp(ends + target)
    return np.asarray(values.max(axis=0) - 4e-15 * (1 + np.abs(ends[1]) * rates))


def _brackets(profile: PrivacyProfile, rates: Array) -> tuple[Array, Array]:
    """Return epsilons on either side of those whose tests have these false alarms."""
    if len(rates) > _MANY:  # one look at the whole curve serves all
        steps = np.logspace(-4, 3, 700)
        grid = np.concatenate([-steps[::-1], [0.0], steps])
        alarms = np.minimum.accumulate(profile._signed(grid)[1])  # noqa: SLF001
        right = np.clip(np.searchsorted(-alarms, -rates), 1, len(grid) - 1)
        return grid[right - 1], grid[right]
    low, high = -np.ones_like(rates), np.ones_like(rates)
    for _ in range(20):
        alarms = profile._signed(np.concatenate([low, high]))[1].reshape(2, -1)  # noqa: SLF001
        early, late = alarms[0] < rates, alarms[1] > rates
        low, high = np.where(early, 4 * low, low), np.where(late, 4 * high, high)
        if not (early.any() or late.any()):
            break
    return low, high
