"""What is missing from sampled noise, against noise from short words counted cell by cell, and lemma by lemma."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr, ndtri

import versadp as vdp
from versadp.noise import ZeroInflatedBlock
from versadp.noise.missing import missing, moved, tails
from versadp.privacy import randomized_response, symmetric_laplace, with_slack, zero_inflated


def sizes(boundaries):
    """Probabilities of the sizes 0, 1, ... with a given sign, from those of reaching 1/2, 3/2, ..."""
    whole = np.full((len(boundaries), 1), 0.5)
    rows = -np.diff(np.concatenate([whole, boundaries], axis=1), axis=1)
    rows[:, 0] *= 2  # which has no sign
    return rows


def both_signs(law):
    """Mirror a law of sizes in every column."""
    for axis in range(law.ndim):
        law = np.concatenate([np.flip(np.delete(law, 0, axis), axis), law], axis)
    return law


def sampled_law(bits, sigma, most, dim):
    """The law of round(sigma sqrt(w) n), words of so many bits: every word of W, and counts of a normal's."""
    cells = 2**bits
    edges = np.arange(most + 1) + 0.5
    law = np.zeros((most + 1,) * dim)
    for start in range(0, cells, 2**13):
        w = -np.log((np.arange(start, min(start + 2**13, cells)) + 0.5) / cells)
        reach = np.ceil(ndtr(-edges / (sigma * np.sqrt(w[:, None]))) * cells - 0.5) / cells
        rows = sizes(np.clip(reach, 0, 0.5))
        law += rows.sum(axis=0) / cells if dim == 1 else rows.T @ rows / cells
    return both_signs(law)


def ideal_law(sigma, most, dim):
    nodes, weights = np.polynomial.legendre.leggauss(40)
    edges = np.arange(most + 1) + 0.5
    law = np.zeros((most + 1,) * dim)
    for low, high in itertools.pairwise(np.concatenate([[0.0], np.logspace(-9, np.log10(60), 120)])):
        w = low + (high - low) * (nodes + 1) / 2
        mass = weights * (high - low) / 2 * np.exp(-w)
        rows = sizes(ndtr(-edges / (sigma * np.sqrt(w[:, None]))))
        law += mass @ rows if dim == 1 else (rows * mass[:, None]).T @ rows
    return both_signs(law)


def moved_by(law, steps):
    shifted = np.zeros_like(law)
    shifted[steps:] = law[:-steps]
    return shifted


CASES = [(18, 4.0, 1, 70, 0.5), (20, 2.0, 2, 36, 0.5)]  # bits, sigma, dim, outcomes counted, shift


@pytest.fixture(
    scope="module",
    params=[CASES[0], pytest.param(CASES[1], marks=pytest.mark.full)],
    ids=["one column", "two columns"],
)
def noise(request):
    bits, sigma, dim, most, shift = request.param
    place = np.arange(-most, most + 1) / sigma
    distance = np.abs(place) if dim == 1 else np.hypot(*np.meshgrid(place, place))
    laws = sampled_law(bits, sigma, most, dim), ideal_law(sigma, most, dim)
    return laws, distance <= shift + dim / 2 + 1, missing([sigma] * dim, shift, bits=bits), request.param


def test_of_every_likely_outcome_a_share_is_kept(noise):
    (sampled, ideal), near, (lost, _), _ = noise
    missing_share = 1 - sampled[near] / ideal[near]
    assert np.max(missing_share) <= lost < 1
    assert np.max(np.abs(missing_share)) > 1e-9, "words of this length do make a difference"


def test_far_out_two_records_are_close(noise):
    (_, ideal), near, (_, reach), (_, sigma, _, _, shift) = noise
    other = moved_by(ideal, round(shift * sigma))
    far = ~near & (other > 1e-30) & (ideal > 1e-30)
    assert np.max(np.log(other[far] / ideal[far])) <= reach


def test_what_is_charged_covers_what_is_sampled(noise):
    (sampled, ideal), _, (lost, reach), (bits, sigma, dim, _, shift) = noise
    tv = dim * (22 * sigma + 7) * 2.0**-bits
    steps = round(shift * sigma)
    other, other_ideal = moved_by(sampled, steps), moved_by(ideal, steps)
    outside = 1 - sampled.sum()
    for epsilon in (0.0, 0.4, 0.8, 1.5, 3.0, 6.0, 10.0):
        ratio = np.exp(epsilon)
        truth = np.maximum(other - ratio * sampled, 0).sum() + outside
        plain = np.maximum(other_ideal - ratio * ideal, 0).sum() + ratio * tv
        relative = np.maximum(other_ideal - ratio * (1 - lost) * ideal, 0).sum() + tv * np.exp(reach)
        assert truth <= min(plain, relative) + tv


# the steps of the proof -----------------------------------------------------------------------------------------------


