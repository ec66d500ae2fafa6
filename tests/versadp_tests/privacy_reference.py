"""delta(epsilon) by another road: a two-dimensional integral of (1 - e^(ε-L))₊, Bessel functions evaluated directly.

Nothing is shared with the package: log K_v comes from scipy's scaled function, or from Debye's expansion where that
overflows, there are no tables, no Mills ratio, and P never enters except through L.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import Polynomial
from scipy.optimize import brentq
from scipy.special import gammaln, kve


def _debye_polynomials(n):
    """U_k(p) of the uniform expansion of K_v(vz): the usual recursion."""
    u, out = Polynomial([1.0]), []
    p = Polynomial([0.0, 1.0])
    for _ in range(n):
        out.append(u)
        u = 0.5 * p**2 * (1 - p**2) * u.deriv() + ((1 - 5 * p**2) * u).integ() / 8
    return out


_U = _debye_polynomials(9)


def log_bessel(v, z):
    z = np.asarray(z, dtype=float)
    v = abs(v)
    if v < 40:
        with np.errstate(over="ignore"):
            direct = kve(v, z)
        if np.isfinite(direct).all():
            return np.log(direct) - z
    if v < 20:
        raise NotImplementedError("too close to the pole for this reference")
    y = z / v
    p = 1 / np.sqrt(1 + y * y)
    eta = np.sqrt(1 + y * y) + np.log(y / (1 + np.sqrt(1 + y * y)))
    series = sum((-1) ** k * u(p) / v**k for k, u in enumerate(_U))
    return 0.5 * np.log(np.pi / (2 * v)) + 0.5 * np.log(p) - v * eta + np.log(series)


def log_density(d, r):
    v = (2 - d) / 2
    return np.log(2) - d / 2 * np.log(2 * np.pi) + v / 2 * np.log(r * r / 2) + log_bessel(v, np.sqrt(2) * r)


def _panels(edges, n=24):
    x, w = np.polynomial.legendre.leggauss(n)
    edges = np.asarray(edges)
    half = np.diff(edges) / 2
    return (edges[:-1, None] + half[:, None] * (x + 1)).ravel(), (half[:, None] * w).ravel()


def delta(d, c, eps):
    """Polar coordinates around Q's centre: radius outside, angle inside."""

    def loss(r, t):
        r0 = np.sqrt((c - r) ** 2 + 2 * c * r * (1 + t))
        return log_density(d, r) - log_density(d, r0)

    def edge(t, low, high):
        def f(x):
            return float(loss(np.exp(x), t) - eps)

        return brentq(f, low, high, xtol=1e-15, rtol=1e-15) if f(high) < 0 else high

    top = np.log(np.sqrt(50.0 * d) + 50)
    near = edge(-1.0, -40.0 if d > 3 else -200.0, np.log(c / 2)) if d < 40 else -25.0
    far = edge(1.0, near, top)
    # within exp(near) all directions belong to A; the square-root ends are opened up by x = end ± u²
    total = _sum(d, eps, loss, *_panels(np.linspace(near - 18, near, 25)), full=True)
    u, w = _panels(np.linspace(0, np.sqrt((far - near) / 2), 13))
    total += _sum(d, eps, loss, near + u * u, 2 * u * w)
    return total + _sum(d, eps, loss, far - u * u, 2 * u * w)


def _sum(d, eps, loss, x, wx, *, full=False):
    """Integrate over the angle for every radius exp(x); `full`: A holds every direction there."""
    r = np.exp(x)
    if full:
        ends = np.full(r.shape, np.pi)
    else:
        low, high = np.zeros_like(r), np.full(r.shape, np.pi)  # A is θ < end: bisect
        for _ in range(60):
            middle = (low + high) / 2
            inside = loss(r, np.cos(middle)) > eps
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        ends = low
    v, wv = _panels(np.linspace(0, 1, 9))
    if d > 40:  # the angle is close to π/2: panels of the width 1/sqrt(d)
        start = np.maximum(np.pi / 2 - 14 / np.sqrt(d), 0)
        stop = np.minimum(ends, np.pi / 2 + 14 / np.sqrt(d))
        span = np.maximum(stop - start, 0)
        theta, weights = start + np.multiply.outer(span, v), np.multiply.outer(span, wv)
    else:
        theta, weights = np.multiply.outer(ends, v), np.multiply.outer(ends, wv)
    gain = -np.expm1(np.minimum(eps - loss(r[:, None], np.cos(theta)), 0.0))
    log_c = gammaln(d / 2) - gammaln((d - 1) / 2) - 0.5 * np.log(np.pi)
    angular = np.exp(log_c + (d - 2) * np.log(np.sin(theta))) * gain
    radial = np.exp(log_density(d, r) + d * x + np.log(2) + d / 2 * np.log(np.pi) - gammaln(d / 2))
    return float(np.sum(wx * radial * np.sum(angular * weights, axis=1)))
