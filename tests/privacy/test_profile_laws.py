"""What every profile must satisfy, whatever mechanism it belongs to."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from versadp.errors import ParameterError
from versadp.privacy import (
    compose,
    identity,
    symmetric_laplace,
    symmetric_laplace_limit,
    with_slack,
    worst,
    zero_inflated,
)
from versadp.privacy.layers.worst import Worst
from versadp_tests.privacy_registry import PROFILES

EPSILONS = np.concatenate([-np.linspace(0, 6, 31)[::-1], np.linspace(0, 6, 31)[1:]])
ALPHAS = np.concatenate([[0.0, 1e-6, 1e-4], np.linspace(0.01, 0.99, 29), [0.9999, 1.0]])
TIGHT = 2e-7  # of compositions on a mesh; everything else is far below


@pytest.fixture(params=PROFILES, ids=str)
def profile(request):
    return PROFILES[request.param]


def test_delta_decreases_and_is_convex_in_exp_epsilon(profile):
    k = np.linspace(0.02, 20.0, 401)
    delta = profile.delta(np.log(k))
    assert np.all(np.diff(delta) <= 1e-12)
    assert np.all(np.diff(delta, 2) >= -1e-9)
    assert np.all((delta >= profile.delta_floor) & (delta <= 1))


def test_delta_at_the_ends(profile):
    assert profile.delta(np.inf) == profile.delta_floor
    assert profile.delta(-np.inf) == 1.0
    assert profile.delta(0.0) == profile.advantage()


def test_delta_at_negative_epsilons_mirrors(profile):
    e = np.linspace(0.01, 5, 40)
    expected = 1 - np.exp(-e) * (1 - profile.delta(e))
    assert np.allclose(profile.delta(-e), expected, atol=1e-13)


def test_beta_decreases_is_convex_and_below_the_diagonal(profile):
    alpha = np.linspace(0, 1, 101)
    beta = profile.beta(alpha)
    assert np.all(np.diff(beta) <= 1e-12)
    if not isinstance(profile, Worst):  # a trade-off of one pair is convex, the least of several need not be
        assert np.all(np.diff(beta, 2) >= -1e-8)
    assert np.all((beta >= 0) & (beta <= 1 - alpha))
    assert profile.beta(0.0) == 1 - profile.delta_floor
    assert profile.beta(1.0) == 0.0


def test_beta_is_symmetric(profile):
    """beta undoes itself, up to tightness, wherever it is not flat."""
    beta = profile.beta(ALPHAS)
    inner = (beta > 1e-4) & (ALPHAS > 0.005)
    again = profile.beta(np.clip(beta[inner], 0, 1))
    slack = 2e-4 if profile.notes and "total variation" in profile.notes[-1] else 2e-6
    assert np.allclose(again, ALPHAS[inner], atol=slack)


def test_beta_is_the_conjugate_of_delta(profile):
    """No (epsilon, delta) line lies above beta, and some line touches it."""
    beta = profile.beta(ALPHAS)
    eps = np.linspace(-12, 12, 4801)
    lines = 1 - profile.delta(eps)[:, None] - np.exp(eps)[:, None] * ALPHAS
    assert np.all(beta >= lines.max(axis=0) - 1e-8)
    inner = (ALPHAS > 1e-3) & (ALPHAS < 0.999) & (not isinstance(profile, Worst))
    spacing = 3e-3 if profile._kinks.size else 2e-5  # of the lines, which enters squared where the curve is smooth
    assert np.allclose(beta[inner], np.maximum(lines.max(axis=0), 0)[inner], atol=spacing)


def test_delta_is_the_conjugate_of_beta(profile):
    alpha = np.concatenate([np.logspace(-9, -2, 30), np.linspace(0.01, 1, 170)])
    beta = profile.beta(alpha)
    for e in (0.0, 0.4, 1.5):
        from_beta = max(np.max(1 - beta - np.exp(e) * alpha), 1 - profile.beta(0.0))
        assert from_beta == pytest.approx(profile.delta(e), abs=6e-3 if profile._kinks.size else 5e-4)
        assert from_beta <= profile.delta(e) + 1e-8


def test_epsilon_inverts_delta_on_the_safe_side(profile):
    for e in (0.05, 0.3, 1.0, 3.0):
        delta = profile.delta(e)
        if delta <= profile.delta_floor:
            continue
        found = profile.epsilon(delta)
        assert profile.delta(found) <= delta
        assert found <= e * (1 + 1e-9) + 1e-9
    assert profile.epsilon(1.0) == 0.0


def test_epsilon_at_the_floor(profile):
    floor = profile.delta_floor
    if np.isfinite(profile.pure_epsilon):
        assert profile.delta(profile.epsilon(floor)) == pytest.approx(floor, rel=1e-13)
        assert profile.epsilon(floor) == pytest.approx(profile.pure_epsilon, rel=1e-5, abs=1e-9)
    else:
        with pytest.raises(ParameterError, match=f"floor of delta is {floor:g}"):
            profile.epsilon(floor)
    if floor > 0:
        with pytest.raises(ParameterError, match="floor"):
            profile.epsilon(floor * 0.999)


def test_arrays_and_scalars(profile):
    assert isinstance(profile.delta(1.0), float)
    assert isinstance(profile.beta(0.1), float)
    assert isinstance(profile.epsilon(0.9), float)
    shaped = profile.delta(np.ones((2, 3)))
    assert shaped.shape == (2, 3)
    assert np.all(shaped == profile.delta(1.0))
    assert profile.delta([]).shape == (0,)
    assert profile.beta([0.2, 0.1]).shape == (2,)


def test_composing_with_nothing_changes_nothing(profile):
    for same in (compose(profile), compose(profile, identity()), profile.compose(1), compose(identity(), profile)):
        assert np.all(same.delta(EPSILONS) == profile.delta(EPSILONS))


def test_composing_with_something_never_helps(profile):
    more = compose(profile, PROFILES["response, two levels"])
    assert np.all(more.delta(EPSILONS) >= profile.delta(EPSILONS) - 1e-12)


def test_inflation_law(profile):
    rate = 0.07
    inflated = zero_inflated(profile, rate)
    assert np.allclose(inflated.delta(EPSILONS[31:]), rate + (1 - rate) * profile.delta(EPSILONS[31:]), atol=1e-13)
    alpha = np.linspace(0, 0.9, 19)
    assert np.allclose(inflated.beta(alpha), (1 - rate) * profile.beta(alpha / (1 - rate)), atol=1e-8)


def test_worst_of_itself(profile):
    assert worst(profile, profile) is profile
    both = worst(profile, PROFILES["gaussian"])
    expected = np.maximum(profile.delta(EPSILONS), PROFILES["gaussian"].delta(EPSILONS))
    assert np.allclose(both.delta(EPSILONS), expected, atol=1e-14)


def test_worst_attacker(profile):
    """Each pair of neighbours is one member's, so the attacker misses what the worst member lets slip, and no less."""
    other = PROFILES["response"]
    expected = np.minimum(profile.beta(ALPHAS), other.beta(ALPHAS))
    assert np.allclose(worst(profile, other).beta(ALPHAS), expected, atol=1e-12)


