"""Noise of whole counts: its law against exact probabilities, and what words of 64 bits lack of it."""

import hashlib
import math
from decimal import Decimal
from itertools import islice

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chi2

from versadp.noise.counts import rounded_gaussian, rounded_gaussian_error, two_sided_geometric, word_stream
from versadp.noise.quantile import rounded_normal

KEY = hashlib.sha256(b"a key of tests").digest()
RARE = 1e-9  # chance to reject right code; the words are fixed besides


def chi_square(values, probability, low, high):
    """P value of whole numbers against a law, tails joined."""
    cells = np.arange(low, high + 1)
    expected = np.array([probability(k) for k in cells]) * len(values)
    seen = np.array([(values == k).sum() for k in cells], float)
    expected, seen = np.append(expected, len(values) - expected.sum()), np.append(seen, len(values) - seen.sum())
    return chi2.sf(((seen - expected) ** 2 / expected).sum(), len(cells))


def test_two_sided_geometric_noise_has_its_law():
    scale, n = 3, 60_000
    values = two_sided_geometric(word_stream(KEY), scale, n)
    ratio = math.exp(-1 / scale)

    def law(k):
        return (1 - ratio) / (1 + ratio) * ratio ** abs(k)

    assert chi_square(values, law, -15, 15) > RARE
    assert chi_square(np.sign(values) * (np.abs(values) + 1), law, -15, 15) < RARE  # another law is told from it


def test_rounded_gaussian_noise_has_its_law():
    sigma, n = 2.5, 200_000
    words = np.fromiter(islice(word_stream(KEY), n), np.uint64, n)
    values = rounded_gaussian(words, sigma)

    def law(k):
        return ndtr((k + 0.5) / sigma) - ndtr((k - 0.5) / sigma)

    assert chi_square(values, law, -9, 9) > RARE
    assert chi_square(rounded_gaussian(words, 0.95 * sigma), law, -9, 9) < RARE


def words_below(size, sigma):
    """How many of the 2^63 magnitudes give noise of at least `size`: noise falls in the magnitude."""
    low, high = 0, 2**63
    while low < high:
        middle = (low + high) // 2
        if rounded_normal(middle, Decimal(sigma)) >= size:
            low = middle + 1
        else:
            high = middle
    return low


@pytest.mark.parametrize("sigma", [0.7, 1.5])
def test_words_lack_less_than_is_charged(sigma):
    sizes = range(int(9.2 * sigma) + 3)
    tails = [2 * words_below(k, sigma) / 2**64 if k else 1.0 for k in sizes]  # of either sign
    ideal = [2 * ndtr(-(k - 0.5) / sigma) if k else 1.0 for k in sizes]
    found = np.abs(np.diff(tails) - np.diff(ideal)).sum() / 2 + abs(tails[-1] - ideal[-1]) / 2
    assert found < rounded_gaussian_error(sigma) + 1e-15  # rounding of the comparison itself
    counts = [words_below(k, sigma) for k in sizes[1:]]
    exact = [2**63 * 2 * Decimal(float(ndtr(-(k - 0.5) / sigma))) for k in sizes[1:]]
    far = [abs(a - int(b)) for a, b in zip(counts, exact, strict=True) if b < 2**50]  # where floats tell single words
    assert far
    assert max(far) <= 2


def test_quick_and_exact_decisions_agree():
    words = np.fromiter(islice(word_stream(KEY), 300), np.uint64, 300)
    words = np.append(words, np.array([0, 2**63 - 1, 2**63, 2**64 - 1], np.uint64))
    exact = [rounded_normal(int(word), Decimal("37.5")) for word in words]
    assert rounded_gaussian(words, 37.5).tolist() == exact


def test_streams_of_two_keys_differ():
    other = hashlib.sha256(b"another").digest()
    assert list(islice(word_stream(KEY), 5)) == list(islice(word_stream(KEY), 5))
    assert set(islice(word_stream(KEY), 50)).isdisjoint(islice(word_stream(other), 50))
