"""Profile scores of all coefficients in one pass, and score sets from them in closed form.

Let `psi_i(theta) = c' V^-1 s_i(theta)` be the influence of a record on the coefficient `c'theta`, and
`d = V^-1 c / c'V^-1 c` the direction in which the others follow it. Along `theta + h d` the mean influence is h for a
score that is linear in theta, whatever the nuisance coefficients are, since `c' V^-1 V` moves with `c'theta` alone. So

    Q(h) = n mean(psi_i(h))² / var(psi_i(h)),    psi_i(h) = u_i + h v_i + h² w_i,    {h : Q(h) <= chi-square quantile}

needs the covariance of (u, v, w) alone, by looks behind, here and ahead. Beyond the looks the root of Q goes on
straight, since a parabola would turn. Linear scores have w = 0, and the set is an interval exactly where the strength
`t = √n mean(v) / sd(v)` exceeds the normal quantile (Fieller's theorem for estimating functions). Nothing decides
between two kinds of interval: as t grows the set becomes the Wald interval. A weak nuisance coefficient leaves it
valid, too: where its estimate lies far away, the variance there is as much larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.estimation.moments import Quietly, evaluated
from versadp.estimation.score_sets import ScoreSet, quantile
from versadp.estimation.thresholds import PLAUSIBLE_RANGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.form import Form
    from versadp.estimation.criterion import Combined
    from versadp.estimation.moments import Prepared

    Array = NDArray[np.float64]

NEAR = (0.25, 0.5, 0.75, 1.0, 1.3, 1.65, 1.96, 2.25, 2.58, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0)  # standard errors: looks
FAR = (12.0, 16.0, 32.0, 128.0, 1024.0, 1e6)  # standard errors: looks at scores that are linear in theta
EXACT = (0.5, 0.68, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 0.9999)  # levels at which ends of linear scores are exact
STRAIGHT = 1.0  # of the reach: what was looked at is between, what lies beyond is extrapolated
AFFINE = 1e-9  # relative variance of w beside that of v: less is rounding


@dataclass(frozen=True)
class _Looks:
    """Sums of one pass over records: influences behind, here and ahead along each direction, and their products."""

    forms: tuple[Form, ...]
    theta: Array
    mix: Array
    inverse: Array  # (groups, p, p): rows of the inverse of the Hessian that belong to each group
    coefficients: Array  # (k, p)
    steps: Array  # (k, p)

    def sums(self, prepared: Prepared) -> tuple[int, Array, Array]:
        """Return number, sums (k, 3) and sums of products (k, 3, 3) of u, v and w."""
        here = self._influences(prepared, self.theta) @ self.coefficients.T
        each = []
        for k, (c, step) in enumerate(zip(self.coefficients, self.steps, strict=True)):
            ahead, behind = (self._influences(prepared, self.theta + sign * step) @ c for sign in (1.0, -1.0))
            each.append(np.stack([here[:, k], (ahead - behind) / 2, (ahead + behind) / 2 - here[:, k]]))
        found = np.array(each)
        return len(here), found.sum(axis=2), found @ found.transpose(0, 2, 1)

    def _influences(self, prepared: Prepared, theta: Array) -> Array:
        score, _ = evaluated(self.forms, prepared, theta, self.mix, hessian=False)
        return np.asarray(np.einsum("gpq,igq->ip", self.inverse, score, optimize=True))


@dataclass(frozen=True)
class ProfileScores:
    """Means and covariances of the looks at each coefficient's profile score.

    Attributes
    ----------
    centre : array (k,)
        Coefficients at which the looks were taken.
    reach : array (k,)
        How far ahead they were taken, in units of the coefficient.
    mean : array (k, 3)
        Of u, v and w.
    bend : array (k,)
        Mean of v among the records that were looked at.
    cov : array (k, 3, 3)
        Of u, v and w, per record.
    sign : array (k,)
        1, or -1 where the objective bends downwards.
    rows : int
        Number of records that the means are of.
    """

    centre: Array
    reach: Array
    mean: Array
    bend: Array
    cov: Array
    sign: Array
    rows: int

    @property
    def strength(self) -> Array:
        """Curvature of each coefficient in units of its own sampling error; 0 where it cannot be had."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = self.sign * self.bend / np.sqrt(np.maximum(self.cov[:, 1, 1], 0.0) / max(self.rows - 1, 1))
        return np.where(np.isfinite(self.cov[:, 1, 1]), t, 0.0)

    @property
    def affine(self) -> NDArray[np.bool_]:
        """True for scores that are linear along the direction."""
        return np.asarray(self.cov[:, 2, 2] <= AFFINE * self.cov[:, 1, 1])

    def sets(self, errors: Array) -> tuple[ScoreSet, ...]:
        """Return the score sets of all coefficients.

        Parameters
        ----------
        errors : array (k,)
            Standard errors: the variance at the centre is theirs, that elsewhere in proportion.
        """
        return tuple(self._set(k, float(error)) for k, error in enumerate(errors))

    def _set(self, k: int, error: float) -> ScoreSet:
        variance = float(self.cov[k, 0, 0])
        if not (np.isfinite(self.cov[k]).all() and variance > 0 and 0 < error < np.inf):
            return ScoreSet.nothing()
        cov = self.cov[k] * (error**2 / variance)  # of the mean
        unit, affine = error / self.reach[k], bool(self.affine[k])
        looks = np.array(NEAR + FAR if affine else NEAR)
        at = unit * np.concatenate([-looks, [0.0], looks])
        if affine:
            at = np.concatenate([at, *(self._ends(k, cov, quantile(level)) for level in EXACT)])
        at = np.unique(at[np.abs(at) <= unit * FAR[-1]])
        root = self._root(k, cov, at)
        if not affine:
            last = np.sign(at) * STRAIGHT
            ends, inner = self._root(k, cov, last), self._root(k, cov, 0.75 * last)
            beyond = np.abs(at) > STRAIGHT
            root = np.where(beyond, ends + (ends - inner) / 0.25 * (np.abs(at) - STRAIGHT) / STRAIGHT, root)
        return ScoreSet(self.centre[k] + self.reach[k] * at, root**2)

    def _root(self, k: int, cov: Array, at: Array) -> Array:
        """Return the root of Q, with the sign of the mean score."""
        powers = np.stack([np.ones_like(at), at, np.zeros_like(at) if self.affine[k] else at**2], axis=1)
        spread = np.einsum("hi,ij,hj->h", powers, cov, powers)
        return np.asarray(powers @ np.nan_to_num(self.mean[k]) / np.sqrt(np.maximum(spread, 1e-300)))

    def _ends(self, k: int, cov: Array, limit: float) -> Array:
        """Return where Q of a linear score is a limit: the roots of a quadratic, if there are any."""
        (m, h, _), ((a, b, _), (_, c, _), _) = self.mean[k], cov
        found = np.roots([h * h - limit * c, 2 * (m * h - limit * b), m * m - limit * a])
        return np.asarray(found[np.isreal(found)].real)


