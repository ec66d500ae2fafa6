"""Newton's method on a corrected score, with named outcomes.

A corrected objective is a signed sum: it may be indefinite, unbounded or without a minimum on a finite sample. Steps
use the exact Hessian and are halved until the score shrinks in the metric of the Hessian. What does not end at an
interior point with a positive definite Hessian is an outcome with a name, never an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.estimation.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from versadp.correction.form import Form
    from versadp.estimation.distribution import Curve
    from versadp.estimation.moments import Family, Moments, Prepared
    from versadp.estimation.score_sets import ScoreSet

    Array = NDArray[np.float64]


ROUNDING = 1e-10  # relative: smaller eigenvalues of a Hessian scaled to a unit diagonal are rounding


@dataclass(frozen=True)
class Fit:
    """The result of a solver.

    Attributes
    ----------
    theta : array (p,)
        The estimate if there is one, else where the solver ended.
    cov : array (p, p)
        Its covariance; NaN without an estimate.
    outcome : Outcome
    n : int
        Number of records.
    weights : mapping of str to float
        Weights of the members, of the first group of coefficients; empty if there was nothing to weigh.
    mix : array (groups, members), optional
        Weights of the members, of each group.
    hessian : array (p, p), optional
        Mean Hessian at the estimate.
    curve : Curve, optional
        The score around the estimate, where intervals are had by inverting it.
    strength : array (p,), optional
        Of each coefficient: its curvature in units of its own sampling error.
    contrasts : tuple of float and int, optional
        Statistic and degrees of freedom of the specification test.
    sets : tuple of ScoreSet
        What the scores cannot reject, coefficient by coefficient, where a normal interval would not hold.
    bias : array (p,), optional
        By how much theta is off on average, as far as is known; whoever tells the estimate takes it off.
    """

    theta: Array
    cov: Array
    outcome: Outcome
    n: int
    weights: Mapping[str, float] = field(default_factory=dict)
    mix: Array | None = None
    hessian: Array | None = None
    curve: Curve | None = None
    strength: Array | None = None
    contrasts: tuple[float, int] | None = None
    sets: tuple[ScoreSet, ...] = ()
    bias: Array | None = None

    @property
    def converged(self) -> bool:
        """True if theta is an estimate with a covariance."""
        return self.outcome == Outcome.CONVERGED

    @property
    def weak(self) -> bool:
        """True if there are score sets in place of a covariance."""
        return self.outcome == Outcome.WEAK

    @classmethod
    def failed(cls, theta: Array, outcome: Outcome, n: int) -> Fit:
        """Return a fit without an estimate."""
        return cls(theta, np.full((theta.size, theta.size), np.nan), outcome, n)


@dataclass(frozen=True)
class SolveResult:
    """The end of Newton's method, with the moments one small step before."""

    theta: Array
    moments: Moments
    outcome: Outcome

    @property
    def converged(self) -> bool:
        """True if theta solves the equation."""
        return self.outcome == Outcome.CONVERGED


def definite(hessian: Array) -> bool:
    """Return True if the Hessian is positive definite beyond rounding, whatever the units of the coefficients.

    Whether it stands out from its sampling error is judged afterwards (`diagnostics.py`).
    """
    diagonal = np.diag(hessian)
    if not np.isfinite(hessian).all() or (diagonal <= 0).any():
        return False
    scaled = hessian / np.sqrt(np.outer(diagonal, diagonal))
    values = np.linalg.eigvalsh(scaled)
    return bool(values[0] > ROUNDING * values[-1])


def solve(
    family: Family, theta: Array, weights: Array, *, tolerance: float = 0.01, iterations: int = 40
) -> SolveResult:
    """Solve `mean combined score = 0` from a start.

    Parameters
    ----------
    family : Family
    theta : array (p,)
        Start.
    weights : array (members,)
        The combination.
    tolerance : float
        Stop at a step below this many standard errors.
    """
    now = family.moments(theta, weights)
    reach = 50 * (1 + np.linalg.norm(theta))
    for _ in range(iterations):
        if not definite(now.hessian):
            return SolveResult(theta, now, Outcome.INDEFINITE)
        direction = -np.linalg.solve(now.hessian, now.score[0])
        if _steps(now, direction) < tolerance:  # taken without another look: what is left is a small part of it
            return SolveResult(theta + direction, now, Outcome.CONVERGED)
        size = _metric(now.hessian, now.score[0])
        for halving in range(9):
            share = 0.5**halving
            try:
                after = family.moments(theta + share * direction, weights)
            except ParameterError:  # not finite, or beyond what can be corrected: the step was too long
                if halving == 8:
                    raise
                continue
            if _metric(now.hessian, after.score[0]) < size * (1 - 0.1 * share):
                break
        else:
            return SolveResult(theta, now, Outcome.STALLED)
        theta, now = theta + share * direction, after
        if not np.isfinite(theta).all() or np.linalg.norm(theta) > reach:
            return SolveResult(theta, now, Outcome.DIVERGED)
    return SolveResult(theta, now, Outcome.ITERATIONS)


def zero_of_line(family: Family) -> Array | None:
    """Return where a score that is linear in the coefficients is zero; None if it is no minimum."""
    score, hessian = family.total(ScoreLine(family.forms, family.size))
    if not definite(hessian):
        return None
    return np.asarray(-np.linalg.solve(hessian, score))


@dataclass(frozen=True)
class ScoreLine:
    """Sums of one pass over records whose scores are linear in the coefficients."""

    forms: tuple[Form, ...]
    size: int

    def sums(self, prepared: Prepared) -> tuple[Array, Array]:
        """Return the sums of scores at 0, and of Hessians."""
        return self.forms[0].score_line(prepared[0], np.zeros(self.size))


def _metric(hessian: Array, score: Array) -> float:
    """Squared length of a score in the metric of the Hessian."""
    return float(score @ np.linalg.solve(hessian, score)) if np.isfinite(score).all() else np.inf


def _steps(moments: Moments, direction: Array) -> float:
    """Length of a step in standard errors, averaged over directions."""
    spread = float(np.trace(np.linalg.solve(moments.hessian, moments.outer[0, :, 0])))
    return float(np.sqrt(moments.n * (direction @ moments.hessian @ direction) / max(spread, 1e-300)))
