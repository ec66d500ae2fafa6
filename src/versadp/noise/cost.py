r"""Cost of noise for an analyst, before any data are seen: the variance of unbiased decoders.

For a number x, centred on the middle of its bounds and in widths, let `E psi1(z) = x` and `E psi2(z) = x²` given x.
With n records the variance of the mean is `E psi1²/n`, and that of the slope of a public response `y = theta x + e` is

    [sigma² E psi1² + theta² E (x psi1 - psi2)²] / (n E² x²)        from the score  y psi1 - theta psi2,

against `E x²/n` and `sigma²/(n E x²)` for raw data. So, where signal and error are equally strong (an R² of ½), the
noise multiplies the standard errors of mean and slope by

    sqrt(first/s²),      sqrt(first/s² + cross/s⁴),      s² = E x²,  first = E psi1²,  cross = E (x psi1 - psi2)².

The slope's denominator is estimated too, with `second = var psi2`: in n records it is t standard errors away from 0,
``t = s² sqrt(n/second)``, and where that is below 2 there is no slope to be had.

x is taken to be even around the middle, with `E x⁴ = 1.8 s⁴` as for values spread evenly over an interval. These are
the plain decoders; ``method="efficient"`` is at least as good.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

EVEN = 1 / math.sqrt(12)  # the standard deviation of values spread evenly over their bounds, in widths
RESOLUTION = 0.05  # of quantiles, in widths
LEAST_T = 2.0
OFF_MIDDLE = (
    0.15  # widths: how far a mean is taken to lie from the middle of the bounds, where missing values cost more
)
GONE = 0.1  # share of values that is taken to be missing; costs hardly depend on it


class Decoders(NamedTuple):
    """Second moments of the decoders of one column, for a given standard deviation, all in widths."""

    spread: float
    first: float
    cross: float
    second: float

    @property
    def mean(self) -> float:
        """By how much the noise multiplies the standard error of a mean."""
        return math.sqrt(self.first) / self.spread

    @property
    def slope(self) -> float:
        """By how much it multiplies that of a slope, at an R² of ½."""
        return math.sqrt(self.first / self.spread**2 + self.cross / self.spread**4)

    def strength(self, rows: int) -> float:
        """Return t: how many standard errors the corrected variance of the column is away from 0."""
        return self.spread**2 * math.sqrt(rows / self.second)


class State(NamedTuple):
    """One state of the noise: a released column less its centre is x (or 0) and an even draw around it.

    Given the state, columns are independent.
    """

    share: float
    keeps: bool
    second: Array  # moments of the draw, in the columns' own units
    fourth: Array


def window_states(keep: float, last: Array, window: Array, width: Array) -> tuple[State, State]:
    """Return the two states of a window: kept, and redrawn.

    Examples
    --------
    >>> one = np.array([1.0])
    >>> kept, drawn = window_states(0.9, last=1000 * one, window=100 * one, width=one)
    >>> kept.keeps, drawn.keeps, float(drawn.second[0].round(4))
    (True, False, 0.1008)
    """
    states = []
    for share, keeps, points in ((keep, True, window), (1 - keep, False, last + window)):
        second, fourth = zip(*(_even(n, m) for n, m in zip(points, last, strict=True)), strict=True)
        states.append(State(share, keeps, np.array(second) * width**2, np.array(fourth) * width**4))
    return states[0], states[1]


def window_decoders(spread: float, keep: float, last: int, window: int) -> Decoders:
    """Return the decoders of a window: ``psi1 = z/keep``, ``psi2 = (z² - (1 - keep) E d²)/keep - E u²``.

    z is x + u if it is kept, u even over the window, and else d, even over all outputs.

    Examples
    --------
    >>> costs = window_decoders(EVEN, keep=0.9, last=1000, window=100)
    >>> round(costs.mean, 3), round(costs.slope, 3)
    (1.128, 1.318)
    """
    x2, x4 = spread**2, 1.8 * spread**4
    u2, u4 = _even(window, last)
    d2, d4 = _even(last + window, last)
    first = (keep * (x2 + u2) + (1 - keep) * d2) / keep**2
    # of x psi1 - psi2 = y/keep + shift,  y = -(x u + u²) if kept, and x d - d² otherwise
    shift = (1 - keep) * d2 / keep + u2
    cross = (keep * (x2 * u2 + u4) + (1 - keep) * (x2 * d2 + d4)) / keep**2 - shift**2
    square = keep * (x2 + u2) + (1 - keep) * d2
    second = (keep * (x4 + 6 * x2 * u2 + u4) + (1 - keep) * d4 - square**2) / keep**2
    return Decoders(spread, first, cross, second)


def missing_inflation(keep: float, last: int, window: int, unseen: int) -> float:
    """Return by how much a window multiplies the variance of the mean of a column in which values may be missing.

    Of the values that are there, the mean `OFF_MIDDLE` widths off the middle of the bounds, `GONE` of all missing, as
    the rule for windows takes it (`window_design.py`); `unseen` outputs show a missing value.

    Examples
    --------
    >>> own = missing_inflation(0.9, last=1000, window=100, unseen=50)
    >>> own > window_decoders(EVEN, keep=0.9, last=1000, window=100).mean ** 2
    True
    """
    c, s = window / last, unseen / last
    kept, drawn = missing_moments(c, s)
    return (keep * kept + (1 - keep) * drawn) / (keep**2 * (1 - GONE) * EVEN**2)


def missing_moments(c: float, s: float) -> tuple[float, float]:
    """Return second moments of the decoder of (x - mean) 1{there} in a record that is kept, and in one that is redrawn.

    Parameters
    ----------
    c, s : float
        The window, and what of it is for missing values alone, in widths.

    Examples
    --------
    >>> kept, drawn = missing_moments(1.0, 0.5)
    >>> round(kept, 3), round(drawn, 3)
    (0.153, 0.289)
    """
    square, beyond = OFF_MIDDLE**2, (c - s) ** 2 / s
    shown = square * beyond / c + (1 - s / c) * ((c - s) ** 2 / 12 + square)  # of a missing value
    kept = (1 - GONE) * (1 + c**2) / 12 + GONE * shown
    return kept, ((1 + c) * ((1 + c) ** 2 / 12 + square) + square * beyond) / (1 + c + s)


def laplace_decoders(spread: float, scale: float, exact_rate: float) -> Decoders:
    """Return those of zero-inflated Laplace noise: ``psi1 = z``, ``psi2 = z² - v``, v the variance of the noise.

    Examples
    --------
    >>> costs = laplace_decoders(EVEN, scale=0.5, exact_rate=0.0)
    >>> round(costs.mean, 3), round(costs.slope, 3)
    (2.0, 7.211)
    """
    x2, x4, v = spread**2, 1.8 * spread**4, (1 - exact_rate) * scale**2
    fourth = 6 * (1 - exact_rate) * scale**4
    second = x4 + 6 * x2 * v + fourth - (x2 + v) ** 2
    return Decoders(spread, x2 + v, x2 * v + fourth - v**2, second)


def window_median(keep: float, last: int, window: int, points: int = 2000) -> float:
    """Return by how much a window multiplies the standard error of a median, at a resolution of a twentieth width.

    It is ``2 sd(g(z))/keep``, g the decoder of a share below the middle that rises over `RESOLUTION` widths.

    Examples
    --------
    >>> round(window_median(keep=0.8, last=8, window=1), 2)  # randomised response on nine cells: 1/keep
    1.25
    """
    if window == 1:
        return 1 / keep
    c = window / last
    z = (np.arange(points) + 0.5) / points * (1 + c)
    g = rise_decoder(z, c)
    kept = np.minimum(np.minimum(z, 1 + c - z), min(c, 1.0))  # the density of x + u, up to a factor
    chance = keep * kept / kept.sum() + (1 - keep) / points
    return float(2 * math.sqrt((chance * g**2).sum() - (chance * g).sum() ** 2) / keep)


def rise(x: Array) -> Array:
    """Return v: 0 below the middle of [0, 1], 1 above, and a line over `RESOLUTION` widths between."""
    return np.clip((x - 0.5) / RESOLUTION + 0.5, 0, 1)


def rise_decoder(z: Array, c: float) -> Array:
    """Return g with mean v(x) over [x, x + c]: `v(r) - D + c sum_{i<q} v'(r + i c)` at z = r + q c (`window.py`)."""
    q, r = np.divmod(z, c)
    places = r[:, None] + c * np.arange(math.ceil(1 + 1 / c))
    steep = (np.abs(places - 0.5) < RESOLUTION / 2) & (np.arange(places.shape[1]) < q[:, None])
    first = rise(np.linspace(0, c, 2001)).mean()
    return np.asarray(rise(r) - first + steep.sum(axis=1) * c / RESOLUTION)


def laplace_median(scale: float, exact_rate: float) -> float | None:
    """Return the same of zero-inflated Laplace noise (`docs/theory/calibration.md`); None if no record is unchanged.

    Examples
    --------
    >>> round(laplace_median(0.5, 0.1), 2)
    2.98
    """
    return math.sqrt(1 + exact_rate**-1.5 * scale / (1 + 2 * scale)) if exact_rate else None


def _even(points: float, last: float) -> tuple[float, float]:
    """Return second and fourth moments of an even draw from `points` lattice points, centred, in widths."""
    square = points**2
    return (square - 1) / 12 / last**2, (square - 1) * (3 * square - 7) / 240 / last**4
