"""The kinds of columns, each with all that is declared about it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

from versadp.errors import SchemaError, near
from versadp.schema.spacing import LINEAR, check_spacing, even_number

if TYPE_CHECKING:
    from collections.abc import Sequence

OTHER = "other"  # what rare levels are released as once they are merged
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
    declared : tuple of float, optional
        The wider bounds that people promised, where `lower` and `upper` were learnt inside them (`fit_bounds`).
    spacing : str
        "log1p": noise is added to `log(1 + x)`, so that it is relative to values that are spread over several powers
        of ten, as incomes are. What is released, and what formulas name, is x as ever (`docs/guides/spacing.md`).

    Examples
    --------
    >>> Bounded(18, 90)
    Bounded(lower=18.0, upper=90.0)
    >>> Bounded(18, 90, step=1).steps
    72
    >>> Bounded(0, 5e5, nullable=True)
    Bounded(lower=0.0, upper=500000.0, nullable=True)
    >>> Bounded(3_000, 98_000, declared=(0, 5e5)).to_dict()
    {'type': 'bounded', 'lower': 0.0, 'upper': 500000.0, 'effective': [3000.0, 98000.0]}
    >>> Bounded(0, 5e5, spacing="log1p").even_bounds
    (0.0, 13.122365377402328)
    """

    lower: float
    upper: float
    step: float | None = None
    nullable: Nullable = False
    declared: Any = None
    spacing: str = LINEAR

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
        check_spacing(self.spacing, step=self.step is not None)
        if self.declared is not None:
            self._check_declared()

    def _check_declared(self) -> None:
        """Hold the declared bounds to be bounds, around the effective ones, which lie on the same steps."""
        hint = "effective bounds lie inside the declared ones, on the same steps"
        if not isinstance(self.declared, tuple | list) or len(self.declared) != 2:
            raise SchemaError("declared must be a pair: lower and upper", hint=hint)
        outer = Bounded(self.declared[0], self.declared[1], self.step)
        offset = 0.0 if self.step is None else (self.lower - outer.lower) / self.step
        if not outer.lower <= self.lower < self.upper <= outer.upper or abs(offset - round(offset)) > 1e-6:
            raise SchemaError("the declared bounds do not hold the effective ones", hint=hint)
        pair = (outer.lower, outer.upper)
        object.__setattr__(self, "declared", None if pair == (self.lower, self.upper) else pair)

    def __repr__(self) -> str:
        return _shown(self)

    @property
    def width(self) -> float:
        """Upper minus lower."""
        return self.upper - self.lower

    @property
    def even_bounds(self) -> tuple[float, float]:
        """The bounds on the scale on which noise is even (`spacing.py`)."""
        return even_number(self.spacing, self.lower), even_number(self.spacing, self.upper)

    @property
    def even(self) -> Bounded:
        """The column on the scale on which noise is even: itself, without a spacing."""
        low, high = self.even_bounds
        return self if self.spacing == LINEAR else Bounded(low, high, nullable=self.nullable)

    @property
    def steps(self) -> int | None:
        """Number of steps between the bounds, if there is a step."""
        return None if self.step is None else round(self.width / self.step)

    def to_dict(self) -> dict[str, Any]:
        """Return the column as it stands in TOML and in a manifest."""
        entry = {"type": "bounded", **_given(self)}
        pair = entry.pop("declared", None)
        if pair is not None:
            entry |= {"lower": pair[0], "upper": pair[1], "effective": [self.lower, self.upper]}
        return entry


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
    declared : tuple of str or date, optional
        The wider bounds that people promised, as for `Bounded`.

    Attributes
    ----------
    first : date
        Day 0, the lower one.

    Examples
    --------
    >>> born = Dates("1990-01-01", "2026-12-31")
    >>> born, born.upper
    (Dates('1990-01-01', '2026-12-31'), 13513.0)
    """

    first: date = date.min

    def __init__(
        self, lower: str | date, upper: str | date, *, nullable: Nullable = False, declared: Any = None
    ) -> None:
        first, last = _date("lower", lower), _date("upper", upper)
        if first >= last:
            raise SchemaError(
                f"lower ({first}) must be before upper ({last})", hint='e.g. Dates("1990-01-01", "2026-12-31")'
            )
        object.__setattr__(self, "first", first)
        Bounded.__init__(self, 0.0, float((last - first).days), 1.0, nullable)
        if declared is not None:
            self._check_declared_dates(declared, first, last)

    def _check_declared_dates(self, declared: Any, first: date, last: date) -> None:
        """Hold the declared dates to be bounds around the effective ones."""
        if not isinstance(declared, tuple | list) or len(declared) != 2:
            raise SchemaError("declared must be a pair: the first and the last date")
        low, high = _date("lower", declared[0]), _date("upper", declared[1])
        if not low <= first < last <= high:
            raise SchemaError(
                "the declared bounds do not hold the effective ones", hint="effective bounds lie inside the declared"
            )
        object.__setattr__(self, "declared", None if (low, high) == (first, last) else (str(low), str(high)))

    def __repr__(self) -> str:
        lower, upper = self.ends
        nullable = f", nullable={self.nullable!r}" if self.nullable else ""
        declared = f", declared={self.declared!r}" if self.declared else ""
        return f"Dates({lower!r}, {upper!r}{nullable}{declared})"

    @property
    def ends(self) -> tuple[str, str]:
        """The first and the last date."""
        return str(self.first), str(self.first + timedelta(days=self.upper))

    def to_dict(self) -> dict[str, Any]:
        """Return the column as it stands in TOML and in a manifest."""
        lower, upper = self.declared or self.ends
        nullable = {"nullable": self.nullable} if self.nullable else {}
        effective = {"effective": list(self.ends)} if self.declared else {}
        return {"type": "dates", "lower": lower, "upper": upper, **nullable, **effective}


@dataclass(frozen=True, slots=True)
class Categorical:
    """A private category with declared levels: all text, all whole numbers, or all true/false.

    Parameters
    ----------
    levels : list
    nullable : bool or "public"
        Whether values may be missing, as for `Bounded`: with True missing is one more level. In text that may be
        missing, nothing at all ("") is missing too unless it is a level.
    merged : list, optional
        Declared levels that are released as one, the last of `levels` (`fit_bounds`): of text as "other", and if that
        was declared itself, it is one of them; of whole numbers as -1, or one below the smallest if -1 is a level.

    Examples
    --------
    >>> Categorical(["north", "south"])
    Categorical(levels=('north', 'south'))
    >>> Categorical(["north", "south"], nullable=True).outcomes
    3
    >>> Categorical(["north", "other"], merged=["east", "west"]).to_dict()
    {'type': 'categorical', 'levels': ['north', 'east', 'west'], 'merged': ['east', 'west']}
    >>> Categorical([10, -1], merged=[20, 30]).released_as(20)
    -1
    """

    levels: Sequence[Level]
    nullable: Nullable = False
    merged: Sequence[Level] = ()

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
        self._check_merged()

    def _check_merged(self) -> None:
        """Hold merged levels to be of the kind of the others and beside them, with one level in their place."""
        if isinstance(self.merged, str | bytes) or not isinstance(self.merged, list | tuple):
            raise SchemaError("merged must be a list of levels")
        merged = tuple(self.merged)
        alike = {type(level) for level in merged} <= {type(self.levels[-1])} - {bool}
        apart = len(set(merged)) == len(merged) and not set(merged) & set(self.levels[:-1])
        if merged and not (alike and apart and self.levels[-1] == other_level((*self.levels[:-1], *merged))):
            raise SchemaError(
                f"merged levels are text or whole numbers, differ from those that stay, and {OTHER!r}, or a whole "
                "number that is no level, stands last for them",
                hint='e.g. Categorical(["north", "other"], merged=["east", "west"])',
            )
        object.__setattr__(self, "merged", merged)

    def __repr__(self) -> str:
        return _shown(self)

    @property
    def declared_levels(self) -> tuple[Level, ...]:
        """The levels that a table may hold: with those that are merged, in place of "other"."""
        return (*self.levels[:-1], *self.merged) if self.merged else tuple(self.levels)

    def released_as(self, level: Any) -> Any:
        """Return the level as which a declared one is released: the last if it is merged.

        Examples
        --------
        >>> Categorical(["north", "other"], merged=["east", "west"]).released_as("west")
        'other'
        """
        return self.levels[-1] if level in self.merged else level

    @property
    def outcomes(self) -> int:
        """Number of outcomes that noise must make look alike: the levels, and missing if it is private."""
        return len(self.levels) + (self.nullable is True)

    def to_dict(self) -> dict[str, Any]:
        """Return the column as it stands in TOML and in a manifest."""
        entry = {"type": "categorical", **_given(self), "levels": list(self.declared_levels)}
        return entry | ({"merged": list(self.merged)} if self.merged else {})


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
    "bounded": (Bounded, ("lower", "upper"), ("step", "nullable", "effective", "spacing")),
    "dates": (Dates, ("lower", "upper"), ("nullable", "effective")),
    "categorical": (Categorical, ("levels",), ("nullable", "merged")),
    "public": (Public, (), ()),
    "omitted": (Omitted, (), ()),
}


def other_level(levels: Sequence[Level]) -> Level:
    """Return the level as which rare ones of some declared levels are released.

    Examples
    --------
    >>> other_level(["north", "south"]), other_level([1, 2, 9]), other_level([-1, 0, 1])
    ('other', -1, -2)
    """
    if isinstance(levels[0], str):
        return OTHER
    return -1 if -1 not in levels else min(map(int, levels)) - 1


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
    return {name: value for name, value in values.items() if value not in (None, (), LINEAR) and value is not False}


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
        column: Column | Omitted = make(**_as_declared(entry))
    except SchemaError as problem:
        raise SchemaError(f"column {name!r}: {problem.message}", hint=problem.hint) from None
    return column


def _as_declared(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry of a schema file as arguments of its column: there the declared bounds and levels come first.

    Examples
    --------
    >>> _as_declared({"lower": 0, "upper": 9, "effective": [2, 4]})
    {'lower': 2, 'upper': 4, 'declared': (0, 9)}
    """
    out = {key: value for key, value in entry.items() if key not in {"effective", "merged"}}
    pair, merged = entry.get("effective"), entry.get("merged")
    if pair is not None:
        if not isinstance(pair, list) or len(pair) != 2:
            raise SchemaError("effective must be a pair: lower and upper", hint="e.g. effective = [3000, 98000]")
        out |= {"lower": pair[0], "upper": pair[1], "declared": (entry["lower"], entry["upper"])}
    if merged is not None:
        levels = entry["levels"]
        if not isinstance(merged, list) or not isinstance(levels, list) or not all(each in levels for each in merged):
            raise SchemaError("merged must be a list of declared levels")
        if merged:
            out |= {"levels": [each for each in levels if each not in merged] + [other_level(levels)], "merged": merged}
    return out
