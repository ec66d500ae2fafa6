r"""Composition of curves: convolve their privacy losses on a mesh, never to the optimistic side.

**Discretisation.** A profile is convex in k = e^ε. The loss with atoms at the mesh points ε_i = ih and

    q_i = (e^h (δ_(i-1) - δ_i) - (δ_i - δ_(i+1))) / (e^h - 1),   mass δ_n at infinity,

has just the chords of delta between mesh points as its profile: equal at the points, above in between, so it
dominates (the "connect the dots" bound). The pair is symmetric, so q_(-i) = e^(-ih) q_i, which keeps the small masses
at negative losses free of rounding. The chords exceed delta by at most h/4 times the mass of a cell, and as
composition averages profiles, `delta(ε) = Σ_l Q(l) delta(ε - l)`, the excesses of the members just add.

**Range.** Losses beyond `reach` count as infinite and losses below its negative as equal to that: both are
pessimistic. For ε <= reach - 45 this costs less than e^-45, since what counts as infinite would have needed a loss
below -45 elsewhere to matter, which has probability below e^-45. That is why heavy tails do no harm here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from versadp.privacy.curves.contour import least_at_zero, lower_envelope
from versadp.privacy.profile import PrivacyProfile, up

Array = NDArray[np.float64]

_POINTS = 2**19
_FARTHEST = 85.0  # reach: exact up to epsilon 40
_LOWEST = 45.0
_NO_PAIR = 1e-6  # negative probability beyond what rounding leaves
_NOTHING = 1e-17  # a tail below this is not worth mesh points


@dataclass(frozen=True)
class Losses:
    """A discrete loss: `masses[j]` under Q at ``(start + j) * mesh``, and `lost` at infinity."""

    start: int
    masses: Array
    lost: float
    rounding: float = 0.0

    def __mul__(self, other: Losses) -> Losses:
        """Add independent losses."""
        from scipy.signal import fftconvolve  # slow to import, and few need it

        masses = np.asarray(fftconvolve(self.masses, other.masses))
        noise = np.linalg.norm(self.masses) * np.linalg.norm(other.masses)
        rounding = 10 * np.finfo(float).eps * np.log2(len(masses)) * np.sqrt(len(masses)) * float(noise)
        lost = self.lost + (1 - self.lost) * other.lost
        return Losses(self.start + other.start, masses, lost, self.rounding + other.rounding + rounding)

    def trim(self, low: int, high: int) -> Losses:
        """Count losses above `high` steps as infinite, and those below `low` as equal to it."""
        start, masses, lost = self.start, self.masses, self.lost
        if start + len(masses) - 1 > high:
            lost += float(np.sum(masses[high - start + 1 :]))
            masses = masses[: high - start + 1]
        if start < low:
            below = float(np.sum(masses[: low - start]))
            masses = masses[low - start :].copy()
            masses[0] += below
            start = low
        return Losses(start, masses, lost, self.rounding)

    def delta(self, mesh: float) -> Array:
        """Return delta at 0, mesh, 2 mesh, ...: a recursion from the top, all of whose terms are positive."""
        from scipy.signal import lfilter

        tails = np.cumsum(self.masses[::-1])
        fall = np.exp(-mesh)
        # D_i = e^-h D_(i+1) + (1 - e^-h) T_(i+1), T the finite mass at or above a point
        values = lfilter([1 - fall], [1.0, -fall], tails)
        at_points = np.concatenate([[0.0], values])[::-1][-self.start + 1 :]
        return np.asarray(up(self.lost + np.maximum(at_points, 0.0) + self.rounding, 4))


def _mesh(mesh: float, first: int, last: int) -> Array:
    return np.asarray(mesh * np.arange(first, last + 1), dtype=np.float64)


def connect_dots(profile: PrivacyProfile, mesh: float, count: int) -> Losses:
    """Discretise a profile so that its delta is met at the mesh points and exceeded between them.

    Parameters
    ----------
    profile : PrivacyProfile
        The guarantee.
    mesh : float
        Distance h of the points.
    count : int
        Their number on either side of 0.

    Returns
    -------
    Losses

    Examples
    --------
    >>> from versadp.privacy import gaussian
    >>> losses = connect_dots(gaussian(1.0), 0.01, 1000)
    >>> bool(abs(losses.delta(0.01)[100] - gaussian(1.0).delta(1.0)) < 1e-12)
    True
    """
    return from_deltas(profile._curve(_mesh(mesh, 0, count))[0], mesh)


def from_deltas(delta: Array, mesh: float) -> Losses:
    """Return the loss whose profile joins these points, delta at ``0, mesh, 2 mesh, ...``, by chords in e^ε.

    Parameters
    ----------
    delta : ndarray
        Upper bounds; the last is the mass at infinity. Where no pair has such a profile, the largest profile of a pair
        that is not above them is taken, which is a bound too.
    mesh : float
        Distance h of the points.

    Returns
    -------
    Losses

    Examples
    --------
    >>> losses = from_deltas(np.array([0.5, 0.25, 0.125]), 0.1)
    >>> bool(abs(losses.masses.sum() + losses.lost - 1) < 1e-12)
    True
    """
    masses = _masses(delta, mesh)
    if masses.min() < -_NO_PAIR:
        delta = _of_a_pair(delta, mesh)
        masses = _masses(delta, mesh)
    return Losses(1 - len(delta), masses, float(delta[-1]))


def _masses(delta: Array, mesh: float) -> Array:
    """Return the probabilities of the losses from the lowest on; some are negative if no pair has such a delta."""
    drops = np.append(-np.diff(delta), 0.0)
    upper = (np.exp(mesh) * drops[:-1] - drops[1:]) / np.expm1(mesh)
    lower = upper * np.exp(-mesh * np.arange(1, len(delta)))
    middle = 1 - float(delta[-1]) - upper.sum() - lower.sum()
    return np.concatenate([lower[::-1], [middle], upper])


def _of_a_pair(delta: Array, mesh: float) -> Array:
    """Return the largest profile of a symmetric pair that is not above bounds on delta, which are bounds then too."""
    nodes, values = np.expm1(_mesh(mesh, 0, len(delta) - 1)), np.minimum.accumulate(np.minimum(delta, 1.0))
    values[0] = least_at_zero(nodes, values)
    corners = lower_envelope(nodes, values)
    return np.asarray(np.interp(nodes, nodes[corners], values[corners]))


def coarsen(losses: Array, masses: Array, count: int) -> tuple[Array, Array]:
    """Move many atoms of a symmetric loss to few, on an even mesh, to the pessimistic side.

    Parameters
    ----------
    losses, masses : ndarray
        The atoms, increasing.
    count : int
        Atoms on either side of 0.

    Returns
    -------
    losses, masses : ndarray

    Examples
    --------
    >>> l, m = coarsen(np.array([-1.0, 0.0, 1.0]), np.array([0.2, 0.2, 0.6]), 4)
    >>> l
    array([-1.  , -0.75, -0.5 , -0.25,  0.  ,  0.25,  0.5 ,  0.75,  1.  ])
    """
    from versadp.privacy.curves.discrete import Discrete

    mesh = float(losses[-1]) / count
    profile = Discrete(tuple(losses.tolist()), tuple(masses.tolist()), "")
    delta = profile._curve(_mesh(mesh, 0, count))[0]
    delta[-1] = 0.0
    grid = from_deltas(delta, mesh)
    return _mesh(mesh, -count, count), np.maximum(grid.masses, 0.0)


@dataclass(frozen=True, eq=False)
class Convolved(PrivacyProfile):
    """The composition of several curves on a mesh; made by `convolve`."""

    members_of_grid: tuple[PrivacyProfile, ...]
    mesh: float
    values: Array = field(repr=False)
    excess: float

    @property
    def delta_floor(self) -> float:
        """The floors of the members, composed."""
        return float(1 - np.prod([1 - p.delta_floor for p in self.members_of_grid]))

    @property
    def exact_share(self) -> float:
        """The shares of the members, composed."""
        return float(1 - np.prod([1 - p.exact_share for p in self.members_of_grid]))

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the members, and how tight the bound is."""
        inherited = tuple(dict.fromkeys(note for p in self.members_of_grid for note in p.notes))
        return (*inherited, f"composed on a mesh of {self.mesh:.2g}: delta is too large by at most {self.excess:.1g}")

    def _title(self) -> str:
        counted = Counter(p._title() for p in self.members_of_grid)
        return " + ".join(f"{n} times {name}" if n > 1 else name for name, n in counted.items())

    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        last = len(self.values) - 2
        cell = np.minimum((epsilon / self.mesh).astype(np.intp), last)
        part = np.expm1(np.minimum(epsilon - cell * self.mesh, self.mesh)) / np.expm1(self.mesh)
        here, there = self.values[cell], self.values[cell + 1]
        value = up(here + (there - here) * np.clip(part, 0.0, 1.0), 2)
        with np.errstate(over="ignore"):
            alarms = (here - there) / (np.exp(cell * self.mesh) * np.expm1(self.mesh))
        beyond = epsilon > (last + 1) * self.mesh
        if beyond.any():  # basic composition: the epsilon in equal parts, the deltas added
            share = epsilon[beyond] / len(self.members_of_grid)
            basic = sum(p._curve(share)[0] for p in self.members_of_grid)
            value[beyond] = np.minimum(value[beyond], basic)
            alarms[beyond] = 0.0
        return value, np.maximum(alarms, 0.0)


