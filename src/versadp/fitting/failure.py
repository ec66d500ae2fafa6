"""How many records it would take for a corrected objective to bend upwards beyond doubt.

The strength t of the curvature (`estimation/strength.py`) in the direction that bends least is what a fit is judged by,
and it grows as √n. Where curvature is lost in noise its mean is not known, but it is not more than a standard error
above what was found, give or take: t + 1 in place of t, and that many records or more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.estimation.strength import STRONG

if TYPE_CHECKING:
    from versadp.estimation import Asked

STEP = 1e-3


def records_wanted(asked: Asked, rows: int) -> float | None:
    """Return how many records would do at least, infinite if none are in sight; None where members are combined."""
    family, theta = asked.few, asked.start
    if len(family.names) > 1:
        return None
    hessian = family.moments(theta, np.ones(1)).hessian
    if not np.isfinite(hessian).all():
        return np.inf
    least = np.linalg.eigh(hessian)[1][:, 0]
    t = float(asked.strength(theta, np.ones(1), STEP * least[None])[0])
    return rows * (STRONG / (t + 1)) ** 2 if t > -1 else np.inf
