r"""Profiles made of profiles: zero inflation, a sampler's error, the worst of several.

**Zero inflation.** With probability ρ the record is released as it is, which separates P from Q for certain;
otherwise the pair is as before. So ``delta̅(ε) = ρ + (1 - ρ) delta(ε)``, `beta̅(α) = (1-ρ) beta(α/(1-ρ))` (paper,
section 3), and ρ is a floor under delta.

**Slack.** If the sampler's P' and Q' are within total variation τ of P and Q, then for every event

    Q'(S) - e^ε P'(S) <= Q(S) + τ - e^ε (P(S) - τ) <= delta(ε) + (1 + e^ε) τ.

The bound rises again where e^ε τ outgrows what delta still loses; since the true delta falls with ε, a bound at a
smaller ε holds at every larger one, so it is used up to its minimum, at `P(L > ε*) = τ`, and is flat from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from versadp.errors import ParameterError
from versadp.privacy import inputs
from versadp.privacy.discrete import Discrete
from versadp.privacy.profile import PrivacyProfile, up
from versadp.privacy.roots import crossing

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ZeroInflated(PrivacyProfile):
    """`base` with a share of records released unchanged; see `zero_inflated`."""

    base: PrivacyProfile
    exact_rate: float

    @property
    def delta_floor(self) -> float:
        """The share of records that is given away, and the floor of the base on the rest."""
        if self.base.delta_floor == 0:
            return self.exact_rate
        return float(up(self.exact_rate + (1 - self.exact_rate) * self.base.delta_floor))

    @property
    def pure_epsilon(self) -> float:
        """Where the base reaches its floor."""
        return self.base.pure_epsilon

    @property
    def notes(self) -> tuple[str, ...]:
        """What the base notes."""
        return self.base.notes

    def _title(self) -> str:
        return f"{self.base._title()}, {self.exact_rate:.6g} of the records unchanged"  # noqa: SLF001

    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        value, alarms = self.base._curve(epsilon)  # noqa: SLF001
        inflated = np.where(value > 0, up(self.exact_rate + (1 - self.exact_rate) * value), self.exact_rate)
        return inflated, (1 - self.exact_rate) * alarms


def zero_inflated(profile: PrivacyProfile, exact_rate: float) -> PrivacyProfile:
    """Return the profile when a share of the records is released unchanged.

    Parameters
    ----------
    profile : PrivacyProfile
        What holds for the other records.
    exact_rate : float
        The share ρ, in [0, 1).

    Returns
    -------
    PrivacyProfile
        ``delta̅(ε) = ρ + (1 - ρ) delta(ε)``.

    Examples
    --------
    >>> from versadp.privacy import gaussian
    >>> p = zero_inflated(gaussian(1.0), 0.05)
    >>> p.delta_floor, round(p.delta(1.0), 6)
    (0.05, 0.17059)
    """
    rate = inputs.number("exact_rate", exact_rate, 0.0, 1.0, open_high=True)
    require_profile("profile", profile)
    if rate == 0:
        return profile
    if isinstance(profile, ZeroInflated):  # two coins are one
        return ZeroInflated(profile.base, float(up(rate + (1 - rate) * profile.exact_rate)))
    return ZeroInflated(profile, rate)


@dataclass(frozen=True)
class WithSlack(PrivacyProfile):
    """`base` sampled with total variation error `tv`; see `with_slack`."""

    base: PrivacyProfile
    tv: float

    @cached_property
    def _turn(self) -> float:
        """The ε from which on the bound would rise."""
        base, log_tv = self.base, np.log(self.tv)
        high = np.ones(1)
        while base._curve(high)[1][0] > self.tv and high[0] < 700:  # noqa: SLF001
            high = 2 * high

        def above(eps: Array) -> Array:
            return np.asarray(np.log(np.maximum(base._curve(eps)[1], 1e-300)) - log_tv)  # noqa: SLF001

        return float(crossing(above, np.zeros(1), np.minimum(high, 700.0), tolerance=1e-6)[1][0])

    @cached_property
    def _lowest(self) -> float:
        return float(self._curve(np.array([self._turn]))[0][0])

    @property
    def delta_floor(self) -> float:
        """What the bound falls to."""
        return self._lowest

    @property
    def pure_epsilon(self) -> float:
        """Where the bound reaches its floor."""
        return self._turn

    @property
    def notes(self) -> tuple[str, ...]:
        """What the base notes, and the error that is charged."""
        return (*self.base.notes, f"a total variation error of {self.tv:.3g} of the sampler is charged")

    def _title(self) -> str:
        return self.base._title()  # noqa: SLF001

    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        held = np.minimum(epsilon, self._turn)
        value, alarms = self.base._curve(held)  # noqa: SLF001
        return up(value + (1 + np.exp(held)) * self.tv, 2), np.where(epsilon < self._turn, alarms, 0.0)


def with_slack(profile: PrivacyProfile, tv: float) -> PrivacyProfile:
    """Charge a sampler's error to a profile.

    Parameters
    ----------
    profile : PrivacyProfile
        The guarantee of ideal noise.
    tv : float
        Total variation distance, in [0, 1), within which what is drawn lies of the ideal, under P and under Q alike.

    Returns
    -------
    PrivacyProfile
        ``delta'(ε) = delta(ε) + (1 + e^ε) tv`` up to where that is least, and flat from there on.

    Examples
    --------
    >>> from versadp.privacy import gaussian
    >>> p = with_slack(gaussian(1.0), 1e-9)
    >>> print(f"{p.delta(1.0) - gaussian(1.0).delta(1.0):.4g}")
    3.718e-09
    """
    tv = inputs.number("tv", tv, 0.0, 1.0, open_high=True)
    require_profile("profile", profile)
    if tv == 0:
        return profile
    if isinstance(profile, WithSlack):
        return WithSlack(profile.base, profile.tv + tv)
    return WithSlack(profile, tv)


@dataclass(frozen=True)
class Worst(PrivacyProfile):
    """The largest delta of several profiles; see `worst`."""

    members: tuple[PrivacyProfile, ...]

    @property
    def delta_floor(self) -> float:
        """The highest floor."""
        return max(p.delta_floor for p in self.members)

    @property
    def pure_epsilon(self) -> float:
        """Where all members have reached their floors."""
        return max(p.pure_epsilon for p in self.members)

    @property
    def notes(self) -> tuple[str, ...]:
        """What any member notes."""
        return tuple(dict.fromkeys(note for p in self.members for note in p.notes))

    def _title(self) -> str:
        return "the worst of " + "; ".join(p._title() for p in self.members)  # noqa: SLF001

    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        curves = [p._curve(epsilon) for p in self.members]  # noqa: SLF001
        values, alarms = np.stack([v for v, _ in curves]), np.stack([a for _, a in curves])
        best = np.argmax(values, axis=0)
        columns = np.arange(len(epsilon))
        return np.maximum(values[best, columns], self.delta_floor), alarms[best, columns]


def worst(*profiles: PrivacyProfile) -> PrivacyProfile:
    """Return the pointwise worst of several profiles: what holds whichever of them applies.

    Parameters
    ----------
    *profiles : PrivacyProfile
        At least one. Neighbours that differ in one attribute differ in one block: each block is one profile.

    Returns
    -------
    PrivacyProfile
        `delta(ε) = max_i delta_i(ε)`, so ``beta(α) = min_i beta_i(α)`` made convex.

    Examples
    --------
    >>> from versadp.privacy import gaussian
    >>> worst(gaussian(1.0), gaussian(2.0)).delta(1.0) == gaussian(2.0).delta(1.0)
    True
    """
    if not profiles:
        raise ParameterError("worst needs at least one profile")
    for p in profiles:
        require_profile("profiles", p)
    distinct = tuple(dict.fromkeys(profiles))
    return distinct[0] if len(distinct) == 1 else Worst(distinct)


def require_profile(name: str, value: object) -> None:
    """Raise unless the value is a profile.

    Parameters
    ----------
    name : str
        What the message calls it.
    value : object
        What the caller gave.

    Examples
    --------
    >>> require_profile("profile", approx_dp(1.0, 0.0))
    """
    if not isinstance(value, PrivacyProfile):
        raise ParameterError(f"{name} must be a PrivacyProfile, not {type(value).__name__}")


def approx_dp(epsilon: float, delta: float) -> PrivacyProfile:
    """Return the profile of (epsilon, delta)-differential privacy and nothing more.

    Parameters
    ----------
    epsilon : float
        At least 0.
    delta : float
        In [0, 1).

    Returns
    -------
    PrivacyProfile
        The worst pair that satisfies it: randomised response on two levels, inflated by delta.

    Examples
    --------
    >>> p = approx_dp(1.0, 1e-5)
    >>> p.epsilon(1e-5), round(p.delta(0.0), 6)
    (1.0, 0.462123)
    """
    epsilon = inputs.number("epsilon", epsilon, 0.0, np.inf, open_high=True)
    delta = inputs.number("delta", delta, 0.0, 1.0, open_high=True)
    likely = float(1 / (1 + np.exp(-epsilon)))
    losses, masses = ((-epsilon, epsilon), (1 - likely, likely)) if epsilon else ((0.0,), (1.0,))
    return ApproxDP(Discrete(losses, masses, f"{epsilon:g}-differential privacy"), delta)


class ApproxDP(ZeroInflated):
    """A `ZeroInflated` that is called by its two numbers; see `approx_dp`."""

    def _title(self) -> str:
        return f"({self.base.pure_epsilon:g}, {self.exact_rate:g})-differential privacy"
