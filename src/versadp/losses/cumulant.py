"""The cumulant function `A(u)` of a loss `A(u) - y u` as a loss: its slope is the prediction at an index.

The score of the intercept is then the prediction itself, so that a correction of the score also corrects an average of
predictions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.losses.index_loss import IndexLoss
from versadp.losses.logistic import Logistic
from versadp.losses.poisson import Poisson
from versadp.losses.squared import Squared

if TYPE_CHECKING:
    from versadp.inputs import Array
    from versadp.losses.expansion import Expansion

OF_LINK: dict[str, type[IndexLoss]] = {"identity": Squared, "logistic": Logistic, "exponential": Poisson}


class Bare(IndexLoss):
    """The loss whose slope is the mean function of a link.

    Parameters
    ----------
    link : {"identity", "logistic", "exponential"}

    Examples
    --------
    >>> Bare("logistic").derivatives(np.array([0.0]), np.array([1.0]), order=2)
    (array([0.5]), array([0.25]))
    """

    name = "bare"
    order = 4
    natural = True

    def __init__(self, link: str) -> None:
        self.inner = OF_LINK[link]()
        self.quadratic = self.inner.quadratic  # type: ignore[misc] # of its kind, as the inner one's

    def value(self, u: Array, y: Array) -> Array:
        """Return A(u); the response is not used."""
        return self.inner.value(u, np.zeros_like(y))

    def derivatives(self, u: Array, y: Array, order: int = 4, bandwidth: float = 0.0) -> tuple[Array, ...]:
        """Return derivatives in u."""
        return self.inner.derivatives(u, np.zeros_like(y), order, bandwidth)

    def expansion(self) -> Expansion | None:
        """Return A(u) as powers and waves of the index, None if it is not exactly that."""
        found = self.inner.expansion()
        return None if found is None else replace(found, cross=0.0)

    def closed(
        self, u: Array, y: Array, t: float, rate: float, bandwidth: float, *, bent: bool
    ) -> tuple[Array, ...] | None:
        """Return the corrected loss's derivatives."""
        return self.inner.closed(u, np.zeros_like(y), t, rate, bandwidth, bent=bent)

    def in_units(self, unit: float) -> Any:
        """Return the same loss: an index in other units is converted back before it is used."""
        return self
