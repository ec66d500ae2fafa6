"""One part of a release: columns in, a Parquet file out.

Noise does not repeat, so numeric columns get no dictionary. On the grid the low bytes of a number say little, so they
are split into streams of bytes, which halves the time of writing (`docs/decisions/0006-files.md`). Rows are grouped by
`GROUP_ROWS`, so that a reader needs only a little memory; releases from memory and from files are written alike and
have the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from versadp.noise.words import SLAB_ROWS
from versadp.release.direct_io import Writer
from versadp.release.path.table import released_columns
from versadp.schema import Dates

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from versadp.release.direct_io import Contents
    from versadp.release.path.table import Table
    from versadp.schema import Schema

GROUP_ROWS = 16 * SLAB_ROWS
PART_CELLS = 2**23


def part_rows(schema: Schema, most: int) -> int:
    """Return how many rows a part has: whole slabs, and about 64 MiB whatever the number of columns."""
    slabs = PART_CELLS // len(schema.columns) // SLAB_ROWS
    return min(most, max(slabs, 1) * SLAB_ROWS)


def part_name(number: int) -> str:
    """Return the name of a part's file."""
    return f"part-{number:05d}.parquet"


def released_table(table: Table, noised: dict[str, NDArray[np.float64]], schema: Schema) -> pa.Table:
    """Return noised columns and fresh public ones as a table, as it is written."""
    columns = released_columns(noised, table.public, schema)
    return plain_table(pa.table({name: pa.array(column) for name, column in columns.items()}))


def plain_table(table: pa.Table) -> pa.Table:
    """Return a released table as it is written: no metadata, and one kind of text and dates, where readers differ."""
    return pa.table({name: _plain(table[name]) for name in table.column_names})


def _plain(array: Any) -> Any:
    if pa.types.is_timestamp(array.type):  # as pandas has dates
        return array.cast(pa.date32())
    text = pa.types.is_string(array.type) or pa.types.is_string_view(array.type) or pa.types.is_dictionary(array.type)
    return array.cast(pa.large_string()) if text else array


def part_options(schema: Schema) -> dict[str, Any]:
    """Return how parts are encoded: noise split into streams of bytes, the rest, dates too, by dictionaries."""
    split = [name for name in schema.numeric if not isinstance(schema.columns[name], Dates)]
    return {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": [name for name in schema.columns if name not in split],
        "column_encoding": dict.fromkeys(split, "BYTE_STREAM_SPLIT"),
    }


def write_groups(path: Path, groups: Iterable[pa.Table], schema: Schema) -> Contents:
    """Write tables, each a group of rows, to a Parquet file."""
    writer = None
    with Writer(path) as file:
        try:
            for group in groups:
                if writer is None:
                    writer = pq.ParquetWriter(file, group.schema, **part_options(schema))
                writer.write_table(group, row_group_size=GROUP_ROWS)
        finally:
            if writer is not None:
                writer.close()
    return file.contents
