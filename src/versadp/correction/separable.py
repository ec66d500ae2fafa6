"""Least squares whose terms are products of functions of one noisy column each: `y ~ np.log(age):C(region)`.

A product of two such terms is one again, so all that least squares needs of a record are corrected products

    psi[Π_c f_c(x_c)]  =  Π_B ( Π_{c in B} g_c(z_c)/κ_B + (1 - 1/κ_B) Π_{c in B} mean of g_c ),

g_c the function f_c undone on its lattice (`noise/lattice.py`): one coin, one 1/κ inside a block, and a product across
blocks. Public factors multiply what comes out. The score is `psi[m m'] theta - psi[m y]`; nothing is drawn, and nothing
is lost to a lattice that is fine. Where a column of the model is missing every product is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.correction.form import SingleForm
from versadp.correction.model import FormulaModel, finite, levels_at
from versadp.formula.design import PUBLIC
from versadp.formula.terms import product_matrix, split_by_columns
from versadp.noise.terms import SeparableTerms, can_undo
from versadp.schema.spacing import from_even

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from versadp.correction.records import Records
    from versadp.formula.expression import Expression
    from versadp.losses.expansion import Expansion
    from versadp.noise import Block
    from versadp.noise.units import Units

    Array = NDArray[np.float64]

Factors = tuple[str, ...]  # of one column, or of public ones; none is 1


class Apart(NamedTuple):
    """A product taken apart: the factors of each noisy column, and public ones."""

    noisy: Mapping[str, Factors]
    public: Factors

    def times(self, other: Apart) -> Apart:
        """Return the product of two."""
        both = {*self.noisy, *other.noisy}
        noisy = {name: (*self.noisy.get(name, ()), *other.noisy.get(name, ())) for name in both}
        return Apart(noisy, (*self.public, *other.public))

    def of(self, name: str) -> Factors:
        """Return the factors of a column, in an order that does not matter."""
        return tuple(sorted(self.noisy.get(name, ())))


class Seen(NamedTuple):
    """Corrected products of some records, weighted."""

    squares: Array  # (n, pairs): of the design, lower triangle
    cross: Array  # (n, p): of design and response


@dataclass(frozen=True)
class Separable(SingleForm):
    """One member: least squares by corrected products.

    Attributes
    ----------
    model : FormulaModel
    units : Units
    blocks : tuple of Block
        All of whose columns have a lattice.
    terms : tuple of Apart
        The coefficients' terms.
    left : Apart
        The response; a public one has no factors here.
    """

    model: FormulaModel
    units: Units
    blocks: tuple[Block, ...]
    terms: tuple[Apart, ...]
    left: Apart
    names: tuple[str, ...] = ("closed form by column",)

    @property
    def said(self) -> str:
        """The correction and the number of its terms, in words."""
        return f"closed form: {self.points} products of functions of single columns"

    @property
    def points(self) -> int:
        """Numbers that are kept for a record."""
        return len(self.pairs) + self.model.size

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Coefficients whose products are needed."""
        return [(j, k) for j in range(self.model.size) for k in range(j + 1)]

    @cached_property
    def products(self) -> list[Apart]:
        """All products: of two terms, and of each with the response."""
        return [*(self.terms[j].times(self.terms[k]) for j, k in self.pairs), *(t.times(self.left) for t in self.terms)]

    @cached_property
    def product_terms(self) -> SeparableTerms:
        """The products as functions of single columns, at the points of their lattices."""
        functions, at = {}, {}
        for block in self.blocks:
            for name in block.columns:
                lattice = block.lattice(name)
                assert lattice is not None
                used = [product.of(name) for product in self.products]
                keys = tuple(dict.fromkeys(used))
                values = lattice.values
                functions[name] = finite(product_matrix(keys, self._at(name, values), values.size))
                at[name] = np.array([keys.index(each) for each in used])
        return SeparableTerms(functions, at)

    def _at(self, name: str, values: Array) -> dict[str, Any]:
        """Return a column at values of its lattice, a category as its levels."""
        if name not in self.model.design.private:
            j = self.units.names.index(name)
            return {name: from_even(self.units.spacing[j], values) if self.units.spacing else values}
        j, z = self.units.names.index(name), np.zeros((values.size, self.units.dim))
        z[:, j] = (values - self.units.centre[j]) / self.units.unit[j]
        return levels_at(z, self.units, {name: self.model.design.levels[name]})

    def prepare(self, records: Records, rng: np.random.Generator) -> Seen:  # noqa: ARG002 - there is nothing to draw
        """Return corrected products."""
        assert records.released is not None
        size, public = len(self.pairs), list(dict.fromkeys(product.public for product in self.products))
        open_part = finite(records.public_products(public))
        out = np.ascontiguousarray(open_part[:, [public.index(product.public) for product in self.products]])
        if records.response is not None:
            out[:, size:] *= records.response[:, None]
        if records.weight is not None:
            out *= records.weight[:, None]
        by_name = dict(zip(self.units.names, records.released, strict=True))
        for block in self.blocks:
            block.undo(self.product_terms, np.stack([by_name[name] for name in block.columns]), out)
        return Seen(out[:, :size], out[:, size:])

    def weighted_scores(self, seen: Seen, theta: Array, *, hessian: bool) -> tuple[Array, Array]:  # noqa: ARG002 - it is there
        """Return scores (n, p), and the Hessian."""
        size, basis = self.model.size, self.model.basis
        beta = theta if basis is None else basis @ theta
        score, bend, total = -seen.cross, np.zeros((size, size)), seen.squares.sum(axis=0)
        for (j, k), each, whole in zip(self.pairs, seen.squares.T, total, strict=True):
            score[:, j] += beta[k] * each
            bend[j, k] = bend[k, j] = whole
            if j != k:
                score[:, k] += beta[j] * each
        if basis is not None:
            score, bend = score @ basis, basis.T @ bend @ basis
        return score, bend


def as_separable(model: Any, units: Units, blocks: tuple[Block, ...], expansion: Expansion) -> Separable | None:
    """Return least squares by corrected products, if terms and blocks are of that kind."""
    if not isinstance(model, FormulaModel) or units.exact_rate is not None or not expansion.is_squares:
        return None
    if model.design.with_missing or model.coding != (0.0, 1.0) or not can_undo(blocks):
        return None
    names = {name for block in blocks for name in block.columns}
    left = () if model.design.response == PUBLIC else (model.design.left,)
    found = [_apart(term, names) for term in (*model.design.terms.expressions, left)]
    products = tuple(each for each in found if each is not None)
    return Separable(model, units, blocks, products[:-1], products[-1]) if len(products) == len(found) else None


def _apart(term: Sequence[Expression], noisy: set[str]) -> Apart | None:
    """Return a term taken apart, if none of its factors is of a noisy column and of others."""
    found = split_by_columns(term, noisy)
    if found is None or any(len(factor.columns) > 1 for factor in found[0]):
        return None
    by_column: dict[str, Factors] = {}
    for factor in found[0]:
        (name,) = factor.columns
        by_column[name] = (*by_column.get(name, ()), factor.text)
    return Apart(by_column, found[1])
