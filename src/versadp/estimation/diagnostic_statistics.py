"""Diagnostic statistics of a minimum, one pass over the records each: strength of curvature, bias, contrasts.

**Strength**, the curvature of each coefficient in units of its own sampling error:

    a_j = V^-1 c_j / (c_j' V^-1 c_j),    d_ij = a_j' [s_i(theta + h a_j) - s_i(theta - h a_j)] / 2h
    t_j = mean / (sd / √n)

is the curvature that is left for coefficient `c_j'theta` once the others follow it, over the reach h of its interval:
where V has a direction without information, every coefficient that has a part in it has a small t_j. Where t_j is below
`STRONG`, curvature may as well be half of what it seems, and no interval that divides by it can be trusted.

**Bias** of order 1/n. An estimate solves `mean psi_i(theta) = 0`. With `psi_i = V^-1 s_i`, whose mean has derivative 1,
and with directions `b_k` that make up its covariance, `sum b_k b_k' = C`,

    bias = (1/n) E psi_i' psi_i - 1/2 E sum_k psi_i''[b_k, b_k],    psi_i' psi_i = sum_k (psi_i' b_k) (b_k' C^-1 psi_i)

The first term says that curvature and score go together, as they do where noise makes both; the second that the score
bends. Derivatives are differences over `b_k`, a standard error long, so that one look ahead and one behind give both.
In units of the standard error the bias falls as the strength grows.

**Contrasts** of members, which share one mean:

    g_i = (s_1i - s_Ki, ..., s_(K-1)i - s_Ki),    n g' S^+ g  ->  chi-square,    S the covariance of g_i

Extensions differ outside the domain only, where no true record is: what differs between them is noise that the
mechanism is known to have. Records that were selected or weighted by what noise made of them, and noise of another law,
have it otherwise. A direction of the contrasts that hangs on a few records is not normal: with q its values, the number
of records that count is `(sum q^2)^2 / sum q^4`, and the error of a normal distribution is of the order of its inverse.
Directions with fewer than `RECORDS_PER_CONTRAST` are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.estimation.moments import Quietly, evaluated
from versadp.estimation.thresholds import LEAST_CONTRAST, RECORDS_PER_CONTRAST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.form import Form
    from versadp.estimation.criterion import Combined
    from versadp.estimation.moments import Family, Prepared
    from versadp.estimation.newton import Fit

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Bends:
    """Sums of one pass over records: of curvatures along directions, by differences of scores."""

    forms: tuple[Form, ...]
    theta: Array
    mix: Array
    along: Array  # (k, p): directions, as long as the reach

    def sums(self, prepared: Prepared) -> tuple[int, Array, Array]:
        """Return number, sum of curvatures (k,) and of their squares."""
        bends = []
        for step in self.along:
            ahead, behind = (
                evaluated(self.forms, prepared, self.theta + sign * step, self.mix, hessian=False)[0][:, 0] @ step
                for sign in (1.0, -1.0)
            )
            bends.append(ahead - behind)
        each = np.array(bends)
        return each.shape[1], each.sum(axis=1), (each * each).sum(axis=1)


def strength(family: Family, theta: Array, weights: Array, along: Array, rows: int) -> Array:
    """Return t of the curvature along each direction, a row of `along` as long as the reach.

    Parameters
    ----------
    family : Family
        All records or a random part of them.
    theta : array (p,)
    weights : array (members,)
        The combination.
    along : array (k, p)
    rows : int
        Of how many records the curvature is the mean.

    Returns
    -------
    array (k,)
        Not a number where curvature does not vary and is none; 0 where it reaches beyond what can be corrected.
    """
    try:
        with np.errstate(all="ignore"):
            n, total, squares = family.total(Quietly(Bends(family.forms, theta, np.atleast_2d(weights), along)))
    except ParameterError:
        return np.zeros(len(along))
    if not (np.isfinite(total).all() and np.isfinite(squares).all()):
        return np.zeros(len(along))
    mean = total / n
    error = np.sqrt(np.maximum(squares / n - mean**2, 0.0) / max(rows - 1, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(mean / error)


def following(hessian: Array, coefficients: Array, errors: Array) -> Array:
    """Return for each coefficient, a row each, how all move when it moves by its standard error.

    Examples
    --------
    >>> following(np.array([[2.0, 1.0], [1.0, 1.0]]), np.eye(2), np.ones(2))
    array([[ 1. , -1. ],
           [-0.5,  1. ]])
    """
    moved = np.linalg.solve(hessian, coefficients.T)
    return np.asarray((moved * errors / np.einsum("jp,pj->j", coefficients, moved)).T)


@dataclass(frozen=True)
class Drift:
    """Sums of one pass over records: of both terms of the bias.

    Attributes
    ----------
    inverse : array (groups, p, p)
        Rows of the inverse of the Hessian that belong to the coefficients of each group; others are zero.
    along, against : array (k, p)
        Directions that make up the covariance, and what they are in its inverse.
    """

    forms: tuple[Form, ...]
    theta: Array
    mix: Array
    inverse: Array
    along: Array
    against: Array

    def sums(self, prepared: Prepared) -> tuple[int, Array, Array]:
        """Return number, and the sums of `psi' psi` and of `sum_k psi''[b_k, b_k]`."""
        here = self._moves(prepared, self.theta)
        together, bent = np.zeros_like(self.theta), np.zeros_like(self.theta)
        for step, other in zip(self.along, self.against, strict=True):
            ahead, behind = self._moves(prepared, self.theta + step), self._moves(prepared, self.theta - step)
            together += (here @ other) @ (ahead - behind) / 2
            bent += (ahead + behind - 2 * here).sum(axis=0)
        return len(here), together, bent

    def _moves(self, prepared: Prepared, theta: Array) -> Array:
        score, _ = evaluated(self.forms, prepared, theta, self.mix, hessian=False)
        return np.asarray(np.einsum("gpq,igq->ip", self.inverse, score, optimize=True))


def bias(scores: Combined, fit: Fit, rows: int) -> Array | None:
    """Return the bias of an estimate from scores of all records, of which there are `rows`, or of a random part.

    None where the scores reach beyond what can be corrected, within a standard error of the estimate.
    """
    values, vectors = np.linalg.eigh(fit.cov)
    if fit.hessian is None or not values[0] > 0:
        return None
    whole = np.linalg.inv(fit.hessian)
    inverse = np.zeros((len(scores.groups), *whole.shape))
    for part, group in zip(inverse, scores.groups, strict=True):
        part[group] = whole[group]
    along = (vectors * np.sqrt(values)).T
    against = (vectors / np.sqrt(values)).T
    asked = Drift(scores.family.forms, fit.theta, scores.mix, inverse, along, against)
    try:
        with np.errstate(all="ignore"):
            n, together, bent = scores.family.total(Quietly(asked))
    except ParameterError:
        return None
    found = together / n / rows - bent / n / 2
    return found if np.isfinite(found).all() else None


ROUNDING = 1e-8  # relative variance of a contrast below which its members are equal but for rounding


def contrast_test(family: Family, theta: Array) -> tuple[float, int] | None:
    """Return the statistic of the members' contrasts, and its degrees of freedom; None where there are none.

    Parameters
    ----------
    family : Family
        Of several members.
    theta : array (p,)
        The estimate.
    """
    members = len(family.names)
    if members < 2:
        return None
    try:
        found = family.moments(theta, np.eye(members), hessian=False)
    except ParameterError:
        return None
    size = members * theta.size
    against = np.kron(np.eye(members)[:-1] - np.eye(members)[-1], np.eye(theta.size))
    mean = found.score.ravel()
    spread = found.outer.reshape(size, size) - np.outer(mean, mean)
    covariance = against @ spread @ against.T
    # what is equal up to rounding is no contrast
    varies = np.diag(covariance) > ROUNDING * (against**2 @ np.diag(spread))
    if not varies.any():
        return None
    against = directions(covariance[np.ix_(varies, varies)]) @ against[varies]
    _, squares, fourths = family.total(Counting(family.forms, theta, members, against))
    kept = squares**2 > RECORDS_PER_CONTRAST * fourths
    return (float(found.n * np.sum((against[kept] @ mean) ** 2)), int(kept.sum())) if kept.any() else None


@dataclass(frozen=True)
class Counting:
    """Sums of one pass over records: of squares and of fourth powers of contrasts."""

    forms: tuple[Form, ...]
    theta: Array
    members: int
    against: Array  # (k, members p)

    def sums(self, prepared: Prepared) -> tuple[int, Array, Array]:
        """Return number and sums."""
        scores = evaluated(self.forms, prepared, self.theta, np.eye(self.members), hessian=False)[0]
        squares = (scores.reshape(len(scores), -1) @ self.against.T) ** 2
        return len(scores), squares.sum(axis=0), (squares**2).sum(axis=0)


def directions(covariance: Array) -> Array:
    """Return directions, a row each, along which what has a covariance varies by 1 and not together.

    Examples
    --------
    >>> directions(np.full((2, 2), 4.0)).round(3)  # one direction: both move together
    array([[0.25, 0.25]])
    """
    unit = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(unit, unit))
    kept = values > LEAST_CONTRAST * values[-1]
    found = (vectors[:, kept] / np.sqrt(values[kept]) / unit[:, None]).T
    return np.asarray(found * np.sign(found.sum(axis=1, keepdims=True)))
