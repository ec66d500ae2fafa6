"""Quantiles by inverting the corrected distribution function: no bandwidth, no density.

    score(t) = mean over records of the corrected 1{f(x) <= t} - tau

has expectation F(t) - tau, and its standard error is that of a mean over records. Members are combined as for the mean
of an indicator, with weights that are best where F crosses tau; they are the same for all t, so that the combination is
one signed distribution. All t of a grid are had from one pass: a record's points are put into the cells of the grid and
summed up. The grid is coarse over the whole range first, and finer where it matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction.kernel import add_steps
from versadp.estimation.combine import affine_weights
from versadp.estimation.curve import Curve
from versadp.estimation.newton import Fit
from versadp.estimation.outcome import Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.estimation.moments import Family, Prepared

    Array = NDArray[np.float64]

COARSE = 48
FINE = 160
PASSES = 3
LEVEL = 0.95  # of the interval that a standard error is taken from


@dataclass(frozen=True)
class Steps:
    """What one pass asks of some records: sums of the corrected indicators less tau, for all t of a grid."""

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
    error = np.array([[curve.error_by(LEVEL) ** 2]])
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
