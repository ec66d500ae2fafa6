r"""A sampler's error, charged to the guarantee.

If the sampler's P' and Q' are within total variation τ of P and Q, then for every event

    Q'(S) - e^ε P'(S) <= Q(S) + τ - e^ε (P(S) - τ) <= delta(ε) + (1 + e^ε) τ.

The bound rises again where e^ε τ outgrows what delta still loses; since the true delta falls with ε, a bound at a
smaller ε holds at every larger one, so it is used up to its minimum, at `P(L > ε*) = τ`, and is flat from there.
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

Array = NDArray[np.float64]


@dataclass(frozen=True)
class WithSlack(Layer):
    """`base` sampled with total variation error `tv`; see `with_slack`."""

    tv: float

    @cached_property
    def _turn(self) -> float:
        """The ε from which on the bound would rise; any ε gives a valid bound, so its error enters squared."""
        base, log_tv = self.base, np.log(self.tv)
        high = np.ones(1)
        while base._curve(high)[1][0] > self.tv and high[0] < 700:
            high = 2 * high

        def above(eps: Array) -> Array:
            return np.asarray(np.log(np.maximum(base._curve(eps)[1], 5e-324)) - log_tv)

        return float(crossing(above, np.zeros(1), np.minimum(high, 700.0), tolerance=1e-9)[1][0])

    @cached_property
    def _lowest(self) -> float:
        value = float(self.base._curve(np.array([self._turn]))[0][0])
        return float(up(value + (1 + np.exp(self._turn)) * self.tv, 2))

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

    @property
    def _quick_floor(self) -> float:
        return self.base._quick_floor + 2 * self.tv

    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        value, alarms = self.base._curve(epsilon)
        rising = alarms <= self.tv
        with np.errstate(over="ignore"):
            bound = up(value + (1 + np.exp(epsilon)) * self.tv, 2)
        if rising.any():  # alarms only steer: what makes the flat part valid is that it lies to the right of the turn
            bound = np.where(epsilon >= self._turn, self._lowest, bound)
        return bound, np.where(rising, 0.0, alarms - self.tv)

    def _beta(self, rates: Array) -> Array:  # sup_ε 1 - delta(ε) - (1 + e^ε) τ - e^ε α
        return np.asarray(self.base.beta(up(rates + self.tv)) * (1 - ULP) - self.tv)


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
