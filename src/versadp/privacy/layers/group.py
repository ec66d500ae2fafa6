r"""Group privacy: what a guarantee for one row says of all rows of a person.

A chain of data sets S_0, ..., S_k leads from one to another in which all k rows of a person differ, one row at a time.
With F(α) the largest power of a test of level α between neighbours (`1 - beta(α)`, the trade-off function turned over),

    a test of S_0 against S_k of level α has power at most F(F(... F(α))), k times.

*Proof.* By induction: the test has power at most x = F^{k-1}(α) under S_{k-1}. As a test of S_{k-1} against S_k its
level is that power, so under S_k its power is at most F(x), F being increasing. ∎ (Dong, Roth, Su 2022, group
privacy.) It holds for any mechanism, shuffled ones among them, since it uses nothing but the guarantee of each step.

F is concave, and the least of its tangents: ``F(α) = min_a delta(a) + e^a α``. So F^k is the least of composed lines,

    delta_k(ε) = min over a_1 + ... + a_k = ε of  Σ_i e^(a_1 + ... + a_{i-1}) delta(a_i),

(the minimum is attained: the sum is a perspective of a convex function of e^a, hence convex), and any a_i give an upper
bound. Equal ones give the (kε, δ Σ e^{iε}) of pairs, which is never used: where losses spread it is far too large.

**What is rounded, and to which side.** delta is evaluated on a grid of a, finer where it bends, with all atoms on it
if there are few. Lines of the grid are composed exactly: a sum of positive terms, rounded up; which lines meet only
steers. Between grid points delta_k is interpolated linearly in e^ε, which is above any convex function: so it is too
large by less than 4e-3 of it (a tenth below 1e-30; it does not go on falling below 1e-60), monotone, and convex.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from versadp import inputs
from versadp.privacy.curves.contour import is_searching
from versadp.privacy.curves.discrete import Discrete
from versadp.privacy.curves.gaussian import Gaussian
from versadp.privacy.layers.layer import Layer
from versadp.privacy.profile import ULP, PrivacyProfile, require_profile, up

Array = NDArray[np.float64]

EXCESS, ROUGH_EXCESS = 2e-3, 0.03  # relative errors of interpolation; the second in a search
FAR_EXCESS, FAR = 0.05, 1e-30  # where delta is below FAR
LEAST, ROUGH_LEAST = 1e-60, 1e-15  # below these deltas no grid is made finer
_SPACING, _FEWEST, _MOST = 0.5, 33, 6000  # of grid points: their largest distance at first, and their numbers
_KINKS = 300  # more are not all on the grid
_ROUNDS = 12  # of bisection


class Lines(NamedTuple):
    """Lines `delta + e^slope α`, whose minimum bounds power: slopes increase from -inf (power 1), deltas decrease."""

    slopes: Array
    deltas: Array


@dataclass(frozen=True)
class Group(Layer):
    """`base` for a row, for all `k` rows of a person; see `group`."""

    k: int

    @property
    def _lines(self) -> Lines:
        return self._rough_lines if is_searching() else self._fine_lines

    @cached_property
    def _fine_lines(self) -> Lines:
        return _power(_lines_of(self.base, EXCESS, LEAST), self.k)

    @cached_property
    def _rough_lines(self) -> Lines:
        return _power(_lines_of(self.base, ROUGH_EXCESS, ROUGH_LEAST), self.k)

    @property
    def delta_floor(self) -> float:
        """The power of a test without false alarms."""
        return float(self._lines.deltas[-1])

    @property
    def _quick_floor(self) -> float:
        return self.base._quick_floor

    @property
    def exact_share(self) -> float:
        """The share of people of whom at least one row is given away: rows are drawn independently."""
        return float(up(1 - (1 - self.base.exact_share) ** self.k)) if self.base.exact_share else 0.0

    @property
    def pure_epsilon(self) -> float:
        """The steepest line, if that of the base is steepest where delta has reached its floor."""
        return max(float(self._lines.slopes[-1]), 0.0) if np.isfinite(self.base.pure_epsilon) else float("inf")

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the base, and that this is a bound."""
        bound = f"an upper bound, the trade-off function of a row applied {self.k:,} times"
        return (*self.base.notes, f"a person has up to {self.k:,} rows: {bound}")

    @property
    def neighbours(self) -> str:
        """All rows of a person."""
        return f"all rows of one person, {self.k:,} at most (replace one person)"

    @property
    def _kinks(self) -> Array:
        slopes = self._lines.slopes
        return slopes[slopes >= 0] if self.base._kinks.size else np.empty(0)

    def _title(self) -> str:
        return f"up to {self.k:,} rows of a person, each with {self.base._title()}"

    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        slopes, deltas = self._lines
        right = np.minimum(np.searchsorted(slopes, epsilon, side="right"), len(slopes) - 1)
        low, high = slopes[right - 1], slopes[right]
        beyond = epsilon >= slopes[-1]
        with np.errstate(over="ignore", invalid="ignore"):
            width = -np.expm1(low - high)
            weight = np.where(beyond, 1.0, np.exp(epsilon - high) * -np.expm1(low - epsilon) / width)
            alarms = np.where(beyond, 0.0, (deltas[right - 1] - deltas[right]) * np.exp(-high) / width)
        weight = np.clip(weight, 0.0, 1.0)
        value = deltas[right - 1] * (1 - weight) + deltas[right] * weight
        return np.where(beyond, deltas[-1], up(value, 4)), alarms

    def _beta(self, rates: Array) -> Array:
        slopes, deltas = self._lines
        with np.errstate(over="ignore"):
            steep = np.exp(slopes) * (1 + 4 * ULP * (4 + np.abs(np.maximum(slopes, -700.0))))
        return np.array([1 - np.min(deltas + steep * rate) - 4e-15 for rate in rates])