def test_a_cell_moves_noise_by_no_more_than_is_said():
    """Words of 64 bits, many of them extreme, in 40 digits: the middle of a cell against its ends."""
    rng = np.random.default_rng(3)
    sigma, top, n, w = 3e6, 5.0, 6.0, 20.0
    claimed = float(moved(sigma, top, np.array(n), np.array(w), 2.0**-65))
    largest = 0.0
    with mp.workdps(40):

        def noise(word, size):
            normal = mp.mpf(float(-ndtri(float(size))))
            for _ in range(3):  # Newton, from double precision to 40 digits
                normal += (mp.ncdf(-normal) - size) / mp.npdf(normal)
            return sigma * mp.sqrt(-mp.log(word)) * normal

        for _ in range(150):
            low_w = max(-np.log1p(-(2.0 ** -rng.uniform(0, 63))), 1e-18)
            normal = (
                rng.uniform(0.0, min(n, top / np.sqrt(low_w))) if rng.random() < 0.5 else min(n, top / np.sqrt(low_w))
            )
            a = int(mp.floor(mp.exp(-mp.mpf(min(low_w, w))) * 2**64))
            m = int(mp.floor(mp.ncdf(-mp.mpf(normal)) * 2**64))
            a, m = min(a, 2**64 - 1), min(m, 2**63 - 1)
            middle = noise(mp.mpf(2 * a + 1) / 2**65, mp.mpf(2 * m + 1) / 2**65)
            for da, dm in ((0, 0), (0, 2), (2, 0), (2, 2)):
                word, size = mp.mpf(2 * a + da) / 2**65, mp.mpf(2 * m + dm) / 2**65
                if 0 < word < 1 and 0 < size < 0.5:
                    end = noise(word, size)
                    if max(end, middle) >= 0.5 and end <= top * sigma:
                        largest = max(largest, float(abs(end - middle)))
    assert 1e-3 * claimed < largest <= claimed


def posterior(sigma, outcome):
    """Return h(w) = P(Z = outcome | w), each column with its own scale."""

    def chance(w):
        value = 1.0
        for s, k in zip(sigma, outcome, strict=True):
            low, high = (abs(k) - 0.5) / (s * math.sqrt(w)), (abs(k) + 0.5) / (s * math.sqrt(w))
            value *= ndtr(-low) - ndtr(-high) if k else 1 - 2 * ndtr(-high)
        return value

    return chance


def integral(function):
    edges = np.concatenate([[1e-14], np.logspace(-9, 2, 45)])
    return sum(quad(function, low, high, limit=200)[0] for low, high in itertools.pairwise(edges))


OUTCOMES = [
    ((50.0,), (1,)),
    ((50.0,), (200,)),
    ((40.0, 90.0), (1, 0)),
    ((40.0, 90.0), (30, 200)),
    ((20.0,) * 4, (1, 1, 0, 5)),
]


@pytest.mark.parametrize(("sigma", "outcome"), OUTCOMES)
def test_small_w_is_unlikely_given_an_outcome(sigma, outcome):
    """E(1/W | Z = k) <= d/ρ² + √2/ρ, ρ the distance to the outcome's nearer edges."""
    chance = posterior(sigma, outcome)
    mean = integral(lambda w: math.exp(-w) * chance(w) / w) / integral(lambda w: math.exp(-w) * chance(w))
    rho = math.hypot(*((abs(k) - 0.5) / s for s, k in zip(sigma, outcome, strict=True) if k))
    assert mean <= len(sigma) / rho**2 + math.sqrt(2) / rho


@pytest.mark.parametrize(("sigma", "outcome"), OUTCOMES)
@pytest.mark.parametrize("eta", [1e-3, 0.05])
def test_noise_that_is_nearly_rounded_otherwise_is_a_small_share(sigma, outcome, eta):
    dim = len(sigma)
    whole = integral(lambda w: math.exp(-w) * posterior(sigma, outcome)(w))
    shares = 0.0
    for j, k in enumerate(outcome):

        def inner(w, j=j, k=k):
            s, rest = sigma[j] * math.sqrt(w), 1.0
            for i, other in enumerate(outcome):
                rest *= posterior((sigma[i],), (other,))(w) if i != j else 1.0
            if k == 0:
                return math.exp(-w) * rest * 2 * (ndtr(-(0.5 - eta) / s) - ndtr(-0.5 / s))
            low, high = abs(k) - 0.5, abs(k) + 0.5
            slivers = ndtr(-low / s) - ndtr(-(low + eta) / s) + ndtr(-(high - eta) / s) - ndtr(-high / s)
            return math.exp(-w) * rest * slivers

        shares += integral(inner)
    claimed = eta * (dim + math.e * (5 * dim + 2 * math.sqrt(2 * dim) / min(sigma)))
    assert shares / whole <= claimed


