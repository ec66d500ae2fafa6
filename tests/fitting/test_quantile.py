"""Quantiles of a column that is kept up to a window, by its corrected distribution function."""

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.fitting import quantile
from versadp.fitting.quantile import Seen, _below
from versadp.losses import Quantile
from versadp.noise import Window

N = 100_000
KEY = bytes(range(1, 33))  # one law in fifty is said to pile up by chance: the same noise each time


def release(values, low=0.0, high=1.0, weights=None, **column):
    schema = {"x": vdp.Bounded(low, high, **column)} | ({} if weights is None else {"w": vdp.Public()})
    table = pd.DataFrame({"x": values} | ({} if weights is None else {"w": weights}))
    return vdp.calibrate(vdp.Schema(schema), epsilon=4, unit="attribute").release(table, key=KEY)


def draw(kind, rng, n=N):
    match kind:
        case "normal":
            x = rng.normal(0.4, 0.15, n)
        case "skewed":
            x = 0.25 * np.exp(0.6 * rng.normal(size=n))
        case "two humps":
            x = np.where(rng.random(n) < 0.5, rng.normal(0.3, 0.06, n), rng.normal(0.7, 0.1, n))
    return np.clip(x, 0, 1)


def raw_error(x, tau):
    """Return the standard error of a quantile without noise: the density by a difference."""
    low, high = np.quantile(x, [tau - 0.02, tau + 0.02])
    return np.sqrt(tau * (1 - tau) / x.size) * (high - low) / 0.04


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kind", ["normal", "skewed", "two humps"])
@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_the_error_is_a_few_times_that_of_the_raw_column(kind, tau):
    x = draw(kind, np.random.default_rng(4))
    found = vdp.fit(release(x), loss=Quantile("x", tau), engine="serial")
    raw = raw_error(x, tau)
    assert raw < found.bse[0] < 4 * raw
    assert abs(found.params[0] - np.quantile(x, tau)) < 5.5 * found.bse[0]
    assert "distribution smoothed over" in found.header
    low, high = np.asarray(found.conf_int())[0]
    assert low < found.params[0] < high


def test_signed_points_are_far_worse():
    x = draw("normal", np.random.default_rng(4), 5000)
    seen = release(x)
    smooth, points = (vdp.fit(seen, loss=Quantile("x", 0.5), method=each) for each in ("efficient", "drcl"))
    assert points.bse[0] > 5 * smooth.bse[0]


def test_missing_values_are_left_out_and_weights_count():
    rng = np.random.default_rng(8)
    x = draw("normal", rng)
    gone = np.where(rng.random(N) < 0.4 * (x > 0.4), np.nan, x)
    for nullable in (True, "public"):
        found = vdp.fit(release(gone, nullable=nullable), loss=Quantile("x", 0.5), engine="serial")
        assert abs(found.params[0] - np.nanmedian(gone)) < 5 * found.bse[0] < 0.02
        assert abs(found.params[0] - np.median(x)) > 5 * found.bse[0]
    heavy = np.where(rng.random(N) < 0.5, 3.0, 1.0)
    moved = np.clip(x + 0.1 * (heavy > 2), 0, 1)
    found = vdp.fit(release(moved, weights=heavy), loss=Quantile("x", 0.5), weights="w", engine="serial")
    wanted = np.median(np.repeat(moved, heavy.astype(int)))
    assert abs(found.params[0] - wanted) < 5 * found.bse[0] < 0.02
    assert abs(found.params[0] - np.median(moved)) > 5 * found.bse[0]


def test_whole_numbers_are_covered_whatever_lies_between():
    x = np.floor(np.clip(np.random.default_rng(2).normal(45.3, 12, N), 18, 90))
    found = vdp.fit(release(x, 18, 90, step=1), loss=Quantile("x", 0.5), engine="serial")
    low, high = np.asarray(found.conf_int())[0]
    assert low <= np.median(x) <= high < low + 3


def test_a_coarse_lattice_is_undone_as_it_is():
    rng = np.random.default_rng(5)
    x = rng.choice(6, N, p=[0.05, 0.5, 0.1, 0.1, 0.15, 0.1]).astype(float)
    schema = vdp.Schema({"x": vdp.Bounded(0, 5, step=1)})
    mechanism = vdp.Mechanism(schema, noise={"x": Window(3.0, window=2)})
    found = vdp.fit(mechanism.release(pd.DataFrame({"x": x})), loss=Quantile("x", 0.5), engine="serial")
    assert found.params[0] == 1
    assert "distribution smoothed over" not in found.header


