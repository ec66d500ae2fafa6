"""A corrected distribution function, and quantiles by inverting it: no bandwidth, no density.

    score(t) = mean over records of the corrected 1{f(x) <= t} - tau,        {t : |rising(t)| <= z error(t)}

The score has expectation F(t) - tau, and its standard error is that of a mean over records. An interval is as wide as
the score leaves it, need not be symmetric around the estimate, and stays inside the range of the grid. A signed sum
does not rise everywhere, and where it is flat, dents far away would be taken for the parameter; the truth rises, and
`rising`, the nearest rising curve, is nearer to it. At an atom it jumps, so the left end is judged by what lies above
and the right end by what lies below, each to the next node.

Members are combined as for the mean of an indicator, with weights that are best where F crosses tau; they are the same
for all t, so that the combination is one signed distribution. All t of a grid are had from one pass: a record's points
are put into the cells of the grid and summed up. The grid is coarse over the whole range first, then refined.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction.point_kernel import add_steps
from versadp.errors import ParameterError
from versadp.estimation.combine import affine_weights
from versadp.estimation.newton import Fit
from versadp.estimation.outcome import Outcome
from versadp.estimation.thresholds import LEVELS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from versadp.estimation.moments import Family, Prepared

    Array = NDArray[np.float64]

FAR = 4.0  # standard errors beyond which ends are not refined: levels up to 99.99%
BETWEEN = 12  # nodes per refined cell: three refinements then reach 1/2,000 of a coarse one


@dataclass(frozen=True, eq=False)
class Curve:
    """A score that rises through 0 at the parameter, up to its error.

    Attributes
    ----------
    at : array (k,)
        Values of the parameter, rising; the first and the last bound it.
    score, error : array (k,)
        The score there, and its standard error.
    rounding : float
        By how much values may have been rounded before; intervals are wider by it.

    Examples
    --------
    >>> at = np.linspace(0, 1, 1001)
    >>> curve = Curve(at, at - 0.3, np.full(1001, 0.1))
    >>> round(curve.estimate, 3), tuple(round(end, 2) for end in curve.interval(0.95))
    (0.3, (0.1, 0.5))
    >>> tuple(round(end, 2) for end in curve.interval(0.999))
    (0.0, 0.63)
    """

    at: Array
    score: Array
    error: Array
    rounding: float = 0.0

    def __post_init__(self) -> None:
        at, score, error = (np.array(each, dtype=float) for each in (self.at, self.score, self.error))
        same = at.ndim == 1 and at.shape == score.shape == error.shape and at.size > 0
        if not same or not np.isfinite([at, score, error]).all() or (np.diff(at) <= 0).any() or (error < 0).any():
            raise ParameterError("a curve is finite scores and errors at values that rise")
        for name, value in (("at", at), ("score", score), ("error", error)):
            object.__setattr__(self, name, value)

    @cached_property
    def rising(self) -> Array:
        """The score as a rising function: nearest in squares over the range."""
        from scipy.optimize import isotonic_regression

        if self.at.size == 1:
            return self.score
        return np.asarray(isotonic_regression(self.score, weights=np.gradient(self.at)).x)

    @property
    def _crossing(self) -> int:
        """The node where the rising curve nearest to the score crosses 0.

        It is the minimum of the integral of the score, whatever the score does on the way.
        """
        rises = np.diff(self.at) * (self.score[1:] + self.score[:-1]) / 2
        k = int(np.argmin(np.append(0.0, np.cumsum(rises))))
        return min(k if self.score[k] >= 0 else k + 1, self.at.size - 1)

    @property
    def estimate(self) -> float:
        """The value at which the score crosses 0, as a rising function would."""
        return float(self.at[self._crossing])

    @property
    def interpolated(self) -> float:
        """The value at which the score crosses 0, straight between nodes: of scores that have no steps."""
        k = self._crossing
        if k == 0 or not self.score[k - 1] < 0 <= self.score[k]:
            return float(self.at[k])
        return float(np.interp(0.0, self.score[k - 1 : k + 1], self.at[k - 1 : k + 1]))

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of the interval of a level."""
        from scipy.special import ndtri

        before, after = self._ends(self.rising, float(ndtri(0.5 + level / 2)))
        ends = self.at[before] - self.rounding, self.at[after] + self.rounding
        return float(max(ends[0], self.at[0])), float(min(ends[1], self.at[-1]))

    def error_by(self, level: float) -> float:
        """Return the standard error of which a normal interval of a level would be as long."""
        from scipy.special import ndtri

        low, high = self.interval(level)
        return (high - low) / 2 / float(ndtri(0.5 + level / 2))

    def _ends(self, score: Array, z: float) -> tuple[int, int]:
        """Return the last node before those that are not too low, and the first after those that are not too high."""
        last = self.at.size - 1
        not_low = np.flatnonzero(score >= -z * self.error)
        not_high = np.flatnonzero(score <= z * self.error)
        before = max(int(not_low[0]) - 1, 0) if not_low.size else last
        after = min(int(not_high[-1]) + 1, last) if not_high.size else 0
        k = self._crossing  # without errors and on an atom nothing else may be left
        return min(before, k), max(after, k)

    def finer(self) -> Array:
        """Return more values to look at: all where the parameter may be, and most around estimate and ends."""
        from scipy.special import ndtri

        k = self._crossing
        cells = [(max(k - 1, 0), k)]
        for level in LEVELS:
            before, after = self._ends(self.rising, float(ndtri(0.5 + level / 2)))
            cells += [(before, min(before + 1, self.at.size - 1)), (max(after - 1, 0), after)]
        left, right = self._ends(self.score, FAR)
        parts = [np.linspace(self.at[left], self.at[right], 4 * BETWEEN)]
        parts += [np.linspace(self.at[left], self.at[right], BETWEEN + 2) for left, right in set(cells)]
        return np.setdiff1d(np.concatenate(parts), self.at)

    def joined(self, other: Curve) -> Curve:
        """Return a curve with the nodes of both."""
        at, first = np.unique(np.append(self.at, other.at), return_index=True)
        score, error = np.append(self.score, other.score)[first], np.append(self.error, other.error)[first]
        return Curve(at, score, error, max(self.rounding, other.rounding))

    def told(self) -> Curve:
        """Return the part that intervals of any usual level need, and the ends of the range."""
        before, after = self._ends(self.score, FAR)
        kept = np.unique(np.concatenate([[0], np.arange(before, after + 1), [self.at.size - 1]]))
        return Curve(self.at[kept], self.score[kept], self.error[kept], self.rounding)

    def as_numbers(self) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...], float]:
        """Return the four fields as plain numbers."""
        at, score, error = (tuple(each.tolist()) for each in (self.at, self.score, self.error))
        return at, score, error, float(self.rounding)

    @classmethod
    def read(cls, curve: Curve | tuple[ArrayLike, ArrayLike, ArrayLike, float]) -> Curve:
        """Return a curve, or what its four fields make."""
        return curve if isinstance(curve, Curve) else cls(*curve)  # type: ignore[arg-type] # made arrays when made


