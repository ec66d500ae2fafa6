"""Where the index of a model lies, as far as declared bounds and corrected moments tell.

Series are made for an interval (`series.py`), and no fit may leave it: within the bounds of the columns, and within
some corrected standard deviations of the corrected mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.terms import Terms

    Array = NDArray[np.float64]

WIDER, ROOM = 1.3, 1.1  # the interval of a series beside the index's, and what must be left of it
SPREADS = 6.0  # standard deviations of the index beyond which nobody is
GRID = 400


@dataclass(frozen=True)
class IndexLaw:
    """Where the index of a model lies, as far as corrected moments and declared bounds tell.

    Attributes
    ----------
    low, high : float
        The interval that it lies in.
    mean, sd : float
    """

    low: float
    high: float
    mean: float
    sd: float

    def reaches(self, other: IndexLaw) -> bool:
        """Tell whether another law lies in the interval of this."""
        return self.low <= other.low and other.high <= self.high

    def holds(self, other: IndexLaw) -> bool:
        """Tell whether a series made for this law serves another: it is as wide, and not much wider."""
        return self.reaches(other.wider(ROOM)) and self.width < WIDER**2 * other.width

    def wider(self, factor: float) -> IndexLaw:
        """Return the law with room to move."""
        more = (factor - 1) / 2 * self.width
        return replace(self, low=self.low - more, high=self.high + more)

    def beside(self, other: IndexLaw) -> IndexLaw:
        """Return a law that reaches as far as this one and another."""
        return replace(self, low=min(self.low, other.low), high=max(self.high, other.high), sd=max(self.sd, other.sd))

    @property
    def width(self) -> float:
        """Length of the interval."""
        return self.high - self.low

    def grid(self) -> tuple[Array, Array]:
        """Return values of the index and their weights: half of it normal, half even, for laws that are not."""
        u = np.linspace(self.low, self.high, GRID)
        normal = np.exp(-0.5 * ((u - self.mean) / self.sd) ** 2)
        return u, (normal / normal.sum() + 1 / GRID) / 2


def index_law(form: Terms, seen: Any, theta: Array) -> IndexLaw:
    """Return where the index lies at a theta: within bounds, and a few standard deviations around its mean."""
    share = np.ones(len(seen.m)) if seen.weight is None else seen.weight
    mean = float(share @ (seen.m @ theta) / seen.total)
    square = float(theta @ seen.squares @ theta / seen.total)
    low, high = form.ends(seen, theta)
    wide = high - low + 1e-3
    # corrected second moments may be negative where they tell little
    sd = float(np.sqrt(np.clip(square - mean**2, (wide / 20) ** 2, wide**2)))
    middle = float(np.clip(mean, low, high))
    low, high = max(low, middle - SPREADS * sd), min(high, middle + SPREADS * sd)
    return IndexLaw(float(low) - 0.05, float(high) + 0.05, middle, sd)
