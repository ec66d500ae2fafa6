"""The draft of a schema: columns and their types, with everything about their content left to the provider.

Bounds and levels are facts about the world that the provider declares. Read off the data they would be facts about the
data, and would leak: so only names and types are looked at, and the draft is not valid until it is filled in.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa

from versadp.errors import DataError
from versadp.release.files.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = """\
# What the columns are. Fill in every ... below; they are declared, never read off the data, which would leak it.
#   bounded      a private number: lower and upper, what the column can hold
#                whole ones: add step = 1; rounded to tens: step = 10
#   dates        a private date: lower = "1990-01-01" and upper, the first and the last that it can be
#   categorical  a private category: all levels that it can have
#   public       released as it is, and protected by nothing
#   omitted      not released at all
# Where values of a private column may be missing, add nullable = true; it is then private who is missing.
# A column that identifies people is never released. Name it here, and remove its entry below:
# id = "..."
# If you release files about other people too, name these; each population has a ledger of its own:
# population = "..."
"""


def draft_schema(data: str | Path) -> str:
    """Return the text of a schema file with the columns of a data file.

    Parameters
    ----------
    data : str or Path
        A Parquet, CSV or Arrow file, or a folder of Parquet files.

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
    columns = open_source(data).columns
    parts = [_HEAD]
    for name, kind in zip(columns.names, columns.types, strict=True):
        if not name.isprintable() or not name or columns.names.count(name) > 1:
            raise DataError("a column has no name, an unprintable one, or one that another has too", hint="rename it")
        parts.append(f"[columns.{json.dumps(name, ensure_ascii=False)}]\n{_entry(kind)}")
    return "\n".join(parts)


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
