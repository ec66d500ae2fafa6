"""Evidence of releases of two records against a claim: a bound on epsilon, and a band around the trade-off curve.

    epsilon >= log((q - delta) / p),        f(alpha + band) <= beta + band  for all thresholds at once.

A claimed curve is the largest of its lines, `f(alpha) >= 1 - delta(ε) - e^ε alpha`; a few hundred of them, of which
delta is computed once, are never above it and as near as matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.auditing.candidates import Bits
    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]

THRESHOLDS = 400
LINES = 200
LARGEST = 30.0


@dataclass(frozen=True)
class Claim:
    """A profile, the deltas at which its epsilon is attacked, and lines below its curve."""

    profile: PrivacyProfile
    deltas: tuple[float, ...]

    @cached_property
    def epsilons(self) -> dict[float, float]:
        """Claimed epsilon at each delta."""
        return {delta: float(self.profile.epsilon(delta)) for delta in self.deltas}

    @cached_property
    def _lines(self) -> tuple[Array, Array]:
        most = min(float(self.profile.pure_epsilon), LARGEST)
        epsilon = np.unique(np.concatenate([np.linspace(0, most, LINES), np.geomspace(1e-3, max(most, 1e-2), LINES)]))
        signed = np.concatenate([-epsilon[::-1], epsilon])
        return 1 - np.asarray(self.profile.delta(signed)), np.exp(signed)

    def misses(self, alpha: Array) -> Array:
        """Return what must be missed at these rates of false alarms: at most the claimed curve.

        Examples
        --------
        >>> from versadp.privacy import gaussian
        >>> claim = Claim(gaussian(1.0), ())
        >>> bool(0 <= gaussian(1.0).beta(0.05) - claim.misses(np.array([0.05]))[0] < 1e-4)
        True
        """
        start, slope = self._lines
        return np.asarray(np.maximum(np.max(start[:, None] - slope[:, None] * alpha, axis=0), 0.0))


def epsilon_found(found: dict[str, Bits], delta: float, error: float) -> tuple[float, str]:
    """Choose the best event, in either direction, on one half and bound epsilon on the other.

    Examples
    --------
    >>> from versadp.auditing.candidates import Bits
    >>> rng = np.random.default_rng(0)
    >>> heads = Bits(rng.random(20_000) < 0.2, rng.random(20_000) < 0.6)  # log 3 = 1.0986
    >>> epsilon, event = epsilon_found({"heads": heads}, 0.0, 1e-3)
    >>> round(epsilon, 1), event
    (1.0, 'heads')
    """
    names, half = list(found), len(next(iter(found.values())).null) // 2
    first, second = (np.array([[part[at].sum() for part in found[name]] for name in names]) for at in _halves(half))
    sizes = half, len(next(iter(found.values())).null) - half
    # both directions: rare under the first record, and rare under the second
    promise = np.stack([_bound(rare, common, sizes[0], delta, error) for rare, common in (first.T, first.T[::-1])])
    way, best = np.unravel_index(int(np.argmax(promise)), promise.shape)
    rare, common = second[best] if way == 0 else second[best][::-1]
    return float(_bound(np.array([rare]), np.array([common]), sizes[1], delta, error)[0]), names[best]


def _halves(half: int) -> tuple[slice, slice]:
    return slice(half), slice(half, None)


def _bound(rare: NDArray[np.int64], common: NDArray[np.int64], n: int, delta: float, error: float) -> Array:
    """Return `log((q - delta) / p)` with q bounded below and p above (Clopper-Pearson), each at half of the error."""
    from scipy.special import betaincinv

    upper = np.where(rare == n, 1.0, 1 - betaincinv(np.maximum(n - rare, 1), rare + 1, error / 2))
    lower = np.where(common == 0, 0.0, betaincinv(np.maximum(common, 1), n - common + 1, error / 2))
    return np.log(np.maximum((lower - delta) / upper, 1.0))


def curve(null: Array, other: Array) -> tuple[Array, Array]:
    """Return false alarms and misses of the likelihood-ratio test at many thresholds."""
    order = [np.sort(null), np.sort(other)]
    pooled = np.sort(np.concatenate(order))
    t = np.unique(pooled[np.linspace(0, pooled.size - 1, THRESHOLDS).astype(int)])
    alpha = 1 - np.searchsorted(order[0], t, side="right") / null.size
    beta = np.searchsorted(order[1], t, side="right") / other.size
    return alpha, beta
