"""Searches on a profile: the least epsilon for a delta, the least beta for an alpha.

Whatever point a search ends at, what is evaluated there is a valid bound, so a search that stops early is loose and
never wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from versadp.errors import ParameterError
from versadp.privacy.solving.roots import crossing

if TYPE_CHECKING:
    from versadp.privacy.profile import PrivacyProfile

Array = NDArray[np.float64]

_MANY = 16  # rates at once from which on the whole curve is looked at first
_MANY_KINKS = 100  # beyond this number only those close by are looked at
_FARTHEST = 1e12  # no search goes beyond this epsilon
_CLOSE = 1e-4  # a last step of Newton's method, in ε and in log false alarms, after which nothing is left to gain
_NEAR = 0.05  # one over which slopes are nearly linear


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
    short = profile._curve(high)[0] > wanted
    while (high[short] < last).any():
        high = np.where(short, np.minimum(4 * high, last), high)
        short = profile._curve(high)[0] > wanted
    if short.any() and np.isinf(profile.pure_epsilon):
        raise ParameterError(f"no epsilon below {_FARTHEST:g} holds at this delta", hint="ask for a larger delta")
    target = np.maximum(wanted, 1e-300)

    def above(eps: Array) -> Array:  # log of the ratio, which tells neighbouring floats apart
        return np.asarray(np.log(np.maximum(profile._curve(eps)[0], 1e-300) / target))

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
    kinks = profile._kinks
    if kinks.size or len(rates) > _MANY:
        eps = _bracketed(profile, rates)
    else:
        eps = _touch(profile, rates, np.zeros_like(rates), np.full_like(rates, np.nan), _CLOSE)[1]
        lost = np.isnan(eps)
        if lost.any():
            eps[lost] = _bracketed(profile, rates[lost])
    best = _line(eps, profile._signed(eps)[0], rates)
    if kinks.size > _MANY_KINKS:
        return np.maximum(best, _highest_beside(profile, kinks, rates, eps))
    return np.maximum(best, highest_line(profile, kinks, rates)) if kinks.size else best


def highest_line(profile: PrivacyProfile, kinks: Array, rates: Array) -> Array:
    """Return the highest of the lines `1 - delta(ε) - e^ε α` at given ε of either sign, rounded down.

    Parameters
    ----------
    profile : PrivacyProfile
        The guarantee.
    kinks : ndarray
        Epsilons, at least 0.
    rates : ndarray
        False alarms α, one-dimensional, in (0, 1).

    Returns
    -------
    ndarray

    Examples
    --------
    >>> from versadp.privacy import approx_dp
    >>> highest_line(approx_dp(1.0, 0.0), np.array([1.0]), np.array([0.1])).round(6)  # 1 - 0.1 e
    array([0.728172])
    """
    eps = np.append(kinks, -kinks)[:, None]
    return np.asarray(_line(eps, profile._signed(eps.ravel())[0][:, None], rates).max(axis=0))


def _highest_beside(profile: PrivacyProfile, kinks: Array, rates: Array, eps: Array) -> Array:
    """Return the highest line at the kinks next to where false alarms pass the rates: between two it is no higher."""
    every = np.unique(np.append(kinks, -kinks))
    right = np.searchsorted(every, eps)
    near = every[np.clip(right + np.arange(-2, 2)[:, None], 0, len(every) - 1)]
    return np.asarray(_line(near, profile._signed(near.ravel())[0].reshape(near.shape), rates).max(axis=0))


def _line(eps: Array, delta: Array, rates: Array) -> Array:
    with np.errstate(over="ignore"):
        fall = np.exp(eps) * rates * (1 + 4e-16 * (4 + np.abs(eps)))
    return np.asarray(1 - delta - fall - 4e-15)


def beta_from(profile: PrivacyProfile, rate: float, start: tuple[float, float]) -> tuple[float, tuple[float, float]]:
    """Return `beta` nearly, from a guess of where its line touches: for a search over many profiles alike.

    Parameters
    ----------
    profile : PrivacyProfile
        The guarantee.
    rate : float
        False alarms α, in (0, 1).
    start : tuple of float
        A guess at the ε of the line, and at the slope of the log of the false alarms there, NaN if there is none.

    Returns
    -------
    beta : float
        The slope of `1 - delta(ε) - e^ε α` is known and is nearly linear on the last step to its maximum, which is
        therefore not evaluated but added.
    start : tuple of float
        For the next profile.

    Examples
    --------
    >>> from versadp.privacy import gaussian
    >>> value, start = beta_from(gaussian(1.0), 0.05, (1.0, np.nan))
    >>> abs(value - gaussian(1.0).beta(0.05)) < 1e-5, abs(beta_from(gaussian(1.0), 0.05, start)[0] - value) < 1e-5
    (True, True)
    """
    if not profile._kinks.size:
        eps, slope = np.array(start)[:, None]
        value, eps, slope = _touch(profile, np.array([rate]), eps, slope, _NEAR)
        if np.isfinite(eps[0]):
            return float(value[0]), (float(eps[0]), float(slope[0]))
    return float(profile.beta(rate)), start


def _touch(profile: PrivacyProfile, rates: Array, eps: Array, slope: Array, near: float) -> Array:
    """Return `beta` as in `beta_from`, ε and slope, by Newton's method: NaN where they were not found."""
    eps, slope, found = eps.copy(), slope.copy(), np.full((3, len(rates)), np.nan)
    rest = np.arange(len(rates))
    for _ in range(20):
        at, rate = eps[rest], rates[rest]
        step = 1e-4 * np.maximum(np.abs(at), 0.01)
        fresh = bool(np.isnan(slope[rest]).any())
        delta, alarms = profile._signed(np.concatenate([at, at + step]) if fresh else at)
        logs = np.log(np.maximum(alarms, 5e-324))
        if fresh:
            slope[rest] = (logs[len(at) :] - logs[: len(at)]) / step
        delta, alarms, logs = delta[: len(at)], alarms[: len(at)], logs[: len(at)]
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = np.log(rate) - logs
            move = np.where(slope[rest] < 0, gap / slope[rest], np.nan)
        last = np.maximum(np.abs(move), np.abs(gap)) <= near
        value = 1 - delta + np.exp(at) * (0.5 * (alarms - rate) * move - rate)
        found[:, rest[last]] = value[last], (at + move)[last], slope[rest[last]]
        eps[rest] = at + np.clip(move, -0.5 - np.abs(at), 0.5 + np.abs(at))
        rest = rest[~last & np.isfinite(move)]
        slope[rest] = np.nan
        if not rest.size:
            break
    return found


