"""Accuracy by simulation: error, coverage, bias and failures of a method, row by row."""

from __future__ import annotations

import time
import warnings
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

import versadp as vdp
from versadp.display.progress import bar
from versadp.engine import at_work
from versadp.engine.code import code_digest
from versadp.errors import InsecureWarning
from versadp_bench.categories import CATEGORIES, CategorySetting
from versadp_bench.likelihood import LIKELIHOOD
from versadp_bench.settings import HALF, MEANS, SETTINGS, MeanSetting, Setting
from versadp_bench.store import Store, slug
from versadp_bench.windows import WINDOWS, WindowSetting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ROWS: dict[str, Setting | MeanSetting | WindowSetting | CategorySetting] = {
    **MEANS,
    **SETTINGS,
    **WINDOWS,
    **CATEGORIES,
    **LIKELIHOOD,
}


@lru_cache(maxsize=32)
def true_values(name: str) -> Array:
    """Return the coefficients that are estimated: by formula, or from two million raw records where there is none."""
    row = ROWS[name]
    if isinstance(row, MeanSetting) or not (row.private_response or row.loss == "hinge"):
        return row.truth()
    raw = row.data(np.random.default_rng(99), 2_000_000)
    m = np.stack([raw[f"x{j}"] for j in range(row.dim)], axis=1)
    if row.private_response:
        return np.asarray(np.linalg.lstsq(m, raw["y"], rcond=None)[0])
    from versadp.losses import Hinge

    theta = np.full(row.dim, 0.7)
    for h in (1.0, 0.3, 0.1, 0.05, 0.05):
        for _ in range(6):
            s, s1 = Hinge().derivatives(m @ theta, raw["y"], 2, h)
            theta = theta - np.linalg.solve(m.T @ (m * s1[:, None]), m.T @ s)
    # covariates and classes are symmetric, so that an intercept is 0
    return np.append(0.0, theta) if isinstance(row, WindowSetting) else np.asarray(theta)


