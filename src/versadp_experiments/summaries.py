"""Figure 2 in numbers: quartiles of the estimation errors that its box plots show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from versadp_experiments.cells import COLUMNS
from versadp_experiments.comparing import outcome
from versadp_experiments.pictures import BOXES

if TYPE_CHECKING:
    from versadp_experiments.running import Plan
    from versadp_experiments.store import Store


def quartiles(store: Store, plan: Plan) -> list[dict[str, Any]]:
    """Return quartiles of the errors of each method in each cell, and whether 0 is where the median should be."""
    rows = []
    for cell in plan.cells:
        for method in BOXES:
            wrong = outcome(store, cell, method, plan.reps).wrong
            for j, column in enumerate(COLUMNS[plan.table]):
                if len(wrong) > 1:
                    low, middle, high = (float(q) for q in np.quantile(wrong[:, j], [0.25, 0.5, 0.75]))
                    where = {"cell": cell.name, "method": method, "column": column}
                    rows.append(where | {"quartile": low, "median": middle, "third": high, "reps": len(wrong)})
    return rows
