"""A second step whose law follows from the outcome of the first, enumerated outcome by outcome against the claim.

Data are n values in two cells; the first step adds noise to both counts, the second releases every record by randomised
response on 2 or 3 levels, as the noisy counts decide. Every pair of neighbours is taken in both orders.
"""

import math
from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr

from versadp import privacy
from versadp.privacy.layers.chords import chords

EPSILONS = np.linspace(-3, 3, 25)
ROUNDING = 1e-12


def geometric(scale, reach):
    ratio = math.exp(-1 / scale)
    return np.array([(1 - ratio) / (1 + ratio) * ratio ** abs(k) for k in range(-reach, reach + 1)])


def rounded_gaussian(sigma, reach):
    k = np.arange(-reach, reach + 1)
    return ndtr((k + 0.5) / sigma) - ndtr((k - 0.5) / sigma)


def count_law(data, noise, reach):
    """Return the law of both noisy counts on a square of outcomes, flat."""
    size, n = 2 * reach + 1, len(data)
    laws = []
    for count in (data.count(0), data.count(1)):
        law = np.zeros(size + n)
        law[count : count + size] = noise
        laws.append(law)
    return np.multiply.outer(*laws)


def levels_of(shape, reach):
    """Return how many levels the second step has, by the outcome of the first: 3 where the second cell seems fuller."""
    first, second = np.indices(shape)
    return np.where(second > first, 3, 2)


def report_law(data, levels, epsilon, *, shuffled):
    """Return the law of all reports of randomised response, or of how many reports show each level."""
    keep = math.exp(epsilon) / (math.exp(epsilon) + levels - 1)
    each = [np.full(levels, (1 - keep) / (levels - 1)) for _ in data]
    for law, value in zip(each, data, strict=True):
        law[value] = keep
    out = {}
    for reports in product(range(levels), repeat=len(data)):
        seen = tuple(sorted(reports)) if shuffled else reports
        out[seen] = out.get(seen, 0.0) + math.prod(law[r] for law, r in zip(each, reports, strict=True))
    return np.array([out[seen] for seen in sorted(out)])


def joint(data, noise, reach, epsilon, *, shuffled):
    """Return the law of both steps together, flat."""
    first = count_law(data, noise, reach)
    levels = levels_of(first.shape, reach)
    parts = []
    for k in (2, 3):
        reports = report_law(data, k, epsilon[k], shuffled=shuffled)
        parts.append(np.multiply.outer(first[levels == k], reports).ravel())
    return np.concatenate(parts)


def worst_deltas(n, noise, reach, epsilon, *, shuffled):
    """Return the largest delta over all pairs of neighbours, in both orders, at each epsilon."""
    worst = np.zeros(len(EPSILONS))
    for rest in product((0, 1), repeat=n - 1):
        laws = [joint((value, *rest), noise, reach, epsilon, shuffled=shuffled) for value in (0, 1)]
        for p, q in (laws, laws[::-1]):
            worst = np.maximum(worst, [np.maximum(q - math.exp(e) * p, 0).sum() for e in EPSILONS])
    return worst


@pytest.mark.parametrize("n", [1, 2, 3])
def test_geometric_counts_and_reports_in_order(n):
    noise, epsilon = geometric(2, 40), 1.2
    found = worst_deltas(n, noise, 40, {2: epsilon, 3: epsilon}, shuffled=False)
    claimed = privacy.compose(privacy.approx_dp(2 / 2, 0.0), privacy.approx_dp(epsilon, 0.0))
    lost = 4 * math.exp(-40 / 2)  # outcomes beyond the square
    assert np.all(found <= claimed.delta(EPSILONS) + lost + ROUNDING)
    assert np.any(found > privacy.approx_dp(epsilon, 0.0).delta(EPSILONS) + 0.01)  # one step alone claims too little


@pytest.mark.parametrize("n", [2, 3, 4])
def test_gaussian_counts_and_a_shuffled_release(n):
    sigma, epsilon = 2.0, 1.5
    found = worst_deltas(n, rounded_gaussian(sigma, 16), 16, {2: epsilon, 3: epsilon}, shuffled=True)
    claimed = privacy.compose(chords(privacy.shuffled(epsilon, n)), privacy.gaussian(math.sqrt(2) / sigma))
    assert np.all(found <= claimed.delta(EPSILONS) + ROUNDING)
    assert np.any(found > privacy.compose(chords(privacy.shuffled(epsilon, n))).delta(EPSILONS) + 0.01)
    assert np.any(found > privacy.gaussian(math.sqrt(2) / sigma).delta(EPSILONS) + 0.01)


def test_a_target_that_follows_from_the_counts_is_not_covered():
    epsilon = {2: 0.4, 3: 1.6}  # on average 1, but larger just where the counts have told more
    found = worst_deltas(2, geometric(1, 30), 30, epsilon, shuffled=False)
    average = privacy.compose(privacy.approx_dp(2.0, 0.0), privacy.approx_dp(1.0, 0.0))
    largest = privacy.compose(privacy.approx_dp(2.0, 0.0), privacy.approx_dp(1.6, 0.0))
    assert np.any(found > average.delta(EPSILONS) + 1e-3)
    assert np.all(found <= largest.delta(EPSILONS) + 1e-9)