def _tail(profile: PrivacyProfile) -> float:
    """Return an epsilon at which delta has come within `_NOTHING` of its floor, or `_FARTHEST`."""
    tries = np.append(np.logspace(-3, np.log10(_FARTHEST), 60), _FARTHEST)
    values = profile._curve(tries)[0]
    close = np.flatnonzero(values <= profile.delta_floor + _NOTHING)
    return float(tries[close[0]]) if close.size else _FARTHEST


@lru_cache(maxsize=32)
def convolve(profiles: tuple[PrivacyProfile, ...], points: int | None = None) -> Convolved:
    """Compose curves by convolution.

    Parameters
    ----------
    profiles : tuple of PrivacyProfile
        Two or more; repetitions are convolved by squaring.
    points : int, optional
        Mesh points; twice as many make the excess four times smaller. By default as many as bring it below
        1e-6, half a million at least and two million at most.

    Returns
    -------
    Convolved

    Examples
    --------
    >>> from versadp.privacy import gaussian
    >>> p = convolve((gaussian(0.6), gaussian(0.8)), points=2**14)
    >>> bool(0 <= p.delta(1.0) - gaussian(1.0).delta(1.0) < p.excess < 2e-5)
    True
    """
    if points is None:
        coarse = convolve(profiles, _POINTS)
        return coarse if coarse.excess < 1e-6 else convolve(profiles, 4 * _POINTS)
    counted = Counter(profiles)
    tails = {p: _tail(p) for p in counted}
    reach = min(_FARTHEST, sum(n * tails[p] for p, n in counted.items()))
    mesh = (reach + min(reach, _LOWEST)) / points
    high, low = int(np.ceil(reach / mesh)), -int(np.ceil(min(reach, _LOWEST) / mesh))
    total, excess = Losses(0, np.ones(1), 0.0), 0.0
    for profile, n in counted.items():
        count = min(high, int(np.ceil(min(tails[profile], reach) / mesh)) + 1)
        base = connect_dots(profile, mesh, count)
        excess += n * (float(base.masses.max()) * np.expm1(mesh) / 4 + 1e-9 * _quadrature(profile))
        total = (total * _power(base.trim(low, high), n, low, high)).trim(low, high)
    values = total.delta(mesh)[: high + 1]
    values.setflags(write=False)
    return Convolved(profiles, mesh, values, excess + total.rounding)


def _quadrature(profile: PrivacyProfile) -> bool:
    """Return True if a profile comes with the error of a quadrature, below 1e-9."""
    return getattr(profile, "dim", 1) > 1


def _power(base: Losses, n: int, low: int, high: int) -> Losses:
    """Convolve n copies by repeated squaring, trimmed on the way."""
    result: Losses | None = None
    while True:
        if n & 1:
            result = base if result is None else (result * base).trim(low, high)
        n >>= 1
        if not n:
            assert result is not None
            return result
        base = (base * base).trim(low, high)
