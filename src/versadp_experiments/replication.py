"""One replication: a pure function of seed, cell and number, so that any engine in any order gives the same."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp_experiments import logistic, means, median, ours
from versadp_experiments.cells import TABLES
from versadp_experiments.sampling import draw

if TYPE_CHECKING:
    from versadp_experiments.cells import Cell

_PAPER = {"table1": means.estimates, "table2": logistic.estimates, "table3": median.estimates}


class Job(NamedTuple):
    """Some replications of one cell.

    Attributes
    ----------
    reps : tuple of int
        Their numbers.
    ours : int
        Replications below this number are also fitted by ours.
    """

    cell: Cell
    reps: tuple[int, ...]
    seed: int
    ours: int


def truth(table: str) -> list[float]:
    """Return the true values of a table's columns."""
    if table == "table1":
        return [f.mean for f in means.FUNCTIONS.values()]
    return [1.0] * (6 if table == "table2" else 7)


def replicate(cell: Cell, rep: int, seed: int, *, with_ours: bool) -> dict[str, Any]:
    """Return what one replication estimated, ready to be written as a line."""
    rng = np.random.default_rng([seed, TABLES.index(cell.table), cell.block, cell.n, rep])
    sample = draw(cell, rng)
    line: dict[str, Any] = {"n": cell.n, "block": cell.block, "rep": rep, "paper": _PAPER[cell.table](cell, sample)}
    if with_ours:
        line["ours"] = ours.estimates(cell, sample, rep)
    return line


def work(job: Job) -> list[dict[str, Any]]:
    """Do a job; runs in another process.

    One thread a process where threadpoolctl is installed (the extra `versadp[bench]`): the processes fill the cores,
    and sums are rounded the same way on every engine. Without it results are the same up to rounding, and slower.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        threadpool_limits = nullcontext
    with threadpool_limits(1):
        return [replicate(job.cell, rep, job.seed, with_ours=rep < job.ours) for rep in job.reps]
