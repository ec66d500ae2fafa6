"""From which epsilon on an analysis is useful: ours beside each baseline.

A slope is useful where the root mean square error of private estimates around the raw fit is below half its size: it
is then two errors away from 0, and its sign is told. A mean or a median is useful where that error is below three times
the raw standard error (of a median: that of a normal column of the same spread). Delta is 1e-6 where there is one; unit
record; epsilon on a grid, from above, until it fails; the baselines get just the columns of the question, ours releases
all columns of the data set, categories too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

import versadp as vdp
from versadp.errors import EstimationError
from versadp_experiments.baselines.cai import CaiRegression
from versadp_experiments.baselines.cube import CubeMean
from versadp_experiments.baselines.datasets import DATASETS
from versadp_experiments.baselines.functional import OneBit
from versadp_experiments.baselines.gradient import NoisyGradient, NoisyMedian
from versadp_experiments.baselines.histogram import PerturbedHistogram
from versadp_experiments.baselines.method import Budget, Method, Sample
from versadp_experiments.baselines.objective import ObjectivePerturbation
from versadp_experiments.baselines.robust import RobustRegression
from versadp_experiments.baselines.scores import Check, Huber, Logistic, minimum
from versadp_experiments.baselines.sensitivity import NoisyMean, NoisyMoments
from versadp_experiments.baselines.sequential import LocalGLM, LocalMedian
from versadp_experiments.baselines.synthetic import SyntheticRecords

Answer = Callable[[float, np.random.Generator], float]
GRID = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
DELTA, NORMAL = 1e-6, 1.2533  # the standard error of a normal sample's median, in units of its mean's


class Question(NamedTuple):
    """A data set, what is asked, a response (or the column of a mean), and covariates, the first of interest."""

    data: str
    kind: str
    response: str
    covariates: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The question in words."""
        return f"{self.kind}: {self.response}" + (f" ~ {' + '.join(self.covariates)}" if self.covariates else "")


QUESTIONS = (
    Question("care", "mean", "mdvis"),
    Question("earnings", "median", "lwage"),
    Question("marriages", "logistic", "unfaithful", ("rate_marriage", "yrs_married")),
    Question("marriages", "linear", "unfaithful", ("rate_marriage", "yrs_married")),
    Question("care", "linear", "mdvis", ("disea", "lncoins")),
    Question("pensions", "linear", "wealth", ("inc", "age")),
    Question("earnings", "linear", "lwage", ("education", "experience")),
    Question("wages", "linear", "lwage", ("educ", "exper")),
)
METHODS: dict[str, tuple[tuple[Method, float], ...]] = {
    "mean": ((NoisyMean(), 0.0), (CubeMean(), 0.0), (OneBit(), 0.0)),
    "median": (
        (NoisyMedian(NoisyGradient(Check(0.5), passes=60, rate=0.5, share=0.0)), DELTA),
        (LocalMedian(), 0.0),
    ),
    "logistic": (
        (NoisyGradient(passes=60, rate=2.0, share=0.0), DELTA),
        (ObjectivePerturbation(), 0.0),
        (PerturbedHistogram(factor=3.0), 0.0),
        (SyntheticRecords(), DELTA),
        (LocalGLM(group=50), 0.0),
    ),
    "linear": (
        (NoisyMoments(), DELTA),
        (RobustRegression(), DELTA),
        (NoisyGradient(Huber(1.0), passes=60, rate=2.0, share=0.0), DELTA),
        (CaiRegression(steps=60, rate=2.0), DELTA),
        (ObjectivePerturbation(Huber(1.0)), 0.0),
        (PerturbedHistogram(Huber(1.0), levels=None, factor=3.0), 0.0),
        (SyntheticRecords(Huber(1.0), levels=None), DELTA),
    ),
}


def scaled(question: Question) -> tuple[Sample, float, float]:
    """Return the columns of a question in [-1, 1], and factor and shift back into the units of what is asked."""
    data = DATASETS[question.data]
    columns, ends = [], []
    for name in (*question.covariates, question.response):
        kind = data.columns[name]
        low, high = (kind.lower, kind.upper) if isinstance(kind, vdp.Bounded) else (0.0, 1.0)
        columns.append((data.frame[name].to_numpy(dtype=float) - low) / (high - low) * 2 - 1)
        ends.append((low, high))
    x, (low, high) = np.clip(np.column_stack(columns), -1, 1), ends[-1]
    if not question.covariates:
        return Sample(x, np.zeros(len(x))), (high - low) / 2, (high + low) / 2
    if question.kind == "logistic":  # the response is 0 or 1, and has no units
        return Sample(x[:, :-1], (x[:, -1] > 0).astype(float)), 2 / (ends[0][1] - ends[0][0]), 0.0
    return Sample(x[:, :-1], x[:, -1]), (high - low) / (ends[0][1] - ends[0][0]), 0.0


