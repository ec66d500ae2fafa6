"""Any function of columns that lie on lattices: projected on polynomials, each of which is undone exactly.

A polynomial basis of d columns is made of products `T_a(x) = Π_c T_{a_c}(x_c)`, and of one column any function is
undone output by output (`noise/lattice.py`). One coin a block, and a product across blocks:

    psi[T_a](z) = Π_B ( Π_{c in B} g_{a_c}(z_c)/κ_B + (1 - 1/κ_B) Π_{c in B} mean of g_{a_c} ),   E psi[T_a](Z) = T_a(x)

Of a function s its values at points x_l, the same for all records, give coefficients `Σ_l P_al s(x_l)`, so that

    s(x)  ≈  Σ_a T_a(x) Σ_l P_al s(x_l)       is undone by       Σ_l (psi(z) P)_l s(x_l):

signed points that all records share, nothing drawn, the second term of every block computed once. A column has a
degree. One with no more lattice points than that, and every category, has an indicator for each of them in place of
powers: there nothing is lost. Other columns have Chebyshev's polynomials up to `Σ a_c/degree_c <= 1`; one such column
is interpolated at Chebyshev's points, several are fitted by least squares at quasi-random points (Sobol's) of the same
density. What is left, s less its projection, is the whole of the bias.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from versadp.noise.terms import SeparableTerms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise import Block
    from versadp.noise.lattice import Lattice

    Array = NDArray[np.float64]

TIMES = 2  # as many quasi-random points as there are polynomials, at least


@dataclass(frozen=True)
class Projection:
    """Polynomials of the columns of some blocks.

    Attributes
    ----------
    blocks : tuple of Block
        All of whose columns have a lattice.
    degrees : tuple of int
        One a column, in the order of the blocks'.

    Examples
    --------
    >>> from versadp.noise import Window
    >>> from versadp.schema import Bounded
    >>> block = Window(2.0, cells=3, window=2).on({"a": Bounded(1, 4, step=1)})
    >>> projection = Projection((block,), (3,))
    >>> projection.points.ravel()
    array([1., 2., 3., 4.])
    >>> every = np.arange(5.0)[None]
    >>> block.to_values(every)
    >>> chance = (1 - block.keep) / 5 + block.keep / 2 * np.array([0, 1, 1, 0, 0])
    >>> bool(np.isclose(chance @ projection.weights(every) @ np.log(projection.points[:, 0]), np.log(2)))
    True
    """

    blocks: tuple[Block, ...]
    degrees: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of points that all records share."""
        return len(self.points)

    @cached_property
    def lattices(self) -> tuple[Lattice, ...]:
        """The lattice of each column."""
        found = [block.lattice(name) for block in self.blocks for name in block.columns]
        return tuple(each for each in found if each is not None)

    @cached_property
    def long(self) -> tuple[int, ...]:
        """The columns of which there are polynomials."""
        sizes = zip(self.lattices, self.degrees, strict=True)
        return tuple(c for c, (lattice, degree) in enumerate(sizes) if lattice.values.size > degree + 1)

    @cached_property
    def short(self) -> tuple[int, ...]:
        """The columns of which there is an indicator for each lattice point."""
        return tuple(c for c in range(len(self.degrees)) if c not in self.long)

    @property
    def exact(self) -> bool:
        """True if nothing is lost."""
        return not self.long

    def basis(self, c: int, x: Array) -> Array:
        """Return the functions of one column at some of its values, (values, functions)."""
        lattice = self.lattices[c]
        low, high = lattice.values[[0, -1]]
        if c in self.short:
            return np.asarray(np.rint((x - low) / lattice.step)[:, None] == np.arange(lattice.values.size), dtype=float)
        return np.asarray(chebvander((2 * x - low - high) / (high - low), self.degrees[c]))

    @cached_property
    def indices(self) -> NDArray[np.int64]:
        """Which function of each column is in each product, (products, columns): those of long columns run fastest."""
        some = list(itertools.product(*(range(self.lattices[c].values.size) for c in self.short)))
        out = np.empty((len(some), len(self._powers), len(self.degrees)), np.int64)
        out[:, :, list(self.short)] = np.reshape(some, (len(some), 1, len(self.short)))
        out[:, :, list(self.long)] = self._powers
        return out.reshape(-1, len(self.degrees))

    @cached_property
    def _powers(self) -> NDArray[np.int64]:
        """Degrees of the products in each long column, (products, long columns)."""
        degrees = [self.degrees[c] for c in self.long]
        found = list(itertools.product(*(range(q + 1) for q in degrees)))
        every = np.array(found, np.int64).reshape(len(found), len(degrees))
        return np.asarray(every[(every / np.maximum(degrees, 1)).sum(axis=1) <= 1 + 1e-9])

    @cached_property
    def _spread(self) -> Array:
        """Points of the long columns on [-1, 1], (points, long columns)."""
        if len(self.long) < 2:
            q = self.degrees[self.long[0]] if self.long else 0
            return np.asarray(np.cos(np.pi * (np.arange(q, -1, -1.0) + 0.5) / (q + 1))[:, None][:, : len(self.long)])
        from scipy.stats.qmc import Sobol

        rounds = math.ceil(math.log2(TIMES * len(self._powers)))
        return np.asarray(np.cos(np.pi * Sobol(len(self.long), seed=0).random_base2(rounds)))

    @cached_property
    def points(self) -> Array:
        """The points at which functions are evaluated, (points, columns), in the columns' own units."""
        every = list(itertools.product(*(self.lattices[c].values for c in self.short)))
        out = np.empty((len(every), len(self._spread), len(self.degrees)))
        out[:, :, list(self.short)] = np.reshape(every, (len(every), 1, len(self.short)))
        for k, c in enumerate(self.long):
            low, high = self.lattices[c].values[[0, -1]]
            out[:, :, c] = (low + high) / 2 + (high - low) / 2 * self._spread[:, k]
        return out.reshape(-1, len(self.degrees))

    @cached_property
    def _inverse(self) -> Array:
        """P of the long columns: from values at their points to coefficients of their polynomials."""
        matrix = np.ones((len(self._spread), len(self._powers)))
        for k in range(len(self.long)):
            matrix *= chebvander(self._spread[:, k], int(self._powers[:, k].max()))[:, self._powers[:, k]]
        return np.asarray(np.linalg.pinv(matrix), dtype=float)

    def coefficients(self, values: Array) -> Array:
        """Return `P s` of values at the points, (points, k) to (products, k)."""
        apart = values.reshape(-1, len(self._spread), values.shape[-1])
        return np.asarray((self._inverse @ apart).reshape(len(self.indices), -1))

    def spots(self, psi: Array) -> Array:
        """Return `psi P`: from products (n, products) to weights of the points (n, points)."""
        apart = psi.reshape(len(psi), -1, len(self._powers))
        return np.asarray((apart @ self._inverse).reshape(len(psi), self.size))

    def products(self, x: Array) -> Array:
        """Return the basis at records x as they are, (records, columns) to (records, products)."""
        out = np.ones((len(x), len(self.indices)))
        for c, at in enumerate(self.indices.T):
            out *= self.basis(c, x[:, c])[:, at]
        return out

    @cached_property
    def terms(self) -> SeparableTerms:
        """The products."""
        names = [name for block in self.blocks for name in block.columns]
        functions = {name: self.basis(c, self.lattices[c].values) for c, name in enumerate(names)}
        return SeparableTerms(functions, dict(zip(names, self.indices.T, strict=True)))

    def undone(self, released: Array) -> Array:
        """Return psi of every product at released records (columns, n), (n, products); 0 where a value is missing."""
        out, start = np.ones((released.shape[1], len(self.indices))), 0
        for block in self.blocks:
            end = start + len(block.columns)
            block.undo(self.terms, released[start:end], out)
            start = end
        return out

    def weights(self, released: Array) -> Array:
        """Return the weight of every point for released records (columns, n), (n, points)."""
        return self.spots(self.undone(released))
