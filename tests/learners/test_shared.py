"""Scores from many windows: shared points undo polynomials exactly, smooth scores closely; rough ones are refused."""

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.special import expit, xlogy

import versadp as vdp
from versadp.correction.projection import Projection
from versadp.errors import DataError, ParameterError
from versadp.learners import shared_points as module
from versadp.learners.shared_points import Shared, chosen, shareable
from versadp.noise import Window

LIMIT = 5.0  # standard errors of the mean over replications: by chance 6e-7 each


# enumeration ---------------------------------------------------------------------------------------------------------


def chances(block):
    """Return how likely each output of a window of one column is at each lattice point, (points, outputs)."""
    lattice = block.lattice(block.columns[0])
    n, w = lattice.values.size, lattice.window
    kept = np.array([(np.arange(n + w - 1) >= k) & (np.arange(n + w - 1) < k + w) for k in range(n)]) / w
    return block.keep * kept + (1 - block.keep) / (n + w - 1)


SCORES = {
    "squared": (lambda y, f: -((y - f) ** 2), 2),
    "linear in y": (lambda y, f: y * f, 2),
    "log likelihood": (lambda y, f: y * f - np.log1p(np.exp(f)), 7),
    "hit": (lambda y, f: (f > 0.2) == (y > 0), 7),
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("score", list(SCORES))
@pytest.mark.parametrize("private", [False, True], ids=["public response", "private response"])
def test_over_all_outputs_the_expected_score_is_that_of_the_true_record(score, private):
    gain, degree = SCORES[score]
    columns = {"a": vdp.Bounded(0, 7, step=1), "b": vdp.Bounded(-1, 1, step=1)}
    columns |= {"y": vdp.Bounded(-1, 1, step=1) if private else vdp.Public()}
    noisy = [name for name in columns if private or name != "y"]
    windows = {"a": Window(1.5, window=3), "b": Window(1.0, window=2), "y": Window(1.0, window=2)}
    mech = vdp.Mechanism(vdp.Schema(columns), noise={name: windows[name] for name in noisy})
    blocks = tuple(block for block in mech.blocks)
    degrees = tuple(min(degree, block.lattice(block.columns[0]).values.size - 1) for block in blocks)
    points = Shared(Projection(blocks, degrees), mech, list(columns))
    every = [np.arange(float(chances(block).shape[1]))[None] for block in blocks]
    for block, outputs in zip(blocks, every, strict=True):
        block.to_values(outputs)
    seen = np.array(list(itertools.product(*(each[0] for each in every)))).T
    table = pa.table(
        {block.columns[0]: values for block, values in zip(blocks, seen, strict=True)}
        | ({} if private else {"y": np.ones(seen.shape[1])})
    ).select(list(columns))
    sample = points.sample(table)
    there = {name: np.asarray(values, dtype=float) for name, values in sample.columns.items()}
    f = 0.3 * (there["a"] - 3) + 0.8 * there["b"]
    undone = np.bincount(sample.record, sample.weight * gain(there["y"], f))
    likely = chances(blocks[0])
    for block in blocks[1:]:
        likely = np.kron(likely, chances(block))
    true = np.array(list(itertools.product(*(block.lattice(block.columns[0]).values for block in blocks))))
    y = true[:, 2] if private else 1.0
    np.testing.assert_allclose(likely @ undone, gain(y, 0.3 * (true[:, 0] - 3) + 0.8 * true[:, 1]), atol=1e-9)
    if score == "squared":  # outputs as they are say something else
        naive = gain(seen[2] if private else 1.0, 0.3 * (seen[0] - 3) + 0.8 * seen[1])
        assert np.abs(likely @ naive - gain(y, 0.3 * (true[:, 0] - 3) + 0.8 * true[:, 1])).mean() > 0.5


# wide windows --------------------------------------------------------------------------------------------------------

N, REPLICATIONS = 300, 60
X = ["a", "b", "c"]


def made():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-1, 1, (N, 3)), columns=X)
    u = 1.5 * frame.a - frame.b + 0.5 * frame.c
    frame["number"] = np.clip(u + rng.normal(0, 0.5, N), -4, 4)
    frame["label"] = (rng.random(N) < expit(1.5 * u)).astype(float)
    return frame