def group(profile: PrivacyProfile, k: int) -> PrivacyProfile:
    """Return the profile for people who have up to k rows, from that of a row.

    Parameters
    ----------
    profile : PrivacyProfile
        What holds for data sets that differ in one row.
    k : int
        How many rows a person may have, at least 1.

    Returns
    -------
    PrivacyProfile
        What holds for data sets that differ in all rows of one person: the trade-off function composed with itself.
        A Gaussian of μ is one of kμ, exactly; all others are upper bounds on the k-fold composition.

    Examples
    --------
    >>> from versadp.privacy import approx_dp, gaussian
    >>> round(group(gaussian(0.5), 3).delta(1.0), 9) == round(gaussian(1.5).delta(1.0), 9)
    True
    >>> p = group(approx_dp(1.0, 0.0), 2)
    >>> p.pure_epsilon, round(p.delta(0.0), 6)  # below the 0.761594 of a pure epsilon of 2
    (2.0, 0.632121)
    """
    require_profile("profile", profile)
    k = inputs.whole("k", k, 1)
    if k == 1 or (isinstance(profile, Discrete) and profile.pure_epsilon == 0):
        return profile
    if isinstance(profile, Gaussian):
        return Gaussian(k * profile.mu * (1 + ULP))
    if isinstance(profile, Group):
        return Group(profile.base, profile.k * k)
    return Group(profile, k)


