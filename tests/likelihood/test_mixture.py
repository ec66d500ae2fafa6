"""Mixtures with free weights: against closed forms, the conditions of a maximum, and a long EM."""

from dataclasses import replace

import numpy as np
import pytest

from versadp.errors import DataError
from versadp.estimation import Outcome
from versadp.likelihood.histogram import natural_histogram
from versadp.likelihood.mixture import Sums, maximise
from versadp.likelihood.semiparametric import Likelihood, Lot
from versadp.losses.response_law import Bernoulli, Counts, Normal
from versadp.noise import Response, Window, ZeroInflated
from versadp.schema import Bounded, Categorical


def sums_of(a):
    def sums(_, f):
        total = a @ f[0]
        seen = a / total[:, None]
        return Sums(float(np.log(total).sum()), seen.sum(axis=0), seen.T @ seen, np.array([float(len(a))]))

    return sums


def test_a_maximum_is_one_and_em_gets_there_too():
    rng = np.random.default_rng(0)
    x = rng.choice([-1.0, 0.3, 2.0], 400) + rng.normal(size=400)
    a = np.exp(-0.5 * (x[:, None] - np.linspace(-3, 3, 40)) ** 2)
    found = maximise(sums_of(a), np.zeros(0), np.full((1, 40), 1 / 40))
    assert found.outcome is Outcome.CONVERGED
    assert found.steps < 20
    f, slope = found.weights[0], found.sums.first
    assert np.isclose(f.sum(), 1)
    assert (f >= 0).all()
    assert slope.max() <= 400 + 0.2  # no point would gain, and those with weight neither
    assert np.abs(slope[f > 1e-6] - 400).max() < 0.2
    even = np.full(40, 1 / 40)
    assert (a / (a @ even)[:, None]).sum(axis=0).max() > 410  # where it started somebody would
    g = even
    for _ in range(20_000):
        g = g * (a / (a @ g)[:, None]).mean(axis=0)
    assert np.log(a @ f).sum() >= np.log(a @ g).sum() - 1e-3
    assert np.log(a @ g).sum() > np.log(a @ f).sum() - 0.01


def random_problem(law, *, private, tilted):
    """Return a likelihood and a lot of everything: strata, public terms, mixed ones, numbers that go with x."""
    rng = np.random.default_rng(3)
    n, m, cells = 40, 7, 4
    x = np.linspace(-1, 1, m)[:, None]
    ends = np.array([-0.5, 0.5, 1.5, 2.5, 3.5]) if private else np.zeros(0)
    kernel = rng.uniform(0.1, 1, (cells if private else 1, n, m))
    y = None if private else rng.integers(0, 2, n).astype(float)
    stratum = np.zeros(n, np.int64) if tilted else rng.integers(0, 2, n)
    public = rng.normal(size=(n, 2 if tilted else 0))
    lot = Lot(kernel, y, rng.normal(size=(n, 2)), rng.normal(size=(1, n, m)), stratum, public)
    terms = (np.array([0, 2]), np.array([1]), np.array([3]))
    return Likelihood(law, terms, x, x, ends, 1 if tilted else 2, public.shape[1]), lot


@pytest.mark.parametrize("law", [Normal(), Bernoulli(), Counts()])
@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("tilted", [False, True])
def test_scores_are_derivatives_of_the_likelihood(law, private, tilted):
    likelihood, lot = random_problem(law, private=private, tilted=tilted)
    rng, h = np.random.default_rng(5), 1e-5
    eta = 0.5 * rng.normal(size=likelihood.size)
    weights = rng.uniform(0.5, 1, (likelihood.strata, 7))
    weights /= weights.sum(axis=1, keepdims=True)

    def value(eta, weights):
        return likelihood.sums(lot, eta, weights)[0]

    _, first, products, counts = likelihood.sums(lot, eta, weights)
    assert counts.sum() == 40
    by_eta = [(value(eta + h * e, weights) - value(eta - h * e, weights)) / (2 * h) for e in np.eye(eta.size)]
    np.testing.assert_allclose(first[: eta.size], by_eta, atol=1e-5)
    for _ in range(3):  # weights move so that they still add up
        move = rng.normal(size=weights.shape)
        move -= move.mean(axis=1, keepdims=True)
        slope = (value(eta, weights + h * move) - value(eta, weights - h * move)) / (2 * h)
        assert np.isclose(first[eta.size :] @ move.ravel(), slope, atol=1e-5)
    # P f = 1 for each record, so that products with f are sums
    at = weights.ravel()
    np.testing.assert_allclose(products[:, eta.size :] @ at, first, atol=1e-9)
    one = likelihood.sums(
        lot._replace(
            **{
                k: v[..., :1, :] if k in {"kernel", "mixed"} else v[:1]
                for k, v in lot._asdict().items()
                if v is not None
            }
        ),
        eta,
        weights,
    )
    np.testing.assert_allclose(one[2], np.outer(one[1], one[1]), atol=1e-9)


