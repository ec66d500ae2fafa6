"""A score on a grid of values of one parameter, with its standard error: intervals by inversion.

    {t : |rising(t)| <= z error(t)},    rising: the rising curve nearest to the score

It asks for no curvature: an interval is as wide as the score leaves it, need not be symmetric around the estimate, and
stays inside the range of the grid. For a quantile the score is the corrected distribution function less tau. A signed
sum does not rise everywhere, and where it is flat, dents far away would be taken for the parameter; the truth rises,
and the nearest rising curve is nearer to it. At an atom it jumps, so the left end is judged by what lies above and the
right end by what lies below, each to the next node.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

LEVELS = (0.9, 0.95, 0.99)  # whose ends are looked at closely
FAR = 4.0  # standard errors, beyond which nobody asks
BETWEEN = 12


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
        """Where the score crosses 0, as a rising function would."""
        return float(self.at[self._crossing])

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
        """Return the part that anybody may ask for, and the ends of the range."""
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
