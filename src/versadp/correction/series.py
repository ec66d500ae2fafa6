"""A natural loss as a short series on the interval where its index lies.

    A(u) ~ linear u + (quadratic/2) u² + Re Σ_{m<=M} weight_m e^{i m ω u},    loss = A(u) - y u

Noise in the index multiplies waves and leaves powers with polynomials, so every term is undone exactly, all orders of a
window included; what is left is how far the series is from A. Let A' + err be its derivative. The error shifts an
estimate by V^-1 E m err, V = E m m' A'', and by Cauchy's inequality by no more than

    E err²/A''      in squares of the metric of V,

where the least possible variance of n records is 1/n a coefficient. Weights minimise `E err²/A'' + (RIDGE/n) E D²/A''`,
with D the corrected derivative of the series at the released records: the price of a frequency that windows have all
but erased is in it, without any rule of its own. M is the least for which the error is negligible, and where none is
small enough, windows have erased what the loss needs: that is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import ParameterError
from versadp.losses.expansion import Expansion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.expanded import Expanded
    from versadp.correction.strata import Stratified
    from versadp.losses import IndexLoss

    Array = NDArray[np.float64]

STRETCH = 1.5  # half a period, in half intervals: a series that need not be periodic on the interval
RIDGE = 0.01
NEGLIGIBLE, TOLERABLE = 0.1, 0.25  # standard errors of shift
WAVES = 24
WIDER, ROOM = 1.3, 1.1  # the interval of a series beside the index's, and what must be left of it
LARGEST = 1e3  # of a gain: a frequency beyond it is lost
SPREADS = 6.0  # standard deviations of the index beyond which nobody is
GRID, ROWS = 400, 5000


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

    @property
    def width(self) -> float:
        """Length of the interval."""
        return self.high - self.low

    def grid(self) -> tuple[Array, Array]:
        """Return values of the index and their weights: half of it normal, half even, for laws that are not."""
        u = np.linspace(self.low, self.high, GRID)
        normal = np.exp(-0.5 * ((u - self.mean) / self.sd) ** 2)
        return u, (normal / normal.sum() + 1 / GRID) / 2


def index_law(form: Expanded | Stratified, seen: Any, theta: Array) -> IndexLaw:
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


def series(form: Expanded | Stratified, seen: Any, theta: Array, loss: IndexLoss) -> tuple[Expansion, IndexLaw]:
    """Return the series of a natural loss around a theta, and the law of the index that it is for."""
    law = index_law(form, seen, theta).wider(WIDER)
    n = len(seen.m)
    u, chance = law.grid()
    slope, bend = loss.derivatives(u, np.zeros_like(u), 2)
    bend = np.maximum(bend, 1e-2 * bend.max())
    base = 2 * np.pi / (STRETCH * law.width)
    tau = base * np.arange(1.0, WAVES + 1)
    most = int(np.argmax(np.append(form.gains(seen, theta, tau) > LARGEST, True)))
    some = np.arange(n) if n <= ROWS else np.random.default_rng(0).choice(n, ROWS, replace=False)
    terms = _terms(u, np.exp(1j * np.multiply.outer(u, tau)), tau)
    noisy = _terms(seen.m[some] @ theta, form.waves(seen, theta, tau, some), tau)
    weight, level = chance / bend, float(chance @ bend)
    best = np.inf
    for count in range(1, most + 1):
        used = np.r_[0, 1, 2 : 2 + 2 * count]
        left, cost = terms[:, used], noisy[:, used].T @ noisy[:, used] / (len(some) * level)
        matrix = (left * weight[:, None]).T @ left + RIDGE / n * cost
        found = np.linalg.lstsq(matrix, left.T @ (weight * slope), rcond=1e-14)[0]
        shift = float(np.sqrt(n * (weight @ (left @ found - slope) ** 2) / max(found @ cost @ found, 1.0)))
        if shift < best:
            best, kept = shift, found
        if shift < NEGLIGIBLE:
            break
    if best > TOLERABLE:
        raise ParameterError(
            f"the windows are too wide for {loss.name} loss at these slopes: what it needs of the index is erased",
            hint="squared loss needs less; or release with narrower windows, or a larger epsilon",
        )
    waves = kept[2::2] + 1j * kept[3::2]
    interval = (law.low, law.high)
    return Expansion(float(kept[0]), float(kept[1]), base, tuple(waves.tolist()), interval), law


def _terms(u: Array, waves: NDArray[np.complex128], tau: Array) -> Array:
    """Return derivatives of the terms of a series: 1, u, and of each wave's real and imaginary weight."""
    moved = 1j * tau * waves
    pairs = np.stack([moved.real, -moved.imag], axis=2).reshape(len(u), -1)
    return np.column_stack([np.ones(len(u)), u, pairs])
