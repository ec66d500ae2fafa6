"""The quantile table, the exact rounding and the kernel, against mpmath."""

import mpmath as mp
import numpy as np
import pytest

from versadp.noise.kernel import add_noise, spread
from versadp.noise.quantile import DEGREE, SPLIT_BITS, TABLE_ERROR, exact_noise, quantile_table

mp.mp.dps = 50


def tail(x):
    return mp.erfc(x / mp.sqrt(2)) / 2


def table_value(magnitude):
    """The table read by its definition, in plain Python."""
    f = min(float(magnitude) + 0.5, 2.0**63 - 2**10)
    mantissa, exponent = np.frexp(f)  # f = mantissa * 2^exponent, mantissa in [1/2, 1)
    position = (2 * mantissa - 1) * 2**SPLIT_BITS
    row = int(exponent) * 2**SPLIT_BITS + int(position)
    t = position - int(position) - 0.5
    coefficients = quantile_table().reshape(-1, DEGREE + 1)[row]
    return float(np.polynomial.polynomial.polyval(t, coefficients))


def magnitudes(rng, count):
    octaves = map(int, rng.integers(1, 63, count))
    return [
        0,
        1,
        2,
        2**62,
        2**63 - 1,
        *(int(rng.integers(2**e, 2 ** (e + 1), dtype=np.uint64)) for e in octaves),
    ]


def test_table_error_is_well_below_what_the_kernel_allows_for():
    for magnitude in magnitudes(np.random.default_rng(0), 1500):
        n = table_value(magnitude)
        probability = (mp.mpf(magnitude) + mp.mpf("0.5")) / mp.mpf(2) ** 64
        # one Newton step from n is exact to about the square of its error
        error = abs((tail(n) - probability) / mp.npdf(n))
        assert error <= TABLE_ERROR / 8 * (1 + n)


def is_right(noise, exponential_word, normal_word, sigma):
    """The defining inequalities of `round(sigma sqrt(w) n)`, with 50 digits."""
    width = sigma * mp.sqrt(-mp.log((2 * mp.mpf(exponential_word) + 1) / mp.mpf(2) ** 65))
    probability = (2 * mp.mpf(normal_word & (2**63 - 1)) + 1) / mp.mpf(2) ** 65
    size = abs(noise)
    above = tail((size + mp.mpf("0.5")) / width) <= probability
    below = size == 0 or tail((size - mp.mpf("0.5")) / width) > probability
    sign = noise == 0 or (noise < 0) == bool(normal_word >> 63)
    return above and below and sign


@pytest.mark.parametrize("sigma", [1024.0, 2.0**14, 1234.5 * 2**8])
def test_exact_noise_satisfies_its_definition(sigma):
    rng = np.random.default_rng(1)
    edges = [0, 1, 2**63 - 1, 2**63, 2**64 - 1]
    pairs = [(a, b) for a in edges for b in edges]
    pairs += [(int(a), int(b)) for a, b in rng.integers(0, 2**64, (100, 2), dtype=np.uint64)]
    for a, b in pairs:
        assert is_right(exact_noise(a, b, sigma), a, b, sigma)
    assert not is_right(exact_noise(*pairs[-1], sigma) + 1, *pairs[-1], sigma)


def run_kernel(exponential, normal, sigma):
    rows = len(exponential)
    root, doubt, noisy = np.empty((3, rows))
    words = np.array([exponential, normal], dtype=np.uint64)
    spread(np.ones(rows, np.uint64), words[0], np.uint64(0), root, doubt, noisy)
    steps, unsure = np.zeros((1, rows)), np.empty((1, rows), np.bool_)
    add_noise(words[1:], root, doubt, noisy, quantile_table(), np.array([sigma]), steps, unsure)
    return steps[0], unsure[0]


@pytest.mark.parametrize("sigma", [1024.0, 2.0**14, 2.0**18])
def test_kernel_is_exact_wherever_it_is_sure(sigma):
    words = np.random.default_rng(2).integers(0, 2**64, (2, 4000), dtype=np.uint64)
    words[:, :5] = [[0, 1, 2**63, 2**64 - 1, 2**64 - 2], [2**64 - 1, 0, 2**63, 2**63 - 1, 1]]
    noise, unsure = run_kernel(words[0], words[1], sigma)
    for i in range(400):
        assert unsure[i] or noise[i] == exact_noise(int(words[0, i]), int(words[1, i]), sigma)
    assert unsure.sum() <= 3  # only the planted extreme words may be in doubt


def test_kernel_admits_doubt_at_a_rounding_boundary():
    """Words on both sides of a boundary differ by one in noise; doubles cannot tell them apart."""
    sigma, a = 2.0**14, 2**63 + 12345
    width = sigma * mp.sqrt(-mp.log((2 * mp.mpf(a) + 1) / mp.mpf(2) ** 65))
    for boundary in ("10000.5", "123.5", "0.5"):
        last_above = int(mp.floor(tail(mp.mpf(boundary) / width) * mp.mpf(2) ** 64 - mp.mpf("0.5")))
        pair = [last_above, last_above + 1]
        above, below = (exact_noise(a, word, sigma) for word in pair)
        assert (above, below) == (int(mp.ceil(mp.mpf(boundary))), int(mp.floor(mp.mpf(boundary))))
        noise, unsure = run_kernel([a, a], pair, sigma)
        assert unsure.all()
        assert (noise == 0).all()  # left for the exact path
