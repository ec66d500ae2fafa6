"""What the columns of a table are: bounded numbers, dates, categories, public, or not for release at all.

Bounds and levels are declared by the provider and never read off the data, which would leak them. So is whether values
may be missing: who is missing is a fact about people, and private unless it is declared public.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from versadp.errors import SchemaError

Level = str | int | bool
Nullable = bool | Literal["public"]


@dataclass(frozen=True, slots=True)
class Bounded:
    """A private number between two declared bounds.

    Values outside are moved to the nearest bound before noise is added, which is part of what is estimated.

    Parameters
    ----------
    lower, upper : float
    step : float, optional
        What values are: `lower + k * step`, such as whole years. Windows keep to it; Laplace noise, which needs a fine
        grid, does not.
    nullable : bool or "public"
        Whether values may be missing. With True it is private who is missing: one more value that noise hides, at no
        cost beside the column's own. With "public" it is released as it is, and protected by nothing.

    Examples
    --------
    >>> Bounded(18, 90)
    Bounded(lower=18.0, upper=90.0)
    >>> Bounded(18, 90, step=1).steps
    72
    >>> Bounded(0, 5e5, nullable=True)
    Bounded(lower=0.0, upper=500000.0, nullable=True)
    """

    lower: float
    upper: float
    step: float | None = None
    nullable: Nullable = False

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            bound = _number(getattr(self, name))
            if not math.isfinite(bound):
                raise SchemaError(
                    f"the {name} bound must be a finite number",
                    hint="declare what the column can hold, e.g. Bounded(18, 90); bounds are never read off the data",
                )
            object.__setattr__(self, name, bound + 0.0)
        if self.lower >= self.upper:
            raise SchemaError(f"lower ({self.lower:g}) must be below upper ({self.upper:g})")
        if not math.isfinite(self.upper - self.lower) or self.upper - self.lower < 1e-290:
            raise SchemaError("the width upper - lower must be an ordinary number, not overflow or vanish")
        if self.step is not None:
            step = _number(self.step)
            if not 0 < step <= self.width or abs(self.width / step - round(self.width / step)) > 1e-6:
                raise SchemaError("step must divide the width upper - lower", hint="e.g. Bounded(18, 90, step=1)")
            object.__setattr__(self, "step", step)
        _check_nullable(self.nullable)

    def __repr__(self) -> str:
        return _shown(self)

    @property
    def width(self) -> float:
        """Upper minus lower."""
        return self.upper - self.lower

    @property
    def steps(self) -> int | None:
        """How many steps lie between the bounds, if there is a step."""
        return None if self.step is None else round(self.width / self.step)

    def to_dict(self) -> dict[str, Any]:
        """Return the column as it stands in TOML and in a manifest."""
        return {"type": "bounded", **_given(self)}


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Dates(Bounded):
    """A private date between two declared ones, in days.

    It is the number of days since the first one, from 0 on: in formulas, bounds and noise, whose windows are in days.
    It is released as a date again, which may lie outside the bounds as noise does. A time of day is dropped.

    Parameters
    ----------
    lower, upper : str or date
        The first and the last date; text is as in "1990-01-31".
    nullable : bool or "public"
        Whether values may be missing, as for `Bounded`.

    Attributes
    ----------
    first : date
        Day 0.

    Examples
    --------
    >>> born = Dates("1990-01-01", "2026-12-31")
    >>> born, born.upper
    (Dates('1990-01-01', '2026-12-31'), 13513.0)
    """

    first: date = date.min

    def __init__(self, lower: str | date, upper: str | date, *, nullable: Nullable = False) -> None:
        first, last = _date("lower", lower), _date("upper", upper)
        if first >= last:
            raise SchemaError(f"lower ({first}) must be before upper ({last})")
        object.__setattr__(self, "first", first)
        Bounded.__init__(self, 0.0, float((last - first).days), 1.0, nullable)

    def __repr__(self) -> str:
        entry = self.to_dict()
        nullable = f", nullable={self.nullable!r}" if self.nullable else ""
        return f"Dates({entry['lower']!r}, {entry['upper']!r}{nullable})"

    def __reduce__(self) -> tuple[object, ...]:
        return (_dates_from_dict, (self.to_dict(),))

    def to_dict(self) -> dict[str, Any]:
        """Return the column as it stands in TOML and in a manifest."""
        last = self.first + timedelta(days=self.upper)
        nullable = {"nullable": self.nullable} if self.nullable else {}
        return {"type": "dates", "lower": self.first.isoformat(), "upper": last.isoformat(), **nullable}


@dataclass(frozen=True, slots=True)
class Categorical:
    """A private category with declared levels: all text, all whole numbers, or all true/false.

    Parameters
    ----------
    levels : list
    nullable : bool or "public"
        Whether values may be missing, as for `Bounded`: with True missing is one more level. In text that may be
        missing, nothing at all ("") is missing too unless it is a level.

    Examples
    --------
    >>> Categorical(["north", "south"])
    Categorical(levels=('north', 'south'))
    >>> Categorical(["north", "south"], nullable=True).outcomes
    3
    """

    levels: Sequence[Level]
    nullable: Nullable = False

    def __post_init__(self) -> None:
        if isinstance(self.levels, str | bytes) or not isinstance(self.levels, list | tuple):
            raise SchemaError("levels must be a list", hint='e.g. Categorical(["n", "e", "s", "w"])')
        levels = tuple(self.levels)
        kinds = {type(level) for level in levels}
        if len(kinds) != 1 or not kinds <= {str, int, bool}:
            raise SchemaError("levels must be all text, all whole numbers, or all true/false")
        if len(set(levels)) != len(levels):
            raise SchemaError("levels must differ from each other")
        if len(levels) < 2:
            raise SchemaError("a category needs at least two levels")
        if kinds == {int} and any(not -(2**63) <= int(level) < 2**63 for level in levels):
            raise SchemaError("whole-number levels must fit into 64 bits")
        object.__setattr__(self, "levels", levels)
        _check_nullable(self.nullable)

    def __repr__(self) -> str:
        return _shown(self)

    @property
    def outcomes(self) -> int:
        """How many things a value can be that noise must make look alike: the levels, and missing if it is private."""
        return len(self.levels) + (self.nullable is True)

    def to_dict(self) -> dict[str, Any]:
        """Return the column as it stands in TOML and in a manifest."""
        return {"type": "categorical", **_given(self), "levels": list(self.levels)}


@dataclass(frozen=True, slots=True)
class Public:
    """A column that is released as it is and protected by nothing.

    Examples
    --------
    >>> Public()
    Public()
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the column as it stands in TOML and in a manifest."""
        return {"type": "public"}


@dataclass(frozen=True, slots=True)
class Omitted:
    """A column that may be in a table and is not released: nothing depends on what it holds.

    Examples
    --------
    >>> Schema({"age": Bounded(18, 90), "name": Omitted()}).omitted
    ('name',)
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the column as it stands in TOML and in a manifest."""
        return {"type": "omitted"}


Column = Bounded | Categorical | Public
_FIELDS: dict[str, tuple[type[Any], tuple[str, ...], tuple[str, ...]]] = {  # needed, and allowed beside
    "bounded": (Bounded, ("lower", "upper"), ("step", "nullable")),
    "dates": (Dates, ("lower", "upper"), ("nullable",)),
    "categorical": (Categorical, ("levels",), ("nullable",)),
    "public": (Public, (), ()),
    "omitted": (Omitted, (), ()),
}


class Schema:
    """The columns of a table, and the column that identifies people if there is one.

    Parameters
    ----------
    columns : mapping of str to Bounded, Dates, Categorical, Public or Omitted
        In the order in which they are released.
    id : str, optional
        A column that identifies people. It is never released; noise is keyed by it.

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

    __slots__ = ("_columns", "_id", "_omitted")
    _columns: Mapping[str, Column]
    _omitted: tuple[str, ...]
    _id: str | None

    def __init__(self, columns: Mapping[str, Column | Omitted], id: str | None = None) -> None:  # noqa: A002 - public name
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
                raise SchemaError(f"the id column {id!r} cannot be released as a column too")
        released = {name: column for name, column in columns.items() if not isinstance(column, Omitted)}
        object.__setattr__(self, "_columns", MappingProxyType(released))
        object.__setattr__(self, "_omitted", tuple(name for name in columns if name not in released))
        object.__setattr__(self, "_id", id)

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
        return list(self._declared.items()) == list(other._declared.items()) and self._id == other._id

    def __hash__(self) -> int:
        return hash((tuple(self._declared.items()), self._id))

    def __repr__(self) -> str:
        inner = ", ".join(f"{name!r}: {column!r}" for name, column in self._declared.items())
        return f"Schema({{{inner}}}" + (f", id={self._id!r})" if self._id is not None else ")")

    def __reduce__(self) -> tuple[object, ...]:
        return (Schema, (self._declared, self._id))

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries and lists, as they stand in TOML and in a manifest."""
        out: dict[str, Any] = {} if self._id is None else {"id": self._id}
        # a list keeps the order of columns through every JSON reader
        return out | {"columns": [{"name": name, **column.to_dict()} for name, column in self._declared.items()]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schema:
        """Read what `to_dict` wrote, or the same with a table of columns as in TOML."""
        if not isinstance(data, Mapping) or not set(data) <= {"id", "columns"} or "columns" not in data:
            raise SchemaError("a schema has 'columns' and perhaps 'id', nothing else")
        entries = data["columns"]
        if isinstance(entries, Mapping):
            entries = [{"name": name, **_table(name, entry)} for name, entry in entries.items()]
        if not isinstance(entries, list):
            raise SchemaError("'columns' must be a table of columns")
        columns: dict[str, Column | Omitted] = {}
        for entry in entries:
            name = _check_name(_table("?", entry).get("name"))
            if name in columns:
                raise SchemaError(f"column {name!r} is declared twice")
            columns[name] = _column_from_dict(name, {k: v for k, v in entry.items() if k != "name"})
        return cls(columns, id=data.get("id"))

    @classmethod
    def from_toml(cls, path: str | Path) -> Schema:
        """Read a schema file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise SchemaError(f"cannot read the schema file {str(path)!r}: {type(problem).__name__}") from None
        return cls.from_toml_text(text)

    @classmethod
    def from_toml_text(cls, text: str) -> Schema:
        """Read a schema from the text of a schema file."""
        try:
            data = tomllib.loads(text)
        except (ValueError, RecursionError) as problem:  # ValueError also for whole numbers beyond all reason
            raise SchemaError(f"the schema is not valid TOML: {problem}") from None
        return cls.from_dict(data)

    def to_toml(self, path: str | Path | None = None) -> str:
        """Return the text of a schema file, and write it to `path` if one is given."""
        parts = [] if self._id is None else [f"id = {_toml(self._id)}\n"]
        for name, column in self._declared.items():
            lines = [f"{key} = {_toml(value)}" for key, value in column.to_dict().items()]
            parts.append("\n".join([f"[columns.{_toml(name)}]", *lines, ""]))
        text = "\n".join(parts)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text