COARSE = 48  # nodes of the first grid, even over the range and again by quantiles of the points
FINE = 160  # nodes of a whole distribution function: steps of 0.6% of the records
PASSES = 3  # refinements of a grid at most, each a pass over the records


@dataclass(frozen=True)
class Steps:
    """Sums of one pass over records: of the corrected indicators less tau, for all t of a grid."""

    grid: Array
    tau: float
    mix: Array
    line: Array | None = None

    def sums(self, prepared: Prepared) -> tuple[int, Array, Array]:
        """Return number, sum of scores (t, G) and of their products (t, G, G)."""
        (points,) = prepared
        values = values_of(points.rows, self.line)
        size, groups = self.grid.size, len(self.mix)
        score, outer = np.zeros((size, groups)), np.zeros((size, groups, groups))
        order = np.argsort(points.record, kind="stable")
        place = np.searchsorted(self.grid, values)
        add_steps(order, points.record, place, self.mix @ points.factor, self.tau, score, outer)
        return points.n, score, outer


@dataclass(frozen=True)
class Question:
    """A quantile that is asked for.

    Attributes
    ----------
    tau : float
    bounds : tuple of float, optional
        Between which it lies; without, it lies where the corrected points do.
    rounding : float
        By how much values may have been rounded.
    line : array (p,), optional
        Coefficients: the quantile is of residuals from them, not of the response itself.
    """

    tau: float
    bounds: tuple[float, float] | None = None
    rounding: float = 0.0
    line: Array | None = None


