"""A schema: the columns of a table, by name and in order; in Python, as plain dictionaries, and as TOML."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from versadp import inputs
from versadp.errors import SchemaError
from versadp.schema.columns import Bounded, Categorical, Column, Dates, Omitted, Public, column_from_dict
from versadp.schema.learnt import LearntBounds
from versadp.schema.reserved import without_reserved

_EXAMPLE = 'e.g. [columns.age], and below it type = "bounded", lower = 18, upper = 90, each on a line of its own'

MAX_SCHEMA = 16 * 2**20
MAX_ROWS_PER_PERSON = 1000  # the guarantee for a person is computed by so many steps, and is worth nothing long before
_POPULATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class Schema:
    """The columns of a table, and the column that identifies people if there is one.

    Parameters
    ----------
    columns : mapping of str to Bounded, Dates, Categorical, Public or Omitted
        In the order in which they are released.
    id : str, optional
        A column that identifies people. It is never released; noise is keyed by it.
    rows_per_person : int
        How many rows one person may have at the most; more than one needs an id. Guarantees, targets and budgets then
        protect the person, with all rows; how many rows somebody has is not protected.
    population : str, optional
        A name for the people of the table: whoever releases files has one ledger for each population. It is not part
        of what is released, and schemas that differ in it are equal.
    bounds : LearntBounds, optional
        How bounds inside the declared ones were learnt; `fit_bounds` fills it in.

    Examples
    --------
    >>> schema = Schema({"age": Bounded(18, 90), "region": Categorical(["n", "s"]), "y": Public()})
    >>> schema.numeric
    ('age',)
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    >>> print(schema.to_toml())
    [columns."age"]
    type = "bounded"
    lower = 18.0
    upper = 90.0
    <BLANKLINE>
    [columns."region"]
    type = "categorical"
    levels = ["n", "s"]
    <BLANKLINE>
    [columns."y"]
    type = "public"
    <BLANKLINE>
    """

    __slots__ = ("_bounds", "_columns", "_id", "_omitted", "_population", "_rows_per_person")
    _columns: Mapping[str, Column]
    _omitted: tuple[str, ...]
    _id: str | None
    _population: str | None
    _rows_per_person: int
    _bounds: LearntBounds | None

    def __init__(
        self,
        columns: Mapping[str, Column | Omitted],
        id: str | None = None,  # noqa: A002 - public name
        *,
        rows_per_person: int = 1,
        population: str | None = None,
        bounds: LearntBounds | None = None,
    ) -> None:
        if not isinstance(columns, Mapping) or all(isinstance(column, Omitted) for column in columns.values()):
            raise SchemaError("a schema needs at least one column", hint='e.g. Schema({"age": Bounded(18, 90)})')
        for name, column in columns.items():
            _check_name(name)
            if not isinstance(column, Bounded | Categorical | Public | Omitted):
                raise SchemaError(
                    f"column {name!r} must be Bounded, Dates, Categorical, Public or Omitted, "
                    f"not {type(column).__name__}",
                    hint="bounds and levels are declared, never guessed from the data",
                )
        if id is not None:
            _check_name(id)
            if id in columns:
                raise SchemaError(
                    f"the id column {id!r} cannot be released as a column too", hint="leave it out of the columns"
                )
        released = {name: column for name, column in columns.items() if not isinstance(column, Omitted)}
        object.__setattr__(self, "_columns", MappingProxyType(released))
        object.__setattr__(self, "_omitted", tuple(name for name in columns if name not in released))
        object.__setattr__(self, "_id", id)
        object.__setattr__(self, "_rows_per_person", _check_rows(rows_per_person, id))
        object.__setattr__(self, "_population", None if population is None else check_population(population))
        object.__setattr__(self, "_bounds", _check_learnt(bounds, released))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Schema cannot be changed; make a new one to set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Schema cannot be changed; make a new one without {name!r}")

    @property
    def columns(self) -> Mapping[str, Column]:
        """The columns that are released, in order, read-only."""
        return self._columns

    @property
    def omitted(self) -> tuple[str, ...]:
        """Names of the columns that a table may have and that are not released."""
        return self._omitted

    @property
    def id(self) -> str | None:
        """Name of the column that identifies people, or None."""
        return self._id

    @property
    def rows_per_person(self) -> int:
        """Largest number of rows per person."""
        return self._rows_per_person

    @property
    def population(self) -> str | None:
        """Name of the population that the people belong to, or None."""
        return self._population

    @property
    def bounds(self) -> LearntBounds | None:
        """Record of how bounds inside the declared ones were learnt, or None if they were not."""
        return self._bounds

    @property
    def numeric(self) -> tuple[str, ...]:
        """Names of the bounded columns, in order."""
        return tuple(name for name, column in self._columns.items() if isinstance(column, Bounded))

    @property
    def categorical(self) -> tuple[str, ...]:
        """Names of the categorical columns, in order."""
        return tuple(name for name, column in self._columns.items() if isinstance(column, Categorical))

    @property
    def private(self) -> tuple[str, ...]:
        """Names of the columns that get noise, in order."""
        return tuple(name for name, column in self._columns.items() if not isinstance(column, Public))

    @property
    def public(self) -> tuple[str, ...]:
        """Names of the public columns, in order."""
        return tuple(name for name, column in self._columns.items() if isinstance(column, Public))

    @property
    def public_patterns(self) -> tuple[str, ...]:
        """Names of the private columns of which everybody sees where they are missing: as good as public columns."""
        return tuple(name for name in self.private if getattr(self._columns[name], "nullable", False) == "public")

    @property
    def _declared(self) -> dict[str, Column | Omitted]:
        return dict(self._columns) | dict.fromkeys(self._omitted, Omitted())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        same = self._id == other._id and self._rows_per_person == other._rows_per_person
        same = same and self._bounds == other._bounds
        return same and list(self._declared.items()) == list(other._declared.items())

    def __hash__(self) -> int:
        return hash((tuple(self._declared.items()), self._id, self._rows_per_person, self._bounds))

    def __repr__(self) -> str:
        inner = ", ".join(f"{name!r}: {column!r}" for name, column in self._declared.items())
        given = "".join(f", {name}={value!r}" for name, value in self._head().items())
        return f"Schema({{{inner}}}{given}{'' if self._bounds is None else f', bounds={self._bounds!r}'})"

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (self._declared, self._id, self._population, self._rows_per_person, self._bounds))

    def _head(self) -> dict[str, Any]:
        """Return what is declared beside columns, without what has its neutral value."""
        head: dict[str, Any] = {} if self._id is None else {"id": self._id}
        return head | ({} if self._rows_per_person == 1 else {"rows_per_person": self._rows_per_person})

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries and lists, as they stand in TOML and in a manifest."""
        # a list keeps the order of columns through every JSON reader
        learnt = {} if self._bounds is None else {"bounds": self._bounds.to_dict()}
        columns = [{"name": name, **column.to_dict()} for name, column in self._declared.items()]
        return self._head() | {"columns": columns} | learnt

    def with_columns(self, columns: Mapping[str, Column], bounds: LearntBounds | None) -> Schema:
        """Return the schema with some columns replaced, and what is said of learnt bounds."""
        return _rebuild(self._declared | dict(columns), self._id, self._population, self._rows_per_person, bounds)

    def as_effective(self) -> Schema:
        """Return the schema with bounds that an earlier release showed in place of the declared ones, as devices read.

        Examples
        --------
        >>> Schema({"income": Bounded(3_000, 98_000, declared=(0, 5e5))}).as_effective()
        Schema({'income': Bounded(lower=3000.0, upper=98000.0)})
        """
        if self._bounds is not None and not self._bounds.is_free:
            raise SchemaError(
                "these bounds were learnt from records, and what that cost stays said", hint="use the schema as it is"
            )
        narrow = {
            name: Bounded(c.lower, c.upper, c.step, c.nullable, spacing=c.spacing)
            if type(c) is Bounded
            else Dates(*c.ends, nullable=c.nullable)
            if isinstance(c, Dates)
            else Categorical(c.levels, c.nullable)
            if isinstance(c, Categorical)
            else c
            for name, c in self._columns.items()
        }
        return self.with_columns(narrow, None)

    def as_declared(self) -> Schema:
        """Return the schema with the declared bounds and levels; what was spent on others stays said.

        Examples
        --------
        >>> Schema({"income": Bounded(3_000, 98_000, declared=(0, 5e5))}).as_declared()
        Schema({'income': Bounded(lower=0.0, upper=500000.0)})
        """
        wide = {name: _widest(column) for name, column in self._columns.items()}
        return self if wide == dict(self._columns) else self.with_columns(wide, self._bounds)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schema:
        """Read what `to_dict` wrote, or the same with a table of columns as in TOML."""
        data = without_reserved(data)
        known = {"id", "rows_per_person", "columns", "bounds"}
        if not isinstance(data, Mapping) or not set(data) <= known or "columns" not in data:
            raise SchemaError(
                "a schema has 'columns' and perhaps 'id', 'rows_per_person' and 'bounds', nothing else", hint=_EXAMPLE
            )
        entries = data["columns"]
        if isinstance(entries, Mapping):
            entries = [{"name": name, **_table(name, entry)} for name, entry in entries.items()]
        if not isinstance(entries, list):
            raise SchemaError("'columns' must be a table of columns", hint=_EXAMPLE)
        columns: dict[str, Column | Omitted] = {}
        for entry in entries:
            name = _check_name(_table("?", entry).get("name"))
            if name in columns:
                raise SchemaError(f"column {name!r} is declared twice", hint="keep one of them")
            columns[name] = column_from_dict(name, {k: v for k, v in entry.items() if k != "name"})
        learnt = None if data.get("bounds") is None else LearntBounds.from_dict(data["bounds"])
        return cls(columns, id=data.get("id"), rows_per_person=data.get("rows_per_person", 1), bounds=learnt)

    @classmethod
    def from_toml(cls, path: str | Path) -> Schema:
        """Read a schema file."""
        try:
            text = inputs.file_bytes(path, MAX_SCHEMA).decode("utf-8")
        except (OSError, ValueError, TypeError) as problem:  # ValueError also for a path with a zero byte
            raise SchemaError(
                f"cannot read the schema file {str(path)!r}: {type(problem).__name__}",
                hint="`versadp schema init DATA --out schema.toml` drafts one",
            ) from None
        return cls.from_toml_text(text)

    @classmethod
    def from_toml_text(cls, text: str) -> Schema:
        """Read a schema from the text of a schema file."""
        if left := _unfilled(text):
            raise SchemaError(
                f"the schema is not filled in yet: {', '.join(left)}",
                hint="put what the column can hold in place of each ..., e.g. lower = 18, levels = ['n', 'e']; it is "
                "declared, never read off the data",
            )
        try:
            data = tomllib.loads(text)
        except (ValueError, RecursionError) as problem:  # ValueError also for whole numbers beyond all reason
            raise SchemaError(f"the schema is not valid TOML: {problem}", hint=_EXAMPLE) from None
        population = data.pop("population", None)  # for whoever releases files; a manifest has none
        schema = cls.from_dict(data)
        rest = schema.id, population, schema.rows_per_person, schema.bounds
        return _rebuild(schema._declared, *rest)  # noqa: SLF001 - of the same class

    def to_toml(self, path: str | Path | None = None) -> str:
        """Return the text of a schema file, and write it to `path` if one is given."""
        head = self._head() | {"population": self._population}
        parts = [f"{key} = {_toml(value)}\n" for key, value in head.items() if value is not None]
        for name, column in self._declared.items():
            lines = [f"{key} = {_toml(value)}" for key, value in column.to_dict().items()]
            parts.append("\n".join([f"[columns.{_toml(name)}]", *lines, ""]))
        if self._bounds is not None:
            parts.append("\n".join(_tables("bounds", self._bounds.to_dict())))
        text = "\n".join(parts)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text


