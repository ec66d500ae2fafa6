"""The columns of a table and their levels: categories, numbers and dates cut at declared edges, public columns.

A number is cut at edges e_0 < e_1 < ... < e_K into [e_0, e_1), ..., [e_{K-1}, e_K]: closed on the left, and the last
one on both sides. Values beyond the edges are in no level. A missing value is a level if that is asked for, and in none
otherwise, so that cells are of the records that have a value in every column of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.errors import NoSuchName, ParameterError, near
from versadp.fitting.source import is_number, numbers_of
from versadp.release.path.dates import date_of, day_of, from_dates
from versadp.schema import Bounded, Categorical, Dates

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from versadp.inputs import Array
    from versadp.release.release import Release
    from versadp.schema import Column

FEW_VALUES = 32  # values of a stepped or public number that are levels without edges: chosen; a table is read by people
EXACT = 1e-6  # steps by which an edge may be off for rounding
MISSING = "missing"  # label of the level of missing values


@dataclass(frozen=True, eq=False)
class Axis:
    """One column of a table.

    Attributes
    ----------
    name : str
    declared : Column
        What the schema says of it.
    levels : tuple
        Labels: levels of a category as they are, intervals as text.
    edges : array, optional
        Of a number, in its units, dates in days; one more than levels without `missing`.
    missing : bool
        Whether the last level is a missing value.
    """

    name: str
    declared: Column
    levels: tuple[Any, ...]
    edges: Array | None = None
    missing: bool = False
    points: Array | None = None  # values of a number whose levels are single values

    @property
    def size(self) -> int:
        """Number of levels."""
        return len(self.levels)

    @property
    def ordered(self) -> bool:
        """True if its levels have an order: those of a number."""
        return self.edges is not None

    @property
    def scores(self) -> Array:
        """The middles of intervals, values of single ones, or the numbers of levels; of what is not missing."""
        if self.edges is None:
            return np.arange(float(self.size - self.missing))
        return np.asarray((self.edges[1:] + self.edges[:-1]) / 2) if self.points is None else self.points

    @cached_property
    def cuts(self) -> Array:
        """The edges; between two steps for a number with a step, whose noise may be on another grid."""
        assert self.edges is not None
        step = getattr(self.declared, "step", None) or (1.0 if isinstance(self.declared, Dates) else None)
        if step is None or not isinstance(self.declared, Bounded):
            return self.edges
        place = (self.edges - self.declared.lower) / step
        place = np.append(np.ceil(place[:-1] - EXACT), np.floor(place[-1:] + EXACT) + 1)
        return np.asarray(self.declared.lower + (place - 0.5) * step)

    def place(self, values: Array) -> NDArray[np.int64]:
        """Return the level of each value, `size` for values in none; a category comes as numbers of its levels."""
        with np.errstate(invalid="ignore"):
            if self.edges is None:
                found = np.where(np.isfinite(values), values, 0).astype(np.int64)
            else:
                low, *inner, high = self.cuts
                found = np.searchsorted(inner, values, side="right")
                found[~((values >= low) & (values <= high))] = self.size
            found[np.isnan(values)] = self.size - 1 if self.missing else self.size
        return found

    def values(self, column: pa.ChunkedArray) -> Array:
        """Return a column as numbers: categories as numbers of their levels, dates as days, NaN for what is missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if isinstance(self.declared, Dates):
            return from_dates(column, self.declared)
        if self.edges is not None:
            return numbers_of(column)
        if pa.types.is_null(column.type):
            return np.full(len(column), np.nan)
        known = pa.array(self.levels[: self.size - self.missing])
        if pa.types.is_dictionary(column.type):
            return _coded(column, known)
        codes = pc.index_in(column, value_set=known.cast(column.type))
        return numbers_of(codes)


def _coded(column: pa.ChunkedArray, known: pa.Array) -> Array:
    """Return numbers of levels of a column that is coded already, one look at each code."""
    import pyarrow.compute as pc

    parts = [np.empty(0)]
    for chunk in column.chunks:
        place = pc.index_in(chunk.dictionary, value_set=known.cast(chunk.dictionary.type))
        number = np.append(numbers_of(place), np.nan)
        parts.append(number[np.asarray(chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)])
    return np.concatenate(parts)


def read_axes(
    release: Release,
    names: Sequence[str],
    bins: Mapping[str, Sequence[Any]],
    values: Mapping[str, tuple[Any, ...] | None],
    *,
    missing: bool,
) -> tuple[Axis, ...]:
    """Return the columns of a table; raise if one cannot be tabulated as asked for.

    Parameters
    ----------
    release : Release
    names : sequence of str
    bins : mapping of str to sequence
        Edges of numbers and dates.
    values : mapping of str to tuple or None
        Distinct values of the public columns without edges, in order; None if they are too many.
    missing : bool
        Make what is missing a level of each column that may be missing.
    """
    for name in bins:
        if name not in names:
            raise NoSuchName(f"bins are given for {name!r}, which is no column of the table", hint=near(name, names))
    return tuple(_axis(release, name, bins.get(name), values.get(name), missing=missing) for name in names)


def is_measured(release: Release, name: str) -> bool:
    """Return True if a public column holds numbers; true and false are levels."""
    import pyarrow.types as pt

    kind = release.types.field(name).type
    return is_number(kind) and not pt.is_boolean(kind)


