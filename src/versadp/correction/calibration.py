"""Calibration of records to noisy totals of the same people: one signed measure for every analysis.

A release may have, beside its records, noisy means S of p features phi_k of the same people, each a function of one or
two columns (`release/totals/`). The records estimate these means too; what both say is combined by inverse variances,

    E v  <-  mean_i psi_v(Z_i) + N_v,phi lambda,        lambda = (N + n Sigma)^-1 (S - mean_i psi_phi(Z_i)),

Sigma the known variances of the totals' noise, and N the noise of the records if they were uniform on the domain
(`features.py`). The gain depends on no data: given the data the estimate is unbiased for every v, whatever N_v,phi is
taken to be. For a function of more than two columns it is that of the nearest sum of functions of two, Π v (nearest on
the uniform domain): there 𝒩 phi has factors D for all other columns of a block, whose product would drown any mean over
points. Linear in v, the estimate is a signed measure on the domain: that of the records, and the density
Σ_k lambda_k (Π 𝒩 phi_k)(x) on uniform points, a sum of tables over pairs of columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from versadp.correction.features import Features, Numbers, Operator, Support, Tables

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Uniform:
    """Points of some columns, uniform on their lattices, with masses that add up to 1, or to the share that is asked.

    Attributes
    ----------
    codes : mapping of str to array of int (N,)
        The lattice point of each column.
    mass : array (N,)
    is_exact : bool
        True if they are all points there are.
    """

    codes: Mapping[str, Numbers]
    mass: Array
    is_exact: bool = True

    @property
    def size(self) -> int:
        """Number of points."""
        return int(self.mass.size)


@dataclass(frozen=True, eq=False)
class Calibration:
    """Difference of noisy totals from the records' own estimates, weighted by the gain.

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
        """Return the density `Σ_k lambda_k Π 𝒩 phi_k` at points, the columns that they lack integrated out."""
        out = np.zeros(points.size)
        for support, table in self.parts(tuple(points.codes)).items():
            out += table[tuple(points.codes[name] for name in support)]
        return out

    def parts(self, columns: tuple[str, ...]) -> Tables:
        """Return the density on some columns as parts of one column and of pairs."""
        return components(self.marginals(columns))

    def marginals(self, columns: tuple[str, ...]) -> Tables:
        """Return the density over one column, or over each pair of several."""
        return {pair: self._marginal(pair) for pair in _pairs(columns)}

    @cached_property
    def _applied(self) -> list[tuple[Support, Operator, Array]]:
        """The parts of 𝒩 of what lambda weighs."""
        tables = self.features.tables(self.weights[None])
        every = [(support, operator) for support in tables for operator in self.features.operators(support)]
        return [(support, operator, operator.apply(tables[support])[0]) for support, operator in every]

    def _marginal(self, pair: tuple[str, ...]) -> Array:
        laws = [self.features.laws[name] for name in pair]
        out = np.zeros(tuple(law.size for law in laws))
        for support, operator, table in self._applied:
            own = table
            for axis in range(len(support) - 1, -1, -1):
                if support[axis] not in pair:
                    own = own.mean(axis=axis)
            left = tuple(name for name in support if name in pair)
            if left == pair[::-1] != pair:
                own = own.T
            for axis, name in enumerate(pair):
                if name not in left:
                    own = np.expand_dims(own, axis)
            for axis, (name, law) in enumerate(zip(pair, laws, strict=True)):
                if name in operator.times:
                    own = own * np.moveaxis(law.density.reshape(-1, *[1] * (len(pair) - 1)), 0, axis)
            out += own
        return out

    def covariances(self, parts: Tables) -> Array:
        """Return `N_v,phi` of functions given by their parts (K, ...), (K, p)."""
        own = self.features
        found: Tables = {}
        for support in own.groups:
            for operator in own.operators(support) if support else ():
                table = _moments(own, parts, support, operator.times)
                found[support] = found.get(support, 0.0) + operator.adjoint.apply(table)
        return own.inner(found)

    def projected(self, points: Uniform, values: Array) -> Tables:
        """Return the projection of functions on sums of functions of two columns, as components (K, ...)."""
        from scipy.sparse import csr_array

        weighted, columns = values * points.mass[:, None], tuple(points.codes)
        means: Tables = {}
        for pair in _pairs(columns):
            shape = tuple(self.features.laws[name].size for name in pair)
            cell = np.ravel_multi_index(tuple(points.codes[name] for name in pair), shape)
            count = int(np.prod(shape))
            into = csr_array((np.ones(points.size), cell, np.arange(points.size + 1)), shape=(points.size, count))
            means[pair] = count * np.asarray(into.T @ weighted).T.reshape(-1, *shape)
        return components(means)

    def gain(self, parts: Tables) -> Array:
        """Return B = N_v,phi (N + n Sigma)^-1 of functions given by their parts, (K, p)."""
        return np.asarray(self.solve(self.covariances(parts).T).T)


def _pairs(columns: tuple[str, ...]) -> list[Support]:
    return [*combinations(columns, 2)] if len(columns) > 1 else [columns]


def components(means: Tables) -> Tables:
    """Return the parts of a function that is a sum over pairs of columns, from its means given each pair.

    Each part has mean 0 over each of its columns: a constant `()`, one per column and one per pair.

    Examples
    --------
    >>> found = components({("a", "b"): np.array([[1.0, 2.0], [3.0, 6.0]])})
    >>> {"".join(support): part.tolist() for support, part in found.items()}
    {'': 3.0, 'a': [-1.5, 1.5], 'b': [-1.0, 1.0], 'ab': [[0.5, -0.5], [-0.5, 0.5]]}
    """
    out: Tables = {}
    for support, table in means.items():
        lead = table.ndim - len(support)  # functions, if there are several
        axes = tuple(range(lead, table.ndim))
        out.setdefault((), np.asarray(table.mean(axis=axes)))
        centred = table - table.mean(axis=axes, keepdims=True)
        rest = centred
        for axis, name in zip(axes, support, strict=True):
            others = tuple(other for other in axes if other != axis)
            alone = centred.mean(axis=others, keepdims=True)
            out.setdefault((name,), alone.squeeze(others))
            rest = rest - alone
        if len(support) == 2:
            out[support] = rest
    return out


def _moments(features: Features, parts: Tables, support: Support, times: tuple[str, ...]) -> Array:
    """Return `E_U[v D(times) 1{x}]` at the points x of one or two columns, v given by its parts, (K, points, ...)."""
    laws = features.laws
    shape = tuple(laws[name].size for name in support)
    out = np.zeros((len(parts[()]), *shape))
    for columns, table in parts.items():
        if any(name not in support and name not in times for name in columns):
            continue  # its mean is 0
        own = table
        for axis in range(len(columns) - 1, -1, -1):
            if columns[axis] not in support:
                own = np.tensordot(own, laws[columns[axis]].mean, axes=(axis + 1, 0))
        left = tuple(name for name in columns if name in support)
        if left == support[::-1] != support:
            own = np.swapaxes(own, 1, 2)
        for axis, name in enumerate(support):
            if name not in left:
                own = np.expand_dims(own, axis + 1)
        out += own
    return out / np.prod(shape)
