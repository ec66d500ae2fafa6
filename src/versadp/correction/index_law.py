"""Range and law of an index and of residuals, by declared bounds, corrected moments and corrected waves.

Series are made for an interval (`series.py`), and no fit may leave it: within the bounds of the columns, and within
some corrected standard deviations of the corrected mean. Residuals of a line have the density

    f(e) = (1/P) Σ_m shrink_m phi(2πm/P) e^{-i 2πm e/P},     phi(t) = mean of the corrected e^{it(y - u)},

P a period beyond all residuals, up to where phi is lost in its own sampling error s: `shrink = 1 - s²/|phi|²`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.layers import Layers
    from versadp.correction.terms import Terms

    Array = NDArray[np.float64]

WIDER, ROOM = 1.3, 1.1  # the interval of a series beside the index's, and what must be left of it
SPREADS = 6.0  # standard deviations of the index beyond which nobody is
GRID = 400  # values of the argument at which a series and its loss are compared: 7 or more per wave
LONGER = 1.25  # period of the density of residuals, in lengths of the interval that they lie in
WAVES, ROWS, PLACES = 160, 20_000, 1000  # of that density: frequencies, records that tell of them, values it is had at
SEEN = 2.0  # sampling errors that a wave must stand out by


@dataclass(frozen=True)
class IndexLaw:
    """Range, mean and spread of the index of a model, by corrected moments and declared bounds.

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


def distribution_of(form: Terms, seen: Layers, theta: Array, reach: tuple[float, float]) -> tuple[Array, Array, float]:
    """Return values of residuals, the share of records below each, and how many raw records would tell as much.

    Parameters
    ----------
    form : Terms
    seen : Layers
        Some records.
    theta : array (p,)
        Of the line.
    reach : tuple of float
        Between which `u - y` lies.
    """
    low, high = -reach[1], -reach[0]
    period, n = LONGER * (high - low), len(seen.m)
    some = np.arange(n) if n <= ROWS else np.random.default_rng(1).choice(n, ROWS, replace=False)
    tau = 2 * np.pi / period * np.arange(1.0, WAVES + 1)
    share = np.ones(len(some)) if seen.weight is None else seen.weight[some] / seen.weight[some].mean()
    at, density = np.linspace(low, high, PLACES), np.ones(PLACES)
    told = float(len(some))
    train = form.train(theta, -1.0)
    for frequency in np.array_split(tau, 20):
        waves = share[:, None] * np.conj(form.waves(seen, theta, frequency, some, train))
        phi, error = waves.mean(axis=0), waves.var(axis=0) / len(some)
        kept = np.cumprod(np.abs(phi) ** 2 > SEEN**2 * error)
        shrink = kept * (1 - error / np.maximum(np.abs(phi) ** 2, 1e-300))
        density += 2 * (np.exp(-1j * np.multiply.outer(at, frequency)) @ (shrink * phi)).real
        told = min(told, 1 / float(error[0])) if frequency[0] == tau[0] else told
        if not kept[-1]:
            break
    total = np.cumsum(np.maximum(density, 0.0))
    return at, total / total[-1], told * n / len(some)
