"""Derivatives agree with differences, and each loss says truly how smooth it is, of which response, of what name."""

import numpy as np
import pytest

from versadp.errors import DataError, ParameterError
from versadp.inference import prediction
from versadp.losses import REGISTRY, Check, Hinge, Huber, IndexLoss, Logistic, Poisson, Quantile
from versadp.losses.smoothing import smoothing_kernel
from versadp_tests.loss_registry import LOSSES, OURS, Careful, Gamma, LogCosh, Probit, Wide, points


def test_the_registry_is_complete():
    assert {loss.name for loss in OURS} == set(REGISTRY)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_first_derivative_is_that_of_the_value(loss):
    """At 400 random points; none of them is within 1e-6 of a kink."""
    u, y = points(loss)
    h = 1e-6
    difference = (loss.value(u + h, y) - loss.value(u - h, y)) / (2 * h)
    assert difference == pytest.approx(loss.derivatives(u, y, 1)[0], abs=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_higher_derivatives_agree_with_differences(loss):
    """Smooth losses to the fourth order; others to the second, kinked ones when smoothed."""
    u, y = points(loss)
    h, width = 1e-5, 0.7 if loss.kinked else 0.0
    here = loss.derivatives(u, y, 4, width)
    up, down = loss.derivatives(u + h, y, 4, width), loss.derivatives(u - h, y, 4, width)
    for k in range(1, 4 if loss.smooth else 2):
        difference = (up[k - 1] - down[k - 1]) / (2 * h)
        assert difference == pytest.approx(here[k], abs=1e-5 * (1 + np.abs(here[k]).max()))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_as_many_derivatives_as_are_asked_for(loss):
    u, y = points(loss, 5)
    every = loss.derivatives(u, y, 4)
    for order in (1, 2, 3, 4):
        found = loss.derivatives(u, y, order)
        assert len(found) == order
        assert all(np.array_equal(a, b) for a, b in zip(found, every, strict=False))


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss.residual], ids=repr)
def test_residual_losses_depend_on_the_residual_only(loss):
    u, y = points(loss)
    assert loss.value(u + 3, y + 3) == pytest.approx(loss.value(u, y))
    assert loss.derivatives(u + 3, y + 3, 1, 0.3)[0] == pytest.approx(loss.derivatives(u, y, 1, 0.3)[0])


def test_residual_law_fails_for_another_loss():
    u, y = points(Gamma())
    assert not np.allclose(Gamma().value(u + 3, y + 3), Gamma().value(u, y))


def test_the_smoothing_kernel_is_of_fourth_order():
    x, w = np.polynomial.legendre.leggauss(20)
    density, share = smoothing_kernel(x)
    moments = [float(w @ (density * x**k)) for k in range(5)]
    assert moments[:4] == pytest.approx([1, 0, 0, 0], abs=1e-12)
    assert moments[4] != pytest.approx(0, abs=1e-3)
    ends = smoothing_kernel(np.array([-1.0, 1.0]))[1]
    assert ends == pytest.approx([0, 1])
    assert np.diff(share).shape == (19,)


# responses -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss.classes is not None], ids=repr)
def test_two_classes(loss):
    low, high = loss.classes
    for values in ([0.0, 1.0], [-1.0, 1.0]):
        y = np.array(values)[[1, 0, 1, 1]]
        assert loss.response(y).tolist() == [high, low, high, high]
        code = loss.coding(np.array(values))
        assert code(y).tolist() == [high, low, high, high]
        assert code(y[2:]).tolist() == [high, high], "a part with one class only"
    with pytest.raises(DataError, match="one class"):
        loss.response(np.ones(5))
    for wrong in ([0.0, 1.0, 2.0], [0.0, 2.0]):
        with pytest.raises(DataError, match="0 and 1"):
            loss.coding(np.array(wrong))
    with pytest.raises(DataError, match="not there"):
        loss.coding(np.array([0.0, 1.0]))(np.array([0.0, 0.5]))
    with pytest.raises(ParameterError, match="all values"):
        loss.coding()


def test_user_defined_coding():
    class Named(Logistic):
        def response(self, y):
            return y - 1

    assert Named().coding(np.array([1.0, 2.0]))(np.array([2.0, 2.0, 1.0])).tolist() == [1, 1, 0]


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss.classes is None], ids=repr)
def test_any_other_response_is_coded_as_it_is(loss):
    _, y = points(loss)
    assert np.array_equal(loss.coding()(y), loss.response(y))
    assert np.array_equal(loss.response(y), y)


@pytest.mark.parametrize("loss", [Poisson(), Gamma()], ids=repr)
def test_responses_that_are_refused(loss):
    with pytest.raises(DataError, match="needs a response"):
        loss.coding()(np.array([1.0, -1.0]))


# predictions and names -----------------------------------------------------------------------------------------------

LINKS = {"squared": "identity", "logistic": "logistic", "check": "identity", "huber": "identity", "hinge": "side"}


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_link_name_belongs_to_the_mean_function(loss):
    u = np.linspace(-3, 3, 50)
    assert loss.prediction == (loss.link or loss.mean)
    if loss.link is not None:
        assert loss.mean(u) == pytest.approx(prediction.LINKS[loss.link](u), rel=1e-14)
    assert loss.link == LINKS.get(loss.name, loss.link)


def test_user_defined_mean_has_no_link_name():
    class Rounded(Logistic):
        def mean(self, u):
            return np.where(u > 0, 1.0, 0.0)

    class Given(LogCosh):
        def __init__(self, mean):
            super().__init__()
            self.mean = mean

    u = np.array([-1.0, 2.0])
    for loss in (Rounded(), Given(np.exp), Gamma(), Probit()):
        assert loss.link is None
        assert loss.prediction(u) == pytest.approx(loss.mean(u))
    assert np.array_equal(Rounded().derivatives(u, u, 4), Logistic().derivatives(u, u, 4)), "a prediction is no loss"
    assert Careful().link == "logistic"


def test_hinge_predicts_its_class():
    assert Hinge().mean(np.array([-0.3, 0.2])).tolist() == list(Hinge.classes)


def test_names():
    class Mine(Huber):
        name = "mine"

    class Next(Mine):
        pass

    assert (Wide().name, Mine().name, Next().name) == ("wide", "mine", "next")
    assert repr(Wide()) == "Wide(k=2.5)"
    assert Wide() != Huber(2.5)
    assert Wide(2.0) == Wide(2.0) != Wide(3.0)
    assert len({Wide(2.0), Wide(2.0), Wide(3.0)}) == 2


# parameters ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tau", [0.0, 1.0, -0.1, 2, True, "x", None, np.nan, [0.5]])
@pytest.mark.parametrize("kind", [Check, lambda tau: Quantile("age", tau)])
def test_bad_quantiles(kind, tau):
    with pytest.raises(ParameterError, match="tau"):
        kind(tau)


@pytest.mark.parametrize("k", [0, -1, np.nan, np.inf, "1", False])
def test_bad_corners(k):
    with pytest.raises(ParameterError, match="k must be"):
        Huber(k)


def test_numbers_of_numpy_are_numbers():
    assert Check(np.float32(0.5)) == Check(0.5)
    assert Huber(np.int64(2)).k == 2.0


def test_a_loss_must_say_what_it_is():
    class Nothing(IndexLoss):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Nothing()
