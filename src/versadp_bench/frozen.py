"""The sixty cells, fitted once and kept: what a change of the estimators has changed, cell by cell.

`frozen_table` fits every cell to one release with a fixed key; `compared` sets two tables side by side. Between two
versions that do the same, estimates differ by rounding alone. A score is a sum of n terms, so that its rounding error
is at most `n eps` of the sum of their sizes, which is `√n eps` standard errors times `n`:

    shift <= n^1.5 eps * condition = 20,000^1.5 * 2.2e-16 * 1e3 = 6e-7 standard errors

for a Hessian with condition 1e3 (designs are centred and scaled before they are fitted): `SHIFT` is the next power of
ten, and the same bound holds for standard errors, relatively.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import VersadpError
from versadp_bench.cells import CELLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Row = dict[str, Any]
    Table = Mapping[str, Row]

SEED = 0  # of data, key and draws
SHIFT = 1e-6  # standard errors: largest difference of two fits that do the same
TAKEN = ("correction", "kinks smoothed over", "distribution smoothed over")  # labels of a summary's header


def frozen_row(name: str) -> Row:
    """Return estimates, standard errors, outcome, correction and seconds of one cell."""
    cell = CELLS[name]
    release = cell.release(SEED)
    start = time.perf_counter()
    try:
        found = cell.fit(release)
    except VersadpError as refusal:
        return {"outcome": f"refused: {type(refusal).__name__}", "estimate": [], "se": [], "correction": ""}
    seconds = round(time.perf_counter() - start, 3)
    estimate, error = (_numbers(each) for each in ((found.params, found.bse) if found.answered else ((), ())))
    taken = [f"{label}: {found.header[label]}" for label in TAKEN if label in found.header]
    members = [f"{member} {weight:.3f}" for member, weight in (found.weights or {}).items()]
    row = {"outcome": str(found.outcome), "estimate": estimate, "se": error, "seconds": seconds}
    return row | {"correction": "; ".join([*taken, *members])}


def _numbers(values: Any) -> list[float | None]:
    """Return numbers as they stand in JSON, which has no NaN."""
    return [float(value) if np.isfinite(value) else None for value in np.asarray(values)]


def frozen_table(names: Iterable[str] = CELLS) -> dict[str, Row]:
    """Return the rows of some cells, one after the other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: frozen_row(name) for name in names}


def compared(before: Table, after: Table) -> list[Row]:
    """Return for each cell of both tables how far it has moved, the furthest first.

    Examples
    --------
    >>> row = {"outcome": "converged", "estimate": [1.0], "se": [0.1], "correction": "", "seconds": 2.0}
    >>> moved = row | {"estimate": [1.05], "se": [0.08], "seconds": 1.0}
    >>> (found,) = compared({"mean": row}, {"mean": moved})
    >>> round(found["shift/se"], 3), round(found["se ratio"], 3), found["outcome"], found["time ratio"]
    (0.5, 0.8, 'converged', 0.5)
    """
    rows = [_compared(name, before[name], after[name]) for name in before if name in after]
    return sorted(rows, key=lambda row: (row["outcome"].count(">"), row["shift/se"] or 0.0), reverse=True)


def _compared(name: str, before: Row, after: Row) -> Row:
    one, other = before["outcome"], after["outcome"]
    shift, ratio = _moved(before, after)
    times = (after.get("seconds") or np.nan) / (before.get("seconds") or np.nan)
    taken = [before["correction"], after["correction"]]
    return {
        "cell": name,
        "shift/se": shift,
        "se ratio": ratio,
        "outcome": one if one == other else f"{one} > {other}",
        "time ratio": float(times) if np.isfinite(times) else None,
        "correction": taken[0] if taken[0] == taken[1] else " > ".join(taken),
    }


def _moved(before: Row, after: Row) -> tuple[float | None, float | None]:
    """Return the largest shift in standard errors, and the ratio of standard errors that is furthest from 1."""
    if not before["estimate"] or len(before["estimate"]) != len(after["estimate"]):
        return None, None
    (x, e), (y, f) = (np.array([row["estimate"], row["se"]], dtype=float) for row in (before, after))
    if not np.isfinite(e).any() or not np.isfinite(f).any():  # a weak fit has no standard errors
        return None, None
    ratio = f / e
    return float(np.nanmax(np.abs(y - x) / e)), float(ratio[np.nanargmax(np.abs(np.log(ratio)))])


def unlike(row: Row) -> bool:
    """Return True if a row of `compared` shows more than rounding."""
    shift, ratio = row["shift/se"], row["se ratio"]
    return ">" in row["outcome"] or (shift is not None and not (shift <= SHIFT and abs(ratio - 1) <= SHIFT))
