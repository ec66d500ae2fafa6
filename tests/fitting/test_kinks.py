"""Losses with kinks and corners, and losses of the residual of anybody's, from windows: by series, not by points."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit

import versadp as vdp
from versadp.errors import InsecureWarning
from versadp.losses import Check, Huber, IndexLoss
from versadp.noise import Window

SLOPES = np.array([1.0, -0.8, 0.6])
NAMES = ("x0", "x1", "x2")
COLUMNS, JOINT = {name: Window(4.0) for name in NAMES}, {NAMES: Window(8.0)}


class LogCosh(IndexLoss):
    """`log cosh(u - y)`: smooth, of the residual, nobody's but ours."""

    argument, order = "residual", 4

    def value(self, u, y):
        return np.logaddexp(u - y, y - u) - np.log(2)

    def derivatives(self, u, y, order=4, bandwidth=0.0):
        s = np.tanh(u - y)
        v = 1 - s * s
        return (s, v, -2 * s * v, v * (6 * s * s - 2))[:order]


def covariates(n, dim=3, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, dim))


def released(x, y, noise, response=None, seed=1):
    """Release covariates on ±1; a response of None is public."""
    names = tuple(f"x{j}" for j in range(x.shape[1]))
    schema = vdp.Schema({name: vdp.Bounded(-1, 1) for name in names} | {"y": response or vdp.Public()})
    table = pa.table(dict(zip(names, x.T, strict=True)) | {"y": y})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureWarning)
        return vdp.Mechanism(schema, noise=noise).release(table, insecure_seed=seed), "y ~ " + " + ".join(names)


def off(found, truth):
    """How many standard errors estimates are off, at most."""
    return float(np.max(np.abs(np.asarray(found.params) - truth) / np.asarray(found.bse)))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("noise", [COLUMNS, JOINT], ids=["columns", "joint"])
@pytest.mark.parametrize(
    "loss",
    [Check(0.5), pytest.param(Check(0.8), marks=pytest.mark.slow), Huber(), LogCosh()],
    ids=lambda loss: f"{loss.name}{vars(loss)}",
)
def test_losses_of_the_residual(loss, noise):
    """Normal errors that grow with a column, so that lines of other quantiles are steeper; naive lines are too flat."""
    n, rng = 40_000, np.random.default_rng(2)
    x = covariates(n)
    y = 0.3 + x @ SLOPES + (0.6 + 0.2 * x[:, 0]) * rng.standard_normal(n)
    truth = np.append(0.3, SLOPES) + (0.8416 * np.array([0.6, 0.2, 0, 0]) if loss == Check(0.8) else 0.0)
    release, formula = released(x, y, noise)
    found = vdp.fit(release, formula, loss=loss)
    assert found.converged
    assert off(found, truth) < 5
    assert np.asarray(found.bse).max() < 0.035
    assert off(vdp.fit(release, formula, loss=loss, method="naive"), truth) > 5


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "noise",
    [{name: Window(4.0) for name in ("x0", "x1", "y")}, {("x0", "x1", "y"): Window(8.0)}],
    ids=["columns", "joint"],
)
@pytest.mark.parametrize("loss", [Check(0.5), Huber(), LogCosh()], ids=lambda loss: loss.name)
def test_a_private_response_is_one_more_column(loss, noise):
    n, rng = 40_000, np.random.default_rng(3)
    x, truth = covariates(n, 2), np.array([0.5, 1.0, -1.0])
    y = truth[0] + x @ truth[1:] + 0.5 * rng.standard_normal(n)
    release, formula = released(x, y, noise, vdp.Bounded(-4, 5))
    found = vdp.fit(release, formula, loss=loss)
    assert off(found, truth) < 5
    assert np.asarray(found.bse).max() < 0.1


def raw_hinge(x, y):
    """The minimum of hinge loss on raw records, its kink rounded by a fiftieth."""
    from scipy.optimize import minimize

    m = np.column_stack([np.ones(len(x)), x]) * y[:, None]

    def loss(theta):
        far = (1 - m @ theta) / 0.02
        return 0.02 * np.logaddexp(0.0, far).mean(), -m.T @ expit(far) / len(m)

    return minimize(loss, np.zeros(m.shape[1]), jac=True, tol=1e-10).x


