"""The kinds of columns, each with all that is declared about it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

from versadp.errors import SchemaError, near

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        Whether values may be missing. With True it is private who is missing: one more value that noise hides, inside
        the column's own guarantee. With "public" it is released as it is, and protected by nothing.

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
            raise SchemaError(
                f"lower ({self.lower:g}) must be below upper ({self.upper:g})", hint="e.g. Bounded(18, 90)"
            )
        if not math.isfinite(self.upper - self.lower) or self.upper - self.lower < 1e-290:
            raise SchemaError(
                "the width upper - lower must be an ordinary number, not overflow or vanish",
                hint="e.g. Bounded(0, 1e6)",
            )
        if self.step is not None:
            step = _number(self.step)
            steps = self.width / step if 0 < step <= self.width else math.inf
            if not steps < math.inf or abs(steps - round(steps)) > 1e-6:
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
            raise SchemaError(
                f"lower ({first}) must be before upper ({last})", hint='e.g. Dates("1990-01-01", "2026-12-31")'
            )
        object.__setattr__(self, "first", first)
        Bounded.__init__(self, 0.0, float((last - first).days), 1.0, nullable)

    def __repr__(self) -> str:
        entry = self.to_dict()
        nullable = f", nullable={self.nullable!r}" if self.nullable else ""
        return f"Dates({entry['lower']!r}, {entry['upper']!r}{nullable})"

    def to_dict(self) -> dict[str, Any]:
        """Return the column as it stands in TOML and in a manifest."""
        last = self.first + timedelta(days=self.upper)
        nullable = {"nullable": self.nullable} if self.nullable else {}
        return {"type": "dates", "lower": str(self.first), "upper": str(last), **nullable}


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
            raise SchemaError(
                "levels must be all text, all whole numbers, or all true/false", hint='e.g. Categorical(["n", "e"])'
            )
        if len(set(levels)) != len(levels):
            raise SchemaError("levels must differ from each other", hint="name each level once")
        if len(levels) < 2:
            raise SchemaError(
                "a category needs at least two levels", hint="name all that it can have; what never varies is Omitted()"
            )
        if kinds == {int} and any(not -(2**63) <= int(level) < 2**63 for level in levels):
            raise SchemaError("whole-number levels must fit into 64 bits", hint="write them as text")
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
    >>> from versadp import Schema
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


def column_from_dict(name: str, entry: dict[str, Any]) -> Column | Omitted:
    """Return the column that an entry of a schema file declares."""
    kind = entry.pop("type", None)
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise SchemaError(f"column {name!r} needs a type", hint=near(kind, _FIELDS))
    make, needed, allowed = _FIELDS[kind]
    if not set(needed) <= set(entry) <= {*needed, *allowed}:
        beside = f" (and perhaps {', '.join(allowed)})" if allowed else ""
        lacks, more = [key for key in needed if key not in entry], sorted(set(entry) - {*needed, *allowed})
        wrong = " and ".join(
            [f"lacks {', '.join(lacks)}"] * bool(lacks) + [f"does not know {', '.join(more)}"] * bool(more)
        )
        raise SchemaError(
            f"column {name!r} of type {kind} {wrong}",
            hint=f"it needs just: {', '.join(needed) or 'nothing more'}{beside}",
        )
    try:
        column: Column | Omitted = make(**entry)
    except SchemaError as problem:
        raise SchemaError(f"column {name!r}: {problem.message}", hint=problem.hint) from None
    return column
