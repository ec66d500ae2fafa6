"""The likelihood of released records and their responses, the law of the noisy columns free.

Record i shows z_i and y_i beside public columns w_i; its true x_i is one of S points. With K_is = P(z_i | x_s) the law
of the noise, exactly, and u_is the index at that point,

    L_i = Σ_s q_s(w_i) K_is p(y_i | u_is),        q_s(w) = f_s e^{w'Γx_s} / Σ_t f_t e^{w'Γx_t}

f is free, in each stratum of records its own. Γ, which is estimated too, lets x go with public numbers as it does in a
linear model with normal errors, and in any other whose densities differ by such a factor; without public numbers there
is none. With a private response p is summed over the cells that it may lie in, each with its K.

Parameters are η = (θ, log sigma, Γ). With posterior weights π_is = q_s K_is p_is / L_i the scores are

    Σ_s π_is ∂ log p_is,        w_i Σ_s (π_is - q_is) x_s',        P_is = e^{w'Γx_s} (K_is p_is/L̃_i - 1/A_i) + 1,

L̃ and A the sums over s above and below the line (`mixture.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.likelihood.mixture import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.losses.response_law import ResponseLaw

    Array = NDArray[np.float64]

LARGE = 6.0  # squares of standardised numbers
ALIKE = 4  # records of a kind, at least
LOOKED = 4096  # records that are looked at first


class Lot(NamedTuple):
    """Some records against all points.

    Attributes
    ----------
    kernel : array (cells, n, S)
        P(z_i | x_s), for every cell of a private response; one for a public one.
    response : array (n,) or None
        A public response.
    by_record : array (n, p0)
        Public terms of the index.
    mixed : array (p2, n, S)
        Terms with public and with noisy columns.
    stratum : array (n,) of int
    public : array (n, q)
        Public numbers that the law of the points may go with.
    alike : pair of arrays of int, or None
        Where many records have the same index at every point and the same public response: a record of each such kind,
        and the kind of every record.
    """

    kernel: Array
    response: Array | None
    by_record: Array
    mixed: Array
    stratum: NDArray[np.int64]
    public: Array
    alike: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    def kinds(self) -> Lot:
        """Return the records, knowing which of them are alike: what is the same for them is worked out once."""
        if self.response is None or self.mixed.size:
            return self
        some = self.response[:LOOKED]
        if ALIKE * np.unique(some).size > max(some.size, 1):  # many values: to sort them all would take long
            return self
        shown = np.column_stack([self.by_record, self.response])
        _, first, kind = np.unique(shown, axis=0, return_index=True, return_inverse=True)
        return self._replace(alike=(first, kind.ravel())) if ALIKE * first.size <= len(shown) else self

    def richer(self) -> Lot:
        """Return the records with squares of their public numbers, no larger than few records would have alone."""
        return self._replace(public=np.concatenate([self.public, np.minimum(self.public**2, LARGE) - 1], axis=1))


@dataclass(frozen=True)
class Likelihood:
    """A likelihood, without records.

    Attributes
    ----------
    law : ResponseLaw
    terms : tuple of index arrays
        Which coefficients belong to terms of public columns, of noisy columns, and of both.
    by_point : array (S, p1)
        Terms of noisy columns at the points.
    points : array (S, d)
        The points that Γ multiplies, centred.
    ends : array (cells + 1,)
        Of the cells of a private response; none for a public one.
    strata : int
    public : int
        How many public numbers there are.
    """

    law: ResponseLaw
    terms: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    by_point: Array
    points: Array
    ends: Array
    strata: int = 1
    public: int = 0

    @property
    def coefficients(self) -> int:
        """Number of coefficients of the index."""
        return sum(map(len, self.terms))

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.coefficients + int(self.law.scaled) + self.public * len(self.points.T)

    def richer(self, eta: Array) -> tuple[Likelihood, Array, NDArray[np.int64]]:
        """Return the same where squares of public numbers and of points go with one another too, and its parameters.

        Returns
        -------
        likelihood : Likelihood
            For lots that are `richer` too.
        eta : array
            The same parameters, and 0 for those that were added.
        added : array of int
            Which these are.
        """
        d, at = len(self.points.T), self.coefficients + self.law.scaled
        squares = self.points**2 - (self.points**2).mean(axis=0)
        gamma = np.zeros((2 * self.public, 2 * d))
        gamma[: self.public, :d] = eta[at:].reshape(self.public, d)
        new = np.ones(gamma.shape, bool)
        new[: self.public, :d] = False
        more = replace(self, points=np.concatenate([self.points, squares], axis=1), public=2 * self.public)
        return more, np.concatenate([eta[:at], gamma.ravel()]), at + np.flatnonzero(new)

    def sums(self, lot: Lot, eta: Array, weights: Array) -> tuple[float, Array, Array, Array]:
        """Return log likelihood, sums, products and counts of a lot at parameters and weights."""
        p = self.coefficients
        theta, log_scale = eta[:p], float(eta[p]) if self.law.scaled else 0.0
        gamma = eta[p + self.law.scaled :].reshape(self.public, self.points.shape[1])
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            seen, top, slope, by_scale = self._response(lot, theta, log_scale)
            tilt = self._tilt(lot, gamma)
            prior = (weights if self.strata == 1 else weights[lot.stratum]) * tilt  # one row may stand for all
            below = prior.sum(axis=1)
            posterior = prior * seen
            above = posterior.sum(axis=1)
            value = float((np.log(above) - np.log(below) + top).sum())
            posterior /= above[:, None]
            scores = self._scores(lot, posterior, slope, by_scale, prior / below[:, None])
            seen /= above[:, None]
            seen -= 1 / below[:, None]
            if self.public:
                seen *= tilt
            seen += 1.0
            return (value, *self._products(lot, scores, seen))

    def _response(self, lot: Lot, theta: Array, log_scale: float) -> tuple[Array, Array, Array, Array | None]:
        """Return K p up to a factor for each record, the log of that, and the slopes of log p, (n, S)."""
        if lot.alike is not None:
            return self._response_of_kinds(lot, theta, log_scale)
        open_, noisy, both = self.terms
        u = (lot.by_record @ theta[open_])[:, None] + self.by_point @ theta[noisy]
        for column, slope in zip(lot.mixed, theta[both], strict=True):
            u += slope * column
        if lot.response is not None:
            value, slope, by_scale = self.law.log_density(u, lot.response[:, None], log_scale)
            top = value.max(axis=1)
            return lot.kernel[0] * np.exp(value - top[:, None]), top, slope, by_scale
        total, slope, by_scale = np.zeros_like(u), np.zeros_like(u), np.zeros_like(u) if self.law.scaled else None
        before = self.law.distribution(u, -np.inf, log_scale)
        for kernel, end in zip(lot.kernel, (*self.ends[1:-1], np.inf), strict=True):
            after = self.law.distribution(u, float(end), log_scale)
            total += kernel * np.maximum(after[0] - before[0], 0.0)
            slope += kernel * (after[1] - before[1])
            if by_scale is not None:
                assert after[2] is not None
                assert before[2] is not None
                by_scale += kernel * (after[2] - before[2])
            before = after
        total = np.maximum(total, np.finfo(float).tiny)
        return total, np.zeros(len(u)), slope / total, None if by_scale is None else by_scale / total

    def _response_of_kinds(self, lot: Lot, theta: Array, log_scale: float) -> tuple[Array, Array, Array, Array | None]:
        """Return the same, where many records are alike."""
        assert lot.alike is not None
        assert lot.response is not None
        (first, kind), none = lot.alike, np.ones((1, 1, 1))
        each = lot._replace(kernel=none, response=lot.response[first], by_record=lot.by_record[first], alike=None)
        seen, top, slope, by_scale = self._response(each, theta, log_scale)
        return lot.kernel[0] * seen[kind], top[kind], slope[kind], None if by_scale is None else by_scale[kind]

    def _tilt(self, lot: Lot, gamma: Array) -> Array:
        """Return e^{w'Γx}, (n, S), the largest of each record 1."""
        if not gamma.size:
            return np.ones((1, 1))
        power = (lot.public @ gamma) @ self.points.T
        return np.asarray(np.exp(power - power.max(axis=1, keepdims=True)))

    def _scores(self, lot: Lot, posterior: Array, slope: Array, by_scale: Array | None, prior: Array) -> Array:
        """Return the score of the parameters of each record, (n, p)."""
        open_, noisy, both = self.terms
        out = np.empty((len(posterior), self.size))
        weighed = posterior * slope
        out[:, open_] = lot.by_record * weighed.sum(axis=1)[:, None]
        out[:, noisy] = weighed @ self.by_point
        for j, column in zip(both, lot.mixed, strict=True):
            out[:, j] = (weighed * column).sum(axis=1)
        at = self.coefficients
        if by_scale is not None:
            out[:, at] = (posterior * by_scale).sum(axis=1)
            at += 1
        if self.public:
            apart = (posterior - prior) @ self.points
            out[:, at:] = (lot.public[:, :, None] * apart[:, None, :]).reshape(len(out), -1)
        return out

    def _products(self, lot: Lot, scores: Array, seen: Array) -> tuple[Array, Array, Array]:
        """Return sums, products and counts of the columns J = (scores, P), P by stratum."""
        p, m = self.size, seen.shape[1]
        first, products = np.zeros(p + self.strata * m), np.zeros((p + self.strata * m,) * 2)
        first[:p], products[:p, :p] = scores.sum(axis=0), scores.T @ scores
        for k in range(self.strata):
            mine = slice(None) if self.strata == 1 else lot.stratum == k
            own, here = slice(p + k * m, p + (k + 1) * m), seen[mine]
            first[own], products[own, own] = here.sum(axis=0), here.T @ here
            products[:p, own] = scores[mine].T @ here
            products[own, :p] = products[:p, own].T
        return first, products, np.bincount(lot.stratum, minlength=self.strata).astype(float)


def total(parts: tuple[float, Array, Array, Array] | None) -> Sums:
    """Return sums over lots as one."""
    assert parts is not None
    return Sums(*parts)
