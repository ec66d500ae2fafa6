"""What a shuffle guarantees: never below enumerated channels, equal to the pair that it is said to be, and on time."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from versadp.errors import InfeasibleError, ParameterError
from versadp.privacy import (
    PrivacyProfile,
    approx_dp,
    compose,
    identity,
    randomized_response,
    shuffled,
    solve_local_epsilon,
    solve_parameter,
    target,
)
from versadp_tests import shuffle_reference as reference

EPSILONS = (0.0, 0.1, 0.3, 0.5, 0.8, 0.99)  # as shares of the local epsilon


# against channels -----------------------------------------------------------------------------------------------------

CHANNELS = {
    f"{name}, epsilon {epsilon}": channel(epsilon)
    for epsilon in (0.3, 1.0, 3.0)
    for name, channel in {
        "two levels": lambda e: reference.response_channel(2, e),
        "three levels": lambda e: reference.response_channel(3, e),
        "four levels": lambda e: reference.response_channel(4, e),
        "window of 2 on 3": lambda e: reference.window_channel(3, 2, e),
        "window of 3 on 2": lambda e: reference.window_channel(2, 3, e),
    }.items()
}


@pytest.mark.parametrize("name", CHANNELS)
def test_no_data_set_under_a_channel_is_told_apart_better(name):
    channel = CHANNELS[name]
    local = reference.local_epsilon(channel)
    for n in (1, 2, 3, 5) if channel.shape[1] > 2 else (1, 2, 3, 5, 8):
        claimed = shuffled(local, n)
        for share in EPSILONS[:-1]:
            assert reference.worst_data(channel, n, share * local) <= claimed.delta(share * local) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_no_random_channel_is_told_apart_better(seed):
    """Any law may be a record's or another's, so the others take the worst of them too."""
    rng = np.random.default_rng(seed)
    epsilon = float(rng.choice([0.2, 1.0, 2.0, 4.0]))
    channel = reference.random_channel(rng, 3, int(rng.integers(2, 5)), epsilon)
    local = reference.local_epsilon(channel)
    n = int(rng.integers(2, 5))
    for share in EPSILONS[:-1]:
        assert reference.worst_data(channel, n, share * local) <= shuffled(local, n).delta(share * local) * (1 + 1e-9)


@pytest.mark.parametrize(("first", "second"), [(0.5, 1.0), (2.0, 0.7)])
def test_no_attribute_is_told_apart_better(first, second):
    """Two attributes with their own responses; neighbours differ in the first, the others in anything."""
    product = np.kron(reference.response_channel(2, first), reference.response_channel(2, second))
    for n in (2, 3, 4):
        claimed = shuffled(first, n, others=first + second)
        for share in EPSILONS[:-1]:
            truth = max(
                reference.shuffled_divergence(product[a], product[a + 2], product[list(others)], share * first)
                for a in (0, 1)
                for others in itertools.combinations_with_replacement(range(4), n - 1)
            )
            assert truth <= claimed.delta(share * first) * (1 + 1e-9)


def blank_channel(local, others):
    """The two laws of a record that never leave their two reports blank, and one of others, which mostly do."""
    p, q = np.exp(local), np.exp(others)
    first = np.array([p, 1, 0]) / (p + 1)
    alike = p / ((p + 1) * q)
    return first, first[[1, 0, 2]], np.array([alike, alike, 1 - 2 * alike])


@pytest.mark.parametrize(("local", "others"), [(0.3, 0.3), (1.0, 1.0), (3.0, 3.0), (1.0, 2.5), (2.0, 0.7)])
def test_what_the_proof_assumes_attains_it(local, others):
    """The record's laws have ratio p, and exceed the others' by q at most: there equality holds at every epsilon."""
    first, second, other = blank_channel(local, others)
    for n in (1, 2, 4, 8):
        claimed = shuffled(local, n, others=others)
        for share in EPSILONS:
            truth = reference.shuffled_divergence(first, second, [other] * (n - 1), share * local)
            assert claimed.delta(share * local) == pytest.approx(truth, rel=1e-9)


def test_binary_response_attains_it_where_one_outcome_counts():
    """Up to two people at every epsilon; with more, where only a unanimous outcome has a loss above epsilon."""
    for local, n in itertools.product((0.5, 1.0, 4.0), (1, 2, 3, 5, 8)):
        channel = reference.response_channel(2, local)
        p = np.exp(local)
        last_but_one = np.log(((n - 1) * p + 1) / (n - 1 + p)) if n > 2 else 0.0
        for epsilon in np.linspace(last_but_one, local, 4, endpoint=False):
            truth = reference.worst_data(channel, n, epsilon)
            assert shuffled(local, n).delta(epsilon) == pytest.approx(truth, rel=1e-9)


def test_binary_response_stays_below_elsewhere():
    """So the bound is not its curve: other people's answers hide in the same two levels."""
    truth = reference.worst_data(reference.response_channel(2, 1.0), 8, 0.1)
    assert 0.8 < truth / shuffled(1.0, 8).delta(0.1) < 0.9


