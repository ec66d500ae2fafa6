"""Calibration of records to noisy totals of the same people: one signed measure for every analysis.

A release may have, beside its records, noisy means S of p features phi_k of the same people, each a function of one or
two columns (`release/totals/`). The records estimate these means too; what both say is combined by inverse variances,

    E v  <-  mean_i psi_v(Z_i) + N_v,phi lambda,        lambda = (N + n Sigma)^-1 (S - mean_i psi_phi(Z_i)),

Sigma the known variances of the totals' noise, and N the noise of the records if they were uniform on the domain
(`features.py`). The gain depends on no data: given the data the estimate is unbiased for every v. Linear in v, it is a
signed measure on the domain: that of the records, and the density Σ_k lambda_k (𝒩 phi_k)(x) on uniform points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from versadp.correction.features import Features, Numbers, Support, Tables

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Uniform:
    """Points of some columns, uniform on their lattices, with masses that add up to 1, or to the share that is asked.

    Attributes
    ----------
    codes : mapping of str to array of int (N,)
        The lattice point of each column.
    mass : array (N,)
    """

    codes: Mapping[str, Numbers]
    mass: Array

    @property
    def size(self) -> int:
        """Number of points."""
        return int(self.mass.size)


@dataclass(frozen=True, eq=False)
class Calibration:
    """What noisy totals say beyond the records of a release.

    Attributes
    ----------
    features : Features
    rows : int
    sd : array (p,)
        Standard deviations of the noise of the means.
    counts : mapping of tuple of str to array
        Shares of the records by output of each column, and of each pair.
    means : array (p,)
        The noisy means.
    """

    features: Features
    rows: int
    sd: Array
    counts: Mapping[Support, Array]
    means: Array

    @cached_property
    def by_records(self) -> Array:
        """The means of all features as the records estimate them, (p,)."""
        own = self.features
        tables = {support: self._undone_counts(support)[None] for support in own.groups if support}
        return np.asarray(own.inner(tables)[0])

    def _undone_counts(self, support: Support) -> Array:
        """Return the records' shares of all lattice points, or of pairs of them."""
        own, counts = self.features, self.counts[support]
        laws = [own.laws[name] for name in support]
        keeps = [own.keep[own.block_of[name]] for name in support]
        if len(laws) == 2 and own.block_of[support[0]] == own.block_of[support[1]]:
            (one, two), keep = laws, keeps[0]
            return np.asarray(
                one.inverse.T @ counts @ two.inverse / keep + (1 - 1 / keep) * np.outer(one.mean, two.mean)
            )
        psi = [law.inverse / keep + (1 - 1 / keep) * law.mean for law, keep in zip(laws, keeps, strict=True)]
        return np.asarray(counts @ psi[0] if len(psi) == 1 else psi[0].T @ counts @ psi[1])

    def shares(self, columns: Support) -> Array:
        """Return the calibrated shares of the lattice points of one column, or of a pair in the order of `counts`."""
        sizes = tuple(self.features.laws[name].size for name in columns)
        codes = np.indices(sizes).reshape(len(sizes), -1)
        every = Uniform(dict(zip(columns, codes, strict=True)), np.full(codes.shape[1], 1 / codes.shape[1]))
        added = (self.density(every) * every.mass).reshape(sizes)
        return np.asarray(self._undone_counts(columns) + added)

    @cached_property
    def _factor(self) -> Any:
        """The Cholesky factor of `N + n Sigma`: all of the gain, without data."""
        from scipy.linalg import cho_factor

        matrix = self.features.covariance()
        matrix[np.diag_indices_from(matrix)] += self.rows * self.sd**2
        return cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, right: Array) -> Array:
        """Return `(N + n Sigma)^-1` times vectors (p, K)."""
        from scipy.linalg import cho_solve

        return np.asarray(cho_solve(self._factor, right, check_finite=False))

    @cached_property
    def weights(self) -> Array:
        """lambda, (p,)."""
        found = self.means - self.by_records
        found[self.features.groups.get((), [])] = 0.0  # a constant says nothing
        return self.solve(found)

    def density(self, points: Uniform) -> Array:
        """Return `Σ_k lambda_k (𝒩 phi_k)(x)` at points, the columns that they lack integrated out."""
        out, times = np.zeros(points.size), _Times(self.features, points)
        for (support, others), table in self._pieces(tuple(points.codes)).items():
            out += table[tuple(points.codes[name] for name in support)] * times.of(others)
        return out

    def _pieces(self, columns: tuple[str, ...]) -> dict[tuple[Support, Support], Array]:
        """Return the density as tables over one or two of some columns, each times D of others of them."""
        found: dict[tuple[Support, Support], Array] = {}
        for support, table in self.features.tables(self.weights[None]).items():
            for operator in self.features.operators(support):
                own = operator.apply(table)[0]
                for axis in range(len(support) - 1, -1, -1):
                    if support[axis] not in columns:
                        own = own.mean(axis=axis)
                key = _within(support, columns), _within(operator.times, columns)
                found[key] = found.get(key, 0.0) + own
        return found

    def covariances(self, points: Uniform, values: Array) -> Array:
        """Return `N_v,phi` of functions with values (N, K) at points, (K, p)."""
        from scipy.sparse import csr_array

        own, columns, times = self.features, tuple(points.codes), _Times(self.features, points)
        weighted = values * points.mass[:, None]
        known: dict[tuple[Support, Support], Array] = {}

        def moments(support: Support, others: Support) -> Array:
            """Return sums of values by lattice point of the columns, (K, points, ...)."""
            if (support, others) not in known:
                shape = tuple(own.laws[name].size for name in support)
                cell = np.zeros(points.size, np.int64)
                for name, size in zip(support, shape, strict=True):
                    cell = cell * size + points.codes[name]
                count = int(np.prod(shape))
                into = csr_array((times.of(others), cell, np.arange(points.size + 1)), shape=(points.size, count))
                known[support, others] = np.asarray(into.T @ weighted).T.reshape(-1, *shape)
            return known[support, others]

        found: Tables = {}
        for support in own.groups:
            if not support:
                continue
            for operator in own.operators(support):
                table = moments(_within(support, columns), _within(operator.times, columns))
                for axis, name in enumerate(support):
                    if name not in columns:
                        table = np.expand_dims(table, axis + 1) * own.laws[name].uniform.reshape(
                            (1,) * (axis + 1) + (-1,) + (1,) * (table.ndim - axis - 1)
                        )
                found[support] = found.get(support, 0.0) + operator.adjoint.apply(table)
        return own.inner(found)

    def gain(self, points: Uniform, values: Array) -> Array:
        """Return B = N_v,phi (N + n Sigma)^-1, (K, p)."""
        return np.asarray(self.solve(self.covariances(points, values).T).T)


class _Times:
    """Products of the densities D of some columns at points."""

    def __init__(self, features: Features, points: Uniform) -> None:
        self.features, self.points = features, points
        self.known: dict[tuple[str, ...], Array] = {(): np.ones(points.size)}

    def of(self, columns: tuple[str, ...]) -> Array:
        """Return the product over some columns."""
        if columns not in self.known:
            *rest, name = columns
            self.known[columns] = self.of(tuple(rest)) * self.features.laws[name].density[self.points.codes[name]]
        return self.known[columns]


def _within(support: tuple[str, ...], columns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in support if name in columns)
