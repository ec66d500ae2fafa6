"""Sources of the records of a fit: small handles, each read by the worker that needs it.

A source gives handles that travel cheaply to other threads, processes or machines; whoever works on one reads it, and
reads only the columns that the model uses. A release of moderate size is read once and kept.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.correction.model import finite
from versadp.correction.records import Records
from versadp.engine import Pool, local_engine
from versadp.estimation.moments import KEEPER
from versadp.estimation.sizes import KEPT_NUMBERS
from versadp.release.folder.folder import Folder
from versadp.release.frame import LOT_ROWS  # records that are worked on at a time
from versadp.release.path.dates import from_dates
from versadp.schema.spacing import LINEAR, to_even

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from versadp.correction.calibrated_release import OutputCodes
    from versadp.engine import Engine
    from versadp.formula.design import Design
    from versadp.formula.terms import Terms
    from versadp.noise.units import Units
    from versadp.release.folder.folder import Handle
    from versadp.release.release import Release
    from versadp.schema import Dates

    Array = NDArray[np.float64]

AHEAD = 16  # handles per thread that may be read before an earlier one: all of them are kept


@dataclass(frozen=True)
class Reader:
    """From a table of released records to what a correction sees of them.

    Attributes
    ----------
    units : Units
        The noisy columns, and the units of the fit.
    public : tuple of str
        Numeric public columns that the model needs.
    design : Design, optional
        Of a model with a formula; its public part and its public response are evaluated once.
    open_terms : Terms, optional
        The public terms of a linear design.
    coding : callable, optional
        From a public response to what the loss needs.
    levels : mapping of str to tuple
        Noisy columns that are categories, as the numbers of their levels.
    codes : mapping of str to pair
        Noisy columns that are numbers for the levels of a category: the category, and the numbers.
    raw : bool
        Keep the noisy columns as they were released, too.
    dates : mapping of str to Dates
        The noisy columns that hold dates, which a model sees as days.
    beside : OutputCodes, optional
        Of all columns that totals are about.
    """

    units: Units
    public: tuple[str, ...]
    design: Design | None = None
    open_terms: Terms | None = None
    coding: Callable[[Array], Array] | None = None
    levels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    codes: Mapping[str, tuple[str, tuple[float, ...]]] = field(default_factory=dict)
    raw: bool = False
    dates: Mapping[str, Dates] = field(default_factory=dict)
    beside: OutputCodes | None = None

    @property
    def columns(self) -> list[str]:
        """The columns to read."""
        noisy = (self.codes[name][0] if name in self.codes else name for name in self.units.names)
        return list(dict.fromkeys([*noisy, *self.public, *(() if self.beside is None else self.beside.columns)]))

    def records(self, table: Any, weight: Array | None, space: Array) -> Records:
        """Return records in the units of the fit; noisy columns that stay as they are, in a space (dim, n) for them."""
        noisy = [self._noisy(table, name) for name in self.units.names]
        public = {name: values_of(table.column(name)) for name in self.public}
        rows = table.num_rows
        design = response = None
        if self.open_terms is not None:
            design = self.open_terms.matrix(public or {"": np.zeros(rows)})
        if self.coding is not None:
            assert self.design is not None
            response = self.coding(finite(self.design.response_at(public)))
        codes = None if self.beside is None else self.beside.of(table)
        if not self.raw:
            return Records(self.units.from_columns(noisy, rows), public, design, response, weight, codes=codes)
        for column, into in zip(noisy, space, strict=True):
            into[:] = column
        return Records(partial(_scaled, self.units), public, design, response, weight, space, codes=codes)

    def _noisy(self, table: Any, name: str) -> Array:
        if name in self.dates:
            return from_dates(table.column(name), self.dates[name])
        if name in self.levels:
            return self._codes(table, name)
        if name not in self.codes:
            own = self.units.spacing[self.units.names.index(name)] if self.units.spacing else LINEAR
            return to_even(own, numbers_of(table.column(name)))
        column, values = self.codes[name]
        codes = self._codes(table, column)
        if np.isnan(codes).any():  # not given
            return np.append(values, np.nan)[np.where(np.isnan(codes), len(values), codes).astype(np.int64)]
        return np.array(values)[codes.astype(np.int64)]

    def _codes(self, table: Any, name: str) -> Array:
        """Return the numbers of levels, NaN for what is missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = table.column(name)
        levels = pa.array([level for level in self.levels[name] if level is not None]).cast(column.type)
        return numbers_of(pc.index_in(column, value_set=levels))


