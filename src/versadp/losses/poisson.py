"""Poisson loss: `e^u - y u`, y >= 0. Counts and rates with a log link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import DataError
from versadp.losses.base import IndexLoss

if TYPE_CHECKING:
    from versadp.losses.base import Array

LARGEST = 50.0  # e^50: an index beyond it has left every reasonable model


class Poisson(IndexLoss):
    """Poisson loss, `e^u - y u`.

    Examples
    --------
    >>> Poisson().derivatives(np.array([0.0]), np.array([2.0]), order=2)
    (array([-1.]), array([1.]))
    """

    name = "poisson"
    smooth = True

    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""
        return self.mean(u) - y * u

    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return derivatives in u."""
        e = self.mean(u)
        return (e - y, e, e, e)[:order]

    def response(self, y: Array) -> Array:
        """Check that no response is negative."""
        if (y < 0).any():
            raise DataError("poisson loss needs a response of 0 or more")
        return y

    def mean(self, u: Array) -> Array:
        """Return the expected count."""
        return np.exp(np.minimum(u, LARGEST))
