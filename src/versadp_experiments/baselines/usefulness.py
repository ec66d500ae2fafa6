"""From which epsilon on an analysis is useful: ours beside each baseline.

Useful means here that the slope of interest is found to within half of itself: the root mean square error of
private estimates around the raw fit is below half its size. (Delta 1e-6 where there is one; unit record; epsilon on
a grid; least squares, so that every method can do it; columns of the model only, numbers only, for the baselines;
ours releases all columns, categories too.)
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import versadp as vdp
from versadp_experiments.baselines.cai import CaiRegression
from versadp_experiments.baselines.datasets import DATASETS
from versadp_experiments.baselines.gradient import NoisyGradient
from versadp_experiments.baselines.histogram import PerturbedHistogram
from versadp_experiments.baselines.method import Budget, Method, Sample
from versadp_experiments.baselines.objective import ObjectivePerturbation
from versadp_experiments.baselines.scores import Huber
from versadp_experiments.baselines.sensitivity import NoisyMoments

if TYPE_CHECKING:
    from collections.abc import Callable

    Answer = Callable[[float, np.random.Generator], float]

GRID = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
DELTA, REPS = 1e-6, 6


class Question(NamedTuple):
    """A data set, a response, covariates, and the covariate of interest (the first)."""

    data: str
    response: str
    covariates: tuple[str, ...]


QUESTIONS = (
    Question("marriages", "unfaithful", ("rate_marriage", "yrs_married")),
    Question("care", "mdvis", ("disea", "lncoins")),
    Question("pensions", "wealth", ("inc", "age")),
    Question("wages", "lwage", ("educ", "exper")),
)


def scaled(question: Question) -> tuple[Sample, float]:
    """Return the columns of a question in [-1, 1], and what turns the first slope back into its own units."""
    data = DATASETS[question.data]
    columns, widths = [], []
    for name in (*question.covariates, question.response):
        kind = data.columns[name]
        low, high = (kind.lower, kind.upper) if isinstance(kind, vdp.Bounded) else (0.0, 1.0)
        columns.append((data.frame[name].to_numpy(dtype=float) - low) / (high - low) * 2 - 1)
        widths.append(high - low)
    x = np.clip(np.column_stack(columns), -1, 1)
    return Sample(x[:, :-1], x[:, -1]), widths[-1] / widths[0]


def baselines(sample: Sample) -> dict[str, Answer]:
    """Return the first slope, scaled, by each method of a server."""
    methods: dict[str, tuple[Method, float]] = {
        "noisy moments": (NoisyMoments(), DELTA),
        "noisy gradient descent": (NoisyGradient(Huber(1.0), passes=60, rate=2.0, share=0.0), DELTA),
        "projected noisy descent": (CaiRegression(steps=60, rate=2.0), DELTA),
        "objective perturbation": (ObjectivePerturbation(Huber(1.0)), 0.0),
        "perturbed histogram": (PerturbedHistogram(Huber(1.0), levels=None, factor=3.0), 0.0),
    }
    return {name: _first_slope(method, delta, sample) for name, (method, delta) in methods.items()}


def _first_slope(method: Method, delta: float, sample: Sample) -> Answer:
    return lambda epsilon, rng: float(method.fit(sample, Budget(epsilon, delta), rng).values[1])


def ours(question: Question, *, shuffled: bool) -> Answer:
    """Return the first slope from one release."""
    data = DATASETS[question.data]
    left = question.response
    left = left if isinstance(data.columns[left], vdp.Bounded) else f"I({left} == 1)"
    formula = f"{left} ~ {' + '.join(question.covariates)}"

    def answer(epsilon: float, rng: np.random.Generator) -> float:
        how: dict[str, Any] = {"delta": DELTA, "shuffled": len(data.frame)} if shuffled else {}
        mechanism = vdp.calibrate(data.schema, epsilon=epsilon, **how)
        key = sha256(rng.bytes(32)).digest()
        found = vdp.fit(mechanism.release(data.frame, key=key), formula)
        return float(np.asarray(found.params, dtype=float)[1]) if found.answered else np.nan

    return answer


def least(answer: Answer, truth: float, unit: float, seed: int) -> str:
    """Return the least epsilon of the grid from which on the error is below half of the truth."""
    rng, useful = np.random.default_rng(seed), "none up to 8"
    for epsilon in reversed(GRID):
        wrong = np.array([answer(epsilon, rng) for _ in range(REPS)]) * unit - truth
        if not np.isfinite(wrong).all() or np.sqrt(np.mean(wrong**2)) > abs(truth) / 2:
            break
        useful = f"{epsilon:g}"
    return useful


def rows(seed: int) -> list[dict[str, Any]]:
    """Return a row for each question: its raw slope, and the least useful epsilon of every method."""
    out = []
    for question in QUESTIONS:
        sample, unit = scaled(question)
        truth = float(np.linalg.lstsq(sample.design, sample.y, rcond=None)[0][1]) * unit
        row: dict[str, Any] = {"question": f"{question.response} ~ {' + '.join(question.covariates)}"}
        row |= {"n": len(sample.y), "slope": truth}
        for name, shuffled in (("versadp, shuffled", True), ("versadp, on devices", False)):
            row[name] = least(ours(question, shuffled=shuffled), truth, 1.0, seed)
        for name, answer in baselines(sample).items():
            row[name] = least(answer, truth, unit, seed)
        out.append(row)
    return out
