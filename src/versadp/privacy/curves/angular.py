r"""Probability that a random direction points close to an axis, as a Mills ratio that cannot underflow.

For a uniform direction in `R^d` let t be its cosine with a fixed axis, ``a = (d - 1)/2``. Then

    P(cos > t) = (1 - t²)^a m(t),   m(t) = C/2 ∫_0^1 (1 - v)^(a-1) (t² + (1 - t²) v)^(-1/2) dv,

``C = Γ(d/2)/(√π Γ(a))``, 0 <= t <= 1. The power is what underflows in high dimension; m lies between
1/2 (at 0) and `C/2a` (at 1), is smooth, and is tabulated once a dimension.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, gammaln

Array = NDArray[np.float64]

_WIDTH = 0.5  # of a panel in arsinh(t sqrt(a)), on which sqrt(1 + a t²) m(t) hardly varies
_NODES = 20


def mills(dim: int, t: Array) -> Array:
    """Return m(t) directly, to 1e-13: by the incomplete beta function, by quadrature from dim 20 on.

    Parameters
    ----------
    dim : int
        Dimension, at least 2.
    t : ndarray
        Cosines in [0, 1].

    Returns
    -------
    ndarray

    Examples
    --------
    >>> mills(3, np.array([0.0, 0.5]))  # P(cos > t) = (1 - t)/2 at d = 3, so m = 1/(2 + 2t)
    array([0.5       , 0.33333333])
    """
    a = (dim - 1) / 2
    t = np.asarray(t, dtype=np.float64)
    if dim >= 20:  # there the powers in the incomplete beta function cost digits
        return np.asarray(0.5 * _tail_integral(a, t) / _tail_integral(a, np.zeros(1)))
    y = np.clip(1 - t * t, 0.0, 1.0) / np.maximum(t * t, 1e-300)
    near_axis = y < 0.05
    # C/(2 a t) 2F1(1/2, 1; a+1; -y): terms fall at least like 0.05^n
    small = np.where(near_axis, y, 0.0)
    total, term = np.ones_like(t), np.ones_like(t)
    for n in range(13):
        term = term * (-(n + 0.5) / (a + 1 + n)) * small
        total += term
    log_c = gammaln(dim / 2) - gammaln(a) - 0.5 * np.log(np.pi)
    series = np.exp(log_c) / (2 * a) * total / np.where(near_axis, t, 1.0)
    square = np.where(near_axis, 0.0, t * t)
    direct = 0.5 * betainc(a, 0.5, 1 - square) * np.exp(-a * np.log1p(-square))
    return np.asarray(np.where(near_axis, series, direct))


def _tail_integral(a: float, t: Array) -> Array:
    """Return `∫_t^1 ((1 - s²)/(1 - t²))^(a-1) ds / (1 - t²)`, that is m(t)/C; a > 9."""
    rest = np.maximum(1 - t * t, 1e-300)
    span = -rest * np.expm1(-45 / (a - 1))  # where the integrand has fallen to exp(-45)
    top = span / (t + np.sqrt(t * t + span))
    nodes, weights = np.polynomial.legendre.leggauss(64)
    sigma = top[..., None] * (nodes + 1) / 2
    fall = sigma * (2 * t[..., None] + sigma) / rest[..., None]
    return np.asarray(np.exp((a - 1) * np.log1p(-fall)) @ weights * top / (2 * rest))


class MillsTable:
    """m(t) by piecewise polynomials; make it with `mills_table`, which caches.

    Parameters
    ----------
    dim : int
        Dimension, at least 2.

    Examples
    --------
    >>> table = mills_table(3)
    >>> table(np.array([0.5]))
    array([0.33333333])
    """

    def __init__(self, dim: int) -> None:
        self.power = (dim - 1) / 2
        self._root = np.sqrt(self.power)
        top = float(np.arcsinh(self._root))
        self._panels = max(1, int(np.ceil(top / _WIDTH)))
        self._width = top / self._panels
        nodes = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
        edges = self._width * np.arange(self._panels)
        q = edges[:, None] + self._width * (nodes + 1) / 2
        t = np.minimum(np.sinh(q) / self._root, 1.0)
        values = mills(dim, t) * np.sqrt(1 + self.power * t * t)
        fit = 2 / _NODES * chebyshev.chebvander(nodes, _NODES - 1).T
        fit[0] /= 2
        self._table = fit @ values.T
        # beyond this cosine lies a share below 1e-23 of all directions
        tail = float(betaincinv(self.power, 0.5, 2e-23))
        self.edge = 1.0 if dim <= 8 else float(np.sqrt(1 - tail))

    def __call__(self, t: Array) -> Array:
        """Return m(t) for cosines in [0, 1]."""
        q = np.arcsinh(t * self._root)
        position = q / self._width
        panel = np.minimum(position.astype(np.intp), self._panels - 1)
        twice = 2 * (2 * (position - panel) - 1)
        older, old = np.zeros_like(t), np.zeros_like(t)
        for row in self._table[:0:-1]:  # Clenshaw
            older, old = old, row.take(panel) + twice * old - older
        value = self._table[0].take(panel) + 0.5 * twice * old - older
        return np.asarray(value / np.sqrt(1 + self.power * t * t))


@lru_cache(maxsize=64)
def mills_table(dim: int) -> MillsTable:
    """Return the cached `MillsTable` of a dimension.

    Parameters
    ----------
    dim : int
        Dimension, at least 2.

    Returns
    -------
    MillsTable

    Examples
    --------
    >>> mills_table(4) is mills_table(4)
    True
    """
    return MillsTable(dim)
