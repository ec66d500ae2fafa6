"""Features of a mechanism's private columns whose totals are released, and their sensitivities.

Column j has a score vector s_j with |s_j| ≤ 1: a number's position in [-1, 1] and, where it may be missing, an
indicator of that in its place; a category's indicators. With D columns in the totals:

    sheet   features                                   squared change by one record   by one attribute
    A       cells of each column                       2 D                            2
    B       s_j ⊗ s_k (j < k), s_j, squares x 1/√2     (D + 1)²                       4 D
    C       cells of each pair of columns              D (D - 1)                      2 (D - 1)

*Sheet B.* With s = (1, s_1, ..., s_D) the squared change is 1/2 |ss' - tt'|² = 1/2 (|s|⁴ + |t|⁴) - (s·t)² ≤ (D + 1)².
If only s_j changes it is |s_j - t_j|² (1 + Σ_k≠j |s_k|²) + 1/2 |s_j s_j' - t_j t_j'|², which with r = |t_j| ≤ |s_j| = 1
is at most (1 + r)² (D + (1 - r)²/2), growing in r: 4 D. A number at opposite ends attains it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.errors import ParameterError
from versadp.noise.terms import SeparableTerms
from versadp.release.totals.nodes import MOST_ONE_WAY, MOST_POINTS, ONE, POSITION, TotalsColumn, fewest_merged
from versadp.schema import Categorical

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from versadp.noise import Block
    from versadp.noise.lattice import Lattice
    from versadp.release.totals.nodes import Function
    from versadp.schema import Column, Schema

SHEETS = ("A", "B", "C")
MOST_FEATURES = 10**6  # totals of one release: some 80 numbers, and half a gigabyte while they are read
Product = tuple[tuple[str, "Function"], ...]  # columns and their functions, in the columns' order


class Feature(NamedTuple):
    """One total.

    Attributes
    ----------
    sheet : {"A", "B", "C"}
    product : tuple of (column, function)
    scale : int
        Whole number that stands for the value 1.
    noise : float
        Standard deviation of its noise over that of a count of its sheet: sqrt(2) for squares.
    """

    sheet: str
    product: Product
    scale: int = 1
    noise: float = 1.0


@dataclass(frozen=True)
class Features:
    """All features of a mechanism's columns, in the order in which their totals stand.

    Attributes
    ----------
    columns : tuple of TotalsColumn
        In the order of the mechanism's blocks.
    left_out : dict of str to str
        Private columns that are in no sheet, and why.

    Examples
    --------
    >>> from versadp import Bounded, Categorical, Mechanism, Schema
    >>> from versadp.noise import Window
    >>> schema = Schema({"k": Bounded(0, 4, step=1), "region": Categorical(["n", "s"])})
    >>> features = features_of(Mechanism(schema, noise={("k", "region"): Window(2.0)}).blocks, schema)
    >>> [features.count(sheet) for sheet in "ABC"], features.terms.size
    ([7, 8, 10], 21)
    """

    columns: tuple[TotalsColumn, ...]
    left_out: dict[str, str]

    @cached_property
    def all(self) -> tuple[Feature, ...]:
        """Every total, sheet after sheet."""
        return tuple(self._each())

    def _each(self) -> Iterator[Feature]:
        pairs = list(combinations(self.columns, 2))
        for column in self.columns:
            yield from (Feature("A", ((column.name, cell),)) for cell in column.cells(column.one_way))
        for column in self.columns:
            yield from (Feature("B", ((column.name, part),), _scale(column, part)) for part in column.parts)
        for column in self.columns:
            yield from (_square(column, part) for part in column.parts)
        for one, other in pairs:
            for part, beside in product(one.parts, other.parts):
                yield Feature("B", ((one.name, part), (other.name, beside)), _scale(one, part) * _scale(other, beside))
        for one, other in pairs:
            for cell, beside in product(one.cells(one.two_way), other.cells(other.two_way)):
                yield Feature("C", ((one.name, cell), (other.name, beside)))

    @property
    def size(self) -> int:
        """Number of totals."""
        return sum(map(self.count, SHEETS))

    def count(self, sheet: str) -> int:
        """Return the number of totals in a sheet; none of them is made for it."""
        one_way = [len(column.cells(column.one_way)) for column in self.columns]
        two_way = [len(column.cells(column.two_way)) for column in self.columns]
        parts = [len(column.parts) for column in self.columns]
        if sheet == "A":
            return sum(one_way)
        return _pairs(two_way) if sheet == "C" else 2 * sum(parts) + _pairs(parts)

    @cached_property
    def products(self) -> tuple[Product, ...]:
        """The distinct features: a count may stand in several sheets."""
        return tuple(dict.fromkeys(feature.product for feature in self.all))

    @cached_property
    def terms(self) -> SeparableTerms:
        """The distinct features as functions of single columns on the lattice points of their blocks."""
        functions, at = {}, {}
        for column in self.columns:
            own = [dict(each).get(column.name, ONE) for each in self.products]
            number = {function: i for i, function in enumerate(dict.fromkeys([ONE, *own]))}
            functions[column.name] = column.table(list(number))
            at[column.name] = np.array([number[function] for function in own], np.int64)
        return SeparableTerms(functions, at)


def _pairs(sizes: list[int]) -> int:
    """Return the number of products of all pairs of sets of these sizes."""
    return (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2


def _scale(column: TotalsColumn, part: Function) -> int:
    return column.scale if part == POSITION else 1


def _square(column: TotalsColumn, part: Function) -> Feature:
    return Feature("B", ((column.name, column.square(part)),), _scale(column, part) ** 2, math.sqrt(2))


def sensitivities(columns: int, unit: str) -> tuple[int, int, int]:
    """Return the squared change of each sheet by one record, or by one of its attributes.

    Examples
    --------
    >>> sensitivities(3, "record"), sensitivities(3, "attribute")
    ((6, 16, 6), (2, 12, 4))
    """
    d = columns
    return (2, 4 * d, 2 * (d - 1)) if unit == "attribute" else (2 * d, (d + 1) ** 2, d * (d - 1))


def features_of(blocks: tuple[Block, ...], schema: Schema, names: Collection[str] | None = None) -> Features:
    """Return the features of the private columns of some blocks: of all that can be in totals, or of those named.

    Learnt bounds change lattices and levels, and may not change which columns are in the totals.
    """
    columns, left_out = [], {}
    for block in blocks:
        for name in block.columns:
            column = schema.columns[name]
            why = _left_out(block, name, column)
            if names is not None and name in names and why:
                raise ParameterError(f"column {name!r} cannot be in the totals: {why}")
            if why or (names is not None and name not in names):
                left_out[name] = why or "the mechanism leaves it out"
                continue
            lattice = block.lattice(name)
            assert lattice is not None
            category = isinstance(column, Categorical)
            stride = 1 if category else fewest_merged(lattice.points, lattice.window) or 1
            columns.append(TotalsColumn(name, lattice.points, lattice.unseen > 0, category, stride))
    if names is not None and set(names) != {column.name for column in columns}:
        raise ParameterError("the totals name a column that the mechanism does not noise")
    return Features(tuple(columns), left_out)


def _left_out(block: Block, name: str, column: Column) -> str:
    """Return why a column is in no sheet; "" if it is in all."""
    if getattr(column, "nullable", False) == "public":
        return "everybody sees where it is missing, and totals are of all people"
    if block.spec.name == "subset":
        return "its records give a random subset of their columns"
    lattice = block.lattice(name)
    if lattice is None:
        return "its noise has no lattice"
    return _too_large(lattice, category=isinstance(column, Categorical))


def _too_large(lattice: Lattice, *, category: bool) -> str:
    """Return why a lattice has no few nodes."""
    if category:
        return f"it has more than {MOST_ONE_WAY} levels" if lattice.points > MOST_ONE_WAY else ""
    if lattice.points > MOST_POINTS:
        return f"its lattice has more than {MOST_POINTS:,} points"
    if fewest_merged(lattice.points, lattice.window) is None:
        return f"its window of {lattice.window:,} has no divisor that leaves 16 to {MOST_ONE_WAY} nodes of its lattice"
    return ""