def _lines_of(base: PrivacyProfile, excess: float, least: float) -> Lines:
    """Return lines of a profile on a grid that is fine where delta bends."""
    last = _last(base)
    kinks = base._kinks if len(base._kinks) <= _KINKS else np.empty(0)
    count = int(np.clip(last / _SPACING, _FEWEST, _MOST // 4))
    eps = np.unique(np.concatenate([np.linspace(0.0, last, count), kinks[(kinks > 0) & (kinks < last)]]))
    delta = np.minimum.accumulate(base._signed(eps)[0])
    unsure = np.ones(len(eps) - 1, np.bool_)
    for _ in range(_ROUNDS):
        if not unsure.any() or len(eps) > _MOST:
            break
        at = np.flatnonzero(unsure)
        middle = (eps[at] + eps[at + 1]) / 2
        found = base._signed(middle)[0]
        weight = 1 / (1 + np.exp((eps[at + 1] - eps[at]) / 2))
        chord = delta[at] * (1 - weight) + delta[at + 1] * weight
        bent = chord > found * (1 + np.where(found > FAR, excess, FAR_EXCESS)) + least
        eps, delta = np.insert(eps, at + 1, middle), np.insert(delta, at + 1, found)
        unsure = np.insert(_cleared(unsure, at[~bent]), at + 1, bent)
    delta = np.minimum.accumulate(delta)
    positive = eps > 0
    mirrored = up(-np.expm1(-eps[positive]) + np.exp(-eps[positive]) * delta[positive])  # delta at -ε, by symmetry
    return _convex(np.append(-eps[positive][::-1], eps), np.append(mirrored[::-1], delta))


def _cleared(flags: NDArray[np.bool_], at: NDArray[np.int64]) -> NDArray[np.bool_]:
    flags = flags.copy()
    flags[at] = False
    return flags


def _last(base: PrivacyProfile) -> float:
    """Return the epsilon with which the grid ends: that of the floor, or one beyond which there is nothing to gain."""
    if np.isfinite(base.pure_epsilon):
        return max(base.pure_epsilon, 1e-12)
    tried = np.exp2(np.arange(-20.0, 14.0))
    found = base._signed(np.asarray(tried))[0]
    return float(tried[np.argmax(found <= max(found.min() * (1 + ULP), LEAST))])


def _convex(slopes: Array, deltas: Array) -> Lines:
    """Return lines whose deltas are a convex decreasing function of e^slope, after the one at power 1.

    Lines are left out that say nothing, and those that are, by rounding, above the chord of others.
    """
    useful = (deltas < 1) & np.isfinite(slopes)
    slopes, deltas = np.append(-np.inf, slopes[useful]), np.append(1.0, deltas[useful])
    apart = np.append(np.diff(slopes) > 0, True)  # of equal slopes the last is the lowest
    slopes, deltas = slopes[apart], np.minimum.accumulate(deltas[apart])
    for _ in range(_ROUNDS):
        with np.errstate(divide="ignore", over="ignore"):
            falls = np.log(-np.diff(deltas)) - slopes[1:] - np.log(-np.expm1(-np.diff(slopes)))
        bad = np.flatnonzero(falls[1:] > falls[:-1]) + 1
        if not bad.size:
            break
        keep = np.ones(len(slopes), np.bool_)
        keep[bad[np.append(True, np.diff(bad) > 1)]] = False  # of neighbours one at a time
        slopes, deltas = slopes[keep], deltas[keep]
    return Lines(slopes, deltas)


def _power(lines: Lines, k: int) -> Lines:
    """Return the k-fold composition, by doubling."""
    result: Lines | None = None
    while True:
        if k % 2:
            result = lines if result is None else _composed(lines, result)
        k //= 2
        if not k:
            assert result is not None
            return result
        lines = _composed(lines, lines)


def _composed(outer: Lines, inner: Lines) -> Lines:
    """Return the lines of the composition: as α grows, both run through their lines from the steepest on."""
    levels, _ = _meeting(outer)
    _, powers = _meeting(inner)
    # both in the order of falling slopes, so of growing levels and powers
    order = np.argsort(np.concatenate([levels, powers]), kind="stable")
    is_outer = order < len(levels)
    of_outer = len(outer.slopes) - 1 - np.concatenate([[0], np.cumsum(is_outer)])
    of_inner = len(inner.slopes) - 1 - np.concatenate([[0], np.cumsum(~is_outer)])
    slopes = outer.slopes[of_outer] + inner.slopes[of_inner]
    rest = inner.deltas[of_inner]
    with np.errstate(over="ignore", invalid="ignore"):
        second = np.where(rest == 0, 0.0, np.exp(outer.slopes[of_outer]) * rest)
    deltas = up(outer.deltas[of_outer] + second, 8 + 4 * np.abs(slopes).clip(0, 700))
    return _convex(slopes[::-1], deltas[::-1])


def _meeting(lines: Lines) -> tuple[Array, Array]:
    """Return where consecutive lines meet, from the steepest on: levels α, and their common value there."""
    slopes, deltas = lines
    falls, widths = -np.diff(deltas), -np.expm1(-np.diff(slopes))
    with np.errstate(over="ignore"):
        levels = falls * np.exp(-slopes[1:]) / widths
    # which grow; near 1 rounding hides it
    return np.maximum.accumulate(levels[::-1]), np.maximum.accumulate((deltas[1:] + falls / widths)[::-1])
