"""The efficient estimator: one combination of members, chosen by the data.

Each member k is an extension `v_k`; a combination `sum w_k v_k` with weights that sum to 1 is an extension again, so
fitting with weights costs what fitting one member costs. The algorithm:

1. start from a plain fit of the records in the box;
2. pilot: Newton with equal weights, or with single members if that fails;
3. weights at the pilot: `argmin w'Cw` over the simplex, `C_ab = E I_a' V I_b` with I_k the influence of member k, in
   the metric of V, so that units do not matter; one set for coefficients of noisy columns and one for public columns,
   which draw on other records; Newton with the first, weights again, at last those of all records and draws, and of
   few records those at the estimate that these lead to;
4. a last step in which each group of coefficients uses its own combination; the sandwich of that step.

Weights that converge to constants have no first-order effect on the estimate. On the simplex each vertex is a member,
so the variance that is minimised never exceeds the best member's: falling back to it is built in. Derivations and
measurements are in `docs/theory/correction.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.estimation.newton import Fit, definite, solve
from versadp.estimation.outcome import Outcome
from versadp.estimation.sizes import PART_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versadp.estimation.moments import Family, Moments
    from versadp.estimation.newton import SolveResult

    Array = NDArray[np.float64]
    Groups = tuple[NDArray[np.int64], ...]


def efficient(family: Family, small: Family, theta: Array, groups: Groups, *, rehearsal: Family | None = None) -> Fit:
    """Fit the efficient combination.

    Parameters
    ----------
    family : Family
        All records.
    small : Family
        The same, or fewer draws or a random part of the records, on which pilot and weights are found.
    theta : array (p,)
        Start.
    groups : tuple of index arrays
        Coefficients that share weights; the first group's weights give the Hessian.
    rehearsal : Family, optional
        Records that were released again, to steady the weights of few records.
    """
    members = len(family.names)
    pilot = _pilot(small, theta, members)
    if not pilot.converged and small is not family:
        small, pilot = family, _pilot(family, theta, members)
    if not pilot.converged:
        return Fit.failed(pilot.theta, pilot.outcome, family.source.rows)
    samples = (small,) if rehearsal is None else (small, rehearsal)
    # one number leaves little room for overfitting, and its best weights may be negative: they attain the bound; but
    # once in some thousand samples they leave no curvature
    choices = (affine_weights, simplex_weights) if theta.size == 1 else (simplex_weights,)
    for choose in choices:
        found = _combined(family, samples, pilot, groups, choose)
        if found.converged:
            break
    return found


def _combined(
    family: Family, samples: tuple[Family, ...], pilot: SolveResult, groups: Groups, choose: Callable[[Array], Array]
) -> Fit:
    """Fit the combination whose weights are chosen from members' covariance at a pilot, and at what it leads to."""
    small = samples[0]
    mix = _weights(samples, pilot.theta, pilot.moments.hessian, groups, choose)
    for _ in range(2 if small.source.rows <= PART_ROWS else 1):  # the pilot of many records is good already
        again = solve(small, pilot.theta, mix[0], tolerance=0.02 if small is family else 0.1)
        if not again.converged:
            break
        pilot = again
        mix = _weights(samples, pilot.theta, pilot.moments.hessian, groups, choose)
    if small is family:
        return last_steps(family, pilot.theta, mix, groups)
    # the last weights are those of all records and all draws, as sums over them say; and of few records, whose pilot
    # is less good, those at the estimate itself
    samples = (family, *samples[1:])
    mix = _weights(samples, pilot.theta, pilot.moments.hessian, groups, choose)
    fit = last_steps(family, pilot.theta, mix, groups)
    if fit.hessian is None or family.source.rows > PART_ROWS:
        return fit
    try:
        mix = _weights(samples, fit.theta, fit.hessian, groups, choose)
        nearer = last_steps(family, fit.theta, mix, groups)
    except ParameterError:  # the last step led beyond what can be corrected
        return fit
    return nearer if nearer.converged else fit


def _pilot(family: Family, theta: Array, members: int) -> SolveResult:
    """Return a consistent fit with fixed weights: all members but the widest, then single ones."""
    equal = np.ones(members)
    if members > 1:
        equal[-1] = 0.0
    result = None
    for weights in (equal / equal.sum(), *np.eye(members)):
        result = solve(family, theta, weights, tolerance=0.1)
        if result.converged:
            return result
    assert result is not None
    return result


def _weights(
    samples: tuple[Family, ...], theta: Array, hessian: Array, groups: Groups, choose: Callable[[Array], Array]
) -> Array:
    """Return the best combination for each group, (groups, members)."""
    members = len(samples[0].names)
    if members == 1:
        return np.ones((len(groups), 1))
    moments = [family.moments(theta, np.eye(members), hessian=False) for family in samples]
    total = sum(each.n for each in moments)

    def matrix(group: NDArray[np.int64]) -> Array:
        weighted = [each.n / total * trace_matrix(each, hessian, group) for each in moments]
        return np.asarray(np.sum(weighted, axis=0))

    return np.array([choose(matrix(group)) for group in groups])


