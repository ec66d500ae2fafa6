"""The tables and pictures of `versadp reproduce baselines|versatility|realdata`."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def parts(what: str, reps: int, seed: int, out: str | None, plot: str | None) -> dict[str, list[Row]]:
    """Return tables by name, and draw a picture if a path is given (a folder's worth of them for real data)."""
    if what == "versatility":
        return _versatility(reps, seed, out, plot)
    if what == "realdata":
        from versadp_experiments.baselines import realdata

        return realdata.tables(seed, plot)
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
