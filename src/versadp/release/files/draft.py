"""The draft of a schema: columns and their types, with everything about their content left to the provider.

Bounds and levels are facts about the world that the provider declares. Read off the data they would be facts about the
data, and would leak: so only names and types are looked at, and whether values are missing; the draft is not valid
until it is filled in. The first lines of a text file are read to tell a header from a record, and dates from text.
"""

from __future__ import annotations

import csv
import io
import json
import re
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from versadp.errors import DataError, ParameterError
from versadp.release.files.formats import opened
from versadp.release.files.headers import header_doubts, is_iso_date
from versadp.release.files.sources import open_source
from versadp.release.object_store import Stored

if TYPE_CHECKING:
    from pathlib import Path

    from versadp.release.files.sources import InputFiles

_IDENTIFIER = re.compile(
    r"id|pid|uid|uuid|guid|ssn|nin|(.*[ _.-])?(id|uuid|ssn)|(patient|person|member|customer)(id|no|number)"
)
_LINES = 1000  # of a text file, read to tell a header from a record

_HEAD = """\
# What the columns are. Fill in every ... below; they are declared, never read off the data, which would leak it.
#   bounded      a private number: lower and upper, what the column can hold
#                whole ones: add step = 1; rounded to tens: step = 10
#                over several powers of ten, as incomes are: spacing = "log1p", and noise is relative to the value
#   dates        a private date: lower = "1990-01-01" and upper, the first and the last that it can be
#   categorical  a private category: all levels that it can have
#   public       released as it is, and protected by nothing
#   omitted      not released at all
# Where values of a private column may be missing, add nullable = true; it is then private who is missing.
# A column that identifies people is never released. Name it here, and remove its entry below:
# id = "..."
# Can one person have several rows? The guarantee is for a row: without an id that question cannot be checked.
# If you release files about other people too, name these; each population has a ledger of its own:
# population = "..."
"""

_HEADLESS = """\
# The file has no header: before `versadp release`, write this line at its top, or better names here and there:
#   {names}
"""


def draft_schema(data: str | Path, *, header: str = "auto") -> str:
    """Return the text of a schema file with the columns of a data file.

    Parameters
    ----------
    data : str or Path
        A Parquet, CSV or Arrow file, or a folder of Parquet files.
    header : {"auto", "yes", "no"}
        Whether the first line of a text file has the names of its columns. "auto" refuses a first line that may be a
        person's record, whose values would become names; "no" names the columns column_1, column_2 and so on.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame({"age": [30.5], "region": ["n"]}).to_parquet(folder + "/people.parquet")
    ...     print(draft_schema(folder + "/people.parquet").partition('population = "..."')[2].strip())
    [columns."age"]
    type = "bounded"
    lower = ...
    upper = ...
    <BLANKLINE>
    [columns."region"]
    type = "categorical"
    levels = ["...", "..."]
    """
    if header not in {"auto", "yes", "no"}:
        raise ParameterError("header must be 'auto', 'yes' or 'no'")
    source = open_source(data)
    columns, missing = source.columns, _with_nulls(source)
    if source.kind in {"CSV", "TSV"}:
        columns, missing = _read_text_columns(source, header)
    elif header == "no":
        raise ParameterError(f"a file of {source.kind} has the names of its columns", hint="leave header out")
    if any(not name.isprintable() or not name or columns.names.count(name) > 1 for name in columns.names):
        raise DataError("a column has no name, an unprintable one, or one that another has too", hint="rename it")
    parts = [_HEAD, *([_HEADLESS.format(names=",".join(columns.names))] if header == "no" else [])]
    parts += [_declared(name, kind, name in missing) for name, kind in zip(columns.names, columns.types, strict=True)]
    return "\n".join(parts)


def _read_text_columns(source: InputFiles, header: str) -> tuple[pa.Schema, set[str]]:
    """Return the columns of a text file by its first lines, and which of them have missing values there."""
    lines, columns = _first_lines(source), source.columns
    if header == "auto":
        _refuse_headless(source, lines)
    types = [_text_kind(kind, lines[1:], at) for at, kind in enumerate(columns.types)]
    names = [f"column_{number}" for number in range(1, len(types) + 1)] if header == "no" else columns.names
    rows = lines if header == "no" else lines[1:]
    missing = {name for at, name in enumerate(names) if any(at < len(row) and not row[at].strip() for row in rows)}
    return pa.schema([pa.field(name, kind) for name, kind in zip(names, types, strict=True)]), missing


def _declared(name: str, kind: pa.DataType, has_missing: bool) -> str:
    """Return the entry of a column, with notes."""
    quoted, note = json.dumps(name, ensure_ascii=False), ""
    if _IDENTIFIER.fullmatch(name.lower()):
        note += f"# named like an identifier of people: if it is one, write id = {quoted} above, and remove this\n"
    if has_missing:
        note += "# has missing values: add nullable = true\n"
    return f"[columns.{quoted}]\n{note}{_entry(kind)}"


def _with_nulls(source: InputFiles) -> set[str]:
    """Return the columns of Parquet files of which the footers say that some values are missing."""
    import pyarrow.parquet as pq

    found: set[str] = set()
    if source.kind != "Parquet":
        return found
    for path in source.files:
        with pq.ParquetFile(opened(path)) as file:
            groups = (file.metadata.row_group(number) for number in range(file.metadata.num_row_groups))
            chunks = (group.column(at) for group in groups for at in range(group.num_columns))
            found |= {each.path_in_schema for each in chunks if each.statistics and each.statistics.null_count}
    return found


def _first_lines(source: InputFiles) -> list[list[str]]:
    """Return the first lines of a text file, cell by cell."""
    (path,) = source.files
    with path.open() if isinstance(path, Stored) else path.open("rb") as raw:
        file = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="")
        lines = csv.reader(file, delimiter="\t" if source.kind == "TSV" else ",")
        try:
            return list(islice((line for line in lines if line), _LINES))
        except csv.Error:
            raise DataError(f"{path.name} cannot be read as {source.kind}", hint="mend its quotes") from None


def _refuse_headless(source: InputFiles, lines: list[list[str]]) -> None:
    """Refuse a text file whose first line may be a person's record: its values would become names of columns."""
    doubts = header_doubts(lines[0], lines[1:]) if lines else None
    if doubts is not None:
        raise DataError(
            f"the first line of {source.files[0].name} may be a person's record and no header: {doubts}",
            hint="without a header give --header no (header='no'), which names the columns column_1, column_2, ...; "
            "if it is a header, rename the columns, or give --header yes (header='yes')",
        )


def _text_kind(kind: pa.DataType, rows: list[list[str]], at: int) -> pa.DataType:
    """Return the type of a column of a text file: text is dates if all of the first lines are, as in 1990-01-31."""
    cells = [row[at] for row in rows if at < len(row) and row[at].strip()]
    return pa.date32() if pa.types.is_string(kind) and cells and all(map(is_iso_date, cells)) else kind


def _entry(kind: pa.DataType) -> str:
    number = pa.types.is_floating(kind) or pa.types.is_integer(kind)
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind)
    if number:
        return 'type = "bounded"\nlower = ...\nupper = ...\n'
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return 'type = "dates"\nlower = "..."\nupper = "..."\n'
    if pa.types.is_boolean(kind):
        return 'type = "categorical"\nlevels = [false, true]\n'
    if text or pa.types.is_string_view(kind):
        return 'type = "categorical"\nlevels = ["...", "..."]\n'
    return f"# {kind} cannot be released: convert it to a number or text first\ntype = ...\n"