@dataclass(frozen=True)
class Expansion:
    """A point, and the mean derivative of the scores there."""

    theta: Array
    hessian: Array


def profile_scores(
    scores: Combined, at: Expansion, coefficients: Array, errors: Array, rows: int, *, mean: Array | None
) -> ProfileScores:
    """Return the looks at the profile scores of some coefficients, in one pass over the records.

    Parameters
    ----------
    scores : Combined
        Of all records or a random part of them.
    at : Expansion
        The estimate.
    coefficients : array (k, p)
        The coefficients, a row each, of those that are fitted.
    errors : array (k,)
        Their standard errors.
    rows : int
        How many records there are.
    mean : array (p,), optional
        Mean scores of all records; without them theta is their zero.
    """
    theta, hessian = at.theta, at.hessian
    moved = np.linalg.solve(hessian, coefficients.T)
    curve = np.einsum("jp,pj->j", coefficients, moved)
    reach = PLAUSIBLE_RANGE * errors
    steps = (moved / curve).T * reach[:, None]
    whole, groups = np.linalg.inv(hessian), scores.groups
    inverse = np.zeros((len(groups), *whole.shape))
    for part, group in zip(inverse, groups, strict=True):
        part[group] = whole[group]
    looks = _Looks(scores.family.forms, theta, scores.mix, inverse, coefficients, steps)
    n, means, cov = _looked(scores, looks)
    here = np.zeros(len(reach)) if mean is None else coefficients @ (whole @ mean)
    bend = means[:, 1]
    # of a part of the records the mean bend has an error that all of them, whose Hessian is known, do not have
    means = np.stack([here, bend if n == rows else reach, means[:, 2]], axis=1)
    return ProfileScores(coefficients @ theta, reach, means, bend, cov, np.where(curve < 0, -1.0, 1.0), rows)


def _looked(scores: Combined, looks: _Looks) -> tuple[int, Array, Array]:
    """Return number, means and covariances; NaN for coefficients whose looks lie beyond what can be corrected."""
    try:
        with np.errstate(all="ignore"):
            n, total, products = scores.family.total(Quietly(looks))
    except ParameterError:
        size = len(looks.coefficients)
        if size == 1:
            return 0, np.full((1, 3), np.nan), np.full((1, 3, 3), np.nan)
        counts, means, covs = zip(*(_looked(scores, _only(looks, k)) for k in range(size)), strict=True)
        return max(counts), np.concatenate(means), np.concatenate(covs)
    mean = total / n
    with np.errstate(all="ignore"):
        return n, mean, products / n - np.einsum("ki,kj->kij", mean, mean)


def _only(looks: _Looks, k: int) -> _Looks:
    """Return the looks at one coefficient."""
    part = slice(k, k + 1)
    return _Looks(looks.forms, looks.theta, looks.mix, looks.inverse, looks.coefficients[part], looks.steps[part])
