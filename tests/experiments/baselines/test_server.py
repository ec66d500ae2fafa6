"""Methods of a trusted server against known answers, each beside something that must fail."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from versadp.errors import ParameterError
from versadp_experiments.baselines import (
    Budget,
    CaiRegression,
    NoisyGradient,
    NoisyMean,
    NoisyMedian,
    NoisyMoments,
    ObjectivePerturbation,
    PerturbedHistogram,
    RobustRegression,
    Sample,
    SyntheticRecords,
)
from versadp_experiments.baselines.gradient import wandering
from versadp_experiments.baselines.scores import Check, Huber, Logistic, minimum

NONE = Budget(math.inf)


def linear(n=2000, d=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, d))
    return Sample(x, np.clip(0.2 + x @ np.full(d, 0.3) + rng.normal(0, 0.1, n), -1, 1))


def binary(n=2000, d=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, d))
    return Sample(x, (rng.random(n) < 1 / (1 + np.exp(-(0.3 + x.sum(axis=1))))).astype(float))


# -- sensitivity method


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(1.0, 1e-3)])
def test_noise_on_a_mean_has_its_closed_form(budget):
    sample, method, rng = linear(50), NoisyMean(), np.random.default_rng(3)
    drawn = np.array([method.fit(sample, budget, rng).values for _ in range(4000)]) - sample.x.mean(axis=0)
    spread = method.spread(50, 2, budget)
    # a variance from 8000 draws of kurtosis at most 6 has a relative error of sqrt(5/8000): six of them
    assert drawn.var() == pytest.approx(spread**2, rel=6 * math.sqrt(5 / 8000))
    assert drawn.var() != pytest.approx((1.3 * spread) ** 2, rel=6 * math.sqrt(5 / 8000))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_moments_move_by_no_more_than_their_sensitivity(d):
    """Every pair of records on the grid {-1, -1/2, 0, 1/2, 1}: the bound holds, and corners attain it for an even p."""
    v = np.array([(1.0, *rest) for rest in product([-1.0, -0.5, 0.0, 0.5, 1.0], repeat=d + 1)])
    upper = np.triu_indices(d + 2)
    entries = np.einsum("ki,kj->kij", v, v)[:, upper[0], upper[1]]
    moved, bound = max(np.linalg.norm(entries - one, axis=1).max() for one in entries), NoisyMoments().sensitivity(1, d)
    assert (0.99 if d % 2 == 0 else 0.94) * bound < moved <= bound


def test_moments_without_noise_are_least_squares_and_errors_hold():
    sample, method = linear(), NoisyMoments()
    found = method.fit(sample, NONE, np.random.default_rng(0))
    exact, rss = np.linalg.lstsq(sample.design, sample.y, rcond=None)[:2]
    assert found.values == pytest.approx(exact, abs=1e-10)
    classical = np.sqrt(np.diag(np.linalg.inv(sample.design.T @ sample.design)) * float(rss[0]) / 2000)
    assert found.errors == pytest.approx(classical, rel=1e-6)
    rng, budget = np.random.default_rng(5), Budget(1.0, 1e-6)
    drawn = [method.fit(sample, budget, rng) for _ in range(600)]
    spread = np.std([f.values for f in drawn], axis=0)
    noise = np.sqrt(np.median([f.errors for f in drawn], axis=0) ** 2 - classical**2)
    assert noise == pytest.approx(spread, rel=6 / math.sqrt(1200))
    assert noise != pytest.approx(1.3 * spread, rel=6 / math.sqrt(1200))


# -- Avella-Medina 2021


def test_robust_estimate_is_that_of_statsmodels_where_leverage_is_not_cut():
    from statsmodels.robust.norms import HuberT
    from statsmodels.robust.robust_linear_model import RLM

    sample = linear(400)
    method = RobustRegression(cut=0.05, radius=10.0)
    theirs = RLM(sample.y, sample.design, M=HuberT(0.05)).fit(update_scale=False, tol=1e-12)
    scale = float(np.asarray(theirs.scale))
    ours = RobustRegression(cut=0.05 * scale, radius=10.0).solve(sample)[0]
    assert ours == pytest.approx(np.asarray(theirs.params), abs=1e-5)
    assert method.fit(sample, NONE, np.random.default_rng(0)).values == pytest.approx(
        method.solve(sample)[0], abs=1e-12
    )


def test_no_record_pulls_harder_than_gamma():
    sample, method = linear(2000), RobustRegression()
    theta, bend = method.solve(sample)
    gamma, rng, pulls = method.influence(bend), np.random.default_rng(1), []
    for _ in range(60):
        x, y = sample.x.copy(), sample.y.copy()
        x[0], y[0] = np.sign(rng.normal(size=2)), np.sign(rng.normal())
        moved = method.solve(Sample(np.vstack([x, x[:1]])[1:], np.append(y, y[0])[1:]))[0]
        pulls.append(np.linalg.norm(moved - theta) * 2000)
    assert 0.3 * gamma < max(pulls) < 1.1 * gamma
    loose = RobustRegression(cut=0.05)
    assert max(pulls) > loose.influence(
        loose.solve(sample)[1]
    )  # negative control: another estimator's gamma is exceeded


def test_robust_noise_is_the_theorem_s():
    method = RobustRegression()
    assert method.factor(1000, Budget(2.0, 1e-5)) == pytest.approx(
        5 * math.sqrt(2 * math.log(1000) * math.log(2e5)) / 2000, rel=1e-12
    )
    with pytest.raises(ParameterError, match="delta"):
        method.factor(1000, Budget(2.0))


# -- objective perturbation


def densities(method, sample, budget, at, epsilon_of_b):
    """Return the log density of the output at each of some thetas, for a model with a constant only (p = 1)."""
    n, y = len(sample.y), sample.y
    _, ridge = method.noise(n, budget)
    p = 1 / (1 + np.exp(-at))
    b = -(n * (p - y.mean()) + n * ridge * at)
    jacobian = n * (p * (1 - p) + ridge)
    return -epsilon_of_b * np.abs(b) / 2 + np.log(jacobian)


@pytest.mark.parametrize("ridge", [0.2, 0.01, None])
def test_objective_perturbation_is_private_by_change_of_variables(ridge):
    """With a constant only, z = 1 for all, and neighbours differ in one y: the ratio has a closed form."""
    budget, n = Budget(1.0), 20
    method = ObjectivePerturbation(ridge=ridge)
    first, second = (Sample(np.zeros((n, 0)), np.r_[np.ones(10), np.zeros(9), last]) for last in (0.0, 1.0))
    at = np.linspace(-6, 6, 4001)
    epsilon = method.noise(n, budget)[0]
    ratio = np.abs(densities(method, first, budget, at, epsilon) - densities(method, second, budget, at, epsilon)).max()
    assert 0.2 < ratio <= budget.epsilon
    # negative control: the same b with its norm halved is not
    ratio = np.abs(densities(method, first, budget, at, 4.5) - densities(method, second, budget, at, 4.5)).max()
    assert ratio > budget.epsilon


@pytest.mark.parametrize("score", [Logistic(), Huber(1.0)])
def test_the_least_ridge_leaves_half_of_epsilon_and_any_less_would_not_do(score):
    method, n, budget = ObjectivePerturbation(score), 500, Budget(1.0)
    first, ridge = method.noise(n, budget)
    share = score.curvature / score.bound / (n * ridge)
    assert first + math.log(1 + 2 * share + share**2) == pytest.approx(1.0, abs=1e-12)
    given = ObjectivePerturbation(score, ridge=ridge / 2)
    assert given.noise(n, budget) == (first, ridge)
    assert ObjectivePerturbation(score, ridge=2 * ridge).noise(n, budget)[0] > first


@pytest.mark.full
def test_objective_perturbation_is_as_precise_as_its_noise_and_not_held_back_by_its_ridge():
    """In the limit of small steps the estimate moves by H⁻¹b/n, and b is of length Gamma(p, 2/epsilon')."""
    sample, method, rng = binary(20_000), ObjectivePerturbation(), np.random.default_rng(1)
    exact = minimum(Logistic(), sample.design, sample.y)
    p = 1 / (1 + np.exp(-sample.design @ exact))
    z = sample.design / math.sqrt(3)
    hessian = z.T @ (z * (p * (1 - p))[:, None]) / 20_000
    moved = np.array([method.fit(sample, Budget(1.0), rng).values - exact for _ in range(150)])
    square = 3 * 4 * (2 / 0.5) ** 2 / 3  # of a coordinate of b: E|b|² = p(p + 1)(2/epsilon')², over p
    noise = np.trace(np.linalg.inv(hessian @ hessian)) * square / 20_000**2 / 3
    # |b|² has a relative standard deviation of 1.2, and its direction more: of 150 draws, five errors are 0.6
    assert np.sum(moved**2) / 150 == pytest.approx(noise, rel=0.6)
    held = ObjectivePerturbation(ridge=1e-3).fit(sample, NONE, rng).values - exact
    assert np.sum(held**2) > 3 * noise  # negative control: a ridge of 1e-3 costs more than all the noise


def test_objective_without_noise_is_the_penalised_fit_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    sample, ridge = binary(), 1e-3
    found = ObjectivePerturbation(ridge=ridge).fit(sample, NONE, np.random.default_rng(0)).values
    z = sample.design / math.sqrt(3)
    theirs = LogisticRegression(C=1 / (ridge * 2000), fit_intercept=False, tol=1e-12, max_iter=1000).fit(z, sample.y)
    assert found * math.sqrt(3) == pytest.approx(theirs.coef_[0], abs=1e-5)
    other = ObjectivePerturbation(ridge=0.1).fit(sample, NONE, np.random.default_rng(0)).values
    assert other * math.sqrt(3) != pytest.approx(theirs.coef_[0], abs=1e-2)


# -- noisy gradients


def test_gradient_descent_without_noise_is_the_maximum_likelihood_of_statsmodels():
    from statsmodels.discrete.discrete_model import Logit

    sample = binary()
    theirs = Logit(sample.y, sample.design).fit(disp=0)
    found = NoisyGradient(passes=600).fit(sample, NONE, np.random.default_rng(0))
    assert found.values == pytest.approx(np.asarray(theirs.params), abs=1e-6)
    robust = Logit(sample.y, sample.design).fit(disp=0, cov_type="HC0").bse
    assert found.errors == pytest.approx(np.asarray(robust), rel=1e-4)
    few = NoisyGradient(passes=3).fit(sample, NONE, np.random.default_rng(0))
    assert few.values != pytest.approx(np.asarray(theirs.params), abs=1e-3)


def test_intervals_of_noisy_gradients_cover_and_naive_ones_do_not():
    rng, inside, naive = np.random.default_rng(8), 0, 0
    method, budget, reps = NoisyGradient(passes=60, rate=2.0), Budget(1.0, 1e-5), 200
    for _ in range(reps):
        x = rng.uniform(-1, 1, (6000, 1))
        y = (rng.random(6000) < 1 / (1 + np.exp(-(0.3 + x[:, 0])))).astype(float)
        found = method.fit(Sample(x, y), budget, rng)
        inside += abs(found.values[1] - 1) < 1.96 * found.errors[1]
        naive += abs(found.values[1] - 1) < 1.96 * 0.0485  # the error without privacy
    # binomial(200, 0.95) is below 175 less than once in 1e5
    assert inside >= 175
    assert naive < 150


def test_minibatches_need_more_noise_a_step_by_just_their_number():
    one, ten = NoisyGradient(), NoisyGradient(batches=10)
    budget = Budget(1.0, 1e-6)
    assert ten.sigma(1000, 2, budget) == pytest.approx(10 * one.sigma(1000, 2, budget), rel=1e-12)


def test_minibatches_without_noise_end_at_the_maximum_likelihood():
    """Ten batches of the same records: each step is one of descent on all of them, so the limit is exact."""
    from statsmodels.discrete.discrete_model import Logit

    one = binary(200)
    sample = Sample(np.tile(one.x, (10, 1)), np.tile(one.y, 10))
    theirs = Logit(sample.y, sample.design).fit(disp=0)
    found = NoisyGradient(passes=60, batches=10).fit(sample, NONE, np.random.default_rng(0))
    assert found.values == pytest.approx(np.asarray(theirs.params), abs=1e-6)
    few = NoisyGradient(passes=1, batches=10).fit(sample, NONE, np.random.default_rng(0))
    assert few.values != pytest.approx(np.asarray(theirs.params), abs=1e-3)


def test_errors_of_minibatches_are_their_spread():
    rng, method, budget = np.random.default_rng(4), NoisyGradient(passes=20, batches=10), Budget(2.0, 1e-5)
    drawn = [method.fit(binary(6000, 1, seed), budget, rng) for seed in range(150)]
    told, spread = np.median([f.errors for f in drawn], axis=0), np.std([f.values for f in drawn], axis=0)
    # a spread from 150 has a relative error of 1/sqrt(300): five of them
    assert told == pytest.approx(spread, rel=5 / math.sqrt(300))
    # negative control: the noise that is left in a last iterate (steps of 2, curvature 0.22) is more than all of it
    assert 2 * method.sigma(6000, 1, budget) * math.sqrt(wandering(np.array([[0.22]]), 2.0, 1)[0, 0]) > 1.5 * spread[0]


def test_the_mean_of_iterates_has_the_covariance_of_its_moving_average():
    """The iterates written out as sums of what was added, far back: an oracle that knows no formula."""
    h, eta, k, far = np.array([[1.1, 0.3], [0.3, 0.5]]), 0.7, 3, 400
    step, total = np.eye(2) - eta * h, np.zeros((2, 2))
    powers = [np.linalg.matrix_power(step, j) for j in range(far)]
    for age in range(far):  # what was added `age` steps before the last iterate is in those of the k that came after
        weight = sum(powers[age - back] for back in range(min(k, age + 1))) / k
        total += weight @ weight.T
    assert wandering(h, eta, k) == pytest.approx(total, abs=1e-12)
    assert wandering(h, eta, 1) != pytest.approx(total, abs=1e-2)


def test_all_steps_together_have_the_epsilon_of_dp_accounting():
    """The same noise, told to another library: its epsilon is ours, and that of one pass more is not."""
    accounting = pytest.importorskip("dp_accounting")
    from dp_accounting.pld import PLDAccountant

    method, budget = NoisyGradient(passes=20, share=0.0), Budget(1.0, 1e-6)
    bound = method.score.bound * math.sqrt(4)
    multiplier = method.sigma(5000, 3, budget) / (2 * bound / 5000)  # replacing a record moves a mean gradient so far
    ours = method.guarantee(5000, 3, budget).epsilon(1e-6)
    for passes, same in ((20, True), (21, False)):
        event = accounting.SelfComposedDpEvent(accounting.GaussianDpEvent(multiplier), passes)
        theirs = PLDAccountant().compose(event).get_epsilon(1e-6)
        assert (abs(theirs - ours) < 2e-3) is same


def test_descent_on_the_check_loss_ends_at_the_median_and_its_errors_are_its_spread():
    rng, n = np.random.default_rng(2), 4000

    def drawn():
        return Sample(np.clip(rng.normal(0.2, 0.3, (n, 1)), -1, 1), np.zeros(n))

    sample = drawn()
    found = NoisyMedian().fit(sample, NONE, rng).values
    assert found == pytest.approx([np.median(sample.x)], abs=2 / n)  # gradients have steps of 1/n
    assert found != pytest.approx([sample.x.mean()], abs=2 / n)
    made = [NoisyMedian().fit(drawn(), Budget(1.0, 1e-5), rng) for _ in range(150)]
    spread = np.std([f.values for f in made])
    # a spread from 150 has a relative error of 1/sqrt(300): five of them
    assert np.median([f.errors for f in made]) == pytest.approx(spread, rel=5 / math.sqrt(300))
    assert math.sqrt(math.pi / 2) * 0.3 / math.sqrt(n) < 0.9 * spread  # a median without privacy is more precise


def test_descent_on_the_check_loss_is_quantile_regression_without_noise():
    from statsmodels.regression.quantile_regression import QuantReg

    sample = linear(4000, 1)
    for tau in (0.5, 0.8):
        found = NoisyGradient(Check(tau), passes=400, rate=0.5).fit(sample, NONE, np.random.default_rng(0)).values
        assert found == pytest.approx(QuantReg(sample.y, sample.design).fit(q=tau).params, abs=2e-3)
        assert found != pytest.approx(QuantReg(sample.y, sample.design).fit(q=tau + 0.1).params, abs=2e-3)


@pytest.mark.parametrize("exact", [True, False])
def test_cai_without_noise_is_least_squares_inside_the_ball(exact):
    sample = linear()
    theta = np.linalg.lstsq(sample.design, sample.y, rcond=None)[0]
    found = CaiRegression(steps=400, exact=exact).fit(sample, NONE, np.random.default_rng(0)).values
    assert found == pytest.approx(theta, abs=1e-8)
    inside = CaiRegression(steps=400, radius=0.2).fit(sample, NONE, np.random.default_rng(0)).values
    assert np.linalg.norm(inside) == pytest.approx(0.2, rel=1e-9)


def test_the_noise_of_cai_s_paper_gives_far_more_privacy_than_it_says():
    budget = Budget(1.0, 1e-5)
    theirs = CaiRegression(exact=False).guarantee(1000, 3, budget)
    assert theirs.delta(1.0) < 1e-30
    assert theirs.epsilon(1e-5) < 0.2
    assert CaiRegression().sigma(1000, 3, budget) < CaiRegression(exact=False).sigma(1000, 3, budget) / 5


# -- perturbed histogram


def test_histogram_without_noise_is_the_fit_of_binned_records():
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    sample, method = binary(d=1), PerturbedHistogram(factor=5.0)
    k = method.cells(2000, 1)
    centres = (np.minimum(((sample.x + 1) / 2 * k).astype(int), k - 1) + 0.5) * 2 / k - 1
    theirs = GLM(sample.y, np.column_stack([np.ones(2000), centres]), family=Binomial()).fit(tol=1e-12)
    found = method.fit(sample, NONE, np.random.default_rng(0)).values
    assert found == pytest.approx(theirs.params, abs=1e-4)
    raw = GLM(sample.y, sample.design, family=Binomial()).fit().params
    assert found != pytest.approx(raw, abs=1e-6)


def test_one_record_moves_two_cells_by_one():
    sample, method = binary(d=1), PerturbedHistogram()
    before = method.counts(sample, 20)
    x = sample.x.copy()
    x[0] = -x[0]
    moved = np.abs(method.counts(Sample(x, sample.y), 20) - before).sum()
    assert moved == 2
    with pytest.raises(ParameterError, match="too many"):
        method.counts(Sample(np.zeros((3, 9)), np.zeros(3)), 20)


# -- losses


@pytest.mark.parametrize("score", [Huber(0.3), Logistic(), Check(0.3)])
def test_slopes_are_derivatives_and_stay_below_their_bound(score):
    rng = np.random.default_rng(0)
    u, y = rng.normal(size=500), rng.choice([0.0, 1.0], 500)
    numerical = (score.value(u + 1e-6, y) - score.value(u - 1e-6, y)) / 2e-6
    assert score.slope(u, y) == pytest.approx(numerical, abs=1e-5)
    assert np.abs(score.slope(u, y)).max() <= score.bound
    assert score.bend(u, y).max() <= score.peak


def test_minimum_is_that_of_statsmodels():
    from statsmodels.discrete.discrete_model import Logit

    sample = binary()
    assert minimum(Logistic(), sample.design, sample.y) == pytest.approx(
        np.asarray(Logit(sample.y, sample.design).fit(disp=0).params), abs=1e-7
    )


# -- synthetic records


@pytest.mark.slow
def test_synthetic_records_are_a_function_of_the_seed_and_leave_numpy_s_alone():
    pytest.importorskip("mbi")
    sample, method, drawn = binary(500), SyntheticRecords(cells=3, iterations=20), []
    for seed in (1, 1, 2):
        np.random.seed(seed + len(drawn))
        before = np.random.get_state()[1].copy()
        drawn.append(method.draw(sample, Budget(1.0, 1e-6), np.random.default_rng(seed)))
        assert (np.random.get_state()[1] == before).all()
    assert (drawn[0].x == drawn[1].x).all()
    assert (drawn[0].y == drawn[1].y).all()
    assert not (drawn[0].y == drawn[2].y).all()


@pytest.mark.slow
def test_synthetic_records_have_the_marginals_that_were_measured():
    pytest.importorskip("mbi")
    sample = binary(5000)
    method = SyntheticRecords(cells=5)
    drawn = method.draw(sample, Budget(1e3, 1e-3), np.random.default_rng(0))
    for j in range(2):
        true, ours = (np.histogram(s.x[:, j][s.y == 1], 5, (-1, 1))[0] for s in (sample, drawn))
        assert np.abs(true - ours).max() <= 12  # rounding in the drawing, and noise of sd below 1
    assert stats.pearsonr(drawn.x[:, 0], drawn.y)[0] == pytest.approx(
        stats.pearsonr(sample.x[:, 0], sample.y)[0], abs=0.03
    )
    far = method.draw(sample, Budget(0.01, 1e-6), np.random.default_rng(0))
    assert np.abs(np.histogram(far.x[:, 0], 5, (-1, 1))[0] - 1000).max() > 100
