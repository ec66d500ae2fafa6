"""How cost grows with the number of rows: release and fit in processes of their own, and a model of what they say.

    seconds(n) = fixed + each n        each: CPU seconds a row, from two sizes; the third is predicted before it is run

What is asked of a machine is CPU time a row and memory that does not grow. Rows are made as they are asked for, so that
nothing but the release is measured, or come out of a file. On a cluster rows are shared out:

    seconds  >=  each n / cores,    bytes n passes / (workers rate)        whichever is more
    network  =   passes workers 8 (p + p²)                                 bytes: sums of the size of the parameters
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from versadp.release.atomic_write import sync_file
from versadp_bench.files import COLUMNS, write

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMES = {100_000: 5, 1_000_000: 5, 10_000_000: 5, 100_000_000: 1}  # rows, and how often: the median counts
PARAMETERS = 4
_HEAD = """
import json, os, sys
from versadp_bench.files import Made
from versadp_bench.measure import peak_memory
import versadp as vdp
columns = {f"x{j}": vdp.Bounded(0, 1) for j in range(int(sys.argv[3]))}
def report(begun, passes):
    user, system, _, _, clock = (now - then for now, then in zip(os.times(), begun))
    print(json.dumps([clock, user, system, peak_memory(), passes]))
"""
_ROWS = (
    _HEAD
    + """
begun = os.times()
for batch, share in Made(int(sys.argv[4])).batches():
    pass
report(begun, 1)
"""
)
_RELEASE = (
    _HEAD
    + """
mech = vdp.calibrate(%s, epsilon=8)
begun = os.times()
vdp.release_file(%s, sys.argv[2], mech)
report(begun, 1)
"""
)
_FIT = (
    _HEAD
    + """
class Counting:
    name, passes = "counting", 0
    inner = vdp.engine.as_engine("threads")
    def map(self, function, items):
        self.passes += 1
        return self.inner.map(function, items)
    def sum(self, function, items):
        self.passes += 1
        return self.inner.sum(function, items)
engine = Counting()
begun = os.times()
vdp.fit(sys.argv[2], "x9 ~ x0 + x1 + x2", engine=engine)
report(begun, engine.passes)
"""
)
_FILE = "sys.argv[1]"
_STEPS = {  # what is run, and where
    "rows alone": (_ROWS, "none"),
    "release": (_RELEASE % ("vdp.Schema(columns)", "Made(int(sys.argv[4]))"), "plain"),
    "fit": (_FIT, "plain"),
    "release of a file": (_RELEASE % ('vdp.Schema(columns | {"person": vdp.Omitted()})', _FILE), "read"),
    "release with an id": (_RELEASE % ('vdp.Schema(columns, id="person")', _FILE), "named"),
}


@dataclass(frozen=True)
class Cost:
    """What one run took: by the clock, of processors for itself and for the system, and of memory."""

    rows: int
    seconds: float
    user: float
    system: float
    peak: float
    passes: int
    load: float

    @property
    def cpu(self) -> float:
        """Processor seconds in all."""
        return self.user + self.system


def _median(code: str, rows: int, data: Path, out: Path) -> Cost:
    """Run a step as often as its size asks for, and return the run of median CPU time."""
    costs = []
    for turn in range(TIMES[rows]):
        if turn and code is not _FIT:  # which leaves nothing
            shutil.rmtree(out.parent)
        out.parent.mkdir(exist_ok=True)
        for path in (
            *data.parent.glob(data.name),
            *out.glob("*.parquet"),
        ):  # what was just used is still in memory, unless it is too large
            _let_go(path)
        costs.append(_run(code, rows, data, out))
    return sorted(costs, key=lambda cost: cost.cpu)[len(costs) // 2]


def _let_go(path: Path) -> None:
    """Say that a file need not stay in memory."""
    if hasattr(os, "posix_fadvise") and path.exists():
        with path.open("rb") as file, suppress(OSError):  # it is but advice
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _run(code: str, rows: int, *arguments: object) -> Cost:
    """Run a step in a process of its own, whose state is its own too."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan
    state = str(Path(str(arguments[1])).parent / "state")
    home = {"XDG_STATE_HOME": state, "VERSADP_STATE": state}
    command = [sys.executable, "-c", code, *map(str, arguments), str(COLUMNS), str(rows)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | home)
    seconds, user, system, peak, passes = json.loads(done.stdout)
    return Cost(rows, seconds, user, system, peak, passes, load)


