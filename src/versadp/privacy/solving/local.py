"""From a target for a shuffled release back to its reports: the largest local epsilon that still meets it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from versadp import inputs
from versadp.privacy.layers.shuffle import LARGEST, shuffled
from versadp.privacy.solving.parameter import solve_parameter
from versadp.privacy.target import target

if TYPE_CHECKING:
    from versadp.privacy.target import Target


def solve_local_epsilon(
    n: int,
    epsilon: float | None = None,
    delta: float | None = None,
    *,
    advantage: float | None = None,
    alpha: float | None = None,
    beta: float | None = None,
) -> float:
    """Return the largest pure epsilon that each of n shuffled reports may have so that the release meets a target.

    Parameters
    ----------
    n : int
        Number of reports; with public columns, of the smallest group of people with equal public values.
    epsilon, delta : float, optional
        Target as a pair.
    advantage : float, optional
        Target as the attacker's advantage.
    alpha, beta : float, optional
        Target as a miss rate at given false alarms.

    Returns
    -------
    float
        At least what the target asks of a single report, and at most 500.

    Raises
    ------
    InfeasibleError
        If the target asks that nothing is told at all.

    Examples
    --------
    >>> round(solve_local_epsilon(100_000, 1.0, 1e-6), 2)
    7.76
    """
    n = inputs.whole("n", n, 1)
    goal = target(epsilon, delta, advantage=advantage, alpha=alpha, beta=beta)
    low, high = _bounds(n, goal)
    return solve_parameter(lambda local: shuffled(local, n), goal, max(low, 1e-9), min(high, LARGEST), tolerance=1e-9)


def _bounds(n: int, goal: Target) -> tuple[float, float]:
    """Bracket the answer: what a single report may have, and what is too much.

    Alone a report has delta(ε) = (p - e^ε)/(p + 1). With others the outcome in which none of them is alike tells
    P0 from P1 by a factor p, so that delta(ε) is at least ``1 - (2n + e^ε)/p``, and beta at most 2n/p once p > 1/alpha.
    """
    if goal.alpha is not None and goal.beta is not None:
        alone = min(goal.alpha / (1 - goal.beta), goal.beta / (1 - goal.alpha))
        together = min(goal.beta / (2 * n), goal.alpha)
        return -math.log(max(alone, 1e-300)) * (1 - 1e-9), -math.log(max(together, 1e-300)) + 1e-9
    ratio, allowed = math.exp(goal.epsilon or 0.0), goal.advantage or goal.delta or 0.0
    alone, together = math.log((ratio + allowed) / (1 - allowed)), math.log((2 * n + ratio) / (1 - allowed))
    return max(alone * (1 - 1e-9), goal.epsilon or 0.0), together + 1e-9