class Numbered(NamedTuple):
    """A handle with the number of its first lot, and what belongs to its records beside them."""

    number: int
    handle: Handle
    weights: Array | None = None
    labels: Array | None = None

    @property
    def origin(self) -> tuple[str, int]:
        """The partition of these records, the same in every process."""
        return self.handle.file, self.handle.group

    @property
    def file(self) -> str:
        """Their file."""
        return self.handle.file


class SampleRequest(NamedTuple):
    """Some records of each lot of a handle."""

    item: Any
    chosen: list[NDArray[np.int64]]

    @property
    def origin(self) -> tuple[str, int]:
        """The partition of these records."""
        origin: tuple[str, int] = self.item.origin
        return origin

    @property
    def file(self) -> str:
        """Their file."""
        return str(self.item.file)


@dataclass(frozen=True)
class ReleaseSource:
    """A release, read handle by handle in every pass."""

    release: Release
    reader: Reader
    weights: Array | None = None
    labels: Array | None = None
    _name: str = field(default_factory=lambda: secrets.token_hex(8), repr=False, compare=False)

    @property
    def rows(self) -> int:
        """Number of records."""
        return len(self.release)

    @property
    def travels(self) -> bool:
        """True if handles can be read by other processes: those of a folder can."""
        return self.release.on_disk

    def handles(self) -> list[Numbered]:
        """Return each handle with the number of its first lot of records."""
        numbered, number = [], 0
        for handle in self.release.handles():
            own = slice(handle.first, handle.first + handle.rows)
            beside = [None if each is None else each[own] for each in (self.weights, self.labels)]
            numbered.append(Numbered(number, handle, *beside))
            number += -(-handle.rows // LOT_ROWS)
        return numbered

    def read(self, item: Numbered, space: Array | None = None) -> Iterator[tuple[int, Records]]:
        """Yield the records of a handle, lot by lot, each with its number; their noisy columns may have a space."""
        if (kept := KEEPER.pop(self._name, item.number)) is not None:
            yield from kept
            return
        table = self.release.read(item.handle, self.reader.columns)
        space = self._space(item.handle.rows) if space is None else space
        for k, start in enumerate(range(0, item.handle.rows, LOT_ROWS)):
            some, own = table.slice(start, LOT_ROWS).combine_chunks(), slice(start, start + LOT_ROWS)
            lot = space[own].reshape(space.shape[1], some.num_rows)
            records = self.reader.records(some, None if item.weights is None else item.weights[own], lot)
            records = replace(records, before=item.handle.first + start)
            yield item.number + k, records if item.labels is None else replace(records, label=item.labels[own])

    def __getstate__(self) -> dict[str, Any]:
        """Travel without what belongs to each record: handles carry their own."""
        return self.__dict__ | {"weights": None, "labels": None}

    def labelled(self, labels: Array) -> ReleaseSource:
        """Return the same records, each with a label."""
        return replace(self, labels=labels, _name=secrets.token_hex(8))

    def kept(self, engine: Engine) -> MemorySource | ReleaseSource:
        """Return the same records in memory, if they are not too many; an engine reads them."""
        if self.rows * len(self.reader.columns) > KEPT_NUMBERS:
            return self
        # for all at once: systems give much memory in large pages, and so in a fraction of the time
        space, (ahead, check) = self._space(self.rows), _ahead(self.release)
        runner = local_engine(engine)
        if isinstance(runner, Pool):  # while one thread takes the digest of a part, others go on; what waits is kept
            runner = replace(runner, ahead=AHEAD)
        try:
            lots = replace(self, release=ahead)._lots  # noqa: SLF001 - the same source, read sooner
            read = runner.map(partial(lots, space), self.handles())
            found = MemorySource(tuple(lot for several in read for lot in several))
        except Exception:
            check()  # what is wrong with them may be that they are others
            raise
        check()  # nobody has seen them before
        return found

    def _lots(self, space: Array, item: Numbered) -> list[Records]:
        """Return the records of a handle, lot by lot, in their part of a space for all records."""
        own = space[item.handle.first : item.handle.first + item.handle.rows]
        return [records for _, records in self.read(item, own)]

    def _space(self, rows: int) -> Array:
        """Return where the noisy columns of some records may be written; what is not written takes no memory."""
        return np.empty((rows, self.reader.units.dim))

    def sizes(self, item: Numbered) -> list[int]:
        """Return how many records the lots of a handle have, without reading them."""
        rows = item.handle.rows
        return [min(LOT_ROWS, rows - start) for start in range(0, rows, LOT_ROWS)]

    def take(self, asked: SampleRequest) -> list[Records]:
        """Return some records of each lot of a handle."""
        return [lot.take(some) for (_, lot), some in zip(self.read(asked.item), asked.chosen, strict=True)]

    def take_and_keep(self, asked: SampleRequest) -> list[Records]:
        """Return some records of each lot of a handle, and keep all of them for the next pass of this process."""
        lots = list(self.read(asked.item))
        KEEPER.keep(self._name, asked.item.number, lots, asked.item.handle.rows * (len(self.reader.columns) + 2))
        return [lot.take(some) for (_, lot), some in zip(lots, asked.chosen, strict=True)]


@dataclass(frozen=True)
class MemorySource:
    """Records that are in memory."""

    lots: tuple[Records, ...]

    @property
    def rows(self) -> int:
        """Number of records."""
        return sum(lot.rows for lot in self.lots)

    @property
    def travels(self) -> bool:
        """True if handles can be read by other processes: those of records in memory cannot."""
        return False

    def handles(self) -> list[int]:
        """Return the numbers of the lots."""
        return list(range(len(self.lots)))

    def read(self, item: int) -> Iterator[tuple[int, Records]]:
        """Yield one lot of records."""
        yield item, self.lots[item]

    def sizes(self, item: int) -> list[int]:
        """Return how many records a lot has."""
        return [self.lots[item].rows]

    def take(self, asked: SampleRequest) -> list[Records]:
        """Return some records of a lot."""
        return [self.lots[asked.item].take(asked.chosen[0])]

    take_and_keep = take

    def kept(self, engine: Engine) -> MemorySource:  # noqa: ARG002 - nothing is left to read
        """Return the same."""
        return self

    def labelled(self, labels: Array) -> MemorySource:
        """Return the same records, each with a label."""
        ends = np.cumsum([lot.rows for lot in self.lots])[:-1]
        parts = zip(self.lots, np.split(labels, ends), strict=True)
        return MemorySource(tuple(replace(lot, label=own) for lot, own in parts))


def _ahead(release: Release) -> tuple[Release, Callable[[], None]]:
    """Return the same release, whose parts may be read while their digests are taken, and what checks them all."""
    source = release._source  # noqa: SLF001 - where its records are
    if not isinstance(source, Folder):
        return release, lambda: None
    parts = replace(source, ahead=True)
    return release.with_source(parts), parts.check


def _scaled(units: Units, released: Array) -> Array:
    """Return columns in the units of the fit; what is missing, of which blocks know, lies in the middle."""
    known = [np.where(np.isnan(x), m, x) for x, m in zip(released, units.middle, strict=True)]
    return units.from_columns(known, released.shape[1])


def numbers_of(column: pa.Array | pa.ChunkedArray) -> Array:
    """Return a column of numbers, or of true and false, as floats; one that is whole is not copied."""
    chunks = getattr(column, "chunks", [column])
    whole = chunks[0] if len(chunks) == 1 else column.combine_chunks()
    return np.asarray(whole.to_numpy(zero_copy_only=False), dtype=float)


def values_of(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return a public column: numbers as floats, text as it is."""
    return numbers_of(column) if is_number(column.type) else np.asarray(column.to_pylist(), dtype=object)


def is_number(kind: pa.DataType) -> bool:
    """Return True if a column holds numbers, or true and false."""
    import pyarrow.types as pt

    return bool(pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind))


def public_numbers(release: Release) -> list[str]:
    """Return the public columns that hold numbers or true/false."""
    return [name for name in release.mechanism.schema.public if is_number(release.types.field(name).type)]
