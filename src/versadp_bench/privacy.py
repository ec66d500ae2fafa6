"""Benchmarks of accounting and calibration."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import versadp as vdp
from versadp_bench.measure import Figure, best_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def _schema(dim: int, levels: Iterable[int] = ()) -> vdp.Schema:
    columns: dict[str, vdp.Bounded | vdp.Categorical] = {f"x{j}": vdp.Bounded(0, 1) for j in range(dim)}
    return vdp.Schema(columns | {f"c{j}": vdp.Categorical(list(range(k))) for j, k in enumerate(levels)})


def accounting() -> Iterator[Figure]:
    """Exact curves at dim 6: one epsilon, and a thousand at shifts that were not seen before."""
    shifts = iter(np.linspace(0.4, 0.6, 1000))

    def once(epsilons: float | np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
        vdp.privacy.symmetric_laplace(6, float(next(shifts))).delta(epsilons)

    once(0.8)
    one, many = best_times(partial(once, 0.8), partial(once, np.linspace(0, 5, 1000)))
    yield Figure("one delta(epsilon), dim 6", one * 1e3, "ms", 5, higher=False)
    yield Figure("1000 deltas in one call, dim 6", many * 1e3, "ms", 100, higher=False)


def calibration() -> Iterator[Figure]:
    """`calibrate` for every kind of target and schema, at targets that were not seen before."""
    kinds: dict[str, Callable[[float], dict[str, float]]] = {
        "epsilon, delta": lambda x: {"epsilon": 1 + x, "delta": 0.05},
        "advantage": lambda x: {"advantage": 0.3 + 0.1 * x},
        "alpha, beta": lambda x: {"alpha": 0.05, "beta": 0.6 - 0.1 * x},
    }
    for dim, limit in ((2, 200), (6, 200), (100, 200), (10_000, 2000)):
        for what, levels in (("", ()), (", 10 categories", range(2, 51, 5))):
            schema = _schema(dim, levels)
            for name, goal in kinds.items():
                steps = iter(np.linspace(0.0, 1.0, 50))
                _calibrate_next(schema, goal, steps)
                (seconds,) = best_times(partial(_calibrate_next, schema, goal, steps), rounds=5)
                yield Figure(f"calibrate to {name}, dim {dim}{what}", seconds * 1e3, "ms", limit, higher=False)


def _calibrate_next(schema: vdp.Schema, goal: Callable[[float], dict[str, float]], steps: Iterator[float]) -> None:
    vdp.calibrate(schema, noise="zil", **goal(float(next(steps))))  # type: ignore[arg-type] # options by name


BENCHMARKS = {"accounting": accounting, "calibrate": calibration}
