r"""A shuffled release: reports whose order tells nothing protect a record better than each does alone.

n people report through channels that are pure `ε₀` each, and what is published is the reports as a multiset. Then
delta(ε) is at most that of one pair of laws (`docs/theory/shuffle.md` has the proof),

    C ~ Bin(n-1, γ),  A ~ Bin(C, ½),  Δ ~ Bern(p/(p+1)):    (A + Δ, C - A + 1 - Δ)  against the same in reverse,

p = e^ε₀ the largest ratio of the two laws that the report in question may have, q the largest ratio of either to the
law of anybody else's, ``γ = 2p/((p+1) q)``; a whole record has q = p. In words: among the others some are as good
as coins, and among these the report hides. Written as a sum,

    delta(ε) = (1/n) E(Σ L_i)₊,   L_i = q (1 - e^ε/p) or q (1/p - e^ε), each with probability γ/2, and else 0.

**What is rounded, and to which side.** γ is rounded down: fewer coins are worse. Where few are expected to be coins all
outcomes are listed (`curves.outcomes`: tails moved to what is worse, 1e-10 added for rounding); elsewhere the sum is
integrated (`curves.contour`: every step of it adds). delta is therefore never too small; it is too large by less than
1e-3 of it wherever it is above 1e-12, and 0 from ε₀ on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from versadp import inputs
from versadp.errors import ParameterError
from versadp.privacy.curves.contour import Terms
from versadp.privacy.curves.discrete import identity
from versadp.privacy.curves.outcomes import Outcomes, count, shuffled_outcomes
from versadp.privacy.layers.inflation import zero_inflated
from versadp.privacy.layers.slack import with_slack
from versadp.privacy.profile import ULP, PrivacyProfile

Array = NDArray[np.float64]

LARGEST = 500.0  # no local epsilon beyond it; there is nothing left to protect, and e^ε to compute
_FEW = 175_000  # outcomes, up to which they are listed


@lru_cache(maxsize=64)
def _terms(local_epsilon: float, share: float, n: int) -> Terms:
    back = math.exp(-local_epsilon)
    unit = 2 / ((1 + back) * share)  # q
    x0 = unit * np.array([1.0, back])
    return Terms(x0, x0[::-1], np.full(2, share / 2), n, local_epsilon)


_outcomes = lru_cache(maxsize=8)(shuffled_outcomes)


@dataclass(frozen=True)
class Shuffled(PrivacyProfile):
    """`n` reports in an order that tells nothing; see `shuffled`."""

    local_epsilon: float
    n: int
    others: float

    @property
    def delta_floor(self) -> float:
        """Zero: every report is possible whatever the record."""
        return 0.0

    @property
    def pure_epsilon(self) -> float:
        """That of a report by itself: the others may by chance all be unlike."""
        return self.local_epsilon

    @property
    def notes(self) -> tuple[str, ...]:
        """Conditions under which the others hide a record."""
        return (
            f"holds if the order tells nothing, and of people with equal public values there are at least {self.n:,}",
        )

    @property
    def _kinks(self) -> Array:
        return self._law.kinks

    @property
    def share(self) -> float:
        """The probability γ, rounded down, that another report is as good as a coin."""
        return 2 / (1 + math.exp(-self.local_epsilon)) * math.exp(-self.others) * (1 - 4 * ULP)

    @property
    def _law(self) -> Terms | Outcomes:
        law = _outcomes if count(self.share, self.n) <= _FEW else _terms
        return law(self.local_epsilon, self.share, self.n)

    def _title(self) -> str:
        among = "" if self.others == self.local_epsilon else f" among reports of {self.others:.6g}"
        return f"{self.n:,} shuffled reports, local epsilon {self.local_epsilon:.6g}{among}"

    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        law = self._law
        value, alarms = np.zeros((2, len(epsilon)))
        inside = epsilon < self.local_epsilon
        if inside.any():
            value[inside], alarms[inside] = law.curve(epsilon[inside])
        return np.minimum(value, 1.0), alarms


def shuffled(
    local_epsilon: float,
    n: int,
    *,
    others: float | None = None,
    exact_rate: float = 0.0,
    local_delta: float = 0.0,
) -> PrivacyProfile:
    """Return what n reports guarantee if they are published in an order that tells nothing.

    Conditions, all of which the proof uses: the reports are drawn independently, each from its own record alone, from
    a set of possible reports that is the same for all; n is fixed and public (neighbours replace one record); the
    order is a function of the multiset (sorted by their own bytes, say) or random. Columns that are published as they
    are split the people into groups: n is then the size of the smallest group of people with equal public values.

    Parameters
    ----------
    local_epsilon : float
        The epsilon, from 0 to 500, of a report by itself: for a record its pure epsilon, for an attribute that with
        which two records are told apart that differ in the attribute alone.
    n : int
        Number of reports, at least 1.
    others : float, optional
        The epsilon with which a report is told from anybody else's. By default `local_epsilon`, as for a whole record;
        to protect an attribute, give the pure epsilon of the record. At least `log 2p/(p+1)`, p = e^local_epsilon.
    exact_rate : float
        In [0, 1): the probability with which a report shows its record, and is as described only otherwise.
    local_delta : float
        In [0, 1): the reports need only be (epsilon, local_delta) private, for `local_epsilon` and `others` alike.

    Returns
    -------
    PrivacyProfile
        Pure at `local_epsilon` if the last two are 0. With `exact_rate` ρ, delta is at least ρ, and others hide a
        record less often; with `local_delta`, ``delta + (1 + e^ε) 2 (n-1) local_delta e^-others`` besides.

    Examples
    --------
    A hundred thousand reports, each of epsilon 7.76, are a (1, 1e-6) release of every record:

    >>> p = shuffled(7.76, 100_000)
    >>> p.delta(1.0) <= 1e-6, round(p.epsilon(1e-6), 3)
    (True, 0.999)
    >>> round(shuffled(1.0, 100_000, others=6.0).epsilon(1e-6), 4)  # one attribute of a record
    0.1842
    """
    local = inputs.number("local_epsilon", local_epsilon, 0.0, LARGEST)
    n = inputs.whole("n", n, 1)
    rate = inputs.number("exact_rate", exact_rate, 0.0, 1.0, open_high=True)
    lost = inputs.number("local_delta", local_delta, 0.0, 1.0, open_high=True)
    among = local if others is None else inputs.number("others", others, 0.0, LARGEST)
    least = math.log(2) - math.log1p(math.exp(-local))
    if among < least:
        raise ParameterError(
            f"others must be at least {least:.6g} with a local_epsilon of {local:g}, not {among:g}",
            hint="give the pure epsilon of the whole record, which is never less than that of an attribute",
        )
    if local == 0:  # reports that tell nothing, but for what is lost
        return zero_inflated(zero_inflated(identity(), lost), rate)
    hidden = among - (math.log1p(-rate) + math.log1p(-lost)) * (1 + ULP)
    slack = 2 * (n - 1) * lost * math.exp(-among) * (1 + ULP)
    if slack >= 1:
        raise ParameterError(
            f"a local_delta of {lost:g} in each of {n} reports leaves nothing to claim",
            hint=f"it has to be far below {math.exp(among) / n:.2g}, or the reports pure",
        )
    return zero_inflated(zero_inflated(with_slack(Shuffled(local, n, hidden), slack), lost), rate)
