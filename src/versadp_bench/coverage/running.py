"""Run the replications of many regimes on an engine, skipping what is already there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from versadp.display.progress import bar
from versadp.engine import at_work
from versadp.engine.code import code_digest
from versadp_bench.coverage.replication import Job, by_versadp, work
from versadp_bench.coverage.summary import Summary, summarise
from versadp_bench.coverage.verdict import YES
from versadp_bench.store import Store, slug

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from versadp_bench.coverage.regime import Regime
    from versadp_bench.coverage.replication import Estimator

FULL, AGAIN = 200, 1000
FRESH = 1_000_000  # numbers of fresh replications begin here


@dataclass(frozen=True)
class Plan:
    """What to run.

    Attributes
    ----------
    reps : int
        Replications of each regime.
    again : int
        Fresh replications of each regime that is outside its limits, which alone count then; 0: none.
    estimator : callable
        What answers; must be a function of a module where other processes run it.
    """

    regimes: Sequence[Regime]
    reps: int
    again: int = 0
    seed: int = 1
    estimator: Estimator = by_versadp


def run(plan: Plan, out: str | Path | None = None, engine: str = "processes") -> list[Summary]:
    """Run a plan, or the rest of it, and return how each regime came out.

    Parameters
    ----------
    plan : Plan
    out : str or Path, optional
        Folder where replications and true values are kept; none keeps nothing.
    engine : str
        "processes" uses all cores, "dask" and "dask://host:port" a cluster.
    """
    folder = None if out is None else Path(out)
    stores = {regime.name: open_store(regime, plan, folder) for regime in plan.regimes}
    _replicate(plan, plan.regimes, stores, range(plan.reps), engine)
    truths = {regime.name: true_values(regime, folder) for regime in plan.regimes}

    def summed(regime: Regime, numbers: range, *, last: bool) -> Summary:
        lines = stores[regime.name].lines
        return summarise(regime, truths[regime.name], [lines[rep] for rep in numbers], last=last)

    first = [summed(regime, range(plan.reps), last=False) for regime in plan.regimes]
    if not plan.again:
        return first
    fresh = range(FRESH, FRESH + plan.again)
    outside = [regime for regime, found in zip(plan.regimes, first, strict=True) if found.holds != YES]
    _replicate(plan, outside, stores, fresh, engine)
    return [
        summed(regime, fresh, last=True) if regime in outside else found
        for regime, found in zip(plan.regimes, first, strict=True)
    ]


def open_store(regime: Regime, plan: Plan, folder: Path | None) -> Store:
    """Return the file of a regime's replications, or one in memory."""
    by = f"{plan.estimator.__module__}.{plan.estimator.__qualname__}"
    header = {"regime": repr(regime), "seed": plan.seed, "estimator": by, "code": code_digest(), "format": 1}
    return Store(None if folder is None else folder / f"{slug(regime.name)}.jsonl", header)


def true_values(regime: Regime, folder: Path | None = None) -> list[float]:
    """Return a regime's true coefficients, found once a folder."""
    file = None if folder is None else folder / f"{slug(regime.name)}.truth.json"
    if file is not None and file.exists():
        kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if kept["regime"] == repr(regime):
            return list(kept["truth"])
    truth: list[float] = regime.truth().tolist()
    if file is not None:
        beside = file.with_suffix(".part")
        beside.write_text(json.dumps({"regime": repr(regime), "truth": truth}), encoding="utf-8")
        beside.replace(file)
    return truth


def _replicate(
    plan: Plan, regimes: Sequence[Regime], stores: dict[str, Store], numbers: Iterable[int], engine: str
) -> None:
    """Do what is left to do, the first replications of all regimes first: an early look then shows every row."""
    left = [
        Job(regime, rep, plan.seed, plan.estimator)
        for rep in numbers
        for regime in regimes
        if rep not in stores[regime.name].lines
    ]
    with bar(f"{len(left)} replications") as tell, at_work(engine) as runner:
        for done, (job, line) in enumerate(zip(left, runner.map(work, left), strict=True)):
            stores[job.regime.name].add(line)
            tell((done + 1) / len(left))
