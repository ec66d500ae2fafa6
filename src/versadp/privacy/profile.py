r"""One object for every guarantee: the privacy profile of a pair of neighbours.

P and Q are the laws of what is published for two neighbouring data sets, L = log dQ/dP. All of these say the same:

    delta(ε) = sup_S Q(S) - e^ε P(S) = E_Q (1 - e^(ε-L))₊        every (epsilon, delta) at once
    beta(α)  = inf {missed : false alarms <= α} = sup_ε 1 - delta(ε) - e^ε α

Every pair in this package is symmetric (the roles of P and Q may be exchanged), so `delta` at negative epsilons
follows: ``delta(-e) = 1 - e^-e (1 - delta(e))``. A subclass therefore gives only `_curve` for ε >= 0: an upper
bound on delta, numerical error included, and the false alarms `P(L > ε)`, which only steer searches: whatever ε a
search ends at, the delta there, and with it the result, is a valid bound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from versadp import inputs
from versadp.errors import ParameterError
from versadp.privacy.solving.searches import least_beta, least_epsilon

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Array = NDArray[np.float64]
Numbers = TypeVar("Numbers", bound=ArrayLike)

ULP = 2.0**-50  # by this relative amount results of a few operations are rounded up


def up(values: ArrayLike, scale: float = 1.0) -> Array:
    """Round probabilities up by a few units in the last place, and cut them at 1.

    Parameters
    ----------
    values : array_like
        What was computed.
    scale : float
        How many times `ULP` to add.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> float(up(0.25)) > 0.25
    True
    """
    return np.minimum(np.asarray(values, dtype=np.float64) * (1 + scale * ULP), 1.0)


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
    >>> from versadp.privacy import gaussian
    >>> require_profile("profile", gaussian(1.0))
    """
    if not isinstance(value, PrivacyProfile):
        raise ParameterError(f"{name} must be a PrivacyProfile, not {type(value).__name__}")


def _like(given: ArrayLike, values: Array) -> Any:
    return float(values.reshape(())) if np.ndim(given) == 0 else values.reshape(np.shape(given))