@pytest.mark.parametrize(("sigma", "outcome"), OUTCOMES)
def test_large_w_and_large_normals_are_a_small_share(sigma, outcome):
    chance = posterior(sigma, outcome)
    whole = integral(lambda w: math.exp(-w) * chance(w))
    top = math.hypot(*(k / s for s, k in zip(sigma, outcome, strict=True))) + math.sqrt(len(sigma)) / (2 * min(sigma))
    for n, w_most in ((2.5, 6.0), (4.0, 12.0)):
        far_w, far_n = tails(len(sigma), top, np.array(n), np.array(w_most))
        beyond = quad(lambda w: math.exp(-w) * chance(w), w_most, 100, limit=200)[0]
        assert beyond / whole <= far_w

        def large(w, n=n):
            total = 0.0
            for j, k in enumerate(outcome):
                s = sigma[j] * math.sqrt(w)
                low, high = max(abs(k) - 0.5, 0) / s, (abs(k) + 0.5) / s
                over = max(ndtr(-max(low, n)) - ndtr(-max(high, n)), 0.0) * (2 if k == 0 else 1)
                rest = [posterior((sigma[i],), (other,))(w) for i, other in enumerate(outcome) if i != j]
                total += over * math.prod(rest)
            return math.exp(-w) * total

        assert integral(large) / whole <= far_n


# what it is good for --------------------------------------------------------------------------------------------------


def test_a_large_epsilon_needs_hardly_more_noise_than_its_curve():
    """Six columns to (12, 1e-6): the curve needs 20.36 widths, e^ε τ made that 44.7."""

    def charged(scale, **known):
        block = ZeroInflatedBlock(tuple("abcdef"), (0.0,) * 6, (1.0,) * 6, (scale,) * 6, 0.0)
        profile = symmetric_laplace(6, 1 / scale)
        if known:
            lost, reach = missing(block.sigma_steps.tolist(), 1 / scale)
            return with_slack(profile, block.sampler_error, lost=lost, far=block.sampler_error * math.exp(reach))
        return with_slack(profile, block.sampler_error)

    assert symmetric_laplace(6, 1 / 20.36).delta(12.0) <= 1e-6
    assert charged(20.38, known=True).delta(12.0) <= 1e-6
    assert charged(44.6).delta(12.0) > 1e-6


def test_a_block_charges_what_is_missing_and_calibration_knows():
    """An attribute to (12, 1e-6): 20.37 widths and not 44.7; a whole record to (18, 1e-6): 17.6 and not 233."""
    schema = vdp.Schema({name: vdp.Bounded(0, 1) for name in "abcdef"})
    one = vdp.calibrate(schema, epsilon=12, delta=1e-6, unit="attribute", exact_rate=0.0)
    all_of_it = vdp.calibrate(schema, epsilon=18, delta=1e-6, noise="zil")
    assert one.scale["a"] == pytest.approx(20.366, rel=1e-4)
    assert all_of_it.scale["a"] == pytest.approx(17.615, rel=1e-4)
    epsilon = np.linspace(0, 30, 200)
    for mech in (one, all_of_it, vdp.Mechanism(schema, scale=0.5, exact_rate=0.1)):
        (block,) = mech.blocks
        for unit in ("record", "attribute"):
            charged = block.guarantee(unit).delta(epsilon)
            assert np.all(charged >= block.profile(unit).delta(epsilon))
            plain = with_slack(block.profile(unit), block.sampler_error)
            assert np.all(charged <= plain.delta(epsilon) * (1 + 1e-9))


@pytest.mark.parametrize(("levels", "keep"), [(2, 0.3), (7, 0.9), (1000, 0.01)])
def test_what_a_response_lacks_is_counted_in_words(levels, keep):
    """Words of 20 bits in whole numbers: the worst level against what is charged, at the pure epsilon and around it."""
    words = 2**20
    kept, fewest = int(keep * words), words // levels
    pure = math.log1p(levels * keep / (1 - keep))
    charged = with_slack(randomized_response(levels, keep), levels / words, lost=levels / words)
    for epsilon in (0.5 * pure, pure, pure + 0.01):
        redrawn = (words - kept) * fewest / words**2  # of a level that few words draw
        assert kept / words + redrawn * (1 - math.exp(epsilon)) <= charged.delta(epsilon)
    assert kept / words + redrawn * (1 - math.exp(pure)) <= levels / words


def test_inflation_goes_with_it():
    inside = zero_inflated(with_slack(symmetric_laplace(3, 0.5), 1e-9, lost=1e-3, far=1e-9), 0.01)
    outside = with_slack(zero_inflated(symmetric_laplace(3, 0.5), 0.01), 1e-9, lost=1e-3, far=1e-9)
    epsilon = np.linspace(0, 12, 60)
    assert np.all(inside.delta(epsilon) <= outside.delta(epsilon) * (1 + 1e-3) + 1e-9)


def test_nothing_is_claimed_where_nothing_is_known():
    assert missing([4e6] * 60, 0.01).lost == 1.0
    assert missing([20.0], 0.5, bits=8).lost == 1.0
    losses = [missing([sigma] * 4, 0.1).lost for sigma in (1e3, 1e4, 1e5, 1e6, 4e6)]
    assert np.all(np.diff(losses) >= 0)
