"""Losses: derivatives agree with differences, and each says truly how smooth it is."""

import numpy as np
import pytest

from versadp.errors import DataError, ParameterError
from versadp.losses import REGISTRY, Check, Custom, Hinge, Huber, Logistic, Mean, Poisson, Quantile, Squared, as_loss
from versadp.losses.smoothing import kernel

LOSSES = [Squared(), Logistic(), Check(0.3), Hinge(), Huber(0.8), Poisson()]


def points(loss, n=400, seed=0):
    rng = np.random.default_rng(seed)
    u = rng.uniform(-2, 2, n)
    y = {"logistic": rng.integers(0, 2, n), "hinge": rng.choice([-1, 1], n), "poisson": rng.poisson(2, n)}
    return u, y.get(loss.name, rng.normal(size=n)).astype(float)


def test_the_registry_is_complete():
    assert {loss.name for loss in LOSSES} == set(REGISTRY)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_first_derivative_is_that_of_the_value(loss):
    u, y = points(loss)
    h = 1e-6
    away = np.abs(u - y) > 1e-3 if loss.residual else np.abs(1 - y * u) > 1e-3
    difference = (loss.value(u + h, y) - loss.value(u - h, y)) / (2 * h)
    assert difference[away] == pytest.approx(loss.derivatives(u, y, 1)[0][away], abs=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_higher_derivatives_agree_with_differences(loss):
    """Smooth losses to the fourth order; kinked ones to the second, when smoothed."""
    u, y = points(loss)
    h, width = 1e-5, 0.7 if loss.kinked else 0.0
    orders = 4 if loss.smooth else 2
    here = loss.derivatives(u, y, 4, width)
    up, down = loss.derivatives(u + h, y, 4, width), loss.derivatives(u - h, y, 4, width)
    corner = np.abs(np.abs(u - y) - getattr(loss, "k", -1)) < 1e-3
    for k in range(1, orders):
        difference = (up[k - 1] - down[k - 1]) / (2 * h)
        assert difference[~corner] == pytest.approx(here[k][~corner], abs=1e-5)


def test_the_smoothing_kernel_is_of_fourth_order():
    x, w = np.polynomial.legendre.leggauss(20)
    density, share = kernel(x)
    moments = [float(w @ (density * x**k)) for k in range(5)]
    assert moments[:4] == pytest.approx([1, 0, 0, 0], abs=1e-12)
    assert moments[4] != pytest.approx(0, abs=1e-3)
    ends = kernel(np.array([-1.0, 1.0]))[1]
    assert ends == pytest.approx([0, 1])
    assert np.diff(share).shape == (19,)


@pytest.mark.parametrize("loss", [Logistic(), Hinge()], ids=repr)
def test_two_classes(loss):
    low, high = loss.response(np.array([0.0, 1.0]))
    assert (loss.response(np.array([-1.0, 1.0, 1.0])) == [low, high, high]).all()
    with pytest.raises(DataError, match="one class"):
        loss.response(np.ones(5))
    with pytest.raises(DataError, match="0 and 1"):
        loss.response(np.array([0.0, 1.0, 2.0]))


def test_negative_counts():
    with pytest.raises(DataError):
        Poisson().response(np.array([1.0, -1.0]))


@pytest.mark.parametrize("make", [lambda: Check(0.0), lambda: Check(1.0), lambda: Check(True), lambda: Check("x")])
def test_bad_quantiles(make):
    with pytest.raises(ParameterError):
        make()


def test_bad_parameters():
    for k in (0, -1, np.nan, "1"):
        with pytest.raises(ParameterError):
            Huber(k)
    with pytest.raises(ParameterError):
        Quantile("age", 2)
    for bad in ("absolute", 3, None):
        with pytest.raises(ParameterError, match="choose from"):
            as_loss(bad)


def test_custom_losses():
    def own(x, theta):
        return (x[:, 0] - theta[0]) ** 2 / 2

    loss = as_loss(own)
    assert isinstance(loss, Custom)
    assert loss.name == "own"
    x = np.array([[1.0], [3.0]])
    assert loss.gradient(x, np.zeros(1))[:, 0] == pytest.approx([-1, -3], abs=1e-6)
    own.gradient = lambda x, theta: theta - x
    assert (Custom(own).gradient(x, np.zeros(1)) == -x).all()
    for bad in (lambda x, _: x, lambda x, _: np.full(len(x), np.nan), lambda *_: 1.0):
        with pytest.raises(ParameterError):
            Custom(bad).value(x, np.zeros(1))
    assert Mean("a") == as_loss(Mean("a"))
