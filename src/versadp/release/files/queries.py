"""A database query as the input of a release: streamed in batches, never loaded whole.

    SELECT * FROM (query) ORDER BY id        or, without an id, by all columns

A release that was interrupted reads its input again and holds it against what the ledger knows, so rows must come in
the same order each time, and a database promises none. Ordered by an id they do; ordered by all columns, rows that
could stand in either order are the same. Such an order tells what is in the records: it is never kept in the release.

DuckDB runs here, on a file of its own or on Parquet and CSV files that a query names; PostgreSQL is reached through
ADBC. What a database says when something goes wrong may show values, or a password, and is not repeated.

DuckDB sorts on the disk what does not fit into memory. These are raw values: they go into the state folder and nowhere
else (`release/spill.py`), and without a state folder a query has to fit into memory.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from versadp import inputs
from versadp.errors import DataError, ParameterError, VersadpError
from versadp.release.files.formats import text_types
from versadp.release.ledger.state import prepare
from versadp.release.spill import spill_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from versadp.schema import Schema

BATCH_ROWS = 2**17
MEMORY = "512MB"  # that DuckDB may use: it sorts on the disk beyond
SERVERS = ("postgresql://", "postgres://")
_INSTALL = 'install what it needs: pip install "versadp[sql]"'


@dataclass(frozen=True)
class Query:
    """Records that a database is asked for; made by `sql`.

    Attributes
    ----------
    text : str
    database : str
        It may hold a password, and is not shown.
    """

    text: str
    database: str = field(default=":memory:", repr=False)


def sql(query: str, database: str | Path = ":memory:") -> Query:
    """Ask a database for the records of a release.

    Parameters
    ----------
    query : str
        One SELECT, without an order of its own: rows are ordered by the id of the schema, or by all columns.
    database : str or Path
        A DuckDB file; by default none, for queries that name files, `SELECT * FROM 'people/*.parquet'`; or the address
        of a PostgreSQL server, `postgresql://user@host/name`.

    Returns
    -------
    Query
        In place of a file: `vdp.release_file(vdp.sql(...), "released", mechanism)`.

    Examples
    --------
    >>> import versadp as vdp
    >>> vdp.sql("SELECT age, income FROM people", "postgresql://me:secret@127.0.0.1/survey")
    Query(text='SELECT age, income FROM people')
    """
    if not isinstance(query, str) or not query.strip().rstrip(";").strip():
        raise ParameterError("a query is text", hint='e.g. vdp.sql("SELECT age FROM people", "people.duckdb")')
    place = database if isinstance(database, str) else str(inputs.path(database, "a DuckDB file"))
    if "://" in place and not place.startswith(SERVERS):
        raise ParameterError(
            "databases are DuckDB files and PostgreSQL servers",
            hint="give a path, or postgresql://user@host/name; others can write Parquet files",
        )
    return Query(query.strip().rstrip(";").strip(), place)


@dataclass(frozen=True)
class Rows:
    """Rows of a query, as a source of a release; made by `open_query`."""

    query: Query
    columns: pa.Schema
    rows: int | None
    _order: str
    _omitted: tuple[str, ...]
    _home: Path | None = None

    def batches(self, rows: int = BATCH_ROWS) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Yield the records in batches of at most `rows`, each with the share of the whole that is then read."""
        done = 0
        with _Asking():
            for batch in _asked(self.query, _select("*", self.query, self._order), rows, self._home):
                for start in range(0, batch.num_rows, rows):
                    own = _cast(batch.slice(start, rows), self.columns)
                    done += own.num_rows
                    yield own, done / max(self.rows or done, 1)
        if done != self.rows:
            raise DataError(
                f"the query gave {done} records, and {self.rows} when they were counted",
                hint="release what stands still",
            )


