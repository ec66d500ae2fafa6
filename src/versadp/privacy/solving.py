"""From a target to a parameter: the largest shift, or any other parameter, that still meets it.

Profiles get worse as the parameter grows, so there is one crossing, and the end of its bracket that meets the target
by the very profile that will be reported is the answer: what was solved for is never contradicted by what is printed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from versadp.errors import InfeasibleError
from versadp.privacy import inputs
from versadp.privacy.inflation import zero_inflated
from versadp.privacy.laplace import symmetric_laplace, symmetric_laplace_limit
from versadp.privacy.roots import crossing
from versadp.privacy.slack import with_slack
from versadp.privacy.target import Target, nearest, target

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.privacy.profile import PrivacyProfile

Array = NDArray[np.float64]

_ROOT2 = float(np.sqrt(2.0))


def solve_parameter(
    profile_of: Callable[[float], PrivacyProfile],
    goal: Target,
    low: float,
    high: float,
    *,
    tolerance: float = 1e-12,
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
    if goal.room(profile_of(high)) >= 0:
        return high
    first = profile_of(low)
    if goal.room(first) < 0:
        raise InfeasibleError(f"{goal} cannot be met", hint=f"nearest that can: {nearest(first, goal)}")

    def above(logs: Array) -> Array:  # meeting the target just so counts as meeting it
        return np.array([goal.room(profile_of(float(np.exp(v)))) or 1e-300 for v in logs])

    ends = crossing(above, np.log([low]), np.log([high]), tolerance=tolerance)
    answer = float(np.exp(ends[0][0]))
    step = 2.0**-52
    while goal.room(profile_of(answer)) < 0 and answer > low:  # exp may have rounded to the wrong side
        answer *= 1 - step
        step *= 2
    return max(answer, low)


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

    low, high = _shift_bounds(goal, rate, dim)
    if tv:
        low = min(low, 1e-9)  # the slack may leave room for hardly any shift
    return solve_parameter(profile_of, goal, low, high, tolerance=1e-9 if goal.alpha is not None else 1e-12)


def _shift_bounds(goal: Target, rate: float, dim: int) -> tuple[float, float]:
    """Bracket the shift: the limit in dim asks for too small a one, dim 1 allows too large a one."""
    if goal.alpha is not None:
        assert goal.beta is not None
        if goal.beta >= 1 - rate - goal.alpha:
            most = 1 - rate - goal.alpha
            raise InfeasibleError(
                f"{goal} cannot be met with exact_rate {rate:g}",
                hint=f"nearest that can: a beta below {max(most, 0):g} at this alpha",
            )
        ends = [_attack_shift(kind, goal, rate) for kind in (symmetric_laplace_limit, partial(symmetric_laplace, 1))]
        return ends[0] * (1 - 1e-5), ends[1] * (1 + 1e-5)
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
    by_limit, by_laplace = np.sqrt(2 * kappa * (epsilon + kappa)), (epsilon + 2 * kappa) / _ROOT2
    if dim == 1:
        by_limit = by_laplace * (1 - 1e-9)
    return float(max(by_limit, 1e-290)) * (1 - 1e-6), float(by_laplace) * (1 + 1e-12)


def _attack_shift(profile_of: Callable[[float], PrivacyProfile], goal: Target, rate: float) -> float:
    """Solve (alpha, beta) for a family with a closed form."""
    return solve_parameter(lambda c: zero_inflated(profile_of(c), rate), goal, 1e-12, 1e3, tolerance=1e-6)
