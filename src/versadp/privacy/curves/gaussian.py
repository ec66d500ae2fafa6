r"""The Gaussian profile: N(0, 1) against N(μ, 1), the yardstick of f-DP.

    delta(ε) = Φ(-ε/μ + μ/2) - e^ε Φ(-ε/μ - μ/2).

Both terms carry the density φ(-ε/μ + μ/2), which is taken out, so that a difference of Mills ratios is left and
nothing overflows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from versadp import inputs
from versadp.privacy.profile import PrivacyProfile

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gaussian(PrivacyProfile):
    """μ-GDP; see `gaussian`."""

    mu: float

    @property
    def delta_floor(self) -> float:
        """Zero."""
        return 0.0

    def _title(self) -> str:
        return f"Gaussian noise, mu {self.mu:.6g}"

    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        near = epsilon / self.mu - self.mu / 2
        far = epsilon / self.mu + self.mu / 2
        # Φ(-x) = φ(x) sqrt(π/2) erfcx(x/√2), and e^ε φ(far) = φ(near)
        density = np.exp(-0.5 * near * near) * 0.5
        scaled_far = erfcx(far / np.sqrt(2))
        tail = near > 0
        hit = np.where(tail, density * erfcx(np.where(tail, near, 0.0) / np.sqrt(2)), ndtr(-near))
        rounding = 1e-15 * (1 + near * near + epsilon) * hit  # the exponent's own rounding, times its size
        value = np.maximum(hit - density * scaled_far, 0.0) + rounding
        return np.minimum(value, 1.0), np.asarray(ndtr(-far))


def gaussian(mu: float) -> PrivacyProfile:
    """Return the profile of Gaussian noise.

    Parameters
    ----------
    mu : float
        Distance of the two means in standard deviations, positive.

    Returns
    -------
    PrivacyProfile
        Composes by ``mu = sqrt(mu1² + mu2²)``.

    Examples
    --------
    >>> round(gaussian(1.0).delta(1.0), 6)
    0.126937
    """
    return Gaussian(inputs.number("mu", mu, 0.0, np.inf, open_low=True, open_high=True))