def test_the_smoothed_step_has_no_second_moment_and_a_mirror_at_the_bounds():
    x, b = np.linspace(0, 1, 4001), 0.05
    v = _below(x, np.array([0.0, 0.5, 1.0]), b)
    np.testing.assert_allclose(v[:, 0], 0, atol=1e-12)
    np.testing.assert_allclose(v[:, 2], 1, atol=1e-12)
    # densities 1, x and x² have the same F, and x³ one that is off by an eighth of b⁴ times its third derivative
    for power, moment in enumerate([0.5, 0.125, 1 / 24, 1 / 64 - b**4 * 6 / 8]):
        assert np.trapezoid(v[:, 1] * x**power, x) == pytest.approx(moment, abs=2e-8)  # of the trapezia
    assert np.trapezoid(v[:, 1] * (x > 0.5), x) > 5e-3  # a jump shows: F is 0 there


def test_scores_vary_as_they_say_they_do():
    block = Window(epsilon=4).on({"x": vdp.Bounded(0, 1)})
    lattice, rng, n = block.lattice("x"), np.random.default_rng(1), 20_000
    away = []
    for _ in range(200):
        z = np.floor(rng.random(n) * (lattice.last + 1)) + np.floor(rng.random(n) * lattice.window)
        redrawn = rng.random(n) > lattice.keep
        z[redrawn] = np.floor(rng.random(redrawn.sum()) * (lattice.last + lattice.window))
        count = np.bincount(z.astype(int), minlength=lattice.shown).astype(float)
        mean, error = Seen(lattice, count, count, n).coarser(0.05).scores(np.array([0.3]), 0.05, 0.3)
        away.append(mean[0] / error[0])
    # 200 normal ones: their mean within 4.5/√200, their spread within 4.5/√400
    assert abs(np.mean(away)) < 0.32
    assert abs(np.std(away) - 1) < 0.23


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "tau"), [("normal", 0.1), ("skewed", 0.5), ("two humps", 0.9)])
def test_intervals_cover(kind, tau):
    truth = np.quantile(draw(kind, np.random.default_rng(99), 4_000_000), tau)
    inside = []
    for k in range(200):
        found = vdp.fit(release(draw(kind, np.random.default_rng(k))), loss=Quantile("x", tau), engine="serial")
        low, high = np.asarray(found.conf_int())[0]
        inside.append(low <= truth <= high)
    assert np.mean(inside) > 0.88  # 0.95 less 4.5 standard errors


def heaped(rng, n):
    """A fifth of the values are one value; the median is that value, 0.4, since 32% lie below and 48% above it."""
    return np.where(rng.random(n) < 0.2, 0.4, rng.random(n))


@pytest.mark.full
def test_values_that_pile_up_are_seen_and_covered():
    """A law that is merely smoothed puts the median at 0.44 and is sure of it; that is our control."""
    away = []
    for k in range(4):
        found = vdp.fit(release(heaped(np.random.default_rng(k), 10_000)), loss=Quantile("x", 0.5), engine="serial")
        assert "values pile up" in found.header["distribution smoothed over"]
        low, high = np.asarray(found.conf_int())[0]
        away.append(max(low - 0.4, 0.4 - high))
    assert sum(each <= 0 for each in away) >= 2  # at a coverage of 95% it is fewer one time in 2,000
    assert max(away) < 0.02


def test_without_the_comparison_it_is_confidently_wrong(monkeypatch):
    monkeypatch.setattr(quantile, "MISTAKEN", 0.0)
    found = vdp.fit(release(heaped(np.random.default_rng(1), 10_000)), loss=Quantile("x", 0.5), engine="serial")
    assert np.asarray(found.conf_int())[0][0] > 0.41


def test_smooth_laws_are_not_said_to_pile_up():
    """About one release in fifty is: three of five once in a hundred thousand."""
    said = []
    for k in range(5):
        x = draw("normal", np.random.default_rng(k), 20_000)
        said.append(vdp.fit(release(x), loss=Quantile("x", 0.3), engine="serial").header["distribution smoothed over"])
    assert sum("pile" in each for each in said) < 3
