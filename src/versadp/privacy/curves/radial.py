r"""The radial law of the symmetric multivariate Laplace distribution, at every dimension.

``SL_d(I) = sqrt(W) N(0, I)``, ``W ~ Exp(1)``, has the density (paper, section 3)

    g(r) = 2 (2π)^(-d/2) (r²/2)^(v/2) K_v(√2 r),   v = (2 - d)/2,

a function of the radius alone, decreasing, with a pole at 0 for d >= 2. `K` overflows from d ≈ 100 on, so
nothing here evaluates it. In `x = log r`, with `z = √2 r`,

    -d log g / dx = z K_(v+1)(z) / K_v(z) = (d - 2) + e(x),    e(x) = z K_(v-1)(z) / K_v(z) > 0

(now v = |d - 2|/2), and ratios of neighbouring Bessel functions follow from a recurrence in the order,
`K_(v+1)/K_v = 2v/z + K_(v-1)/K_v`, all of whose terms are positive: it loses no digits and cannot overflow.
`e` is tabulated once a dimension as piecewise polynomials in x, `E = ∫ e` is their exact antiderivative, and
everything else is `E`: `-log g = (d - 2) x + E + const`, and the density of x is `exp(2x - E + const)`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, k0e, k1e

from versadp import inputs
from versadp.errors import ParameterError

Array = NDArray[np.float64]

_WIDTH = 0.25  # of a panel in log radius; e is analytic in |Im x| < π/2, so 12 nodes give 1e-16
_NODES = 12
_LOWEST = 1e-13  # the table starts where P(radius < r) ≈ r²/(d-2) is about 1e-26
_HIGHEST = 1e6  # and ends at this many times sqrt(d), beyond which the leading asymptotics are used


def _gauss_like_nodes(n: int) -> tuple[Array, Array]:
    """Chebyshev nodes on [-1, 1] and the matrix from values there to monomial coefficients, lowest first."""
    nodes = np.cos(np.pi * (np.arange(n) + 0.5) / n)[::-1]
    values_to_chebyshev = 2 / n * chebyshev.chebvander(nodes, n - 1).T
    values_to_chebyshev[0] /= 2
    to_monomial = np.zeros((n, n))
    for k in range(n):
        coefficients = chebyshev.cheb2poly(np.eye(n)[k])
        to_monomial[: len(coefficients), k] = coefficients
    return nodes, to_monomial @ values_to_chebyshev


def bessel_excess(dim: int, log_radius: ArrayLike) -> Array:
    r"""Return `e(x) = z K_(v-1)(z) / K_v(z)`, by which `-d log g/d log r` exceeds ``dim - 2``.

    Parameters
    ----------
    dim : int
        Dimension d; v = (d - 2)/2.
    log_radius : array_like
        x = log r; z = √2 r.

    Returns
    -------
    ndarray
        Positive. The recurrence takes d/2 steps, each of which damps the errors before it.

    Examples
    --------
    >>> round(float(bessel_excess(3, 0.0)), 12)  # K_(-1/2) = K_(1/2): e = z at d = 3
    1.414213562373
    """
    z = np.sqrt(2.0) * np.exp(np.asarray(log_radius, dtype=np.float64))
    if dim == 1:  # d - 2 + e = z
        return np.asarray(z + 1.0)
    if dim == 2:
        return np.asarray(z * k1e(z) / k0e(z))
    v = 1.0 if dim % 2 == 0 else 0.5
    ratio = k1e(z) / k0e(z) if dim % 2 == 0 else np.ones_like(z)  # K_v / K_(v-1)
    while v < (dim - 2) / 2:
        ratio = 2 * v / z + 1 / ratio
        v += 1
    return np.asarray(z / ratio)


class RadialLaw:
    """The law of `R = |SL_d(I)|` as tables in ``x = log r``; make it with `radial_law`, which caches.

    Methods take arrays of x. Errors are relative to about 1e-13 wherever `P(R < r) > 1e-26` and
    ``r < 1e6 sqrt(dim)``.

    Parameters
    ----------
    dim : int
        Dimension, at least 1.

    Examples
    --------
    >>> law = radial_law(1)  # R is exponential with rate √2
    >>> round(float(law.log_cdf(np.array(0.0))), 12) == round(float(np.log1p(-np.exp(-np.sqrt(2)))), 12)
    True
    """

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.low = float(np.log(_LOWEST) + 0.5 * np.log(dim))
        panels = int(np.ceil((np.log(_HIGHEST / _LOWEST)) / _WIDTH))
        self.high = self.low + panels * _WIDTH
        nodes, to_monomial = _gauss_like_nodes(_NODES)
        mids = self.low + _WIDTH * (np.arange(panels) + 0.5)
        x = mids[:, None] + 0.5 * _WIDTH * nodes
        self._slope = to_monomial @ bessel_excess(dim, x).T  # (degree, panel): a row is contiguous
        antiderivative = np.zeros((_NODES + 1, panels))
        antiderivative[1:] = self._slope / np.arange(1, _NODES + 1)[:, None] * (0.5 * _WIDTH)
        signs = (-1.0) ** np.arange(_NODES + 1)[:, None]
        steps = antiderivative.sum(axis=0) - (signs * antiderivative).sum(axis=0)
        starts = np.concatenate([[0.0], np.cumsum(steps)])
        antiderivative[0] = starts[:-1] - (signs * antiderivative).sum(axis=0)
        self._integral = antiderivative
        self._edge_slope = float(bessel_excess(dim, self.high))
        self._edge_integral = float(starts[-1])
        self._constant = 0.0
        self._tabulate_cdf(x, to_monomial)
        fine = np.linspace(self.low, self.high, 16 * panels + 1)
        self._grid = (self.neg_log_density(fine), fine)

    def _tabulate_cdf(self, x: Array, to_monomial: Array) -> None:
        """Integrate the density of x panel by panel; all terms are positive, so small masses keep their digits."""
        density = np.exp(self.log_mass(x))
        inside = np.zeros((_NODES + 1, len(x)))
        inside[1:] = (to_monomial @ density.T) / np.arange(1, _NODES + 1)[:, None] * (0.5 * _WIDTH)
        signs = (-1.0) ** np.arange(_NODES + 1)[:, None]
        inside[0] = -(signs * inside).sum(axis=0)
        # below the table the log density of x has slope at least 2 - e(low), as e increases
        first = float(np.exp(self.log_mass(np.array([self.low]))[0])) / (2 - float(bessel_excess(self.dim, self.low)))
        starts = first + np.concatenate([[0.0], np.cumsum(inside.sum(axis=0))])
        self._constant -= float(np.log(starts[-1]))
        local = (x - self.low) / _WIDTH - np.arange(len(x))[:, None]
        powers = (2 * local[0] - 1)[:, None] ** np.arange(_NODES + 1)
        cdf = (starts[:-1] + (powers @ inside)) / starts[-1]
        self._log_cdf = to_monomial @ np.log(cdf)
        self.lowest_cdf = first / float(starts[-1])

    def _locate(self, x: Array) -> tuple[NDArray[np.intp], Array]:
        position = (np.clip(x, self.low, self.high) - self.low) / _WIDTH
        panel = np.minimum(position.astype(np.intp), self._slope.shape[1] - 1)
        return panel, 2 * (position - panel) - 1

    @staticmethod
    def _horner(table: Array, panel: NDArray[np.intp], local: Array) -> Array:
        value: Array = table[-1].take(panel)
        for row in table[-2::-1]:
            value *= local
            value += row.take(panel)
        return value

    def slope(self, x: Array) -> Array:
        """Return ``-d log g/dx = (d - 2) + e(x)``, increasing in x."""
        value = self._horner(self._slope, *self._locate(x)) + (self.dim - 2)
        far = x > self.high
        return np.where(far, np.sqrt(2.0) * np.exp(x) + (self.dim - 1) / 2, value) if far.any() else value

    def slope_and_integral(self, x: Array) -> tuple[Array, Array]:
        """Return ``-d log g/dx`` and E(x) with one look into the table; x must lie inside it."""
        where = self._locate(x)
        return self._horner(self._slope, *where) + (self.dim - 2), self._horner(self._integral, *where)

    def integral(self, x: Array) -> Array:
        """Return `E(x) = ∫ e`, from the table's lower end."""
        value = self._horner(self._integral, *self._locate(x))
        far, near = x > self.high, x < self.low
        if far.any():  # K_v(z) ~ sqrt(π/2z) exp(-z)
            top = np.sqrt(2.0) * (np.exp(x) - np.exp(self.high)) + (x - self.high) * (3 - self.dim) / 2
            value = np.where(far, self._edge_integral + top, value)
        if near.any() and self.dim <= 3:  # e is still felt there; from d = 4 on it is below 1e-25
            value = np.where(near, self._pole_integral(x), value)
        return value

    def _pole_integral(self, x: Array) -> Array:
        if self.dim == 2:  # K_0(z) ~ -log(z/2) - γ, and E = -log K_0
            log_half_z = np.minimum(x, self.low) - 0.5 * np.log(2.0)
            edge = self.low - 0.5 * np.log(2.0)
            return np.asarray(-np.log((-log_half_z - np.euler_gamma) / (-edge - np.euler_gamma)))
        return np.asarray((2.0 - self.dim) * (x - self.low) * (self.dim == 1))

    def neg_log_density(self, x: Array) -> Array:
        """Return ``-log g`` up to a constant: ``(d - 2) x + E(x)``, increasing and convex in x."""
        return (self.dim - 2) * x + self.integral(x)

    def log_mass(self, x: Array) -> Array:
        """Return the log density of ``x = log R``: ``2x - E(x)`` plus the constant that makes it a density."""
        return self.log_mass_from(x, self.integral(x))

    def log_mass_from(self, x: Array, integral: Array) -> Array:
        """Return `log_mass` where E(x) is already known."""
        return np.asarray(2 * x - integral + self._constant)

    def log_cdf(self, x: Array) -> Array:
        """Return `log P(R < exp(x))`, with small probabilities to full relative accuracy."""
        value = self._horner(self._log_cdf, *self._locate(x))
        below = x < self.low  # an upper bound: the density of x falls at least as fast as exp((2 - e(low)) x)
        rate = 2 - float(bessel_excess(self.dim, self.low))
        return np.where(below, np.log(self.lowest_cdf) + rate * (x - self.low), np.minimum(value, 0.0))

    def guess(self, level: Array) -> Array:
        """Return `inverse` to about 3e-5, never above it."""
        return np.asarray(np.interp(level, *self._grid))

    def inverse(self, level: Array) -> Array:
        """Return the x at which `neg_log_density` is `level` (interpolation, then Newton)."""
        x = self.guess(level)
        for _ in range(3):
            x = x - (self.neg_log_density(x) - level) / self.slope(x)
        return np.asarray(x)


