"""Composition against closed forms, against itself computed another way, and on the safe side."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from versadp.errors import ParameterError
from versadp.privacy import (
    approx_dp,
    compose,
    gaussian,
    identity,
    randomized_response,
    symmetric_laplace,
    symmetric_laplace_limit,
    with_slack,
    worst,
    zero_inflated,
)
from versadp.privacy.curves.discrete import Discrete
from versadp.privacy.layers.composition import Shifted
from versadp.privacy.layers.mesh import Convolved, convolve

EPS = np.array([-1.0, 0.0, 0.1, 0.5, 1.0, 2.0, 4.0])


def test_gaussians_in_closed_form():
    assert compose(gaussian(0.6), gaussian(0.8)).delta(EPS) == pytest.approx(gaussian(1.0).delta(EPS), rel=1e-12)
    assert gaussian(0.5).compose(16).delta(EPS) == pytest.approx(gaussian(2.0).delta(EPS), rel=1e-12)


@pytest.mark.parametrize(("parts", "whole"), [((0.6, 0.8), 1.0), ((0.1,) * 100, 1.0), ((3.0, 4.0), 5.0)])
def test_convolution_of_gaussians_is_above_the_truth_by_no_more_than_it_says(parts, whole):
    p = convolve(tuple(gaussian(mu) for mu in parts))
    gap = p.delta(EPS) - gaussian(whole).delta(EPS)
    assert np.all(gap >= -1e-15)
    assert np.all(gap <= p.excess)
    assert p.excess < 1e-6
    assert "mesh" in p.notes[-1]


def test_two_curves_by_quadrature():
    """delta(ε) = ∫ dQ₁(l) delta₂(ε - l), with the law of L₁ in closed form (limit) or from its delta."""
    one, two = symmetric_laplace_limit(0.5), symmetric_laplace(3, 0.6)
    p = compose(one, two)
    assert isinstance(p, Convolved)
    for e in (0.0, 0.7, 2.0):

        def survival(loss):  # Q(L > l) = delta + e^l P(L > l)
            delta, alarms = one._signed(np.atleast_1d(loss))
            return delta + np.exp(loss) * alarms

        def integrand(loss, e=e):  # by parts: ∫ Q(L > l) delta₂'(ε - l) dl, delta₂' = -e^x P(L > x)
            x = e - loss
            return survival(loss) * np.exp(x) * two._signed(np.atleast_1d(x))[1]

        nodes, weights = np.polynomial.legendre.leggauss(20)
        edges = np.concatenate([np.linspace(-40, -4, 19), np.linspace(-4, 6, 81)[1:], np.linspace(6, 45, 20)[1:]])
        half = np.diff(edges) / 2
        points = (edges[:-1, None] + half[:, None] * (nodes + 1)).ravel()
        expected = (half[:, None] * weights).ravel() @ integrand(points)
        assert p.delta(e) == pytest.approx(expected, abs=2e-7)


def test_laplace_twice_by_its_own_atoms():
    """At dim 1 the loss is 2x - c, cut at ±√2 c: two releases by a direct double sum over a fine lattice."""
    c, n = 0.6, 4001
    x = (np.arange(n) + 0.5) / n * np.sqrt(2) * c  # position between the centres, in units of 1/√2
    loss = np.concatenate([[-np.sqrt(2) * c], 2 * x - np.sqrt(2) * c, [np.sqrt(2) * c]])
    density = 0.5 * np.exp(-(np.sqrt(2) * c - x)) * np.sqrt(2) * c / n
    mass = np.concatenate([[0.5 * np.exp(-np.sqrt(2) * c)], density, [0.5]])
    p = symmetric_laplace(1, c).compose(2)
    for e in (0.0, 0.3, 1.0):
        expected = sum(
            m * np.sum(mass * np.maximum(-np.expm1(e - a - loss), 0)) for a, m in zip(loss, mass, strict=True)
        )
        assert p.delta(e) == pytest.approx(expected, abs=2e-6)


def test_responses_by_enumeration():
    blocks = [(4, 0.5), (3, 0.2), (2, 0.1)]
    p = compose(*[randomized_response(k, keep) for k, keep in blocks])
    assert isinstance(p, Discrete)
    expected = np.zeros_like(EPS)
    for outcome in itertools.product(range(3), repeat=3):
        q, loss = 1.0, 0.0
        for (k, keep), which in zip(blocks, outcome, strict=True):
            other = (1 - keep) / k
            pure = np.log1p(k * keep / (1 - keep))
            q *= (keep + other, other, (k - 2) * other)[which]
            loss += (pure, -pure, 0.0)[which]
        expected += q * np.maximum(-np.expm1(EPS - loss), 0)
    assert p.delta(EPS) == pytest.approx(expected, abs=1e-14)


def test_curve_with_responses_is_the_mixture_of_theory():
    base, response = symmetric_laplace(3, 0.5), randomized_response(4, 0.3)
    p = compose(base, response)
    assert isinstance(p, Shifted)
    other, pure = 0.7 / 4, response.pure_epsilon
    expected = (0.3 + other) * base.delta(EPS - pure) + 2 * other * base.delta(EPS) + other * base.delta(EPS + pure)
    assert p.delta(EPS) == pytest.approx(expected, rel=1e-9)


def test_inflation_composes_exactly():
    p = zero_inflated(symmetric_laplace(3, 0.5), 0.05)
    two = p.compose(2)
    assert two.delta_floor == pytest.approx(1 - 0.95**2, rel=1e-12)
    clean = symmetric_laplace(3, 0.5).compose(2)
    assert two.delta(EPS[1:]) == pytest.approx(1 - 0.95**2 * (1 - clean.delta(EPS[1:])), rel=1e-12)
    assert approx_dp(0.5, 0.01).compose(3).delta_floor == pytest.approx(1 - 0.99**3, rel=1e-12)


def test_slack_adds():
    p = with_slack(gaussian(0.5), 1e-8)
    two = p.compose(2)
    e = 1.0
    expected = gaussian(np.sqrt(0.5)).delta(e) + (1 + np.exp(e)) * 2e-8
    assert two.delta(e) == pytest.approx(expected, rel=1e-9)


def test_slack_bound_stops_at_its_minimum():
    p = with_slack(gaussian(1.0), 1e-6)
    eps = np.linspace(0, 30, 3001)
    raw = gaussian(1.0).delta(eps) + (1 + np.exp(eps)) * 1e-6
    assert p.delta_floor == pytest.approx(raw.min(), rel=1e-4)
    assert np.all(np.diff(p.delta(eps)) <= 1e-16)
    assert np.all(p.delta(eps) <= raw * (1 + 1e-12))


def test_many_categories_stay_fast_and_safe():
    keeps = np.linspace(0.02, 0.2, 12)
    many = [randomized_response(3 + i, float(keep)) for i, keep in enumerate(keeps)]
    p = compose(*many)
    assert len(p.losses) <= 1500
    exact = _by_simulation(many, 1.0)
    assert p.delta(1.0) == pytest.approx(exact, abs=3e-3)


def _by_simulation(responses, e):
    rng = np.random.default_rng(5)
    n = 400_000
    loss = sum(rng.choice(r.losses, size=n, p=np.array(r.masses) / sum(r.masses)) for r in responses)
    return np.mean(np.maximum(-np.expm1(e - loss), 0))


def test_coarse_atoms_dominate_fine_ones():
    from versadp.privacy.layers.mesh import coarsen

    p = compose(*[randomized_response(3, k) for k in (0.1, 0.23, 0.31, 0.4)])
    losses, masses = coarsen(np.array(p.losses), np.array(p.masses), 50)
    rough = Discrete(tuple(losses), tuple(masses), "rough")
    eps = np.linspace(0, 4, 101)
    assert np.all(rough.delta(eps) >= p.delta(eps) - 1e-14)
    assert np.max(rough.delta(eps) - p.delta(eps)) < 0.01


def test_heavy_tails_do_no_harm():
    """At dim 1000 delta falls like 1/ε: three releases must still be below the limit's bound and above one."""
    p = symmetric_laplace(1000, 0.5)
    three = p.compose(3)
    eps = np.array([0.5, 2.0, 10.0, 35.0])
    assert np.all(three.delta(eps) > p.delta(eps))
    assert np.all(three.delta(eps) <= 3 * p.delta(eps / 3))  # basic composition
    assert three.delta_floor == 0
    assert three.delta(1e5) < 1e-4