RAW = made()
MECH = vdp.Mechanism(
    vdp.Schema({name: vdp.Bounded(-1, 1) for name in X} | {"number": vdp.Public(), "label": vdp.Public()}),
    noise={name: Window(epsilon=4.0) for name in X},
)


class Line:
    """A regression and a classifier that learnt elsewhere."""

    classes_ = np.array([0.0, 1.0])

    def index(self, frame):
        m = np.asarray(frame)
        return 1.4 * m[:, 0] - 0.9 * m[:, 1] + 0.4 * m[:, 2]

    def predict(self, frame):
        return self.index(frame)

    def decision_function(self, frame):
        return self.index(frame)

    def predict_proba(self, frame):
        p = expit(1.5 * self.index(frame))
        return np.stack([1 - p, p], axis=1)


class Classes(Line):
    """The same, with classes for predictions."""

    def predict(self, frame):
        return (self.index(frame) > 0).astype(float)


def released(k):
    return MECH.release(RAW, key=bytes([k, *range(31)]))


def log_likelihood(y, index):
    p = expit(1.5 * index)
    return xlogy(y, p) + xlogy(1 - y, 1 - p)


def test_expected_scores_of_wide_windows_are_those_of_the_true_records():
    used = [*X, "label"]
    blocks = shareable(MECH, used, 20)
    assert blocks is not None
    line = Line()

    def gain(columns):
        return log_likelihood(np.asarray(columns["label"]), line.index(np.column_stack([columns[n] for n in X])))

    points = chosen(blocks, released(0), used, gain)
    index = line.index(points.projection.points)
    truth = log_likelihood(RAW.label, line.index(RAW[X])).mean()
    ours, naive = [], []
    for k in range(REPLICATIONS):
        table = released(k).to_arrow()
        label, weight = table["label"].to_numpy(), points.sample(table).weight.reshape(N, -1)
        ours.append((weight * log_likelihood(label[:, None], index)).sum() / N)
        naive.append(log_likelihood(label, line.index(table.to_pandas()[X])).mean())
    for found, right in ((ours, True), (naive, False)):
        z = (np.mean(found) - truth) / (np.std(found) / REPLICATIONS**0.5)
        assert (abs(z) < LIMIT) == right


@pytest.mark.parametrize(
    ("metric", "response", "truth"),
    [
        ("r2", "number", lambda f: 1 - ((RAW.number - f) ** 2).mean() / RAW.number.var(ddof=0)),
        ("neg_mean_squared_error", "number", lambda f: -((RAW.number - f) ** 2).mean()),
        ("neg_log_loss", "label", lambda f: log_likelihood(RAW.label, f).mean()),
    ],
)
def test_corrected_scores_of_wide_windows(metric, response, truth):
    score, error = vdp.corrected_score(Line(), released(1), response, metric=metric, return_std=True)
    assert abs(score - truth(Line().index(RAW[X]))) < LIMIT * error
    assert error < 0.2


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("model", "metric", "response"),
    [(Classes(), "accuracy", "label"), (Line(), "neg_mean_pinball_loss", "number"), (Line(), "roc_auc", "label")],
)
def test_scores_that_are_not_smooth_are_refused_with_a_reason(model, metric, response):
    with pytest.raises(ParameterError, match="no polynomial") as refused:
        vdp.corrected_score(model, released(1), response, metric=metric)
    assert "are smooth" in str(refused.value)
    assert ("standard errors" in str(refused.value)) == (metric != "roc_auc")


def test_too_many_records_at_too_many_points_are_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST_EVALUATIONS", 1000)
    with pytest.raises(DataError, match="records at"):
        vdp.corrected_score(Line(), released(1), "number", metric="r2")


def test_few_points_are_not_shared():
    assert shareable(MECH, ["a", "number"], 20) is None
    laplace = vdp.Mechanism(MECH.schema, scale=0.5, exact_rate=0.2)
    assert shareable(laplace, [*X, "number"], 20_000) is None
