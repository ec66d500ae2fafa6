"""Benchmarks of accounting and calibration."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import versadp as vdp
from versadp_bench.measure import Figure, best_times

if TYPE_CHECKING:
    from collections.abc import Iterator


def _schema(dim: int) -> vdp.Schema:
    return vdp.Schema({f"x{j}": vdp.Bounded(0, 1) for j in range(dim)})


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
    """`calibrate` at several dimensions, at targets that were not seen before."""
    for dim, limit in ((6, 200), (100, 200), (10_000, 2000)):
        schema, epsilons = _schema(dim), iter(np.linspace(1.0, 4.0, 50))
        vdp.calibrate(schema, epsilon=0.9, delta=0.05)
        (seconds,) = best_times(partial(_calibrate_next, schema, epsilons), rounds=5)
        yield Figure(f"calibrate, dim {dim}", seconds * 1e3, "ms", limit, higher=False)


def _calibrate_next(schema: vdp.Schema, epsilons: Iterator[float]) -> None:
    vdp.calibrate(schema, epsilon=float(next(epsilons)), delta=0.05)


BENCHMARKS = {"accounting": accounting, "calibrate": calibration}