def _number(value: object) -> float:
    """Return a number as a float, and NaN for whatever is none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _date(name: str, value: object) -> date:
    """Return a date, given as one or as text."""
    hint = 'e.g. Dates("1990-01-01", "2026-12-31"); bounds are never read off the data'
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    if not isinstance(value, date) or isinstance(value, datetime):
        raise SchemaError(f"the {name} bound must be a date", hint=hint)
    return value


def _dates_from_dict(entry: dict[str, Any]) -> Dates:
    return Dates(**{name: value for name, value in entry.items() if name != "type"})


def _check_nullable(value: object) -> None:
    if not isinstance(value, bool) and not (isinstance(value, str) and value == "public"):
        raise SchemaError(
            'nullable must be True, False or "public"',
            hint='True: who is missing is private; "public": it is released as it is',
        )


def _given(column: Bounded | Categorical) -> dict[str, Any]:
    """Return what a column declares, without what is left at its default."""
    values = {field.name: getattr(column, field.name) for field in fields(column)}
    return {name: value for name, value in values.items() if value is not None and value is not False}


def _shown(column: Bounded | Categorical) -> str:
    return f"{type(column).__name__}({', '.join(f'{name}={value!r}' for name, value in _given(column).items())})"


def _check_name(name: object) -> str:
    if not isinstance(name, str) or not name or not name.isprintable():
        raise SchemaError("column names must be non-empty printable text")
    return name


def _table(name: object, entry: object) -> Mapping[str, Any]:
    if not isinstance(entry, Mapping):
        raise SchemaError(f"column {name!r} must be a table with a type")
    return entry


def _column_from_dict(name: str, entry: dict[str, Any]) -> Column | Omitted:
    kind = entry.pop("type", None)
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise SchemaError(f"column {name!r} needs a type", hint=f"one of {', '.join(_FIELDS)}")
    make, needed, allowed = _FIELDS[kind]
    if not set(needed) <= set(entry) <= {*needed, *allowed}:
        beside = f" (and perhaps {', '.join(allowed)})" if allowed else ""
        raise SchemaError(f"column {name!r} of type {kind} needs just: {', '.join(needed) or 'nothing more'}{beside}")
    try:
        column: Column | Omitted = make(**entry)
    except SchemaError as problem:
        raise SchemaError(f"column {name!r}: {problem.message}", hint=problem.hint) from None
    return column


def _toml(value: object) -> str:
    """Write one TOML value; JSON's spelling is TOML's for everything that a schema holds, DEL aside."""
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