def check_columns(release: Release, names: Sequence[str]) -> None:
    """Raise if columns are no columns of the release, or are named twice."""
    columns = release.mechanism.schema.columns
    for name in names:
        if name not in columns:
            raise NoSuchName(f"there is no column {name!r}", hint=near(name, columns))
    if len(set(names)) < len(names):
        raise ParameterError("a column is named twice", hint="name each column of a table once")


def _axis(
    release: Release, name: str, edges: Sequence[Any] | None, values: tuple[Any, ...] | None, *, missing: bool
) -> Axis:
    declared = release.mechanism.schema.columns[name]
    public = not isinstance(declared, Bounded | Categorical)
    number = isinstance(declared, Bounded) or (public and is_measured(release, name))
    absent = missing and bool(getattr(declared, "nullable", False))  # public values are never missing
    more = (MISSING,) if absent else ()
    if edges is not None and not number:
        raise ParameterError(f"{name!r} is no number and has no bins", hint="its levels are those of the table")
    if number:
        ends, labels, points = _cut(name, declared, edges, values)
        return Axis(name, declared, labels + more, ends, absent, points)
    levels = declared.levels if isinstance(declared, Categorical) else values
    if levels is None:
        raise ParameterError(
            f"public column {name!r} has too many different values for a table", hint="choose another column"
        )
    return Axis(name, declared, (*levels, *more), None, absent)


def _cut(
    name: str, declared: Column, edges: Sequence[Any] | None, values: tuple[Any, ...] | None
) -> tuple[Array, tuple[str, ...], Array | None]:
    """Return edges and labels of the levels of a number, and its values if they are the levels."""
    if edges is not None:
        ends = check_edges(name, declared, edges)
        return ends, _labels(declared, ends), None
    singles = _few(declared) if values is None else np.array(values, dtype=float)
    if singles is None or not singles.size:
        raise ParameterError(
            f"{name!r} is a number and needs bins", hint=f"bins={{{name!r}: {_suggested(declared)}}}, edges in order"
        )
    between = (singles[1:] + singles[:-1]) / 2
    ends = np.concatenate([singles[:1], between, singles[-1:]])
    return ends, tuple(_text(declared, x) for x in singles), singles


def _few(declared: Column) -> Array | None:
    """Return the values of a number with few of them."""
    steps = getattr(declared, "steps", None)
    if not isinstance(declared, Bounded) or steps is None or steps >= FEW_VALUES:
        return None
    return np.linspace(declared.lower, declared.upper, steps + 1)


def _suggested(declared: Column) -> str:
    if isinstance(declared, Dates):
        return f"[{str(declared.first)!r}, ..., {str(date_of(declared.upper, declared))!r}]"
    if isinstance(declared, Bounded):
        return f"[{declared.lower:g}, ..., {declared.upper:g}]"
    return "[0, 10, 20]"


def check_edges(name: str, declared: Column, edges: Any) -> Array:
    """Return edges as rising numbers in the units of the column; raise if they are none.

    Examples
    --------
    >>> check_edges("age", Bounded(18, 90), [18, 30, 90])
    array([18., 30., 90.])
    """
    if isinstance(edges, str) or not isinstance(edges, Sequence | np.ndarray):
        raise ParameterError(f"the bins of {name!r} must be a list of edges", hint="e.g. [18, 30, 50, 90]")
    if isinstance(declared, Dates):
        found = [_day(name, each, declared) for each in edges]
    else:
        found = [inputs.number(f"an edge of {name!r}", each, -np.inf, np.inf) for each in edges]
    ends = np.array(found, dtype=float)
    if ends.size < 2:
        raise ParameterError(f"the bins of {name!r} need two edges or more", hint="e.g. [18, 30, 50, 90]")
    if (np.diff(ends) <= 0).any():
        raise ParameterError(
            f"the bins of {name!r} are not in order, or two edges are equal", hint="give rising edges, each once"
        )
    if isinstance(declared, Bounded) and (ends[-1] < declared.lower or ends[0] > declared.upper):
        raise ParameterError(
            f"the bins of {name!r} lie outside its bounds",
            hint=f"its values are from {_text(declared, declared.lower)} to {_text(declared, declared.upper)}",
        )
    return ends


def _day(name: str, value: Any, declared: Dates) -> float:
    from datetime import date

    if isinstance(value, str):
        try:
            value = date.fromisoformat(value)
        except ValueError:
            raise ParameterError(f"{value!r} is no date", hint="edges of dates are as in '1990-01-31'") from None
    return day_of(value, name, declared)


def _text(declared: Column, value: float) -> str:
    return str(date_of(value, declared)) if isinstance(declared, Dates) else f"{value:.12g}"


def _labels(declared: Column, ends: Array) -> tuple[str, ...]:
    """Return intervals as text, the last one closed.

    Examples
    --------
    >>> _labels(Bounded(18, 90), np.array([18.0, 30.0, 90.0]))
    ('[18, 30)', '[30, 90]')
    """
    last = ends.size - 2
    return tuple(
        f"[{_text(declared, low)}, {_text(declared, high)}{']' if k == last else ')'}"
        for k, (low, high) in enumerate(pairwise(ends))
    )