@lru_cache(maxsize=64)
def radial_law(dim: int) -> RadialLaw:
    """Return the cached `RadialLaw` of a dimension.

    Parameters
    ----------
    dim : int
        Dimension, 1 to 10,000 (beyond, the recurrence only takes longer).

    Returns
    -------
    RadialLaw

    Examples
    --------
    >>> radial_law(3) is radial_law(3)
    True
    """
    return RadialLaw(inputs.whole("dim", dim, 1))


def log_density(dim: int, radius: ArrayLike) -> Array:
    r"""Return `log g(r)`, the log density of ``SL_dim(I)`` at a point of this radius.

    Parameters
    ----------
    dim : int
        Dimension.
    radius : array_like
        Radius, positive; at 0 the result is `inf` for dim >= 2.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> round(float(log_density(1, 0.5)), 10), round(float(-0.5 * np.log(2) - np.sqrt(2) * 0.5), 10)
    (-1.0536803715, -1.0536803715)
    """
    law = radial_law(dim)
    radius = np.asarray(radius, dtype=np.float64)
    if np.isnan(radius).any() or (radius < 0).any():
        raise ParameterError("a radius must be a number of at least 0")
    tiny = np.log(np.maximum(radius, np.finfo(float).tiny))
    log_surface = np.log(2.0) + dim / 2 * np.log(np.pi) - gammaln(dim / 2)
    value = law.log_mass(tiny) - dim * tiny - log_surface
    at_zero = -0.5 * np.log(2.0) if dim == 1 else np.inf
    return np.where(radius == 0, at_zero, value)