@pytest.mark.parametrize("law", [Normal(), Bernoulli(), Counts()])
@pytest.mark.parametrize("tilted", [False, True])
def test_records_that_are_alike_are_worked_out_once(law, tilted):
    likelihood, lot = random_problem(law, private=False, tilted=tilted)
    lot = lot._replace(by_record=np.repeat([[1.0, 0.3], [1.0, -0.2]], 20, axis=0), mixed=np.zeros((0, 40, 7)))
    likelihood = replace(likelihood, terms=(np.array([0, 2]), np.array([1]), np.zeros(0, np.int64)))
    eta, weights = 0.3 * np.arange(likelihood.size), np.full((likelihood.strata, 7), 1 / 7)
    known = lot.kinds()
    assert known.alike is not None
    assert known.alike[0].size == 4
    for one, other in zip(likelihood.sums(lot, eta, weights), likelihood.sums(known, eta, weights), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    wrong = known._replace(alike=(known.alike[0], np.roll(known.alike[1], 1)))  # the comparison sees whose is whose
    assert abs(likelihood.sums(wrong, eta, weights)[0] - likelihood.sums(lot, eta, weights)[0]) > 1e-3
    assert lot._replace(response=np.arange(40.0)).kinds().alike is None  # each of its own
    assert lot._replace(by_record=np.arange(80.0).reshape(40, 2)).kinds().alike is None
    assert lot._replace(mixed=np.zeros((1, 40, 7))).kinds().alike is None


def test_histogram_of_randomised_response_is_the_inverted_table():
    rng, keep, levels = np.random.default_rng(1), 0.4, Categorical(["a", "b", "c", "d"])
    block = Response(keep).on({"g": levels})
    seen = rng.choice(4, 5000, p=keep * np.array([0.5, 0.2, 0.2, 0.1]) + (1 - keep) / 4).astype(float)
    found = natural_histogram(block, "g", levels, seen)
    shares = np.bincount(seen.astype(int)) / 5000
    np.testing.assert_allclose(found.share, (shares - (1 - keep) / 4) / keep, atol=1e-4)
    np.testing.assert_allclose(found.error, np.sqrt(shares * (1 - shares) / 5000) / keep, rtol=1e-3)
    band = found.band(0.95)
    np.testing.assert_allclose(band[:, 1] - band[:, 0], 2 * 1.959964 * found.error, rtol=1e-6)
    two = found.joined(2)
    share = shares[:2].sum()
    np.testing.assert_allclose(two.share[0], (share - (1 - keep) / 2) / keep, atol=1e-4)
    np.testing.assert_allclose(two.error[0], np.sqrt(share * (1 - share) / 5000) / keep, rtol=1e-3)


def test_histogram_never_has_a_negative_share_and_covers():
    column = Bounded(0, 9, step=1)
    block = Window(epsilon=3.0).on({"x": column})
    truth = np.array([0.3, 0.3, 0.2, 0.1, 0.1, 0, 0, 0, 0, 0])
    rng, inside, reps = np.random.default_rng(2), 0, 60
    for _ in range(reps):
        content = rng.choice(10, 3000, p=truth).astype(float)[None]
        block.add_noise(content, rng.integers(0, 2**64, (2, 3000), dtype=np.uint64))
        block.to_values(content)
        found = natural_histogram(block, "x", column, content[0])
        assert (found.share >= 0).all()
        low, high = found.joined(5).band().T
        inside += low[0] <= 1.0 <= high[0]
    assert inside >= 50  # 57 are expected; fewer than 50 once in a hundred thousand


def test_histogram_of_unchanged_records_is_their_shares():
    column = Bounded(0, 1)
    block = ZeroInflated(scale=50.0, exact_rate=0.5).on({"x": column})
    seen = np.repeat([0.1, 0.6, 40.0], [30, 20, 50])  # half of all records tell nothing
    found = natural_histogram(block, "x", column, seen, cells=4)
    np.testing.assert_allclose(found.share, [0.6, 0, 0.4, 0], atol=0.01)
    with pytest.raises(DataError, match="missing"):
        natural_histogram(block, "x", column, np.array([np.nan]))
