"""Measuring on a noisy machine: the best of several runs, taken in turns with what it is compared to."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Figure:
    """One measured figure and what is asked of it.

    `required` is a lower bound if `higher` is true, else an upper bound.
    """

    name: str
    figure: float
    unit: str
    required: float
    higher: bool

    @property
    def met(self) -> bool:
        """True if the figure meets the requirement."""
        return self.figure >= self.required if self.higher else self.figure <= self.required

    def row(self) -> dict[str, Any]:
        """Return the figure as a row of a table."""
        bound = f"{'>=' if self.higher else '<='} {self.required:g}"
        return {"benchmark": self.name, "figure": self.figure, "unit": self.unit, "required": bound, "met": self.met}


def best_times(*functions: Callable[[], object], rounds: int = 7) -> list[float]:
    """Return the best time of each function in seconds, the functions taking turns."""
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def peak_memory(process: int | str = "self") -> float:
    """Return the most memory that this process, or on Linux one with a number, has had, in GiB.

    On Linux `getrusage` would also count what the process that started this one had at the time.
    """
    status = Path(f"/proc/{process}/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**20
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**30 if sys.platform == "darwin" else 2**20)