# negative controls ----------------------------------------------------------------------------------------------------


def test_claims_for_more_people_or_a_smaller_epsilon_are_refuted():
    for local, n in ((1.0, 2), (3.0, 4), (4.0, 8)):
        channel = reference.response_channel(2, local)
        truth = reference.worst_data(channel, n, 0.6 * local)
        assert truth > 1.01 * shuffled(local, math.ceil(1.5 * n)).delta(0.6 * local)
        assert truth > 1.01 * shuffled(0.9 * local, n).delta(0.6 * local)


def test_a_pair_with_less_variation_is_refuted():
    """The published "variation-ratio" pair with a beta below its maximum: mass that both laws share is hidden among
    other people's reports, where an attacker does find it."""
    p = math.exp(4.0)
    a = 0.1 / (p + 1)
    common, other = 1 - 0.1, np.array([a, a, (1 - 0.1) / p, 0.0])
    other[3] = 1 - other.sum()
    seen = other[3] / p / (1 + other[3] / p)  # of the record's own, so that every ratio stays finite
    first = np.append(np.array([p * a, a, common]) * (1 - seen), seen)
    second = first[[1, 0, 2, 3]]
    other[:3] *= 1 - seen
    other[3] = 1 - other[:3].sum()
    local = reference.local_epsilon(np.stack([first, second, other]))
    n, epsilon = 8, 3.0
    truth = reference.shuffled_divergence(first, second, [other] * (n - 1), epsilon)
    ratio, q = first[0] / first[1], math.exp(local)
    beta = 0.5 * np.abs(first - second).sum()
    small = beta / (ratio - 1)
    report = [ratio * small, small, 1 - (ratio + 1) * small]
    coin = ratio * small / q
    merged = reference.shuffled_divergence(
        report, [report[i] for i in (1, 0, 2)], [[coin, coin, 1 - 2 * coin]] * 7, epsilon
    )
    assert truth > 0.05
    assert merged < 1e-6, "the published pair would claim this"
    assert shuffled(local, n).delta(epsilon) >= truth


# against the pair -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 25, 60])
@pytest.mark.parametrize(("local", "others"), [(0.01, None), (1.0, None), (4.0, None), (12.0, None), (1.0, 3.0)])
def test_pair_with_forty_digits(n, local, others):
    claimed = shuffled(local, n, others=others)
    epsilons = [share * local for share in EPSILONS]
    for epsilon, truth in zip(epsilons, reference.pair(epsilons, n, local, others), strict=True):
        found = claimed.delta(epsilon)
        assert truth <= found <= truth * (1 + 1e-9) + 1e-16
    assert claimed.delta(local) == 0


LARGE = [(1000, 0.01), (1000, 1.0), (10_000, 4.0), (30_000, 6.0), (10**6, 4.0), (10**8, 12.0)]


@pytest.mark.parametrize(
    ("n", "local"), [*LARGE, *(pytest.param(10**9, e, marks=pytest.mark.slow) for e in (1.0, 8.0))]
)
def test_pair_of_many_people(n, local):
    """Within 1e-3 wherever delta is above 1e-12, and not below: the sum itself is good to 1e-4."""
    claimed = shuffled(local, n)
    compared = 0
    for sd in (0.0, 0.5, 2.0, 4.0, 5.5, 6.5):
        reach = math.tanh(local / 2) * sd / math.sqrt(2 * n / (math.exp(local) + 1))
        truth = reference.pair_by_summing(2 * math.atanh(reach), n, local)
        if truth > 1e-12:
            found = claimed.delta(2 * math.atanh(reach))
            assert truth * (1 - 1e-4) <= found <= truth * (1 + 1e-3)
            compared += 1
    assert compared >= 4


