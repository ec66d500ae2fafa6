"""Polynomials without exact records: differences against derivatives, moments of the noise, and fits."""

import warnings
from math import factorial

import numpy as np
import pandas as pd
import pytest
from numpy.polynomial import Polynomial

import versadp as vdp
from versadp.correction.analytic import second_difference
from versadp.errors import InsecureWarning, ParameterError
from versadp.formula.design import make_design

SCHEMA = vdp.Schema({"a": vdp.Bounded(-1, 1), "b": vdp.Bounded(2, 5), "y": vdp.Public()})


@pytest.mark.parametrize("reach", [1, 2, 3, 5])
def test_differences_of_polynomials_are_derivatives(reach):
    rng, at = np.random.default_rng(reach), np.arange(-reach, reach + 1)
    for degree in range(2 * reach + 2):
        f = Polynomial(rng.normal(size=degree + 1))
        assert second_difference(reach) @ f(0.3 + at) == pytest.approx(f.deriv(2)(0.3), rel=1e-9, abs=1e-9)
    beyond = Polynomial.basis(2 * reach + 2)
    assert abs(second_difference(reach) @ beyond(0.3 + at) - beyond.deriv(2)(0.3)) > 0.1


def noisy(f, x):
    """The mean of a polynomial of x + Z, Z Laplace with variance 1, whose even moments are k!/2^(k/2)."""
    return sum(f.deriv(k)(x) / factorial(k) * factorial(k) / 2 ** (k // 2) for k in range(0, f.degree() + 1, 2))


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_the_noise_is_undone_in_the_mean(degree):
    """Of the product of two terms of a degree, from moments of the noise."""
    f = Polynomial(np.random.default_rng(degree).normal(size=2 * degree + 1))

    def corrected(reach):
        weight = -second_difference(reach) / 2
        weight[reach] += 1
        return sum(w * noisy(f, 0.7 + k) for w, k in zip(weight, range(-reach, reach + 1), strict=True))

    assert corrected(degree) == pytest.approx(f(0.7), rel=1e-9)
    assert abs(corrected(degree - 1) - f(0.7)) > 1e-3, "points that reach less far"
    assert abs(noisy(f, 0.7) - f(0.7)) > 1e-3, "no correction"


@pytest.mark.parametrize(
    ("formula", "degree"),
    [
        ("y ~ a + b", 1),
        ("y ~ a + I(a**2)", 2),
        ("y ~ a:b + I(-(a - b) ** 3 / 2)", 3),
        ("y ~ I(a**2):b", 3),
        ("np.log(y) ~ a + np.log(y):a", 1),
        ("I(a * b) ~ a", 2),
        ("y ~ np.log(b)", None),
        ("y ~ I(1 / b)", None),
        ("y ~ I(a ** 0.5)", None),
        ("y ~ I(a ** b)", None),
        ("y ~ I(a > 0)", None),
        ("y ~ I(2 ** a)", None),
    ],
)
def test_degrees(formula, degree):
    assert make_design(formula, SCHEMA).degree(("a", "b")) == degree


def released(frame, rate=0.0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureWarning)
        return vdp.Mechanism(SCHEMA, scale=0.1, exact_rate=rate).release(frame, insecure_seed=2)


def curved(n=20_000):
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1, 1, n), rng.uniform(2, 5, n)
    return pd.DataFrame({"a": a, "b": b, "y": 1 + a - 2 * a**2 + 0.5 * a * b + rng.normal(0, 0.3, n)})


@pytest.mark.parametrize(
    ("formula", "terms"),
    [
        ("y ~ a + I(a**2) + a:b", lambda f: [f["a"], f["a"] ** 2, f["a"] * f["b"]]),
        ("I(a ** 2) ~ a", lambda f: [f["a"]]),
    ],
)
def test_fits_without_exact_records(formula, terms):
    """Within five standard errors of the raw fit; the naive one is further away."""
    frame = curved()
    x = np.column_stack([np.ones(len(frame)), *terms(frame)])
    raw = np.linalg.lstsq(x, frame["y"] if formula[0] == "y" else frame["a"] ** 2, rcond=None)[0]
    found, naive = (vdp.fit(released(frame), formula, method=method) for method in ("efficient", "naive"))
    assert (np.abs(np.asarray(found.params) - raw) < 5 * np.asarray(found.bse)).all()
    assert (np.abs(np.asarray(naive.params) - raw) > 5 * np.asarray(found.bse)).any()


def test_weights_count():
    frame = curved(5000)
    weights = np.where(np.arange(5000) < 2500, 2.0, 0.0)
    release = released(frame)
    half = vdp.Release.from_frame(release.to_pandas().iloc[:2500], release.mechanism)
    one, other = vdp.fit(release, "y ~ a + I(a**2)", weights=weights), vdp.fit(half, "y ~ a + I(a**2)")
    assert np.asarray(one.params) == pytest.approx(np.asarray(other.params), rel=1e-6)


@pytest.mark.parametrize(
    ("formula", "loss"), [("y ~ np.log(b)", "squared"), ("y ~ I(a**2)", "poisson"), ("y ~ a", "huber")]
)
def test_what_needs_exact_records(formula, loss):
    frame = curved(500)
    with pytest.raises(ParameterError, match="exact_rate above 0"):
        vdp.fit(released(frame.assign(y=frame["y"].abs())), formula, loss=loss)


def test_a_subclass_that_redefines_the_loss_is_no_longer_quadratic():
    class Cubic(vdp.losses.Squared):
        def value(self, u, y):
            return np.abs(u - y) ** 3

        def derivatives(self, u, y, order=4, bandwidth=0.0):
            r = u - y
            return (3 * r * np.abs(r), 6 * np.abs(r), 6 * np.sign(r), np.zeros_like(r))[:order]

    with pytest.raises(ParameterError, match="exact_rate above 0"):
        vdp.fit(released(curved(500)), "y ~ I(a**2)", loss=Cubic())
