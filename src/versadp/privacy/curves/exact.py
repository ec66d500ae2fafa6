r"""The exact curve: delta(epsilon) of ``SL_d(I)`` against itself shifted by c, for d >= 2.

Let r1, r0 be the distances of a point to the centres of Q and P, c apart, L = log dQ/dP = λ(r0) - λ(r1) with
``λ = -log g``, and A = {L > ε}, ε > 0, the best attacker's event. `delta = Q(A) - e^ε P(A)`.

The edge of A is a curve ``r0 = r0(r1)``, `λ(r0) = λ(r1) + ε`. With t1, t0 the cosines under which the axis is
seen from the two centres there, both masses are integrals along this one curve,

    Q(A) = ∫ f(r1) P(cos > t1) dr1,    P(A) = ∫ f(r0) P(cos > t0) dr0,

f the radial density. On the curve f(r0) = e^-ε (r0/r1)^(d-1) f(r1), r0 sin θ0 = r1 sin θ1 and dr0/dr1 = λ'(r1)/λ'(r0),
so that in ``x = log r1`` and with m of `versadp.privacy.curves.angular`

    delta = ∫ f_x(x) [P(cos > t1) - (1 - t1²)^((d-1)/2) m(t0) w1 r0 / (w0 r1)] dx,   w = dλ/d log r.

e^ε is gone: nothing overflows, whatever ε. t1 increases along the curve (w grows with r), so below the radius at
which t1 = -1 the bracket is 1, above the one at which t1 = 1 it is 0, and what lies between is one smooth
integral, whose half-integer powers at the ends the map x(φ), cos-shaped, turns into whole ones.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from versadp.privacy.curves.angular import mills_table
from versadp.privacy.curves.radial import RadialLaw, radial_law

if TYPE_CHECKING:
    from collections.abc import Callable

Array = NDArray[np.float64]

_TAIL = 1e-23  # share of directions left out at either end; added back as a bound
_NARROW = 0.4  # windows narrower than this in log r1 are walked by angle instead of by radius
_ROUNDING = 2e-13  # of Q(A) + e^ε P(A), times 1 + ε: what tables and arithmetic may come to in exponents of this size
_CLOSE = 1e-9  # agreement of two successive rules, relative to delta, at which the finer is accepted
_FIRST, _LAST = 32, 512  # intervals of the coarsest and of the finest rule
# a step of Newton's method gains digits, and needs no more of them than it gains
_RULES = [np.polynomial.legendre.leggauss(count) for count in (1, 2, 4)]


@lru_cache(maxsize=8)
def _clenshaw_curtis(n: int) -> tuple[Array, Array]:
    """Nodes and weights on [0, π] of n intervals; every second node makes the rule of n/2."""
    angles = np.pi * np.arange(n + 1) / n
    k = np.arange(0, n + 1, 2)
    moments = 2.0 / (1.0 - k * k)
    moments[[0, -1]] *= 0.5
    weights = 2 / n * (np.cos(np.outer(angles, k)) @ moments)
    weights[[0, -1]] *= 0.5
    return np.pi / 2 * (1 - np.cos(angles)), np.pi / 2 * weights


def _exit_gap(law: RadialLaw, shift: float, x: Array, t: Array, eps: Array) -> tuple[Array, Array]:
    """Return φ = λ(r0) - λ(r1) - ε on the ray of cosine t from Q's centre at log radius x, and dφ/dx."""
    r1 = np.exp(x)
    square = np.maximum((shift - r1) ** 2 + 2 * shift * r1 * (1 + t), 1e-300)
    x0 = np.maximum(0.5 * np.log(square), law.low)
    slope, integral = law.slope_and_integral(np.stack([x0, x]))
    gap = (law.dim - 2) * (x0 - x) + integral[0] - integral[1] - eps
    return gap, slope[0] * r1 * (r1 + shift * t) / square - slope[1]