@dataclass(frozen=True)
class Line:
    """CPU seconds as a line of the number of rows, through two sizes.

    Examples
    --------
    >>> line = Line.through((100, 2.0), (1100, 3.0))
    >>> round(line.each, 6), round(line(10_100), 6)
    (0.001, 12.0)
    """

    fixed: float
    each: float

    @classmethod
    def through(cls, one: tuple[float, float], other: tuple[float, float]) -> Line:
        """Return the line through two points; no row costs less than nothing."""
        each = max((other[1] - one[1]) / (other[0] - one[0]), 0.0)
        return cls(one[1] - each * one[0], each)

    def __call__(self, rows: float) -> float:
        """Return the CPU seconds of so many rows."""
        return self.fixed + self.each * rows


def cluster(
    rows: float, line: Line, *, size: float, passes: int, workers: int, cores: int, rate: float
) -> dict[str, Any]:
    """Return what many rows cost on a cluster, and what it waits for.

    Parameters
    ----------
    rows : float
    line : Line
        CPU seconds.
    size : float
        Bytes of a row that are read in a pass.
    passes : int
    workers, cores : int
        Machines, and cores of each.
    rate : float
        Bytes a second that one machine reads.

    Examples
    --------
    >>> cluster(1e10, Line(0.0, 1e-6), size=40, passes=5, workers=10, cores=8, rate=5e8)["waits for"]
    'reading'
    """
    read = size * rows * passes
    work, reading = line.each * rows / (workers * cores), read / (workers * rate)
    return {
        "rows": f"{rows:g}",
        "CPU hours": round(line.each * rows / 3600, 1),
        "bytes read": f"{read:.3g}",
        "bytes on the network": f"{passes * workers * 8 * (PARAMETERS + PARAMETERS**2):,}",
        "minutes": round(max(work, reading) / 60, 1),
        "waits for": "cores" if work >= reading else "reading",
    }


def scaling_table(most: float = 1e7) -> Iterator[dict[str, Any]]:
    """Yield a row for each step and size: time, memory, the exponent, and what was predicted before it was run."""
    costs: dict[str, list[Cost]] = {step: [] for step in _STEPS}
    for rows in [size for size in TIMES if size <= most]:
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "data.parquet"
            for step, (code, name) in _STEPS.items():
                own, out = costs[step], Path(folder) / name / "out"
                told = Line.through(*((c.rows, c.cpu) for c in own[-2:]))(rows) if len(own) > 1 else None
                if _FILE in code and not data.exists():
                    sync_file(write(data, rows, people=True))
                own.append(_median(code, rows, data, out))
                yield _row(step, own, told, _size(out) / rows)
                if step != "release":  # which is to be fitted
                    shutil.rmtree(out.parent, ignore_errors=True)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.parquet"))


def _row(step: str, costs: list[Cost], told: float | None, size: float) -> dict[str, Any]:
    now = costs[-1]
    before = costs[-2] if len(costs) > 1 else None
    exponent = None if before is None else math.log(now.cpu / before.cpu) / math.log(now.rows / before.rows)
    return {
        "step": step,
        "rows": f"{now.rows:g}",
        "seconds": round(now.seconds, 2),
        "CPU seconds": round(now.cpu, 2),
        "of the system": round(now.system, 2),
        "CPU µs a row": round(1e6 * now.cpu / now.rows, 3),
        "a further row": "" if before is None else round(1e6 * (now.cpu - before.cpu) / (now.rows - before.rows), 3),
        "predicted": "" if told is None else round(told, 2),
        "exponent": "" if exponent is None else round(exponent, 2),
        "peak GiB": round(now.peak, 2),
        "passes": now.passes,
        "bytes a row": round(size, 1),
        "load": round(now.load, 1),
    }
