"""All methods side by side: each on its task, at the same unit, neighbours and epsilon; ours on the same task.

20,000 people, covariates even on [-1, 1]; delta is 1e-6 where a method needs one. Errors are root mean squares over
coefficients (over points, for densities) and replications, beside those of the same task without privacy. Our
releases hold all columns of the task and serve any number of other tasks: "windows" as on a device, pure epsilon;
"windows, shuffled" as from a server, (epsilon, 1e-6).
"""

from __future__ import annotations

import math
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

import versadp as vdp
from versadp.errors import MissingExtraError
from versadp_experiments.baselines import (
    Budget,
    CaiRegression,
    ComplexScore,
    CubeDensity,
    CubeMean,
    KernelDensity,
    LocalGLM,
    LocalMedian,
    Method,
    NoisyGradient,
    NoisyMean,
    NoisyMoments,
    ObjectivePerturbation,
    OneBit,
    PenalisedSystem,
    PerturbedHistogram,
    PluggedQuantile,
    ProductCorrection,
    RobustRegression,
    Sample,
    SmoothedCorrection,
    SyntheticRecords,
    TruncatedFourier,
)
from versadp_experiments.baselines.scores import Huber, Logistic, minimum
from versadp_experiments.median import least_absolute

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Row = dict[str, Any]

RECORDS, DELTA, EPSILONS = 20_000, 1e-6, (1.0, 4.0)
OURS_REPS, SLOW_REPS = 3, 1
GAUSSIAN = (
    NoisyMoments,
    NoisyGradient,
    CaiRegression,
    TruncatedFourier,
    ComplexScore,
    SyntheticRecords,
    RobustRegression,
)


class Task(NamedTuple):
    """What is estimated: how people are drawn, the truth, the estimate without privacy, methods, and ours."""

    draw: Callable[[np.random.Generator], Sample]
    truth: Array
    plain: Callable[[Sample], Array]
    methods: tuple[Method, ...]
    formula: str | None = None
    loss: Any = "squared"


def _linear(rng: np.random.Generator) -> Sample:
    x = rng.uniform(-1, 1, (RECORDS, 2))
    return Sample(x, x @ np.array([0.3, -0.3]) + rng.uniform(-0.3, 0.3, RECORDS))


def _line(rng: np.random.Generator) -> Sample:
    x = rng.uniform(-1, 1, (RECORDS, 1))
    return Sample(x, 0.5 * x[:, 0] + rng.uniform(-0.3, 0.3, RECORDS))


def _binary(rng: np.random.Generator) -> Sample:
    x = rng.uniform(-1, 1, (RECORDS, 2))
    return Sample(x, (rng.random(RECORDS) < 1 / (1 + np.exp(-x @ np.array([1.0, -1.0])))).astype(float))


def _counts(rng: np.random.Generator) -> Sample:
    x = rng.uniform(-1, 1, (RECORDS, 1))
    return Sample(x, (rng.random(RECORDS) < np.exp(-1.0 + 0.7 * x[:, 0])).astype(float))


def _bump(rng: np.random.Generator) -> Sample:
    x = np.clip(rng.normal(0.2, 0.3, (RECORDS, 1)), -1, 1)
    return Sample(x, np.zeros(RECORDS))


_AT = np.linspace(-1, 1, 21)
_DENSITY = np.exp(-(((_AT - 0.2) / 0.3) ** 2) / 2) / (0.3 * math.sqrt(2 * math.pi))
TASKS = {
    "mean": Task(_bump, np.array([0.2]), lambda s: s.x.mean(axis=0), (NoisyMean(), CubeMean(), OneBit())),
    "median": Task(
        _bump, np.array([0.2]), lambda s: np.asarray(np.median(s.x, axis=0), dtype=np.float64), (LocalMedian(),)
    ),
    "density": Task(
        _bump,
        _DENSITY,
        lambda s: np.histogram(s.x, 21, (-1.05, 1.05))[0].astype(np.float64) / (0.1 * RECORDS),
        (KernelDensity(), PenalisedSystem(), CubeDensity()),
    ),
    "linear": Task(
        _linear,
        np.array([0.3, -0.3]),
        lambda s: np.asarray(np.linalg.lstsq(s.design, s.y, rcond=None)[0][1:], dtype=np.float64),
        (
            NoisyMoments(),
            RobustRegression(),
            NoisyGradient(Huber(1.0), passes=30, rate=2.0),
            CaiRegression(rate=2.0),
            PerturbedHistogram(Huber(1.0), levels=None, factor=3.0),
        ),
        "y ~ x0 + x1",
    ),
    "logistic": Task(
        _binary,
        np.array([1.0, -1.0]),
        lambda s: minimum(Logistic(), s.design, s.y)[1:],
        (
            NoisyGradient(passes=60, rate=2.0),
            ObjectivePerturbation(),
            PerturbedHistogram(factor=3.0),
            LocalGLM(group=50),
            ProductCorrection(),
            TruncatedFourier(),
            SyntheticRecords(),
        ),
        "I(y == 1) ~ x0 + x1",
        "logistic",
    ),
    "Poisson": Task(
        _counts,
        np.array([0.7]),
        lambda s: ComplexScore(draws=1).fit(s, Budget(math.inf), np.random.default_rng(0)).values[1:],
        (ComplexScore(draws=4),),
    ),
    "median regression": Task(
        _line,
        np.array([0.5]),
        lambda s: least_absolute(s.design, s.y)[1:],
        (SmoothedCorrection(), PluggedQuantile()),
    ),
}