def trace_matrix(moments: Moments, hessian: Array, group: NDArray[np.int64]) -> Array:
    """Return `C_ab`: the trace of the covariance of influences a and b over a group, in the metric of V."""
    centred = moments.outer - np.einsum("ap,bq->apbq", moments.score, moments.score)
    rows = np.linalg.inv(hessian)[group]
    metric = rows.T @ hessian[np.ix_(group, group)] @ rows
    return np.asarray(np.einsum("apbq,pq->ab", centred, metric))


def simplex_weights(matrix: Array) -> Array:
    """Return `argmin w'Cw` over weights that are 0 or more and sum to 1, by looking at every support.

    Examples
    --------
    >>> simplex_weights(np.array([[1.0, 0.0], [0.0, 3.0]]))
    array([0.75, 0.25])
    >>> simplex_weights(np.array([[1.0, 2.0], [2.0, 5.0]]))
    array([1., 0.])
    """
    size = len(matrix)
    best = np.inf
    weights: Array = np.eye(size)[0]
    for count in range(1, size + 1):
        for support in combinations(range(size), count):
            inner = matrix[np.ix_(support, support)]
            try:
                w = np.linalg.solve(inner, np.ones(count))
            except np.linalg.LinAlgError:
                continue
            total = w.sum()
            if not np.isfinite(total) or total <= 0 or (w / total < 0).any():
                continue
            w = w / total
            value = float(w @ inner @ w)
            if value < best:
                best, weights = value, np.zeros(size)
                weights[list(support)] = w
    return weights


def affine_weights(matrix: Array) -> Array:
    """Return `argmin w'Cw` over weights that sum to 1.

    Examples
    --------
    >>> affine_weights(np.array([[1.0, 2.0], [2.0, 5.0]])).round(6)
    array([ 1.5, -0.5])
    """
    ridge = (1e-9 * np.trace(matrix) or 1.0) * np.eye(len(matrix))  # members that do not vary are all the same
    w = np.linalg.solve(matrix + ridge, np.ones(len(matrix)))
    return np.asarray(w / w.sum())


def last_steps(family: Family, theta: Array, mix: Array, groups: Groups) -> Fit:
    """Step until what is left is far below a standard error; each group by its own combination.

    The score of a loss with kinks that nothing smooths is a staircase, and Newton would jump to and fro over its root.
    A step that turns back by more than half is shortened, to half of the one before at most: so the root is closed in
    on from both sides, and what is left is the last distance between them and what the step has in other directions.
    """
    pace, before, first = 1.0, np.zeros_like(theta), None
    for _ in range(24):
        try:
            moments = family.moments(theta, mix)
        except ParameterError:  # the step was too long
            if first is None:
                raise
            before = before / 2
            theta = theta - before
            continue
        if not definite(moments.hessian):
            return Fit.failed(theta, Outcome.INDEFINITE, family.source.rows)
        step = group_step(moments, groups)
        first = first or step
        turned = bool(before @ moments.hessian @ (before + 2 * step.move) < 0)
        if turned:
            pace, left = _closing_in(before, step.move, moments.hessian, pace)
        else:
            left = [step.move]
        # on a plateau standard errors grow without bound, so those of the start count too
        near = max(step_size(move, each.cov, groups) for move in left for each in (step, first)) < 0.3
        before = step.move if near and not turned else pace * step.move
        theta = theta + before
        if near:
            several = len(family.names) > 1
            weights = dict(zip(family.names, mix[0].tolist(), strict=True)) if several else {}
            return Fit(theta, step.cov, Outcome.CONVERGED, moments.n, weights, mix, moments.hessian)
    return Fit.failed(theta, Outcome.ITERATIONS, family.source.rows)


def _closing_in(before: Array, move: Array, hessian: Array, pace: float) -> tuple[float, list[Array]]:
    """Return the share of a step that turned back to take, and what is left: half the bracket, the step, and aside."""
    along = before @ hessian
    square = float(along @ before)
    pace = min(pace, float(np.sqrt(square / (move @ hessian @ move)))) / 2
    return pace, [before / 2, pace * move, move - along @ move / square * before]


@dataclass(frozen=True)
class Step:
    """A step, and the covariance of what it reaches."""

    move: Array
    cov: Array


def group_step(moments: Moments, groups: Groups) -> Step:
    """One Newton step whose rows of group g use combination g, and the covariance of what it reaches."""
    size = moments.score.shape[1]
    inverse = np.linalg.inv(moments.hessian)
    centred = moments.outer - np.einsum("ap,bq->apbq", moments.score, moments.score)
    move, cov = np.empty(size), np.empty((size, size))
    for g, left in enumerate(groups):
        move[left] = -inverse[left] @ moments.score[g]
        for h, right in enumerate(groups):
            cov[np.ix_(left, right)] = inverse[left] @ centred[g, :, h] @ inverse[right].T
    return Step(move, cov / max(moments.n - size, 1))


def step_size(move: Array, cov: Array, groups: Groups) -> float:
    """Length of a step in standard errors, over the group where it is longest."""
    return max(_length(move[group], cov[np.ix_(group, group)]) for group in groups)


def _length(move: Array, cov: Array) -> float:
    if not move.any():  # members that do not vary: there is nowhere to go
        return 0.0
    try:
        squared = float(move @ np.linalg.solve(cov, move))
    except np.linalg.LinAlgError:
        return np.inf
    return float(np.sqrt(squared)) if squared > 0 else np.inf