def check_population(name: object) -> str:
    """Return the name of a population if it can be one: it becomes the name of a folder.

    Examples
    --------
    >>> check_population("patients-2026")
    'patients-2026'
    """
    if not isinstance(name, str) or not _POPULATION.fullmatch(name):
        raise SchemaError(
            "a population is named by up to 64 letters, digits, - and _", hint='e.g. population = "patients"'
        )
    return name


def _rebuild(
    columns: Mapping[str, Column | Omitted],
    id_: str | None,
    population: str | None,
    rows: int = 1,
    bounds: LearntBounds | None = None,
) -> Schema:
    return Schema(columns, id_, rows_per_person=rows, population=population, bounds=bounds)


def _check_learnt(bounds: object, columns: Mapping[str, Column]) -> LearntBounds | None:
    """Return what is said of learnt bounds, if it is about private columns of the schema."""
    if bounds is None:
        return None
    if not isinstance(bounds, LearntBounds):
        raise SchemaError("bounds says how bounds were learnt", hint="fit_bounds fills it in")
    for name in {*bounds.levels, *bounds.clipped}:
        if not isinstance(columns.get(name), Bounded | Categorical):
            raise SchemaError(f"bounds of {name!r} cannot have been learnt: it is no private column")
    return bounds


def _widest(column: Column) -> Column:
    """Return a column with its declared bounds or levels."""
    if isinstance(column, Categorical) and column.merged:
        return Categorical(column.declared_levels, column.nullable)
    if not isinstance(column, Bounded) or column.declared is None:
        return column
    if isinstance(column, Dates):
        return Dates(*column.declared, nullable=column.nullable)
    low, high = column.declared
    return replace(column, lower=low, upper=high, declared=None)


