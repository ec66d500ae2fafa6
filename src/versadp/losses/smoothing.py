"""Smoothing of kinked losses by a kernel of fourth order with bandwidth h.

    h = c s ((p + log m)/m)^0.4, at most 2 s

for m records and p coefficients; s is the scale of the residuals and c = 4 for losses of the residual, s = 1 and c = 6
for margins, whose kinks lie at an index of about 1. The bias is O(h^4); `docs/measured/estimators.md` compares it with
the standard error. With a pilot regression (`pilot_line.py`), s is the scale of its residuals around the quantile, and
m the effective number of records. Curvature, which is noisier, is smoothed by 1.5 h; where that exceeds 1.5 s, by the
larger of 1.5 s and h. In the tails, where records are fewer, the bandwidth of the curvature is (0.25/(tau (1 -
tau)))^0.4 times as wide; that of the score is not, since densities bend there and the bias would show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.losses.starts import robust, spread

if TYPE_CHECKING:
    from versadp.inputs import Array
    from versadp.losses.pilot_line import Line

# bandwidth of the curvature in multiples of h, and its cap in multiples of s: standard errors vary by 19% in place of
# 26% with h, and 3 h would be off by 10% for skewed errors (docs/measured/estimators.md)
CURVATURE_WIDTH = 1.5


def smoothing_kernel(z: Array) -> tuple[Array, Array]:
    """Return the fourth-order kernel `K(z) = (15/32)(1 - z^2)(3 - 7 z^2)` on [-1, 1] and its integral from -1.

    Its second moment vanishes, so that smoothing a jump with bandwidth h shifts estimates by O(h^4) only.

    Examples
    --------
    >>> density, share = smoothing_kernel(np.array([-2.0, 0.0, 1.0]))
    >>> share.round(12)
    array([0. , 0.5, 1. ])
    """
    c = np.clip(z, -1.0, 1.0)
    q = c * c
    share = 0.5 + 0.46875 * c * (3.0 - q * (10.0 / 3.0 - 1.4 * q))
    density = np.where(np.abs(z) < 1.0, 0.46875 * (1.0 - q) * (3.0 - 7.0 * q), 0.0)
    return density, share


def step(t: Array, bandwidth: float) -> tuple[Array, Array]:
    """Return the smoothed indicator of t > 0 and its derivative; the plain indicator at bandwidth 0.

    Examples
    --------
    >>> step(np.array([-1.0, 0.0, 1.0]), 0.5)[0].round(12)
    array([0. , 0.5, 1. ])
    """
    if bandwidth <= 0:
        return (t > 0).astype(float), np.zeros_like(t)
    density, share = smoothing_kernel(t / bandwidth)
    return share, density / bandwidth


def of_residuals(m: Array, y: Array, factor: float = 1.0, tau: float = 0.5) -> tuple[float, float]:
    """Return the bandwidths of a loss of the residual with its kink at the quantile tau, and of its curvature.

    Examples
    --------
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> h, window = of_residuals(np.ones((1000, 1)), y)
    >>> round(h, 2), round(window / h, 2)
    (0.56, 1.5)
    """
    residual = y - m @ robust(m, y)
    scale = min(float(residual.std()), spread(residual))
    return _widths(scale, 4.0 * _rate(m), factor, (0.25 / (tau * (1 - tau))) ** 0.4)


def of_line(line: Line, factor: float = 1.0, tau: float = 0.5) -> tuple[float, float]:
    """Return the bandwidths of a loss of the residual and of its curvature, from a pilot regression.

    Examples
    --------
    >>> from versadp.losses.pilot_line import Line
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> h, window = of_line(Line.plain(np.ones((1000, 1)), y))
    >>> round(h, 2), round(window / h, 2)
    (0.53, 1.5)
    """
    rate = ((line.theta.size + np.log(line.records)) / line.records) ** 0.4
    return _widths(line.scale(tau), 4.0 * rate, factor, (0.25 / (tau * (1 - tau))) ** 0.4)


def of_margins(m: Array, factor: float = 1.0) -> tuple[float, float]:
    """Return the bandwidths of a loss of the margin, whose kink lies at an index of about 1, and of its curvature.

    Examples
    --------
    >>> h, window = of_margins(np.ones((1000, 1)))
    >>> round(h, 2), round(window / h, 2)
    (0.87, 1.5)
    """
    return _widths(1.0, 6.0 * _rate(m), factor)


def _rate(m: Array) -> float:
    return float(((m.shape[1] + np.log(len(m))) / len(m)) ** 0.4)


def _widths(scale: float, wide: float, factor: float, further: float = 1.0) -> tuple[float, float]:
    """Return the bandwidth, and that of the curvature, which is `further` times as wide before it is capped."""
    h = factor * scale * min(2.0, wide * further)
    return float(max(1e-9, h / further)), float(max(1e-9, h, min(CURVATURE_WIDTH * h, CURVATURE_WIDTH * scale)))
