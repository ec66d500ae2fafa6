"""The continuous-updating criterion: how far all scores together are from zero, in their own standard errors.

    Q(theta) = n m(theta)' Omega(theta)^-1 m(theta),    m the mean of the records' scores, Omega their covariance

At the truth it is chi-square with p degrees of freedom, however little curvature there is: nothing is divided by a
curvature. Scores that are affine in theta, as those of squared loss are, have affine m and quadratic Omega, and one
pass gives both for every theta; otherwise each value is a pass.

The **profile score** of a coefficient needs few passes where V, the mean derivative of the scores, is known:

    a = V^-1 c,    others by a Newton step on their own scores,    Q = n (a'm)^2 / a'Ca

What moves the others does not move `a'm` to first order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from versadp.correction.terms import waves_of
from versadp.errors import ParameterError
from versadp.estimation.descent import LONGEST
from versadp.estimation.moments import Quietly, Task, evaluated
from versadp.estimation.sizes import KEPT_NUMBERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.form import Form
    from versadp.estimation.moments import Family, Prepared

    Array = NDArray[np.float64]
    Groups = tuple[NDArray[np.int64], ...]

AFFINE = 1e-9  # relative: scores that bend less over 4 standard errors are affine but for rounding
PASSES = 20_000  # over records, at most, for all sets of a fit
WORK = 1.2e9  # numbers that all passes may look at, some 4 ns each on one core: 5 seconds


@dataclass(frozen=True)
class Combined:
    """Scores that are combined, those of each group of coefficients in its own way.

    Attributes
    ----------
    family : Family
    mix : array (groups, members)
    groups : tuple of index arrays
    """

    family: Family
    mix: Array
    groups: Groups

    @cached_property
    def place(self) -> NDArray[np.int64]:
        """Position of each coefficient's score among those of all groups' combinations."""
        return places(self.groups)


class Criterion(Protocol):
    """A criterion Q whose low values make a confidence set."""

    def __call__(self, theta: Array) -> float:
        """Return Q."""
        ...

    def residual(self, theta: Array) -> Array | None:
        """Return the whitened mean score, whose square is Q; None where Q is infinite."""
        ...


HUGE = 1e150  # of products of scores: squares of larger ones overflow


@dataclass
class ByPasses:
    """Q of any scores: a pass each, and no more than a budget of them."""

    scores: Combined
    budget: int

    def __call__(self, theta: Array) -> float:
        """Return Q; beyond what can be corrected it is infinite."""
        found = self.means(theta)
        return np.inf if found is None else distance(*found)

    def residual(self, theta: Array) -> Array | None:
        """Return the whitened mean score; None beyond what can be corrected."""
        found = self.means(theta)
        return None if found is None else whitened(*found)

    def means(self, theta: Array) -> tuple[int, Array, Array] | None:
        """Return the number of records and the means of scores and of their products; None beyond what is corrected."""
        if self.budget <= 0:
            raise OutOfBudget
        self.budget -= 1
        family, place = self.scores.family, self.scores.place
        try:
            task = Task(family.forms, family.size, theta, self.scores.mix, hessian=False)
            with np.errstate(all="ignore"):
                n, score, outer, _ = family.total(Quietly(task))
        except ParameterError:
            return None
        products = outer[np.ix_(place, place)] / n
        if not np.abs(products).max() < HUGE:  # nor where nobody could reckon with them
            return None
        return n, score.ravel()[place] / n, products


class OutOfBudget(Exception):  # noqa: N818 - no error: the answer is that there is none
    """There were too many passes."""


@dataclass(frozen=True)
class Affine:
    """Q of scores `b_i + A_i (theta - origin)`, from their moments."""

    n: int
    origin: Array
    mean: Array  # (p, 1 + p)
    outer: Array  # (p p, (1 + p) (1 + p)): of scores, by products of what they depend on

    def __call__(self, theta: Array) -> float:
        """Return Q."""
        return distance(self.n, *self._means(theta))

    def residual(self, theta: Array) -> Array | None:
        """Return the whitened mean score; None where it has no covariance."""
        return whitened(self.n, *self._means(theta))

    def _means(self, theta: Array) -> tuple[Array, Array]:
        x, p = np.append(1.0, theta - self.origin), theta.size
        return self.mean @ x, (self.outer @ np.outer(x, x).ravel()).reshape(p, p)


@dataclass(frozen=True)
class Lines:
    """Sums of one pass over records: of scores and their slopes, and of how far scores are from affine."""

    forms: tuple[Form, ...]
    theta: Array
    mix: Array
    place: NDArray[np.int64]
    steps: Array  # (p, p): moves in the rows

    def sums(self, prepared: Prepared) -> tuple[int, Array, Array, Array]:
        """Return number, sums of scores and slopes and of their products, and by how much they are not affine."""
        here = self._scores(prepared, self.theta)
        moved = np.stack([self._scores(prepared, self.theta + step) - here for step in self.steps], axis=2)
        far = self._scores(prepared, self.theta + 4 * self.steps.sum(axis=0)) - here
        bent = np.abs(far - 4 * moved.sum(axis=2)).sum() / max(float(np.abs(far).sum()), 1e-300)
        slopes = np.concatenate([here[:, :, None], moved @ np.linalg.inv(self.steps).T], axis=2)
        flat = slopes.reshape(len(here), -1)
        return len(here), slopes.sum(axis=0), flat.T @ flat, np.array([bent])

    def _scores(self, prepared: Prepared, theta: Array) -> Array:
        scores = evaluated(self.forms, prepared, theta, self.mix, hessian=False)[0]
        return scores.reshape(len(scores), -1)[:, self.place]


def affordable(family: Family, share: float = 1.0) -> int:
    """Return how many passes over the records of a family a fit may spend on score sets, or on a share of them."""
    each = sum(form.points + waves_of(form) * (family.size + 2) for form in family.forms)
    return int(min(PASSES, share * WORK / (family.source.rows * each)))


def criterion(scores: Combined, theta: Array, steps: Array, budget: int) -> Criterion:
    """Return Q: from one pass where scores are affine, else by passes.

    Parameters
    ----------
    scores : Combined
    theta : array (p,)
        Around which it will be asked for.
    steps : array (p, p)
        Moves, in the rows, over which slopes are taken.
    budget : int
        How many passes there may be.
    """
    p, family = theta.size, scores.family
    if min(family.source.rows, 65_536) * p * (p + 1) <= KEPT_NUMBERS:
        try:
            lines = Lines(family.forms, theta, scores.mix, scores.place, steps)
            with np.errstate(all="ignore"):
                n, total, outer, bent = family.total(Quietly(lines))
        except ParameterError:
            bent = np.ones(1)
        if bent[0] < AFFINE:
            products = (outer / n).reshape(p, p + 1, p, p + 1).swapaxes(1, 2).reshape(p * p, -1)
            return Affine(n, theta, total / n, products)
    return ByPasses(scores, budget)


def places(groups: Groups) -> NDArray[np.int64]:
    """Return where the score of each coefficient stands among those of all groups' combinations, one after another.

    Examples
    --------
    >>> places((np.array([1, 2]), np.array([0])))
    array([3, 1, 2])
    """
    size = sum(group.size for group in groups)
    out = np.empty(size, dtype=np.int64)
    for g, group in enumerate(groups):
        out[group] = g * size + group
    return out


def distance(n: int, mean: Array, outer: Array) -> float:
    """Return `n m' Omega^-1 m` of a mean and a mean of products; infinite where scores do not vary.

    Examples
    --------
    >>> distance(100, np.array([0.3]), np.array([[1.09]]))
    9.0
    """
    found = whitened(n, mean, outer)
    return np.inf if found is None else float(found @ found)


def whitened(n: int, mean: Array, outer: Array) -> Array | None:
    """Return `√n L^-1 m` of a mean and a mean of products, `L L'` the covariance; None where scores do not vary.

    Examples
    --------
    >>> whitened(100, np.array([0.3]), np.array([[1.09]]))
    array([3.])
    """
    from scipy.linalg import solve_triangular

    if not (np.isfinite(mean).all() and np.isfinite(outer).all()):
        return None
    with np.errstate(over="ignore"):
        covariance = outer - np.outer(mean, mean)
    unit = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    try:
        root = np.linalg.cholesky(covariance / np.outer(unit, unit))
    except np.linalg.LinAlgError:
        return None
    found = np.sqrt(n) * solve_triangular(root, mean / unit, lower=True)
    return found if np.isfinite(found).all() else None


SMALL = 0.1  # standard errors: a shorter step changes the score that is left by its square, and needs no second pass


@dataclass(frozen=True)
class Followed:
    """Q of the score that is left for a coefficient.

    Attributes
    ----------
    scores : ByPasses
    hessian : array (p, p)
        Mean derivative of the scores.
    along, aside : array (p,), (p, p - 1)
        What moves the coefficient by its standard error, and what does not move it.
    origin : array (p,)
        The estimate.
    """

    scores: ByPasses
    hessian: Array
    along: Array
    aside: Array
    origin: Array

    def __call__(self, at: float, *starts: Array, enough: float = 0.0) -> tuple[float, Array]:  # noqa: ARG002 - for a least
        """Return Q at a distance, and where the others are; 0, which rejects nothing, where there are no scores."""
        eta = starts[0]
        found = self.scores.means(self._theta(at, eta))
        if found is None:
            return 0.0, eta
        if eta.size:
            step = np.linalg.solve(self.aside.T @ self.hessian @ self.aside, self.aside.T @ found[1])
            size = float(np.linalg.norm(step))
            eta = eta - step * min(1.0, LONGEST / max(size, 1e-300))
            found = found if size < SMALL else self.scores.means(self._theta(at, eta))
        return (0.0, eta) if found is None else (self._left(*found), eta)

    def _theta(self, at: float, eta: Array) -> Array:
        return np.asarray(self.origin + at * self.along + self.aside @ eta)

    def _left(self, n: int, mean: Array, outer: Array) -> float:
        """Return `n (a'm)^2 / a'Ca`; `a` is what no move aside changes: `a'V aside = 0`."""
        a = _across(self.hessian @ self.aside)
        score = float(a @ mean)
        variance = float(a @ outer @ a) - score**2
        found = n * score**2 / variance if variance > 0 else 0.0
        return found if np.isfinite(found) else 0.0


def _across(vectors: Array) -> Array:
    """Return the direction across all columns of a matrix (p, p - 1).

    Examples
    --------
    >>> abs(_across(np.array([[1.0], [1.0]]))).round(4)
    array([0.7071, 0.7071])
    """
    return np.asarray(np.linalg.svd(vectors, full_matrices=True)[0][:, -1])
