"""Benchmarks of releasing files, against a plain copy by pyarrow with the same compression, in one run.

Each runs in a process of its own, which reports its peak of memory; the file is made beforehand and is in the system's
cache for both. The release also waits until its bytes are on the disk, which the copy does not.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from versadp_bench.measure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = 10
_PIECE = 2**20
_ROUNDS = 3
_REPORT = """
import json, sys, time
from versadp_bench.measure import peak_memory
def report(start):
    print(json.dumps([time.perf_counter() - start, peak_memory()]))
"""
_COPY = (
    _REPORT
    + """
import pyarrow.parquet as pq
start = time.perf_counter()
source, writer = pq.ParquetFile(sys.argv[1]), None
for batch in source.iter_batches(2**17):
    if writer is None:
        options = dict(compression="zstd", compression_level=1, use_dictionary=False)
        writer = pq.ParquetWriter(sys.argv[2], batch.schema, **options)
    writer.write_batch(batch)
writer.close()
report(start)
"""
)
_RELEASE = (
    _REPORT
    + """
import versadp as vdp
from versadp.release.files.finalize import finalize
from versadp.release.files.release import release_file
schema = vdp.Schema({f"x{j}": vdp.Bounded(0, 1) for j in range(int(sys.argv[3]))})
if "window" in sys.argv:
    mech = vdp.calibrate(schema, epsilon=8)
else:
    mech = vdp.Mechanism(schema, scale=0.25, exact_rate=0.05)
start = time.perf_counter()
release_file(sys.argv[1], sys.argv[2], mech, shuffle="shuffle" in sys.argv)
if "finalize" in sys.argv:
    finalize(sys.argv[2])
report(start)
"""
)


@dataclass(frozen=True)
class Made:
    """Uniform numbers, made as they are asked for and the same each time: a source that costs next to nothing."""

    rows: int
    columns: pa.Schema = field(default_factory=lambda: pa.schema([(f"x{j}", pa.float64()) for j in range(COLUMNS)]))

    def batches(self, rows: int = 2**17) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Yield the records, each batch with the share of the whole that is made by then."""
        rng = np.random.Generator(np.random.SFC64(0))
        for start in range(0, self.rows, rows):
            stop = min(start + rows, self.rows)
            numbers = [pa.array(rng.random(stop - start)) for _ in self.columns]
            yield pa.RecordBatch.from_arrays(numbers, schema=self.columns), stop / self.rows


def write(path: Path, rows: int, *, people: bool = False) -> Path:
    """Write a Parquet file of uniform numbers, piece by piece, perhaps with who the people are."""
    made, start = Made(rows), 0
    columns = made.columns.append(pa.field("person", pa.int64())) if people else made.columns
    with pq.ParquetWriter(path, columns, compression="zstd", compression_level=1, use_dictionary=False) as writer:
        for batch, _ in made.batches(_PIECE):
            own = [pa.array(np.arange(start, start + batch.num_rows))] if people else []
            writer.write_batch(pa.RecordBatch.from_arrays([*batch.columns, *own], schema=columns))
            start += batch.num_rows
    return path


def _state(out: Path) -> Path:
    return out.parent / "state"


def _run(code: str, *arguments: object) -> tuple[float, float]:
    """Return the seconds that a process says it took, and its peak of memory in GiB."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    state = str(_state(Path(str(arguments[1]))))
    home = {"XDG_STATE_HOME": state, "VERSADP_STATE": state}  # nothing is to be remembered of a benchmark
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | home)
    seconds, peak = json.loads(done.stdout)
    return float(seconds), float(peak)


def _release(data: Path, out: Path, *more: object) -> tuple[float, float]:
    for leftover in (out, _state(out)):
        shutil.rmtree(leftover, ignore_errors=True)
    return _run(_RELEASE, data, out, COLUMNS, *more)


def _against_copy(name: str, rows: int, least: float, *how: str) -> Iterator[Figure]:
    """Parquet to release folder on all cores, against a plain copy; memory at the same size and at twice the rows."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        data, twice = write(place / "data.parquet", rows), write(place / "twice.parquet", 2 * rows)
        copies, releases = [], []
        for _ in range(_ROUNDS):
            copies.append(_run(_COPY, data, place / "copy.parquet"))
            releases.append(_release(data, place / "out", *how))
        copy, release = min(seconds for seconds, _ in copies), min(seconds for seconds, _ in releases)
        peak, larger = max(peak for _, peak in releases), _release(twice, place / "out", *how)[1]
    yield Figure(f"{name} of {rows:g} rows / pyarrow copy", copy / release, "ratio of rates", least, higher=True)
    yield Figure(name, rows * COLUMNS / release / 1e6, "M values/s", 0, higher=True)
    yield Figure(f"{name}, peak of memory", peak, "GiB", 1.0, higher=False)
    yield Figure(f"{name}, peak at twice the rows / at once", larger / peak, "ratio", 1.15, higher=False)


def file_rate(rows: int = 4_000_000) -> Iterator[Figure]:
    """Laplace noise, records where they are."""
    yield from _against_copy("file", rows, 0.5)


def shuffled_rate(rows: int = 4_000_000) -> Iterator[Figure]:
    """One window for all columns, records sorted."""
    yield from _against_copy("shuffled file", rows, 0.3, "window", "shuffle")


def small_file(runs: int = 3) -> Iterator[Figure]:
    """Ten records: released and finalised, from the first call in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        data = write(place / "data.parquet", 10)
        seconds = min(_release(data, place / "out", "finalize")[0] for _ in range(runs))
    yield Figure("ten rows, released and finalised", seconds, "s", 2.0, higher=False)


BENCHMARKS = {"files": file_rate, "shuffled-files": shuffled_rate, "small-file": small_file}