def _exit(law: RadialLaw, shift: float, t: Array, eps: Array, bounds: tuple[float, float]) -> Array:
    """Return log r1 at which rays of cosine t leave A, or the bound before or after which they leave it."""
    low, high = (np.full(t.shape, bound) for bound in bounds)
    never = _exit_gap(law, shift, high, t, eps)[0] >= 0
    # close to Q's centre r0 is nearly the shift, and elsewhere one begins somewhere
    start = law.guess(law.neg_log_density(np.log([shift])) - eps)
    settled = _exit_gap(law, shift, low, t, eps)[0] <= 0
    x = np.where(settled, low, np.clip(start, low + 1e-3, high - 1e-3))
    for _ in range(100):
        gap, slope = _exit_gap(law, shift, x, t, eps)
        inside = gap > 0
        low, high = np.where(inside & ~never, x, low), np.where(inside, high, x)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = x - gap / slope
        good = (newton >= low) & (newton <= high)
        new: Array = np.where(never, high, np.where(good, newton, 0.5 * (low + high)))
        # a Newton step this small leaves an error of its square
        near = np.abs(new - x) <= np.where(good, 1e-10, 1e-15 * np.maximum(np.abs(x), 1))
        x = np.where(settled, x, new)
        settled |= near  # and stay: a result must not depend on what is computed beside it
        if settled.all():
            break
    return np.asarray(x)


def _log_ratio(law: RadialLaw, x: Array, eps: Array, cap: Array) -> Array:
    """Solve λ(x + s) - λ(x) = ε for s = log(r0/r1), to full relative accuracy also where s is tiny.

    Newton from the right of the root: λ is convex in x, so it comes down to it monotonically.
    """
    slope, integral = law.slope_and_integral(x)
    s = law.guess((law.dim - 2) * x + integral + eps) - x + 1e-4
    s = np.minimum(np.minimum(s, eps / slope), cap)
    for nodes, weights in _RULES:
        small = s < 0.1
        rise = np.empty_like(s)
        if small.any():  # the difference would cancel: integrate the slope instead
            xs, ss = x[small], s[small]
            mean = sum(0.5 * w * law.slope(xs + 0.5 * (n + 1) * ss) for n, w in zip(nodes, weights, strict=True))
            rise[small] = mean * ss
        if not small.all():
            xl, sl = x[~small], s[~small]
            rise[~small] = (law.dim - 2) * sl + law.integral(xl + sl) - integral[~small]
        s = s - (rise - eps) / law.slope(x + s)
    return s


def _by_radius(law: RadialLaw, shift: float, eps: Array, ends: tuple[Array, Array], phi: Array) -> tuple[Array, ...]:
    """Walk the edge of A by radius: x, dx/dφ, t1, log(r0/r1)."""
    span = (ends[1] - ends[0])[:, None]
    x = ends[0][:, None] + span * np.sin(phi / 2) ** 2
    r1 = np.exp(x)
    s = _log_ratio(law, x, np.broadcast_to(eps[:, None], x.shape), np.log1p(shift / r1))
    h = r1 * np.expm1(s)
    t1 = h / shift + (h - shift) * (h + shift) / (2 * shift * r1)
    return x, 0.5 * span * np.sin(phi), np.clip(t1, -1.0, 1.0), s


def _by_angle(law: RadialLaw, shift: float, eps: Array, ends: tuple[Array, Array], phi: Array) -> tuple[Array, ...]:
    """Walk the edge of A by angle, where r1 hardly changes and t1 would drown in rounding."""
    edge = mills_table(law.dim).edge
    t1 = np.broadcast_to(-edge * np.cos(phi), (len(eps), len(phi)))
    start = ends[0][:, None] + (ends[1] - ends[0])[:, None] * np.sin(phi / 2) ** 2
    x, level = start, eps[:, None]
    for _ in range(6):
        gap, slope = _exit_gap(law, shift, x, t1, level)
        x = np.clip(x - gap / slope, ends[0][:, None], ends[1][:, None])
    _, slope = _exit_gap(law, shift, x, t1, level)
    r1 = np.exp(x)
    square = np.maximum((shift - r1) ** 2 + 2 * shift * r1 * (1 + t1), 1e-300)
    x0 = np.maximum(0.5 * np.log(square), law.low)
    dx = -law.slope(x0) * shift * r1 / square / slope
    return x, dx * edge * np.sin(phi), t1, x0 - x


