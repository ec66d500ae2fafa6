"""Score sets: what the criterion Q cannot reject, coefficient by coefficient.

    {b : min Q(theta) over all theta with c'theta = b  <=  chi-square quantile},    as its hull

Minimising over the other coefficients, instead of solving their scores, is what stays valid when these are weakly
identified too (subset Anderson-Rubin; Guggenberger, Kleibergen, Mavroeidis and Chen 2012). Sets may be without an end:
then no value on that side can be told from the truth. The minimum is followed outwards from the estimate on a grid that
doubles, and looked at closely where it crosses the quantiles that people ask for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from versadp.errors import ParameterError
from versadp.estimation.criterion import OutOfBudget

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from versadp.estimation.criterion import Criterion

    Array = NDArray[np.float64]

LEVELS = (0.95, 0.9, 0.99)  # whose ends are looked at closely
OUTWARDS = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 128.0, 1024.0)
BARRIER = 0.9999  # a level: what lies behind so high a wall is an artefact of the sample, where curvature is seen
SURE = 0.5  # a level within which nobody asks for an end
CLOSER = 3
STEP = 0.1  # of differences, in standard errors
FLAT = 0.1  # a slope of Q that does not matter


@dataclass(frozen=True, eq=False)
class ScoreSet:
    """The least Q at values of one coefficient.

    Attributes
    ----------
    at : array (k,)
        Values, rising; none at all if nothing could be found.
    least : array (k,)
        The criterion's minimum there.

    Examples
    --------
    >>> at = np.linspace(-5, 5, 2001)
    >>> tuple(round(end, 2) for end in ScoreSet(at, (at - 1) ** 2).interval(0.95))
    (-0.96, 2.96)
    >>> ScoreSet(at, at**2 / (1 + at**2)).interval(0.95)
    (-inf, inf)
    """

    at: Array
    least: Array

    def __post_init__(self) -> None:
        at, least = np.array(self.at, dtype=float), np.array(self.least, dtype=float)
        if at.ndim != 1 or at.shape != least.shape or not np.isfinite(at).all() or not (least >= 0).all():
            raise ParameterError("a score set is values that rise, and what is 0 or more at each")
        if (np.diff(at) <= 0).any():
            raise ParameterError("values of a score set must rise")
        object.__setattr__(self, "at", at)
        object.__setattr__(self, "least", least)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScoreSet) and self.as_numbers() == other.as_numbers()

    def __hash__(self) -> int:
        return hash(self.as_numbers())

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of the set of a level; infinite where nothing bounds it, or nothing is left of it."""
        limit = quantile(level)
        kept = np.flatnonzero(self.least <= limit)
        if not kept.size:
            return -np.inf, np.inf
        first, last = int(kept[0]), int(kept[-1])
        low = -np.inf if first == 0 else self._crossing(first - 1, first, limit)
        high = np.inf if last == self.at.size - 1 else self._crossing(last + 1, last, limit)
        return low, high

    def _crossing(self, out: int, inside: int, limit: float) -> float:
        """Return where the root of the criterion crosses the limit's between two nodes."""
        a, b, to = np.sqrt(min(self.least[out], 1e6)), np.sqrt(self.least[inside]), np.sqrt(limit)
        return float(self.at[inside] + (self.at[out] - self.at[inside]) * (to - b) / (a - b))

    def as_numbers(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return the two fields as plain numbers."""
        return tuple(self.at.tolist()), tuple(np.minimum(self.least, 1e6).tolist())

    @classmethod
    def read(cls, given: ScoreSet | tuple[ArrayLike, ArrayLike]) -> ScoreSet:
        """Return a score set, or what its two fields make."""
        return given if isinstance(given, ScoreSet) else cls(*given)  # type: ignore[arg-type] # made arrays

    @classmethod
    def nothing(cls) -> ScoreSet:
        """Return the set of a coefficient of which nothing is known: the whole line."""
        return cls(np.empty(0), np.empty(0))


def quantile(level: float) -> float:
    """Return the quantile of chi-square with one degree of freedom.

    Examples
    --------
    >>> round(quantile(0.95), 3)
    3.841
    """
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2)) ** 2


@dataclass(frozen=True)
class Space:
    """Around an estimate, in standard errors: `theta = origin + root w`."""

    origin: Array
    root: Array  # (p, p)

    def across(self, coefficient: Array) -> tuple[Array, Array]:
        """Return what moves `c'theta` by its standard error, and what does not move it: (p,), (p, p - 1)."""
        along = coefficient @ self.root
        unit = along / np.linalg.norm(along)
        q, _ = np.linalg.qr(np.column_stack([unit, np.eye(unit.size)]))
        return self.root @ unit, self.root @ q[:, 1 : unit.size]


def score_set(q: Criterion, space: Space, coefficient: Array, *, seen: bool) -> ScoreSet:
    """Return the score set of a coefficient `c'theta`; the whole line if the budget runs out.

    Parameters
    ----------
    q : Criterion
    space : Space
    coefficient : array (p,)
    seen : bool
        Whether curvature at the origin can be told from none. If so, the way outwards ends at a high wall: behind it
        the noise of a corrected score grows faster than the score, until nothing would be rejected.
    """
    return scanned(Least(q, *space.across(coefficient), space.origin), coefficient, seen=seen)


class Profile(Protocol):
    """What is left of Q for one coefficient, once the others are where they are least far from zero."""

    @property
    def origin(self) -> Array:
        """The estimate."""
        ...

    @property
    def along(self) -> Array:
        """What moves the coefficient by its standard error."""
        ...

    @property
    def aside(self) -> Array:
        """What does not move it, in standard errors (p, p - 1)."""
        ...

    def __call__(self, at: float, *starts: Array) -> tuple[float, Array]:
        """Return Q at a distance from the estimate, and how far aside that is; from some starts."""
        ...


@dataclass(frozen=True)
class Least:
    """The least Q."""

    q: Criterion
    along: Array
    aside: Array
    origin: Array

    def __call__(self, at: float, *starts: Array) -> tuple[float, Array]:
        """Return the least Q at a distance, from the best of some starts."""

        def value(eta: Array) -> float:
            return self.q(self.origin + at * self.along + self.aside @ eta)

        values = [value(start) for start in starts]
        best = int(np.argmin(values))
        return descend(value, starts[best], values[best])


def scanned(profile: Profile, coefficient: Array, *, seen: bool) -> ScoreSet:
    """Return the score set of a coefficient, looked for outwards; the whole line if the budget runs out."""
    scan = _Scan(profile)
    try:
        if not seen and scan.endless():
            return ScoreSet.nothing()
        scan.look(0.0, scan.nowhere)
        for sign in (1.0, -1.0):
            scan.outwards(sign, quantile(BARRIER) if seen else np.inf)
        for level in LEVELS:
            for _ in range(CLOSER if level == LEVELS[0] else 1):
                scan.closer(quantile(level))
    except OutOfBudget:
        return ScoreSet.nothing()
    centre, unit = float(coefficient @ profile.origin), float(coefficient @ profile.along)
    at = np.array(sorted(scan.found))
    return ScoreSet(centre + unit * at, np.array([scan.found[each][0] for each in at]))


class _Scan:
    """The least Q at distances from the estimate, found so far, each with where it is."""

    def __init__(self, profile: Profile) -> None:
        self.profile, self.nowhere = profile, np.zeros(profile.aside.shape[1])
        self.found: dict[float, tuple[float, Array]] = {}

    def look(self, at: float, *starts: Array) -> None:
        """Look at a distance."""
        self.found[at] = self.profile(at, *starts)

    def endless(self) -> bool:
        """Tell whether even values far away on both sides are not rejected: then none need be looked at between."""
        for sign in (1.0, -1.0):
            self.look(sign * OUTWARDS[-1], self.nowhere)
        return max(least for least, _ in self.found.values()) <= quantile(min(LEVELS))

    def outwards(self, sign: float, wall: float) -> None:
        """Follow the minimum away from the estimate."""
        before, eta = 0.0, self.found[0.0][1]
        for size in OUTWARDS:
            starts = [eta] if not before else [eta, eta * size / before]
            self.look(sign * size, *starts)
            before, (least, eta) = size, self.found[sign * size]
            if least > wall:
                break

    def closer(self, limit: float) -> None:
        """Look once more between the nodes where the set ends, on both sides."""
        at = np.array(sorted(self.found))
        least = np.array([self.found[each][0] for each in at])
        kept = np.flatnonzero(least <= limit)
        if not kept.size:
            return
        for inside, out in ((int(kept[0]), int(kept[0]) - 1), (int(kept[-1]), int(kept[-1]) + 1)):
            if not 0 <= out < at.size:
                continue
            a, b, to = np.sqrt(min(least[out], 1e6)), np.sqrt(least[inside]), np.sqrt(limit)
            share = float(np.clip((to - b) / (a - b), 0.1, 0.9))  # of the way out, by a line
            middle = float(at[inside] + share * (at[out] - at[inside]))
            if middle not in self.found:
                eta = [self.found[float(at[k])][1] for k in (inside, out)]
                self.look(middle, *eta, (1 - share) * eta[0] + share * eta[1])


def descend(value: Callable[[Array], float], start: Array, at_start: float) -> tuple[float, Array]:
    """Return the minimum of a function near a start; 0, which rejects nothing, where it fails."""
    from scipy.optimize import minimize

    if not start.size or at_start <= quantile(SURE):
        return at_start, start
    if not np.isfinite(at_start):
        return 0.0, start

    def both(eta: Array) -> tuple[float, Array]:
        here = value(eta)
        moved = np.array([value(eta + move) for move in STEP * np.eye(eta.size)])
        return here, (moved - here) / STEP - STEP  # Q bends by about 2

    with np.errstate(all="ignore"):
        options: Any = {"maxiter": 12, "gtol": FLAT, "hess_inv0": np.eye(start.size) / 2}
        found = minimize(both, start, jac=True, method="BFGS", options=options)
    return (float(found.fun), found.x) if np.isfinite(found.fun) and found.fun <= at_start else (at_start, start)
