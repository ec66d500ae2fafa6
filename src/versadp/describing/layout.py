"""Layout of a description: which sums are computed of each column of a release.

    number, noisy       corrected moments, and counts of outputs in the bins of its block
    category, noisy     counts of its levels, and of what is missing
    number, public      moments, and a random sample of its values
    other columns       counts of values, if they are few

A number is *loose* if values of it may be missing, or its noise is even in a function of it (`schema/spacing.py`), and
*firm* otherwise. Quantiles are worked out in that function, moments in the column's own units.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from versadp.fitting.source import is_number, numbers_of
from versadp.noise.cases import whole
from versadp.noise.terms import SeparableTerms
from versadp.release.path.dates import from_dates
from versadp.schema import Bounded, Categorical, Dates
from versadp.schema.spacing import LINEAR, from_even, to_even

if TYPE_CHECKING:
    from collections.abc import Collection

    import pyarrow as pa
    from numpy.typing import NDArray

    from versadp.inputs import Array
    from versadp.noise import Block
    from versadp.noise.closed import Products
    from versadp.noise.distribution_function import Bins
    from versadp.release.release import Release
    from versadp.schema import Column
    from versadp.schema.learnt import LearntBounds

MOST_CORRELATED = 50  # numeric columns with correlations: fourth moments take 14 MB, of 200 columns 3 GB


@dataclass(frozen=True, eq=False)
class Layout:
    """The columns of a release by the sums that are computed.

    Attributes
    ----------
    columns : dict of str to Column
        As the schema declares them.
    blocks : dict of str to Block
        The noise of each private column.
    places : dict of str to pair of float
        Centre and unit of the sums of each public number.
    rows : int
        Number of records.
    learnt : LearntBounds, optional
        How bounds inside the declared ones were learnt.
    """

    columns: dict[str, Column]
    blocks: dict[str, Block]
    places: dict[str, tuple[float, float]]
    rows: int
    learnt: LearntBounds | None = None
    _tables: dict[tuple[str, ...], tuple[Block, SeparableTerms]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, release: Release, chosen: Collection[str] | None = None) -> Layout:
        """Return the layout of a release: by its schema, and the types and first values of its public columns."""
        mechanism = release.mechanism
        columns = {name: each for name, each in mechanism.schema.columns.items() if chosen is None or name in chosen}
        blocks = {name: block.even for block in mechanism.blocks for name in block.columns}
        public = [name for name in columns if name not in blocks and is_number(release.types.field(name).type)]
        places = dict.fromkeys(public, (0.0, 1.0))
        if public and len(release):
            first = release.read(release.handles()[0], public)
            places = {name: _place(numbers_of(first.column(name))) for name in public}
        return cls(columns, blocks, places, len(release), mechanism.schema.bounds)

    @property
    def categories(self) -> tuple[str, ...]:
        """The noisy categories."""
        return tuple(name for name, column in self.columns.items() if isinstance(column, Categorical))

    @property
    def noisy(self) -> tuple[str, ...]:
        """The noisy numeric columns."""
        return tuple(name for name, column in self.columns.items() if isinstance(column, Bounded))

    @property
    def public(self) -> tuple[str, ...]:
        """The public numeric columns."""
        return tuple(self.places)

    @property
    def others(self) -> tuple[str, ...]:
        """The public columns that are not numeric."""
        return tuple(name for name in self.columns if name not in self.blocks and name not in self.places)

    @cached_property
    def bins(self) -> dict[str, Bins]:
        """The bins in which outputs of noisy numbers are counted."""
        found = {name: self.blocks[name].bins(name) for name in self.noisy}
        return {name: bins for name, bins in found.items() if bins is not None}

    @property
    def correlated(self) -> bool:
        """True if there are few enough numeric columns for correlations."""
        return len(self.noisy) + len(self.public) <= MOST_CORRELATED

    @cached_property
    def firm(self) -> tuple[str, ...]:
        """Numeric columns without missing values, and with corrected products."""
        return tuple(
            name
            for name in self.columns
            if name in self.places
            or (name in self.noisy and not self.is_loose(name) and self.products(name) is not None)
        )

    @cached_property
    def loose(self) -> tuple[str, ...]:
        """Numeric columns with missing values or a spacing, and with corrected products."""
        return tuple(name for name in self.noisy if self.is_loose(name) and whole(self.alone(name)) is not None)

    @property
    def numbers(self) -> tuple[str, ...]:
        """All numeric columns with moments, in the order of the schema."""
        return tuple(name for name in self.columns if name in {*self.firm, *self.loose})

    def is_loose(self, name: str) -> bool:
        """Return True if values of a noisy number may be missing, or it has a spacing."""
        return name in self.blocks[name].nullable or self.is_spaced(name)

    def is_spaced(self, name: str) -> bool:
        """Return True if the noise of a column is even in a function of it."""
        return getattr(self.columns.get(name), "spacing", LINEAR) != LINEAR

    def tabled(self, *names: str) -> tuple[Block, SeparableTerms]:
        """Return the block of some of its numbers alone, and moments of these as functions of single columns.

        The terms are 1, x and x² of one; 1, x, y, x², y² and xy of two; around the middles of bounds and in widths.
        """
        if names not in self._tables:
            part = self.alone(*names)
            functions = {name: self._powers(part, name) for name in names}
            both = ([0, 1, 2],) if len(names) == 1 else ([0, 1, 0, 2, 0, 1], [0, 0, 1, 0, 2, 1])
            at = {name: np.array(own) for name, own in zip(names, both, strict=True)}
            self._tables[names] = part, SeparableTerms(functions, at)
        return self._tables[names]

    def _powers(self, part: Block, name: str) -> Array:
        """Return the powers of a number at its lattice points, (points, 3)."""
        lattice, column = part.lattice(name), self.columns[name]
        assert lattice is not None
        assert isinstance(column, Bounded)
        centre, unit = self.place(name)
        x = (from_even(column.spacing, lattice.values) - centre) / unit
        return np.stack([np.ones_like(x), x, x * x], axis=1)

    def alone(self, *names: str) -> Block:
        """Return the block of some columns, without its other columns."""
        return self.blocks[names[0]].part(set(names))

    def products(self, name: str) -> Products | None:
        """Return the correction of products of the firm columns of a block, or of this column without correlations."""
        found = whole(self.firm_part(name))
        return None if found is None else found.products()

    def firm_part(self, name: str) -> Block:
        """Return the block of a firm column, without the columns that have no products with it."""
        block = self.blocks[name]
        if not self.correlated:
            return block.part({name})
        return block.part({other for other in block.columns if other in self.noisy and not self.is_loose(other)})

    def place(self, name: str) -> tuple[float, float]:
        """Return centre and unit of the sums of a number."""
        if name in self.places:
            return self.places[name]
        column = self.columns[name]
        assert isinstance(column, Bounded)
        return (column.lower + column.upper) / 2, column.width

    def numbers_in(self, table: pa.Table, name: str) -> Array:
        """Return a numeric column, dates as days, spaced ones in the function that is even, NaN for missing values."""
        declared, column = self.columns[name], table.column(name)
        if isinstance(declared, Dates):
            return from_dates(column, declared)
        return to_even(getattr(declared, "spacing", LINEAR), numbers_of(column))

    def codes_in(self, table: pa.Table, name: str) -> NDArray[np.int64]:
        """Return the indices of the levels of a category; missing comes last."""
        import pyarrow as pa
        import pyarrow.compute as pc

        declared, column = self.columns[name], table.column(name)
        assert isinstance(declared, Categorical)
        codes = pc.index_in(column, value_set=pa.array(list(declared.levels)).cast(column.type))
        return np.asarray(codes.fill_null(len(declared.levels)).to_numpy(), dtype=np.int64)


def _place(values: Array) -> tuple[float, float]:
    return float(values.mean()), float(values.std()) or 1.0


def same_block(layout: Layout, one: str, other: str) -> bool:
    """Return True if two numbers are in one block, and are kept or redrawn together."""
    return one in layout.blocks and layout.blocks[one] is layout.blocks.get(other)
