"""A fit that goes on with new records and without the old ones: of these, sums of the size of the parameters are kept.

With psi_k the score of member k and h_k its Hessian, what is kept of n records is, at the estimate theta,

    S_k = Σ psi_k,     H_k = Σ h_k,     C_kl = Σ (psi_k - mean) (psi_l - mean)'

and at a theta' local_engine, with d = theta' - theta,

    S_k(theta')  ~  S_k + (H_k + n D_k / 2) d,       H_k(theta')  ~  H_k + n D_k.

D_k is by how much the mean Hessian changes from theta to theta'. The new records say it, so that what is left is of
third order in d; for squared loss it is 0, and nothing is left. New scores are exact. Weights of the members are chosen
anew from the sums over all records, so an update and a fit to everything differ by what draws make of them.

Whether old and new records have one truth is asked of the two mean scores at the old estimate. With I = V^-1 psi,

    (I_new - I_old)' W^-1 (I_new - I_old) / (1/n_new + 1/n_old)   ->   chi-square with p degrees of freedom,

W the covariance of I within the two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.errors import EstimationError
from versadp.estimation.combine import (
    affine_weights,
    group_step,
    simplex_weights,
    step_size,
    trace_matrix,
)
from versadp.estimation.moments import Moments
from versadp.estimation.newton import definite
from versadp.estimation.thresholds import LARGEST_DRIFT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.estimation.moments import Family

    Array = NDArray[np.float64]
    Groups = tuple[NDArray[np.int64], ...]

CLOSE = 1e-3  # standard errors: a step below is not worth another pass
PASSES = 25  # Newton steps at most: an update without a minimum ends here
AGAIN = "fit all records again: they are further apart than what is kept of the old ones can carry"


@dataclass(frozen=True)
class Kept:
    """Sums that are kept of some records at a theta, for K members.

    Attributes
    ----------
    theta : array (p,)
    n : int
    score : array (K, p)
    hessian : array (K, p, p)
    spread : array (K, p, K, p)
        Sums of products of scores, each less its mean.
    """

    theta: Array
    n: int
    score: Array
    hessian: Array
    spread: Array

    @classmethod
    def of(cls, family: Family, theta: Array) -> Kept:
        """Look at records: one pass for the scores, and one for the Hessian of each further member."""
        members = np.eye(len(family.names))
        first = family.moments(theta, members)
        others = [family.moments(theta, member).hessian for member in members[1:]]
        n, centred = first.n, first.outer - np.einsum("ap,bq->apbq", first.score, first.score)
        return cls(theta, n, n * first.score, n * np.array([first.hessian, *others]), n * centred)

    def moved(self, theta: Array, bend: Array) -> Kept:
        """Return the same records at another theta, where the mean Hessians differ by `bend` (K, p, p)."""
        d, change = theta - self.theta, self.n * bend
        return replace(
            self, theta=theta, score=self.score + (self.hessian + change / 2) @ d, hessian=self.hessian + change
        )

    def __add__(self, other: Kept) -> Kept:
        """Return what is kept of both, at the theta that they share."""
        n = self.n + other.n
        apart = self.score / self.n - other.score / other.n
        between = self.n * other.n / n * np.einsum("ap,bq->apbq", apart, apart)
        spread = self.spread + other.spread + between
        return Kept(self.theta, n, self.score + other.score, self.hessian + other.hessian, spread)

    def moments(self, mix: Array, hessian: Array | None = None) -> Moments:
        """Return means for the combinations in the rows of `mix` (G, K)."""
        score = mix @ self.score / self.n
        outer = np.einsum("ga,apbq,hb->gphq", mix, self.spread / self.n, mix)
        bend = np.tensordot(mix[0], self.hessian, 1) / self.n if hessian is None else hessian
        return Moments(self.n, score, outer + np.einsum("ap,bq->apbq", score, score), bend)

    def mix(self, groups: Groups) -> Array:
        """Return the best combination of members for each group (G, K), as `efficient` chooses it."""
        members = len(self.score)
        if members == 1:
            return np.ones((len(groups), 1))
        each = self.moments(np.eye(members))
        equal = np.append(np.ones(members - 1), 0.0) / (members - 1)
        choose = affine_weights if self.theta.size == 1 else simplex_weights
        hessian = np.tensordot(equal, self.hessian, 1) / self.n
        for _ in range(2):  # the metric is that of the combination
            if not definite(hessian):
                raise EstimationError("old and new records together have no minimum", hint=AGAIN)
            found = np.array([choose(trace_matrix(each, hessian, group)) for group in groups])
            hessian = np.tensordot(found[0], self.hessian, 1) / self.n
        return found


class Drift(NamedTuple):
    """Test of one truth of old and new records: a chi-square, and its degrees of freedom."""

    statistic: float
    df: int


class Renewed(NamedTuple):
    """An estimate of old and new records together.

    Attributes
    ----------
    kept : Kept
        Of all records, at the estimate.
    mix : array (G, K)
    cov : array (p, p)
    hessian : array (p, p)
    drift : Drift
    """

    kept: Kept
    mix: Array
    cov: Array
    hessian: Array
    drift: Drift


def renewed(old: Kept, family: Family, groups: Groups) -> Renewed:
    """Bring an estimate up to date.

    Parameters
    ----------
    old : Kept
        Of the records before, at their estimate.
    family : Family
        The same members over the new records.
    groups : tuple of index arrays
        Coefficients that share weights.
    """
    first = new = Kept.of(family, old.theta)
    before, whole = old, old + new
    mix = whole.mix(groups)
    drift = drift_of(old, new, mix, groups)
    for count in range(PASSES):
        moments = whole.moments(mix)
        if not definite(moments.hessian):
            raise EstimationError("old and new records together have no minimum", hint=AGAIN)
        step = group_step(moments, groups)
        if step_size(step.move, step.cov, groups) < CLOSE:
            _refuse_far(old, before, mix, step.cov)
            return Renewed(whole, mix, step.cov, moments.hessian, drift)
        theta = whole.theta + step.move
        new = Kept.of(family, theta)
        before = old.moved(theta, (new.hessian - first.hessian) / new.n)
        whole = before + new
        if not count:  # weights of where the estimate lies; any further change is too small to matter
            mix = whole.mix(groups)
    raise EstimationError("old and new records together have no minimum that steps lead to", hint=AGAIN)


def drift_of(old: Kept, new: Kept, mix: Array, groups: Groups) -> Drift:
    """Return whether the mean scores of old and new records differ, at the old estimate."""
    hessian = (old + new).moments(mix).hessian
    ways = [group_step(each.moments(mix, hessian), groups) for each in (old, new)]
    p, n = old.theta.size, old.n + new.n
    within = sum(way.cov * max(each.n - p, 1) * each.n for way, each in zip(ways, (old, new), strict=True)) / (n - p)
    apart = ways[1].move - ways[0].move
    # where everybody has the same score there is nothing to compare
    size = np.sqrt(np.maximum(np.diag(within), 1e-300))
    values, vectors = np.linalg.eigh(within / np.outer(size, size))
    seen = values > 1e-10 * max(values[-1], 1e-300)
    along = (vectors.T @ (apart / size))[seen]
    statistic = float(np.sum(along**2 / values[seen]) / (1 / old.n + 1 / new.n))
    return Drift(statistic, int(seen.sum()))


def _refuse_far(old: Kept, moved: Kept, mix: Array, cov: Array) -> None:
    """Refuse an estimate that hangs on how the curvature of the old records changed."""
    change = moved.score - old.score - old.hessian @ (moved.theta - old.theta)
    hessian = np.tensordot(mix[0], moved.hessian, 1)
    away = np.linalg.lstsq(hessian, (mix @ change).T, rcond=None)[0]
    if (np.abs(away) > LARGEST_DRIFT * np.sqrt(np.maximum(np.diag(cov), 0.0))[:, None] + 1e-300).any():
        raise EstimationError("the new records move the estimate too far from where the old ones left it", hint=AGAIN)
