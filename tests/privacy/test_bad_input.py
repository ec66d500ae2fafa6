"""Everything that is not a sensible number is refused with our own error, which says what is allowed."""

from __future__ import annotations

import numpy as np
import pytest

from versadp import privacy
from versadp.errors import ParameterError, VersadpError

NAN = float("nan")
INF = float("inf")
NOT_NUMBERS = [NAN, True, np.True_, "0.5", None, 1j, [0.1], object()]


def refused(call, *arguments, match=None):
    with pytest.raises(ParameterError, match=match) as caught:
        call(*arguments)
    assert isinstance(caught.value, VersadpError | ValueError)


@pytest.mark.parametrize("dim", [0, -3, 2.0, 2.5, True, np.True_, "2", None, NAN, INF])
def test_dim(dim):
    refused(privacy.symmetric_laplace, dim, 0.5, match="dim must be a whole number of at least 1")


@pytest.mark.parametrize("shift", [0, 0.0, -1.0, INF, -INF, *NOT_NUMBERS])
def test_shift(shift):
    refused(privacy.symmetric_laplace, 3, shift, match="shift must be a")
    refused(privacy.symmetric_laplace_limit, shift, match="shift")
    refused(privacy.gaussian, shift, match="mu")


@pytest.mark.parametrize("rate", [1, 1.0, 1.5, -1e-300, INF, *NOT_NUMBERS])
def test_rates(rate):
    p = privacy.gaussian(1.0)
    refused(privacy.zero_inflated, p, rate, match="exact_rate")
    refused(privacy.randomized_response, 3, rate, match="keep")
    refused(privacy.approx_dp, 1.0, rate, match="delta")
    refused(privacy.with_slack, p, rate, match="tv")


@pytest.mark.parametrize("levels", [0, -1, 2.0, True, "3", None])
def test_levels(levels):
    refused(privacy.randomized_response, levels, 0.5, match="levels must be a whole number")


@pytest.mark.parametrize("epsilon", [-0.1, INF, *NOT_NUMBERS])
def test_epsilon_of_approx_dp(epsilon):
    refused(privacy.approx_dp, epsilon, 0.1, match="epsilon")


@pytest.mark.parametrize("alpha", [-1e-9, 1.0000001, INF, NAN, True, "x", None, [0.1, NAN], [True, False], [[2.0]]])
def test_alpha(alpha):
    refused(privacy.symmetric_laplace(3, 0.5).beta, alpha, match=r"alpha must be a number in \[0, 1\]")


@pytest.mark.parametrize("epsilon", [NAN, True, "x", None, [0.1, NAN]])
def test_epsilon_of_delta(epsilon):
    refused(privacy.symmetric_laplace(3, 0.5).delta, epsilon, match="epsilon")


@pytest.mark.parametrize("delta", [-0.1, 1.1, NAN, True, "x", None, [0.1, NAN]])
def test_delta_of_epsilon(delta):
    refused(privacy.symmetric_laplace(3, 0.5).epsilon, delta, match="delta")


def test_delta_at_or_below_the_floor_names_the_floor():
    p = privacy.zero_inflated(privacy.symmetric_laplace(3, 0.5), 0.05)
    for delta in (0.0, 0.01, 0.05, [0.2, 0.05]):
        refused(p.epsilon, delta, match="the floor of delta is 0.05")
    assert p.epsilon(0.0500001) > 5
    refused(privacy.symmetric_laplace(2, 0.5).epsilon, 0.0, match="the floor of delta is 0")


def test_extremes_of_good_input():
    p = privacy.symmetric_laplace(6, 0.5)
    assert p.delta(5e-324) == p.delta(0.0)
    assert 0 <= p.delta(1e300) < 1e-20
    assert p.delta(-1e300) == 1.0
    assert p.beta(5e-324) == pytest.approx(1.0)
    assert p.beta(1 - 2**-53) >= 0
    assert p.epsilon(1e-15) > 10
    assert privacy.symmetric_laplace(np.int64(3), np.float32(0.5)).delta(np.float32(1)) > 0
    for tiny in (1e-200, 5e-324):
        assert privacy.symmetric_laplace(3, tiny).delta(1.0) >= 0
    assert privacy.symmetric_laplace(3, 1e200).delta(1.0) == 1.0
    assert privacy.symmetric_laplace(1, 1e200).delta(1.0) == 1.0
    assert privacy.randomized_response(2, 1 - 2**-53).delta(1.0) == pytest.approx(1.0)
    assert privacy.gaussian(1e-8).delta(1.0) == pytest.approx(0.0, abs=1e-15)
    assert privacy.gaussian(1e3).delta(1.0) == pytest.approx(1.0)


def test_what_is_no_number_is_not_claimed():
    class Broken(privacy.PrivacyProfile):
        delta_floor = 0.0

        def _curve(self, epsilon):
            return np.full(len(epsilon), np.nan), np.zeros(len(epsilon))

        def _title(self):
            return "broken"

    for profile in (Broken(), privacy.zero_inflated(Broken(), 0.1)):
        assert profile.delta([0.0, 1.0, -1.0]).tolist() == [1.0, 1.0, 1.0]
    assert privacy.target(1.0, 1e-6).room(privacy.zero_inflated(Broken(), 1e-15)) < 0
