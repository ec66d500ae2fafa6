"""One replication: draw, release, fit. A pure function of regime, seed and number: any engine gives the same."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np

import versadp as vdp
from versadp.errors import InsecureWarning, VersadpError

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp_bench.coverage.regime import Regime

    Estimator = Callable[["Regime", vdp.Release, dict[str, Any]], Any]

ANSWERS = ("converged", "weak")


class Job(NamedTuple):
    """One replication of a regime, by an estimator."""

    regime: Regime
    rep: int
    seed: int
    estimator: Estimator


def by_versadp(regime: Regime, release: vdp.Release, options: dict[str, Any]) -> vdp.Results:
    """Fit a release as an analyst would, with nothing but defaults."""
    return vdp.fit(release, regime.formula, loss=regime.loss, engine="serial", **options)


def replicate(job: Job) -> dict[str, Any]:
    """Return what one replication found, ready to be written as a line."""
    import pyarrow as pa

    regime = job.regime
    seeds = [job.seed, crc32(regime.name.encode()), job.rep]
    rng = np.random.default_rng(seeds)
    records = regime.people.draw(rng, regime.n)
    raw = regime.fit_raw(records)
    noise, draws = (int(number) for number in rng.integers(2**31, size=2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureWarning)
        release = regime.mechanism().release(pa.table(records), insecure_seed=noise, engine="serial")
    changed, options = (release, {}) if regime.misuse is None else regime.misuse.change(release)
    start = time.perf_counter()
    answer = _asked(job, changed, options | {"random_state": draws})
    seconds = round(time.perf_counter() - start, 4)
    plain = {"outcome": raw.outcome, "estimate": raw.estimate.tolist(), "error": raw.error.tolist()}
    return {"rep": job.rep, "seed": seeds, **answer, "raw": plain, "seconds": seconds}


def _asked(job: Job, release: vdp.Release, options: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of the estimator; what it raises is an outcome too, since a run of hours must not end by it."""
    try:
        found = job.estimator(job.regime, release, options)
        answer: dict[str, Any] = {"outcome": str(found.outcome)}
        if found.outcome in ANSWERS:
            answer |= {
                "estimate": np.asarray(found.params).tolist(),
                "error": np.asarray(found.bse).tolist(),
                "interval": np.asarray(found.conf_int()).tolist(),
            }
            answer |= _tested(found)
    except VersadpError as problem:
        return {"outcome": f"{type(problem).__name__}: {problem.message}"}
    except Exception as problem:  # noqa: BLE001 - a crash is the worst of answers, and counts as one
        return {"outcome": f"crashed, {type(problem).__name__}: {problem}"}
    return answer


def _tested(found: Any) -> dict[str, float]:
    """Return the p-value of the specification test, where there is one."""
    if not hasattr(found, "specification_test"):
        return {}
    try:
        return {"pvalue": float(found.specification_test().pvalue)}
    except VersadpError:  # a fit with nothing to contrast
        return {}


def work(job: Job) -> dict[str, Any]:
    """Do a job; runs in another process.

    One thread a process: the processes fill the cores, and sums are rounded the same way on every engine.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        return replicate(job)