@pytest.mark.thinned(3)
@pytest.mark.parametrize("private", [False, True], ids=["public", "private"])
@pytest.mark.parametrize("joint", [False, True], ids=["columns", "joint"])
def test_hinge_loss(joint, private):
    """The margin is y times the index; a private response of two values turns waves by a quarter."""
    n, rng = 50_000, np.random.default_rng(4)
    x = covariates(n, 2)
    y = (rng.random(n) < expit(0.5 + 3 * x[:, 0] - 2 * x[:, 1])).astype(float)
    names = ("x0", "x1", "y") if private else ("x0", "x1")
    noise = {names: Window(8.0)} if joint else {name: Window(4.0) for name in names}
    release, formula = released(x, y, noise, vdp.Bounded(0, 1, step=1) if private else None)
    found, exact = vdp.fit(release, formula, loss="hinge"), raw_hinge(x, 2 * y - 1)
    assert off(found, exact) < 5
    assert np.asarray(found.bse).max() < 0.1
    if not private:
        assert off(vdp.fit(release, formula, loss="hinge", method="naive"), exact) > 5


@pytest.mark.slow
def test_six_columns_and_a_category():
    n, rng, levels = 40_000, np.random.default_rng(5), ["n", "e", "s"]
    x, g = covariates(n, 6), rng.integers(0, 3, n)
    truth = np.array([0.2, 0.7, -0.7, 0.7, 0.0, 0.5, 0.3, 0.6, -0.4])
    y = truth[0] + x @ truth[1:7] + np.append(0.0, truth[7:])[g] + 0.5 * rng.laplace(size=n)
    names = [f"x{j}" for j in range(6)]
    schema = vdp.Schema(
        {name: vdp.Bounded(-1, 1) for name in names} | {"g": vdp.Categorical(levels), "y": vdp.Public()}
    )
    table = pa.table(dict(zip(names, x.T, strict=True)) | {"g": np.array(levels)[g], "y": y})
    mech = vdp.Mechanism(schema, noise=dict.fromkeys([*names, "g"], Window(4.0)))
    found = vdp.fit(mech.release(table, key=bytes(range(32))), f"y ~ {' + '.join(names)} + C(g)", loss="check")
    assert off(found, truth) < 5
    assert np.asarray(found.bse).max() < 0.05


@pytest.mark.full
@pytest.mark.parametrize("loss", ["check", "huber"])
def test_outliers_of_a_public_response_may_lie_anywhere(loss):
    """Cauchy errors: where the loss is straight it does not matter how far away a response is."""
    n, rng = 20_000, np.random.default_rng(6)
    x, truth = covariates(n, 2), np.array([0.0, 1.0, -1.0])
    y = x @ truth[1:] + 0.3 * rng.standard_cauchy(n)
    further = np.where(np.abs(y) > 30, 1000 * y, y)
    noise = {"x0": Window(6.0), "x1": Window(6.0)}
    found, moved = (
        vdp.fit(*released(x, some, noise), loss=vdp.losses.Huber(scale=0.4) if loss == "huber" else loss)
        for some in (y, further)
    )
    assert off(found, truth) < 5
    assert np.asarray(found.bse).max() < 0.05
    # outliers are cut where the line is looked for, by a scale that depends on them a little
    assert np.asarray(moved.params) == pytest.approx(np.asarray(found.params), abs=0.2 * np.asarray(found.bse).min())


@pytest.mark.full
def test_huber_with_a_scale_from_the_residuals():
    """Skewed errors whose spread grows: the line is that of fit and scale together, as of raw records."""
    n, rng = 50_000, np.random.default_rng(7)
    x = covariates(n, 1)
    y = 1 + 2 * x[:, 0] + (1 + 0.8 * x[:, 0]) * rng.exponential(1.0, n)
    plain, _ = released(x, y, {"x0": Window(30.0, cells=4000, window=1)})
    exact = vdp.fit(plain, "y ~ x0", loss="huber", method="naive")
    release, formula = released(x, y, {"x0": Window(5.0)})
    found = vdp.fit(release, formula, loss="huber")
    assert off(found, np.asarray(exact.params)) < 5
    assert np.asarray(found.bse).max() < 2 * np.asarray(exact.bse).max()
    fixed = vdp.fit(release, formula, loss=Huber(scale=3.0))
    assert np.abs(np.asarray(fixed.params) - np.asarray(exact.params)).max() > 0.05, "another scale is another line"


def test_a_result_says_what_was_smoothed():
    """Slopes so steep that an index moves by many residual scales within a window: the kink is blurred."""
    n, rng = 20_000, np.random.default_rng(8)
    x = covariates(n, 2)
    y = 20 * x.sum(axis=1) + 0.05 * rng.standard_normal(n)
    release, formula = released(x, y, dict.fromkeys(("x0", "x1"), Window(2.0)))
    found = vdp.fit(release, formula, loss="check")
    assert off(found, [0, 20, 20]) < 5
    assert "kinks smoothed over" in str(found.summary())