class PrivacyProfile(ABC):
    """Privacy profile: bounds on what an attacker can learn; immutable; made by the functions of `versadp.privacy`.

    Neighbours differ in one record (replace one; the number of records is public) and share all public columns.
    Every number is rounded toward less privacy: the truth is never worse than what is reported.

    Examples
    --------
    >>> from versadp.privacy import symmetric_laplace, zero_inflated
    >>> p = zero_inflated(symmetric_laplace(dim=6, shift=0.5), exact_rate=0.05)
    >>> round(p.delta(0.8), 9)
    0.141279758
    >>> p.delta_floor
    0.05
    >>> round(p.epsilon(0.17), 6)
    0.616455
    """

    __slots__ = ()

    @property
    @abstractmethod
    def delta_floor(self) -> float:
        """The delta below which no epsilon goes, however large: the mass that gives a record away."""

    @abstractmethod
    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        """Return an upper bound on delta, and P(L > ε), at one-dimensional epsilons in [0, inf)."""

    @abstractmethod
    def _title(self) -> str:
        """Say what the mechanism is, in half a sentence."""

    @property
    def _quick_floor(self) -> float:
        """A lower bound on `delta_floor` that costs no search; it only steers."""
        return self.delta_floor

    @property
    def exact_share(self) -> float:
        """The share of records that is given away for certain; the rest of the floor is what is not claimed."""
        return 0.0

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on how the numbers were made, such as a bound used in place of a curve."""
        return ()

    @property
    def neighbours(self) -> str:
        """Difference between two neighbouring data sets, in words."""
        return "one record (replace one)"

    @property
    def _kinks(self) -> Array:
        """The epsilons >= 0 at which delta has kinks, L atoms: a search must look just there."""
        return np.empty(0)

    @property
    def pure_epsilon(self) -> float:
        """The least epsilon at which delta reaches its floor: `inf` where it never does, as for dim >= 2."""
        return float("inf")

    def delta(self, epsilon: Numbers) -> Any:
        """Return delta(epsilon), for epsilons of either sign.

        Parameters
        ----------
        epsilon : float or array_like

        Returns
        -------
        float or ndarray

        Examples
        --------
        >>> from versadp.privacy import approx_dp
        >>> approx_dp(1.0, 0.01).delta([0.0, 1.0]).round(6)
        array([0.467496, 0.01    ])
        """
        eps = inputs.array("epsilon", epsilon, -np.inf, np.inf)
        return _like(epsilon, self._signed(eps.ravel())[0])

    def _signed(self, eps: Array) -> tuple[Array, Array]:
        """`_curve` for either sign, infinities included."""
        size = np.abs(eps)
        finite = np.isfinite(size)
        value, alarms = np.zeros_like(eps), np.zeros_like(eps)
        if finite.any():
            value[finite], alarms[finite] = self._curve(size[finite])
            value[np.isnan(value)] = 1.0  # what cannot be computed is not claimed
        if not finite.all():
            value[~finite] = self.delta_floor
        negative = eps < 0
        if negative.any():
            shrink = np.exp(-size[negative])
            lifted = np.where(size[negative] < 600, alarms[negative] * np.exp(np.minimum(size[negative], 600)), 0.0)
            alarms[negative] = np.clip(1 - value[negative] - lifted, 0.0, 1.0)  # 1 - Q(L > e)
            value[negative] = up(-np.expm1(-size[negative]) + shrink * value[negative])
        return value, alarms

    def epsilon(self, delta: Numbers) -> Any:
        """Return the least epsilon >= 0 that holds with this delta.

        Parameters
        ----------
        delta : float or array_like
            Above `delta_floor`; equal to it only where `pure_epsilon` is finite.

        Returns
        -------
        float or ndarray

        Examples
        --------
        >>> from versadp.privacy import gaussian
        >>> round(gaussian(1.0).epsilon(1e-5), 4)
        4.3772
        """
        wanted = inputs.array("delta", delta, 0.0, 1.0).ravel()
        low = wanted < self.delta_floor if np.isfinite(self.pure_epsilon) else wanted <= self.delta_floor
        if low.any():
            raise ParameterError(
                f"no epsilon holds at delta {float(wanted[low][0]):g}: the floor of delta is {self.delta_floor:g}",
                hint="ask for a delta above the floor, or lower exact_rate",
            )
        return _like(delta, self._epsilon(wanted))

    def _epsilon(self, wanted: Array) -> Array:
        """Search for `epsilon`; a closed form may stand in its place."""
        return least_epsilon(self, wanted)

    def beta(self, alpha: Numbers) -> Any:
        """Return the least share of targets that an attacker misses at this rate of false alarms.

        Parameters
        ----------
        alpha : float or array_like
            Rates in [0, 1].

        Returns
        -------
        float or ndarray
            `sup_ε 1 - delta(ε) - e^ε α`.

        Examples
        --------
        >>> from versadp.privacy import gaussian
        >>> round(gaussian(1.0).beta(0.05), 6)
        0.740489
        """
        rates = inputs.array("alpha", alpha, 0.0, 1.0).ravel()
        value = np.zeros_like(rates)
        inner = (rates > 0) & (rates < 1 - self._quick_floor)
        if inner.any():
            value[inner] = self._beta(rates[inner])
        if (rates == 0).any():
            value[rates == 0] = 1 - self.delta_floor
        return _like(alpha, np.clip(value, 0.0, 1 - rates))

    def _beta(self, rates: Array) -> Array:
        """Search for `beta`; what is known of it otherwise may stand in its place."""
        return least_beta(self, rates)

    def advantage(self) -> float:
        """Return the largest of `1 - alpha - beta(alpha)`: how far an attacker's guess beats a blind one.

        Returns
        -------
        float
            `delta(0)`, the total variation distance of P and Q.

        Examples
        --------
        >>> from versadp.privacy import randomized_response
        >>> round(randomized_response(4, 0.5).advantage(), 12)
        0.5
        """
        return float(self.delta(0.0))

    def compose(self, k: int) -> PrivacyProfile:
        """Return the profile of k releases of the same people, each with fresh noise.

        Parameters
        ----------
        k : int
            Number of releases, at least 1.

        Returns
        -------
        PrivacyProfile

        Examples
        --------
        >>> from versadp.privacy import gaussian
        >>> round(gaussian(1.0).compose(4).delta(1.0), 9) == round(gaussian(2.0).delta(1.0), 9)
        True
        """
        from versadp.privacy.layers.composition import compose

        return compose(*[self] * inputs.whole("k", k, 1))

    def to_pld(self, mesh: float = 1e-4) -> Any:
        """Return a privacy loss distribution of the package dp-accounting that is never more private than this.

        Parameters
        ----------
        mesh : float
            Discretisation of the privacy loss.

        Returns
        -------
        dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution

        Examples
        --------
        >>> from versadp.privacy import randomized_response
        >>> pld = randomized_response(4, 0.5).to_pld()  # doctest: +SKIP
        """
        from versadp.privacy.bridges import to_pld

        return to_pld(self, mesh)

    def plot(
        self,
        path: str | Path | None = None,
        *,
        show: str = "both",
        label: str = "best attacker",
        beside: Mapping[str, PrivacyProfile] | None = None,
    ) -> Any:
        """Draw beta over alpha and delta over epsilon; write the picture if a path is given.

        Parameters
        ----------
        path : str or Path, optional
            File to write; the suffix decides the format.
        show : {"both", "tradeoff", "profile"}
        label : str
            What this guarantee is called in the picture.
        beside : mapping of str to PrivacyProfile, optional
            Other guarantees to draw with it, by what they are called.

        Returns
        -------
        matplotlib.figure.Figure

        Examples
        --------
        >>> from versadp.privacy import gaussian
        >>> figure = gaussian(1.0).plot(beside={"twice": gaussian(1.0).compose(2)})  # doctest: +SKIP
        """
        from versadp.privacy.picture import draw

        return draw(self, path, show=show, label=label, beside=beside)

    def describe(self) -> str:
        """Return the guarantee in words.

        Returns
        -------
        str

        Examples
        --------
        >>> from versadp.privacy import approx_dp
        >>> print(approx_dp(1.0, 0.01).describe().splitlines()[0])
        Privacy of (1, 0.01)-differential privacy
        """
        from versadp.privacy.wording import describe

        return describe(self)

    def __str__(self) -> str:
        return self.describe()
