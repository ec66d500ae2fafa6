"""People arrive in K batches, and an analyst wants an up-to-date answer after each.

A release grows: each batch is released once, as it comes (shuffled among itself, so with more noise), and analysts fit
all released records so far. A server can ask one query a batch at the full budget, since no person is in two, and
average: "each batch once"; or ask about all people so far after every batch, in which case the first batch is asked K
times and pays by composition: "all so far".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

import versadp as vdp
from versadp_experiments.baselines.accounting import gaussian_share
from versadp_experiments.baselines.gradient import NoisyGradient
from versadp_experiments.baselines.method import Budget, Sample
from versadp_experiments.baselines.scores import Huber
from versadp_experiments.baselines.versatility import RECORDS, TRUTH, USED, draw, released, slopes

KIND, BATCHES = "windows, shuffled", (1, 4, 10)
TOTAL = Budget(1.0, 1e-6)


def rows(reps: int, seed: int, records: int = RECORDS) -> list[dict[str, Any]]:
    """Return root mean square errors after the last batch."""
    method = NoisyGradient(score=Huber(1.0), passes=30, rate=2.0, share=0.0)
    found: dict[tuple[int, str], list[float]] = {}
    for rep in range(reps):
        rng = np.random.default_rng([seed, 77, rep])
        sample = draw(rng, records)
        used = Sample(sample.x[:, :USED], sample.y)
        for k in BATCHES:
            parts = np.array_split(np.arange(records), k)
            ours = [released(KIND, TOTAL, _part(sample, p), (seed, rep, k, p[0]), records // k) for p in parts]
            union = vdp.Release(pa.concat_tables([release.frame for release in ours]), ours[0].mechanism)
            each = [method.fit(_part(used, p), TOTAL, rng).values[1:] for p in parts]
            last = method.fit(used, gaussian_share(TOTAL, k), rng).values[1:]
            for name, found_slopes in (
                (KIND, np.array(slopes(union))),
                ("noisy gradient descent, each batch once", np.mean(each, axis=0)),
                ("noisy gradient descent, all so far", last),
            ):
                found.setdefault((k, name), []).append(float(np.mean((found_slopes - TRUTH) ** 2)))
    return [{"batches": k, "method": name} | _summary(np.array(square)) for (k, name), square in found.items()]


def _summary(square: Any) -> dict[str, Any]:
    """Return the root mean square error where there is an answer, its Monte Carlo error, and how often there is one."""
    told = square[np.isfinite(square)]
    rmse = float(np.sqrt(told.mean())) if len(told) else math.nan
    error = float(told.std() / (2 * rmse * math.sqrt(len(told)))) if len(told) else math.nan
    return {"rmse": rmse, "+-": error, "answered": len(told) / len(square), "replications": len(square)}


def _part(sample: Sample, index: Any) -> Sample:
    return Sample(sample.x[index], sample.y[index])
