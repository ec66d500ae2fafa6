"""Counts of people per cell of each column, in whole numbers, which add up alike on every engine."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from versadp.engine import as_engine, is_remote, local_engine
from versadp.errors import DataError
from versadp.release.files.sources import InputFiles
from versadp.release.files.worker import Stretch, stretches
from versadp.release.path.table import read_table
from versadp.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.release.bounds.cells import Cells
    from versadp.release.files.sources import Source
    from versadp.release.path.table import Table

    Counts = NDArray[np.int64]

STRETCH_ROWS = 2**20  # rows that one worker reads at a time


def people_in_cells(table: Table, cells: Mapping[str, Cells]) -> Counts:
    """Return the counts of all columns, one after the other, missing last in each; and the number of rows."""
    return np.concatenate([*(each.count(table.private[name]) for name, each in cells.items()), [table.rows]])


def by_column(counts: Counts, cells: Mapping[str, Cells]) -> dict[str, Counts]:
    """Return the counts of each column, missing last.

    Examples
    --------
    >>> from versadp import Bounded
    >>> from versadp.release.bounds.cells import learnable
    >>> cells = learnable(Schema({"k": Bounded(0, 30, step=1)}))
    >>> {name: len(each) for name, each in by_column(no_people(cells), cells).items()}
    {'k': 32}
    """
    ends = np.cumsum([0, *(each.size + 1 for each in cells.values())])
    return {name: counts[start:stop] for name, start, stop in zip(cells, ends, ends[1:], strict=False)}


def counted(source: Source, schema: Schema, cells: Mapping[str, Cells], engine: str | Engine, rows: int) -> Counts:
    """Return the counts of a source, read once: by the workers that see its files, or here.

    Parameters
    ----------
    source : Source
    schema : Schema
        As declared.
    cells : mapping of str to Cells
    engine : str or Engine
    rows : int
        Records read at a time.
    """
    narrow = _only(schema, cells)
    where = as_engine(engine)
    if is_remote(where) and isinstance(source, InputFiles) and source.has_places:
        asked = stretches(source.counts(), STRETCH_ROWS, {}, empty=False)
        found = where.sum(partial(_in_stretch, source, narrow, cells), asked)
    else:
        batches = (batch for batch, _ in source.batches(rows))
        found = local_engine(where).sum(partial(_in_batch, narrow, cells), batches)
    return no_people(cells) if found is None else found


def _only(schema: Schema, names: Iterable[str]) -> Schema:
    """Return the schema of some columns alone: whether the others fit is seen when they are released."""
    return Schema({name: schema.columns[name] for name in names})


def _in_batch(schema: Schema, cells: Mapping[str, Cells], batch: pa.RecordBatch) -> Counts:
    try:
        table = read_table(pa.Table.from_batches([batch]).select(list(schema.columns)), schema)
    except pa.ArrowException as problem:  # whose words may show values
        raise DataError(f"a column cannot be read ({type(problem).__name__})", hint="convert it first") from None
    return people_in_cells(table, cells)


def _in_stretch(source: InputFiles, schema: Schema, cells: Mapping[str, Cells], stretch: Stretch) -> Counts:
    batches = (batch for where in stretch.rows for batch in source.between(*where))
    return sum((_in_batch(schema, cells, batch) for batch in batches), start=no_people(cells))


def no_people(cells: Mapping[str, Cells]) -> Counts:
    """Return zero counts of all columns."""
    return np.zeros(sum(each.size + 1 for each in cells.values()) + 1, np.int64)
