"""Logistic loss: `log(1 + e^u) - y u`, y in {0, 1}. Logistic regression."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.losses.base import IndexLoss, two_values

if TYPE_CHECKING:
    from versadp.losses.base import Array


class Logistic(IndexLoss):
    """Logistic loss, `log(1 + e^u) - y u` with y in {0, 1}.

    Examples
    --------
    >>> Logistic().derivatives(np.array([0.0]), np.array([1.0]), order=2)
    (array([-0.5]), array([0.25]))
    """

    name = "logistic"
    smooth = True

    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""
        return np.logaddexp(0.0, u) - y * u

    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return derivatives in u."""
        p = self.mean(u)
        v = p * (1.0 - p)
        if order <= 2:
            return (p - y, v)[:order]
        return (p - y, v, v * (1.0 - 2.0 * p), v * (1.0 - 6.0 * v))[:order]

    def response(self, y: Array) -> Array:
        """Return the response as 0 and 1."""
        return two_values(y, 0.0, 1.0, self.name)

    def mean(self, u: Array) -> Array:
        """Return the probability of y = 1."""
        from scipy.special import expit

        return np.asarray(expit(u))
