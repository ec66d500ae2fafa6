"""Nearest sums of functions of two columns: what totals say of a function is what they say of these.

What totals add to the mean of v is `E_U[(Π v) w]`, w the density of their measure, a sum of tables over pairs of
columns, and Π a projection on sums of functions of two columns. Any linear Π leaves the estimate unbiased. Where the
points of an analysis are all there are, Π v has all functions of two columns. Where they are a sample, the mean of a
rough table over points would carry its norm times the points' error, and the tables are as rough as the noise that they
take off; so Π has products of low polynomials, whose means with w are sums over tables and known exactly,

    Π v = F' (F M F')^-1 F M v,        weights of points = M F' (F M F')^-1 target,      target = E_U[F w].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction.calibration import components

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from versadp.correction.calibration import Calibration, Uniform
    from versadp.correction.features import Support, Tables

    Array = NDArray[np.float64]
    Function = tuple[Support, dict[str, Array]]

DEGREES = (7, 6, 5, 4, 3, 2)  # of products of two columns: the highest that leaves few enough functions
ALONE = 2  # factor of degrees of one column, whose table is much better known
FEW_LEVELS = 12  # lattice points of a column without a window, each of which has a function
MOST_FUNCTIONS = 400  # of all columns and pairs: the inverse takes a tenth of a second


@dataclass(frozen=True, eq=False)
class PairFunctions:
    """Sums of functions of two columns at some uniform points.

    Attributes
    ----------
    calibration : Calibration
    points : Uniform
    complete : tuple of str
        Columns without missing values at these points.
    """

    calibration: Calibration
    points: Uniform
    complete: tuple[str, ...] = ()

    def weights(self) -> Array:
        """Return weights of the points whose sums of v are what totals add to its mean."""
        if self.points.is_exact:
            return np.asarray(self.calibration.density(self.points) * self.points.mass)
        tables = self.calibration.marginals(tuple(self.points.codes))
        target = []
        for support, f in self._functions:
            own = self._table(support, f)
            pair = next(pair for pair in tables if set(support) <= set(pair))
            axes = tuple(k for k, name in enumerate(pair) if name not in support)
            target.append(float((tables[pair].mean(axis=axes) * own).mean()))
        return np.asarray(self._solved(np.array(target)) @ self._design * self.points.mass)

    def parts(self, values: Array) -> Tables:
        """Return Π of functions with values (N, K) at the points, as parts of no, one and two columns, (K, ...)."""
        if self.points.is_exact:
            return self.calibration.projected(self.points, values)
        share = self._solved(self._design @ (values * self.points.mass[:, None]))
        tables: dict[Support, Array] = {}
        for (support, f), own in zip(self._functions, share, strict=True):
            table = self._table(support, f)
            tables[support] = tables.get(support, 0.0) + own.reshape(-1, *[1] * table.ndim) * table
        out: Tables = {}
        for support, table in tables.items():
            for less, part in components({support: table}).items() if support else [(support, table)]:
                out[less] = out.get(less, 0.0) + part
        return out

    @cached_property
    def _sizes(self) -> dict[str, int]:
        """Points of each column, without a missing value where there is none."""
        laws = self.calibration.features.laws
        return {
            name: laws[name].size - (name in self.complete and laws[name].lattice.unseen > 0)
            for name in self.points.codes
        }

    def _table(self, support: Support, f: Mapping[str, Array]) -> Array:
        """Return a function on all points of its columns: 0 where a value is missing, less where others may be."""
        laws, out = self.calibration.features.laws, np.array(1.0)
        for name in support:
            padded = np.append(f[name], np.zeros(laws[name].size - self._sizes[name]))
            out = np.multiply.outer(out, padded)
        others = [self._sizes[name] / laws[name].size for name in self._sizes if name not in support]
        return np.asarray(out * np.prod(others))

    @cached_property
    def _functions(self) -> list[Function]:
        plain = {name: self.calibration.features.laws[name].lattice.window == 1 for name in self._sizes}
        for degree in DEGREES:
            found = list(_of_degree(self._sizes, plain, degree))
            if len(found) <= MOST_FUNCTIONS:
                return found
        return found[:MOST_FUNCTIONS]

    @cached_property
    def _design(self) -> Array:
        """F, (functions, N)."""
        codes = self.points.codes
        return np.stack(
            [
                np.prod([f[name][codes[name]] for name in support], axis=0) if support else np.ones(self.points.size)
                for support, f in self._functions
            ]
        )

    @cached_property
    def _inverse(self) -> Array:
        share = float(self.points.mass.sum())
        return np.asarray(np.linalg.inv(self._design @ self._design.T * (share / self.points.size)))

    def _solved(self, right: Array) -> Array:
        return np.asarray(self._inverse @ right)


def _of_degree(sizes: Mapping[str, int], plain: Mapping[str, bool], degree: int) -> Iterator[Function]:
    """Yield orthonormal functions of no, one and two columns."""
    yield (), {}
    own = {name: _polynomials(size, ALONE * degree, plain=plain[name]) for name, size in sizes.items()}
    for name, several in own.items():
        for _, f in several:
            yield (name,), {name: f}
    for one, two in combinations(sizes, 2):
        for (a, f), (b, g) in ((x, y) for x in own[one] for y in own[two]):
            if a + b <= degree:
                yield (one, two), {one: f, two: g}


def _polynomials(size: int, degree: int, *, plain: bool) -> list[tuple[int, Array]]:
    """Return orthonormal polynomials without the constant, each with its degree; 1 for each level of few."""
    levels = plain and size <= FEW_LEVELS
    most = size - 1 if levels else min(degree, size - 1)
    powers = np.polynomial.legendre.legvander(np.linspace(-1, 1, size), most)
    q = np.linalg.qr(powers)[0].T * np.sqrt(size)
    return [(1 if levels else k, q[k]) for k in range(1, most + 1)]