def _masses(law: RadialLaw, shift: float, eps: Array, ends: tuple[Array, Array], phi: Array) -> tuple[Array, Array]:
    """Return the integrands of Q(A) and e^ε P(A) at φ, one row an epsilon."""
    mills = mills_table(law.dim)
    walked = [np.empty((len(eps), len(phi))) for _ in range(4)]
    narrow = ends[1] - ends[0] < _NARROW
    for chosen, walk in ((narrow, _by_angle), (~narrow, _by_radius)):
        if chosen.any():
            parts = walk(law, shift, eps[chosen], (ends[0][chosen], ends[1][chosen]), phi)
            for whole, part in zip(walked, parts, strict=True):
                whole[chosen] = part
    x, dx, t1, s = walked
    slopes, integrals = law.slope_and_integral(np.stack([x, x + s]))
    density = np.exp(law.log_mass_from(x, integrals[0])) * dx
    t0 = np.clip(np.exp(-s) * t1 + shift * np.exp(-x - s), 0.0, 1.0)
    m1, m0 = mills(np.stack([np.abs(t1), t0]))
    with np.errstate(divide="ignore"):
        power = np.exp(mills.power * np.log1p(-t1 * t1))
    toward = power * m1
    ratio = slopes[0] / slopes[1] * np.exp(s)
    return density * np.where(t1 >= 0, toward, 1 - toward), density * power * m0 * ratio


def _refined(both: Array, masses: Callable[[Array], tuple[Array, Array]], n: int) -> Array:
    """Return integrands at the nodes of n intervals, given those of n/2, if any, which are every second of them."""
    phi, _ = _clenshaw_curtis(n)
    if not both.shape[2]:
        return np.stack(masses(phi))
    finer = np.empty((*both.shape[:2], n + 1))
    finer[:, :, ::2] = both
    finer[:, :, 1::2] = masses(phi[1::2])
    return finer


def curve(dim: int, shift: float, epsilon: Array) -> tuple[Array, Array, Array]:
    """Compute delta(epsilon) exactly, with a bound on the numerical error.

    Parameters
    ----------
    dim : int
        Dimension, at least 2.
    shift : float
        Distance of the two centres, in units of the noise scale.
    epsilon : ndarray
        One-dimensional, all positive.

    Returns
    -------
    delta, error, alpha : ndarray
        The value, what it may be off by, and the attacker's false alarms `P(L > ε)`.

    Examples
    --------
    >>> delta, error, _ = curve(6, 0.5, np.array([0.8]))
    >>> print(f"{delta[0]:.10f}", error[0] < 1e-10)
    0.0960839561 True
    """
    law, edge = radial_law(dim), mills_table(dim).edge
    low, top = law.low, float(np.log(np.sqrt(60.0 * dim) + 60.0))
    rays = np.repeat([[-edge], [edge]], len(epsilon), axis=1)
    exits = _exit(law, shift, rays, np.stack([epsilon, epsilon]), (low, top))
    ends = (exits[0], exits[1])
    core = np.exp(law.log_cdf(ends[0]))  # the ball in which every direction belongs to A
    found = np.full(epsilon.shape, np.nan)
    mass_q, mass_p, error = found.copy(), found.copy(), np.full(epsilon.shape, np.inf)
    rest, n, both = np.arange(len(epsilon)), _FIRST, np.empty((2, len(epsilon), 0))
    while rest.size and n < _LAST:
        n *= 2
        both = _refined(both, partial(_masses, law, shift, epsilon[rest], (ends[0][rest], ends[1][rest])), n)
        q, p = both
        fine, coarse = _clenshaw_curtis(n)[1], _clenshaw_curtis(n // 2)[1]
        # sums along rows, not matrix products, whose rounding depends on the other rows
        mass_q[rest], mass_p[rest] = core[rest] + (q * fine).sum(axis=1), (p * fine).sum(axis=1)
        error[rest] = np.abs(((q - p) * fine).sum(axis=1) - ((q - p)[:, ::2] * coarse).sum(axis=1))
        delta = mass_q[rest] - mass_p[rest]
        loose = error[rest] > _CLOSE * delta
        rest, both = rest[loose], both[:, loose]
    error += _ROUNDING * (1 + epsilon) * (mass_q + mass_p) + (2 * _TAIL if edge < 1 else 0.0)
    return mass_q - mass_p, error, np.exp(-epsilon) * mass_p