def _tables(name: str, entry: Mapping[str, Any]) -> list[str]:
    """Return the lines of a TOML table and of the tables inside it.

    Examples
    --------
    >>> _tables("bounds", {"scale": 92.0, "levels": {"age": 3}})
    ['[bounds]', '"scale" = 92.0', '', '[bounds.levels]', '"age" = 3', '']
    """
    inner = {key: value for key, value in entry.items() if isinstance(value, Mapping)}
    lines = [f"{_toml(key)} = {_toml(value)}" for key, value in entry.items() if key not in inner]
    out = [f"[{name}]", *lines, ""]
    for key, value in inner.items():
        out += _tables(f"{name}.{key}", value)
    return out


def _check_rows(rows: object, id_: str | None) -> int:
    """Return how many rows a person may have, if it is a whole number from 1 on, and people have an id if it is more.

    Examples
    --------
    >>> _check_rows(3, "pid")
    3
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MAX_ROWS_PER_PERSON:
        raise SchemaError(
            f"rows_per_person must be a whole number from 1 to {MAX_ROWS_PER_PERSON:,}",
            hint="it is the most rows that one person may have, e.g. rows_per_person = 3",
        )
    if rows > 1 and id_ is None:
        raise SchemaError(
            f"rows_per_person is {rows}, and no column says which rows are one person's",
            hint='name the column that identifies people: id = "..."',
        )
    return rows


def _unfilled(text: str) -> list[str]:
    r"""Return what is left of a draft to be filled in.

    Examples
    --------
    >>> _unfilled('[columns."age"]\ntype = "bounded"\nlower = ...\nupper = 90')
    ["lower of 'age'"]
    """
    left, column = [], "?"
    for line in text.splitlines():
        if found := re.match(r"\s*\[columns\.(.+)\]\s*$", line):
            column = found[1].strip().strip("\"'")
        elif found := re.match(r"\s*(\w+)\s*=\s*(\[\s*)?[\"']?\.\.\.", line):
            left.append(f"{found[1]} of {column!r}")
    return left


def _check_name(name: object) -> str:
    if not isinstance(name, str) or not name or not name.isprintable():
        raise SchemaError("column names must be non-empty printable text", hint='e.g. "age"')
    return name


def _table(name: object, entry: object) -> Mapping[str, Any]:
    if not isinstance(entry, Mapping):
        raise SchemaError(f"column {name!r} must be a table with a type", hint=_EXAMPLE)
    return entry


def _toml(value: object) -> str:
    """Write one TOML value; JSON's spelling is TOML's for everything that a schema holds, DEL aside."""
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
