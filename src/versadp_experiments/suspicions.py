"""Stated against found: the same cells simulated under what the paper states and under what gives its figures.

Each row has a published figure, averaged over the columns that are alike, and the two simulated ones.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp_experiments.cells import cells
from versadp_experiments.comparing import rmse
from versadp_experiments.printed import Key, published
from versadp_experiments.replication import replicate, truth

if TYPE_CHECKING:
    from versadp_experiments.cells import Cell

_ALIKE = {
    "table1": (("relu", (0,)), ("indicator", (1,)), ("absolute_sine", (2,))),
    "table2": (("slopes", tuple(range(6))),),
    "table3": (("intercept", (0,)), ("slopes", tuple(range(1, 7)))),
}
BOXES = ((0.0, 2.0), (-0.5, 2.0), (-2.0, 2.0), (0.0, 2.25), (0.0, 3.0), (-5.0, 5.0), None)


def _simulated(cell: Cell, method: str, reps: int, seed: int) -> tuple[np.ndarray[Any, Any], float]:
    """Return squared errors (reps, columns) of one method, and nothing more."""
    true = np.array(truth(cell.table))
    lines = [replicate(cell, rep, seed, with_ours=False)["paper"][method] for rep in range(reps)]
    return np.array(lines) - true, 0.0


def settings_rows(reps: int, seed: int) -> list[dict[str, Any]]:
    """Return published figures beside those of both readings, at the smallest sample size of each table."""
    rows = []
    for table, size, block, methods in (
        ("table1", 500, 1, ("SL", "DR")),
        ("table2", 5000, 0, ("Oracle", "Naive", "SL", "sDR", "DR")),
        ("table3", 2500, 0, ("Oracle", "Naive", "sCL", "DR")),
    ):
        found, stated = ({c.block: c for c in cells(table, (size,), reading)}[block] for reading in ("found", "stated"))
        for method in methods:
            wrong = {r: _clipped(c, method, reps, seed) for r, c in (("found", found), ("stated", stated))}
            for label, columns in _ALIKE[table]:
                rows.append(_row(found, method, label, columns, wrong))
    return rows


def _clipped(cell: Cell, method: str, reps: int, seed: int) -> Any:
    """Return errors, cut at ±20: a method without a box may diverge."""
    return np.clip(_simulated(cell, method, reps, seed)[0], -20.0, 20.0)


def _row(cell: Cell, method: str, label: str, columns: tuple[int, ...], wrong: dict[str, Any]) -> dict[str, Any]:
    figures = [f.value for k, f in published(cell.table).items() if k[:3] == (cell.n, cell.block, method)]
    row = {
        "table": f"{cell.table} n={cell.n} block {cell.block + 1}",
        "method": method,
        "what": label,
        "published": float(np.mean([figures[j] for j in columns])),
    }
    for reading, errors in wrong.items():
        value, error = rmse(errors[:, list(columns)])
        row[reading], row[f"+- {reading}"] = float(value.mean()), float(error.mean())
    return row


def box_rows(reps: int, seed: int) -> list[dict[str, Any]]:
    """Return the second block of Table 2 at n = 5000 under several boxes for theta."""
    found = {c.block: c for c in cells("table2", (5000,))}[1]
    rows = []
    for box in BOXES:
        cell = replace(found, box=box)
        lines = [replicate(cell, rep, seed, with_ours=False)["paper"] for rep in range(reps)]
        row: dict[str, Any] = {"box for theta": "none" if box is None else f"[{box[0]:g}, {box[1]:g}]"}
        for method in ("SL", "sDR", "DR"):
            wrong = np.clip(np.array([line[method] for line in lines]) - 1.0, -20.0, 20.0)
            row[method] = float(rmse(wrong)[0].mean())
        rows.append(row)
    printed = published("table2")
    row = {"box for theta": "published"}
    for method in ("SL", "sDR", "DR"):
        row[method] = float(np.mean([printed[Key(5000, 1, method, f"beta_{j}")].value for j in range(1, 7)]))
    return [row, *rows]