def test_order_and_grouping_do_not_matter():
    a, b, r = symmetric_laplace(2, 0.4), gaussian(0.5), randomized_response(3, 0.2)
    forms = [compose(a, b, r), compose(r, compose(b, a)), compose(compose(a, r), b)]
    for form in forms[1:]:
        assert form.delta(EPS) == pytest.approx(forms[0].delta(EPS), abs=1e-9)


def test_a_sum_of_nothing_is_nothing():
    assert compose().delta(0.0) == 0.0
    assert identity().compose(5).delta(0.0) == 0.0
    assert identity().epsilon(0.0) == 0.0


def test_composition_of_the_worst_bounds_both():
    both = compose(worst(gaussian(0.5), symmetric_laplace(2, 0.4)), gaussian(0.3))
    assert np.all(both.delta(EPS) >= compose(gaussian(0.5), gaussian(0.3)).delta(EPS) - 1e-12)
    assert np.all(both.delta(EPS) >= compose(symmetric_laplace(2, 0.4), gaussian(0.3)).delta(EPS) - 1e-7)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(2, 6), st.floats(0.0, 0.9)), min_size=1, max_size=4),
    st.floats(0.05, 2.0),
    st.floats(0.0, 0.3),
)
def test_record_level_is_between_its_parts_and_basic_composition(blocks, mu, rate):
    responses = [randomized_response(k, keep) for k, keep in blocks]
    base = zero_inflated(gaussian(mu), rate)
    p = compose(base, *responses)
    for e in (0.2, 1.0):
        assert p.delta(e) >= base.delta(e) - 1e-13
        pure = sum(r.pure_epsilon for r in responses)
        assert p.delta(e + pure) <= base.delta(e) + 1e-13


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "2", None])
def test_bad_number_of_releases(bad):
    with pytest.raises(ParameterError, match="k must be a whole number of at least 1"):
        gaussian(1.0).compose(bad)


def test_only_profiles_compose():
    with pytest.raises(ParameterError, match="PrivacyProfile"):
        compose(gaussian(1.0), 0.5)
    with pytest.raises(ParameterError, match="PrivacyProfile"):
        worst(1.0)
    with pytest.raises(ParameterError, match="at least one"):
        worst()


def test_losses_beyond_the_range_of_exponentials():
    """A hundred times pure 10: a loss of -1000 has a mass that no double holds; delta stays on the safe side."""
    p = approx_dp(10.0, 0.0).compose(100)
    assert p.delta(1000.5) == 0
    # beyond 980 all hundred losses must be +10, since one of -10 makes 980
    keep = 1 / (1 + np.exp(-10.0))
    assert keep**100 * (1 - np.exp(985.0 - 1000.0)) <= p.delta(985.0) <= 1
    curve = p.delta(np.linspace(0, 999, 50))
    assert np.isfinite(curve).all()
    assert (np.diff(curve) <= 0).all()
