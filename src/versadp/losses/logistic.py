"""Logistic loss: `log(1 + e^u) - y u`, y in {0, 1}. Logistic regression.

With noise in u it is corrected to `log(1 + e^u) - y u - ((1 - r)/2) t E p(1 - p)` at u + L, p = 1/(1 + e^-u), by
quadrature on a grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.losses.corrected_tables import FAR, GRID, Closed
from versadp.losses.index_loss import IndexLoss, saved_as, still_says
from versadp.losses.quadrature import by_rule, few
from versadp.losses.response_law import Bernoulli

if TYPE_CHECKING:
    from versadp.inputs import Array
    from versadp.losses.response_law import ResponseLaw


class Logistic(IndexLoss):
    """Logistic loss, `log(1 + e^u) - y u` with y in {0, 1}.

    Examples
    --------
    >>> Logistic().derivatives(np.array([0.0]), np.array([1.0]), order=2)
    (array([-0.5]), array([0.25]))
    """

    name = "logistic"
    order = 4
    natural = True
    classes = (0.0, 1.0)

    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""
        return np.logaddexp(0.0, u) - y * u

    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return derivatives in u."""
        p = _sigmoid(u)
        v = p * (1.0 - p)
        if order <= 2:
            return (p - y, v)[:order]
        return (p - y, v, v * (1.0 - 2.0 * p), v * (1.0 - 6.0 * v))[:order]

    @saved_as("logistic")
    def mean(self, u: Array) -> Array:
        """Return the probability of y = 1."""
        return _sigmoid(u)

    def response_law(self) -> ResponseLaw | None:
        """Return the Bernoulli law with a logit link."""
        return Bernoulli() if still_says(self, "response_law", ("value", "derivatives")) else None

    def closed(
        self, u: Array, y: Array, t: float, rate: float, bandwidth: float, *, bent: bool
    ) -> tuple[Array, ...] | None:
        """Return `G_u, G_t`, and `G_uu, G_ut, G_tt` too if `bent`; the term y u is linear and needs no correction."""
        first, *others = Softplus(rate).at(u, t, bent=bent)
        return first - y, *others


@dataclass(frozen=True)
class Softplus(Closed):
    """The corrected log(1 + e^v).

    Examples
    --------
    >>> first, _, _ = Softplus(rate=0.2).slopes(np.array([-50.0, 0.0, 50.0]), t=0.5)
    >>> first.round(9)
    array([0. , 0.5, 1. ])
    """

    @property
    def core(self) -> float:
        """The |v| from which log(1 + e^v) is linear."""
        return FAR

    def points(self, reach: float) -> int:
        """Return the number of points of a table; the loss is smooth at a scale of 1."""
        return min(GRID, int(128 + 96 * reach))

    def slopes(self, v: Array, t: float) -> tuple[Array, Array, Array]:
        """Return `G_v, G_t, G_vv`."""
        first, by_t, second, _, _ = by_rule(Logistic(), v, np.zeros_like(v), t, self.rate, rule=few(32))
        return first, by_t, second


def _sigmoid(u: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(u))
