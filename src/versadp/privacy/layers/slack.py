r"""A sampler's error, charged to the guarantee.

P and Q are what ideal noise would give, P' and Q' what is drawn. If each is within total variation τ of its ideal, then
for every event ``Q'(S) - e^ε P'(S) <= Q(S) + τ - e^ε (P(S) - τ) <= delta(ε) + (1 + e^ε) τ``.

e^ε makes this dear where ε is large. More may be known: that what is missing from P is also a small share of it,
``P(S) - P'(S) <= r P(S)``, but for outcomes far out that cost ``far`` at every ε (`docs/theory/privacy-numerics.md`).
Then

    delta'(ε) = delta(ε) + (1 + e^ε) τ                  where  r P(L > ε) + far e^-ε >= τ
              = delta(ε + log(1-r)) + τ + far           where  r P(L > ε + log(1-r)) + far e^-ε <= τ,

and a straight line in e^ε between. Both forms hold everywhere and the true delta is convex in e^ε, so a line from any
point of the one to any point of the other holds too. Where nothing more is known (r = 1), or far is dear, the plain
form is held from its minimum on, which lies where `P(L > ε) = τ`: the true delta falls.
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
    def _relative(self) -> bool:
        """True if the share that is lost helps: before the plain form has fallen as far as it does."""
        if self.lost == 1:
            return False
        dear = max(float(np.log(max(self.far / ((1 - self.lost) * self.tv), 1.0))), 0.0)
        return bool(dear < 700 and self.base._curve(np.array([dear]))[1][0] > self.tv)

    def _dear(self, epsilon: Array, alarms: Array) -> Array:
        """Return by how much the first form loses more than the second, or than its own minimum if that comes first."""
        return np.minimum(alarms, self.lost * alarms + self.far * np.exp(-epsilon)) / self.tv

    def _least(self, loss: float) -> float:
        """Return where `_dear` falls to 1, false alarms taken at ε - loss; its error only makes the bound larger."""

        def above(eps: Array) -> Array:
            alarms = self.base._curve(np.maximum(eps - loss, 0.0))[1]
            return np.log(np.maximum(self._dear(eps, alarms), 5e-324))

        high = np.ones(1)
        while above(high)[0] > 0 and high[0] < 700:
            high = 2 * high
        return float(crossing(above, np.zeros(1), np.minimum(high, 700.0), tolerance=1e-9)[1][0])

    @cached_property
    def _turn(self) -> float:
        """Epsilon at which the first form ends."""
        return self._least(0.0)

    @cached_property
    def _end(self) -> float:
        """Epsilon at which the second begins."""
        return max(self._least(self._loss), self._turn + self._loss)

    @property
    def _loss(self) -> float:
        """By how much epsilon is larger for what is lost: ``-log(1 - r)``."""
        return float(-np.log1p(-self.lost)) * (1 + ULP) if self._relative else float("inf")

    @cached_property
    def _before(self) -> float:
        """The bound where the first form ends."""
        value = float(self.base._curve(np.array([self._turn]))[0][0])
        return float(up(value + (1 + np.exp(self._turn)) * self.tv, 2))

    @property
    def delta_floor(self) -> float:
        """Limit of the bound."""
        return float(up(self.base.delta_floor + self.tv + self.far, 2)) if self._relative else self._before

    @property
    def pure_epsilon(self) -> float:
        """Epsilon at which the bound reaches its floor."""
        return (self.base.pure_epsilon + self._loss) * (1 + ULP) if self._relative else self._turn

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the base, and the error that is charged."""
        of_it = "" if self.lost == 1 else f", at most {self.lost:.2g} of any likely outcome,"
        return (*self.base.notes, f"a total variation error of {self.tv:.3g} of the sampler{of_it} is charged")

    @property
    def _quick_floor(self) -> float:
        return self.base._quick_floor + (2 * self.tv if self.lost == 1 else self.tv)

    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        value, alarms = self.base._curve(epsilon)
        with np.errstate(over="ignore"):
            bound = up(value + (1 + np.exp(epsilon)) * self.tv, 2)
        beyond = self._dear(epsilon, alarms) <= 1  # alarms only steer: which form is used where
        falls = np.where(beyond, 0.0, alarms - self.tv)
        if beyond.any() and self._relative:  # beyond the line, which then need not be known
            late, before = self._second(epsilon[beyond])
            past = (self._dear(epsilon[beyond], before) <= 1) & (epsilon[beyond] >= self._loss)
            at = np.flatnonzero(beyond)[past]
            bound[at], falls[at] = late[past], (1 - self.lost) * before[past]
            beyond[at] = False
        if beyond.any():
            beyond &= epsilon >= self._turn
            bound[beyond], falls[beyond] = self._line(epsilon[beyond])
        return bound, falls

    def _second(self, epsilon: Array) -> tuple[Array, Array]:
        """Return the second form, and the false alarms of the base where it is read off."""
        value, alarms = self.base._curve(np.maximum(np.nextafter(epsilon - self._loss, -np.inf), 0.0))
        return up(value + self.tv + self.far, 2), alarms

    def _line(self, epsilon: Array) -> tuple[Array, Array]:
        """Return the line between the two forms, and its slope."""
        if not self._relative:
            return np.full(len(epsilon), self._before), np.zeros(len(epsilon))
        late, alarms = self._second(np.array([self._end]))
        after = min(float(late[0]), self._before)
        drop = (self._before - after) / np.expm1(self._end - self._turn)
        part = np.expm1(np.minimum(epsilon, self._end) - self._turn)
        # a line as short as rounding seems level: its slope is not below that of what follows
        slope = max(drop * np.exp(-self._turn), (1 - self.lost) * float(alarms[0]))
        return np.maximum(self._before - part * drop, after), np.full(len(epsilon), slope)

    @property
    def _kinks(self) -> Array:
        kinks = self.base._kinks
        if not kinks.size or not self._relative:
            return kinks
        return np.concatenate([kinks, kinks + self._loss, [self._turn, self._end]])

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
        At least 0: what the other outcomes cost, ``Σ e^L`` over what is missing from them.

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
    far = inputs.number("far", far, 0.0, np.inf)
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
