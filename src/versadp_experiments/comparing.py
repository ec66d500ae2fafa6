"""Published figure, ours, its Monte Carlo error, and whether they agree: the rows of a reproduced table.

The RMSE over R replications with errors e has the Monte Carlo error sd(e²) / (2 RMSE sqrt(R)) by the delta method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp_experiments.cells import COLUMNS, METHODS, OURS
from versadp_experiments.printed import Key, agrees, published
from versadp_experiments.replication import truth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp_experiments.cells import Cell
    from versadp_experiments.running import Plan
    from versadp_experiments.store import Store

    Array = NDArray[np.float64]

Z95 = 1.959964


class Outcome(NamedTuple):
    """What a method gave in a cell: errors (reps, columns), standard errors if any, and the share that failed."""

    wrong: Array
    errors: Array | None
    failed: float


def outcome(store: Store, cell: Cell, method: str, reps: int) -> Outcome:
    """Return a method's errors over the replications of a cell."""
    keys = ((cell.n, cell.block, rep) for rep in range(reps))
    lines = [store.lines[key] for key in keys if key in store.lines]
    true = np.array(truth(cell.table))
    if method not in OURS:
        return Outcome(np.array([line["paper"][method] for line in lines]) - true, None, 0.0)
    pairs = [line["ours"][method] for line in lines if "ours" in line]
    good = [pair for pair in pairs if pair[0] is not None]
    if not good:
        nothing = np.empty((0, true.size))
        return Outcome(nothing, nothing, float(bool(pairs)))
    values, errors = (np.array([pair[k] for pair in good]) for k in (0, 1))
    return Outcome(values - true, errors, 1 - len(good) / len(pairs))


def rmse(wrong: Array) -> tuple[Array, Array]:
    """Return the root mean square error of each column, and its Monte Carlo error.

    Examples
    --------
    >>> value, error = rmse(np.array([[1.0], [-1.0], [1.0], [-1.0]]))
    >>> float(value[0]), float(error[0])
    (1.0, 0.0)
    """
    square = wrong**2
    value = np.sqrt(square.mean(axis=0))
    return value, square.std(axis=0) / (2 * value * np.sqrt(len(wrong)))


def cell_rows(store: Store, cell: Cell, reps: int) -> list[dict[str, Any]]:
    """Return the rows of one cell: the paper's methods, then ours."""
    printed, rows = published(cell.table), []
    for method in (*METHODS[cell.table], *OURS):
        found = outcome(store, cell, method, reps)
        if not len(found.wrong) and not found.failed:
            continue  # ours was not asked for
        value, error = rmse(found.wrong) if len(found.wrong) > 1 else (None, None)
        for j, column in enumerate(COLUMNS[cell.table]):
            figure = printed.get(Key(cell.n, cell.block, method, column))
            ours = None if value is None else float(value[j])
            spread = None if error is None else float(error[j])
            agree = (
                None
                if figure is None or ours is None or spread is None
                else agrees(ours, spread, figure, len(found.wrong))
            )
            covered = None if found.errors is None or ours is None else _coverage(found.wrong[:, j], found.errors[:, j])
            rows.append(
                {
                    "cell": cell.name,
                    "method": method,
                    "column": column,
                    "published": None if figure is None else figure.value,
                    "ours": ours,
                    "+-": spread,
                    "agrees": None if agree is None else "yes" if agree else "NO",
                    "coverage": covered,
                    "failed": found.failed if method in OURS else None,
                    "reps": len(found.wrong),
                }
            )
    return rows


def _coverage(wrong: Array, errors: Array) -> float:
    """Return the share of 95% intervals that hold the truth."""
    return float((np.abs(wrong) <= Z95 * errors).mean())


def table_rows(store: Store, plan: Plan) -> list[dict[str, Any]]:
    """Return all rows of a table."""
    return [row for cell in plan.cells for row in cell_rows(store, cell, plan.reps)]


def verdict(rows: list[dict[str, Any]]) -> str:
    """Say in a line how many published figures agree.

    Examples
    --------
    >>> verdict([{"agrees": "yes"}, {"agrees": None}])
    '1 of 1 published figures agree (3 Monte Carlo errors and half a digit).'
    """
    judged = [row for row in rows if row["agrees"] is not None]
    good = sum(row["agrees"] == "yes" for row in judged)
    return f"{good} of {len(judged)} published figures agree (3 Monte Carlo errors and half a digit)."


def against_drcl(store: Store, plan: Plan) -> list[dict[str, Any]]:
    """Return ours as a share of DRCL's error, cell by cell, over all columns."""
    rows = []
    for cell in plan.cells:
        paper = outcome(store, cell, "DR", plan.reps)
        found = outcome(store, cell, "efficient", plan.reps)
        if len(found.wrong):
            ratio = rmse(found.wrong)[0] / rmse(paper.wrong)[0]
            rows.append({"cell": cell.name, "least share": float(ratio.min()), "largest share": float(ratio.max())})
    return rows
