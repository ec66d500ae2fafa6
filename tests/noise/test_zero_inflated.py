"""The noise that a release really adds, at a million records."""

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import ParameterError
from versadp.noise import SymmetricLaplace, ZeroInflatedBlock, ZeroInflatedSymmetricLaplace
from versadp_tests.noise_laws import rejected

N = 1_000_000
RATE, SCALE = 0.2, 0.25
WIDTH = np.array([1.0, 72.0, 5e5])


@pytest.fixture(scope="module")
def noise():
    """Noise of the real release path, (N, 3), in the columns' own units."""
    schema = vdp.Schema({"a": vdp.Bounded(0, 1), "b": vdp.Bounded(18, 90), "c": vdp.Bounded(0, 5e5)})
    mech = vdp.Mechanism(schema, scale=SCALE, exact_rate=RATE)
    x = {"a": np.full(N, 0.5), "b": np.full(N, 54.0), "c": np.full(N, 125_000.0)}
    released = mech.release(pd.DataFrame(x)).frame
    return np.stack([released[name] - x[name] for name in x], axis=1)


def test_release_adds_the_noise_it_says(noise):
    assert rejected(noise, RATE, SCALE * WIDTH) == {}


def test_wrong_scale_is_rejected(noise):
    assert any("variance" in name for name in rejected(noise * 1.03, RATE, SCALE * WIDTH))


def test_wrong_exact_rate_is_rejected(noise):
    assert "exact share" in rejected(noise, RATE * 1.1, SCALE * WIDTH)
    assert "exact share" in rejected(noise, RATE / 1.1, SCALE * WIDTH)


def test_independent_w_is_rejected(noise):
    rng = np.random.default_rng(0)
    w = np.sqrt(rng.standard_exponential((N, 3))) * rng.standard_normal((N, 3)) * (rng.random((N, 1)) >= RATE)
    assert "shared W" in rejected(w, RATE, np.ones(3))


def test_independent_laplace_with_right_moments_is_rejected():
    rng = np.random.default_rng(1)
    z = rng.laplace(scale=np.sqrt(0.5), size=(N, 2))
    assert "shared W" in rejected(z, 0.0, np.ones(2))


@pytest.mark.parametrize("dim", [1, 6])
def test_research_samplers_have_the_same_law(dim):
    rng = np.random.default_rng(2)
    assert rejected(ZeroInflatedSymmetricLaplace(RATE, np.eye(dim) * 4).rvs(N // 4, rng), RATE, 2 * np.ones(dim)) == {}
    assert rejected(SymmetricLaplace(np.eye(dim)).rvs(N // 4, rng), 0.0, np.ones(dim)) == {}


def test_research_sampler_covariance():
    cov = np.array([[2.0, 0.9], [0.9, 1.0]])
    z = SymmetricLaplace(cov).rvs(400_000, 3)
    # var of z_i z_j is at most 6 cov_ii cov_jj
    assert np.abs(z.T @ z / len(z) - cov).max() < 6 * np.sqrt(24 / len(z))


def test_second_randomisation_turns_zil_into_laplace():
    """SL(Sigma) = ZIL(r, Sigma) * SL(r Sigma): X2 - X is symmetric Laplace with the full scale."""
    block = ZeroInflatedBlock(("x", "y"), (0.0, 0.0), (1.0, 1.0), (0.5, 0.5), RATE)
    rng = np.random.default_rng(4)
    x1 = 0.5 + ZeroInflatedSymmetricLaplace(RATE, np.eye(2) / 4).rvs(N // 2, rng)
    assert rejected(block.second(x1.T, rng).T - 0.5, 0.0, np.full(2, 0.5)) == {}
    assert rejected(x1 - 0.5, 0.0, np.full(2, 0.5))


@pytest.mark.parametrize("scale", [1e-6, 0.001, 0.25, 1.0, 37.0, 1e4])
def test_grid(scale):
    block = ZeroInflatedBlock(("x",), (18.0,), (90.0,), (scale,), 0.1)
    assert block.step[0] <= scale * 72 / 2**10
    assert block.step[0] <= 72 / (2**16 if scale <= 64 else 2**8)
    values = np.array([[18.0, 90.0, 17.0, 91.0, 18.0 + 72 / 2 ** block.bits[0]]])
    block.to_content(values)
    last = 2.0 ** block.bits[0]
    assert values.tolist() == [[0, last, 0, last, 1]]
    block.to_values(values)
    assert values[0, :2].tolist() == [18.0, 90.0]
    assert block.off_grid(values).tolist() == [0]
    assert block.off_grid(values * 1.37 + 0.1).tolist() == [5]


def test_bounds_that_floating_point_cannot_say_come_back_whole():
    block = ZeroInflatedBlock(("x",), (0.1,), (0.7,), (0.25,), 0.1)
    values = np.array([[0.7]])
    block.to_content(values)
    block.to_values(values)
    assert values[0, 0] == 0.7


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf, 5e-324, True, "1"])
def test_bad_scale(scale):
    with pytest.raises(ParameterError):
        ZeroInflatedBlock(("x",), (0.0,), (1.0,), (scale,), 0.1)


@pytest.mark.parametrize("rate", [-0.1, 1.0, np.nan, 1e-300, True, "0.1"])
def test_bad_rate(rate):
    with pytest.raises(ParameterError):
        ZeroInflatedBlock(("x",), (0.0,), (1.0,), (0.1,), rate)


def test_grid_without_room_is_refused():
    with pytest.raises(ParameterError, match="subtract a constant"):
        ZeroInflatedBlock(("x",), (1e15,), (1e15 + 1,), (0.1,), 0.1)


def test_sampler_error_grows_with_columns_and_noise():
    one = ZeroInflatedBlock(("x",), (0.0,), (1.0,), (0.25,), 0.1)
    ten = ZeroInflatedBlock(tuple("abcdefghij"), (0.0,) * 10, (1.0,) * 10, (0.25,) * 10, 0.1)
    assert ten.sampler_error == pytest.approx(10 * one.sampler_error)
    assert one.sampler_error < 2e-14


def test_density_integrates_and_matches_its_characteristic_function():
    law = SymmetricLaplace(2.0)
    x = np.linspace(-60, 60, 400_001)[:, None]
    density = law.pdf(x)
    assert np.trapezoid(density, x[:, 0]) == pytest.approx(1, abs=1e-6)
    for t in (0.3, 1.7):
        assert np.trapezoid(density * np.cos(t * x[:, 0]), x[:, 0]) == pytest.approx(law.cf([t]), abs=1e-6)
    flat = SymmetricLaplace(np.diag([1.0, 4.0]))
    assert flat.pdf([[1.0, 2.0]])[0] == pytest.approx(SymmetricLaplace(np.eye(2)).pdf([[1.0, 1.0]])[0] / 2)


@pytest.mark.parametrize("cov", [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.5], [0.4, 1.0]], -1.0])
def test_bad_covariance(cov):
    with pytest.raises(ParameterError):
        SymmetricLaplace(cov)
