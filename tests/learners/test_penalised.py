"""Penalised fits of released records: near those of the true ones, and no lasso where none makes sense."""

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model

import versadp as vdp
from versadp.errors import EstimationError, ParameterError
from versadp.learners.penalised import Penalty, quadratic

N, P = 4000, 4
NAMES = [f"x{j}" for j in range(P)]
SLOPES = np.array([1.0, 0.5, 0.0, 0.0])


def made(seed, rows=N):
    rng = np.random.default_rng(seed)
    z = rng.uniform(-1, 1, (rows, P)) + 0.5 * rng.uniform(-1, 1, (rows, 1))
    x = np.clip(z, -1, 1)
    u = x @ SLOPES
    frame = pd.DataFrame(x, columns=NAMES)
    frame["number"] = u + rng.normal(0, 0.5, rows)
    frame["label"] = (rng.random(rows) < 1 / (1 + np.exp(-2 * u))).astype(int)
    frame["count"] = rng.poisson(np.exp(u))
    return frame


def released(response, seed, noise=None, rows=N):
    schema = vdp.Schema({name: vdp.Bounded(-1, 1) for name in NAMES} | {response: vdp.Public()})
    mech = vdp.calibrate(schema, epsilon=8) if noise == "window" else vdp.Mechanism(schema, scale=0.25, exact_rate=0.2)
    people = made(seed, rows)
    return people, mech.release(people[[*NAMES, response]], key=bytes([seed, *range(31)]))


def theta(model):
    return np.append(np.ravel(model.intercept_), np.ravel(model.coef_))


MODELS = [
    (vdp.LinearRegression(0.1), "number"),
    (vdp.LinearRegression(0.1, l1_ratio=1.0), "number"),
    (vdp.LinearRegression(0.1, l1_ratio=0.5), "number"),
    (vdp.LogisticRegression(0.1), "label"),
    (vdp.PoissonRegressor(0.2), "count"),
]


def compare(model, response, noise, seeds, rows):
    """Return differences from the penalised fit of the true records, and the naive one's."""
    ours, naive = [], []
    for seed in seeds:
        people, release = released(response, seed, noise, rows)
        truth = theta(type(model)(**model.get_params()).fit(people[NAMES], people[response]))
        ours.append(theta(type(model)(**model.get_params()).fit(release, response)) - truth)
        noisy = release.frame
        naive.append(theta(type(model)(**model.get_params()).fit(noisy[NAMES], noisy[response])) - truth)
    return np.array(ours), np.array(naive)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("model", "response"), [MODELS[0], MODELS[1], MODELS[3]], ids=["ridge", "lasso", "logistic"])
def test_near_the_penalised_fit_of_the_true_records(model, response):
    ours, naive = compare(model, response, None, range(2), N)
    assert np.abs(ours.mean(axis=0)[1:]).max() < np.abs(naive.mean(axis=0)[1:]).max() / 3


@pytest.mark.slow
@pytest.mark.parametrize("noise", [None, "window"])
@pytest.mark.parametrize(("model", "response"), MODELS, ids=["ridge", "lasso", "net", "logistic", "poisson"])
def test_consistent(model, response, noise):
    """The error halves with four times the records, give or take, and its mean is within the noise of 0."""
    small, _ = compare(model, response, noise, range(30), 4000)
    large, naive = compare(model, response, noise, range(30, 60), 16_000)
    rms = [np.sqrt((each[:, 1:3] ** 2).mean()) for each in (small, large)]
    assert 1.3 < rms[0] / rms[1] < 3.1  # each is known to an eighth: 2 to 4 standard errors
    for each, holds in ((large, True), (naive, False)):
        off = each[:, 1:3].mean(axis=0) / (each[:, 1:3].std(axis=0) / 30**0.5)
        assert (np.abs(off).max() < 5) == holds


def test_without_noise_in_the_quadratic_it_is_scikit_learn():
    people = made(0)
    x, y = people[NAMES].to_numpy(), people["number"].to_numpy()
    design = np.column_stack([np.ones(N), x])
    H, g, shrunk = design.T @ design / N, -design.T @ y / N, np.array([0.0, 1, 1, 1, 1])
    for l1 in (0.3, 1.0):
        net = linear_model.ElasticNet(0.05, l1_ratio=l1, tol=1e-12, max_iter=100_000).fit(x, y)
        assert np.allclose(quadratic(H, g, shrunk, Penalty(0.05, l1)), theta(net), atol=1e-6)
    ridge = linear_model.Ridge(0.05 * N).fit(x, y)
    assert np.allclose(quadratic(H, g, shrunk, Penalty(0.05)), theta(ridge), atol=1e-6)


@pytest.mark.slow
def test_a_small_penalty_leaves_the_fit_as_it_is():
    _, release = released("number", 1)
    fitted = vdp.fit(release, "number ~ " + " + ".join(NAMES)).params.values
    for l1 in (0.0, 1.0):
        assert np.allclose(theta(vdp.LinearRegression(1e-9, l1_ratio=l1).fit(release, "number")), fitted, atol=1e-6)
    _, release = released("label", 1)
    fitted = vdp.fit(release, "label ~ " + " + ".join(NAMES), loss="logistic").params.values
    assert np.allclose(theta(vdp.LogisticRegression(1e-9).fit(release, "label")), fitted, atol=0.05)


def test_a_private_response_and_its_units():
    schema = vdp.Schema({"x0": vdp.Bounded(-1, 1), "number": vdp.Bounded(-5, 5)})
    mech = vdp.Mechanism(schema, scale=0.02, exact_rate=0.8)  # next to nothing
    people = made(3)[["x0", "number"]]
    truth = vdp.LinearRegression(0.2).fit(people[["x0"]], people["number"])
    found = vdp.LinearRegression(0.2).fit(mech.release(people, key=bytes(range(32))), "number")
    assert np.allclose(theta(found), theta(truth), atol=0.02)
    assert found.result_ is None


def test_indefinite_gram_matrix_is_made_semidefinite():
    H = np.array([[1.0, 1.2], [1.2, 1.0]])  # eigenvalues 2.2 and -0.2
    found = quadratic(H, np.array([-1.0, -1.0]), np.ones(2), Penalty(0.1, 1.0))
    assert np.isfinite(found).all()
    assert found.sum() == pytest.approx(0.9 / 1.1, abs=1e-6)  # by the eigenvector that is left
    with pytest.raises(EstimationError, match="variance of a column is not positive"):
        quadratic(np.diag([1.0, -0.1]), np.ones(2), np.ones(2), Penalty(0.1))


def test_unsupported_penalty_is_refused():
    _, number = released("number", 1, rows=500)
    for model in (vdp.QuantileRegressor(alpha=0.1), vdp.HuberRegressor(alpha=0.1), vdp.MEstimator("check", alpha=0.1)):
        with pytest.raises(ParameterError, match="takes no penalty"):
            model.fit(number, "number")
    with pytest.raises(ParameterError, match="takes no penalty"):
        vdp.LinearSVC(0.1).fit(released("label", 1, rows=500)[1], "label")
    with pytest.raises(ParameterError, match="alpha"):
        vdp.LinearRegression(-1).fit(number, "number")
    with pytest.raises(ParameterError, match="'likelihood' takes no penalty"):
        vdp.LinearRegression(1, method="likelihood").fit(number, "number")
