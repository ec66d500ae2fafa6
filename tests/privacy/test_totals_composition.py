"""Shuffled reports and noisy totals of the same people, enumerated outcome by outcome against what is claimed.

Data are n values on a small lattice. Released are the multiset of reports of a window, or of randomised response, and
one or several whole totals with rounded Gaussian noise. Every pair of neighbours is taken in both orders.
"""

import math
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

from versadp import privacy
from versadp.privacy.layers.chords import chords
from versadp.release.bounds.law import gaussian_mu

EPSILONS = np.linspace(-2, 3, 11)
ROUNDING = 1e-12


def window(last, size, epsilon):
    """Return the law of a window's outputs at each lattice point."""
    outputs, odds = last + size, math.expm1(epsilon)
    keep = odds * size / (odds * size + outputs)
    law = np.full((last + 1, outputs), (1 - keep) / outputs)
    for x in range(last + 1):
        law[x, x : x + size] += keep / size
    return law


def reports(channel, data):
    """Return the law of the multiset of reports: counts of outputs and their probability."""
    law = {(0,) * channel.shape[1]: 1.0}
    for x in data:
        new = {}
        for counts, probability in law.items():
            for z, p in enumerate(channel[x]):
                more = (*counts[:z], counts[z] + 1, *counts[z + 1 :])
                new[more] = new.get(more, 0.0) + probability * p
        law = new
    return law


def rounded_gaussian(sigma):
    reach = int(9 * sigma) + 3
    k = np.arange(-reach, reach + 1)
    below = np.abs(k)  # tails from the small side
    return ndtr(-(below - 0.5) / sigma) - ndtr(-(below + 0.5) / sigma)


def totals(change, sigma):
    """Return the laws of noisy totals that differ by a change, on one grid of outcomes, flat."""
    noise, first, second = rounded_gaussian(sigma), np.ones(1), np.ones(1)
    for step in map(int, change):
        padded = np.pad(noise, abs(step))
        first, second = np.outer(first, padded).ravel(), np.outer(second, np.roll(padded, step)).ravel()
    return first, second


def pairs(last, n):
    """Yield all neighbours: the values that differ, and all others."""
    for rest in combinations_with_replacement(range(last + 1), n - 1):
        for one, other in permutations(range(last + 1), 2):
            yield one, other, rest


def worst(channel, n, features, sigma):
    """Return the largest delta over all neighbours, at each order."""
    known, found = {}, np.zeros(len(EPSILONS))
    for one, other, rest in pairs(len(channel) - 1, n):
        laws = [
            known.setdefault(data, reports(channel, data)) for data in (tuple(sorted((x, *rest))) for x in (one, other))
        ]
        first, second = (np.array([law[key] for key in laws[0]]) for law in laws)
        own, others = totals(np.subtract(features[other], features[one]), sigma)
        for i, epsilon in enumerate(EPSILONS):
            excess = np.outer(first, own) - math.exp(epsilon) * np.outer(second, others)
            found[i] = max(found[i], excess[excess > 0].sum())
    return found


def claim(n, local, mu):
    return privacy.compose(chords(privacy.shuffled(local, n)), privacy.gaussian(mu)).delta(EPSILONS)


COUNT = [(0,), (1,)]
CASES = [
    *(((1, 1), n, local, COUNT, sigma) for n in (2, 3, 4, 6) for local in (0.5, 3.0) for sigma in (0.4, 1.0, 2.5)),
    *(((1, 2), n, 1.5, COUNT, 1.0) for n in (2, 5)),
    *(((2, 1), n, 1.5, [(1, 0), (0, 1), (0, 0)], sigma) for n in (2, 3) for sigma in (0.5, 1.0)),
    ((2, 2), 3, 3.0, [(-1,), (0,), (1,)], 1.0),
    ((2, 1), 2, 1.5, [(1, 0, 0), (0, 1, 0), (0, 0, 1)], 0.5),  # cells of sheet A
]


@pytest.mark.parametrize(("sizes", "n", "local", "features", "sigma"), CASES)
def test_reports_and_totals_together_keep_what_is_claimed(sizes, n, local, features, sigma):
    apart = max(np.square(np.subtract(a, b)).sum() for a in features for b in features)
    found = worst(window(*sizes, local), n, features, sigma)
    assert (found <= claim(n, local, math.sqrt(apart) / sigma) * (1 + ROUNDING) + ROUNDING).all()


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_claim_is_reached(n):
    """Binary response for n <= 2 attains the pair; beyond, what is reached is near it where the noise is small."""
    found, most = worst(window(1, 1, 1.0), n, COUNT, 2.5), claim(n, 1.0, 0.4)
    some = most > 1e-6
    assert (found[some] / most[some]).max() > 0.99


def test_neither_part_alone_would_do():
    found = worst(window(1, 1, 3.0), 3, COUNT, 1.0)
    assert (found > privacy.shuffled(3.0, 3).delta(EPSILONS) + 1e-3).any()
    assert (found > privacy.gaussian(1.0).delta(EPSILONS) + 1e-3).any()


@pytest.mark.parametrize(("epsilon", "n", "local"), [(1, 10_000, 4.91), (1, 100_000, 7.19), (4, 10_000, 6.58)])
def test_local_epsilon_beside_totals_that_have_half_of_the_budget(epsilon, n, local):
    beside = privacy.gaussian(gaussian_mu(epsilon, 1e-6) * math.sqrt(0.5))
    near = [privacy.compose(chords(privacy.shuffled(local + off, n)), beside).delta(epsilon) for off in (-0.01, 0.01)]
    assert near[0] < 1e-6 < near[1]


def test_a_discrete_gaussian_would_not_be_covered():
    """Its delta is several times that of the Gaussian at small sigma; the rounded one's never is larger."""
    sigma, k = 0.4, np.arange(-20, 21)
    discrete = np.exp(-(k**2) / (2 * sigma**2))
    discrete /= discrete.sum()
    reach = rounded_gaussian(sigma)
    rounded = np.pad(reach, (len(k) - len(reach)) // 2)
    epsilons = np.linspace(0, 8, 60)
    allowed = np.exp(log_ndtr(0.5 / sigma - epsilons * sigma)) - np.exp(
        epsilons + log_ndtr(-0.5 / sigma - epsilons * sigma)
    )

    def deltas(law):
        return np.array([np.maximum(law[1:] - np.exp(e) * law[:-1], 0).sum() for e in epsilons])

    assert (deltas(rounded) <= allowed + 1e-12).all()
    assert (deltas(discrete) / allowed).max() > 2
