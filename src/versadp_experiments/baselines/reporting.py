"""The tables and pictures of `versadp reproduce baselines|versatility|realdata`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Row = dict[str, Any]


def parts(what: str, reps: int, seed: int, out: str | None, plot: str | None) -> dict[str, list[Row]]:
    """Return tables by name, and draw a picture if a path is given (several beside it, for real data)."""
    if what == "versatility":
        return _versatility(reps, seed, out, plot)
    if what == "realdata":
        return _realdata(reps, seed, plot)
    from versadp_experiments.baselines import side_by_side

    return side_by_side.tables(side_by_side.run(reps, seed, out), reps)


def _versatility(reps: int, seed: int, out: str | None, plot: str | None) -> dict[str, list[Row]]:
    from versadp_experiments.baselines import arrivals, drawing, versatility

    table = versatility.rows(versatility.run(reps, seed, out), reps)
    if plot:
        drawing.versatility(table, plot)
    return {
        "errors": table,
        "crossings": versatility.crossings(table),
        "batches": arrivals.rows(max(reps // 2, 2), seed),
    }


def _realdata(reps: int, seed: int, plot: str | None) -> dict[str, list[Row]]:
    from versadp_experiments.baselines import drawing, published, realdata, usefulness

    found: dict[str, list[Row]] = {}
    for k, analysis in enumerate(realdata.ANALYSES):
        rows = found[f"{analysis.data} {k}"] = realdata.compared(analysis, seed)
        shown = [row for row in rows if row["term"] != "Intercept"]
        if plot and shown:
            drawing.intervals(shown, _beside(plot, f"{k}"), analysis.title)
    for k, table in enumerate(published.PRINTED):
        rows = found[f"published {k}"] = published.rows(table, seed)
        if plot and all(row["low"] is not None for row in rows):
            title = f"{table.source}\n(1 is the raw estimate, 0 no effect)"
            drawing.intervals(published.drawn(table, rows), _beside(plot, f"published-{k}"), title)
    found["useful from"] = usefulness.rows(reps, seed)
    return found


def _beside(plot: str, name: str) -> str:
    path = Path(plot)
    return str(path.with_name(f"{path.stem}-{name}{path.suffix}"))
