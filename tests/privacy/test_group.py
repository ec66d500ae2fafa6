"""Several rows per person: known answers, and enumerated shuffles in which all rows of a person differ."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from versadp.errors import ParameterError
from versadp.privacy import (
    approx_dp,
    gaussian,
    group,
    identity,
    randomized_response,
    shuffled,
    symmetric_laplace,
    zero_inflated,
)
from versadp.privacy.layers.group import Group
from versadp_tests import shuffle_reference as reference

EPSILONS = np.array([0.0, 0.05, 0.3, 1.0, 2.0, 4.0, 8.0])


def enumerated(profile, k, epsilon, levels):
    """delta of the k-fold composition from powers at some levels: below it, and as near as these are fine."""
    power = levels
    for _ in range(k):
        power = 1 - profile.beta(np.clip(power, 0, 1))
    return np.max(power - np.exp(epsilon) * levels)


# known answers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 7, 20])
def test_gaussians_of_mu_are_one_of_k_mu(k):
    exact = gaussian(0.2 * k).delta(EPSILONS)
    assert group(gaussian(0.2), k).delta(EPSILONS) == pytest.approx(exact, rel=1e-12)
    by_lines = Group(gaussian(0.2), k).delta(EPSILONS)  # as any other profile is composed
    assert np.all(by_lines >= exact)
    assert np.all(by_lines <= exact * 1.005 + 1e-25)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_pure_epsilon_is_multiplied_and_delta_is_below_that_of_the_product(epsilon):
    """Two steps of the pair of pure epsilon: its trade-off function has slopes e^2ε, 1 and e^-2ε."""
    p = group(approx_dp(epsilon, 0.0), 2)
    assert p.pure_epsilon == pytest.approx(2 * epsilon, rel=1e-14)
    assert p.delta(2 * epsilon * (1 + 1e-12)) == 0
    assert p.delta(0.0) == pytest.approx(1 - np.exp(-epsilon), rel=1e-12)
    assert p.delta(0.0) < approx_dp(2 * epsilon, 0.0).delta(0.0)


def test_response_on_three_levels():
    """Power of the first test is e^ε α up to α = q, the chance of another level; then parallel to the diagonal."""
    keep = 0.4
    q, loss = (1 - keep) / 3, np.log1p(3 * keep / (1 - keep))
    p = group(randomized_response(3, keep), 2)
    ratio = np.exp(loss)  # power e^ε q at q, + slope 1 up to 1 - q, where it is 1 - q e^-ε... so composed by hand:
    first = np.array([0.0, q / ratio, q, 1 - ratio * q, 1 - q, 1 - q / ratio, 1.0])

    def power(x):
        return np.minimum(np.minimum(ratio * x, x + (ratio - 1) * q), 1 - (1 - x) / ratio)

    corners = np.unique(np.concatenate([first, np.linspace(0, 1, 200_001)]))
    for e in (0.0, 0.5, 1.0, 2.0):
        truth = np.max(power(power(corners)) - np.exp(e) * corners)
        assert p.delta(e) == pytest.approx(truth, abs=1e-5)
        assert p.delta(e) >= truth * (1 - 1e-12)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize(
    "profile",
    [
        zero_inflated(symmetric_laplace(4, 0.3), 0.01),
        approx_dp(0.4, 0.001),
        shuffled(3.0, 2000),
        randomized_response(4, 0.2),
    ],
    ids=["inflated", "pair", "shuffled", "response"],
)
def test_is_the_trade_off_function_applied_k_times(profile, k):
    levels = np.unique(np.concatenate([np.logspace(-12, -1, 3000), np.linspace(0, 1, 20_001)]))
    for e in (0.0, 0.3, 1.0):
        truth = enumerated(profile, k, e, levels)
        found = group(profile, k).delta(e)
        assert truth - 1e-9 <= found <= truth * 1.01 + 1e-7
    assert group(profile, k).delta_floor == pytest.approx(enumerated(profile, k, 0, np.zeros(1)), rel=2e-3, abs=1e-12)


def test_never_the_pair_of_k_times_epsilon_and_delta():
    """(kε, kδ) is false: a part of delta is magnified by e^ε at each further row."""
    p = group(approx_dp(1.0, 0.01), 3)
    assert p.delta(3.0) == pytest.approx(0.01 * (1 + np.e + np.e**2), rel=1e-12)
    assert p.delta(3.0) > 0.03


def test_one_row_changes_nothing():
    for profile in (gaussian(1.0), approx_dp(1.0, 0.1), shuffled(2.0, 100)):
        assert group(profile, 1) == profile
    assert group(identity(), 5).delta(0.0) == 0
    assert group(group(shuffled(2.0, 100), 2), 3) == group(shuffled(2.0, 100), 6)
    for rows in (0, -1, 1.5, True):
        with pytest.raises(ParameterError):
            group(gaussian(1.0), rows)


def test_grows_with_the_rows_and_ends_at_one():
    found = np.array([group(shuffled(3.0, 5000), k).delta(EPSILONS) for k in (1, 2, 3, 8, 40, 300)])
    assert np.all(np.diff(found, axis=0) >= -1e-30)
    assert found[-1, 0] > 0.99
    assert np.all(found <= 1)


# against channels -----------------------------------------------------------------------------------------------------


def worst_person(channel, n, k, epsilon):
    """The largest divergence over all data sets of n rows that differ in k of them, all of one person."""
    inputs = range(len(channel))
    own = list(itertools.combinations_with_replacement(inputs, k))
    worst = 0.0
    for others in itertools.combinations_with_replacement(inputs, n - k):
        laws = [reference.histogram_law([channel[x] for x in (*rows, *others)]) for rows in own]
        for one, other in itertools.permutations(laws, 2):
            worst = max(worst, reference.divergence(one, other, epsilon))
    return worst


def row_profile(channel, n, epsilon):
    """The exact delta of one row, over all data sets."""
    return reference.worst_data(channel, n, epsilon)


@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize("local", [0.5, 1.5, 3.0])
def test_no_person_in_a_shuffle_is_told_apart_better(levels, local):
    channel = reference.response_channel(levels, local)
    exceeded = False
    for n in (2, 3, 4, 5):
        claimed, row = group(shuffled(local, n), 2), shuffled(local, n)
        for e in np.array([0.0, 0.2, 0.6, 1.2, 1.9]) * local:
            truth = worst_person(channel, n, 2, e)
            assert truth <= claimed.delta(e) * (1 + 1e-9)
            exceeded |= truth > row.delta(e) * (1 + 1e-9)
    assert exceeded  # the guarantee of a row does not hold for a person


@pytest.mark.parametrize("seed", range(12))
def test_no_person_under_a_random_channel_is_told_apart_better(seed):
    rng = np.random.default_rng(seed)
    channel = reference.random_channel(rng, 3, int(rng.integers(2, 4)), float(rng.choice([0.3, 1.0, 2.5])))
    local = reference.local_epsilon(channel)
    n, k = int(rng.integers(3, 6)), int(rng.integers(2, 4))
    for share in (0.0, 0.3, 0.9, 1.7):
        e = share * local
        assert worst_person(channel, n, k, e) <= group(shuffled(local, n), k).delta(e) * (1 + 1e-9)


@pytest.mark.parametrize("levels", [2, 3])
def test_rows_in_known_places_are_told_apart_no_better(levels):
    """Without a shuffle the rows of a person are independent, and the bound holds as well."""
    channel = reference.response_channel(levels, 1.0)
    row = randomized_response(levels, float(channel[0, 0] - channel[0, 1]))
    for k in (2, 3):
        product = channel
        for _ in range(k - 1):
            product = np.kron(product, channel)
        exceeded = False
        for e in (0.0, 0.5, 0.9, 2.0):
            truth = max(np.maximum(product[0] - np.exp(e) * other, 0).sum() for other in product)
            assert truth <= group(row, k).delta(e) * (1 + 1e-9)
            exceeded |= truth > row.delta(e) * (1 + 1e-9)
        assert exceeded
