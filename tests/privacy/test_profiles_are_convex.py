"""Every profile falls, is convex in e^epsilon and at most 1, and is never below what enumeration finds."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest

import versadp as vdp
from versadp.privacy import randomized_response, shuffled, shuffled_blocks, symmetric_laplace, worst, zero_inflated
from versadp.privacy.curves.contour import lower_envelope


def random_profile(rng):
    """Draw blocks and a crowd of 2 to 1e9, and combine them in one of the ways that mechanisms do."""
    n = int(10 ** rng.uniform(0.31, 9))
    blocks = [(rng.uniform(0.1, 5), 10 ** rng.uniform(-4, -0.1)) for _ in range(rng.integers(1, 5))]
    rate = float(rng.choice([0.0, 1e-9, 0.02]))
    response = randomized_response(int(rng.integers(2, 9)), rng.uniform(0.05, 0.8))
    laplace = zero_inflated(symmetric_laplace(int(rng.integers(1, 5)), rng.uniform(0.1, 2)), rate)
    among = shuffled_blocks(blocks, n, unit=str(rng.choice(["record", "attribute"])), exact_rate=rate)
    makers = [
        lambda: among,
        lambda: among,
        lambda: shuffled(rng.uniform(0.1, 9), n, exact_rate=rate),
        lambda: worst(response, laplace),
        lambda: vdp.privacy.compose(response, laplace),
        lambda: vdp.privacy.compose(among, response),
    ]
    return makers[rng.integers(len(makers))]()


def require_falling_and_convex(profile, last):
    """Check delta at points that are spread over epsilons from 0 on."""
    eps = np.unique(np.append(np.linspace(0, last, 200), np.logspace(-4, np.log10(last), 100)))
    delta = profile.delta(eps)
    assert np.all((delta >= 0) & (delta <= 1))
    assert np.all(np.diff(delta) <= 1e-12)
    k = np.exp(eps)
    chord = delta[:-2] + (delta[2:] - delta[:-2]) * (k[1:-1] - k[:-2]) / (k[2:] - k[:-2])
    assert np.all(delta[1:-1] <= chord + 1e-10)


@pytest.mark.parametrize("seed", range(24))
def test_delta_falls_and_is_convex_for_random_mechanisms(seed):
    require_falling_and_convex(random_profile(np.random.default_rng(seed)), 8.0)


@pytest.mark.parametrize(
    ("blocks", "n"),
    [([(2.0, 0.2)] * 6, 365), ([(6.0, 0.01)] * 2, 365), ([(8.0, 0.001)], 365), ([(1.0, 0.2), (3.0, 0.1)], 2)],
)
def test_delta_falls_where_few_others_hide_a_record(blocks, n):
    require_falling_and_convex(shuffled_blocks(blocks, n), 6.0)


def test_answer_does_not_depend_on_earlier_questions():
    blocks = [(1.9, 0.21)] * 6
    first = shuffled_blocks(blocks, 366).delta(0.3)
    from versadp.privacy.layers import blanket

    blanket._terms.cache_clear()
    again = shuffled_blocks(blocks, 366)
    again.delta(np.linspace(0, 6, 50))
    assert again.delta(0.3) == first


def test_delta_and_epsilon_are_inverse_where_few_others_hide_a_record():
    profile = shuffled_blocks([(2.0, 0.2)] * 6, 365)
    for epsilon in (0.05, 0.2, 0.5, 2.0):
        assert profile.epsilon(profile.delta(epsilon)) == pytest.approx(epsilon, rel=1e-9)
        alpha = 0.1
        assert profile.beta(alpha) >= 1 - profile.delta(epsilon) - np.exp(epsilon) * alpha - 1e-12


def histogram_law(levels, keep, people):
    """Return the probability of each histogram of answers by randomised response, by listing all answers."""
    law = defaultdict(float)
    for answers in itertools.product(range(levels), repeat=len(people)):
        chance = np.prod([(1 - keep) / levels + keep * (a == x) for a, x in zip(answers, people, strict=True)])
        law[tuple(answers.count(level) for level in range(levels))] += chance
    return law


@pytest.mark.parametrize("others", [0, 1, 2])
@pytest.mark.parametrize(("n", "keep"), [(2, 0.9), (3, 0.6), (5, 0.95), (5, 0.3)])
def test_delta_is_not_below_enumeration(n, keep, others):
    levels = 3
    p, q = (histogram_law(levels, keep, (x,) + (others,) * (n - 1)) for x in (0, 1))
    profile = shuffled_blocks([(float(np.log1p(levels * keep / (1 - keep))) * (1 + 1e-15), 1 / levels)], n)
    for epsilon in np.linspace(0, 5, 26):
        exact = sum(max(p[key] - np.exp(epsilon) * q[key], 0.0) for key in p)
        assert profile.delta(epsilon) >= exact - 1e-12


def test_lower_envelope_lies_below_all_points():
    rng = np.random.default_rng(0)
    x, y = np.cumsum(rng.exponential(size=60)), rng.random(60)
    corners = lower_envelope(x, y)
    low = np.interp(x, x[corners], y[corners])
    assert np.all(low <= y + 1e-12)
    assert np.all(np.diff(np.diff(y[corners]) / np.diff(x[corners])) > 0)
