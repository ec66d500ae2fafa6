"""Without noise and penalty they are scikit-learn's or statsmodels' estimators, to 1e-6."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from sklearn import linear_model, svm

import versadp as vdp
from versadp.errors import ParameterError
from versadp.learners import noiseless
from versadp.losses.huber import Huber

N = 300
RNG = np.random.default_rng(11)
X = RNG.normal(size=(N, 3)) * [1.0, 5.0, 0.2] + [0.0, 10.0, 3.0]
U = X @ [0.5, -0.2, 1.0] - 1.0
NUMBER = U + RNG.standard_t(3, N)
LABEL = (RNG.random(N) < 1 / (1 + np.exp(-U))).astype(int)
COUNT = RNG.poisson(np.exp(U / 3))
EXOG = sm.add_constant(X)
CLOSE = {"rtol": 0, "atol": 1e-6}


def pair(model):
    return np.append(np.ravel(model.intercept_), np.ravel(model.coef_))


def test_least_squares():
    assert np.allclose(pair(vdp.LinearRegression().fit(X, NUMBER)), sm.OLS(NUMBER, EXOG).fit().params, **CLOSE)


def test_logistic():
    expected = sm.Logit(LABEL, EXOG).fit(disp=0, tol=1e-12).params
    assert np.allclose(pair(vdp.LogisticRegression().fit(X, LABEL)), expected, **CLOSE)


def test_poisson():
    expected = sm.GLM(COUNT, EXOG, sm.families.Poisson()).fit(tol=1e-12).params
    assert np.allclose(pair(vdp.PoissonRegressor().fit(X, COUNT)), expected, **CLOSE)


@pytest.mark.parametrize("tau", [0.2, 0.5, 0.9])
def test_quantiles(tau):
    found = vdp.QuantileRegressor(tau).fit(X, NUMBER)
    expected = linear_model.QuantileRegressor(quantile=tau, alpha=0.0).fit(X, NUMBER)
    assert np.allclose(pair(found), pair(expected), **CLOSE)
    near = sm.QuantReg(NUMBER, EXOG).fit(tau, max_iter=5000, p_tol=1e-9).params  # iterates, and stops near by
    loss = vdp.losses.Check(tau)
    value, other = (loss.value(EXOG @ theta, NUMBER).mean() for theta in (pair(found), near))
    assert value <= other + 1e-9


class Twice(sm.robust.scale.HuberScale):
    """Huber's second proposal without a correction for degrees of freedom."""

    def __call__(self, df_resid, nobs, resid):
        return super().__call__(nobs, nobs, resid)


@pytest.mark.parametrize("k", [0.7, 1.345, 2.0])
def test_huber(k):
    found = pair(vdp.HuberRegressor(k).fit(X, NUMBER))
    scale = Twice(d=k, tol=1e-13, maxiter=500)
    norm = sm.robust.norms.HuberT(t=k)
    expected = sm.RLM(NUMBER, EXOG, M=norm).fit(scale_est=scale, maxiter=2000, tol=1e-12).params
    assert np.allclose(found, expected, **CLOSE)
    # and by scikit-learn's own words for it
    own = linear_model.HuberRegressor(epsilon=k / Huber(k).normal ** 0.5, alpha=0.0, tol=1e-9, max_iter=5000)
    assert np.allclose(found, pair(own.fit(X, NUMBER)), rtol=0, atol=1e-4)


def hinge(theta, alpha=0.0):
    value = np.maximum(0, 1 - (2 * LABEL - 1) * (EXOG @ theta)).mean()
    return value + alpha * theta[1:] @ theta[1:] / 2


def test_hinge_by_its_objective():
    found = hinge(pair(vdp.LinearSVC().fit(X, LABEL)))
    near = min(hinge(pair(svm.SVC(kernel="linear", C=c / N, tol=1e-8).fit(X, LABEL))) for c in (1e3, 1e4))
    assert found <= near + 1e-9
    assert found > near - 1e-4
    moved = [hinge(pair(vdp.LinearSVC().fit(X, LABEL)) + RNG.normal(0, 0.01, 4)) for _ in range(50)]
    assert min(moved) > found


