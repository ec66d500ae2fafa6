"""How many records it would take for a corrected objective to bend upwards beyond doubt.

    t = mean/(sd/√n)      of the curvatures v'[s_i(theta + h v) - s_i(theta - h v)]/2h

in the direction v that bends least is what a fit is judged by (`estimation/strength.py`), and it grows as √n. Where
curvature is lost in noise its mean is not known, but it is not more than a standard error above what was found, give
or take: that many records or more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.estimation.family import Quietly, evaluated
from versadp.estimation.strength import STRONG

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.estimation import Asked
    from versadp.estimation.family import Form, Prepared

    Array = NDArray[np.float64]

STEP = 1e-3


@dataclass(frozen=True)
class Curvatures:
    """What one pass asks of some records: the sum of their curvatures along a direction, and of the squares."""

    forms: tuple[Form, ...]
    theta: Array
    along: Array

    def sums(self, prepared: Prepared) -> tuple[int, float, float]:
        """Return number, sum and sum of squares."""
        above, below = (
            evaluated(self.forms, prepared, self.theta + h * self.along, np.ones((1, 1)), hessian=False)[0][:, 0]
            for h in (STEP, -STEP)
        )
        bend = (above - below) @ self.along / (2 * STEP)
        return len(bend), float(bend.sum()), float(bend @ bend)


def records_wanted(asked: Asked, rows: int) -> float | None:
    """Return how many records would do at least, infinite if none are in sight; None where members are combined."""
    family, theta = asked.few, asked.start
    if len(family.names) > 1:
        return None
    hessian = family.moments(theta, np.ones(1)).hessian
    if not np.isfinite(hessian).all():
        return np.inf
    direction = np.linalg.eigh(hessian)[1][:, 0]
    n, total, squares = family.total(Quietly(Curvatures(family.forms, theta, direction)))
    mean = total / n
    error = np.sqrt(max(squares / n - mean**2, 0.0) / rows)
    above = mean + error
    return float(rows * (STRONG * error / above) ** 2) if above > 0 else np.inf
