"""Linear models with instruments, from corrected second moments of regressors, instruments and response.

With v = (w, y), w all columns of regressors x and instruments z, and corrected products T_i of E T_i = v_i v_i',

    g_i(θ) = (T_zy - T_zx θ)_i,         E g_i(θ_0) = 0
    θ̂ = (G'W G)^-1 G'W h,              G = mean T_zx,  h = mean T_zy,  W = (mean T_zz)^-1        two-stage least squares
    cov θ̂ = B Ω(θ̂) B' n/(n - p),       B = (G'W G)^-1 G'W,   Ω the covariance of the mean of g

All moments are linear in the entries of T_i, so that their covariance at any θ follows from that of the entries. Where
instruments are weak, θ̂ over its standard error is not normal. The values of a coefficient that

    Q(θ) = g(θ)' Ω(θ)^-1 g(θ),      least over the other coefficients,     χ² with k - p + 1 degrees of freedom

cannot reject (Anderson and Rubin; subset: Guggenberger, Kleibergen, Mavroeidis and Chen 2012) hold for any instruments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.errors import EstimationError
from versadp.estimation.score_sets import ScoreSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

REACH = (0.0, 0.5, 1.0, 1.5, 1.8, 1.96, 2.2, 2.6, 3.0, 4.0, 6.0, 10.0, 20.0, 60.0, 300.0)  # standard errors of nodes
ROUNDS = 25  # of reweighting at a node: the weights of later rounds differ in the fourth digit


@dataclass(frozen=True)
class JointMoments:
    """Means of corrected products of all columns with all columns and the response, and the covariance of these means.

    Attributes
    ----------
    n : int
        Number of records.
    mean : array (p, p + 1)
        Of T_ww and, last, of T_wy.
    cov : array (p (p + 1), p (p + 1))
        Of the entries of `mean`, row by row.
    """

    n: int
    mean: Array
    cov: Array

    def covariance(self, left: Array, right: Array) -> Array:
        """Return the covariance of `left @ mean @ right` for rows of `left`, (q, p), and one `right`, (p + 1,)."""
        each = np.einsum("qi,j->qij", left, right).reshape(len(left), -1)
        return np.asarray(each @ self.cov @ each.T)


class Stage(NamedTuple):
    """The first stage of an endogenous regressor: the Wald statistic of the excluded instruments over their number."""

    f: float
    df: int


class TwoStage(NamedTuple):
    """Two-stage least squares.

    Attributes
    ----------
    theta, cov : array
    first : tuple of Stage
        Of each endogenous regressor.
    over : pair of float and int, or None
        Statistic and degrees of freedom of the test that all instruments agree; None if there are as many as
        regressors.
    """

    theta: Array
    cov: Array
    first: tuple[Stage, ...]
    over: tuple[float, int] | None


class Instruments:
    """A linear model with instruments.

    Parameters
    ----------
    moments : JointMoments
    x, z : sequence of int
        The columns of the regressors and of the instruments.
    """

    def __init__(self, moments: JointMoments, x: Sequence[int], z: Sequence[int]) -> None:
        self.moments, self.x, self.z = moments, list(x), list(z)
        self.rows = np.eye(len(moments.mean))[self.z]
        self.G, self.h = moments.mean[np.ix_(self.z, self.x)], moments.mean[self.z, -1]
        square = moments.mean[np.ix_(self.z, self.z)]
        self.square = (square + square.T) / 2

    def solve(self) -> TwoStage:
        """Return two-stage least squares with its diagnostics."""
        scale = np.sqrt(np.abs(np.diag(self.square)))
        if np.linalg.eigvalsh(self.square / np.outer(scale, scale))[0] <= 0:
            raise EstimationError(
                "the corrected squares of the instruments are not positive definite: noise hides how they differ",
                hint="use fewer instruments or more records",
            )
        first = np.asarray(np.linalg.solve(self.square, self.G), dtype=float)
        bread = np.linalg.solve(self.G.T @ first, first.T)
        theta, n, p = bread @ self.h, self.moments.n, len(self.x)
        cov = bread @ self.omega(theta) @ bread.T * n / max(n - p, 1)
        extra = len(self.z) - p
        over = None if extra == 0 else (self.least(theta, None)[0], extra)
        return TwoStage(theta, (cov + cov.T) / 2, self._stages(first), over)

    def omega(self, theta: Array) -> Array:
        """Return the covariance of the mean of g at a theta."""
        right = np.zeros(self.moments.mean.shape[1])
        right[self.x], right[-1] = -theta, 1.0
        return self.moments.covariance(self.rows, right)

    def least(self, start: Array, held: tuple[int, float] | None) -> tuple[float, Array]:
        """Return the least Q, and where, with one coefficient held at a value if asked for."""
        theta = start.copy()
        free = [j for j in range(len(self.x)) if held is None or j != held[0]]
        if held is not None:
            theta[held[0]] = held[1]
        best, at = np.inf, theta
        for _ in range(ROUNDS):
            weight = np.linalg.pinv(self.omega(theta), hermitian=True)
            gap = self.h - self.G @ theta
            value = float(gap @ weight @ gap)
            if value < best:
                best, at = value, theta.copy()
            if not free:
                break
            own = self.G[:, free]
            step = np.linalg.lstsq(own.T @ weight @ own, own.T @ weight @ gap, rcond=None)[0]
            theta[free] += step
            if np.abs(own @ step).max() <= 1e-12 * np.abs(self.h).max():
                break
        return best, at

    def sets(self, found: TwoStage) -> list[ScoreSet]:
        """Return the values of each coefficient that Q cannot reject, whatever the strength of the instruments."""
        return [self._set(found, j) for j in range(len(self.x))]

    def _set(self, found: TwoStage, j: int) -> ScoreSet:
        error, df = float(np.sqrt(found.cov[j, j])), len(self.z) - len(self.x) + 1
        at = found.theta[j] + error * np.unique([sign * each for sign in (-1.0, 1.0) for each in REACH])
        values = np.zeros(at.size)
        middle = at.size // 2
        for side in (range(middle, at.size), range(middle, -1, -1)):
            theta = found.theta
            for k in side:
                values[k], theta = self.least(theta, (j, float(at[k])))
        return ScoreSet(at, _as_one(np.maximum(values, 0.0), df))

    def _stages(self, first: Array) -> tuple[Stage, ...]:
        """Return the first stage of each regressor that is no instrument, with its robust F statistic."""
        excluded = [k for k, column in enumerate(self.z) if column not in self.x]
        out = []
        for j, column in enumerate(self.x):
            if column in self.z:
                continue
            right = np.zeros(self.moments.mean.shape[1])
            right[self.z], right[column] = -first[:, j], 1.0
            inverse = np.linalg.inv(self.square)[excluded]
            own = inverse @ self.moments.covariance(self.rows, right) @ inverse.T
            coefficients = first[excluded, j]
            wald = float(coefficients @ np.linalg.solve(own, coefficients)) if excluded else 0.0
            out.append(Stage(wald / max(len(excluded), 1), len(excluded)))
        return tuple(out)


def _as_one(values: Array, df: int) -> Array:
    """Return chi-square statistics of one degree of freedom with the p-values of those of `df`."""
    if df == 1:
        return values
    from scipy.special import chdtrc, chdtri

    return np.asarray(np.minimum(chdtri(1, np.maximum(chdtrc(df, values), 1e-300)), 1e6))
