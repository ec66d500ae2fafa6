"""Counts of one column's outputs, and what undoes the noise in its distribution function.

    E psi_t(Z) = 1{x <= t}        for every x of the domain, and any t

Of one column alone psi_t is a function of its released value, so that counts of outputs tell the corrected distribution
function at all t, and its errors, whatever the number of records: they are counted once.

**Laplace.** With r the exact rate, the second randomisation S of a column is Laplace with scale `b = sigma sqrt(r/2)`:

    psi_t(z) = 1{z <= t}/r + (1 - 1/r) P(z + S <= t).

**Lattice without windows** (randomised response): `psi_t(z) = 1{z <= t}/kappa + (1 - 1/kappa) share of outputs <= t`,
as `lattice.py` undoes any function of one column.

Beyond the domain the distribution function is known, 0 below and 1 above: what psi_t says there has mean 0 and is a
control variate (`describing/cumulative.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MOST = 2**14  # even bins
WINDOWED = 2**12  # bins of outputs whose windows are wider than they are
INSIDE = 2**11
FINER, BEYOND, FAR = 32, 8, 20  # bins in one b: in the domain, outside it; and how many b are looked at outside
CONTROLS = (0.0, 0.3, 1.0)  # how far outside, in noise scales


@dataclass(frozen=True)
class Bins:
    """Even bins over the outputs of a column, wider ones beyond its domain, and one for what is missing, the last.

    Attributes
    ----------
    low, high : float
        Ends of the even bins.
    width : float
        Of each; the last may be narrower.
    tail : float
        Width of the bins beyond; the last of them has no end.
    beyond : int
        How many there are on either side.
    outside : tuple of float
        Values below and above the domain at which the distribution function serves as a control variate.

    Examples
    --------
    >>> bins = Bins(0.0, 2.0, 1.0, tail=3.0, beyond=1)
    >>> bins.edges, bins.place(np.array([-9.0, 0.5, 1.5, 2.5, np.nan]))
    (array([-3.,  0.,  1.,  2.,  5.]), array([0, 1, 2, 3, 4]))
    """

    low: float
    high: float
    width: float
    tail: float = 0.0
    beyond: int = 0
    outside: tuple[float, ...] = ()

    @property
    def inside(self) -> int:
        """Number of even bins."""
        return int(np.ceil((self.high - self.low) / self.width - 1e-6))

    @property
    def count(self) -> int:
        """Number of bins, that of missing values among them."""
        return self.inside + 2 * self.beyond + 1

    @property
    def edges(self) -> Array:
        """Ends of the bins of values."""
        even = np.append(self.low + self.width * np.arange(self.inside), self.high)
        away = self.tail * np.arange(1, self.beyond + 1)
        return np.concatenate([self.low - away[::-1], even, self.high + away])

    @property
    def middles(self) -> Array:
        """The middle of each bin of values."""
        edges = self.edges
        return np.asarray((edges[1:] + edges[:-1]) / 2)

    def place(self, values: Array) -> NDArray[np.int64]:
        """Return the bin of each value."""
        at = (values - self.low) / self.width + self.beyond
        if self.beyond:
            out = (values < self.low) | (values >= self.high)
            far = values[out]
            start = np.where(far < self.low, self.low, self.high)
            first = np.where(far < self.low, self.beyond, self.beyond + self.inside)
            at[out] = np.floor((far - start) / self.tail) + first
        np.clip(at, 0, self.count - 2, out=at)
        unknown = np.isnan(at)
        at[unknown] = self.count - 1
        return at.astype(np.int64)


def laplace_bins(bounds: tuple[float, float], sigma: float, rate: float, grid: tuple[float, int]) -> Bins:
    """Return bins for zero-inflated Laplace noise; `grid` is a column's grid step, and how many there are.

    Ends lie between the values of the grid, and both bounds, where values are often many, in the middle of a bin.
    """
    step, steps = grid
    b = sigma * np.sqrt(rate / 2) if rate else sigma
    most = max(min(b / FINER, (bounds[1] - bounds[0]) / INSIDE) / step, steps / MOST, 1.0)
    width = min(2 ** int(np.log2(most)), steps)  # a power of two, as the number of grid steps is
    low = bounds[0] - (width / 2 if width % 2 else (width + 1) / 2) * step
    high = low + (steps // width + 1) * width * step
    away = np.minimum(sigma * np.array(CONTROLS), 0.9 * FAR * b)
    tail = b / BEYOND
    known = tuple(np.unique(np.rint(away / tail) * tail).tolist()) if rate else ()
    return Bins(low, high, width * step, tail, BEYOND * FAR, (*(low - d for d in known), *(high + d for d in known)))


def laplace_steps(bins: Bins, t: Array, sigma: float, rate: float) -> Array:
    """Return psi_t in every bin, its mean over the bin for what is smooth in it, (bins, t)."""
    b, edges = sigma * np.sqrt(rate / 2), bins.edges
    t = np.clip(t, edges[0] - FAR * b, edges[-1] + FAR * b)
    reach = b * _rising((t - edges[:, None]) / b)
    drawn = (reach[:-1] - reach[1:]) / np.diff(edges)[:, None]
    # the last ones have no end
    drawn[0], drawn[-1] = t >= edges[0], t >= edges[-1]
    shown = bins.middles[:, None] <= t
    return np.append(shown / rate + (1 - 1 / rate) * drawn, np.zeros((1, t.size)), axis=0)


def _rising(u: Array) -> Array:
    """Return the integral of the distribution function of a Laplace variable with scale 1."""
    return np.maximum(u, 0.0) + np.exp(-np.abs(u)) / 2
