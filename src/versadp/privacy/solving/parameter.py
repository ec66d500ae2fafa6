"""From a target to a parameter: the largest shift, or any other parameter, that still meets it.

Profiles get worse as the parameter grows, so there is one crossing, and the end of its bracket that meets the target
by the very profile that will be reported is the answer: what was solved for is never contradicted by what is printed.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from versadp import inputs
from versadp.errors import InfeasibleError
from versadp.privacy.curves.laplace import symmetric_laplace
from versadp.privacy.layers.inflation import zero_inflated
from versadp.privacy.layers.slack import with_slack
from versadp.privacy.solving.roots import crossing
from versadp.privacy.solving.searches import beta_from
from versadp.privacy.target import Target, nearest, target

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.privacy.profile import PrivacyProfile

Array = NDArray[np.float64]

_ROOT2 = float(np.sqrt(2.0))
_ROUGH = 1e-4  # searches to less than this are for guesses, and need no second look


def solve_parameter(
    profile_of: Callable[[float], PrivacyProfile],
    goal: Target,
    low: float,
    high: float,
    *,
    tolerance: float = 1e-12,
    near: float | None = None,
    within: float = 0.01,
) -> float:
    """Return the largest parameter in [low, high] whose profile meets a target.

    Parameters
    ----------
    profile_of : callable
        Parameter to profile; the profile gets worse as the parameter grows.
    goal : Target
        From `target`.
    low, high : float
        Positive; where to look. The search is in the logarithm.
    tolerance : float
        Relative width of the final bracket, of which the safe end is returned.
    near : float, optional
        A guess at the answer, which saves time if it is good.
    within : float
        How good it is thought to be, relatively.

    Returns
    -------
    float

    Raises
    ------
    InfeasibleError
        If not even `low` meets the target; the message says what `low` gives.

    Examples
    --------
    A record of three numbers and a category; both share one knob.

    >>> from versadp.privacy import compose, randomized_response
    >>> def record(shift):
    ...     return compose(symmetric_laplace(3, shift), randomized_response(4, shift / (4 + shift)))
    >>> shift = solve_parameter(record, target(1.0, 0.1), 1e-3, 10.0)
    >>> round(shift, 4), record(shift).delta(1.0) <= 0.1
    (0.6023, True)
    """
    low = inputs.number("low", low, 0.0, np.inf, open_low=True, open_high=True)
    high = inputs.number("high", high, low, np.inf, open_high=True)
    answer = search_parameter(profile_of, goal, low, high, tolerance=tolerance, near=near, within=within)
    step = tolerance / 64
    while answer > low and goal.room(profile_of(answer)) < 0:  # the search was a little off
        answer, step = max(answer * (1 - step), low), 2 * step
    return answer


def search_parameter(
    profile_of: Callable[[float], PrivacyProfile],
    goal: Target,
    low: float,
    high: float,
    *,
    tolerance: float,
    near: float | None = None,
    within: float = 0.01,
) -> float:
    """Return what `solve_parameter` does, unchecked: to (alpha, beta) targets it may be a little off.

    Examples
    --------
    >>> from versadp.privacy import gaussian
    >>> round(search_parameter(gaussian, target(alpha=0.05, beta=0.74), 0.1, 10.0, tolerance=1e-6), 4)
    1.0015
    """
    search = partial(_search, profile_of, low=low, high=high, tolerance=tolerance, within=within)
    quick = _QuickRoom(goal.alpha, goal.beta) if goal.alpha is not None and goal.beta else None
    answer = search(quick or goal.room, near=near)
    if quick and answer is not None and tolerance < _ROUGH and quick.is_off(profile_of(answer), tolerance):
        answer = search(goal.room, near=answer)
    if answer is None:
        raise InfeasibleError(f"{goal} cannot be met", hint=f"nearest that can: {nearest(profile_of(low), goal)}")
    return answer


class _QuickRoom:
    """`Target.room` for (alpha, beta), nearly: every profile's line is looked for where the last one's touched."""

    def __init__(self, alpha: float, beta: float) -> None:
        self.alpha, self.beta = alpha, beta
        self.start = 0.5 * float(np.log(beta / alpha)), np.nan

    def __call__(self, profile: PrivacyProfile) -> float:
        found, self.start = beta_from(profile, self.alpha, self.start)
        return found - self.beta

    def is_off(self, profile: PrivacyProfile, tolerance: float) -> bool:
        """Return True if a profile evaluated anew gives something else."""
        before = self(profile)
        self.start = self.start[0], np.nan
        return abs(self(profile) - before) > 0.1 * tolerance


def _search(
    profile_of: Callable[[float], PrivacyProfile],
    room_of: Callable[[PrivacyProfile], float],
    *,
    low: float,
    high: float,
    tolerance: float,
    near: float | None,
    within: float,
) -> float | None:
    """Return the largest parameter with room, None if there is none."""
    ends = {float(np.log(low)): low, float(np.log(high)): high}

    @cache
    def room(log: float) -> float:
        return room_of(profile_of(ends.get(log) or float(np.exp(log))))

    def above(logs: Array) -> Array:  # meeting the target just so counts as meeting it
        return np.array([room(float(log)) or 1e-300 for log in logs])

    left, right = _around(room, min(ends), max(ends), near, within)
    if room(right) >= 0:
        return high
    if room(left) < 0:
        return None
    log = float(crossing(above, np.array([left]), np.array([right]), tolerance=tolerance)[0][0])
    return ends.get(log) or float(np.exp(log))


def _around(
    room: Callable[[float], float], low: float, high: float, near: float | None, within: float
) -> tuple[float, float]:
    """Return logs in [low, high] on either side of the crossing, close to a guess if that is good."""
    if near is None:
        return low, high
    guess, span = min(max(float(np.log(near)), low), high), within
    left, right = max(guess - span, low), min(guess + span, high)
    while left > low and room(left) < 0:
        span *= 8
        left, right = max(left - span, low), left
    while right < high and room(right) >= 0:
        span *= 8
        left, right = right, min(right + span, high)
    return left, right


def solve_shift(
    dim: int,
    epsilon: float | None = None,
    delta: float | None = None,
    exact_rate: float = 0.0,
    *,
    advantage: float | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    tv: float = 0.0,
) -> float:
    """Return the largest shift, hence the least noise, with which ZIL noise meets a target by its exact curve.

    Parameters
    ----------
    dim : int
        Number of noisy columns in the block.
    epsilon, delta : float, optional
        Target as a pair.
    exact_rate : float
        Share of records released unchanged.
    advantage : float, optional
        Target as the attacker's advantage.
    alpha, beta : float, optional
        Target as a miss rate at given false alarms.
    tv : float
        Total variation error of the sampler to charge, as in `with_slack`.

    Returns
    -------
    float

    Raises
    ------
    InfeasibleError
        With the nearest target that can be met.

    Examples
    --------
    The paper's example, which its limit would give 0.5025:

    >>> [round(solve_shift(d, 0.8, 0.17, 0.05), 6) for d in (1, 2, 6)]
    [0.756656, 0.679921, 0.574393]
    """
    dim = inputs.whole("dim", dim, 1)
    rate = inputs.number("exact_rate", exact_rate, 0.0, 1.0, open_high=True)
    goal = target(epsilon, delta, advantage=advantage, alpha=alpha, beta=beta)

    def profile_of(shift: float) -> PrivacyProfile:
        return with_slack(zero_inflated(symmetric_laplace(dim, shift), rate), tv)

    low, high = shift_bounds(goal, rate, dim)
    if tv:
        low = min(low, 1e-9)  # the slack may leave room for hardly any shift
    return solve_parameter(profile_of, goal, low, high, tolerance=1e-9 if goal.alpha is not None else 1e-12)


def shift_bounds(goal: Target, rate: float, dim: int) -> tuple[float, float]:
    """Bracket the shift at which ZIL noise meets a target: the limit in dim asks for less, dim 1 allows more.

    Parameters
    ----------
    goal : Target
        From `target`.
    rate : float
        Share of records released unchanged.
    dim : int
        Number of noisy columns in the block.

    Returns
    -------
    low, high : float

    Raises
    ------
    InfeasibleError
        If the share is more than the target allows.

    Examples
    --------
    >>> low, high = shift_bounds(target(0.8, 0.17), 0.05, 6)
    >>> round(low, 4), round(high, 4)
    (0.5025, 0.7567)
    """
    if goal.alpha is not None:
        by_limit, by_laplace = _attack_bounds(goal, rate)
    else:
        by_limit, by_laplace = _pair_bounds(goal, rate, dim)
    if dim == 1:
        by_limit = by_laplace * (1 - 1e-9)
    return max(by_limit, 1e-290) * (1 - 1e-6), by_laplace * (1 + 1e-12)


def _pair_bounds(goal: Target, rate: float, dim: int) -> tuple[float, float]:
    allowed = goal.advantage if goal.advantage is not None else goal.delta
    epsilon = goal.epsilon or 0.0
    assert allowed is not None
    rest = (allowed - rate) / (1 - rate)
    if rest < 0 or (rest == 0 and (dim > 1 or epsilon == 0)):
        what = "advantage" if goal.advantage is not None else "delta"
        raise InfeasibleError(
            f"{goal} cannot be met with exact_rate {rate:g}: {what} has its floor there",
            hint=f"nearest that can: {what} above {rate:g}, or an exact_rate below {allowed:g}",
        )
    kappa = -float(np.log1p(-rest))
    return float(np.sqrt(2 * kappa * (epsilon + kappa))), (epsilon + 2 * kappa) / _ROOT2


def _attack_bounds(goal: Target, rate: float) -> tuple[float, float]:
    """Maximise the shifts of `_pair_bounds` over the pairs (ε, 1 - b - a e^ε): to meet (a, b) is to meet one of them.

    Pairs of neighbours are symmetric, so a and b may be exchanged; with a <= b the ε are not negative. With
    `κ = -log(b + a e^ε) >= 0` and p the share of `a e^ε` in that sum, `ε + 2κ` is largest at p = 1/2, or at κ = 0 if
    that comes first, and `κ (ε + κ)` where ``κ = p (ε + 2κ)``, which is before either.
    """
    assert goal.alpha is not None
    assert goal.beta is not None
    if goal.beta >= 1 - rate - goal.alpha:
        most = 1 - rate - goal.alpha
        raise InfeasibleError(
            f"{goal} cannot be met with exact_rate {rate:g}",
            hint=f"nearest that can: a beta below {max(most, 0):g} at this alpha",
        )
    a, b = (max(v / (1 - rate), 1e-290) for v in sorted((goal.alpha, goal.beta)))

    def falls(eps: Array) -> Array:
        kappa, p = -np.log(b + a * np.exp(eps)), 1 / (1 + b / a * np.exp(-eps))
        return np.asarray(kappa - p * (eps + 2 * kappa))

    last = float(np.log(min(b, 1 - b) / a))
    eps = float(crossing(falls, np.zeros(1), np.array([last]))[0][0])
    kappa, last_kappa = (-float(np.log(b + a * np.exp(e))) for e in (eps, last))
    return float(np.sqrt(2 * kappa * (eps + kappa))), (last + 2 * max(last_kappa, 0.0)) / _ROOT2
