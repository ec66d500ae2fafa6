"""Poisson loss: `e^u - y u`, y >= 0. Counts and rates with a log link.

With noise in u it is corrected to `e^u (1 - t/2) / (1 - r t/2) - y u`, for t < 2 only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import DataError, ParameterError
from versadp.losses.expansion import Expansion
from versadp.losses.index_loss import IndexLoss, saved_as, still_says
from versadp.losses.response_law import LARGEST_INDEX, Counts

if TYPE_CHECKING:
    from versadp.inputs import Array
    from versadp.losses.response_law import ResponseLaw


class Poisson(IndexLoss):
    """Poisson loss, `e^u - y u`.

    Examples
    --------
    >>> Poisson().derivatives(np.array([0.0]), np.array([2.0]), order=2)
    (array([-1.]), array([1.]))
    """

    name = "poisson"
    order = 4
    natural = True

    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""
        return _rate_of(u) - y * u

    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return derivatives in u."""
        e = _rate_of(u)
        return (e - y, e, e, e)[:order]

    def response(self, y: Array) -> Array:
        """Return the response, checked to be 0 or more."""
        if (y < 0).any():
            raise DataError("poisson loss needs a response of 0 or more", hint="use squared loss for other responses")
        return y

    @saved_as("exponential")
    def mean(self, u: Array) -> Array:
        """Return the expected count, infinite where it overflows."""
        with np.errstate(over="ignore"):
            return np.exp(u)

    def expansion(self) -> Expansion | None:
        """Return `e^u - y u`: one wave, with the frequency -i."""
        if not still_says(self, "expansion", ("value", "derivatives")):
            return None
        return Expansion(base=-1j, weights=(1.0,))

    def response_law(self) -> ResponseLaw | None:
        """Return the Poisson law with a log link."""
        return Counts() if still_says(self, "response_law", ("value", "derivatives")) else None

    def closed(
        self, u: Array, y: Array, t: float, rate: float, bandwidth: float, *, bent: bool
    ) -> tuple[Array, ...] | None:
        """Return `G_u, G_t, G_uu, G_ut, G_tt`."""
        if t >= 2:
            raise ParameterError(
                "poisson loss cannot be corrected analytically at this much noise: it is unbiased only below B = 1",
                hint="use method 'efficient', or the extension 'zero' or 'clip' with draws",
            )
        e, low = _rate_of(u), 1 - rate * t / 2
        factor, slope, bend = (1 - t / 2) / low, -(1 - rate) / 2 / low**2, -(1 - rate) * rate / 2 / low**3
        return e * factor - y, e * slope, e * factor, e * slope, e * bend


def _rate_of(u: Array) -> Array:
    """Return e^u, bounded, so that a Newton step that is too long gives a large and not an infinite loss."""
    return np.exp(np.minimum(u, LARGEST_INDEX))
