"""Numbers that were derived elsewhere, to all the digits that were printed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from versadp.privacy import (
    approx_dp,
    gaussian,
    randomized_response,
    solve_shift,
    symmetric_laplace,
    symmetric_laplace_limit,
    zero_inflated,
)


@pytest.mark.parametrize(
    ("dim", "shift", "epsilon", "digits", "delta"),
    [
        (2, 0.5, 0.8, 10, 0.0409842133),
        (6, 0.5, 0.8, 10, 0.0960839561),
        (6, 0.5, 0.3, 10, 0.2017431824),
        (2, 1.357, 4.0, 9, 3.40e-7),
    ],
)
def test_exact_curve(dim, shift, epsilon, digits, delta):
    assert round(symmetric_laplace(dim, shift).delta(epsilon), digits) == delta


def test_limit():
    assert symmetric_laplace_limit(0.5).delta([0.8, 0.3]).round(6).tolist() == [0.125282, 0.208684]


def test_limit_equals_the_three_terms_of_the_paper():
    """The paper's theorem on the profile, term by term; ours is their sum in closed form."""
    c, e = 0.7, np.linspace(0, 5, 50)
    a = e / c
    s = np.sqrt(2 + a * a)
    one_minus_f = 0.5 * (1 - a / s) * np.exp(-c / 2 * (a + s))
    missed = 0.5 * (1 + a / s) * np.exp(-c / (a + s))
    assert np.allclose(symmetric_laplace_limit(c).delta(e), 1 - np.exp(e) * one_minus_f - missed, atol=1e-14)


def test_limit_inverts_in_closed_form():
    c = 0.7
    for delta in (0.2, 1e-3, 1e-9):
        kappa = -np.log1p(-delta)
        epsilon = symmetric_laplace_limit(c).epsilon(delta)
        assert epsilon == pytest.approx(c * c / (2 * kappa) - kappa, rel=1e-12)
        assert c == pytest.approx(np.sqrt(2 * kappa * (epsilon + kappa)), rel=1e-12)


@pytest.mark.parametrize(("dim", "shift"), [(1, 0.756656), (2, 0.679921), (6, 0.574393)])
def test_the_papers_example(dim, shift):
    assert round(solve_shift(dim, 0.8, 0.17, 0.05), 6) == shift


def test_strict_example():
    assert round(solve_shift(3, 4.0, 1e-5, 5e-6), 6) == 0.167668


def test_limit_of_solve_shift():
    """The paper's rule as dim grows: 0.5025, and 0.00632 at the strict target."""
    assert solve_shift(20_000, 0.8, 0.17, 0.05) == pytest.approx(0.5025, abs=5e-5)
    assert solve_shift(20_000, 4.0, 1e-5, 5e-6) == pytest.approx(0.00632, abs=5e-6)


def test_figures_of_the_papers_tables():
    """(1.5045, 0.1) at scale 0.94 and (1.0102, 0.05) at scale 1.4 are what its two d = 1 settings really are."""
    for scale, rate, epsilon in ((0.94, 0.1, 1.5045), (1.4, 0.05, 1.0102)):
        p = zero_inflated(symmetric_laplace(1, 1 / scale), rate)
        assert p.epsilon(rate) == pytest.approx(epsilon, abs=5e-5)


def test_laplace_is_the_laplace_mechanism():
    c = 0.9
    p = symmetric_laplace(1, c)
    e = np.linspace(0, 2, 41)
    assert np.allclose(p.delta(e), np.maximum(0, 1 - np.exp((e - np.sqrt(2) * c) / 2)), atol=1e-14)
    alpha = np.linspace(0.01, 0.99, 33)
    quantile = np.where(alpha < 0.5, -np.log(2 * np.minimum(alpha, 0.5)), np.log(2 * (1 - np.minimum(alpha, 0.999))))
    x = quantile - np.sqrt(2) * c  # T(α) = F(F⁻¹(1 - α) - √2 c), F standard Laplace
    cdf = np.where(x < 0, 0.5 * np.exp(np.minimum(x, 0)), 1 - 0.5 * np.exp(-np.maximum(x, 0)))
    assert np.allclose(p.beta(alpha), cdf, atol=1e-10)


def test_no_pure_epsilon_from_dim_2_on():
    """At ε = √2 c, where dim 1 is pure, delta is far from 0."""
    for dim in (2, 3, 50):
        assert symmetric_laplace(dim, 1.0).delta(np.sqrt(2.0)) > 1e-3


def test_randomized_response():
    k, keep = 5, 0.3
    p = randomized_response(k, keep)
    pure = np.log(1 + k * keep / (1 - keep))
    assert p.pure_epsilon == pytest.approx(pure, rel=1e-14)
    assert p.epsilon(0.0) == pytest.approx(pure, rel=1e-12)
    assert p.delta(pure * 1.0001) == 0.0
    assert p.advantage() == pytest.approx(keep, rel=1e-14)
    a = (np.exp(0.7) - 1) / k  # with a delta to spend, κ = (δ' + a)/(1 + a)
    assert randomized_response(k, (0.02 + a) / (1 + a)).delta(0.7) == pytest.approx(0.02, rel=1e-12)


def test_approx_dp():
    e, d = 1.2, 0.03
    p = approx_dp(e, d)
    assert p.epsilon(d) == e
    assert p.delta(e) == d
    alpha = np.linspace(0, 1, 21)
    expected = np.maximum.reduce([0 * alpha, 1 - d - np.exp(e) * alpha, np.exp(-e) * (1 - d - alpha)])
    assert np.allclose(p.beta(alpha), expected, atol=1e-10)


def test_gaussian():
    mu, e = 0.8, np.linspace(0, 6, 25)
    expected = norm.cdf(-e / mu + mu / 2) - np.exp(e) * norm.cdf(-e / mu - mu / 2)
    assert np.allclose(gaussian(mu).delta(e), expected, atol=1e-14)
    alpha = np.linspace(0.001, 0.999, 40)
    assert np.allclose(gaussian(mu).beta(alpha), norm.cdf(norm.ppf(1 - alpha) - mu), atol=1e-9)
