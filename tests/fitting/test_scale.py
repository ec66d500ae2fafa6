"""Huber loss with a scale from the residuals: what the scale is, what it does to standard errors, and to units."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import versadp as vdp
from versadp.errors import InsecureWarning
from versadp.losses import Huber
from versadp_bench.coverage.plain import plain_huber

SCHEMA = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Public()})
K = 1.345


def skewed(n, seed=0):
    """Exponential errors whose spread grows with x: both coefficients depend on the scale."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n)
    return x, 1 + 2 * x + (1 + 0.8 * x) * rng.exponential(2.0, n)


def released(x, y, scale, rate, seed=1):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureWarning)
        frame = pd.DataFrame({"x": x, "y": y})
        return vdp.Mechanism(SCHEMA, scale=scale, exact_rate=rate).release(frame, insecure_seed=seed)


def scores(parameters, x, y):
    """Estimating equations of two coefficients and the scale, as a book would write them."""
    a, b, s = parameters
    z = (y - a - b * x) / s
    normal = norm.expect(lambda t: min(t * t, K * K))
    psi = np.clip(z, -K, K)
    return np.stack([psi, psi * x, psi**2 - normal])


def by_the_book(x, y):
    """Solve the equations and take the sandwich of all three, by differences."""
    from scipy.optimize import root

    found = root(lambda p: scores(p, x, y).mean(axis=1), [2.0, 2.0, 2.0]).x
    steps = 1e-3 * np.eye(3)
    bread = np.stack([(scores(found + e, x, y) - scores(found - e, x, y)).mean(axis=1) / 2e-3 for e in steps], axis=1)
    inverse = np.linalg.inv(bread)
    meat = scores(found, x, y) @ scores(found, x, y).T / len(x)
    return found, np.sqrt(np.diag(inverse @ meat @ inverse.T) / len(x))


@pytest.mark.full
def test_fit_and_errors_are_those_of_coefficients_and_scale_together():
    x, y = skewed(20_000)
    exact, error = by_the_book(x, y)
    for method in ("efficient", "naive"):
        found = vdp.fit(released(x, y, 1e-6, 0.5), "y ~ x", loss="huber", method=method)
        assert (np.abs(np.asarray(found.params) - exact[:2]) < 0.02 * error[:2]).all()
        assert np.asarray(found.bse) == pytest.approx(error[:2], rel=0.01)
    given = vdp.fit(released(x, y, 1e-6, 0.5), "y ~ x", loss=Huber(scale=exact[2]))
    assert np.asarray(given.params) == pytest.approx(np.asarray(found.params), abs=0.02 * error[0])
    assert given.bse[0] < 0.9 * error[0], "a scale that is known leaves less to be estimated"


def test_the_benchs_plain_fit_is_the_same():
    x, y = skewed(20_000, seed=3)
    exact, error = by_the_book(x, y)
    found = plain_huber(np.column_stack([np.ones_like(x), x]), y, K, sharp=True)
    assert (np.abs(found.estimate - exact[:2]) < 0.02 * error[:2]).all()


def test_noise_moves_neither_fit_nor_scale():
    """Within five standard errors; the naive fit is many away, and a corner from noisy residuals would be too."""
    x, y = skewed(20_000, seed=4)
    exact, _ = by_the_book(x, y)
    release = released(x, y, 0.5, 0.1)
    found, naive = (vdp.fit(release, "y ~ x", loss="huber", method=method) for method in ("efficient", "naive"))
    assert (np.abs(np.asarray(found.params) - exact[:2]) < 5 * np.asarray(found.bse)).all()
    assert (np.abs(np.asarray(naive.params) - exact[:2]) > 5 * np.asarray(found.bse)).any()


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_outliers_move_it_little(share):
    """A share of the responses is moved by 1000 sd; least squares would move as far as its share says."""
    rng = np.random.default_rng(5)
    x, away = rng.uniform(-1, 1, 5000), rng.random(5000) < share
    y = 1 + 2 * x + rng.normal(size=5000)
    clean, spoilt = (vdp.fit(released(x, y + each, 0.2, 0.2), "y ~ x", loss="huber") for each in (0, 1000 * away))
    assert np.abs(spoilt.params - clean.params).max() < 0.8
    assert np.asarray(spoilt.bse).max() < 4 * np.asarray(clean.bse).max()


def test_bad_scales():
    for scale in (0, -1.0, np.nan, np.inf, "1"):
        with pytest.raises(vdp.errors.ParameterError, match="scale must be"):
            Huber(scale=scale)
    assert repr(Huber()) == "Huber(k=1.345)"
    assert repr(Huber(2.0, scale=3.0)) == "Huber(k=2.0, scale=3.0)"
    assert Huber(2.0, scale=3.0) != Huber(2.0)
    assert Huber(2.0, scale=3.0).corner == 6.0
