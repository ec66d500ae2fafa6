"""Likelihood sets: values of a coefficient that the likelihood cannot reject.

    r(b) = sign(b - b̂) √(2 (l̂ - l(b))),      l(b) the most of l over η with η_j = b and over all laws
    {b : |r(b)| <= Φ⁻¹((1 + level)/2)},        as its hull

l̂ is the most there is. r, the signed root, is standard normal at the truth, and more nearly so than an estimate over
its standard error: it bends as the likelihood does. It is looked at 3.3 standard errors away on both sides, farther out
until 99.9% are reached or nothing reaches them, and where it crosses the 95%. Between these nodes it is a monotone
cubic. A set without an end is one whose root stays below: no value on that side can be told from the truth, or none
within as many passes as are taken.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.estimation.criterion import OutOfBudget
from versadp.estimation.outcome import Outcome
from versadp.estimation.thresholds import LEVELS
from versadp.likelihood.mixture import Sums, maximise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from versadp.likelihood.mixture import Mixed

    Array = NDArray[np.float64]
    Evaluate = Callable[[Array, Array], Sums]

REACH = 3.2905  # of the root: levels up to 99.9%
FIRST = 3.3  # where the root is looked at first, in standard errors
FAR = 1000.0  # where it is looked at last
END, NEAR = 1.96, 0.04  # root at the end of a 95% set, and how closely a node is to lie at it
CLOSER, BACK = 4, 5  # at most so many more looks at an end, and shorter ways out where the likelihood is no number
LEAST, MOST = 1e-9, 1e3  # of a root: a likelihood may have its maximum elsewhere, if it hardly has one
PASSES = 40  # over the records to follow one side, or to come close to its end; 5 to 20 are usual


@dataclass(frozen=True, eq=False)
class LikelihoodSet:
    """The signed root of a likelihood ratio at values of one coefficient.

    Attributes
    ----------
    at : array (k,)
        Values, rising.
    root : array (k,)
        Below 0 left of the estimate, and above 0 right of it. An outermost one below 3.29 says that no value farther
        out was ever rejected.

    Examples
    --------
    >>> at = np.linspace(-5, 5, 11)
    >>> np.round(LikelihoodSet(at, at - 0.5).interval(0.95), 2)
    array([-1.46,  2.46])
    >>> LikelihoodSet(at, np.tanh(at) * np.where(at < 0, 9, 1)).interval(0.95)[1]
    inf
    """

    at: Array
    root: Array

    def __post_init__(self) -> None:
        at, root = np.array(self.at, dtype=float), np.array(self.root, dtype=float)
        if at.ndim != 1 or at.shape != root.shape or at.size < 2 or not np.isfinite([at, root]).all():
            raise ParameterError("a likelihood set is values that rise, and a signed root at each")
        if (np.diff(at) <= 0).any() or not root[0] < 0 < root[-1]:
            raise ParameterError("a likelihood set is values that rise, from a root below 0 to one above")
        object.__setattr__(self, "at", at)
        object.__setattr__(self, "root", root)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LikelihoodSet) and self.as_numbers() == other.as_numbers()

    def __hash__(self) -> int:
        return hash(self.as_numbers())

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of the set of a level; beyond 99.9% the root is taken to go on in a straight line."""
        from scipy.interpolate import PchipInterpolator
        from scipy.special import ndtri

        z, at, root = float(ndtri(0.5 + level / 2)), self.at, self._hull
        rises = np.diff(root) > 0
        kept = np.where(root > 0, np.append(rises, True), np.append(True, rises))  # of equal roots the outermost
        inverse = PchipInterpolator(root[kept], at[kept])
        ends = []
        for end, sign in ((0, -1.0), (-1, 1.0)):
            outermost = abs(root[end])
            if outermost >= z:
                ends.append(float(inverse(sign * z)))
            elif outermost < REACH:
                ends.append(sign * np.inf)
            else:
                ends.append(float(at[end] + (sign * z - root[end]) * inverse.derivative()(root[end])))
        return ends[0], ends[1]

    @property
    def _hull(self) -> Array:
        """The root where it rises throughout: each value is rejected no more surely than any farther out."""
        right = np.minimum.accumulate(np.where(self.root > 0, self.root, np.inf)[::-1])[::-1]
        left = np.maximum.accumulate(np.where(self.root < 0, self.root, -np.inf))
        return np.where(self.root > 0, right, np.where(self.root < 0, left, 0.0))

    def off(self, centre: float, error: float) -> float:
        """Return how far the 95% ends lie from those of an estimate and its standard error, in standard errors."""
        low, high = self.interval(LEVELS[0])
        return max(abs((centre - low) / error - END), abs((high - centre) / error - END))

    def as_numbers(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return the two fields as plain numbers."""
        return tuple(self.at.tolist()), tuple(self.root.tolist())

    @classmethod
    def read(cls, given: LikelihoodSet | tuple[ArrayLike, ArrayLike]) -> LikelihoodSet:
        """Return a likelihood set, or what its two fields make."""
        return given if isinstance(given, LikelihoodSet) else cls(*given)  # type: ignore[arg-type] # made arrays


def likelihood_set(sums: Evaluate, found: Mixed, j: int) -> LikelihoodSet | None:
    """Return the likelihood set of a parameter; None where the likelihood cannot be followed away from its maximum.

    Parameters
    ----------
    sums : callable
        As for `maximise`.
    found : Mixed
        The maximum.
    j : int
        Which parameter.

    Examples
    --------
    The mean of 100 normal numbers of variance 1, their mean being 0.3.

    >>> def sums(eta, f):
    ...     r = np.repeat([-0.7, 1.3], 50) - eta[0]
    ...     J = np.stack([r, np.ones(100)], axis=1)
    ...     return Sums(-r @ r / 2, J.sum(axis=0), J.T @ J, np.array([100.0]))
    >>> one = np.ones((1, 1))
    >>> np.round(likelihood_set(sums, maximise(sums, np.zeros(1), one), 0).interval(0.95), 3)
    array([0.104, 0.496])
    """
    scan = _Scan(sums, found, j)
    for work, side in ((scan.outwards, -1.0), (scan.outwards, 1.0), (scan.closer, -1.0), (scan.closer, 1.0)):
        scan.passes = 0
        with suppress(OutOfBudget):  # what was not reached was not rejected
            work(side)
    return scan.result()


def maximum_without(sums: Evaluate, found: Mixed, held: Sequence[int]) -> float | None:
    """Return the largest log likelihood at which some parameters are 0; None where no maximum is found.

    Examples
    --------
    The mean of 100 normal numbers of variance 1, their mean being 0.3: the deficit is 100 * 0.3² / 2.

    >>> def sums(eta, f):
    ...     r = np.repeat([-0.7, 1.3], 50) - eta[0]
    ...     J = np.stack([r, np.ones(100)], axis=1)
    ...     return Sums(-r @ r / 2, J.sum(axis=0), J.T @ J, np.array([100.0]))
    >>> found = maximise(sums, np.zeros(1), np.ones((1, 1)))
    >>> round(float(found.sums.value) - maximum_without(sums, found, [0]), 6)
    4.5
    """
    rest = np.delete(np.arange(found.eta.size), list(held))
    kept = np.concatenate([rest, np.arange(found.eta.size, found.sums.first.size)])

    def without(others: Array, weights: Array) -> Sums:
        eta = np.zeros(found.eta.size)
        eta[rest] = others
        now = sums(eta, weights)
        return Sums(now.value, now.first[kept], now.products[np.ix_(kept, kept)], now.counts)

    cov = found.covariance()
    out = np.asarray(list(held))  # the others start where they go as these become 0
    start = found.eta[rest] - cov[np.ix_(rest, out)] @ np.linalg.solve(cov[np.ix_(out, out)], found.eta[out])
    there = maximise(without, start, found.weights)
    return float(there.sums.value) if there.outcome is Outcome.CONVERGED else None


class _Scan:
    """The most of a log likelihood at distances from an estimate, in standard errors, each with where it is."""

    def __init__(self, sums: Evaluate, found: Mixed, j: int) -> None:
        cov = found.covariance()
        self.passes = 0
        self.sums, self.j, self.centre, self.error = sums, j, float(found.eta[j]), float(np.sqrt(cov[j, j]))
        self.along = np.delete(cov[:, j], j) / self.error  # where the others go as the one moves by an error
        self.found: dict[float, tuple[float, Array, Array]] = {
            0.0: (found.sums.value, np.delete(found.eta, j), found.weights)
        }

    def look(self, at: float) -> bool:
        """Look at a distance, from the nearest that is known; tell whether there is a maximum."""
        near = min(self.found, key=lambda known: abs(known - at))
        _, others, weights = self.found[near]
        held, others = self._held(self.centre + at * self.error), others + (at - near) * self.along
        try:
            there = maximise(held, others, weights)
        except (np.linalg.LinAlgError, ValueError):  # products that are no numbers
            return False
        if there.outcome is not Outcome.CONVERGED or not np.isfinite(there.sums.value):
            return False
        self.found[at] = there.sums.value, there.eta, there.weights
        return True

    def _held(self, value: float) -> Evaluate:
        """Return the sums where the parameter has a value, as those of the other parameters."""

        def sums(others: Array, weights: Array) -> Sums:
            self.passes += 1
            if self.passes > PASSES:
                raise OutOfBudget
            now, j = self.sums(np.insert(others, self.j, value), weights), self.j
            return Sums(now.value, np.delete(now.first, j), np.delete(np.delete(now.products, j, 0), j, 1), now.counts)

        return sums

    def root(self, at: float) -> float:
        """Return the size of the root at a distance that was looked at."""
        most = max(value for value, _, _ in self.found.values())
        return float(np.clip(np.sqrt(2 * (most - self.found[at][0])), LEAST, MOST))

    def outwards(self, sign: float) -> None:
        """Look farther and farther away until the root is large, or nothing would ever make it."""
        at, last, back = FIRST, 0.0, 0
        while last < FAR:
            if not self.look(sign * at):
                back += 1
                if back > BACK:
                    break
                at = (last + at) / 2
                continue
            root = self.root(sign * at)
            if root >= REACH:
                break
            last, at = at, at * float(np.clip(1 + 1.5 * (1.05 * REACH / max(root, 0.1) - 1), 1.2, 4.0))

    def closer(self, sign: float) -> None:
        """Look where the root seems to cross an end of 95%, until a node lies there."""
        for _ in range(CLOSER):
            here = self.result()
            if here is None or np.abs(here.root - sign * END).min() < NEAR:
                return
            at = (here.interval(LEVELS[0])[int(sign > 0)] - self.centre) / self.error
            if not np.isfinite(at) or not self.look(at):
                return

    def result(self) -> LikelihoodSet | None:
        """Return what was found; None where there is nothing on a side of the estimate."""
        at = np.array(sorted(self.found))
        root = np.array([np.sign(each) * self.root(each) for each in at])
        if not root[0] < 0 < root[-1]:
            return None
        return LikelihoodSet(self.centre + self.error * at, root)
