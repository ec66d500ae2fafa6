"""Score sets: what the criterion Q cannot reject, coefficient by coefficient.

    {b : min Q(theta) over all theta with c'theta = b  <=  chi-square quantile},    as its hull

Minimising over the other coefficients, instead of solving their scores, is what stays valid when these are weakly
identified too (subset Anderson-Rubin; Guggenberger, Kleibergen, Mavroeidis and Chen 2012). Sets may be without an end:
then no value on that side can be told from the truth. The minimum is followed outwards from the estimate on a grid that
doubles, and looked at closely where it crosses the quantiles that people ask for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from versadp.errors import ParameterError
from versadp.estimation.criterion import OutOfBudget
from versadp.estimation.descent import LONGEST, Slopes, descend
from versadp.estimation.thresholds import LEVELS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from versadp.estimation.criterion import Criterion

    Array = NDArray[np.float64]

OUTWARDS = (2.0, 4.0, 8.0, 16.0, 32.0, 128.0, 1024.0)  # standard errors: where Q is looked at first
BARRIER = 0.9999  # a level: what lies behind so high a wall is an artefact of the sample, where curvature is seen
SURE = 0.5  # a level below that of any interval that is asked for
FARTHEST = 0.9999  # a level: p-values of values beyond all that were looked at are smaller, and told as 0
CLOSER = 3  # looks at most at each end of a 95% set; other levels get one
AT_END = 0.01  # of an end's distance from the estimate: where lines between nodes are so near the curve, they will do
SIDE_BY_SIDE = 2.0  # standard errors: two looks no further apart share their slopes
BRANCH = 8.0  # standard errors: from there on, or if nodes are so far apart aside, several starts are tried


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

    def pvalue(self, at: float) -> float:
        """Return the p-value of a value: 1 less the level of the smallest set that holds it; NaN where Q is unknown.

        Examples
        --------
        >>> values = np.linspace(-5, 5, 11)
        >>> round(ScoreSet(values, (values - 1) ** 2).pvalue(0.0), 4)
        0.3173
        """
        from scipy.special import ndtr

        if not self.at.size or not self.at[0] <= at <= self.at[-1]:
            beyond = self.at.size and self.least[0 if at < self.at[0] else -1] > quantile(FARTHEST)
            return 0.0 if beyond else np.nan
        root = np.sqrt(np.minimum(self.least, 1e6))
        centre = int(np.argmin(root))  # roots are of two signs on its two sides, and straight through it
        root[:centre] *= -1
        return float(2 * ndtr(-abs(np.interp(at, self.at, root))))

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


def score_set(q: Criterion, space: Space, coefficient: Array, *, seen: bool, slopes: Array | None = None) -> ScoreSet:
    """Return the score set of a coefficient `c'theta`; the whole line if the budget runs out.

    Parameters
    ----------
    q : Criterion
    space : Space
    coefficient : array (p,)
    seen : bool
        Whether curvature at the origin can be told from none. If so, the way outwards ends at a high wall: behind it
        the noise of a corrected score grows faster than the score, until nothing would be rejected.
    slopes : array (p, p), optional
        Of the whitened score at the origin, in the directions of the space.
    """
    along, aside = space.across(coefficient)
    known = Slopes() if slopes is None else Slopes(slopes @ np.linalg.solve(space.root, aside))
    return scanned(Least(q, along, aside, space.origin, known), coefficient, seen=seen)


class Profile(Protocol):
    """Profile of Q for one coefficient, the others concentrated out."""

    @property
    def origin(self) -> Array:
        """The estimate."""
        ...

    @property
    def along(self) -> Array:
        """The direction that moves the coefficient by its standard error."""
        ...

    @property
    def aside(self) -> Array:
        """Directions that do not move it, in standard errors (p, p - 1)."""
        ...

    def __call__(self, at: float, *starts: Array, enough: float) -> tuple[float, Array]:
        """Return Q at a distance from the estimate, and how far aside that is; from some starts.

        Below `enough` a value need not be the least.
        """
        ...


@dataclass
class Least:
    """The least Q.

    Attributes
    ----------
    q : Criterion
    along, aside : array (p,), (p, p - 1)
    origin : array (p,)
    slopes : Slopes
        Of the whitened score in `aside`, kept from one look to the next.
    """

    q: Criterion
    along: Array
    aside: Array
    origin: Array
    slopes: Slopes = field(default_factory=Slopes)
    before: float = np.inf

    def __call__(self, at: float, *starts: Array, enough: float) -> tuple[float, Array]:
        """Return the least Q at a distance, from the best of some starts."""

        def residual(eta: Array) -> Array | None:
            return self.q.residual(self.origin + at * self.along + self.aside @ eta)

        found = [residual(start) for start in starts]
        best = int(np.argmin([np.inf if each is None else float(each @ each) for each in found]))
        near, self.before = abs(at - self.before) <= SIDE_BY_SIDE, at
        longest = max(LONGEST, abs(at))
        return descend(residual, starts[best], found[best], self.slopes, enough=enough, longest=longest, near=near)


def scanned(profile: Profile, coefficient: Array, *, seen: bool) -> ScoreSet:
    """Return the score set of a coefficient, looked for outwards; the whole line if the budget runs out."""
    scan = _Scan(profile)
    try:
        ended = () if seen else scan.endless()
        if len(ended) == 2:
            return ScoreSet.nothing()
        scan.look(0.0, scan.nowhere)
        for sign in (1.0, -1.0):
            if sign not in ended:
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

    def look(self, at: float, *starts: Array, enough: float | None = None) -> float:
        """Look at a distance, and return the value there."""
        self.found[at] = self.profile(at, *starts, enough=quantile(SURE) if enough is None else enough)
        return self.found[at][0]

    def endless(self) -> tuple[float, ...]:
        """Return the sides on which even values far away are not rejected: nothing need be looked at between."""
        limit, out = quantile(min(LEVELS)), []
        for sign in (1.0, -1.0):
            at = sign * OUTWARDS[-1]
            if self.look(at, self.nowhere, enough=limit) <= limit:
                out.append(sign)
                self.found[at] = 0.0, self.nowhere  # at every level
            else:
                del self.found[at]
        return tuple(out)

    def outwards(self, sign: float, wall: float) -> None:
        """Follow the minimum away from the estimate."""
        before, eta = 0.0, self.found[0.0][1]
        for size in OUTWARDS:
            starts = [eta * size / before] if before else [eta]
            if before and size > BRANCH:
                starts.append(eta)
            least = self.look(sign * size, *starts)
            before, eta = size, self.found[sign * size][1]
            if least > wall:
                break

    def closer(self, limit: float) -> None:
        """Look once more between the nodes where the set ends, on both sides, unless a line between them will do."""
        at = np.array(sorted(self.found))
        least = np.array([self.found[each][0] for each in at])
        kept = np.flatnonzero(least <= limit)
        if not kept.size:
            return
        root = np.sqrt(np.minimum(least, 1e6)) * np.where(at < 0, -1.0, 1.0)
        for inside, out in ((int(kept[0]), int(kept[0]) - 1), (int(kept[-1]), int(kept[-1]) + 1)):
            if not 0 <= out < at.size:
                continue
            a, b, to = abs(root[out]), abs(root[inside]), np.sqrt(limit)
            share = (to - b) / (a - b)  # of the way out, by a line
            middle = float(at[inside] + share * (at[out] - at[inside]))
            if _off(at, root, min(inside, out), middle) < AT_END * abs(middle):
                continue
            share = float(np.clip(share, 0.1, 0.9))
            middle = float(at[inside] + share * (at[out] - at[inside]))
            one, other = (self.found[float(at[k])][1] for k in (inside, out))
            starts = [(1 - share) * one + share * other]
            if float(np.linalg.norm(one - other)) > BRANCH:
                starts += [one, other]
            if middle not in self.found:
                self.look(middle, *starts)


def _off(at: Array, root: Array, k: int, x: float) -> float:
    """Return how far off x may be by the line between nodes k and k + 1, as the bends beside it tell; infinite without.

    Examples
    --------
    >>> at = np.array([-1.0, 0.0, 1.0, 3.0])
    >>> [round(_off(at, root, 1, 0.5), 6) for root in (2 * at, at + 0.1 * at**2)]
    [0.0, 0.022727]
    """
    slopes = np.diff(root) / np.diff(at)
    near = [j for j in (k - 1, k) if 0 <= j < slopes.size - 1]
    if len(near) < 2 or slopes[k] == 0:
        return np.inf
    bend = max(abs(slopes[j + 1] - slopes[j]) / (at[j + 2] - at[j]) for j in near)
    return float(bend * (x - at[k]) * (at[k + 1] - x) / abs(slopes[k]))
