"""The direct estimators against independent ones: the library's `fit`, linear programming, quadrature, differences."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog
from scipy.stats import laplace

from versadp.noise import SymmetricLaplace
from versadp_experiments import logistic, means, median, ours
from versadp_experiments.cells import cells
from versadp_experiments.sampling import Sample, draw


def stacked(cell, sample, draws, rng):
    """Return the sample with many second randomisations a record."""
    x1, y = np.tile(sample.x1, (draws, 1)), np.tile(sample.y, draws)
    many = replace(cell, n=len(x1))
    s = SymmetricLaplace(np.eye(x1.shape[1]) * cell.exact_rate * cell.noise**2).rvs(len(x1), rng)
    return many, Sample(np.tile(sample.x, (draws, 1)), x1, x1 + s, y)


@pytest.fixture(scope="module")
def logit():
    cell = replace(cells("table2", (4000,))[0], box=None)
    sample = draw(cell, np.random.default_rng(11))
    return cell, sample, ours.released(cell, sample)


def test_naive_logistic_is_that_of_fit(logit):
    cell, sample, release = logit
    assert logistic.estimates(cell, sample)["Naive"] == pytest.approx(ours.fitted(cell, release, "naive")[0], abs=2e-3)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("method", "name"), [("sl", "SL"), ("sdrcl", "sDR"), ("drcl", "DR")])
def test_corrected_logistic_is_that_of_fit(logit, method, name):
    # both average over 60 second randomisations of their own: each is within about se / sqrt(60) of the analytic fit
    cell, sample, release = logit
    theirs, errors = ours.fitted(cell, release, method, draws=60)
    many, wide = stacked(cell, sample, 60, np.random.default_rng(12))
    direct = logistic.boxed(logistic.losses(many, wide)[name], np.zeros(6), None)
    assert np.abs(direct - theirs).max() < 5 * np.sqrt(2 / 60) * max(*errors, 0.5)
    assert np.abs(direct - 1).max() < 6 * max(errors)
    naive = logistic.estimates(cell, sample)["Naive"]  # negative control: without a correction they are far apart
    assert np.abs(np.array(naive) - theirs).max() > 0.4


@pytest.mark.parametrize(("method", "name"), [("naive", "Naive"), ("drcl", "DR")])
def test_means_are_those_of_fit(method, name):
    cell = cells("table1", (4000,))[0]
    sample = draw(cell, np.random.default_rng(3))
    theirs, errors = ours.fitted(cell, ours.released(cell, sample), method, draws=100)
    many, wide = stacked(cell, sample, 100, np.random.default_rng(4))
    direct = np.array(means.estimates(many, wide)[name])
    exact = 1e-9 if name == "Naive" else 5 * np.sqrt(2 / 100) * np.array(errors)
    assert (np.abs(direct - theirs) <= exact).all()


@pytest.mark.parametrize("name", list(means.FUNCTIONS))
def test_smoothed_functions_are_integrals(name):
    f, b = means.FUNCTIONS[name], 0.21
    for x in (-0.8, 0.13, 0.5, 0.97, 1.4):
        nodes = sorted({x, *np.arange(-14, 18) / 2})
        parts = [
            quad(lambda v, x=x: float(f.value(np.array(v))) * laplace.pdf(v - x, scale=b), a, c)[0]
            for a, c in pairwise(nodes)
        ]
        assert float(f.smoothed(np.array([x]), b)[0]) == pytest.approx(sum(parts), abs=2e-4)


def test_least_absolute_deviations_against_linear_programming():
    rng = np.random.default_rng(5)
    m = np.column_stack([np.ones(400), rng.normal(size=(400, 2))])
    y = m @ [1.0, 2.0, -1.0] + rng.normal(size=400)
    n, p = m.shape
    a = np.hstack([m, -m, np.eye(n), -np.eye(n)])
    solved = linprog(np.r_[np.zeros(2 * p), np.ones(2 * n)], A_eq=a, b_eq=y, method="highs")
    exact = solved.x[:p] - solved.x[p : 2 * p]
    ours_ = median.least_absolute(m, y)
    least = np.linalg.lstsq(m, y, rcond=None)[0]
    assert np.abs(ours_ - exact).max() < 0.03  # half a standard error: the smoothing's own
    assert np.abs(m @ ours_ - y).sum() < np.abs(m @ exact - y).sum() * (1 + 1e-3)
    assert np.abs(m @ least - y).sum() > np.abs(m @ ours_ - y).sum()  # least squares is not it


def losses_of(kind):
    cell = cells("table3" if kind == "sCL" else "table2", (500,))[0]
    sample = draw(cell, np.random.default_rng(6))
    if kind == "sCL":
        return median.smoothed_corrected(np.column_stack([np.ones(500), sample.x2]), sample.y, 3.0, 4.0), 7
    return logistic.losses(cell, sample)[kind], 6


@pytest.mark.parametrize("kind", ["sCL", "SL", "sDR", "DR"])
def test_gradients_are_differences(kind):
    loss, size = losses_of(kind)
    theta, step = np.linspace(0.2, 1.3, size), 1e-6
    rough = [(loss(theta + step * e)[0] - loss(theta - step * e)[0]) / (2 * step) for e in np.eye(size)]
    assert loss(theta)[1] == pytest.approx(rough, abs=1e-6)


def test_smoothed_corrected_loss_is_unbiased_for_the_smoothed_loss():
    cell = cells("table3", (400_000,))[0]
    sample = draw(cell, np.random.default_rng(7))
    one, theta, h = np.ones((cell.n, 1)), np.full(7, 0.6), 3.0
    raw = median.smoothed_corrected(np.hstack([one, sample.x]), sample.y, h, 0.0)(theta)[0]
    corrected = median.smoothed_corrected(np.hstack([one, sample.x2]), sample.y, h, cell.noise**2)(theta)[0]
    naive = median.smoothed_corrected(np.hstack([one, sample.x2]), sample.y, h, 0.0)(theta)[0]
    # sd of a term is below 8 here: five Monte Carlo errors
    assert abs(corrected - raw) < 5 * 8 / np.sqrt(cell.n)
    assert abs(naive - raw) > 10 * 8 / np.sqrt(cell.n)
