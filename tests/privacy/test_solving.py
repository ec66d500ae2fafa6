"""From a target to a shift: largest, safe, fast, and honest about what cannot be met."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from versadp.errors import InfeasibleError, ParameterError
from versadp.privacy import (
    approx_dp,
    compose,
    randomized_response,
    solve_parameter,
    solve_shift,
    symmetric_laplace,
    symmetric_laplace_limit,
    target,
    with_slack,
    zero_inflated,
)
from versadp.privacy.solving.parameter import shift_bounds

TARGETS = [(0.8, 0.17, 0.05), (4.0, 1e-5, 5e-6), (1.0, 0.01, 0.0), (0.0, 0.1, 0.02), (8.0, 1e-9, 0.0)]


def profile(dim, shift, rate):
    return zero_inflated(symmetric_laplace(dim, shift), rate)


@pytest.mark.parametrize("dim", [1, 2, 3, 6, 40, 10_000])
@pytest.mark.parametrize(("epsilon", "delta", "rate"), TARGETS)
def test_meets_the_target_and_hardly_more(dim, epsilon, delta, rate):
    shift = solve_shift(dim, epsilon, delta, rate)
    assert profile(dim, shift, rate).delta(epsilon) <= delta
    assert profile(dim, shift * (1 + 1e-7), rate).delta(epsilon) > delta


@pytest.mark.parametrize(("epsilon", "delta", "rate"), TARGETS)
def test_decreases_in_dim_to_the_closed_limit(epsilon, delta, rate):
    shifts = [solve_shift(d, epsilon, delta, rate) for d in (1, 2, 5, 30, 1000, 20_000)]
    assert np.all(np.diff(shifts) <= 1e-8 * shifts[0])
    kappa = -np.log1p(-(delta - rate) / (1 - rate))
    assert shifts[-1] == pytest.approx(np.sqrt(2 * kappa * (epsilon + kappa)), rel=1e-6)


@pytest.mark.parametrize("dim", [1, 2, 6, 500])
def test_to_attack_risk(dim):
    shift = solve_shift(dim, exact_rate=0.02, advantage=0.3)
    assert profile(dim, shift, 0.02).advantage() <= 0.3
    assert shift == pytest.approx(-np.sqrt(2) * np.log((1 - 0.3) / 0.98), rel=1e-9)  # the same at every dim
    shift = solve_shift(dim, exact_rate=0.02, alpha=0.05, beta=0.85)
    assert profile(dim, shift, 0.02).beta(0.05) >= 0.85
    assert profile(dim, shift * (1 + 1e-6), 0.02).beta(0.05) < 0.85


@pytest.mark.parametrize("dim", [1, 2, 6, 500])
@pytest.mark.parametrize(
    ("alpha", "beta", "rate"), [(0.05, 0.6, 0.0), (0.6, 0.2, 0.0), (1e-4, 0.5, 1e-3), (0.4, 0.4, 0.1)]
)
def test_attack_rates_of_every_kind(dim, alpha, beta, rate):
    low, high = shift_bounds(target(alpha=alpha, beta=beta), rate, dim)
    shift = solve_shift(dim, exact_rate=rate, alpha=alpha, beta=beta)
    assert low <= shift <= high
    assert profile(dim, shift, rate).beta(alpha) >= beta > profile(dim, shift * (1 + 4e-9), rate).beta(alpha)
    assert shift == pytest.approx(solve_shift(dim, exact_rate=rate, alpha=beta, beta=alpha), rel=1e-7)  # symmetry


def test_the_limits_of_attack_rates_in_closed_form():
    goal = target(alpha=0.05, beta=0.6)
    low, high = shift_bounds(goal, 0.02, 6)
    by_limit = solve_parameter(lambda c: zero_inflated(symmetric_laplace_limit(c), 0.02), goal, 1e-3, 10.0)
    assert low == pytest.approx(by_limit, rel=1e-5)
    assert high == pytest.approx(solve_shift(1, exact_rate=0.02, alpha=0.05, beta=0.6), rel=1e-6)


def test_a_guess_changes_nothing():
    for near in (1e-3, 0.5, 0.6794, 0.7, 20.0):
        found = solve_parameter(lambda c: profile(2, c, 0.05), target(0.8, 0.17), 1e-4, 30.0, near=near)
        assert found == pytest.approx(0.679921, abs=1e-6)


def test_sampler_error_is_charged():
    plain, charged = solve_shift(3, 1.0, 0.01), solve_shift(3, 1.0, 0.01, tv=1e-4)
    assert charged < plain
    assert with_slack(symmetric_laplace(3, charged), 1e-4).delta(1.0) <= 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 1.0, "delta": 0.05, "exact_rate": 0.05}, "delta above 0.05, or an exact_rate below 0.05"),
        ({"epsilon": 1.0, "delta": 0.04, "exact_rate": 0.05}, "delta above 0.05, or an exact_rate below 0.04"),
        ({"epsilon": 1.0, "delta": 0.0}, "delta above 0"),
        ({"advantage": 0.04, "exact_rate": 0.05}, "advantage above 0.05"),
        ({"alpha": 0.05, "beta": 0.95, "exact_rate": 0.02}, "beta below 0.93"),
    ],
)
def test_infeasible_targets_name_the_nearest(arguments, message):
    with pytest.raises(InfeasibleError) as caught:
        solve_shift(4, **arguments)
    assert message in str(caught.value)


def test_slack_that_leaves_no_room_names_the_nearest():
    with pytest.raises(InfeasibleError, match="nearest that can: delta") as caught:
        solve_shift(4, 1.0, 1e-6, tv=1e-4)
    nearest = float(str(caught.value).split("delta ")[-1].split(" at")[0])
    assert solve_shift(4, 1.0, nearest * 1.5, tv=1e-4) > 0


def test_pure_target_is_met_at_dim_1():
    assert solve_shift(1, 1.0, 0.0) == pytest.approx(1 / np.sqrt(2), rel=1e-9)
    assert profile(1, solve_shift(1, 1.0, 0.05, 0.05), 0.05).delta(1.0) <= 0.05


def test_a_record_of_many_blocks():
    def record(knob):
        keep = [float(np.expm1(knob) / (np.expm1(knob) + k)) for k in (2, 4, 5)]
        blocks = [randomized_response(k, p) for k, p in zip((2, 4, 5), keep, strict=True)]
        return compose(zero_inflated(symmetric_laplace(5, knob), 0.001), *blocks)

    start = time.process_time()
    knob = solve_parameter(record, target(4.0, 0.01), 1e-3, 20.0)
    assert time.process_time() - start < 3
    assert record(knob).delta(4.0) <= 0.01 < record(knob * (1 + 1e-7)).delta(4.0)


def test_search_ends():
    assert solve_parameter(symmetric_laplace_limit, target(advantage=0.9), 0.1, 0.2) == 0.2
    with pytest.raises(InfeasibleError, match=r"advantage 0\.06"):
        solve_parameter(symmetric_laplace_limit, target(advantage=0.01), 0.1, 0.2)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 300), st.floats(0.01, 8), st.floats(-10, -0.5), st.floats(0, 0.9))
def test_any_target_is_met(dim, epsilon, log_delta, share):
    delta = 10**log_delta
    rate = share * delta
    shift = solve_shift(dim, epsilon, delta, rate)
    assert profile(dim, shift, rate).delta(epsilon) <= delta


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"epsilon": 1.0},
        {"delta": 0.1},
        {"alpha": 0.1},
        {"epsilon": 1.0, "delta": 0.1, "advantage": 0.2},
        {"epsilon": 1.0, "delta": 0.1, "alpha": 0.2},
        {"epsilon": -1.0, "delta": 0.1},
        {"epsilon": float("nan"), "delta": 0.1},
        {"epsilon": 1.0, "delta": 1.0},
        {"epsilon": True, "delta": 0.1},
        {"advantage": 0.0},
        {"advantage": 1.0},
        {"alpha": 0.0, "beta": 0.5},
        {"alpha": 0.5, "beta": "0.5"},
    ],
)
def test_bad_targets(arguments):
    with pytest.raises(ParameterError):
        solve_shift(3, **arguments)


@pytest.mark.parametrize(
    ("dim", "rate"), [(0, 0.0), (2.0, 0.0), (True, 0.0), (3, 1.0), (3, -0.1), (3, float("nan")), (3, None)]
)
def test_bad_mechanisms(dim, rate):
    with pytest.raises(ParameterError):
        solve_shift(dim, 1.0, 0.1, rate)


def test_nearest_is_rounded_so_that_it_can_be_met():
    from versadp.privacy.target import nearest

    p = approx_dp(1.0, 0.0123456789)
    assert float(nearest(p, target(1.0, 1e-3)).split()[1]) >= p.delta(1.0)
