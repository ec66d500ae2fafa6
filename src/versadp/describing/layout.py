"""Layout of a description: which sums are computed of each column of a release.

    number, noisy       corrected moments, and counts of outputs in the bins of its block
    category, noisy     counts of its levels, and of what is missing
    number, public      moments, and a random sample of its values
    other columns       counts of values, if they are few

A number is *loose* if values of it may be missing, and *firm* otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from versadp.fitting.source import is_number, numbers_of
from versadp.noise.cases import whole
from versadp.release.path.dates import from_dates
from versadp.schema import Bounded, Categorical, Dates

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

    @classmethod
    def of(cls, release: Release, chosen: Collection[str] | None = None) -> Layout:
        """Return the layout of a release: by its schema, and the types and first values of its public columns."""
        mechanism = release.mechanism
        columns = {name: each for name, each in mechanism.schema.columns.items() if chosen is None or name in chosen}
        blocks = {name: block for block in mechanism.blocks for name in block.columns}
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
            or (name in self.noisy and not self.loose_block(name) and self.products(name) is not None)
        )

    @cached_property
    def loose(self) -> tuple[str, ...]:
        """Numeric columns with missing values, and with corrected products."""
        return tuple(name for name in self.noisy if self.loose_block(name) and whole(self.alone(name)) is not None)

    @property
    def numbers(self) -> tuple[str, ...]:
        """All numeric columns with moments, in the order of the schema."""
        return tuple(name for name in self.columns if name in {*self.firm, *self.loose})

    def loose_block(self, name: str) -> bool:
        """Return True if values of a noisy number may be missing."""
        return name in self.blocks[name].nullable

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
        return block.part({other for other in block.columns if other in self.noisy and other not in block.nullable})

    def place(self, name: str) -> tuple[float, float]:
        """Return centre and unit of the sums of a number."""
        if name in self.places:
            return self.places[name]
        column = self.columns[name]
        assert isinstance(column, Bounded)
        return (column.lower + column.upper) / 2, column.width

    def numbers_in(self, table: pa.Table, name: str) -> Array:
        """Return a numeric column, dates as days, NaN for missing values."""
        declared, column = self.columns[name], table.column(name)
        return from_dates(column, declared) if isinstance(declared, Dates) else numbers_of(column)

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
