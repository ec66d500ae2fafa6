"""The analytic correction evaluates what a loss declares, whoever wrote it, and adds the gradient of the variance."""

import numpy as np
import pytest

from versadp.correction import Analytic, LinearModel, Records
from versadp.errors import ParameterError
from versadp.noise import ZeroInflatedSymmetricLaplace
from versadp.noise.units import Units
from versadp_tests.loss_registry import LOSSES, SERVED, LogCosh, Squared, Wide, response

DIM, RATE = 3, 0.2
THETA = np.array([0.3, 0.5, -0.4, 0.3])
STRANGERS = [loss for loss in SERVED if type(loss).__module__.startswith("versadp_tests")]


def units(rate=RATE):
    low, high = np.full(DIM, -0.7), np.full(DIM, 0.7)
    return Units(tuple("abc"), np.zeros(DIM), np.full(DIM, 1.0), low, high, (low, high), np.full(DIM, 1e-5), rate)


def records(z, y, weight=None):
    return Records(z, design=np.ones((len(z), 1)), response=y, weight=weight)


def part(loss, rate=RATE, response=-1):
    columns = np.array([-1, 0, 1, 2]) if response < 0 else np.array([-1, 0, 1])
    model = LinearModel(loss, columns, response)
    model.bandwidth = 0.4 if loss.kinked else 0.0
    return Analytic(model, units(rate))


def t_scores(found, n=20_000):
    """Mean differences to the true scores, in standard errors."""
    rng, model = np.random.default_rng(0), found.model
    theta = THETA[: model.size]
    x = rng.uniform(-0.7, 0.7, (n, DIM))
    y = response(model.loss, x @ THETA[1:] + THETA[0], rng)
    truth = model.score(model.rows(x, None, records(x, y)), theta)
    noisy = x + ZeroInflatedSymmetricLaplace(RATE, 0.5 * np.eye(DIM)).rvs(n, rng)
    scaled = records(noisy / np.sqrt(0.5), y)
    # in noise units the noise has a variance of 1
    inner = theta * np.where(model.columns >= 0, np.sqrt(0.5), 1.0)
    scores, _ = found.evaluate(found.prepare(scaled, rng), inner, np.ones((1, 1)), hessian=False)
    difference = scores[:, 0] * np.where(model.columns >= 0, np.sqrt(0.5), 1.0) - truth
    return difference.mean(axis=0) / (difference.std(axis=0) / np.sqrt(n))


@pytest.mark.parametrize("loss", STRANGERS, ids=repr)
def test_unbiased_for_strangers(loss):
    """Four scores of five losses, 5 standard errors each: a false alarm once in ten thousand runs."""
    assert np.abs(t_scores(part(loss))).max() < 5


@pytest.mark.parametrize("loss", STRANGERS, ids=repr)
def test_a_wrong_rate_is_rejected(loss):
    assert np.abs(t_scores(part(loss, 0.6), 60_000)).max() > 5


@pytest.mark.parametrize("loss", SERVED, ids=repr)
def test_hessians_and_sums(loss):
    """Records in the cell of a table that holds a corner have other differences, either way: many even out."""
    rng, size = np.random.default_rng(1), 5000
    found = part(loss)
    y = response(loss, rng.normal(size=size), rng)
    batch = records(rng.normal(0, 1, (size, DIM)), y, rng.uniform(0, 2, size))
    rows, one = found.prepare(batch, rng), np.ones((1, 1))
    scores, hessian = found.evaluate(rows, THETA, one, hessian=True)
    n, total, outer, again = found.sums(rows, THETA, np.ones((1, 1)), hessian=True)
    assert n == size
    assert total == pytest.approx(scores.sum(axis=0))
    assert outer == pytest.approx(scores[:, 0].T @ scores[:, 0])
    assert again == pytest.approx(hessian)
    twice = found.sums(rows, THETA, np.array([[2.0], [1.0]]), hessian=True)
    assert twice[1] == pytest.approx(np.array([2, 1])[:, None] * total)
    assert twice[3] == pytest.approx(2 * hessian)
    steps = 1e-5 * np.eye(4)
    moved = [
        [found.evaluate(rows, THETA + s * e, one, hessian=False)[0].sum(axis=(0, 1)) for s in (1, -1)] for e in steps
    ]
    numeric = np.array([(up - down) / 2e-5 for up, down in moved])
    assert np.abs(numeric - hessian).max() < (1e-5 if loss.smooth else 3e-2) * np.abs(hessian).max()


def test_a_private_response_joins_the_index():
    """The variance has a part that no coefficient moves."""
    rng = np.random.default_rng(2)
    batch = records(rng.normal(size=(200, DIM)), None)
    for loss in (LogCosh(0.7), Wide()):
        found = part(loss, response=2)
        m, y, _ = rows = found.prepare(batch, rng)
        t = THETA[1] ** 2 + THETA[2] ** 2 + 1
        first, by_t, *_ = loss.corrected(m @ THETA[:3], y, t, RATE)
        expected = m * first[:, None] + by_t[:, None] * [0, 2 * THETA[1], 2 * THETA[2]]
        scores, _ = found.evaluate(rows, THETA[:3], np.ones((1, 1)), hessian=False)
        assert scores[:, 0] == pytest.approx(expected)


def test_only_what_is_declared_is_used():
    """A loss that declares another corrected form is believed; one that declares none is refused."""

    class Uncorrected(Squared):
        def closed(self, u, y, t, rate, bandwidth, *, bent):
            return u - y, 0 * u, 1 + 0 * u, 0 * u, 0 * u

    rng = np.random.default_rng(3)
    batch = records(rng.normal(size=(50, DIM)), rng.normal(size=50))
    found = part(Uncorrected())
    rows = found.prepare(batch, rng)
    scores, _ = found.evaluate(rows, THETA, np.ones((1, 1)), hessian=False)
    assert scores[:, 0] == pytest.approx(found.model.score(rows[:2], THETA))
    for loss in LOSSES:
        if loss not in SERVED:
            with pytest.raises(ParameterError, match=f"no analytic correction for {loss.name} loss"):
                part(loss).evaluate(rows, THETA, np.ones((1, 1)), hessian=False)
