"""The layout of a table: its columns, the number whose means are wanted, and the blocks that they lie in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.errors import ParameterError
from versadp.fitting.source import numbers_of
from versadp.noise.subset import SubsetBlock, too_many
from versadp.release.path.dates import from_dates
from versadp.schema import Bounded, Dates
from versadp.schema.spacing import LINEAR
from versadp.tabulating.axes import is_measured
from versadp.tabulating.codes import Coding, lattice_coding, public_coding

if TYPE_CHECKING:
    import pyarrow as pa

    from versadp.inputs import Array
    from versadp.noise import Block
    from versadp.noise.lattice import Lattice
    from versadp.release.release import Release
    from versadp.schema import Column
    from versadp.tabulating.axes import Axis

MOST_CELLS = 2500  # functions of a table: their covariance takes 50 MB, and estimates of all margins seconds
MOST_CODES = 2**22  # joint codes that are counted: 32 MB for each sum
THERE, VALUE, SQUARE = "there", "value", "square"


@dataclass(frozen=True)
class Measure:
    """The number whose means per cell are wanted.

    Attributes
    ----------
    name : str
    declared : Column
    centre, width : float
        Of its functions: powers of (x - centre)/width.
    functions : tuple of str
        Of "there" (1 where it is not missing; only where it may be), "value" and "square".
    """

    name: str
    declared: Column
    centre: float
    width: float
    functions: tuple[str, ...]

    def values(self, column: pa.ChunkedArray) -> Array:
        """Return the column as numbers, dates as days, NaN for what is missing."""
        return from_dates(column, self.declared) if isinstance(self.declared, Dates) else numbers_of(column)

    def at(self, values: Array) -> Array:
        """Return the functions of values, (values, functions); 0 where they are missing."""
        x = (values - self.centre) / self.width
        powers = {THERE: np.ones_like(x), VALUE: x, SQUARE: x * x}
        out = np.stack([powers[name] for name in self.functions], axis=1)
        return np.where(np.isnan(x)[:, None], 0.0, out)

    @property
    def can_be_missing(self) -> bool:
        """True if records without a value are left out."""
        return self.functions[0] == THERE


def read_measure(release: Release, name: str, *, spread: bool = False) -> Measure:
    """Return the number of a name, with its square if `spread`; raise if it is none."""
    declared = release.mechanism.released_schema.columns[name]
    if isinstance(declared, Bounded):
        missing = bool(declared.nullable)
        centre, width = (declared.lower + declared.upper) / 2, declared.width
    elif name in release.mechanism.schema.public and is_measured(release, name):
        missing, centre, width = True, *_place(release, name)
    else:
        raise ParameterError(f"{name!r} is no number and has no means", hint="its shares: name it as a column")
    functions = ((THERE,) if missing else ()) + ((VALUE, SQUARE) if spread else (VALUE,))
    return Measure(name, declared, centre, width, functions)


def _place(release: Release, name: str) -> tuple[float, float]:
    """Return mean and spread of the first values of a public number: units in which its sums lose no digits."""
    handles = release.handles()
    seen = numbers_of(release.read(handles[0], [name]).column(name)) if handles else np.empty(0)
    seen = seen[np.isfinite(seen)]
    return (float(seen.mean()), float(seen.std()) or 1.0) if seen.size else (0.0, 1.0)


class Part(NamedTuple):
    """The columns of a table in one block: they share its coin."""

    keep: float
    axes: tuple[int, ...]
    measured: bool  # whether the measure is in the block
    rate: float = 1.0  # share of the records that give all these columns of the table; less than 1 of a random subset


@dataclass(frozen=True, eq=False)
class Layout:
    """Counts of one pass.

    Attributes
    ----------
    axes : tuple of Axis
    measure : Measure, optional
    blocks : dict of str to Block
        The noise of each private column of the table.
    rows : int
        Number of records.
    declared : dict of str to Column
        What the schema says of all columns.
    sharp : bool
        No soft edges.
    """

    axes: tuple[Axis, ...]
    measure: Measure | None
    blocks: dict[str, Block]
    rows: int
    declared: dict[str, Column]
    sharp: bool = False
    _codings: dict[str, Coding] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, release: Release, axes: tuple[Axis, ...], measure: Measure | None, *, sharp: bool = False) -> Layout:
        """Return the layout of a table of a release."""
        names = [axis.name for axis in axes] + ([measure.name] if measure else [])
        home = {name: block for block in release.mechanism.blocks for name in block.columns}
        blocks = {name: home[name] for name in names if name in home}
        return cls(axes, measure, blocks, len(release), dict(release.mechanism.schema.columns), sharp)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each column."""
        return tuple(axis.size for axis in self.axes)

    @property
    def functions(self) -> int:
        """Number of functions of a cell: its indicator, and this times each function of the measure."""
        return 1 + (len(self.measure.functions) if self.measure else 0)

    @property
    def columns(self) -> list[str]:
        """The columns to read: of blocks without lattices all of their columns."""
        names = [axis.name for axis in self.axes] + ([self.measure.name] if self.measure else [])
        more = [name for block in self.signed for name in block.columns]
        return list(dict.fromkeys(names + more))

    @cached_property
    def signed(self) -> tuple[Block, ...]:
        """Blocks with a column of the table that has no lattice: undone by signed points."""
        found = {id(b): b for name, b in self.blocks.items() if self.lattice(name) is None}
        used = set(self.blocks)
        return tuple(block.part(used & set(block.columns)) for block in found.values())

    def lattice(self, name: str) -> Lattice | None:
        """Return the lattice of a private column, None if it has none whose outputs are few enough for codes."""
        found = self.blocks[name].even.lattice(name) if name in self.blocks else None
        if found is None or not found.is_small:
            return None
        return replace(found, spacing=getattr(self.declared[name], "spacing", LINEAR))

    def is_signed(self, name: str) -> bool:
        """Return True if a column lies in a block that is undone by signed points."""
        return any(name in block.columns for block in self.signed)

    def coding(self, axis: Axis) -> Coding:
        """Return the codes of a column that is public or has a lattice."""
        found = self._codings.get(axis.name)
        if found is None:
            lattice = self.lattice(axis.name)
            found = (
                public_coding(axis) if lattice is None else lattice_coding(axis, lattice, self.rows, sharp=self.sharp)
            )
            self._codings[axis.name] = found
        return found

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The blocks of the columns that have codes; all public columns are one, which keeps everything."""
        groups: dict[int, list[int]] = {}
        keep: dict[int, float] = {}
        measured = -1
        for j, axis in enumerate(self.axes):
            if not self.is_signed(axis.name):
                key = self._key(axis.name)
                groups.setdefault(key, []).append(j)
                keep[key] = self._keep(axis.name)
        if self.measure and not self.is_signed(self.measure.name):
            measured = self._key(self.measure.name)
            groups.setdefault(measured, [])
            keep[measured] = self._keep(self.measure.name)
        return tuple(
            Part(keep[key], tuple(at), key == measured, self._rate(at, measured=key == measured))
            for key, at in groups.items()
        )

    def _rate(self, axes: list[int], *, measured: bool) -> float:
        """Return the share of records that give these columns, which are in one block; raise where none gives all."""
        names = [self.axes[j].name for j in axes]
        names += [self.measure.name] if measured and self.measure else []
        block = self.blocks.get(names[0])
        if not isinstance(block, SubsetBlock):
            return 1.0
        if not block.chance(len(names)):
            raise too_many(block, len(names))
        return block.chance(len(axes))

    def _key(self, name: str) -> int:
        return id(self.blocks[name]) if name in self.blocks else 0

    def _keep(self, name: str) -> float:
        lattice = self.lattice(name)
        return 1.0 if lattice is None else lattice.keep

    def is_partial(self, j: int) -> bool:
        """Return True if a private column leaves records out: those without a value, or beyond its edges."""
        axis, declared = self.axes[j], self.axes[j].declared
        if axis.name not in self.blocks:
            return False
        absent = bool(getattr(declared, "nullable", False)) and not axis.missing
        if axis.edges is None or not isinstance(declared, Bounded):
            return absent
        return absent or bool(axis.edges[0] > declared.lower or axis.edges[-1] < declared.upper)

    @cached_property
    def lookup(self) -> tuple[Array, Array] | None:
        """Functions of the measure undone at every output, publicly missing last, and their means over all outputs."""
        if self.measure is None or self.measure.name not in self.blocks or self.is_signed(self.measure.name):
            return None
        lattice = self.lattice(self.measure.name)
        assert lattice is not None
        v = np.append(self.measure.at(lattice.values), np.zeros((1, self.functions - 1)), axis=0)
        g = lattice.undone(v, lattice.even)
        return np.append(g, v[-1:], axis=0), lattice.drawn @ g

    def undone(self, values: Array) -> Array:
        """Return the functions of the measure undone at released values, (values, functions)."""
        assert self.measure is not None
        if self.lookup is None:
            return self.measure.at(values)
        lattice = self.lattice(self.measure.name)
        assert lattice is not None
        return np.asarray(self.lookup[0][lattice.places(values)])

    @property
    def slots(self) -> int:
        """Codes of the measure: publicly missing values have means of their own."""
        block = self.blocks.get(self.measure.name) if self.measure else None
        return (
            2
            if block is not None and getattr(self.measure and self.measure.declared, "nullable", False) == "public"
            else 1
        )

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Codes of each column, and of the measure."""
        return (*(self.coding(axis).size for axis in self.axes), self.slots)

    def check_size(self) -> None:
        """Raise if the table has too many cells, or its noise too many codes to count."""
        cells = int(np.prod(self.shape, dtype=object))
        if cells * self.functions > MOST_CELLS:
            raise ParameterError(
                f"the table has {cells:,} cells, and at most {MOST_CELLS // self.functions:,} are served",
                hint="fewer columns, or wider bins",
            )
        self.check_codes()

    def check_codes(self) -> None:
        """Raise if the noise has too many joint codes to count."""
        if not self.signed and int(np.prod(self.sizes, dtype=object)) * self.functions > MOST_CODES:
            raise ParameterError(
                f"{' x '.join(map(str, self.sizes))} codes of outputs are too many to count",
                hint="fewer bins of the numbers, or fewer columns",
            )
