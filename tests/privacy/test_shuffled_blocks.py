"""Independent keep-or-redraw blocks in a shuffle: never below enumerated channels, better than what holds for all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from versadp.errors import ParameterError
from versadp.privacy import identity, shuffled, shuffled_blocks
from versadp.privacy.curves.contour import Terms
from versadp_tests import shuffle_reference as reference

SHARES = (0.0, 0.2, 0.5, 0.9)  # of the pure epsilon


def described(channel):
    """What `shuffled_blocks` is told of a channel with two probabilities."""
    high = channel > channel.min() * (1 + 1e-9)
    return reference.local_epsilon(channel), float(high.mean(axis=1)[0])


PRODUCTS = {
    "one response": [reference.response_channel(3, 1.0)],
    "one window": [reference.window_channel(3, 2, 1.5)],
    "windows that always overlap": [reference.window_channel(2, 3, 1.5)],
    "two responses": [reference.response_channel(2, 1.0), reference.response_channel(2, 0.4)],
    "two alike": [reference.response_channel(2, 2.0)] * 2,
    "response and window": [reference.response_channel(2, 0.7), reference.window_channel(2, 2, 1.0)],
    "three": [reference.response_channel(2, 0.5)] * 3,
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_no_data_set_is_told_apart_better(name):
    blocks = PRODUCTS[name]
    product = blocks[0]
    for block in blocks[1:]:
        product = np.kron(product, block)
    for n in (1, 2, 3) if len(product) > 3 else (1, 2, 3, 5):
        claimed = shuffled_blocks([described(block) for block in blocks], n)
        for share in SHARES:
            epsilon = share * claimed.pure_epsilon
            assert reference.worst_data(product, n, epsilon) <= claimed.delta(epsilon) * (1 + 1e-9)


def test_no_attribute_is_told_apart_better():
    first, second = reference.response_channel(2, 1.0), reference.response_channel(2, 0.4)
    product = np.kron(first, second)
    n = 3
    claimed = shuffled_blocks([described(first), described(second)], n, unit="attribute")
    pairs = [(0, 2), (1, 3), (0, 1), (2, 3)]  # records that differ in one of the two
    for share in SHARES:
        epsilon = share * claimed.pure_epsilon
        truth = max(
            reference.shuffled_divergence(product[a], product[b], product[list(others)], epsilon)
            for a, b in pairs
            for others in itertools.combinations_with_replacement(range(4), n - 1)
        )
        assert truth <= claimed.delta(epsilon) * (1 + 1e-9)


def test_the_pair_itself_is_attained():
    """Others who show what every report contains or something that no record in question shows: equality, but for the
    smear, which is 0.4 h of a standard deviation at most."""
    local, share, n = 1.2, 1 / 3, 4
    channel = reference.response_channel(3, local)
    hidden = np.full(3, channel.min())
    other = np.append(hidden, 1 - hidden.sum())
    first, second = (np.append(row, 0.0) for row in channel[:2])
    claimed = shuffled_blocks([(local, share)], n)
    room = 0.4 * 0.01 * (1 + np.exp(local)) / 2 * claimed._law.spread / n
    for epsilon in (0.0, 0.3, 0.7, 1.1):
        truth = reference.shuffled_divergence(first, second, [other] * (n - 1), epsilon)
        assert truth <= claimed.delta(epsilon) <= truth + room


def test_claims_for_more_people_are_refuted():
    """Negative control: two people whose reports are all alike, against what is claimed for six."""
    channel = reference.response_channel(3, 3.0)
    assert reference.worst_data(channel, 2, 1.0) > 1.01 * shuffled_blocks([(3.0, 1 / 3)], 6).delta(1.0)


@pytest.mark.parametrize("blocks", [[(2.0, 0.2)] * 4, [(8 / 6, 0.3)] * 6, [(1.0, 0.9), (2.0, 0.05)], [(6.0, 0.01)]])
def test_never_worse_than_what_holds_for_all_reports(blocks):
    total = sum(epsilon for epsilon, _ in blocks)
    for n in (10_000, 10**6):
        own, general = shuffled_blocks(blocks, n), shuffled(total, n)
        epsilon = general.epsilon(np.array([1e-2, 1e-4, 1e-6]))
        assert np.all(own.delta(epsilon) <= general.delta(epsilon) * (1 + 5e-3))
        one = shuffled_blocks(blocks, n, unit="attribute")
        assert np.all(one.delta(epsilon) <= own.delta(epsilon) * (1 + 5e-3))


def test_columns_are_worth_it():
    blocks = [(8 / 6, 0.3)] * 6
    assert shuffled_blocks(blocks, 10**5).epsilon(1e-6) == pytest.approx(0.3525, abs=5e-4)
    assert shuffled_blocks(blocks, 10**5, unit="attribute").epsilon(1e-6) == pytest.approx(0.2347, abs=5e-4)
    assert shuffled(8.0, 10**5).epsilon(1e-6) > 1.17


def test_many_different_blocks_are_moved_to_a_grid_upward():
    from versadp.privacy.layers import blanket

    blocks = tuple((0.3 + 0.1 * i, 0.1 + 0.05 * i) for i in range(5))
    exact = blanket._terms(blocks, (), 10**4, 0.0)
    coarse = Terms(*blanket._on_grid(exact.x0, exact.x1, exact.mass), exact.n, exact.last, exact.smear)
    assert np.sum(coarse.mass) == pytest.approx(np.sum(exact.mass), rel=1e-12)
    assert np.sum(coarse.mass * coarse.x0) == pytest.approx(1.0, rel=1e-12)
    epsilon = np.linspace(0, 0.3, 20)
    fine, rough = exact.curve(epsilon)[0], coarse.curve(epsilon)[0]
    assert np.all(rough >= fine * (1 - 1e-9))
    assert shuffled_blocks([(0.3 + 0.1 * i, 0.1 + 0.05 * i) for i in range(9)], 10**4).epsilon(1e-6) < 0.4


def test_contour_against_a_convolution():
    """Three kinds of terms on a lattice: the law of their sum by repeated convolution."""
    x0, x1, mass, n = np.array([5.0, 1.0, 3.0]), np.array([1.0, 5.0, 3.0]), np.array([0.1, 0.1, 0.2]), 700
    terms = Terms(x0, x1, mass, n, np.log(5.0))
    for ratio in (1.0, 1.25):  # terms are multiples of 1/4
        values = np.rint(4 * (x0 - ratio * x1)).astype(int)
        term = np.zeros(values.max() - values.min() + 1)
        term[-values.min()] = 1 - mass.sum()
        np.add.at(term, values - values.min(), mass)
        law = np.ones(1)
        for bit in f"{n:b}":
            law = np.convolve(law, law)
            law = np.convolve(law, term) if bit == "1" else law
        sums = (np.arange(len(law)) + n * values.min()) / 4
        truth = np.sum(np.maximum(sums, 0) * law) / n
        assert truth <= terms.curve(np.log([ratio]))[0][0] <= truth * (1 + 1e-3) + 1e-15


@pytest.mark.parametrize("local", [1.0, 8.0, 11.0, 13.0, 16.0])
@pytest.mark.parametrize("unit", ["record", "attribute"])
def test_more_columns_beside_it_never_protect_an_attribute_better(local, unit):
    """Leaving columns out is post-processing; thirty of epsilon 13 have ratios whose square is no number any more."""
    one, many = (shuffled_blocks([(local, 0.3)] * k, 100_000, unit=unit) for k in (1, 30))
    for epsilon in (0.0, 0.5, 1.0, 5.0):
        assert one.delta(epsilon) <= many.delta(epsilon) * (1 + 1e-2) + 1e-12 <= 1.02


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_ratios_beyond_all_numbers_protect_nothing(blocks):
    """Another report is alike with a probability below e^-300, so a record is as good as alone, and kept."""
    for total in (350.0, 360.0, 499.0):
        claimed = shuffled_blocks([(total / blocks, 0.3)] * blocks, 1000)
        assert claimed.delta([0.0, 1.0]) == pytest.approx(1.0, abs=1e-9)


def test_the_whole_curve_of_many_small_blocks_is_found():
    """Far out the best tilt is far from where the search begins, and what is beyond it overflows."""
    claimed, any_reports = shuffled_blocks([(0.25, 0.3)] * 30, 1000), shuffled(7.5, 1000)
    epsilons = np.linspace(0, 7.5, 60)
    found = claimed.delta(epsilons)
    assert np.all(np.diff(found) <= 0)
    assert np.all(found <= any_reports.delta(epsilons) * (1 + 1e-3) + 1e-15)
    assert claimed.delta(claimed.epsilon(1e-6)) <= 1e-6


@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_reports_that_sometimes_show_the_record(rate):
    """Both parts count: the record in question may be shown, and those who are shown hide nobody."""
    kept = reference.window_channel(2, 2, 1.5)
    channel = np.hstack([(1 - rate) * kept, rate * np.eye(2)])
    for n in (1, 2, 4):
        claimed = shuffled_blocks([described(kept)], n, exact_rate=rate)
        for epsilon in (0.0, 0.3, 0.8, 2.0):
            assert reference.worst_data(channel, n, epsilon) <= claimed.delta(epsilon) * (1 + 1e-9)
            unaware = rate + (1 - rate) * shuffled_blocks([described(kept)], n).delta(epsilon)
            assert claimed.delta(epsilon) >= unaware * (1 - 1e-9), "fewer hide a record"


def test_odd_blocks():
    assert shuffled_blocks([], 10).delta(0.0) == identity().delta(0.0)
    assert shuffled_blocks([(0.0, 0.5)], 10).delta(0.0) == 0
    one = shuffled_blocks([(1.0, 0.5), (0.0, 0.2)], 10)
    assert one == shuffled_blocks([[1.0, 0.5]], 10)
    assert "equal public values" in str(one)


@pytest.mark.parametrize(
    "bad", [[1.0], [(1.0,)], [(1.0, 0.5, 2)], [(1.0, 0.0)], [(1.0, 1.0)], [(-1.0, 0.5)], [(1.0, None)]]
)
def test_bad_blocks(bad):
    with pytest.raises(ParameterError):
        shuffled_blocks(bad, 10)


def test_bad_units_and_numbers():
    with pytest.raises(ParameterError, match="unit must be"):
        shuffled_blocks([(1.0, 0.5)], 10, unit="people")
    with pytest.raises(ParameterError, match="n must be"):
        shuffled_blocks([(1.0, 0.5)], 0)
    with pytest.raises(ParameterError, match="sum to more"):
        shuffled_blocks([(300.0, 0.5)] * 2, 10)
