"""The worst of several guarantees: what holds whichever of them applies.

Neighbours that differ in one attribute differ in one block of a record, and any block may be the one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from versadp.errors import ParameterError
from versadp.privacy.profile import PrivacyProfile, require_profile

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Worst(PrivacyProfile):
    """The largest delta of several profiles; see `worst`."""

    members: tuple[PrivacyProfile, ...]

    @property
    def delta_floor(self) -> float:
        """The highest floor."""
        return max(p.delta_floor for p in self.members)

    @property
    def exact_share(self) -> float:
        """The largest share."""
        return max(p.exact_share for p in self.members)

    @property
    def pure_epsilon(self) -> float:
        """Epsilon at which all members have reached their floors."""
        return max(p.pure_epsilon for p in self.members)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of all members."""
        return tuple(dict.fromkeys(note for p in self.members for note in p.notes))

    @property
    def _kinks(self) -> Array:  # and others, where members cross; 0 stands for them
        return np.concatenate([[0.0], *(p._kinks for p in self.members)])

    def _title(self) -> str:
        return "the worst of " + "; ".join(p._title() for p in self.members)

    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        curves = [p._curve(epsilon) for p in self.members]
        values, alarms = np.stack([v for v, _ in curves]), np.stack([a for _, a in curves])
        best = np.argmax(values, axis=0)
        columns = np.arange(len(epsilon))
        return np.maximum(values[best, columns], self.delta_floor), alarms[best, columns]

    def _beta(self, rates: Array) -> Array:
        return np.asarray(np.min([p.beta(rates) for p in self.members], axis=0))


def worst(*profiles: PrivacyProfile) -> PrivacyProfile:
    """Return the pointwise worst of several profiles: what holds whichever of them applies.

    Parameters
    ----------
    *profiles : PrivacyProfile
        At least one. Neighbours that differ in one attribute differ in one block: each block is one profile.

    Returns
    -------
    PrivacyProfile
        `delta(ε) = max_i delta_i(ε)` and ``beta(α) = min_i beta_i(α)``. Each pair of neighbours is one of these, so
        both hold; where the members cross, beta lies above the `sup_ε 1 - delta(ε) - e^ε α` of a single pair.

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