def wanted(question: Question, sample: Sample) -> tuple[float, float]:
    """Return what the raw fit says, scaled, and the largest error that is useful."""
    x, n = sample.x[:, 0], len(sample.x)
    if question.kind == "mean":
        return float(x.mean()), 3 * float(x.std()) / n**0.5
    if question.kind == "median":
        return float(np.median(x)), 3 * NORMAL * float(x.std()) / n**0.5  # wages are heaped: their own spread is nil
    if question.kind == "logistic":
        slope = float(minimum(Logistic(), sample.design, sample.y)[1])
    else:
        slope = float(np.linalg.lstsq(sample.design, sample.y, rcond=None)[0][1])
    return slope, abs(slope) / 2


def theirs(method: Method, delta: float, question: Question, sample: Sample) -> Answer:
    """Return what a baseline says, scaled."""
    place = 1 if question.covariates else 0
    return lambda epsilon, rng: float(method.fit(sample, Budget(epsilon, delta), rng).values[place])


@lru_cache(maxsize=128)
def _mechanism(data: str, epsilon: float, *, shuffled: bool) -> vdp.Mechanism:
    how: dict[str, Any] = {"delta": DELTA, "shuffled": len(DATASETS[data].frame)} if shuffled else {}
    return vdp.calibrate(DATASETS[data].schema, epsilon=epsilon, **how)


def ours(question: Question, *, shuffled: bool) -> Answer:
    """Return what one release of all columns says, in its own units; nan where a fit has no answer."""
    data, left = DATASETS[question.data], question.response
    left = left if isinstance(data.columns[left], vdp.Bounded) else f"I({left} == 1)"
    formula = f"{left} ~ {' + '.join(question.covariates)}"

    def answer(epsilon: float, rng: np.random.Generator) -> float:
        mechanism = _mechanism(question.data, epsilon, shuffled=shuffled)
        release = mechanism.release(data.frame, key=sha256(rng.bytes(32)).digest())
        if question.kind == "mean":
            mean: Any = vdp.describe(release)[question.response].mean
            return float(mean.value)
        try:
            if question.kind == "median":
                return float(np.asarray(vdp.fit(release, loss=vdp.losses.Quantile(question.response, 0.5)).params)[0])
            found = vdp.fit(release, formula, loss="logistic" if question.kind == "logistic" else "squared")
        except EstimationError:
            return np.nan
        return float(np.asarray(found.params, dtype=float)[1]) if found.answered else np.nan

    return answer


def least(answer: Answer, truth: float, tolerance: float, reps: int, seed: int) -> str:
    """Return the least epsilon of the grid from which on the error is below the tolerance; its first is "<= 0.1"."""
    rng, useful = np.random.default_rng(seed), "none up to 8"
    for epsilon in reversed(GRID):
        square, most = 0.0, reps * tolerance**2
        for _ in range(reps):
            square += (answer(epsilon, rng) - truth) ** 2
            if not square <= most:  # too much already, or no answer: the rest, which may take long, changes nothing
                return useful
        useful = f"{epsilon:g}"
    return f"<= {useful}"


def rows(reps: int, seed: int) -> list[dict[str, Any]]:
    """Return a row for each question and method: what the raw fit says, and from which epsilon on it is found."""
    out = []
    for question in QUESTIONS:
        sample, unit, shift = scaled(question)
        truth, tolerance = wanted(question, sample)
        ways = {
            f"versadp, {name}": least(
                ours(question, shuffled=name == "shuffled"), truth * unit + shift, tolerance * unit, reps, seed
            )
            for name in ("shuffled", "on devices")
        }
        for method, delta in METHODS[question.kind]:
            ways[method.name] = least(theirs(method, delta, question, sample), truth, tolerance, reps, seed)
        head = {"question": question.title, "n": len(sample.x), "raw": truth * unit + shift, "error": tolerance * unit}
        out += [head | {"method": name, "useful from": epsilon} for name, epsilon in ways.items()]
    return out
