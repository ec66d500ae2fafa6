"""Features of totals on the lattices of a mechanism's blocks, and the noise of records in them.

A feature is a product of functions of one or two columns. With kappa the probability to be kept, g a function undone on
its lattice, ḡ its mean over redrawn outputs and q = 1 - 1/kappa, the noise of records that are uniform on the domain is

    N_ab = E Cov(psi_a(Z), psi_b(Z) | X)
         = 1/kappa <g_a g_b>_kept + (1-kappa)/kappa² <g_a g_b>_drawn + q (<a> ḡ_b + ḡ_a <b>) - q² ḡ_a ḡ_b - <a b>

within a block, every bracket a product over columns (`lattice_laws.py`); across blocks, which have coins of their own,
second moments multiply. As an operator, `N_ab = <a, 𝒩 b>`, it takes a function of two columns to functions of these,
times densities D of the other columns of their blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.correction.lattice_laws import LatticeLaw, merged_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from versadp.noise import Block
    from versadp.noise.terms import SeparableTerms

    Array = NDArray[np.float64]
    Numbers = NDArray[np.int64]
    Support = tuple[str, ...]
    Tables = dict[Support, Array]  # per column or pair of columns: (functions, points) or (functions, points, points)


class Operator(NamedTuple):
    """A part of 𝒩 on functions h of one or two columns: `L h R' + Σ c (l'h r) a b' - less h`, times D of other columns.

    Within a block there are two,

        E h = T h/kappa + q d'h - h,        F h = (1-kappa)/kappa² C h + D (q U'h - q² d'h),

    for a pair with T h T', C h C' and products of D, U and d; F is times D of the other columns of the block. Across
    blocks E + F of both multiply.
    """

    times: tuple[str, ...]
    left: Array
    right: Array | None
    outer: tuple[tuple[float, tuple[Array, Array], tuple[Array, Array]], ...]
    less: float = 0.0

    def apply(self, tables: Array) -> Array:
        """Return the operator of tables (K, points) or (K, points, points)."""
        out = tables @ self.left.T if self.right is None else self.left @ tables @ self.right.T
        for c, (one, two), (a, b) in self.outer:
            out += c * np.einsum("j,kjl,l->k", one, tables, two)[:, None, None] * np.outer(a, b)
        return out - tables if self.less else out

    @property
    def adjoint(self) -> Operator:
        """The operator with `sum of (O g) h = sum of g (O* h)`."""
        turned = tuple((c, onto, of) for c, of, onto in self.outer)
        return Operator(self.times, self.left.T, None if self.right is None else self.right.T, turned, self.less)


@dataclass(frozen=True, eq=False)
class Features:
    """Products of functions of one or two columns on the lattices of a mechanism's blocks.

    Attributes
    ----------
    laws : mapping of str to LatticeLaw
    functions : mapping of str to array (points, functions)
    at : mapping of str to array of int (p,)
        Which function of each column stands in each product.
    groups : mapping of tuple of str to array of int
        Numbers of the features of each column, and of each pair.
    blocks : tuple of tuple of str
        The columns of each block.
    keep : tuple of float
        Probability to be kept, per block.
    """

    laws: Mapping[str, LatticeLaw]
    functions: Mapping[str, Array]
    at: Mapping[str, Numbers]
    groups: Mapping[Support, Numbers]
    blocks: tuple[tuple[str, ...], ...]
    keep: tuple[float, ...]

    @classmethod
    def of(cls, blocks: Sequence[Block], terms: SeparableTerms) -> Features | None:
        """Return the features of a mechanism; None where one of their columns has no lattice that can be tabled.

        Examples
        --------
        >>> from versadp import Bounded
        >>> from versadp.noise import Window
        >>> from versadp.noise.terms import SeparableTerms
        >>> block = Window(2.0, cells=4, window=3).on({"a": Bounded(0, 4, step=1), "b": Bounded(0, 4, step=1)})
        >>> x = np.stack([np.ones(5), np.arange(5.0)], axis=1)
        >>> terms = SeparableTerms({"a": x, "b": x}, {"a": np.array([1, 1]), "b": np.array([0, 1])})
        >>> Features.of([block], terms).groups
        {('a',): array([0]), ('a', 'b'): array([1])}
        """
        laws, functions, at, inside, keep = {}, {}, {}, [], []
        for block in blocks:
            own = tuple(name for name in block.columns if name in terms.functions and name in terms.at)
            for name in own:
                lattice = block.lattice(name)
                found = None if lattice is None else merged_for(lattice, terms.functions[name])
                if found is None:
                    return None
                laws[name], functions[name] = found
                at[name] = np.asarray(terms.at[name], np.int64)
            if own:
                inside.append(own)
                keep.append(laws[own[0]].lattice.keep)
        return cls(laws, functions, at, _groups(functions, at, terms.size), tuple(inside), tuple(keep))

    @property
    def size(self) -> int:
        """Number of features."""
        return next((len(at) for at in self.at.values()), 0)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, block by block."""
        return tuple(name for block in self.blocks for name in block)

    @cached_property
    def block_of(self) -> dict[str, int]:
        """Number of the block of each column."""
        return {name: number for number, block in enumerate(self.blocks) for name in block}

    def covariance(self) -> Array:
        """Return N, (p, p)."""
        moment, plain = np.ones((self.size, self.size)), np.ones((self.size, self.size))
        for columns, keep in zip(self.blocks, self.keep, strict=True):
            kept, drawn, alike = (np.ones_like(plain) for _ in range(3))
            mean, out = np.ones(self.size), np.ones(self.size)
            for name in columns:
                law, f, at = self.laws[name], self.functions[name], self.at[name]
                pair = np.ix_(at, at)
                weighted = f * law.uniform[:, None]
                kept *= (weighted.T @ law.kept @ f)[pair]
                drawn *= (weighted.T @ law.drawn @ f)[pair]
                alike *= (weighted.T @ f)[pair]
                mean *= (law.uniform @ f)[at]
                out *= (law.mean @ f)[at]
            q, cross = 1 - 1 / keep, np.outer(mean, out)
            moment *= kept / keep + (1 - keep) / keep**2 * drawn + q * (cross + cross.T) - q**2 * np.outer(out, out)
            plain *= alike
        return np.asarray(moment - plain)

    def tables(self, weights: Array) -> Tables:
        """Return sums of features with weights (K, p), as tables."""
        out: Tables = {}
        for support, own in self.groups.items():
            if not support:
                continue
            sizes = [self.functions[name].shape[1] for name in support]
            share = np.zeros((len(weights), *sizes))
            place: Any = (slice(None), *(self.at[name][own] for name in support))
            np.add.at(share, place, weights[:, own])
            f = [self.functions[name] for name in support]
            out[support] = share @ f[0].T if len(f) == 1 else f[0] @ share @ f[1].T
        return out

    def inner(self, tables: Tables) -> Array:
        """Return sums over the points of tables times each feature, (K, p)."""
        some = next(iter(tables.values()))
        out = np.zeros((len(some), self.size))
        for support, table in tables.items():
            own = self.groups[support]
            f = [self.functions[name] for name in support]
            found = table @ f[0] if len(f) == 1 else f[0].T @ table @ f[1]
            place: Any = (slice(None), *(self.at[name][own] for name in support))
            out[:, own] = found[place]
        return out

    def undone(self, support: Support, table: Array) -> Array:
        """Return what undoes the noise in tables, at every output, (K, outputs) or (K, outputs, outputs)."""
        laws = [self.laws[name] for name in support]
        keeps = [self.keep[self.block_of[name]] for name in support]
        if len(laws) == 2 and self.block_of[support[0]] == self.block_of[support[1]]:
            (one, two), keep = laws, keeps[0]
            middle = np.einsum("j,kjl,l->k", one.mean, table, two.mean)
            found = one.inverse @ table @ two.inverse.T / keep
            return np.asarray(found + ((1 - 1 / keep) * middle)[:, None, None])
        psi = [law.inverse / keep + (1 - 1 / keep) * law.mean for law, keep in zip(laws, keeps, strict=True)]
        return np.asarray(table @ psi[0].T if len(psi) == 1 else psi[0] @ table @ psi[1].T)

    def operators(self, support: Support) -> Iterator[Operator]:
        """Yield the operators whose sum is 𝒩 on functions of one or two columns."""
        blocks = [self.block_of[name] for name in support]
        laws, keeps = [self.laws[name] for name in support], [self.keep[b] for b in blocks]
        others = [tuple(c for c in self.blocks[b] if c not in support) for b in blocks]
        if len(laws) == 2 and blocks[0] == blocks[1]:
            yield from _of_pair(laws, keeps[0], others[0])
            return
        alone = [_of_column(law, keep) for law, keep in zip(laws, keeps, strict=True)]
        if len(laws) == 1:
            yield Operator((), alone[0][0], None, (), less=1.0)
            yield Operator(others[0], alone[0][1], None, ())
            return
        for one, first in zip(alone[0], ((), others[0]), strict=True):
            for two, second in zip(alone[1], ((), others[1]), strict=True):
                yield Operator((*first, *second), one, two, (), less=float(one is alone[0][0] and two is alone[1][0]))


