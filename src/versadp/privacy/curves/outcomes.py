r"""The dominating pair of a shuffled release outcome by outcome, where few reports are alike.

`docs/theory/shuffle.md` reduces a shuffled release to one pair of laws. C other people answer like coins, ``C ~
Bin(n-1, γ)``; with them the report in question makes N = C + 1, of which K say one thing and J = N - K the other.
Under the one record K is `Bin(C, ½) + Bern(p/(p+1))`, under the other K and J change places, so that

    P0(N, K) = P(C = N-1) b(K) 2 (pK + J) / (N (p+1)),    log P0/P1 = log (pK + J)/(K + pJ),

b the probabilities of ``Bin(N, ½)``. Only outcomes with K > J have a positive loss. What is far in a tail is moved to
what is worse: C to a smaller one, as one report more is post-processing, and to none at all in its lower tail; K to N.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from versadp.privacy.profile import ULP

Array = NDArray[np.float64]

_REACH = 9.0  # standard deviations of C, and a few: all but 1e-17
_FARTHEST = 6.0  # of K from its middle, in roots of N: all but 1e-31
_ROUNDING = 1e-10  # relative, of sums of up to some hundred thousand positive terms
_LOG_ROUNDING = 16 * float(np.finfo(float).eps)  # of logarithms of factorials, three of which make an exponent


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Positive privacy losses, increasing, and what delta needs at each; made by `shuffled_outcomes`."""

    losses: Array
    tails: Array
    chances: Array
    alarms: Array
    rounding: float

    def curve(self, epsilon: Array) -> tuple[Array, Array]:
        """Return an upper bound on delta, and P(L > ε), at epsilons from 0 on.

        With losses l_1 < l_2 < ..., T_i the probability of a loss of at least l_i, and l_(i-1) <= ε < l_i,

            delta(ε) = T_i (1 - e^(ε-l_i)) + e^ε Σ_(j>i) T_j (e^-l_(j-1) - e^-l_j):

        nothing cancels.
        """
        at = np.searchsorted(self.losses, epsilon, side="right")
        inside = at < len(self.losses)
        near = np.minimum(at, len(self.losses) - 1)
        gap = np.where(inside, epsilon - self.losses[near], 0.0)
        value = self.tails[near] * -np.expm1(gap) + np.exp(gap) * self.chances[near]
        return np.where(inside, value * (1 + self.rounding), 0.0), np.where(inside, self.alarms[near], 0.0)

    @property
    def kinks(self) -> Array:
        """The losses, each once, and 0, where outcomes with K = J have theirs."""
        return np.append(0.0, np.unique(self.losses))


def shuffled_outcomes(local_epsilon: float, share: float, n: int) -> Outcomes:
    """Return all outcomes with a positive loss.

    Parameters
    ----------
    local_epsilon : float
        log p: the ratio of the two laws of the report in question.
    share : float
        The probability γ that another report is one of those alike.
    n : int
        Number of reports.

    Returns
    -------
    Outcomes

    Examples
    --------
    One report alone is randomised response on two levels:

    >>> alone = shuffled_outcomes(np.log(3.0), 0.5, 1)
    >>> alone.losses.round(6), alone.curve(np.zeros(1))[0].round(6)
    (array([1.098612]), array([0.5]))
    """
    others, weights = _numbers_alike(share, n)
    size = others[:, None] + 1
    columns = min(size.max() // 2, int(_FARTHEST * np.sqrt(size.max()))) + 1
    heads = size // 2 + 1 + np.arange(columns)
    there = heads <= size
    heads = np.minimum(heads, size)
    rest = size - heads
    back = np.exp(-local_epsilon)
    logs = gammaln(np.arange(1.0, size.max() + 2))  # of factorials
    masses = weights[:, None] * np.exp(logs[size] - size * np.log(2.0) - logs[heads] - logs[rest]) * 2 / (1 + back)
    masses[:, :-1] *= ((heads + back * rest) / size)[:, :-1]
    odds = (heads - rest) * -np.expm1(-local_epsilon) / np.maximum(back * heads + rest, back)
    losses = np.where(rest > 0, np.minimum(np.log1p(odds) * (1 + ULP), local_epsilon), local_epsilon)
    # the last column stands for all beyond it, a geometric series at most, as if they were unanimous
    masses[:, -1] /= 1 - rest[:, -1] / (heads[:, -1] + 1)
    losses[:, -1] = local_epsilon
    return _in_order(losses[there], masses[there], _ROUNDING + _LOG_ROUNDING * float(logs[-1]))


def _in_order(losses: Array, masses: Array, rounding: float) -> Outcomes:
    order = np.argsort(losses)
    losses, masses = losses[order], masses[order]

    def from_the_top(values: Array) -> Array:
        return np.cumsum(values[::-1])[::-1]

    tails = from_the_top(masses)
    rises = tails * np.exp(-losses) * np.expm1(np.diff(losses, prepend=losses[0]))
    chances = np.append(from_the_top(rises)[1:], 0.0) * np.exp(losses)
    return Outcomes(losses, tails, chances, from_the_top(masses * np.exp(-losses)), rounding)


def count(share: float, n: int) -> float:
    """Return about how many outcomes there are to list.

    Parameters
    ----------
    share : float
        The probability γ that another report is one of those alike.
    n : int
        Number of reports.

    Returns
    -------
    float

    Examples
    --------
    >>> round(count(0.1, 10_000))
    113842
    """
    mean = n * share
    return float(2 * (_REACH * np.sqrt(mean * (1 - share)) + 30) * _FARTHEST * np.sqrt(mean))


def _numbers_alike(share: float, n: int) -> tuple[NDArray[np.int64], Array]:
    """Return numbers of other reports that are alike, and probabilities, none too small, the tails added to them."""
    mean = (n - 1) * share
    reach = _REACH * np.sqrt(mean * (1 - share)) + 30
    low, high = max(int(mean - reach), 0), min(int(mean + reach), n - 1)
    numbers = np.arange(low, high + 1)
    growth = (n - 1 - numbers) / (numbers + 1) * (share / (1 - share))  # from each to the next
    logs = np.concatenate([[0.0], np.cumsum(np.log(growth[:-1]))])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()  # which lacks the tails, so that each share of it is too large
    weights[-1] *= 1 / (1 - growth[-1])  # a geometric series: the growth falls with every step
    if low == 0:
        return numbers, weights
    shrinks = low / (n - low) * ((1 - share) / share)
    return np.append(0, numbers), np.append(weights[0] * shrinks / (1 - shrinks), weights)
