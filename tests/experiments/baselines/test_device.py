"""Noise on the data, and mechanisms of devices, against quadrature, enumeration and closed forms."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad

from versadp.errors import ParameterError
from versadp_experiments.baselines import (
    Budget,
    ComplexScore,
    CubeDensity,
    CubeMean,
    KernelDensity,
    LocalGLM,
    LocalMedian,
    OneBit,
    PenalisedSystem,
    PluggedQuantile,
    ProductCorrection,
    Sample,
    SmoothedCorrection,
    TruncatedFourier,
    complex_score,
    cube,
    sequential,
)
from versadp_experiments.baselines import product as product_module
from versadp_experiments.baselines.deconvolution import deconvolving
from versadp_experiments.baselines.fourier import cosines
from versadp_experiments.baselines.linear_system import blurring
from versadp_experiments.median import smoothed_corrected

NONE = Budget(math.inf)


def binary(n, theta, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, len(theta) - 1))
    return Sample(x, (rng.random(n) < 1 / (1 + np.exp(-(theta[0] + x @ theta[1:])))).astype(float))


def laplace_points(scale, count=400):
    """Gauss-Legendre points and weights of a Laplace law, each half apart since the density has a kink."""
    v, w = np.polynomial.legendre.leggauss(count // 2)
    z = (v + 1) * 20 * scale
    weight = w * 20 * scale * np.exp(-z / scale) / (2 * scale)
    return np.concatenate([-z, z]), np.concatenate([weight, weight])


def normal_points(spread, count=60):
    z, w = np.polynomial.hermite_e.hermegauss(count)
    return z * spread, w / w.sum()


# -- independent Laplace, product correction


def test_product_correction_is_unbiased_by_quadrature_and_the_laplacian_alone_is_not():
    theta, x, scale = np.array([0.3, 0.8, -0.9]), np.array([0.4, -0.7]), 0.8
    z, w = laplace_points(scale)
    first, second = (g.ravel() for g in np.meshgrid(z, z))
    weight = np.outer(w, w).ravel()
    noisy = x + np.column_stack([first, second])
    for y in (0.0, 1.0):
        u = theta[0] + x @ theta[1:]
        value, gradient = product_module.corrected(theta, noisy, np.full(len(noisy), y), 2 * scale**2)
        assert weight @ value == pytest.approx(np.logaddexp(0, u) - y * u, abs=1e-9)
        p = 1 / (1 + math.exp(-u))
        assert weight @ gradient == pytest.approx((p - y) * np.r_[1.0, x], abs=1e-9)
        short, _ = product_module.corrected(theta, noisy, np.full(len(noisy), y), 2 * scale**2, terms=1)
        assert abs(weight @ short - (np.logaddexp(0, u) - y * u)) > 1e-3  # right for SL noise, wrong for this


def test_product_gradient_is_the_derivative_of_its_value():
    rng = np.random.default_rng(0)
    x, y, theta = rng.normal(size=(50, 3)), rng.choice([0.0, 1.0], 50), np.array([0.2, 0.5, -1.0, 0.7])
    _, gradient = product_module.corrected(theta, x, y, 0.5)
    for j, e in enumerate(np.eye(4) * 1e-6):
        up, down = (product_module.corrected(theta + s * e, x, y, 0.5)[0] for s in (1, -1))
        assert gradient[:, j] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_sigmoid_derivatives_are_those_of_mpmath():
    mpmath = pytest.importorskip("mpmath")
    for order in range(7):
        found = product_module.sigmoid_derivative(order)(1 / (1 + math.exp(-0.7)))
        assert found == pytest.approx(float(mpmath.diff(lambda u: 1 / (1 + mpmath.e**-u), 0.7, order)), abs=1e-9)


def test_product_fit_is_maximum_likelihood_without_noise_and_corrects_with_it():
    from statsmodels.discrete.discrete_model import Logit

    theta = np.array([0.3, 1.0, -1.0])
    sample = binary(20_000, theta)
    theirs = np.asarray(Logit(sample.y, sample.design).fit(disp=0).params)
    found = ProductCorrection().fit(sample, NONE, np.random.default_rng(0)).values
    assert found == pytest.approx(theirs, abs=1e-3)
    found = ProductCorrection().fit(sample, Budget(10.0), np.random.default_rng(1))
    assert np.abs(found.values - theta).max() < 5 * found.errors.max()
    rng = np.random.default_rng(1)
    x = sample.x + rng.laplace(0, 0.4, sample.x.shape)
    naive = np.asarray(Logit(sample.y, np.column_stack([np.ones(20_000), x])).fit(disp=0).params)
    assert np.abs(naive - theta).max() > 5 * found.errors.max()


# -- Gaussian noise, truncated Fourier


def test_every_wave_is_undone_exactly_and_the_cut_off_is_all_the_bias():
    method, theta, x, y, spread = TruncatedFourier(terms=6), np.array([0.2, 0.9]), 0.4, 1.0, 0.6
    z, w = normal_points(spread)
    value, gradient = method.corrected(theta, (x + z)[:, None], np.full(z.size, y), spread)
    exact_value, exact_gradient = method.corrected(theta, np.array([[x]]), np.array([y]), 0.0)
    assert w @ value == pytest.approx(exact_value[0], abs=1e-10)
    assert w @ gradient == pytest.approx(exact_gradient[0], abs=1e-10)
    u = theta[0] + theta[1] * x
    one = np.array([[x]]), np.array([y])
    at = {m: TruncatedFourier(terms=m).corrected(theta, *one, 0.0)[0][0] for m in (1, 4, 40)}
    bias = [abs(value - np.logaddexp(0, u) + u) for value in at.values()]
    assert bias[0] > 0.01 > bias[1] > bias[2]
    naive, _ = method.corrected(theta, (x + z)[:, None], np.full(z.size, y), 0.0)
    assert abs(w @ naive - exact_value[0]) > 0.01


def test_coefficients_of_waves_are_integrals():
    for m, a in enumerate(cosines(4, 5.0)):
        exact = quad(lambda u, m=m: np.logaddexp(u / 2, -u / 2) * math.cos(m * math.pi * u / 5), 0, 5)[0] / 5
        assert a == pytest.approx((2 - (m == 0)) * exact, abs=1e-6)


def test_more_waves_have_more_variance():
    rng, theta = np.random.default_rng(0), np.array([0.0, 1.0])
    x = rng.normal(0, 1.5, (4000, 1))
    few, many = (TruncatedFourier(terms=m).corrected(theta, x, np.zeros(4000), 1.5)[0].std() for m in (2, 6))
    assert many > 10 * few


# -- complex corrected score


def test_imaginary_noise_undoes_real_noise_by_quadrature():
    theta, x, y, spread = np.array([0.1, 0.8]), 0.5, 1.0, 0.7
    z, w = normal_points(spread, 40)
    noisy = (x + z)[:, None]
    total = sum(
        v * complex_score.corrected_score(np.exp, theta, noisy, np.full(40, y), np.full((1, 40, 1), shift))
        for shift, v in zip(z, w, strict=True)
    )
    exact = (math.exp(theta[0] + theta[1] * x) - y) * np.array([1.0, x])
    assert w @ total == pytest.approx(exact, abs=1e-9)
    real = complex_score.corrected_score(np.exp, theta, noisy, np.full(40, y), np.zeros((1, 40, 1)))
    assert np.abs(w @ real - exact).max() > 0.1


def test_conditional_mean_of_the_complex_score_is_nakamura_s_closed_form():
    theta, noisy, spread = np.array([0.1, 0.8]), np.array([[1.3]]), 0.7
    z, w = normal_points(spread, 40)
    total = sum(
        v * complex_score.corrected_score(np.exp, theta, noisy, np.zeros(1), np.full((1, 1, 1), shift))
        for shift, v in zip(z, w, strict=True)
    )
    rate = math.exp(theta[0] + theta[1] * 1.3 - spread**2 * theta[1] ** 2 / 2)
    assert total[0] == pytest.approx([rate, rate * (1.3 - spread**2 * theta[1])], abs=1e-10)


def test_a_logistic_score_is_not_entire():
    with pytest.raises(ParameterError, match="entire"):
        ComplexScore(mean="logistic")


def test_complex_score_without_noise_is_poisson_regression():
    from statsmodels.discrete.discrete_model import Poisson

    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (4000, 1))
    y = np.minimum(rng.poisson(np.exp(-1.5 + 0.7 * x[:, 0])), 1).astype(float)
    found = ComplexScore(draws=2).fit(Sample(x, y), NONE, rng)
    theirs = Poisson(y, np.column_stack([np.ones(4000), x])).fit(disp=0, cov_type="HC0")
    assert found.values == pytest.approx(np.asarray(theirs.params), abs=1e-6)
    assert found.errors == pytest.approx(np.asarray(theirs.bse), rel=1e-3)


# -- smoothed corrected loss


def test_smoothed_corrected_loss_is_unbiased_for_the_smoothed_loss_by_quadrature():
    theta, x, y, scale, h = np.array([0.1, 0.8]), 0.3, 0.7, 0.6, 0.5
    z, w = laplace_points(scale / math.sqrt(2))  # SL of one dimension is Laplace of variance s²
    m, at = np.column_stack([np.ones(z.size), x + z]), np.full(z.size, y)
    mean = sum(v * smoothed_corrected(m[i : i + 1], at[:1], h, scale**2)(theta)[0] for i, v in enumerate(w))
    plain = smoothed_corrected(np.array([[1.0, x]]), np.array([y]), h, 0.0)(theta)[0]
    naive = sum(v * smoothed_corrected(m[i : i + 1], at[:1], h, 0.0)(theta)[0] for i, v in enumerate(w))
    assert mean == pytest.approx(plain, abs=1e-8)
    assert abs(naive - plain) > 0.01


def test_smoothed_fit_is_median_regression_without_noise():
    from statsmodels.regression.quantile_regression import QuantReg

    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (4000, 1))
    sample = Sample(x, np.clip(0.1 + 0.5 * x[:, 0] + 0.1 * rng.laplace(size=4000), -1, 1))
    found = SmoothedCorrection().fit(sample, NONE, rng).values
    theirs = QuantReg(sample.y, sample.design).fit(q=0.5).params
    assert found == pytest.approx(theirs, abs=0.01)  # a bandwidth of a twentieth: its bias is zero by symmetry
    assert found != pytest.approx(QuantReg(sample.y, sample.design).fit(q=0.8).params, abs=0.05)


# -- densities


def test_deconvolving_kernel_undoes_the_noise_by_quadrature():
    scale, h, x, at = 0.7, 0.3, 0.2, 0.5
    z, w = laplace_points(scale)
    kernel = math.exp(-(((at - x) / h) ** 2) / 2) / (h * math.sqrt(2 * math.pi))
    assert w @ deconvolving(at - x - z, h, scale) == pytest.approx(kernel, abs=1e-9)
    assert abs(w @ deconvolving(at - x - z, h, 0.0) - kernel) > 0.1


def test_densities_find_a_density_through_the_noise():
    rng = np.random.default_rng(0)
    x = np.clip(rng.normal(0.2, 0.3, (60_000, 1)), -1, 1)
    at = np.linspace(-1, 1, 21)
    true = np.exp(-(((at - 0.2) / 0.3) ** 2) / 2) / (0.3 * math.sqrt(2 * math.pi))
    for method in (KernelDensity(), PenalisedSystem(), CubeDensity()):
        found = method.fit(Sample(x, np.zeros(len(x))), Budget(4.0), np.random.default_rng(1)).values
        assert np.sqrt(np.mean((found - true) ** 2)) < 0.12, method
    flat = np.full(21, 0.5)  # negative control: what an estimator would say that sees nothing
    assert np.sqrt(np.mean((flat - true) ** 2)) > 0.4


def test_linear_system_recovers_a_density_from_exact_shares():
    at = np.linspace(-1, 1, 21)
    true = 0.75 * (1 - at**2)
    mass = np.full(21, 0.1)
    mass[[0, -1]] /= 2
    true /= (true * mass).sum()
    edges = np.linspace(-4, 4, 61)
    share = blurring(edges, at, 0.5) @ (mass * true)
    assert share.sum() == pytest.approx(1, abs=1e-12)
    found = PenalisedSystem(penalty=1e-12).solve(share, edges, 0.5, 1)
    assert found == pytest.approx(true, abs=0.02)
    assert PenalisedSystem(penalty=1.0).solve(share, edges, 0.5, 1) != pytest.approx(true, abs=0.02)


def test_plugged_quantile_regression_corrects_what_the_naive_one_does_not():
    from statsmodels.regression.quantile_regression import QuantReg

    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (8000, 1))
    sample = Sample(x, np.clip(0.1 + 0.6 * x[:, 0] + rng.normal(0, 0.1, 8000), -1, 1))
    found = PluggedQuantile().fit(sample, NONE, rng).values
    assert found == pytest.approx(QuantReg(sample.y, sample.design).fit(q=0.5).params, abs=0.02)
    noisy = PluggedQuantile().fit(sample, Budget(6.0), np.random.default_rng(2)).values
    z = np.column_stack([np.ones(8000), x[:, 0] + np.random.default_rng(2).laplace(0, 1 / 3, 8000)])
    naive = QuantReg(sample.y, z).fit(q=0.5).params
    assert abs(noisy[1] - 0.6) < 0.1 < abs(naive[1] - 0.6)
    with pytest.raises(ParameterError, match="one noisy"):
        PluggedQuantile().fit(binary(10, np.zeros(3)), NONE, rng)


# -- local mechanisms


def chances(v, epsilon, ties="one side"):
    """Return the probability of every corner given v, by enumeration."""
    corners = np.array(list(product([-1.0, 1.0], repeat=len(v))))
    inner = corners @ v
    if ties == "one side":
        weight = np.where(inner >= 0, 1.0, math.exp(-epsilon))
        return corners, weight / weight.sum()
    share = math.exp(epsilon) / (math.exp(epsilon) + 1)
    return corners, share * (inner >= 0) / (inner >= 0).sum() + (1 - share) * (inner <= 0) / (inner <= 0).sum()


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_cube_is_unbiased_and_private_by_enumeration(d, epsilon):
    agreeing, size = cube.law(d, epsilon)
    everything = []
    for v in product([-1.0, 1.0], repeat=d):
        corners, p = chances(np.array(v), epsilon)
        assert size * (p @ corners) == pytest.approx(np.array(v), abs=1e-10)
        agree = (corners == v).sum(axis=1)
        assert [p[agree == k].sum() for k in range(d + 1)] == pytest.approx(agreeing, abs=1e-12)
        assert 0.9 * size * (p @ corners) != pytest.approx(np.array(v), abs=1e-3)
        everything.append(p)
    ratio = np.log(np.max(everything, axis=0) / np.min(everything, axis=0)).max()
    assert ratio == pytest.approx(epsilon, abs=1e-12)


def test_ties_on_both_sides_are_not_private():
    """Negative control: the mechanism as it is printed, for an even number of columns."""
    everything = [chances(np.array(v), 0.5, "both sides")[1] for v in product([-1.0, 1.0], repeat=2)]
    ratio = np.log(np.max(everything, axis=0) / np.min(everything, axis=0)).max()
    assert ratio == pytest.approx(0.974077, abs=1e-6)


@pytest.mark.parametrize("d", [2, 3])
def test_what_is_sent_has_the_enumerated_law(d):
    from scipy.stats import chisquare

    v, n = np.ones(d), 40_000
    sent = cube.send(np.tile(v, (n, 1)), 1.0, np.random.default_rng(0))
    index = ((sent > 0) @ (2 ** np.arange(d)[::-1])).astype(int)
    counts = np.bincount(index, minlength=2**d)
    assert chisquare(counts, chances(v, 1.0)[1] * n).pvalue > 1e-5
    assert chisquare(counts, chances(v, 1.2)[1] * n).pvalue < 1e-5


def test_variances_of_means_and_functionals_are_closed_forms():
    x = np.full((20_000, 3), 0.3)
    sample, rng = Sample(x, np.zeros(len(x))), np.random.default_rng(0)
    found = CubeMean().fit(sample, Budget(1.0), rng)
    size = cube.law(3, 1.0)[1]
    assert found.errors * math.sqrt(20_000) == pytest.approx(np.sqrt(size**2 - 0.3**2), rel=0.01)
    assert np.abs(found.values - 0.3).max() < 5 * found.errors.max()
    one = OneBit().fit(sample, Budget(1.0), rng)
    assert one.errors * math.sqrt(20_000) == pytest.approx(math.sqrt(OneBit().size(1.0) ** 2 - 0.09), rel=0.01)
    assert abs(one.values[0] - 0.3) < 5 * one.errors[0]
    assert one.errors[0] < found.errors[0]  # one functional is cheaper than three
    with pytest.raises(ParameterError, match="largest"):
        OneBit("density at 0")
    with pytest.raises(ParameterError, match="functional"):
        OneBit("variance")


def test_one_bit_is_private_by_enumeration():
    method, epsilon = OneBit("second moment"), 0.8
    up = (1 + np.array([0.0, 0.25, 1.0, -1.0]) / method.size(epsilon)) / 2
    assert np.log(up.max() / up.min()) <= epsilon + 1e-12
    assert np.log(up.max() / up.min()) == pytest.approx(epsilon, abs=1e-12)


def test_sequential_median_has_its_asymptotic_variance():
    rng, n, reps = np.random.default_rng(0), 4000, 60
    found = [
        LocalMedian().fit(Sample(rng.uniform(-1, 1, (n, 1)), np.zeros(n)), Budget(1.0), rng).values[0]
        for _ in range(reps)
    ]
    # nine tenths of the people are averaged; a spread from 60 has a relative error of 1/sqrt(120): five of them
    exact = sequential.asymptotic_spread(1.0, 0.5) / math.sqrt(0.9 * n)
    assert np.std(found) == pytest.approx(exact, rel=5 / math.sqrt(120))
    assert abs(np.mean(found)) < 5 * np.std(found) / math.sqrt(reps)
    other = sequential.asymptotic_spread(3.0, 0.5) / math.sqrt(0.9 * n)
    assert np.std(found) != pytest.approx(other, rel=5 / math.sqrt(120))


def test_sequential_glm_finds_the_coefficients_as_precisely_as_its_formula_says():
    theta, n, epsilon = np.array([0.3, 1.0]), 100_000, 4.0
    sample = binary(n, theta)
    p = 1 / (1 + np.exp(-sample.design @ theta))
    hessian = sample.design.T @ (sample.design * (p * (1 - p))[:, None]) / n
    size = cube.law(2, epsilon)[1]  # what is sent has second moment size² in each coordinate, nearly uncorrelated
    errors = size * np.sqrt(np.diag(np.linalg.inv(hessian @ hessian)) / (0.9 * n))
    found = LocalGLM(group=50).fit(sample, Budget(epsilon), np.random.default_rng(0)).values
    assert (np.abs(found - theta) < 5 * errors).all()
    still = LocalGLM(group=50, rate=1e-4).fit(sample, Budget(epsilon), np.random.default_rng(0)).values
    assert not (np.abs(still - theta) < 5 * errors).all()


@pytest.mark.slow
def test_sequential_glm_has_its_asymptotic_variance():
    theta, n, epsilon, reps = np.array([0.3, 1.0]), 20_000, 2.0, 60
    z = binary(n, theta).design
    p = 1 / (1 + np.exp(-z @ theta))
    hessian = z.T @ (z * (p * (1 - p))[:, None]) / n
    errors = cube.law(2, epsilon)[1] * np.sqrt(np.diag(np.linalg.inv(hessian @ hessian)) / (0.9 * n))
    rng = np.random.default_rng(0)
    found = [LocalGLM(group=20).fit(binary(n, theta, seed), Budget(epsilon), rng).values for seed in range(reps)]
    # a spread from 60 has a relative error of 1/sqrt(120): five of them
    assert np.std(found, axis=0) == pytest.approx(errors, rel=5 / math.sqrt(120))
    assert np.std(found, axis=0) != pytest.approx(errors / 2, rel=5 / math.sqrt(120))