@pytest.mark.parametrize(("local", "share"), [(0.01, None), (1.0, None), (8.0, None), (2.0, 0.9999), (1.0, 0.5)])
def test_both_ways_to_compute_it_agree(local, share):
    """Listing all outcomes, and the contour, above it by less than 1e-3, where one takes over from the other."""
    from versadp.privacy.curves.outcomes import count
    from versadp.privacy.layers.shuffle import _FEW, _outcomes, _terms

    share = share or 2 / (math.exp(local) + 1)
    n = next(int(n) for n in np.geomspace(100, 1e12, 400) if count(share, int(n)) > _FEW)
    listed, integrated = _outcomes(local, share, n), _terms(local, share, n)
    epsilon = 2 * np.arctanh(np.tanh(local / 2) * np.linspace(0, 6.3, 500) / np.sqrt(n * share))
    low, high = listed.curve(epsilon)[0], integrated.curve(epsilon)[0]
    assert np.all(high >= low * (1 - 1e-9))
    assert np.all(high <= low * (1 + 1e-3))


# the table of central epsilons ----------------------------------------------------------------------------------------

CENTRAL = {
    10**4: {2: "0.114", 4: "0.411", 6: "1.47"},
    10**5: {2: "0.033", 4: "0.118", 6: "0.357", 8: "1.18"},
    10**6: {2: "0.0095", 4: "0.034", 6: "0.103", 8: "0.304", 10: "0.960"},
    10**7: {2: "0.0027", 4: "0.0098", 6: "0.030", 8: "0.088", 10: "0.258", 12: "0.794"},
}
LOCAL = {
    10**4: ("4.34", "5.47", "6.32"),
    10**5: ("6.60", "7.76", "8.62"),
    10**6: ("8.90", "10.06", "10.92"),
    10**7: ("11.2", "12.4", "13.2"),
}


def as_printed(value, like):
    return f"{value:.{len(like.partition('.')[2])}f}"


@pytest.mark.parametrize("n", CENTRAL)
def test_table_of_epsilons_at_delta_one_in_a_million(n):
    for local, printed in CENTRAL[n].items():
        assert as_printed(shuffled(local, n).epsilon(1e-6), printed) == printed
    for epsilon, printed in zip((0.5, 1.0, 2.0), LOCAL[n], strict=True):
        assert as_printed(solve_local_epsilon(n, epsilon, 1e-6), printed) == printed


# laws of its own ------------------------------------------------------------------------------------------------------


def worsen(curves):
    """Whether each is at least the one before, up to what either may be too large by."""
    return all(np.all(after >= before * (1 - 1e-3) - 1e-17) for before, after in itertools.pairwise(curves))


def test_more_people_and_a_smaller_epsilon_protect_more():
    epsilon = np.array([0.0, 0.02, 0.1, 0.4])
    for local in (0.5, 2.0, 6.0):
        assert worsen(shuffled(local, n).delta(epsilon) for n in (10**9, 10**6, 10_000, 2000, 1000, 100, 10, 3, 2, 1))
    for n in (1, 5, 300, 10_000, 10**7):
        assert worsen(shuffled(local, n).delta(epsilon) for local in (0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0))
        assert worsen(shuffled(1.0, n, others=q).delta(epsilon) for q in (0.4, 0.7, 1.0, 2.0, 5.0))


def test_one_report_is_pure_differential_privacy():
    p, q = shuffled(1.3, 1), approx_dp(1.3, 0.0)
    epsilon = np.linspace(-2, 2, 41)
    assert p.delta(epsilon) == pytest.approx(q.delta(epsilon), abs=1e-9)
    assert p.pure_epsilon == 1.3


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 16.0), st.integers(0, 30), st.floats(0.0, 1.2), st.floats(0.0, 8.0))
def test_any_shuffle_is_a_profile(local, log_n, share, more):
    n = 2**log_n
    p = shuffled(local, n, others=local + more)
    assert isinstance(p, PrivacyProfile)
    alone = (np.exp(local) - np.exp(share * local)) / (np.exp(local) + 1)
    assert 0 <= p.delta(share * local) <= max(alone, 0) * (1 + 1e-3) + 1e-9
    ratios = np.linspace(1.0, 1 + 4 * math.sqrt(math.exp(local + more) / n), 30)
    delta = p.delta(np.log(ratios))
    assert np.all(np.diff(delta) <= 0)
    assert np.all(np.diff(delta, 2) >= -1e-9 * delta[0])
    assert p.delta(-0.3) == pytest.approx(1 - np.exp(-0.3) * (1 - p.delta(0.3)), rel=1e-12)