def invert(family: Family, small: Family, question: Question, *, rehearsal: Family | None = None) -> Fit:
    """Estimate a quantile.

    Parameters
    ----------
    family : Family
        All records, with one form, whose points have values.
    small : Family
        The same, or fewer draws or a random part of the records, on which the range and weights are found.
    question : Question
    rehearsal : Family, optional
        Records that were released again, to steady the weights of few records.
    """
    grid = _range(small, question)
    members = len(family.names)
    samples = (small,) if rehearsal is None else (small, rehearsal)
    mix = _weights(samples, question, grid) if members > 1 else np.ones(1)
    curve = _look(family, question, grid, mix)
    for _ in range(PASSES):
        more = curve.finer()
        if not more.size:
            break
        curve = curve.joined(_look(family, question, more, mix))
    curve, at = curve.told(), np.array([curve.estimate])
    weights = dict(zip(family.names, mix.tolist(), strict=True)) if members > 1 else {}
    error = np.array([[curve.error_by(LEVELS[0]) ** 2]])
    return Fit(at, error, Outcome.CONVERGED, family.source.rows, weights, mix[None], curve=curve)


def distribution(family: Family, question: Question) -> Curve:
    """Return the corrected distribution function less tau over the whole range, finer where most records are."""
    grid = _range(family, question, FINE)
    mix = _weights((family,), question, grid) if len(family.names) > 1 else np.ones(1)
    curve = _look(family, question, grid, mix)
    share = np.maximum.accumulate(curve.score) + question.tau
    low, high = np.interp([0.01, 0.99], share, grid)
    more = np.setdiff1d(np.linspace(low, high, FINE), grid)
    return curve.joined(_look(family, question, more, mix)) if more.size else curve


def values_of(rows: tuple[Array, Array], line: Array | None) -> Array:
    """Return the response of rows, or its residuals from a line."""
    m, y = rows
    return y if line is None else y - m @ line


def _range(family: Family, question: Question, dense: int = COARSE) -> Array:
    """Return a coarse grid: even between the bounds, and where points are many."""
    seen = np.concatenate(family.each(partial(_values, question.line)))
    low, high = question.bounds or (float(seen.min()), float(seen.max()))
    many = np.clip(np.quantile(seen, np.linspace(0, 1, dense)), low, high)
    return np.unique(np.concatenate([np.linspace(low, high, COARSE), many]))


def _values(line: Array | None, prepared: Prepared) -> Array:
    (points,) = prepared
    values = values_of(points.rows, line)
    if values.size <= 10_000:
        return values
    thinned = values[:: values.size // 10_000]
    return np.append(thinned, [values.min(), values.max()])


def _look(family: Family, question: Question, grid: Array, mix: Array) -> Curve:
    """Return score and error of a combination on a grid."""
    n, score, outer = family.total(Steps(grid, question.tau, mix[None], question.line))
    mean = score[:, 0] / n
    variance = np.maximum(outer[:, 0, 0] / n - mean**2, 0.0) / max(n - 1, 1)
    return Curve(grid, mean, np.sqrt(variance), question.rounding)


def _weights(samples: tuple[Family, ...], question: Question, grid: Array) -> Array:
    """Return the combination of members that is best where it crosses tau itself."""
    members = len(samples[0].names)
    steps = Steps(grid, question.tau, np.eye(members), question.line)
    counts, scores, outers = zip(*(each.total(steps) for each in samples), strict=True)
    mean = scores[0] / counts[0]
    centred = [o / n - np.einsum("ta,tb->tab", s / n, s / n) for n, s, o in zip(counts, scores, outers, strict=True)]
    matrices = np.average(centred, axis=0, weights=counts)
    mix = np.append(np.ones(members - 1), 0.0) / (members - 1)  # the widest varies most
    for _ in range(3):
        at = Curve(grid, mean @ mix, np.zeros(grid.size)).estimate
        mix = affine_weights(matrices[np.searchsorted(grid, at)])
    return mix
