"""What versatility is worth: m analyses under one total budget, m = 1 to 100.

People have four covariates, even on [-1, 1], and a response y = 0.3 x0 - 0.3 x1 + U(-0.3, 0.3); all five columns are
private, the unit is the record, neighbours replace one, n is public. There are m questions, each as hard as the least
squares fit of y on x0 and x1 (other responses, other subsets, other losses); that one is computed, and its root mean
square error over slopes and replications reported. versadp releases all records once, and its error does not depend on
m. The others answer each analysis from the true records, with a share of the budget (`accounting`); a histogram or
noisy moments of all columns are published once, like a release, and serve what they can.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import versadp as vdp
from versadp.display.progress import bar
from versadp.errors import DeltaWarning, UselessWarning
from versadp_experiments.baselines.accounting import gaussian_share, laplace_share, pure_share
from versadp_experiments.baselines.gradient import NoisyGradient
from versadp_experiments.baselines.histogram import PerturbedHistogram
from versadp_experiments.baselines.method import Budget, Sample
from versadp_experiments.baselines.objective import ObjectivePerturbation
from versadp_experiments.baselines.scores import Huber
from versadp_experiments.baselines.sensitivity import NoisyMoments
from versadp_experiments.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ANALYSES = (1, 3, 10, 30, 100)
RECORDS, COLUMNS, USED = 20_000, 4, 2
TRUTH = np.array([0.3, -0.3])
SCHEMA = {f"x{j}": vdp.Bounded(-1, 1) for j in range(COLUMNS)} | {"y": vdp.Bounded(-1, 1)}


@dataclass(frozen=True)
class Setting:
    """A total budget, and the releases that meet it."""

    total: Budget
    releases: tuple[str, ...]

    @property
    def name(self) -> str:
        """The budget in words."""
        return f"({self.total.epsilon:g}, {self.total.delta:g})"


SETTINGS = (
    Setting(Budget(1.0, 1e-6), ("windows, shuffled",)),
    Setting(Budget(4.0, 1e-6), ("windows, shuffled", "windows")),
    Setting(Budget(8.0, 0.1), ("windows, shuffled", "windows", "ZIL")),
)  # a shuffle does nothing for ZIL: `calibrate` refuses it


@lru_cache(maxsize=32)
def mechanism(kind: str, total: Budget, records: int) -> vdp.Mechanism:
    """Return the mechanism of a release that meets the total for a record."""
    schema = vdp.Schema(SCHEMA)
    if kind == "windows":
        return vdp.calibrate(schema, epsilon=total.epsilon)
    if kind == "ZIL":
        return vdp.calibrate(schema, epsilon=total.epsilon, delta=total.delta, noise="zil")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeltaWarning)  # the paper's delta of 0.1 is compared as it is
        return vdp.calibrate(schema, epsilon=total.epsilon, delta=total.delta, shuffled=records)


def draw(rng: np.random.Generator, records: int = RECORDS) -> Sample:
    """Return true records."""
    x = rng.uniform(-1, 1, (records, COLUMNS))
    return Sample(x, x[:, :USED] @ TRUTH + rng.uniform(-0.3, 0.3, records))


def released(kind: str, total: Budget, sample: Sample, tag: object, among: int | None = None) -> vdp.Release:
    """Return one release of all columns; `among` is how many hide one another, if not all of them."""
    table = pa.table({f"x{j}": sample.x[:, j] for j in range(COLUMNS)} | {"y": sample.y})
    made = mechanism(kind, total, among or len(sample.y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UselessWarning)  # batches that are small by themselves are fitted together
        return made.release(table, key=sha256(repr(tag).encode()).digest())


def slopes(release: vdp.Release) -> list[float]:
    """Return the slopes from a release; nan where the fit has no answer."""
    found = vdp.fit(release, "y ~ x0 + x1")
    values = np.asarray(found.params, dtype=float)[1:]
    return [float(v) for v in values] if found.answered else [math.nan] * USED


def _gradient(sample: Sample, total: Budget, m: int, rng: np.random.Generator) -> Array:
    method = NoisyGradient(score=Huber(1.0), passes=30, rate=2.0, share=0.0)
    return method.fit(_used(sample), gaussian_share(total, m), rng).values[1:]


def _objective(sample: Sample, total: Budget, m: int, rng: np.random.Generator) -> Array:
    return ObjectivePerturbation(score=Huber(1.0)).fit(_used(sample), pure_share(total, m), rng).values[1:]


def _histogram(sample: Sample, total: Budget, m: int, rng: np.random.Generator) -> Array:
    method = PerturbedHistogram(score=Huber(1.0), levels=None, factor=3.0)
    return method.fit(_used(sample), laplace_share(total, m), rng).values[1:]


def _moments(sample: Sample, total: Budget, m: int, rng: np.random.Generator) -> Array:
    return NoisyMoments().fit(_used(sample), gaussian_share(total, m), rng).values[1:]


def _one_histogram(sample: Sample, total: Budget, _: int, rng: np.random.Generator) -> Array:
    method = PerturbedHistogram(score=Huber(1.0), levels=None, factor=3.0)
    return method.fit(sample, Budget(total.epsilon), rng).values[1 : 1 + USED]


def _all_moments(sample: Sample, total: Budget, _: int, rng: np.random.Generator) -> Array:
    return NoisyMoments().fit(sample, total, rng).values[1 : 1 + USED]


SHARED: dict[str, Callable[[Sample, Budget, int, np.random.Generator], Array]] = {
    "noisy gradient descent": _gradient,
    "objective perturbation": _objective,
    "perturbed histogram": _histogram,
    "noisy moments": _moments,
}
ONCE: dict[str, Callable[[Sample, Budget, int, np.random.Generator], Array]] = {
    "one histogram of all columns": _one_histogram,
    "noisy moments of all columns": _all_moments,
}


def _used(sample: Sample) -> Sample:
    return Sample(sample.x[:, :USED], sample.y)


def replicate(block: int, rep: int, seed: int, records: int = RECORDS) -> dict[str, Any]:
    """Return what one replication estimated: a pure function of its arguments."""
    setting = SETTINGS[block]
    rng = np.random.default_rng([seed, block, rep])
    sample = draw(rng, records)
    found: dict[str, list[float]] = {
        "no privacy": np.linalg.lstsq(_used(sample).design, sample.y, rcond=None)[0][1:].tolist()
    }
    for kind in setting.releases:
        found[kind] = slopes(released(kind, setting.total, sample, (seed, block, rep, kind)))
    for name, answer in ONCE.items():
        found[name] = answer(sample, setting.total, 1, rng).tolist()
    for name, answer in SHARED.items():
        for m in ANALYSES:
            found[f"{name}|{m}"] = answer(sample, setting.total, m, rng).tolist()
    return {"n": records, "block": block, "rep": rep, "paper": found}


def run(reps: int, seed: int, out: str | None = None, records: int = RECORDS) -> Store:
    """Run what is not yet there, one line a replication, and return all."""
    path = None if out is None else Path(out) / f"versatility-{records}-{seed}.jsonl"
    store = Store(path, {"table": "versatility", "seed": seed, "format": 1})
    left = [(b, r) for r in range(reps) for b in range(len(SETTINGS)) if not store.has(records, b, r, with_ours=False)]
    with bar(f"versatility, {len(left)} replications") as tell:
        for k, (block, rep) in enumerate(left):
            store.add([replicate(block, rep, seed, records)])
            tell((k + 1) / len(left))
    return store


def rows(store: Store, reps: int, records: int = RECORDS) -> list[dict[str, Any]]:
    """Return the root mean square error of every method at every m, with its Monte Carlo error."""
    out = []
    for block, setting in enumerate(SETTINGS):
        lines = [store.lines[records, block, rep]["paper"] for rep in range(reps)]
        for key in lines[0]:
            name, _, m = key.partition("|")
            wrong = np.array([line[key] for line in lines]) - TRUTH
            answered = ~np.isnan(wrong).any(axis=1)
            square = (wrong[answered] ** 2).mean(axis=1)
            rmse = float(np.sqrt(square.mean())) if answered.any() else math.nan
            error = float(square.std() / (2 * rmse * math.sqrt(answered.sum()))) if answered.any() else math.nan
            out.append(
                {"total": setting.name, "method": name, "analyses": int(m) if m else None, "rmse": rmse, "+-": error}
                | {"answered": float(answered.mean())}
            )
    return out


def crossings(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return who is better at one analysis and at a hundred, and from how many on a release is."""
    out = []
    for setting in SETTINGS:
        here = [row for row in table if row["total"] == setting.name]
        rmse = {(row["method"], row["analyses"]): row["rmse"] for row in here}
        for kind in setting.releases:
            ours = rmse[kind, None]
            for name in SHARED:
                theirs = rmse[name, 1]
                better = [m for m in ANALYSES if not math.isnan(ours) and ours < rmse[name, m]]
                first = "never" if not better else ("always" if better[0] == 1 else f"from {better[0]} on")
                out.append(
                    {"total": setting.name, "release": kind, "against": name, "ours / theirs at 1": ours / theirs}
                    | {"ours / theirs at 100": ours / rmse[name, 100], "ours is better": first}
                )
            for name in ONCE:
                theirs = rmse[name, None]
                out.append(
                    {"total": setting.name, "release": kind, "against": name, "ours / theirs at 1": ours / theirs}
                    | {"ours / theirs at 100": ours / theirs, "ours is better": "always" if ours < theirs else "never"}
                )
    return out
