"""Benchmarks of a cluster: what it costs on the same cores, what a second worker brings, and a pass against reading.

All in one run and in turns, medians of five; processor time stands beside wall time, since scheduler, workers and the
process that asks share the cores of one machine.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

import versadp as vdp
from versadp.engine import Pool, add_up, cores
from versadp.engine.dask import HERE
from versadp_bench.measure import Figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROUNDS = 5
_COLUMNS = ("x0", "x1", "x2")
_FORMULA = "y ~ x0 + x1 + x2"


def _released(place: Path, rows: int) -> Path:
    """Release made-up people to a folder."""
    import pyarrow as pa

    rng = np.random.default_rng(0)
    people: dict[str, Any] = {name: rng.random(rows) for name in _COLUMNS}
    people["y"] = sum(people.values()) + rng.normal(size=rows)
    schema = vdp.Schema({name: vdp.Bounded(0, 1) for name in _COLUMNS} | {"y": vdp.Public()})
    vdp.calibrate(schema, epsilon=8).release(pa.table(people), shuffle=False).save(place)
    return place


def _worked(clients: Sequence[Any]) -> float:
    """Return the processor time of this process and of all workers, in seconds."""
    psutil = import_module("psutil")
    pids = [pid for client in clients for pid in client.run(os.getpid).values()]
    spent = [psutil.Process(pid).cpu_times() for pid in (os.getpid(), *pids)]
    return float(sum(each.user + each.system for each in spent))


def _medians(functions: Sequence[Callable[[], object]], clients: Sequence[Any], rounds: int) -> list[tuple[float, ...]]:
    """Return wall time and processor time of each function, the functions taking turns."""
    taken: list[list[tuple[float, float]]] = [[] for _ in functions]
    for function in functions:  # kernels are compiled, and parts looked at
        function()
    for _ in range(rounds):
        for i, function in enumerate(functions):
            wall, worked = time.perf_counter(), _worked(clients)
            function()
            taken[i].append((time.perf_counter() - wall, _worked(clients) - worked))
    return [tuple(median(column) for column in zip(*each, strict=True)) for each in taken]


def _cluster(stack: ExitStack, workers: int) -> Any:
    """Start a cluster of workers with one thread each."""
    distributed: Any = import_module("distributed")
    cluster = stack.enter_context(distributed.LocalCluster(n_workers=workers, **HERE))
    return stack.enter_context(distributed.Client(cluster, set_as_default=False))


def cluster_rate(rows: int = 8_000_000, rounds: int = ROUNDS) -> Iterator[Figure]:
    """Fit on threads, on as many workers, and on one."""
    with ExitStack() as stack:
        folder = _released(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "released", rows)
        many, one = _cluster(stack, cores()), _cluster(stack, 1)
        fits = [partial(vdp.fit, folder, _FORMULA, engine=each) for each in ("threads", many, one)]
        (here, cpu_here), (there, cpu_there), (alone, cpu_alone) = _medians(fits, (many, one), rounds)
    what = f"fit of {rows:g} records"
    yield Figure(f"{what}, {cores()} workers / as many threads", there / here, "ratio of times", 1.3, higher=False)
    yield Figure(f"{what}, ... processor time", cpu_there / cpu_here, "ratio of times", np.inf, higher=False)
    if cores() == 2:
        yield Figure(f"{what}, two workers / one", alone / there, "ratio of rates", 1.5, higher=True)
        yield Figure(f"{what}, ... processor time", cpu_alone / cpu_there, "ratio of times", 0, higher=True)


def pass_rate(rows: int = 8_000_000, rounds: int = ROUNDS) -> Iterator[Figure]:
    """One pass of a fit over a release, against reading the same columns with pyarrow, on the same cores."""
    from versadp.estimation.moments import Task, of_lots
    from versadp.fitting.estimate import estimate
    from versadp.fitting.models import make_problem
    from versadp.fitting.solver import SolverOptions
    from versadp.losses import as_loss

    with tempfile.TemporaryDirectory() as place:
        folder = _released(Path(place) / "released", rows)
        release, threads = vdp.load(folder), Pool("threads", cores())
        problem = make_problem(release, _FORMULA, as_loss("squared"), None, None, keeper=None)
        found = estimate(problem, SolverOptions("efficient", None, 1, 0, threads))
        assert found.diagnostics is not None
        family, theta = found.diagnostics.family, found.fit.theta
        task = Task(family.forms, family.size, theta, np.ones((1, len(family.names))), hessian=True)
        passing = partial(of_lots, task.sums, family.forms, family.seed, problem.source)
        reading = partial(_read, folder, [*_COLUMNS, "y"])
        functions = [
            lambda: add_up(lot for lots in threads.map(passing, problem.source.handles()) for lot in lots),
            lambda: sum(threads.map(reading, release.handles())),
        ]
        (ours, cpu_ours), (theirs, cpu_theirs) = _medians(functions, (), rounds)
    what = f"pass over {rows:g} records / reading them by pyarrow"
    yield Figure(what, theirs / ours, "ratio of rates", 0.4, higher=True)
    yield Figure("... processor time", cpu_theirs / cpu_ours, "ratio of times", 0, higher=True)


def _read(folder: Path, columns: list[str], handle: Any) -> int:
    import pyarrow.parquet as pq

    with pq.ParquetFile(folder / handle.file) as file:
        return int(file.read_row_group(handle.group, columns=columns).num_rows)


BENCHMARKS = {"cluster": cluster_rate, "pass": pass_rate}
