r"""The mean positive part of a sum of many independent terms, never too small.

What a shuffled release guarantees comes down to `E(S)₊ / n`, S a sum of n independent copies of a term that is
`x0 - e^ε x1` with given probabilities and otherwise 0 (`docs/theory/shuffle.md`). With M the moment generating
function of a term, and for any θ > 0,

    E(S)₊ = (1/2π) ∫ M(z)^n / z² dt,    z = θ + it.

It is evaluated in three steps, each of which can only add:

- **smear**: (·)₊ is convex, so `E(S)₊ <= E(S + hG)₊`, G standard normal and independent (Jensen). Under the integral
  this is a factor ``exp(h²z²/2)``, which ends it at t of a few 1/h. h is linear in e^ε, so that the result is still
  convex in e^ε and decreasing;
- **a sum for the integral**: by Poisson's formula the trapezoidal rule of step `2π/X` gives not E(S + hG)₊ but
  ``Σ_k e^(θkX) E(S + hG - kX)₊`` over all whole k: what is wanted, k = 0, and more, none of it negative;
- **cut**: what lies beyond the last t is at most ``M(θ)^n exp(h²θ²/2) ∫ exp(-h²t²/2) / t² dt / π``, and is added.

`E(S)₊ / n` falls with n, so it is at most `E(S)₊` of a single term. That is taken where a few terms are so much larger
than the rest that the integral would need very many points: there others hide nothing anyway.

**Every result is convex in e^ε, falls, and is at most 1.** Where single terms are large beside the spread of S, or
delta is not near 0 before `last`, the second step may add very much at one epsilon and little at the next. There the
bound is found at all nodes of a fixed grid, and what is used is the lower convex envelope, in e^ε, of these points and
of 0 at `last`. It is a bound: let D be the true delta, convex in k = e^ε, and v_i >= D(k_i). Any point of the envelope
lies on a chord between two of the points, at k = w k_i + (1-w) k_j, and ``w v_i + (1-w) v_j >= w D(k_i) + (1-w) D(k_j)
>= D(k)``. No v_i is negative and the last is 0, so the envelope ends at its minimum and, being convex, never rises; its
first value is at most 1. The points are the same whatever was asked before, and so is the envelope.

The pair is symmetric, ``D(1/k) = 1 - (1 - D(k))/k``, and D is convex on both sides of k = 1: a chord from 1/k to k
gives ``D(1) <= (k - 1 + 2 D(k)) / (k + 1)``. The least of these is used at ε = 0. With it the envelope falls from k = 1
no faster than that of a pair can, by (1 - D(1))/2; without it a composition would work with a negative probability.

Smearing costs ``(h/sd)² z²/2`` of the value where 0 lies z standard deviations above the mean of S: 3e-4 where delta
is 1e-12. The others cost less than 1e-11. Rounding is bounded term by term, and is added.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_CUT = 7.0  # the last t, in 1/h
_LEAST_TILT = 3.0  # θ in standard deviations: below it the terms k < 0 of Poisson's formula are not negligible
_ROUNDING = 64 * float(np.finfo(float).eps)  # of a few operations, generously
_LARGEST_POWER, _LARGEST_PEAK = 300.0, 40.0  # of e: of a tilted term, and of the integrand at the least θ
_MOST = 100_000  # points of the sum for the integral
_LARGE, _WRAP = 1.0, 10.0  # of a term, in spreads: beyond which the envelope is used; by how many the period is longer
_FEW = 128  # nodes of the envelope: their chords cost 2% of the value where delta falls as that of a normal sum
_ROUGHER = 2.0  # times the smear, in a search: at most 0.4% of the value, in half of the points
_NOTHING = 1e-13  # delta below which the envelope is not worth its nodes
_TINY = 1e-300  # what underflows is not nothing
_STEP, _FARTHEST = 0.025, 9.0  # of the nodes, in standard deviations; beyond the last delta is below 1e-18
_OUT = np.append(np.arange(0.0, 2.0, _STEP), np.sqrt(np.arange(4.0, _FARTHEST**2, 4 * _STEP)))

_searching: ContextVar[bool] = ContextVar("searching", default=False)


@contextmanager
def rough_bounds() -> Iterator[None]:
    """Leave out the envelope: bounds that hold and are quick, but may rise; for a search, never for what is reported.

    Examples
    --------
    >>> with rough_bounds():
    ...     _searching.get()
    True
    >>> _searching.get()
    False
    """
    before = _searching.set(True)
    try:
        yield
    finally:
        _searching.reset(before)


def is_searching() -> bool:
    """Return True inside `rough_bounds`: what is computed there must not be kept for what is reported.

    Examples
    --------
    >>> is_searching()
    False
    """
    return _searching.get()


@dataclass(frozen=True, eq=False)
class Terms:
    """n independent terms, each ``x0[a] - e^ε x1[a]`` with probability `mass[a]` and 0 with what is left.

    `last` is the epsilon from which on all of them are known to be at most 0.

    Examples
    --------
    Ten thousand answers by randomised response on two levels, local epsilon 4, whose order tells nothing:

    >>> e = np.exp(4.0)
    >>> terms = Terms(np.array([e, 1.0]), np.array([1.0, e]), np.full(2, 1 / (1 + e)), 10_000, 4.0)
    >>> print(f"{terms.curve(np.array([0.4124]))[0][0]:.3e}")
    9.373e-07
    """

    x0: Array
    x1: Array
    mass: Array
    n: int
    last: float
    smear: float = 0.003  # h in standard deviations of S, at epsilon 0

    @cached_property
    def spread(self) -> float:
        """The root of `E S²` at epsilon 0."""
        apart = np.abs(self.x0 - self.x1)
        most = float(apart.max()) or 1.0  # whose square need not be a number
        return most * math.sqrt(self.n * float(np.sum(self.mass * (apart / most) ** 2)))

    def curve(self, epsilon: Array) -> tuple[Array, Array]:
        """Return an upper bound on `E(S)₊ / n`, and minus its slope in e^ε, at epsilons in [0, last).

        `E(S)₊` is convex in e^ε, so chords of an upper bound are one, and it is the chords between fixed nodes that
        are returned: what is found at one epsilon does not depend on what else was asked for, and is not dearer for
        very many of them. They cost 4e-4 of the value.
        """
        rough = _searching.get()
        nodes, known = self._rough if rough else self._nodes
        at = np.expm1(epsilon)
        cell = np.minimum(np.searchsorted(nodes, at, side="right"), len(nodes) - 1) - 1
        ends = np.unique(cell)
        for i in np.union1d(ends, ends + 1).tolist():
            if np.isnan(known[i]):
                known[i] = self._bound(float(nodes[i]), _ROUGHER if rough else 1.0)
        width, drop = nodes[cell + 1] - nodes[cell], known[cell] - known[cell + 1]
        return known[cell] - (at - nodes[cell]) / width * drop, drop / width

    @cached_property
    def uneven(self) -> bool:
        """True if single terms are large beside the spread, so that the bound at single nodes may be far too large."""
        return not float(np.max(self.x0 - self.x1)) <= _LARGE * self.spread

    @cached_property
    def _ends_high(self) -> bool:
        """True if delta is not yet negligible at the last node but one: bounds may rise before they fall to 0."""
        nodes, known = self._grid
        if len(nodes) > len(_OUT):  # the last node but one is as far out as any, where delta is below 1e-18
            return False
        known[-2] = self._bound(float(nodes[-2]))
        return bool(known[-2] > _NOTHING)

    def _bound(self, node: float, smears: float = 1.0) -> float:
        """Return the bound at one node, its smear multiplied by `smears`."""
        found = _Contour(self, 1 + node, smears).sum()
        return found if found <= 1 else 1.0  # what is no number protects nothing

    @property
    def kinks(self) -> Array:
        """The epsilons at which chords meet."""
        return np.append(np.log1p(self._nodes[0][:-1]), self.last)

    @cached_property
    def _grid(self) -> tuple[Array, Array]:
        """Nodes `e^ε - 1`, and what is found there, once it is."""
        tanh = _OUT * self.spread / (2 * self.n)
        nodes = np.append(np.expm1(2 * np.arctanh(tanh[tanh < math.tanh(self.last / 2)])), math.expm1(self.last))
        known = np.full(len(nodes), np.nan)
        known[-1] = 0.0
        return nodes, known

    @cached_property
    def _rough(self) -> tuple[Array, Array]:
        """The same nodes, and rougher bounds for a search, kept apart from those that are reported."""
        nodes = self._grid[0]
        return nodes, np.append(np.full(len(nodes) - 1, np.nan), 0.0)

    @cached_property
    def _nodes(self) -> tuple[Array, Array]:
        """The nodes of `_grid`, or the corners of the envelope."""
        nodes, known = self._grid
        if not self.uneven and not self._ends_high:
            return nodes, known
        nodes = nodes[np.unique(np.linspace(0, len(nodes) - 1, _FEW).round().astype(np.intp))]
        values = np.array([*(self._bound(node) for node in nodes[:-1].tolist()), 0.0])
        values[0] = least_at_zero(nodes, values)
        corners = lower_envelope(nodes, values)
        return nodes[corners], values[corners]


def least_at_zero(nodes: Array, values: Array) -> float:
    """Return the least bound on delta(0) that follows from bounds at epsilons from 0 on.

    Parameters
    ----------
    nodes : ndarray
        `e^ε - 1`, increasing; the first is 0.
    values : ndarray
        Upper bounds on delta.

    Returns
    -------
    float

    Examples
    --------
    >>> round(least_at_zero(np.array([0.0, np.expm1(1.0)]), np.array([1.0, 0.0])), 6)  # tanh(1/2)
    0.462117
    """
    from versadp.privacy.profile import ULP

    crossing = (nodes + 2 * values) / (nodes + 2) * (1 + 4 * ULP)
    return float(min(values[0], crossing.min()))


def lower_envelope(x: Array, y: Array) -> NDArray[np.intp]:
    """Return which points are corners of the largest convex function below all of them.

    Parameters
    ----------
    x : ndarray
        Increasing.
    y : ndarray
        One value per x.

    Returns
    -------
    ndarray
        Indices, increasing; the first and the last point are among them.

    Examples
    --------
    >>> lower_envelope(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 0.3, 0.8, 0.0]))
    array([0, 1, 3])
    """
    corners: list[int] = []
    for i in range(len(x)):
        while len(corners) > 1:
            before, last = corners[-2:]
            if (y[last] - y[before]) / (x[last] - x[before]) < (y[i] - y[last]) / (x[i] - x[last]):
                break
            corners.pop()
        corners.append(i)
    return np.array(corners, dtype=np.intp)


class _Contour:
    """The integral for one epsilon; everything is in units of `Terms.spread`."""

    def __init__(self, terms: Terms, ratio: float, smears: float) -> None:
        self.terms = terms
        self.values = (terms.x0 - ratio * terms.x1) / terms.spread
        self.smear = smears * terms.smear * (1 + ratio) / 2
        self.theta, self.log_peak, self.sd = self._tilt()

    def _tilt(self) -> tuple[float, float, float]:
        """Return θ close to where the integrand is least on the real line, log (M^n exp(h²θ²/2)) and the sd there."""
        most = _LARGEST_POWER / max(float(self.values.max()), _TINY)
        least = min(_LEAST_TILT / math.sqrt(self.terms.n * float(np.sum(self.terms.mass * self.values**2))), most)
        while self._cumulants(least)[0] > _LARGEST_PEAK:  # a few terms are far larger than the rest
            least /= 2
        theta, low, high = least, least, most
        for _ in range(60):  # Newton; any θ is good, the best one is quickest
            _, slope, variance = self._cumulants(theta)
            lean, bend = slope - 2 / theta, variance + 2 / theta**2
            if lean**2 <= 0.01 * bend or (lean > 0 and theta == least):  # within a hundredth of it in logs
                break
            low, high = (low, theta) if lean > 0 else (theta, high)
            middle, new = math.sqrt(low * high), min(theta - lean / bend, 2 * theta)
            # to the right of the best one Newton creeps, from the left it may leap too far
            theta = new if low < new < (middle if lean > 0 else high) else middle
            if not 1.01 * low < high:
                break
        log_peak, _, variance = self._cumulants(theta)
        return theta, log_peak, math.sqrt(variance)

    def _cumulants(self, theta: float) -> tuple[float, float, float]:
        """Return the log of ``M(θ)^n exp(h²θ²/2)`` and its first two derivatives."""
        n, mass, values = self.terms.n, self.terms.mass, self.values
        tilt = np.expm1(theta * values)
        tilted = mass * (tilt + 1)
        first = tilted * values
        excess, one, two = np.add.reduce((mass * tilt, first, first * values), axis=1).tolist()
        mean = one / (1 + excess)
        variance = n * max(two / (1 + excess) - mean**2, 0.0)
        square = self.smear**2
        return n * math.log1p(excess) + square * theta**2 / 2, n * mean + square * theta, variance + square

    def sum(self) -> float:
        """Return the bound on `E(S)₊ / n`."""
        terms, theta, smear = self.terms, self.theta, self.smear
        alone = max(terms.spread * float(np.sum(terms.mass * np.maximum(self.values, 0.0))) * (1 + _ROUNDING), _TINY)
        out = theta * self.sd
        period = self.sd * max(8.5, min(out, 8.5) / 2 + 32 / out)
        if not terms.uneven:  # sums further out than a normal one would be
            period += _WRAP * max(float(self.values.max()), 0.0)
        step = 2 * math.pi / period
        if smear * step * _MOST < _CUT:
            return alone
        t = step * np.arange(1.0 + math.ceil(_CUT / (smear * step)))
        last = float(t[-1])
        w = self._generating(t)
        z = theta + 1j * t
        size = np.maximum(np.abs(1 + w), 1e-300)
        near = np.maximum(2 * w.real + w.real**2 + w.imag**2, -0.5)  # |M|² - 1, where that is small
        log_size = np.where(near > -0.5, 0.5 * np.log1p(near), np.log(size))
        growth = terms.n * (log_size + 1j * np.arctan2(w.imag, 1 + w.real)) + smear**2 * z * z / 2
        parts = np.exp(growth - self.log_peak) / (z * z)
        parts[0] /= 2
        few = 1 + len(self.values) / 64  # a sum of many terms is rounded as often
        rounding = few * _ROUNDING * float(np.sum(np.abs(parts) * (1 + self._wobble(t) / size)))
        cut = math.exp(-((smear * last) ** 2) / 2) / (smear**2 * last**3)
        scale = math.exp(self.log_peak) * terms.spread / terms.n / math.pi
        return min(max(scale * ((float(np.sum(parts.real)) + rounding) * step + cut), _TINY), alone)

    def _generating(self, t: Array) -> Complex:
        """Return M - 1 on an even grid from 0: ``e^v - 1 = expm1(Re v) - 2 e^(Re v) s (s - ic)``, nothing cancels.

        s and c are sine and cosine of Im v / 2. With t = a + b, a from the first short stretch and b where stretches
        start, they are sums of products of what they are at a and at b, so that the sum over terms is one of matrices.
        """
        size = math.isqrt(len(t) - 1) + 1
        angles = [0.5 * self.values[:, None] * part for part in (t[:size], t[::size])]
        (s, c), (sine, cosine) = [(np.sin(angle), np.cos(angle)) for angle in angles]
        weight = (self.terms.mass * np.exp(self.theta * self.values))[:, None]
        mixed = weight * sine * cosine

        def times(late: Array, early: Array) -> Array:  # no threads for so little: on a busy machine they wait
            return np.asarray(np.einsum("vb,va->ba", late, early))

        falls = 2 * (times(weight * cosine**2, s**2) + times(weight * sine**2, c**2) + 2 * times(mixed, s * c))
        turns = 2 * (times(weight * (cosine**2 - sine**2), s * c) + times(mixed, c**2 - s**2))
        start = float(np.sum(self.terms.mass * np.expm1(self.theta * self.values)))
        return np.asarray((start - falls + 1j * turns).ravel()[: len(t)])

    def _wobble(self, t: Array) -> Array:
        """Return n times the sum of the sizes of what makes up M - 1: its rounding, passed on to M^n, in few units."""
        mass, values = self.terms.mass, self.values
        real = float(np.sum(mass * np.abs(np.expm1(self.theta * values))))
        turned = float(np.sum(mass * np.exp(self.theta * values) * np.abs(values)))
        return np.asarray(self.terms.n * (real + turned * t))
