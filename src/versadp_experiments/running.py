"""Run the replications of a table on an engine, skipping what is already there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from versadp.display.progress import bar
from versadp.engine import at_work
from versadp_experiments.cells import cells
from versadp_experiments.replication import Job, work
from versadp_experiments.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from versadp_experiments.cells import Cell

_CHUNK = {"table1": 50, "table2": 10, "table3": 10}
_CHUNK_OURS = 5


@dataclass(frozen=True)
class Plan:
    """What to run.

    Attributes
    ----------
    reps : int
        Replications of the paper's methods in each cell.
    ours : int
        How many of them are fitted by ours as well, which take longer.
    """

    table: str
    reps: int
    ours: int
    sizes: tuple[int, ...] = ()
    seed: int = 1
    reading: str = "found"

    @property
    def cells(self) -> list[Cell]:
        """The cells."""
        return cells(self.table, self.sizes, self.reading)


def jobs(plan: Plan, store: Store) -> Iterator[Job]:
    """Yield what is left to do: replications with ours in small jobs first, the others after them."""
    for cell in plan.cells:
        for low, high, size in (
            (0, min(plan.ours, plan.reps), _CHUNK_OURS),
            (min(plan.ours, plan.reps), plan.reps, _CHUNK[plan.table]),
        ):
            rest = [r for r in range(low, high) if not store.has(cell.n, cell.block, r, with_ours=r < plan.ours)]
            for i in range(0, len(rest), size):
                yield Job(cell, tuple(rest[i : i + size]), plan.seed, plan.ours)


def run(plan: Plan, out: str | Path | None = None, engine: str = "processes") -> Store:
    """Run a plan, or the rest of it, and return all its replications.

    Parameters
    ----------
    plan : Plan
    out : str or Path, optional
        Folder where replications are kept; none keeps nothing.
    engine : str
        "processes" uses all cores, "dask" and "dask://host:port" a cluster.
    """
    header = {"table": plan.table, "seed": plan.seed, "reading": plan.reading, "format": 1}
    path = None if out is None else Path(out) / f"{plan.table}-{plan.reading}-{plan.seed}.jsonl"
    store = Store(path, header)
    left = list(jobs(plan, store))
    done, total = 0, sum(len(job.reps) for job in left)
    with bar(f"{plan.table}, {total} replications") as tell, at_work(engine) as runner:
        for lines in runner.map(work, left) if left else ():
            store.add(lines)
            done += len(lines)
            tell(done / total)
    return store
