"""Problems of the first records of a text file: all at once, and without values.

Arrow stops at the first column that it cannot read as the schema says. Here such columns are read as text, one after
the other, and the table is then held against the schema, which names every problem of every column.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

import pyarrow as pa

from versadp.errors import DataError
from versadp.release.files.formats import FORMATS, text_types
from versadp.release.object_store import Stored
from versadp.release.path.table import read_table
from versadp.schema import Dates

if TYPE_CHECKING:
    from versadp.release.files.formats import Place
    from versadp.schema import Schema

LOOKED_AT = 2**17  # records at most; arrow gives those of the first block


def problems_of_text(place: Place, schema: Schema) -> DataError | None:
    """Return what is wrong with the first records of a text file; None if its reader has said all that is known.

    Columns that cannot be read as the schema says are read as text, one after the other, and then held against it.
    """
    types, as_text = text_types(schema), set()
    try:
        while isinstance(table := _first_records(place, types), str):
            if table in as_text or table not in types:
                return None
            as_text.add(table)
            types[table] = pa.string()
    except (pa.ArrowException, DataError, OSError, UnicodeError, csv.Error):
        return None
    if table is None:
        return None
    found = problems_of_table(table.select([name for name in table.column_names if name not in schema.omitted]), schema)
    dates = any(isinstance(schema.columns.get(name), Dates) for name in as_text)
    return found if found is not None and ("\n" in found.message or dates) else None


def problems_of_table(table: pa.Table, schema: Schema) -> DataError | None:
    """Return what is wrong with the first records of a source, or None."""
    try:
        read_table(table, schema)
    except DataError as problem:
        if "\n" not in problem.message:
            return problem
        return DataError(f"{problem.message}\n  among {table.num_rows:,} records looked at", hint=problem.hint)
    except (pa.ArrowException, KeyError):
        pass
    return None


def _first_records(place: Place, types: dict[str, pa.DataType]) -> pa.Table | str | None:
    """Return the first records of a text file, or the name of a column that cannot be read so."""
    try:
        batch, _ = next(FORMATS["CSV"].read(place, LOOKED_AT, types))
    except StopIteration:
        return None
    except pa.ArrowException as problem:
        return unread_column(place, str(problem))
    return pa.Table.from_batches([batch])


def unread_column(path: Place, words: str) -> str | None:
    """Return the name of the column of a text file that could not be read, if arrow's words tell its number."""
    found = re.match(r"In CSV column #(\d+):( Row #\d+:)? CSV conversion error", words)
    if found is None:
        return None
    with path.open() if isinstance(path, Stored) else path.open("rb") as raw:
        file = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="")
        names = next(csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ","))
    return names[int(found[1])] if int(found[1]) < len(names) else None