def replicate(name: str, method: str, draws: int, seed: int) -> dict[str, Any]:
    """Return estimates, intervals and outcome of one release; without an estimate the naive one counts."""
    import pyarrow as pa

    row, start = ROWS[name], time.process_time()
    raw = row.data(np.random.default_rng([7, seed]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureWarning)
        release = row.mechanism.release(pa.table(raw), insecure_seed=seed, engine="serial")
    found = vdp.fit(release, row.formula, loss=row.loss, method=method, draws=draws, random_state=seed)
    size = true_values(name).size
    ends = np.asarray(found.conf_int()) if found.answered else np.full((size, 2), np.nan)
    estimate = np.asarray(found.params) if found.answered else np.full(size, np.nan)
    if not np.isfinite(estimate).all():
        naive = vdp.fit(release, row.formula, loss=row.loss, method="naive")
        plain = np.asarray(naive.params) if naive.converged else np.full(size, np.nan)
        estimate = np.where(np.isfinite(estimate), estimate, plain)
    line = {"rep": seed, "outcome": str(found.outcome), "estimate": estimate.tolist(), "interval": ends.tolist()}
    return line | {"seconds": round(time.process_time() - start, 4)}


def _one_thread(work: Callable[[int], dict[str, Any]], seed: int) -> dict[str, Any]:
    """Run one replication on one thread: the processes fill the cores."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        return work(seed)


def accuracy_row(
    name: str, reps: int, method: str = "efficient", draws: int = 20, engine: str = "serial", *, out: Path | None = None
) -> dict[str, Any]:
    """Return error, coverage, bias and failures over replications; those in a folder are not run again."""
    row, truth = ROWS[name], true_values(name)
    header = {"row": name, "method": method, "draws": draws, "code": code_digest(), "format": 1}
    store = Store(None if out is None else out / f"{slug(f'{name} {method}')}.jsonl", header)
    left = [seed for seed in range(reps) if seed not in store.lines]
    work = partial(_one_thread, partial(replicate, name, method, draws))
    with bar(f"{name}, {method}") as tell, at_work(engine) as runner:
        for done, line in enumerate(runner.map(work, left)):
            store.add(line)
            tell((done + 1) / len(left))
    lines = [store.lines[seed] for seed in range(reps)]
    estimates, ends = (np.array([line[key] for line in lines], dtype=float) for key in ("estimate", "interval"))
    wrong = estimates - truth
    ok = ~np.isnan(ends).any(axis=(1, 2))
    spread = np.sqrt(np.nanmean(wrong**2, axis=0))
    covered = (ends[ok, :, 0] < truth) & (truth < ends[ok, :, 1])
    bias = np.abs(wrong[ok].mean(axis=0)) / wrong[ok].std(axis=0) if ok.any() else np.zeros(1)
    slopes = slice(None) if isinstance(row, MeanSetting) or row.intercept is None else slice(1, None)
    return {
        "row": name,
        "method": method,
        "reps": reps,
        "rmse": float(np.sqrt(np.mean(spread[slopes] ** 2))),
        "required": row.required[0],
        "intercept": float(spread[0]) if slopes.start else None,
        "of it required": row.required[1] if slopes.start else None,
        "coverage": float(covered.mean()) if ok.any() else None,
        "least": float(covered.mean(axis=0).min()) if ok.any() else None,
        "most": float(covered.mean(axis=0).max()) if ok.any() else None,
        "bias/se": float(bias.max()) if ok.any() else None,
        "+-": reps**-0.5,
        "failed": float(1 - ok.mean()),
        "s/rep": float(np.median([line["seconds"] for line in lines])),
    }


def accuracy_table(
    names: Iterable[str], reps: int, engine: str = "serial", *, out: Path | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the accuracy table; rows that ask for a share of another's error have the other's beside it."""
    for name in names:
        if name in LIKELIHOOD:
            yield from _beside_efficient(name, reps, engine, out)
            continue
        required: dict[str, Any] = {}
        if np.isnan(ROWS[name].required[0]):  # HALF
            paper = accuracy_row(name, max(2, reps // 5), "drcl", draws=1, engine=engine, out=out)
            half = {"required": paper["rmse"] / 2, "of it required": paper["intercept"] and paper["intercept"] / 2}
            yield paper | {"required": None, "of it required": None, "met": None}
            required = half
        ours = accuracy_row(name, reps, engine=engine, out=out) | required
        yield ours | {"met": "yes" if met(ours) else "no"}


def _beside_efficient(name: str, reps: int, engine: str, out: Path | None) -> Iterator[dict[str, Any]]:
    """Yield a row by corrected scores, and by likelihood, which is to have a share of its error."""
    scores = accuracy_row(name, max(2, reps // 5), engine=engine, out=out)
    yield scores | {"required": None, "of it required": None, "met": None}
    share = LIKELIHOOD[name].share
    required = {"required": share * scores["rmse"], "of it required": scores["intercept"]}
    ours = accuracy_row(name, reps, "likelihood", engine=engine, out=out) | required
    yield ours | {"met": "yes" if met(ours) else "no"}


def met(row: Mapping[str, Any]) -> bool:
    """Tell whether a row is as accurate as required, and its intervals and failures as it demands."""
    demands = ROWS[row["row"]].demands
    low, high = demands.coverage
    least, most = (row["least"], row["most"]) if demands.each else (row["coverage"], row["coverage"])
    return bool(
        row["rmse"] <= row["required"]
        and (row["intercept"] is None or row["intercept"] <= row["of it required"])
        and least is not None
        and low <= least <= most <= high
        and row["bias/se"] < demands.bias
        and row["failed"] <= demands.failed
    )


__all__ = ["HALF", "ROWS", "accuracy_row", "accuracy_table", "met", "replicate", "true_values"]