def _bracketed(profile: PrivacyProfile, rates: Array) -> Array:
    """Return the ε at which false alarms pass the rates, by a search that jumps do not mislead."""
    target = np.log(rates)

    def above(eps: Array) -> Array:
        return np.asarray(np.log(np.maximum(profile._signed(eps)[1], 5e-324)) - target)

    # where the curve is smooth an error in ε enters squared
    return crossing(above, *_brackets(profile, rates), tolerance=1e-6)[0]


def _brackets(profile: PrivacyProfile, rates: Array) -> tuple[Array, Array]:
    """Return epsilons on either side of those whose tests have these false alarms."""
    if len(rates) > _MANY:  # one look at the whole curve serves all
        steps = np.logspace(-4, 3, 700)
        grid = np.concatenate([-steps[::-1], [0.0], steps])
        alarms = np.minimum.accumulate(profile._signed(grid)[1])
        right = np.clip(np.searchsorted(-alarms, -rates), 1, len(grid) - 1)
        return grid[right - 1], grid[right]
    low, high = -np.ones_like(rates), np.ones_like(rates)
    for _ in range(20):
        alarms = profile._signed(np.concatenate([low, high]))[1].reshape(2, -1)
        early, late = alarms[0] < rates, alarms[1] > rates
        low, high = np.where(early, 4 * low, low), np.where(late, 4 * high, high)
        if not (early.any() or late.any()):
            break
    return low, high