def test_printed_in_words(profile):
    text = str(profile)
    assert text == profile.describe()
    for phrase in ("(epsilon, delta)", "false alarms", "replace one", "public columns"):
        assert phrase in text
    assert ("given away" in text) == (profile.exact_share > 0)
    assert profile.exact_share <= profile.delta_floor


def test_immutable_and_hashable(profile):
    hash(profile)
    with pytest.raises((AttributeError, TypeError)):
        profile.shift = 3.0


@pytest.mark.parametrize("shift", [1e-3, 0.05, 0.5, 3.0, 20.0, 50.0])
def test_monotone_in_dim_and_bounded_by_the_limit(shift):
    eps = np.concatenate([[0.0], shift * np.array([0.01, 0.3, 1.0, 1.5, 3.0, 10.0]), [1.0, 5.0]])
    curves = [symmetric_laplace(d, shift).delta(eps) for d in (1, 2, 3, 6, 20, 100, 1000, 10_000)]
    curves.append(symmetric_laplace_limit(shift).delta(eps))
    for lower, higher in itertools.pairwise(curves):
        assert np.all(higher >= lower - 2e-9 * lower - 1e-18)
    assert np.ptp([c[0] for c in curves]) < 1e-12  # at epsilon 0 all dimensions agree
    assert curves[0][0] == pytest.approx(-np.expm1(-shift / np.sqrt(2)), rel=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 6, 300])
def test_monotone_in_shift_and_exact_rate(dim):
    eps = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 4.0])
    for lower, higher in zip(np.logspace(-3, 1.6, 24)[:-1], np.logspace(-3, 1.6, 24)[1:], strict=True):
        low, high = symmetric_laplace(dim, lower).delta(eps), symmetric_laplace(dim, higher).delta(eps)
        assert np.all(high >= low * (1 - 2e-9) - 1e-25)
    p = symmetric_laplace(dim, 0.5)
    deltas = np.array([zero_inflated(p, rate).delta(eps) for rate in (0.0, 0.01, 0.2, 0.9)])
    assert np.all(np.diff(deltas, axis=0) > 0)


def test_slack_is_never_below_the_best_bound_so_far(profile):
    """delta + (1 + e^ε) τ, held from its minimum on: nothing smaller is ever claimed."""
    tv = 1e-5
    slack = with_slack(profile, tv)
    eps = np.sort(np.append(np.linspace(0, 14, 281), slack.pure_epsilon))  # the latter is where the bound is least
    raw = np.minimum.accumulate(profile.delta(eps) + (1 + np.exp(eps)) * tv)
    found = slack.delta(eps)
    assert np.all(found >= raw * (1 - 1e-9))
    assert np.all(found <= np.minimum(raw * (1 + 1e-9), 1) + 1e-15)
