"""Benchmarks of releasing in memory."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import versadp as vdp
from versadp_bench.measure import Figure, best_times

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = 10


def _schema() -> vdp.Schema:
    return vdp.Schema({f"x{j}": vdp.Bounded(0, 1) for j in range(COLUMNS)})


def _mechanism() -> vdp.Mechanism:
    return vdp.Mechanism(_schema(), scale=0.25, exact_rate=0.05)


def _table(rows: int) -> Any:
    import pyarrow as pa

    rng = np.random.default_rng(0)
    return pa.table({f"x{j}": rng.random(rows) for j in range(COLUMNS)})


def release_rate(rows: int = 1_000_000) -> Iterator[Figure]:
    """In-memory release on one core, against numpy's `standard_normal` making as many values; rows where they are."""
    mechanism, table = _mechanism(), _table(rows)
    rng = np.random.default_rng(1)
    mechanism.release(table.slice(0, 10))
    release, threads, normal = best_times(
        partial(mechanism.release, table, shuffle=False, engine="serial"),
        partial(mechanism.release, table, shuffle=False, engine="threads"),
        partial(rng.standard_normal, rows * COLUMNS),
    )
    yield Figure("release, one core / standard_normal", normal / release, "ratio of rates", 0.30, higher=True)
    yield Figure("release, one core", rows * COLUMNS / release / 1e6, "M values/s", 0, higher=True)
    yield Figure("release, threads / one core", release / threads, "ratio of rates", 0, higher=True)


def window_rate(rows: int = 1_000_000) -> Iterator[Figure]:
    """Measure the same of windows, one a column and one for all, and with the rows sorted, which is the default."""
    table, rng = _table(rows), np.random.default_rng(1)
    windows = {
        "windows": vdp.calibrate(_schema(), epsilon=4, unit="attribute"),
        "one joint window": vdp.calibrate(_schema(), epsilon=8),
    }
    for name, mechanism in windows.items():
        mechanism.release(table.slice(0, 10))
        release, shuffled, normal = best_times(
            partial(mechanism.release, table, shuffle=False, engine="serial"),
            partial(mechanism.release, table, engine="serial"),
            partial(rng.standard_normal, rows * COLUMNS),
        )
        yield Figure(f"{name}, one core / standard_normal", normal / release, "ratio of rates", 0.30, higher=True)
        yield Figure(f"{name}, one core", rows * COLUMNS / release / 1e6, "M values/s", 0, higher=True)
        yield Figure(f"{name}, sorted / standard_normal", normal / shuffled, "ratio of rates", 0, higher=True)


def record_latency(records: int = 2_000) -> Iterator[Figure]:
    """One record on a device, after the first."""
    mechanism, key = _mechanism(), vdp.fresh_key()
    people = [{f"x{j}": (i + j) / (records + COLUMNS) for j in range(COLUMNS)} for i in range(records)]
    mechanism.privatize(people[0], key=key)
    (seconds,) = best_times(lambda: [mechanism.privatize(person, key=key) for person in people], rounds=3)
    yield Figure("privatize, a record", seconds / records * 1e6, "µs", 100, higher=False)


def import_time(runs: int = 5) -> Iterator[Figure]:
    """`import versadp` in a fresh interpreter, beyond the interpreter's own start."""

    def start(code: str) -> float:
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - begin

    with_it = min(start("import versadp") for _ in range(runs))
    without = min(start("pass") for _ in range(runs))
    yield Figure("import versadp", with_it - without, "s", 0.4, higher=False)


BENCHMARKS = {
    "release": release_rate,
    "window-release": window_rate,
    "privatize": record_latency,
    "import": import_time,
}
