r"""A sampler's error, charged to the guarantee.

P and Q are what ideal noise would give, P' and Q' what is drawn. If each is within total variation τ of its ideal, then
for every event ``Q'(S) - e^ε P'(S) <= Q(S) + τ - e^ε (P(S) - τ) <= delta(ε) + (1 + e^ε) τ``.

e^ε makes this dear where ε is large. More may be known: that what is missing from P is also a small share of it,
``P(S) - P'(S) <= r P(S)``, but for outcomes far out that cost ``far`` at every ε (`docs/privacy-numerics.md`). Then an
attacker's false alarms α are at least `max((1-r) P(S), P(S) - τ)` up to that, and

    beta'(α) >= beta(min(α/(1-r), α + τ)) - τ - far.

A concave function inside a convex one that falls, so this is a trade-off curve, and by conjugation, with ε* where
`P(L > ε*) = τ/r`,

    delta'(ε) = delta(ε) + (1 + e^ε) τ + far            up to ε*
              = delta(ε + log(1-r)) + τ + far           from ε* - log(1-r) on,

and a straight line in e^ε between. Any ε* gives a valid bound: both forms hold everywhere, and the true delta is convex
in e^ε. With r = 1, where nothing more is known, the line has no end and is level.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from versadp import inputs
from versadp.privacy.layers.layer import Layer
from versadp.privacy.profile import ULP, PrivacyProfile, require_profile, up
from versadp.privacy.solving.roots import crossing
from versadp.privacy.solving.searches import least_beta

Array = NDArray[np.float64]


@dataclass(frozen=True)
class WithSlack(Layer):
    """`base` sampled with total variation error `tv`, and little `lost` of any likely outcome; see `with_slack`."""

    tv: float
    lost: float = 1.0
    far: float = 0.0

    @cached_property
    def _turn(self) -> float:
        """ε*; any ε gives a valid bound, so its error enters squared."""
        base, log_rate = self.base, np.log(self.tv / self.lost)
        high = np.ones(1)
        while base._curve(high)[1][0] > self.tv / self.lost and high[0] < 700:
            high = 2 * high

        def above(eps: Array) -> Array:
            return np.asarray(np.log(np.maximum(base._curve(eps)[1], 5e-324)) - log_rate)

        return float(crossing(above, np.zeros(1), np.minimum(high, 700.0), tolerance=1e-9)[1][0])

    @property
    def _loss(self) -> float:
        """By how much epsilon is larger for what is lost: ``-log(1 - r)``."""
        return float(-np.log1p(-self.lost)) * (1 + ULP) if self.lost < 1 else float("inf")

    @cached_property
    def _before(self) -> float:
        """The bound at ε*."""
        value = float(self.base._curve(np.array([self._turn]))[0][0])
        return float(up(value + (1 + np.exp(self._turn)) * self.tv + self.far, 2))

    @property
    def delta_floor(self) -> float:
        """What the bound falls to."""
        return self._before if self.lost == 1 else float(up(self.base.delta_floor + self.tv + self.far, 2))

    @property
    def pure_epsilon(self) -> float:
        """Where the bound reaches its floor."""
        return self._turn if self.lost == 1 else self.base.pure_epsilon + self._loss

    @property
    def notes(self) -> tuple[str, ...]:
        """What the base notes, and the error that is charged."""
        of_it = "" if self.lost == 1 else f", at most {self.lost:.2g} of any likely outcome,"
        return (*self.base.notes, f"a total variation error of {self.tv:.3g} of the sampler{of_it} is charged")

    @property
    def _quick_floor(self) -> float:
        return self.base._quick_floor + (2 * self.tv if self.lost == 1 else self.tv + self.far)

    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        value, alarms = self.base._curve(epsilon)
        with np.errstate(over="ignore"):
            bound = up(value + (1 + np.exp(epsilon)) * self.tv + self.far, 2)
        beyond = alarms <= self.tv / self.lost  # alarms only steer: which form is used where
        falls = np.where(beyond, 0.0, alarms - self.tv)
        if self.lost < 1 and beyond.any():  # beyond ε* and the line, which then need not be known
            before = np.maximum(epsilon[beyond] - self._loss, 0.0)
            value, alarms = self.base._curve(before)
            past = (alarms <= self.tv / self.lost) & (epsilon[beyond] >= self._loss)
            at = np.flatnonzero(beyond)[past]
            bound[at], falls[at] = up(value[past] + self.tv + self.far, 2), (1 - self.lost) * alarms[past]
            beyond[at] = False
        if beyond.any():
            beyond &= epsilon >= self._turn
            bound[beyond], falls[beyond] = self._line(epsilon[beyond])
        return bound, falls

    def _line(self, epsilon: Array) -> tuple[Array, Array]:
        """Return the line between the two forms, and its slope."""
        if self.lost == 1:
            return np.full(len(epsilon), self._before), np.zeros(len(epsilon))
        after = float(up(self.base._curve(np.array([self._turn]))[0] + self.tv + self.far, 2)[0])
        drop = (self._before - after) / np.expm1(self._loss)
        part = np.expm1(np.minimum(epsilon - self._turn, self._loss))
        return self._before - part * drop, np.full(len(epsilon), drop * np.exp(-self._turn))

    @property
    def _kinks(self) -> Array:
        kinks = self.base._kinks
        if self.lost == 1 or not kinks.size:
            return kinks
        return np.concatenate([kinks, kinks + self._loss, [self._turn, self._turn + self._loss]])

    def _beta(self, rates: Array) -> Array:
        if self.lost < 1:
            return least_beta(self, rates)
        return np.asarray(self.base.beta(up(rates + self.tv)) * (1 - ULP) - self.tv)


def with_slack(profile: PrivacyProfile, tv: float, *, lost: float = 1.0, far: float = 0.0) -> PrivacyProfile:
    """Charge a sampler's error to a profile.

    Parameters
    ----------
    profile : PrivacyProfile
        The guarantee of ideal noise.
    tv : float
        Total variation distance, in [0, 1), within which what is drawn lies of the ideal, under P and under Q alike.
    lost : float
        In (0, 1]: of every likely outcome at most this share of its ideal probability is missing; 1 if no such share
        is known.
    far : float
        In [0, 1): what the other outcomes cost, ``Σ e^L`` over what is missing from them.

    Returns
    -------
    PrivacyProfile
        ``delta'(ε) = delta(ε) + (1 + e^ε) tv`` up to where that is least, and flat from there on; with `lost` below 1
        at most about ``delta(ε - lost) + tv + far``.

    Examples
    --------
    >>> from versadp.privacy import gaussian
    >>> p = with_slack(gaussian(1.0), 1e-9)
    >>> print(f"{p.delta(1.0) - gaussian(1.0).delta(1.0):.4g}")
    3.718e-09
    >>> print(f"{p.delta(6.0):.3g} {with_slack(gaussian(1.0), 1e-9, lost=1e-4, far=1e-9).delta(6.0):.3g}")
    2.91e-07 4.79e-09
    """
    tv = inputs.number("tv", tv, 0.0, 1.0, open_high=True)
    lost = inputs.number("lost", lost, 0.0, 1.0, open_low=True)
    far = inputs.number("far", far, 0.0, 1.0, open_high=True)
    require_profile("profile", profile)
    if tv == 0:
        return profile
    if isinstance(profile, WithSlack) and (profile.lost < 1) == (lost < 1):
        return slack_of(profile.base, profile.tv + tv, profile.lost + lost, profile.far + far)
    return slack_of(profile, tv, lost, far)


def slack_of(base: PrivacyProfile, tv: float, lost: float, far: float) -> PrivacyProfile:
    """Return a base with the errors of several independent samplers, summed.

    Parameters
    ----------
    base : PrivacyProfile
        The guarantee of ideal noise.
    tv, lost, far : float
        Sums over the samplers of what `with_slack` takes. An outcome that is far out by one of them may be likely by
        the others, which lack their share there: hence `far/(1 - lost)`.

    Returns
    -------
    PrivacyProfile

    Examples
    --------
    >>> from versadp.privacy import identity
    >>> slack_of(identity(), 1e-6, 1.5, 1e-6) == with_slack(identity(), 1e-6)
    True
    """
    if lost >= 1:
        return WithSlack(base, tv)
    return WithSlack(base, tv, lost, far / (1 - lost))