def _groups(functions: Mapping[str, Array], at: Mapping[str, Numbers], size: int) -> dict[Support, Numbers]:
    """Return the features of each column and of each pair: those whose other functions are 1."""
    used = {name: ~(f == 1.0).all(axis=0)[at[name]] for name, f in functions.items()}
    found: dict[Support, list[int]] = {}
    for k in range(size):
        found.setdefault(tuple(name for name in used if used[name][k]), []).append(k)
    return {support: np.array(own) for support, own in found.items()}


def _of_column(law: LatticeLaw, keep: float) -> tuple[Array, Array]:
    """Return E and F of one column, (points, points)."""
    q = 1 - 1 / keep
    free = law.kept / keep + q * np.outer(np.ones(law.size), law.mean)
    far = (1 - keep) / keep**2 * law.drawn + np.outer(law.density, q * law.uniform - q**2 * law.mean)
    return free, far


def _of_pair(laws: list[LatticeLaw], keep: float, others: tuple[str, ...]) -> Iterator[Operator]:
    """Yield E and F of two columns of one block."""
    (one, two), q = laws, 1 - 1 / keep
    ones, density = (np.ones(one.size), np.ones(two.size)), (one.density, two.density)
    mean, uniform = (one.mean, two.mean), (one.uniform, two.uniform)
    yield Operator((), one.kept / keep, two.kept, ((q, mean, ones),), less=1.0)
    rest = ((q, uniform, density), (-(q**2), mean, density))
    yield Operator(others, (1 - keep) / keep**2 * one.drawn, two.drawn, rest)
