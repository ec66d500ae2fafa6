"""Tables: how fast they are beside pandas in memory, and beside reading a folder of released records."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import versadp as vdp
from versadp_bench.measure import Figure, best_times

if TYPE_CHECKING:
    from collections.abc import Iterator

BIRTHS, ON_DISK = 160_000, 2_000_000  # records in memory, and on disk
EDGES = [15, 20, 25, 30, 35, 40, 50]
MOST_SECONDS = 2.0  # of a two-way table in memory
MOST_PANDAS = 4.0  # times pd.crosstab of the same raw records
MOST_READING = 6.0  # times reading the columns


def people(n: int) -> pd.DataFrame:
    """Return made-up births: the mother's age, her level of schooling, the child's weight."""
    rng = np.random.default_rng(0)
    schooling = rng.choice(["none", "primary", "secondary", "higher"], n, p=[0.05, 0.2, 0.5, 0.25])
    age = np.clip(rng.normal(29, 6, n), 15, 50).round()
    return pd.DataFrame({"age": age, "schooling": schooling, "weight": np.clip(rng.normal(3300, 500, n), 500, 6000)})


def released(frame: pd.DataFrame) -> vdp.Release:
    """Return the records released in one window."""
    columns: dict[str, Any] = {
        "age": vdp.Bounded(15, 50, step=1),
        "schooling": vdp.Categorical(["none", "primary", "secondary", "higher"]),
        "weight": vdp.Bounded(500, 6000),
    }
    return vdp.calibrate(vdp.Schema(columns), epsilon=8, unit="record").release(frame)


def tables() -> Iterator[Figure]:
    """Yield the time of a table in memory, also over that of pandas, and on disk over that of reading."""
    frame = people(BIRTHS)
    release = released(frame)
    ours, raw = best_times(
        lambda: vdp.table(release, "schooling", "age", bins={"age": EDGES}, values="weight"),
        lambda: pd.crosstab(frame["schooling"], pd.cut(frame["age"], EDGES)),
    )
    yield Figure(f"two-way table of {BIRTHS:,} records with means", ours, "s", MOST_SECONDS, higher=False)
    yield Figure("two-way table over pd.crosstab of raw records", ours / raw, "times", MOST_PANDAS, higher=False)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "released"
        released(people(ON_DISK)).save(folder)
        stored = vdp.load(folder)

        def read() -> None:
            for handle in stored.handles():
                stored.read(handle, ["schooling", "age"])

        ours, raw = best_times(lambda: vdp.table(stored, "schooling", "age", bins={"age": EDGES}), read, rounds=3)
    yield Figure(
        f"two-way table of {ON_DISK:,} records on disk over reading", ours / raw, "times", MOST_READING, higher=False
    )


BENCHMARKS = {"tables": tables}
