"""The law that the default is never worse than a public alternative, cell by cell (`cells.py`).

On the same releases every cell is fitted by default, by `drcl` with each extension, and by `analytic`. The default
violates the law where

    its RMSE > 1.1 times that of an alternative whose intervals cover at least 92%, or
    its outcome is worse: an alternative answers more often.

RMSEs are compared coefficient by coefficient, by the geometric mean of their ratios. A fit without an estimate counts
for outcomes alone, so that RMSEs are taken over the replications in which both have one. With few replications both
figures are rough: `+-` is the standard error of the ratio, and coverage is held to 92% less two standard errors.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.engine import at_work
from versadp.errors import VersadpError
from versadp_bench.cells import CELLS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Row = dict[str, Any]

ALTERNATIVES: dict[str, dict[str, Any]] = {
    "drcl, none": {"method": "drcl", "extension": "none"},
    "drcl, zero": {"method": "drcl", "extension": "zero"},
    "drcl, clip": {"method": "drcl", "extension": "clip"},
    "drcl, damped": {"method": "drcl", "extension": "damped"},
    "analytic": {"method": "analytic"},
}
WORSE = 1.1  # times the RMSE of an alternative
COVERS = 0.92  # of its intervals cover, or it is no alternative
TWO = 2.0  # standard errors by which coverage may be below that


def replicate(name: str, seed: int) -> dict[str, Row]:
    """Return error, coverage and outcome of the default and of each alternative on one release; refusals are left out.

    Examples
    --------
    >>> found = replicate("mean, joint, no formula", 1)
    >>> sorted(found), found["default"]["outcome"]
    (['default', 'drcl, none'], 'converged')
    """
    cell = CELLS[name]
    out: dict[str, Row] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release, truth = cell.release(seed), cell.truth()
        for label, options in {"default": {}, **ALTERNATIVES}.items():
            if options.get("extension", "none") != "none" and not cell.is_zero_inflated:
                continue  # windows end, and have nothing to extend
            try:
                found = cell.fit(release, **options)
            except VersadpError:
                continue
            error = np.asarray(found.params) - truth if found.answered else np.full(truth.size, np.nan)
            ends = np.asarray(found.conf_int()) if found.answered else np.full((truth.size, 2), np.nan)
            covered = np.where(np.isnan(error), np.nan, (ends[:, 0] <= truth) & (truth <= ends[:, 1]))
            out[label] = {"outcome": str(found.outcome), "error": error, "covered": covered}
    return out


def alternatives_rows(name: str, reps: int, engine: str = "serial", first: int = 1) -> Iterator[Row]:
    """Yield a row for each alternative that serves a cell: the default beside it, and whether the law holds."""
    with at_work(engine) as runner:
        found = list(runner.map(partial(replicate, name), range(first, first + reps)))
    for label in ALTERNATIVES:
        if all(label in each for each in found):
            yield {"cell": name} | _against([each["default"] for each in found], [each[label] for each in found], label)


def _against(ours: Sequence[Row], theirs: Sequence[Row], label: str) -> Row:
    """Return the default against one alternative, replication by replication."""
    mine, other = (np.array([row["error"] for row in rows]) for rows in (ours, theirs))
    both = np.isfinite(mine).all(axis=1) & np.isfinite(other).all(axis=1)
    covered = np.array([row["covered"] for row in theirs])[both]
    ratio = error = coverage = None
    if both.sum() > 1:
        mine, other = mine[both], other[both]
        ratio, coverage = float(np.exp(_log_ratio(mine, other))), float(covered.mean())
        left = [_log_ratio(np.delete(mine, i, 0), np.delete(other, i, 0)) for i in range(len(mine))]  # jackknife
        error = float(ratio * np.sqrt((len(mine) - 1) * np.var(left)))
    answers = [sum(row["outcome"] == "converged" for row in rows) for rows in (ours, theirs)]
    slack = TWO * (COVERS * (1 - COVERS) / max(both.sum(), 1)) ** 0.5
    worse = ratio is not None and coverage is not None and ratio > WORSE and coverage >= COVERS - slack
    held = {"error": not worse, "outcome": answers[0] >= answers[1]}
    return {
        "alternative": label,
        "RMSE ratio": ratio,
        "+-": error,
        "its coverage": coverage,
        "answers": answers[0],
        "its answers": answers[1],
        "of": len(ours),
        "violated": ", ".join(what for what, holds in held.items() if not holds),
    }


def _log_ratio(mine: Array, other: Array) -> float:
    """Return the mean over coefficients of the logarithm of the ratio of RMSEs."""
    return float(np.log((mine**2).mean(axis=0) / (other**2).mean(axis=0)).mean() / 2)