def budget_of(method: Method, epsilon: float) -> Budget:
    """Return the budget that a method can use: with a delta where it needs one.

    Examples
    --------
    >>> budget_of(CubeMean(), 1.0)
    Budget(epsilon=1.0, delta=0.0)
    """
    return Budget(epsilon, DELTA if isinstance(method, GAUSSIAN) else 0.0)


def _errors(task: Task, estimates: list[Array]) -> tuple[float, float]:
    square = [float(np.mean((e - task.truth) ** 2)) for e in estimates if np.isfinite(e).all()]
    return (math.sqrt(np.mean(square)), len(square) / len(estimates)) if square else (math.nan, 0.0)


def _baseline(task: Task, method: Method, epsilon: float, samples: list[Sample], seed: int) -> Row:
    count = SLOW_REPS if isinstance(method, SyntheticRecords) else len(samples)
    found = []
    for rep, sample in enumerate(samples[:count]):
        estimate = method.fit(sample, budget_of(method, epsilon), np.random.default_rng([seed, rep, 5])).values
        found.append(estimate[-len(task.truth) :])
    rmse, answered = _errors(task, found)
    return {
        "method": method.name,
        "where": method.where,
        "epsilon": epsilon,
        "delta": budget_of(method, epsilon).delta,
        "rmse": rmse,
        "answered": answered,
        "serves more": "yes" if method.reusable else "no",
    }


def _ours(task: Task, kind: str, epsilon: float, samples: list[Sample], seed: int) -> Row:
    columns: dict[str, Any] = {f"x{j}": vdp.Bounded(-1, 1) for j in range(samples[0].x.shape[1])}
    columns["y"] = vdp.Categorical([0, 1]) if task.loss == "logistic" else vdp.Bounded(-1, 1)
    how: dict[str, Any] = {"delta": DELTA, "shuffled": RECORDS} if kind.endswith("shuffled") else {}
    mechanism = vdp.calibrate(vdp.Schema(columns), epsilon=epsilon, **how)
    found = []
    for rep, sample in enumerate(samples[:OURS_REPS]):
        y = sample.y.astype(int) if task.loss == "logistic" else sample.y
        table = pa.table({f"x{j}": c for j, c in enumerate(sample.x.T)} | {"y": y})
        release = mechanism.release(table, key=sha256(repr((seed, rep, kind, epsilon)).encode()).digest())
        fit = vdp.fit(release, task.formula, loss=task.loss)
        found.append(np.asarray(fit.params, dtype=float)[1:] if fit.answered else np.full(len(task.truth), np.nan))
    rmse, answered = _errors(task, found)
    where = "server" if how else "device"
    row: Row = {"method": f"versadp, {kind}", "where": where, "epsilon": epsilon, "delta": DELTA if how else 0.0}
    return row | {"rmse": rmse, "answered": answered, "serves more": "yes"}


def tables(reps: int, seed: int) -> dict[str, list[Row]]:
    """Return one table a task."""
    return {name: table(name, reps, seed) for name in TASKS}


def table(name: str, reps: int, seed: int) -> list[Row]:
    """Return the table of one task."""
    task = TASKS[name]
    samples = [task.draw(np.random.default_rng([seed, rep])) for rep in range(reps)]
    raw = _errors(task, [task.plain(sample) for sample in samples])[0]
    return [{"task": name, "no privacy": raw} | row for row in _rows(task, samples, seed)]


def _rows(task: Task, samples: list[Sample], seed: int) -> list[Row]:
    rows = []
    for epsilon in EPSILONS:
        for method in task.methods:
            try:
                rows.append(_baseline(task, method, epsilon, samples, seed))
            except MissingExtraError:
                continue
        if task.formula:
            rows += [_ours(task, kind, epsilon, samples, seed) for kind in ("windows", "windows, shuffled")]
    return rows
