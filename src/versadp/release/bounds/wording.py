"""Sentences about learnt bounds: in the privacy statement, beside estimates, and about quantiles beyond them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from versadp.display.numbers import brief
from versadp.schema import Bounded, Categorical, Dates

if TYPE_CHECKING:
    from versadp.schema import Column, Schema
    from versadp.schema.learnt import Clipped, LearntBounds

SURE = 2.0  # standard errors of a clipped share within which a quantile counts as beyond the bounds
FEW = 3  # columns that a header names one by one


def bounds_words(schema: Schema) -> list[str]:
    r"""Return what the privacy statement says of learnt bounds, line by line; nothing where none were learnt.

    Examples
    --------
    >>> from versadp.schema.learnt import Clipped, LearntBounds
    >>> learnt = LearntBounds("gaussian", 92.0, {"age": 3}, 84, 0.05, 0.99, 1.0, 1e-6, "record",
    ...     {"age": Clipped(0.004, 0.003, 0.001, -0.2, 0.05)})
    >>> from versadp import Schema
    >>> print(*bounds_words(Schema({"age": Bounded(18, 90, declared=(0, 120))}, bounds=learnt)), sep="\n")
    Bounds were learnt from these records with noise, which is part of the guarantee above (5% of its budget).
    Values beyond them are moved to them, and estimates are about these values:
      age: 18 to 90, declared 0 to 120; about 0.7% of values are beyond, and the mean moves by -0.2 ± 0.1
    """
    learnt = schema.bounds
    if learnt is None:
        return []
    if learnt.is_free:
        told = ["Bounds were read off an earlier release, which costs nothing more."]
    else:
        cost = f"({100 * learnt.share:.3g}% of its budget)"
        told = [f"Bounds were learnt from these records with noise, which is part of the guarantee above {cost}."]
    lines = [_column_words(name, schema.columns[name], each) for name, each in learnt.clipped.items()]
    if not lines:
        return [*told, "No column got narrower bounds or fewer levels by it."]
    return [*told, "Values beyond them are moved to them, and estimates are about these values:", *lines]


def bounds_line(schema: Schema) -> str:
    """Return in one line what is clipped, for the header of estimates; empty if nothing is.

    Examples
    --------
    >>> from versadp import Schema
    >>> bounds_line(Schema({"age": Bounded(18, 90)}))
    ''
    """
    learnt = schema.bounds
    if learnt is None or not learnt.clipped:
        return ""
    parts = [_brief_words(name, schema.columns[name], each) for name, each in learnt.clipped.items()]
    more = f", and of {len(parts) - FEW} more columns" if len(parts) > FEW else ""
    return f"of values clipped at learnt bounds: {'; '.join(parts[:FEW])}{more}"


def beyond(learnt: LearntBounds | None, name: str, column: Column) -> tuple[float, float]:
    """Return up to which quantile, and from which on, a column's may lie beyond its learnt bounds.

    Examples
    --------
    >>> beyond(None, "age", Bounded(18, 90))
    (0.0, 1.0)
    """
    clipped = None if learnt is None else learnt.clipped.get(name)
    if clipped is None or not isinstance(column, Bounded) or column.declared is None:
        return 0.0, 1.0
    low, high = (max(share, 0.0) + SURE * clipped.error for share in (clipped.below, clipped.above))
    first, last = _ends(column)
    return low if first != column.declared[0] else 0.0, 1 - high if last != column.declared[1] else 1.0


def shift_words(learnt: LearntBounds | None, name: str) -> tuple[str, ...]:
    """Return by how much moving values to learnt bounds moved a column's mean, as a note beside it; nothing if unknown.

    Examples
    --------
    >>> from versadp.schema.learnt import Clipped, LearntBounds
    >>> learnt = LearntBounds("gaussian", 92.0, {"age": 3}, 84, 0.05, 0.99, 1.0, 1e-6, "record",
    ...     {"age": Clipped(0.004, 0.003, 0.001, -0.2, 0.05)})
    >>> shift_words(learnt, "age")
    ('age: moving values to learnt bounds moved its mean by -0.2 ± 0.1',)
    """
    clipped = None if learnt is None else learnt.clipped.get(name)
    if clipped is None or not clipped.shift_error:
        return ()
    return (f"{name}: moving values to learnt bounds moved its mean by {_shift(clipped)}",)


def _shift(clipped: Clipped) -> str:
    return f"{brief(clipped.shift, 2)} ± {brief(2 * clipped.shift_error, 2)}"


def beyond_words(name: str, column: Bounded) -> str:
    """Return why a quantile is refused.

    Examples
    --------
    >>> beyond_words("age", Bounded(18, 90, declared=(0, 120)))
    'age: a quantile that may lie beyond the learnt bounds, 18 and 90, is not known: values there were moved to them'
    """
    low, high = map(_shown, _ends(column))
    where = f"beyond the learnt bounds, {low} and {high}"
    return f"{name}: a quantile that may lie {where}, is not known: values there were moved to them"


def _column_words(name: str, column: Column, clipped: Clipped) -> str:
    if isinstance(column, Categorical):
        kept = len(column.levels) - 1
        merged = f"{len(column.merged)} rare levels are one, {column.levels[-1]!r}, beside {kept} others"
        return f"  {name}: {merged}; about {_percent(clipped.above)} of values"
    assert isinstance(column, Bounded)
    assert column.declared is not None
    (low, high), (first, last) = (map(_shown, pair) for pair in (_ends(column), column.declared))
    share = _percent(max(clipped.below, 0.0) + max(clipped.above, 0.0))
    unit = " days" if isinstance(column, Dates) else ""
    shift = f"{_shift(clipped)}{unit}"
    moves = f"about {share} of values are beyond, and the mean moves by {shift}"
    return f"  {name}: {low} to {high}, declared {first} to {last}; {moves}"


def _brief_words(name: str, column: Column, clipped: Clipped) -> str:
    if isinstance(column, Categorical):
        return f"{name}, {len(column.merged)} levels merged"
    assert isinstance(column, Bounded)
    low, high = map(_shown, _ends(column))
    return f"{name} at {low} and {high} (about {_percent(max(clipped.below, 0.0) + max(clipped.above, 0.0))} of people)"


def _ends(column: Bounded) -> tuple[float | str, float | str]:
    """Return the effective bounds as the declared ones are given."""
    if isinstance(column, Dates):
        first, last = column.ends
        return first, last
    return column.lower, column.upper


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.6g}"


def _percent(share: float) -> str:
    return "less than 0.1%" if share < 0.001 else f"{100 * share:.2g}%"
