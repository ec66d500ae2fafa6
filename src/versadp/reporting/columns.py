"""Figures of each column with intervals, and a picture of released beside corrected values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from versadp.display.numbers import between, brief
from versadp.display.svg import inline
from versadp.reporting.noise import declared

if TYPE_CHECKING:
    from versadp.describing.description import Description
    from versadp.release.release import Release

MOST_PICTURES = 40  # columns
MOST_PAIRS = 60  # correlations
MOST_LEVELS = 30  # in a picture
ROWS = 5


def columns(description: Description) -> list[dict[str, Any]]:
    """Return name, words, figures, notes and picture of each column."""
    every: dict[str, list[dict[str, Any]]] = {name: [] for name in description}
    for row in description.brief_table:
        every[str(row["column"])].append(row)
    out = []
    for number, (name, column) in enumerate(description.items()):
        drawn = number < MOST_PICTURES and len(column.often) <= MOST_LEVELS
        drawn = drawn and (column.histogram is not None or column.released is not None or bool(column.shares))
        out.append(
            {
                "name": name,
                "declared": declared(column.declared),
                "rows": [_row(row, "statistic", description.level) for row in every[name]],
                "notes": column.notes,
                "picture": picture(column, f"column{number}") if drawn else "",
            }
        )
    return out


def _row(row: dict[str, Any], label: str, level: float) -> dict[str, str]:
    """Return an estimate with its interval as texts."""
    ends = between(row["lower"], row["upper"])
    return {
        label: row["statistic"],
        "estimate": brief(row["estimate"]) or "not told",
        f"{100 * level:g}% interval": ends,
    }


def correlations(description: Description) -> list[dict[str, str]]:
    """Return correlations as rows of texts, as many as a page can bear."""
    rows = description.correlation_table[:MOST_PAIRS]
    pairs = ((row, str(row["statistic"]).removeprefix("correlation with ")) for row in rows)
    return [
        _row(row | {"statistic": f"{row['column']} and {other}"}, "columns", description.level) for row, other in pairs
    ]


def picture(column: Any, name: str) -> str:
    """Return the picture of one column."""
    both = column.released is not None and (column.histogram is not None or bool(column.shares))
    words = "Bars are shares corrected for the noise, with intervals; " if both else ""
    words += "the dashed outline is what was released." if column.released is not None else "It has no noise."
    return inline(column.plot(), name, f"Distribution of {column.name}", words)


def overview(release: Release) -> list[dict[str, str]]:
    """Return the columns of a release as rows of a table: what was declared, and how it was released."""
    blocks = {name: block for block in release.mechanism.blocks for name in block.columns}
    together = {name: [other for other in block.columns if other != name] for name, block in blocks.items()}
    rows = []
    for name, column in release.mechanism.schema.columns.items():
        how = "as it is" if name not in blocks else f"with noise ({blocks[name].spec.name})"
        if together.get(name):
            how += f", one block with {', '.join(together[name])}"
        rows.append({"column": name, "declared": declared(column), "released": how})
    return rows


def head(release: Release) -> list[dict[str, str]]:
    """Return the first records, as they were released."""
    table = release.head(ROWS)
    if not hasattr(table, "to_pylist"):
        import narwhals as nw

        table = nw.from_native(table, eager_only=True).to_arrow()
    return [{key: _cell(value) for key, value in row.items()} for row in table.to_pylist()]


def _cell(value: Any) -> str:
    return "" if value is None else brief(value) if isinstance(value, float) else str(value)[:60]
