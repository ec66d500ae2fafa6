"""Maximum likelihood with a free mixing law, jointly with a few parameters.

    L_i(η, f) = Σ_s f_s a_is(η),     f >= 0, and the weights of each stratum add up to 1

Around any (η, f), `L_i(η + δ, f')/L_i ≈ Σ_s P_is f'_s + g_i'δ` with P_is = a_is/L_i and g_i the score of η, and
log(1 + e) ≈ e - e²/2. So a step minimises

    Σ_i (Σ_s P_is f'_s + g_i'δ - 2)² / 2 + n Σ_s f'_s      over f' >= 0 and any δ,

n being the multiplier of weights that add up to 1: non-negative least squares, for which the products of the columns
J = (g, P) are all that must be known. They add up over records, so that nothing grows with their number. A dozen steps
do where EM takes thousands.

**Standard errors.** The law is free, so of the scores of η only what no change of the law explains tells about η: what
is left of g after its projection on the columns of P. Its sum of squares is the efficient information,

    I = J_g'J_g - J_g'J_P (J_P'J_P)⁺ J_P'J_g,        cov η = I⁻¹.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.estimation.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

STEPS = 100  # at most: a dozen are usual
HALVINGS = 12  # quarterings of a step at most: 4^-12 of it is rounding
CLOSE, FLAT = 0.01, 1e-3  # of a standard error, and of a unit of log likelihood
NOTHING = 1e-5  # gain of log likelihood that ends the search: an error of √(2e-5), 0.4% of a standard error
FIRM = 10.0  # penalty of weights that do not add up to 1, per record: at a maximum it is 0 whatever its size
RANK, KNOWN = 1e-13, 1e-9  # relative eigenvalues below which directions are rounding: of products, of their rest
SOME = 1e-6  # a weight that is one


class Sums(NamedTuple):
    """Sums over records that a step needs: of J = (g, P), first the parameters, then the weights.

    Attributes
    ----------
    value : float
        The log likelihood.
    first : array (p + m,)
        Sums of the columns of J.
    products : array (p + m, p + m)
        J'J.
    counts : array (strata,)
        Numbers of records.
    """

    value: float
    first: Array
    products: Array
    counts: Array


@dataclass(frozen=True)
class Mixed:
    """A maximum: parameters, weights (strata, points), and sums there.

    Attributes
    ----------
    steps : int
        How many were taken.
    """

    eta: Array
    weights: Array
    sums: Sums
    outcome: Outcome
    steps: int

    @property
    def information(self) -> Array:
        """The efficient information about the parameters."""
        p = self.eta.size
        products = self.sums.products
        return _rest(products[:p, :p], products[:p, p:], products[p:, p:])

    def covariance(self) -> Array:
        """Return the covariance of the parameters."""
        scale = np.sqrt(np.diag(self.information))
        return np.asarray(np.linalg.inv(self.information / np.outer(scale, scale)) / np.outer(scale, scale))

    def strength(self, points: Array) -> Array:
        """Return how well the spread of the points is known: its variance in units of that variance's standard error.

        Within strata, for each column of `points` (S, columns), over the points that have a weight. Where a variance is
        hardly known slopes are not either, and less normal than their information tells.
        """
        p, (strata, size), on = self.eta.size, self.weights.shape, self.weights.ravel() > SOME
        products, share = self.sums.products, self.sums.counts / self.sums.counts.sum()
        stratum = np.repeat(np.arange(strata), size)[on]
        tangent = np.eye(stratum.size) - (stratum[:, None] == stratum) / np.bincount(stratum)[stratum]
        inner, cross = products[p:, p:][np.ix_(on, on)], products[p:, :p][on]
        value, vector = np.linalg.eigh(tangent @ _rest(inner, cross, products[:p, :p]) @ tangent)
        known = value > KNOWN * value[-1]
        away = (points - (self.weights @ points)[:, None]) ** 2  # (strata, S, columns)
        spread = np.einsum("k,ks,ksd->d", share, self.weights, away)
        slope = vector[:, known].T @ tangent @ (share[:, None, None] * away).reshape(strata * size, -1)[on]
        error = np.sqrt((slope**2 / value[known, None]).sum(axis=0))
        return np.asarray(spread / np.maximum(error, np.finfo(float).tiny))


def maximise(sums: Callable[[Array, Array], Sums], eta: Array, weights: Array) -> Mixed:
    """Return the maximum that steps from a start lead to.

    Parameters
    ----------
    sums : callable
        Of parameters (p,) and weights (strata, points).
    eta, weights : array
        Where to start.

    Examples
    --------
    Two kinds of outputs, each right in three of four cases; 60 of 100 are of the first kind.

    >>> a = np.repeat([[0.75, 0.25], [0.25, 0.75]], [60, 40], axis=0)
    >>> def sums(eta, f):
    ...     total = a @ f[0]
    ...     P = a / total[:, None]
    ...     return Sums(np.log(total).sum(), P.sum(axis=0), P.T @ P, np.array([100.0]))
    >>> maximise(sums, np.zeros(0), np.full((1, 2), 0.5)).weights.round(3)
    array([[0.7, 0.3]])
    """
    now, last = sums(eta, weights), np.zeros(eta.size)
    if not np.isfinite(now.value):
        return Mixed(eta, weights, now, Outcome.STALLED, 0)
    for count in range(STEPS):
        move, target = _step(now, eta.size, weights)
        if move @ now.products[: eta.size, : eta.size] @ last < 0:  # back and forth: squares of scores are no curvature
            move, target = move / 2, (weights + target) / 2
        for _ in range(HALVINGS):
            then = eta + move, target
            new = sums(*then)
            if new.value >= now.value:  # not a number is not larger
                break
            move, target = move / 4, weights + (target - weights) / 4
        else:
            near = (np.abs(move) * 4.0**HALVINGS < CLOSE * _errors(now, eta.size)).all()
            return Mixed(eta, weights, now, Outcome.CONVERGED if near else Outcome.STALLED, count)
        gain = new.value - now.value
        (eta, weights), now, last = then, new, move
        # where next to nothing is gained the rest is, too: a deficit of Δ is an error of √(2Δ) standard errors
        if gain < NOTHING or (gain < FLAT and (np.abs(move) < CLOSE * _errors(now, eta.size)).all()):
            return Mixed(eta, weights, now, Outcome.CONVERGED, count + 1)
    return Mixed(eta, weights, now, Outcome.ITERATIONS, STEPS)


def score_test(sums: Sums, added: NDArray[np.int64]) -> tuple[float, int]:
    """Return a χ² statistic and its degrees of freedom: whether parameters that were held at 0 are 0.

    Parameters
    ----------
    sums : Sums
        At a maximum over all other parameters and the weights.
    added : array of int
        Which parameters were held.
    """
    held = np.zeros(sums.first.size, bool)
    held[added] = True
    products = sums.products
    scale, root, vector = _spectrum(_rest(products[held][:, held], products[held][:, ~held], products[~held][:, ~held]))
    return float(((vector.T @ (sums.first[held] / scale) / root) ** 2).sum()), root.size


def _step(now: Sums, p: int, weights: Array) -> tuple[Array, Array]:
    """Return where the quadratic problem has its minimum: a move of the parameters, and weights."""
    from scipy.optimize import nnls

    strata, points = weights.shape
    products, goal = now.products.copy(), 2 * now.first
    for k, n in enumerate(now.counts):  # weights add up to 1: a multiplier, and a penalty for steps from afar
        own = slice(p + k * points, p + (k + 1) * points)
        products[own, own] += FIRM * n
        goal[own] += (FIRM - 1) * n
    cross, inner = products[:p, p:], _inverse(products[:p, :p])
    left = products[p:, p:] - cross.T @ inner @ cross
    right = goal[p:] - cross.T @ (inner @ goal[:p])
    scale, root, vector = _spectrum(left)
    found, _ = nnls(root[:, None] * vector.T, vector.T @ (right / scale) / root, maxiter=30 * left.shape[0])
    found /= scale
    move = inner @ (goal[:p] - cross @ found)
    target = found.reshape(strata, points)
    return move, target / target.sum(axis=1, keepdims=True)


def _errors(now: Sums, p: int) -> Array:
    """Return standard errors of the parameters."""
    rest = _rest(now.products[:p, :p], now.products[:p, p:], now.products[p:, p:])
    return np.sqrt(np.maximum(np.diag(_inverse(rest)), 0.0)) if p else np.zeros(0)


def _rest(own: Array, cross: Array, other: Array) -> Array:
    """Return the squares of some columns after their projection on others."""
    scale, root, vector = _spectrum(other)
    seen = (cross / scale) @ vector / root
    return np.asarray(own - seen @ seen.T)


def _spectrum(squares: Array) -> tuple[Array, Array, Array]:
    """Return scales of columns, and roots and vectors of what their products are in these scales, where not 0."""
    scale = np.sqrt(np.maximum(np.diag(squares), np.finfo(float).tiny))
    value, vector = np.linalg.eigh(squares / np.outer(scale, scale))
    keep = value > RANK * value[-1]
    return scale, np.sqrt(value[keep]), vector[:, keep]


def _inverse(matrix: Array) -> Array:
    """Return the inverse of a matrix of squares, of any scales; of columns that are one another's, none."""
    if not matrix.size:
        return matrix
    scale = np.sqrt(np.maximum(np.diag(matrix), np.finfo(float).tiny))
    return np.asarray(
        np.linalg.pinv(matrix / np.outer(scale, scale), rcond=1e-13, hermitian=True) / np.outer(scale, scale)
    )
