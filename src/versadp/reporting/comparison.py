"""The release beside the original data: for the provider's eyes only.

Both are read once, batch by batch, and only sums are kept: of a number its count, sum and sum of squares around the
middle of its range, of a category the count of each level. Values are moved to their bounds first, as the release does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.release.files.sources import open_source
from versadp.release.path.dates import from_dates
from versadp.schema import Bounded, Categorical, Dates

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from versadp.describing.description import Description
    from versadp.release.release import Release
    from versadp.schema import Column, Schema


@dataclass
class Sums:
    """Sums of one private column: records, those with a value, sum, sum of squares, and counts of levels."""

    rows: int = 0
    there: int = 0
    total: float = 0.0
    squares: float = 0.0
    counts: dict[Any, int] = field(default_factory=dict)

    def figures(self, column: Column) -> dict[str, float]:
        """Return figures by the names that a description gives them."""
        if isinstance(column, Categorical):
            return {f"share of {level}": self.counts.get(level, 0) / max(self.rows, 1) for level in column.levels}
        assert isinstance(column, Bounded)
        mean = self.total / max(self.there, 1)
        sd = np.sqrt(max(self.squares / max(self.there, 1) - mean**2, 0.0))
        out = {"mean": mean + (column.lower + column.upper) / 2, "sd": float(sd)}
        return out | ({"missing": 1 - self.there / max(self.rows, 1)} if column.nullable else {})


def compare(release: Release, description: Description, raw: Any) -> list[dict[str, Any]]:
    """Return original, released and corrected figures of the private columns, a row each.

    Parameters
    ----------
    release : Release
    description : Description
        Of the release.
    raw : path or table
        The original data, as `release` or `release_file` takes them.
    """
    schema = release.mechanism.schema
    original = sums(batches_of(raw, schema), schema, clamp=True)
    naive = sums(release.batches(), schema, clamp=False)
    rows = []
    for name, each in original.items():
        column = schema.columns[name]
        told, seen = dict(description[name].rows()), naive[name].figures(column)
        for label, value in each.figures(column).items():
            found = told.get(label)
            if found is None:
                continue
            rows.append(
                {
                    "column": name,
                    "statistic": label,
                    "original": value,
                    "as released": seen[label],
                    "corrected": found.value,
                    "lower": found.low,
                    "upper": found.high,
                    "inside": bool(found.low <= value <= found.high),
                }
            )
    return rows


def batches_of(raw: Any, schema: Schema) -> Iterable[Any]:
    """Return the original data in batches: of a table in memory, or of a file of any size."""
    if hasattr(raw, "columns"):
        import narwhals as nw

        table: pa.Table = nw.from_native(raw, eager_only=True).to_arrow()
        return (batch for batch in table.to_batches())
    return (batch for batch, _ in open_source(raw, schema).batches())


def sums(batches: Iterable[Any], schema: Schema, *, clamp: bool) -> dict[str, Sums]:
    """Return the sums of all private columns."""
    out = {name: Sums() for name in schema.private}
    for batch in batches:
        for name, each in out.items():
            column, values = schema.columns[name], batch.column(batch.schema.get_field_index(name))
            each.rows += len(values)
            if isinstance(column, Categorical):
                _count(each, values, column)
            else:
                assert isinstance(column, Bounded)
                _add(each, values, column, clamp=clamp)
    return out


def _count(each: Sums, values: Any, column: Categorical) -> None:
    import pyarrow.compute as pc

    for pair in pc.value_counts(values).to_pylist():
        level = pair["values"]
        level = int(level) if type(column.levels[0]) is int and level is not None else level
        level = column.released_as(level)
        each.counts[level] = each.counts.get(level, 0) + pair["counts"]


def _add(each: Sums, values: Any, column: Bounded, *, clamp: bool) -> None:
    import pyarrow as pa

    numbers = (
        from_dates(values, column)
        if isinstance(column, Dates)
        else values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    )
    numbers = numbers[~np.isnan(numbers)]
    if clamp:
        numbers = np.clip(numbers, column.lower, column.upper)
    away = numbers - (column.lower + column.upper) / 2
    each.there += away.size
    each.total += float(away.sum())
    each.squares += float(away @ away)
