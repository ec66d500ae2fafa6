"""A sampler's error against all that it could do: outcomes enumerated, events enumerated."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from versadp.errors import ParameterError
from versadp.privacy import compose, gaussian, randomized_response, symmetric_laplace, with_slack, zero_inflated
from versadp.privacy.layers.slack import WithSlack
from versadp_tests.shuffle_reference import response_channel

EPSILONS = (0.0, 0.3, 0.9, 1.5, 2.2, 3.0, 5.0)


def pair():
    """The product of two responses, and its two laws."""
    profiles = [randomized_response(3, 0.5), randomized_response(2, 0.4)]
    channels = [response_channel(k, p.pure_epsilon) for k, p in zip((3, 2), profiles, strict=True)]
    return compose(*profiles), *(np.kron(channels[0][i], channels[1][i]) for i in (0, 1))


@pytest.mark.parametrize(("tv", "lost"), [(1e-3, 1.0), (1e-3, 0.05), (0.02, 0.1), (0.05, 0.9)])
def test_every_event_of_every_sampler(tv, lost):
    """What is missing from an event is at most tv and at most its share: for each event that much is missing."""
    ideal, null, other = pair()
    charged = with_slack(ideal, tv, lost=lost)
    for epsilon in EPSILONS:
        worst = 0.0
        for event in itertools.product((False, True), repeat=len(null)):
            alarms = null[list(event)].sum()
            kept = max((1 - lost) * alarms, alarms - tv)
            worst = max(worst, min(other[list(event)].sum() + tv, 1) - np.exp(epsilon) * kept)
        assert worst <= charged.delta(epsilon) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_random_samplers(seed):
    """Some outcomes are far: what is missing from these may be all, and costs its likelihood ratio."""
    rng = np.random.default_rng(seed)
    ideal, null, other = pair()
    lost = 10 ** rng.uniform(-3, -0.5)
    far = np.log(other / null) < rng.uniform(0, 1)
    missing = null * np.where(far, 1.0, lost) * rng.random(len(null))
    drawn = null - missing
    drawn[rng.integers(len(null))] += missing.sum()
    wrong = other * 0.01 * rng.random(len(other))
    drawn_other = other - wrong
    drawn_other[rng.integers(len(other))] += wrong.sum()
    tv = max(missing.sum(), wrong.sum())
    charged = with_slack(ideal, tv, lost=lost, far=min((missing * other / null)[far].sum(), 0.999))
    for epsilon in EPSILONS:
        truth = np.maximum(drawn_other - np.exp(epsilon) * drawn, 0).sum()
        assert truth <= charged.delta(epsilon) * (1 + 1e-12)


def test_without_what_is_far_the_claim_would_be_wrong():
    """An outcome of five coins is lost that is likelier of the other record, and others are more so."""
    coin = randomized_response(2, 0.4)
    ideal, (row, mirror) = compose(*[coin] * 5), response_channel(2, coin.pure_epsilon)
    null, other = np.ones(1), np.ones(1)
    for _ in range(5):
        null, other = np.kron(null, row), np.kron(other, mirror)
    ratios = np.log(other / null) / coin.pure_epsilon
    lost = np.flatnonzero(np.isclose(ratios, 1.0))[0]
    drawn = null.copy()
    drawn[lost] = 0.0
    drawn[0] += null[lost]
    epsilon = ideal.pure_epsilon + 1
    truth = np.maximum(other - np.exp(epsilon) * drawn, 0).sum()
    assert truth == pytest.approx(other[lost])
    tv = null[lost]
    assert truth > with_slack(ideal, tv, lost=0.01).delta(epsilon)
    assert truth <= with_slack(ideal, tv, lost=0.01, far=other[lost]).delta(epsilon) < 2.2 * truth


@pytest.mark.parametrize(
    "base", [gaussian(1.0), symmetric_laplace(3, 0.5), zero_inflated(symmetric_laplace(6, 0.1), 0.01)]
)
def test_it_is_the_better_of_its_two_forms_and_a_line_between(base):
    tv, lost, far = 1e-8, 1e-2, 1e-8
    epsilon = np.linspace(0, 12, 400)
    found = with_slack(base, tv, lost=lost, far=far).delta(epsilon)
    far /= 1 - lost
    plain = base.delta(epsilon) + (1 + np.exp(epsilon)) * tv
    relative = base.delta(epsilon + np.log1p(-lost)) + tv + far
    assert np.all(found <= np.minimum(plain, relative) * (1 + 1e-9))
    assert np.all(found >= base.delta(epsilon))
    assert np.mean(found < np.minimum(plain, relative) * (1 - 1e-6)) < 0.05


def test_what_is_far_costs_nothing_where_it_is_dear():
    """Both charges hold: far outcomes may cost more than e^ε τ, and then nothing is claimed of shares."""
    base, tv, epsilon = symmetric_laplace(3, 2.0), 1e-9, np.linspace(0, 25, 500)
    plain = with_slack(base, tv).delta(epsilon)
    for far in (1e-9, 1e-7, 1e-5, 1e-3, 5.0, np.inf):
        charged = with_slack(base, tv, lost=1e-3, far=far)
        assert np.all(charged.delta(epsilon) <= plain * (1 + 1e-9))
        assert np.all(np.diff(charged.delta(epsilon)) <= 1e-18)
        assert charged.delta(700.0) <= charged.delta_floor * (1 + 1e-9)
    assert with_slack(base, tv, lost=1e-3, far=1e-9).delta(25.0) < 0.01 * plain[-1]


def test_slacks_add():
    one = with_slack(symmetric_laplace(3, 0.5), 1e-9, lost=1e-3, far=2e-9)
    two = with_slack(randomized_response(4, 0.5), 1e-10, lost=1e-4)
    both = compose(one, two)
    assert isinstance(both, WithSlack)
    assert (both.tv, both.lost) == pytest.approx((1.1e-9, 1.1e-3))
    assert both.far == pytest.approx(2e-9 / (1 - 1e-3) / (1 - 1.1e-3), rel=1e-6)
    mixed = compose(one, with_slack(randomized_response(4, 0.5), 1e-10))  # of which nothing more is known
    assert mixed.lost == 1
    assert mixed.tv == 1e-10
    assert mixed.base.lost == 1e-3
    twice = one.compose(2)
    assert twice.tv == pytest.approx(2e-9)
    assert twice.delta(9.0) > twice.base.delta(9.0)


@pytest.mark.parametrize("bad", [0.0, -0.1, 1.1, float("nan"), True, None, "1"])
def test_bad_shares(bad):
    with pytest.raises(ParameterError, match="lost"):
        with_slack(gaussian(1.0), 1e-9, lost=bad)
    if bad not in {0.0, 1.1}:
        with pytest.raises(ParameterError, match="far"):
            with_slack(gaussian(1.0), 1e-9, lost=0.1, far=bad)
