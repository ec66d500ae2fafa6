r"""Zero inflation: some records are released as they are.

With probability ρ the record is published unchanged, which separates P from Q for certain; otherwise the pair is as
before. So ``delta̅(ε) = ρ + (1 - ρ) delta(ε)``, `beta̅(α) = (1-ρ) beta(α/(1-ρ))` (paper, section 3), and ρ is a floor
under delta. (epsilon, delta)-differential privacy is the same thing with randomised response underneath.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from versadp import inputs
from versadp.privacy.curves.discrete import Discrete
from versadp.privacy.layers.layer import Layer
from versadp.privacy.profile import ULP, PrivacyProfile, require_profile, up

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ZeroInflated(Layer):
    """`base` with a share of records released unchanged; see `zero_inflated`."""

    exact_rate: float

    @property
    def delta_floor(self) -> float:
        """The share of records that is given away, and the floor of the base on the rest."""
        if self.base.delta_floor == 0:
            return self.exact_rate
        return float(up(self.exact_rate + (1 - self.exact_rate) * self.base.delta_floor))

    @property
    def exact_share(self) -> float:
        """The rate, and the share of the base on the rest."""
        share = self.base.exact_share
        return self.exact_rate + (1 - self.exact_rate) * share if share else self.exact_rate

    @property
    def _quick_floor(self) -> float:
        return self.exact_rate + (1 - self.exact_rate) * self.base._quick_floor

    def _title(self) -> str:
        return f"{self.base._title()}, {self.exact_rate:.6g} of the records unchanged"

    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        value, alarms = self.base._curve(epsilon)
        inflated = np.where(value == 0, self.exact_rate, up(self.exact_rate + (1 - self.exact_rate) * value))
        return inflated, (1 - self.exact_rate) * alarms

    def _beta(self, rates: Array) -> Array:
        left = 1 - self.exact_rate
        return np.asarray(left * self.base.beta(up(rates / left)) * (1 - ULP))


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
class ApproxDP(ZeroInflated):
    """A `ZeroInflated` that is called by its two numbers; see `approx_dp`."""

    def _title(self) -> str:
        return f"({self.base.pure_epsilon:g}, {self.exact_rate:g})-differential privacy"


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