def test_on_time():
    """In time of this process, so that a busy machine does not matter."""
    slowest = 0.0
    for n, local in itertools.product((1, 300, 3000, 10**5, 10**9), (0.01, 1.0, 3.0, 8.0, 16.0)):
        start = time.process_time()
        shuffled(local, n).delta(0.1 * local)
        slowest = max(slowest, time.process_time() - start)
    assert slowest < 0.2


# composition and bridges ----------------------------------------------------------------------------------------------


def test_two_shuffles_by_enumeration():
    law = [reference.histogram_law([row, *[blank_channel(1.0, 1.0)[2]] * 2]) for row in blank_channel(1.0, 1.0)[:2]]
    both = [{(a, b): x * y for (a, x), (b, y) in itertools.product(one.items(), repeat=2)} for one in law]
    twice = shuffled(1.0, 3).compose(2)
    for epsilon in (0.0, 0.4, 1.1, 1.9):
        truth = reference.divergence(*both, epsilon)
        assert truth - 1e-12 <= twice.delta(epsilon) <= truth + 1e-5


def test_a_shuffle_beside_a_response_by_enumeration():
    law = [reference.histogram_law([row, *[blank_channel(1.0, 1.0)[2]] * 4]) for row in blank_channel(1.0, 1.0)[:2]]
    response = reference.response_channel(3, np.log1p(3 * 0.2 / 0.8))
    both = [
        {(a, y): x * w for a, x in one.items() for y, w in enumerate(row)}
        for one, row in zip(law, response, strict=False)
    ]
    joint = compose(shuffled(1.0, 5), randomized_response(3, 0.2))
    for epsilon in (0.0, 0.4, 1.1):
        assert joint.delta(epsilon) == pytest.approx(reference.divergence(*both, epsilon), rel=1e-8)


def test_many_releases_are_nearly_gaussian():
    """k of them have the variance k: far below what basic composition would say."""
    one = shuffled(2.0, 10**5)
    ten = one.compose(10)
    assert ten.epsilon(1e-6) < 0.45 * 10 * one.epsilon(1e-7)
    assert ten.epsilon(1e-6) > 2 * one.epsilon(1e-6)
    assert "mesh" in ten.notes[-1]


# what is not pure -----------------------------------------------------------------------------------------------------


def test_reports_that_sometimes_show_the_record():
    local, rate = 1.0, 0.1
    kept = reference.response_channel(2, local)
    channel = np.hstack([(1 - rate) * kept, rate * np.eye(2)])
    for n in (1, 2, 4):
        claimed = shuffled(local, n, exact_rate=rate)
        assert claimed.exact_share == pytest.approx(rate)
        for epsilon in (0.0, 0.3, 0.8, 2.0):
            assert reference.worst_data(channel, n, epsilon) <= claimed.delta(epsilon) * (1 + 1e-9)
    floor = reference.worst_data(channel, 4, 5.0)
    assert floor == pytest.approx(rate, rel=1e-9), "a claim without the floor would be wrong"


def test_those_who_show_their_records_hide_nobody():
    """The pair that attains it, with a share of everybody's reports shown: equality once more."""
    rate, n = 0.3, 6
    first, second, other = blank_channel(1.0, 1.0)
    first = np.append((1 - rate) * first, [rate, 0])
    second = np.append((1 - rate) * second, [0, rate])
    other = np.append((1 - rate) * other + [0, 0, rate], [0, 0])
    claimed = shuffled(1.0, n, exact_rate=rate)
    for epsilon in (0.0, 0.2, 0.6, 0.9):
        truth = reference.shuffled_divergence(first, second, [other] * (n - 1), epsilon)
        assert claimed.delta(epsilon) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_reports_that_are_private_up_to_a_delta(seed):
    rng = np.random.default_rng(seed)
    channel = rng.dirichlet(np.full(4, 0.7), size=3)
    local = float(rng.uniform(0.5, 3.0))
    lost = max(
        np.maximum(channel[a] - np.exp(local) * channel[b], 0).sum() for a, b in itertools.permutations(range(3), 2)
    )
    n = int(rng.integers(2, 5))
    if 2 * (n - 1) * lost * np.exp(-local) < 1:
        claimed = shuffled(local, n, local_delta=lost)
        for epsilon in (0.0, 0.5, 1.0, 3.0):
            assert reference.worst_data(channel, n, epsilon) <= claimed.delta(epsilon) * (1 + 1e-9)