def open_query(query: Query, schema: Schema | None = None, home: Path | None = None) -> Rows:
    """Ask a query for its columns and for how many rows it has, and for none of them.

    Parameters
    ----------
    query : Query
    schema : Schema, optional
    home : Path, optional
        The state folder, where DuckDB may sort on the disk; made if it is not there. By default nothing is written.
    """
    with _Asking():
        plain = next(_asked(query, _select("*", query, "LIMIT 0"), 1, home)).schema
        counted = next(_asked(query, _select("count(*) AS n", query), 1, home))
    names = plain.names
    if len(set(names)) != len(names):
        raise DataError("the query gives two columns of one name", hint="name them: SELECT a.x AS x, b.x AS other")
    omitted = () if schema is None else schema.omitted
    kept = [each for each in plain if each.name not in omitted]
    types = {} if schema is None else text_types(schema)
    columns = pa.schema([pa.field(each.name, _type(each.type, types.get(each.name))) for each in kept])
    own = None if schema is None else schema.id
    by = [own] if own is not None and own in names else columns.names
    order = "ORDER BY " + ", ".join('"' + name.replace('"', '""') + '"' for name in by)
    return Rows(query, columns, int(counted.column(0)[0].as_py()), order, omitted, home)


def _select(what: str, query: Query, how: str = "") -> str:
    """Return a query around a provider's own: what stands in brackets cannot be a second statement."""
    return f"SELECT {what} FROM ({query.text}) AS versadp_rows {how}"  # noqa: S608 - who asks owns the data


def _type(given: pa.DataType, wanted: pa.DataType | None) -> pa.DataType:
    """Return as what a column is read: decimals, which come as such or as text, are numbers; dates have no hours."""
    storage = given.storage_type if isinstance(given, pa.BaseExtensionType) else given
    decimal = pa.types.is_decimal(storage) or "numeric" in str(getattr(given, "type_name", "")).lower()
    if wanted is not None and pa.types.is_floating(wanted) and (decimal or pa.types.is_string(storage)):
        return pa.float64()
    if wanted is not None and pa.types.is_date(wanted) and pa.types.is_temporal(storage):
        return wanted
    return pa.float64() if decimal and wanted is None else storage


def _cast(batch: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    """Return the columns that are released, each of its type."""
    out = []
    for each in columns:
        values = batch.column(each.name)
        plain = values.storage if isinstance(values, pa.ExtensionArray) else values
        out.append(plain if plain.type == each.type else pc.cast(plain, each.type))
    return pa.RecordBatch.from_arrays(out, schema=columns)


def _asked(query: Query, text: str, rows: int, home: Path | None) -> Iterator[pa.RecordBatch]:
    """Yield what a database answers; a first batch without rows tells the columns where there are none."""
    if query.database.startswith(SERVERS):
        yield from _postgresql(query.database, text)
    elif home is None:
        yield from _duckdb(query.database, text, rows, "")
    else:
        prepare(home, make=True)
        with spill_folder(home) as scratch:
            yield from _duckdb(query.database, text, rows, str(scratch))


def _duckdb(database: str, text: str, rows: int, scratch: str) -> Iterator[pa.RecordBatch]:
    """Yield what DuckDB answers; it sorts on the disk in the folder `scratch`, or not at all if that is empty."""
    try:
        import duckdb
    except ImportError:
        raise ParameterError("DuckDB is not installed", hint=_INSTALL) from None
    if database != ":memory:" and not Path(database).is_file():
        raise DataError(f"there is no database {Path(database).name!r}", hint="give a DuckDB file")
    settings: dict[str, Any] = {"temp_directory": scratch, "memory_limit": MEMORY}
    with closing(duckdb.connect(database, read_only=database != ":memory:", config=settings)) as connection:
        yield from _batches(connection.sql(text).to_arrow_reader(rows))


def _postgresql(database: str, text: str) -> Iterator[pa.RecordBatch]:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise ParameterError("the driver of PostgreSQL is not installed", hint=_INSTALL) from None
    with dbapi.connect(database) as connection, connection.cursor() as cursor:
        cursor.execute(text)
        yield from _batches(cursor.fetch_record_batch())


def _batches(reader: Any) -> Iterator[pa.RecordBatch]:
    none = True
    for batch in reader:
        none = False
        yield batch
    if none:
        yield pa.RecordBatch.from_pylist([], schema=reader.schema)


class _Asking:
    """Turns what a database says into our error, without its words: they may show a value, or a password."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, Exception) and not isinstance(problem, VersadpError):
            raise DataError(
                f"the database did not answer the query ({type(problem).__name__})",
                hint="try the query by itself: it must be one SELECT whose columns have names and fit the schema",
            ) from None
