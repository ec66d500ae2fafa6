r"""Symmetric Laplace noise: the exact profile at every dimension, and its limit.

With P = ``SL_d(I)``, Q = P moved by `shift` c, and κ = -log(1 - delta):

    d = 1       delta(ε) = 1 - exp(-(√2 c - ε)/2), pure at ε = √2 c (the Laplace mechanism)
    d >= 2      `versadp.privacy.curves.exact`; no pure ε, as the density has a pole
    d -> inf    delta(ε) = 1 - exp(-c²/(ε + sqrt(ε² + 2c²)))

The last is the paper's profile theorem with its three terms summed: with a = ε/c, s = sqrt(2 + a²) both
`e^ε (1 - F_c(ε))` and the miss rate carry the factor exp(-(c/2)(s - a)), and their weights (1 ± a/s)/2 add to 1.
Inverted: `ε = c²/(2κ) - κ` and `c = sqrt(2κ (ε + κ))`. At ε = 0 all dimensions agree, 1 - exp(-c/√2), because the
best attacker's event is then a half-space and sees one coordinate only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from versadp import inputs
from versadp.privacy.curves.exact import curve
from versadp.privacy.curves.interpolant import curve_table
from versadp.privacy.profile import ULP, PrivacyProfile, up
from versadp.privacy.solving.searches import least_beta

Array = NDArray[np.float64]

MAX_DIM = 10_000
SHIFTS = (1e-6, 1e3)  # where the exact curve is computed; outside, the limit is used
_ROOT2 = float(np.sqrt(2.0))
_MANY = 600  # epsilons beyond which interpolating the curve is cheaper
_NEAR_ZERO = 1e-11  # below this epsilon delta(0), which is larger by less than epsilon, stands in


def limit_delta(shift: float, epsilon: Array) -> Array:
    """Return ``1 - exp(-c²/(ε + sqrt(ε² + 2c²)))``, the limit of delta as dim grows and its bound at every dim.

    Parameters
    ----------
    shift : float
        Distance c.
    epsilon : ndarray
        At least 0.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> limit_delta(0.5, np.array([0.8, 0.3])).round(6)
    array([0.125282, 0.208684])
    """
    return np.asarray(-np.expm1(-shift * (shift / (epsilon + np.hypot(epsilon, _ROOT2 * shift)))))


@dataclass(frozen=True, slots=True)
class SymmetricLaplaceLimit(PrivacyProfile):
    """The limit of `SymmetricLaplace` as dim grows; see `symmetric_laplace_limit`."""

    shift: float
    instead_of: str = ""

    @property
    def delta_floor(self) -> float:
        """Zero: no record is ever given away with certainty."""
        return 0.0

    @property
    def notes(self) -> tuple[str, ...]:
        """Say if this stands in for a curve outside the range of exact computation."""
        return (self.instead_of,) if self.instead_of else ()

    def _title(self) -> str:
        return f"symmetric Laplace noise of any dimension (limit), shift {self.shift:.6g}"

    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        h = np.hypot(epsilon, _ROOT2 * self.shift)
        # (1 - a/s)/2 exp(-(c/2)(a + s)), written without a difference and without quotients that overflow
        alarms = (self.shift / h) * (self.shift / (h + epsilon)) * np.exp(-(epsilon + h) / 2)
        return up(limit_delta(self.shift, epsilon), 4), alarms

    def _epsilon(self, wanted: Array) -> Array:
        certain = wanted == 1
        kappa = -np.log1p(-np.where(certain, 0.5, wanted)) * (1 - 16 * ULP)
        exact = self.shift * (self.shift / (2 * kappa)) - kappa
        safe = np.maximum(exact + 8 * ULP * (np.abs(exact) + 2 * kappa), 0.0)
        return np.where(certain, 0.0, safe)


@dataclass(frozen=True, slots=True)
class SymmetricLaplace(PrivacyProfile):
    """Symmetric Laplace noise of a given dimension; see `symmetric_laplace`."""

    dim: int
    shift: float

    @property
    def delta_floor(self) -> float:
        """Zero: no record is ever given away with certainty."""
        return 0.0

    @property
    def pure_epsilon(self) -> float:
        """√2 shift at dim 1; none from dim 2 on, where the density has a pole."""
        return _ROOT2 * self.shift * (1 + 8 * ULP) if self.dim == 1 else float("inf")

    @property
    def _kinks(self) -> Array:
        return np.array([self.pure_epsilon] if self.dim == 1 else [])

    def _title(self) -> str:
        return f"symmetric Laplace noise, dim {self.dim}, shift {self.shift:.6g}"

    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        if self.dim == 1:
            return self._laplace(epsilon)
        bound, alarms = SymmetricLaplaceLimit(self.shift)._curve(epsilon)
        value = np.full(epsilon.shape, up(-np.expm1(-self.shift / _ROOT2), 4))
        alarms = np.where(epsilon > _NEAR_ZERO, alarms, 0.5 * np.exp(-self.shift / _ROOT2))
        away = epsilon > _NEAR_ZERO
        if away.any():
            if np.count_nonzero(away) > (_MANY if self.dim > 2 else 5 * _MANY):  # dim 2 needs more panels
                value[away], alarms[away] = curve_table(self.dim, self.shift)(epsilon[away])
            else:
                exact, error, alarms[away] = curve(self.dim, self.shift, epsilon[away])
                value[away] = np.maximum(exact, 0.0) + error
        return np.minimum(value, bound), alarms

    def _beta(self, rates: Array) -> Array:
        if self.dim > 1:
            return least_beta(self, rates)
        overlap = np.exp(-self.pure_epsilon)
        with np.errstate(divide="ignore", over="ignore"):  # an overlap of nothing: beta is 0
            below = 1 - rates / overlap
        branches = below, 0.25 * overlap / rates, overlap * (1 - rates)
        # the Laplace mechanism's trade-off: a line, a hyperbola, a line
        value = np.select([rates < overlap / 2, rates < 0.5], branches[:2], branches[2])
        return np.asarray(value * (1 - 8 * ULP) - 8 * ULP)

    def _laplace(self, epsilon: Array) -> tuple[Array, Array]:
        room = _ROOT2 * self.shift - epsilon
        rounding = 2 * ULP * (epsilon + _ROOT2 * self.shift)
        value = -np.expm1(-np.maximum(room + rounding, 0.0) / 2)
        alarms = np.where(room > 0, 0.5 * np.exp(-(epsilon + _ROOT2 * self.shift) / 2), 0.0)
        return np.where(epsilon >= self.pure_epsilon, 0.0, up(value, 2)), alarms


def symmetric_laplace(dim: int, shift: float) -> PrivacyProfile:
    """Return the exact profile of ``SL_dim`` noise under a shift of the record.

    Parameters
    ----------
    dim : int
        Number of noisy columns in the block, also where only one of them differs between neighbours: the others
        tell the attacker how large the noise was.
    shift : float
        Largest distance of two neighbouring records, in units of the noise scale.

    Returns
    -------
    PrivacyProfile
        Exact for dim up to 10,000 and shifts from 1e-6 to 1000; beyond, the limit, which is safe, and `notes` says so.

    Examples
    --------
    >>> p = symmetric_laplace(dim=6, shift=0.5)
    >>> round(p.delta(0.8), 10), round(p.delta(0.3), 10)
    (0.0960839561, 0.2017431824)
    >>> round(symmetric_laplace(dim=1, shift=0.5).pure_epsilon, 6)
    0.707107
    """
    dim = inputs.whole("dim", dim, 1)
    shift = inputs.number("shift", shift, 0.0, np.inf, open_low=True, open_high=True)
    if dim == 1:
        return SymmetricLaplace(1, shift)
    if dim > MAX_DIM or not SHIFTS[0] <= shift <= SHIFTS[1]:
        note = f"dim {dim}, shift {shift:g} is outside the range of the exact curve: the limit in dim bounds it"
        return SymmetricLaplaceLimit(shift, note)
    return SymmetricLaplace(dim, shift)


def symmetric_laplace_limit(shift: float) -> PrivacyProfile:
    """Return the profile to which `symmetric_laplace` falls as dim grows: a bound at every dim, loose at small ones.

    Parameters
    ----------
    shift : float
        Largest distance of two neighbouring records, in units of the noise scale.

    Returns
    -------
    PrivacyProfile

    Examples
    --------
    >>> p = symmetric_laplace_limit(shift=0.5)
    >>> p.delta([0.8, 0.3]).round(6)
    array([0.125282, 0.208684])
    """
    return SymmetricLaplaceLimit(inputs.number("shift", shift, 0.0, np.inf, open_low=True, open_high=True))