@pytest.mark.parametrize("alpha", [0.01, 0.3])
def test_penalties(alpha):
    ridge = linear_model.Ridge(alpha * N).fit(X, NUMBER)
    assert np.allclose(pair(vdp.LinearRegression(alpha).fit(X, NUMBER)), pair(ridge), **CLOSE)
    for l1 in (0.5, 1.0):
        net = linear_model.ElasticNet(alpha, l1_ratio=l1, tol=1e-12, max_iter=100_000).fit(X, NUMBER)
        assert np.allclose(pair(vdp.LinearRegression(alpha, l1_ratio=l1).fit(X, NUMBER)), pair(net), **CLOSE)
    options = {"tol": 1e-10, "max_iter": 10_000, "solver": "newton-cholesky"}
    logit = linear_model.LogisticRegression(C=1 / (N * alpha), **options).fit(X, LABEL)
    assert np.allclose(pair(vdp.LogisticRegression(alpha).fit(X, LABEL)), pair(logit), **CLOSE)
    poisson = linear_model.PoissonRegressor(alpha=alpha, **options).fit(X, COUNT)
    assert np.allclose(pair(vdp.PoissonRegressor(alpha).fit(X, COUNT)), pair(poisson), **CLOSE)
    lasso = linear_model.QuantileRegressor(alpha=alpha).fit(X, NUMBER)
    assert np.allclose(pair(vdp.QuantileRegressor(alpha=alpha).fit(X, NUMBER)), pair(lasso), **CLOSE)
    machine = pair(vdp.LinearSVC(alpha).fit(X, LABEL))
    better = minimize(hinge, machine, (alpha,), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    assert hinge(machine, alpha) <= better.fun + 1e-6


def test_a_huber_ridge_solves_its_equations():
    alpha, k = 0.05, 1.345
    found = pair(vdp.HuberRegressor(k, alpha).fit(X, NUMBER))

    def objective(at):
        s = np.exp(at[-1])
        z = (NUMBER - EXOG @ at[:-1]) / s
        rho = np.where(abs(z) <= k, z * z / 2, k * abs(z) - k * k / 2)
        return np.mean(s * rho) + s * Huber(k).normal / 2 + alpha * at[1:-1] @ at[1:-1] / 2

    best = minimize(objective, np.append(found, 0.0), method="BFGS", options={"gtol": 1e-9})
    assert np.allclose(found, best.x[:-1], rtol=0, atol=1e-5)


def test_any_loss():
    class LogCosh(vdp.losses.IndexLoss):
        argument, order = "residual", 4

        def value(self, u, y):
            return np.logaddexp(u - y, y - u) - np.log(2)

        def derivatives(self, u, y, order=4, bandwidth=0.0):
            s = np.tanh(u - y)
            v = 1 - s * s
            return (s, v, -2 * s * v, v * (6 * s * s - 2))[:order]

    found = pair(vdp.MEstimator(LogCosh()).fit(X, NUMBER))
    assert np.abs(EXOG.T @ np.tanh(EXOG @ found - NUMBER)).max() / N < 1e-7
    for name, kind, y in (
        ("squared", vdp.LinearRegression, NUMBER),
        ("poisson", vdp.PoissonRegressor, COUNT),
        ("huber", vdp.HuberRegressor, NUMBER),
        ("check", vdp.QuantileRegressor, NUMBER),
        ("logistic", vdp.LogisticRegression, LABEL),
        ("hinge", vdp.LinearSVC, LABEL),
    ):
        assert np.allclose(pair(vdp.MEstimator(name).fit(X, y)), pair(kind().fit(X, y)), **CLOSE)
    # the smooth solver itself, against those that others wrote
    records = noiseless.Records(X, COUNT.astype(float), None, intercept=True)
    coef, intercept = noiseless.smooth(records, 0.0, vdp.losses.Poisson())
    assert np.allclose(np.append(intercept, coef), pair(vdp.PoissonRegressor().fit(X, COUNT)), **CLOSE)


def test_user_defined_function_without_noise():
    def median(x, theta):
        return abs(x[:, -1] - theta[0])

    found = vdp.MEstimator(median, start=[0.0]).fit(X, NUMBER).params_
    assert abs(median(np.column_stack([X, NUMBER]), found).mean() - abs(NUMBER - np.median(NUMBER)).mean()) < 1e-6
    with pytest.raises(ParameterError, match="needs a start"):
        vdp.MEstimator(median).fit(X, NUMBER)


def test_weights_are_repeats_and_without_an_intercept():
    twice = np.arange(N) % 3
    rows = np.repeat(np.arange(N), twice)
    for kind, y in ((vdp.HuberRegressor, NUMBER), (vdp.LogisticRegression, LABEL), (vdp.PoissonRegressor, COUNT)):
        weighted, repeated = kind().fit(X, y, sample_weight=twice), kind().fit(X[rows], y[rows])
        assert np.allclose(pair(weighted), pair(repeated), **CLOSE)
        assert kind(fit_intercept=False).fit(X, y).intercept_ == 0
