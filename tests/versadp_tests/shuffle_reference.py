"""Shuffled releases by enumeration: laws of histograms, and the dominating pair from its definition with many digits.

Nothing is shared with the package: no formula for the loss, no sum of positive parts, no floating point in the pair.
"""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import numpy as np


def histogram_law(rows):
    """The law of the histogram of independent reports, one row of probabilities each."""
    law = {(0,) * len(rows[0]): 1.0}
    for row in rows:
        grown = {}
        for counts, weight in law.items():
            for y, chance in enumerate(row):
                if chance > 0:
                    more = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                    grown[more] = grown.get(more, 0) + weight * chance
        law = grown
    return law


def divergence(one, other, epsilon):
    """sup_S P(S) - e^ε Q(S), of two laws on a finite set."""
    ratio = np.exp(epsilon)
    return sum(max(0.0, weight - ratio * other.get(at, 0.0)) for at, weight in one.items())


def shuffled_divergence(first, second, others, epsilon):
    """The larger of both directions, for the record with these two laws among these others."""
    laws = [histogram_law([row, *others]) for row in (first, second)]
    return max(divergence(*laws, epsilon), divergence(*laws[::-1], epsilon))


def worst_data(channel, n, epsilon):
    """The largest divergence over all neighbouring data sets of n records; rows of the channel are the inputs."""
    inputs = range(len(channel))
    return max(
        shuffled_divergence(channel[a], channel[b], [channel[x] for x in others], epsilon)
        for a, b in itertools.combinations(inputs, 2)
        for others in itertools.combinations_with_replacement(inputs, n - 1)
    )


def response_channel(levels, epsilon):
    """Randomised response."""
    channel = np.ones((levels, levels)) + np.expm1(epsilon) * np.eye(levels)
    return channel / channel.sum(axis=1, keepdims=True)


def window_channel(inputs, width, epsilon):
    """Keep inside a window of outputs, or redraw among all of them."""
    outputs = inputs + width - 1
    channel = np.ones((inputs, outputs))
    for x in range(inputs):
        channel[x, x : x + width] = np.exp(epsilon)
    return channel / channel.sum(axis=1, keepdims=True)


def local_epsilon(channel):
    """The largest log ratio of two inputs' probabilities of an output."""
    return float(np.log(channel.max(axis=0) / channel.min(axis=0)).max())


def random_channel(rng, inputs, outputs, epsilon):
    """Random rows, mixed with one law so much that two of them differ by a factor of e^epsilon somewhere, no more."""
    rows = rng.dirichlet(np.full(outputs, rng.choice([0.1, 0.5, 2.0])), size=inputs)
    base = rng.dirichlet(np.ones(outputs)) * 0.9 + 0.1 / outputs
    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        mixed = (1 - middle) * base + middle * rows
        fits = (mixed.max(axis=0) <= np.exp(epsilon) * mixed.min(axis=0)).all()
        low, high = (middle, high) if fits else (low, middle)
    return (1 - low) * base + low * rows


def pair(epsilons, n, local, others=None):
    """delta at these epsilons of the dominating pair from its definition, with 40 digits."""
    with mp.workdps(40):
        p, q = mp.e ** mp.mpf(local), mp.e ** mp.mpf(local if others is None else others)
        alike, kept = 2 * p / ((p + 1) * q), p / (p + 1)
        law = {}
        for c in range(n):
            weight = math.comb(n - 1, c) * alike**c * (1 - alike) ** (n - 1 - c) / 2**c
            for a in range(c + 1):
                for bit, chance in ((1, kept), (0, 1 - kept)):
                    at = (a + bit, c - a + 1 - bit)
                    law[at] = law.get(at, 0) + weight * math.comb(c, a) * chance
        mirrored = [(chance, law[at[::-1]]) for at, chance in law.items()]
        ratios = [mp.e ** mp.mpf(epsilon) for epsilon in epsilons]
        return [float(sum(max(mp.mpf(0), one - ratio * other) for one, other in mirrored)) for ratio in ratios]


def pair_by_summing(epsilon, n, local):
    """The same in floating point where n is large: over C in steps of a tenth of its standard deviation, over all K."""
    from scipy.stats import binom

    p, ratio = np.exp(local), np.exp(epsilon)
    alike = 2 / (p + 1)
    mean, sd = (n - 1) * alike, np.sqrt((n - 1) * alike * (1 - alike))
    step = max(1, int(sd / 10)) if mean > 20_000 else 1
    numbers = np.arange(max(0, int(mean - 9 * sd - 9)), min(n - 1, int(mean + 9 * sd + 9)) + 1, step)
    total = 0.0
    for c, weight in zip(numbers, step * binom.pmf(numbers, n - 1, alike), strict=True):
        heads = np.arange(int(c / 2), min(c + 1, int(c / 2 + 6 * np.sqrt(c)) + 20) + 1)
        law = (p * heads + c + 1 - heads) * (2 / ((c + 1) * (p + 1)))
        mirror = (heads + p * (c + 1 - heads)) * (2 / ((c + 1) * (p + 1)))
        total += weight * np.sum(binom.pmf(heads, c + 1, 0.5) * np.maximum(law - ratio * mirror, 0))
    return total