def test_nothing_told_is_nothing_told():
    assert shuffled(0.0, 5).delta(0.0) == identity().delta(0.0)
    assert shuffled(0.0, 5, exact_rate=0.1).delta(3.0) == 0.1
    assert shuffled(0.0, 5, local_delta=0.01).delta(0.0) == 0.01


# solving --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 50, 10**4, 10**6, 10**9])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (0.0, 0.01), (2.0, 0.0), (6.0, 0.2)])
def test_largest_local_epsilon(n, epsilon, delta):
    start = time.process_time()
    local = solve_local_epsilon(n, epsilon, delta)
    assert time.process_time() - start < 2
    assert shuffled(local, n).delta(epsilon) <= delta
    assert shuffled(local * (1 + 1e-3), n).delta(epsilon) > delta
    assert local >= epsilon


def test_local_epsilon_for_attack_risk():
    for n in (1, 30, 10**5):
        local = solve_local_epsilon(n, advantage=0.05)
        assert shuffled(local, n).advantage() <= 0.05 < shuffled(local * 1.001, n).advantage()
        local = solve_local_epsilon(n, alpha=0.05, beta=0.8)
        assert shuffled(local, n).beta(0.05) >= 0.8 > shuffled(local * 1.001, n).beta(0.05)
    with pytest.raises(InfeasibleError):
        solve_local_epsilon(100, 0.0, 0.0)


def test_an_attribute_is_solved_for_with_what_there_is():
    def profile(local):
        return shuffled(local, 10**5, others=4 * local)

    local = solve_parameter(profile, target(1.0, 1e-6), 0.1, 10.0)
    assert profile(local).delta(1.0) <= 1e-6 < profile(local * 1.001).delta(1.0)


# bad input ------------------------------------------------------------------------------------------------------------

NOT_NUMBERS = [float("nan"), True, "1", None, 1j, [1.0]]


@pytest.mark.parametrize("bad", [-0.1, 501.0, float("inf"), *NOT_NUMBERS])
def test_bad_epsilons(bad):
    with pytest.raises(ParameterError, match="local_epsilon must be a"):
        shuffled(bad, 10)
    if bad is not None:
        with pytest.raises(ParameterError, match="others must be a"):
            shuffled(1.0, 10, others=bad)


@pytest.mark.parametrize("bad", [0, -1, 2.0, True, "3", None, float("nan")])
def test_bad_numbers_of_reports(bad):
    with pytest.raises(ParameterError, match="n must be a whole number of at least 1"):
        shuffled(1.0, bad)
    with pytest.raises(ParameterError, match="n must be a whole number of at least 1"):
        solve_local_epsilon(bad, 1.0, 1e-6)


@pytest.mark.parametrize("bad", [1.0, -0.1, *NOT_NUMBERS])
def test_bad_rates(bad):
    with pytest.raises(ParameterError, match="exact_rate"):
        shuffled(1.0, 10, exact_rate=bad)
    with pytest.raises(ParameterError, match="local_delta"):
        shuffled(1.0, 10, local_delta=bad)


def test_others_below_what_the_proof_needs():
    with pytest.raises(ParameterError, match=r"others must be at least 0\.566"):
        shuffled(2.0, 10, others=0.5)
    assert shuffled(2.0, 10, others=math.log(2 / (1 + math.exp(-2.0))) + 1e-12).delta(0.0) > 0


def test_a_local_delta_that_is_too_large_is_refused():
    with pytest.raises(ParameterError, match="leaves nothing to claim"):
        shuffled(1.0, 10**6, local_delta=1e-3)
