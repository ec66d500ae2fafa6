"""Which smoothed corrected loss was printed? Variants and bandwidths of sCL beside the published figures.

The paper gives neither kernel nor bandwidth nor which of the two noisy data sets. Tried here: at X2 with the whole
lambda²; at X1 and X2 with (1 - delta) lambda², as sDRCL does; at X1 as if its noise were SL, which it is not; each with
bandwidths h = c lambda n^(-1/3), and theta in [0, 2].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from versadp_experiments.cells import TABLES, cells
from versadp_experiments.comparing import rmse
from versadp_experiments.logistic import boxed, combined
from versadp_experiments.median import smoothed_corrected
from versadp_experiments.printed import published
from versadp_experiments.sampling import draw

if TYPE_CHECKING:
    from versadp_experiments.cells import Cell
    from versadp_experiments.logistic import Loss
    from versadp_experiments.sampling import Sample

VARIANTS = (("X2", 10.0), ("X2", 20.0), ("X2", 30.0), ("X2", 45.0), ("X2", 90.0), ("X1, X2", 30.0), ("X1 as SL", 30.0))
SIZES = (2500, 7500)


def variant(cell: Cell, sample: Sample, where: str, factor: float) -> Loss:
    """Return one variant of the smoothed corrected loss."""
    one, h, square = np.ones((cell.n, 1)), factor * cell.noise * cell.n ** (-1 / 3), cell.noise**2
    m1, m2 = np.hstack([one, sample.x1]), np.hstack([one, sample.x2])
    if where == "X2":
        return smoothed_corrected(m2, sample.y, h, square)
    if where == "X1 as SL":
        return smoothed_corrected(m1, sample.y, h, square)
    bent = smoothed_corrected(m2, sample.y, h, (1 - cell.exact_rate) * square)
    correction = combined(bent, smoothed_corrected(m2, sample.y, h, 0.0), 1.0, -1.0)
    return combined(smoothed_corrected(m1, sample.y, h, 0.0), correction, 1.0, 1.0)


def rows(reps: int, seed: int) -> list[dict[str, Any]]:
    """Return intercept and slope errors of every variant at lambda = 2."""
    out = []
    for cell in cells("table3", SIZES)[::2]:
        printed = [f.value for k, f in published("table3").items() if k[:3] == (cell.n, cell.block, "sCL")]
        figures = {"intercept": printed[0], "slopes": float(np.mean(printed[1:])), "+- slopes": None}
        out.append({"n": cell.n, "corrected at": "published", "c": None, **figures})
        samples = [draw(cell, np.random.default_rng([seed, len(TABLES), cell.n, rep])) for rep in range(reps)]
        for where, factor in VARIANTS:
            found = [boxed(variant(cell, sample, where, factor), np.zeros(7), cell.box) for sample in samples]
            value, error = rmse(np.array(found) - 1.0)
            figures = {
                "intercept": float(value[0]),
                "slopes": float(value[1:].mean()),
                "+- slopes": float(error[1:].mean()),
            }
            out.append({"n": cell.n, "corrected at": where, "c": factor, **figures})
    return out
