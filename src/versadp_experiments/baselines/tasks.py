"""The tasks of the side by side comparison: how people are drawn, what is asked, and who can answer.

20,000 people, covariates even on [-1, 1] (densities, means and medians: normal, cut to it). Ours answers each task from
a release of its columns, with public names only: means by `describe`, medians and regressions by `fit`, a density by
the corrected histogram of `describe`, smoothed with a normal kernel of width 0.08, or of half a cell if that is more.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import versadp as vdp
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
    NoisyMedian,
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
from versadp_experiments.baselines.scores import Check, Huber, Logistic, minimum
from versadp_experiments.median import least_absolute

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

RECORDS, DELTA, EPSILONS = 20_000, 1e-6, (1.0, 4.0)
GAUSSIAN = (
    NoisyMedian,
    NoisyMoments,
    NoisyGradient,
    CaiRegression,
    TruncatedFourier,
    ComplexScore,
    SyntheticRecords,
    RobustRegression,
)


class Answer(NamedTuple):
    """Estimates, and the ends of their 95% intervals where there are some."""

    values: Array
    low: Array | None = None
    high: Array | None = None


class Task(NamedTuple):
    """How people are drawn, the truth, the estimate without privacy, methods, ours, and what y is (None: stays out)."""

    draw: Callable[[np.random.Generator], Sample]
    truth: Array
    plain: Callable[[Sample], Array]
    methods: tuple[Method, ...]
    ours: Callable[[vdp.Release], Answer]
    response: Any = None


def _fitted(formula: str | None, loss: Any, first: int = 1) -> Callable[[vdp.Release], Answer]:
    def answer(release: vdp.Release) -> Answer:
        found = vdp.fit(release, formula, loss=loss)
        values = np.asarray(found.params, dtype=float)[first:]
        if not found.answered:
            return Answer(np.full(len(values), np.nan))
        ends = np.asarray(found.conf_int(), dtype=float)[first:]
        return Answer(values, ends[:, 0], ends[:, 1])

    return answer


def _mean(release: vdp.Release) -> Answer:
    found: Any = vdp.describe(release)["x0"].mean
    return Answer(*(np.array([end]) for end in (found.value, found.low, found.high)))


def _density(release: vdp.Release) -> Answer:
    cells: Any = vdp.describe(release)["x0"].histogram
    middle, width = (cells.low + cells.high) / 2, max(0.08, float(cells.high[0] - cells.low[0]) / 2)
    away = (_AT[:, None] - middle) / width
    return Answer(np.exp(-away * away / 2) @ cells.share / (width * math.sqrt(2 * math.pi)))


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


def _cut_mean(mean: float, sd: float) -> float:
    """Return the mean of a normal number cut to [-1, 1]: the outer mass sits at the ends."""
    (low, high), normal = ((-1 - mean) / sd, (1 - mean) / sd), NormalDist()
    below, above = normal.cdf(low), 1 - normal.cdf(high)
    return above - below + mean * (1 - below - above) + sd * (normal.pdf(low) - normal.pdf(high))


_AT = np.linspace(-1, 1, 21)
_DENSITY = np.exp(-(((_AT - 0.2) / 0.3) ** 2) / 2) / (0.3 * math.sqrt(2 * math.pi))
TASKS = {
    "mean": Task(
        _bump,
        np.array([_cut_mean(0.2, 0.3)]),
        lambda s: s.x.mean(axis=0),
        (NoisyMean(), CubeMean(), OneBit()),
        _mean,
    ),
    "median": Task(
        _bump,
        np.array([0.2]),
        lambda s: np.asarray(np.median(s.x, axis=0), dtype=np.float64),
        (NoisyMedian(), LocalMedian()),
        _fitted(None, vdp.losses.Quantile("x0", 0.5), first=0),
    ),
    "density": Task(
        _bump,
        _DENSITY,
        lambda s: np.histogram(s.x, 21, (-1.05, 1.05))[0].astype(np.float64) / (0.1 * RECORDS),
        (KernelDensity(), PenalisedSystem(), CubeDensity()),
        _density,
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
        _fitted("y ~ x0 + x1", "squared"),
        vdp.Bounded(-1, 1),
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
        _fitted("I(y == 1) ~ x0 + x1", "logistic"),
        vdp.Categorical([0, 1]),
    ),
    "Poisson": Task(
        _counts,
        np.array([0.7]),
        lambda s: ComplexScore(draws=1).fit(s, Budget(math.inf), np.random.default_rng(0)).values[1:],
        (ComplexScore(draws=4),),
        _fitted("y ~ x0", "poisson"),
        vdp.Bounded(0, 1, step=1),
    ),
    "median regression": Task(
        _line,
        np.array([0.5]),
        lambda s: least_absolute(s.design, s.y)[1:],
        (NoisyGradient(Check(0.5), passes=60), SmoothedCorrection(), PluggedQuantile()),
        _fitted("y ~ x0", vdp.losses.Check(0.5)),
        vdp.Bounded(-1, 1),
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
