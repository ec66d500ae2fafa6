"""Losses that we did not write, through the public names alone: fitted, corrected and predicted as they say.

Each of these was silently wrong once: parameters of a loss in units of a private response that only Huber's were
rescaled, subclasses that were replaced by their parents or got their corrected form, means that predicted nothing, and
functions that predicted by what they were called.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import versadp as vdp
from versadp.errors import ParameterError
from versadp.losses import Huber, IndexLoss, RecordLoss
from versadp_tests.loss_registry import Careful, Censored, Clipped, Gamma, LogCosh, Probit, Steep, Tube, Wide, response

KEY = bytes(range(7, 39))  # the same noise in every run: a failure here is never bad luck


def skewed(n=8000, slope=30):
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, n)
    return pd.DataFrame({"x": x, "y": np.clip(90 + slope * x + rng.exponential(40, n), 0, 400)})


def with_private_response(frame, scale=0.1):
    schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Bounded(0, 400)})
    return vdp.Mechanism(schema, scale=scale, exact_rate=0.3).release(frame, key=KEY)


def with_public_response(frame, scale=0.3):
    schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Public()})
    return vdp.Mechanism(schema, scale=scale, exact_rate=0.3).release(frame, key=KEY)


def raw_fit(loss, frame, begin=(0.0, 0.0)):
    """What the loss itself says of the true records, by another library's search."""
    x, y = frame["x"].to_numpy(), frame["y"].to_numpy()

    def mean(theta):
        return loss.value(theta[0] + theta[1] * x, y).mean()

    return minimize(mean, begin, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12, "maxiter": 4000}).x


class OwnHuber(IndexLoss):
    """Huber's loss with a corner that is given, written by somebody else."""

    argument = "residual"
    by_line = True  # starts where ours does

    def __init__(self, k=15.0):
        self.k = k

    def value(self, u, y):
        return Huber(self.k).value(u, y)

    def derivatives(self, u, y, order=4, bandwidth=0.0):
        return Huber(self.k).derivatives(u, y, order, bandwidth)


class Narrow(Huber):
    """A subclass with a corner of its own that hides the parent's parameter."""

    def value(self, u, y):
        return Huber(15.0).value(u, y)

    def derivatives(self, u, y, order=4, bandwidth=0.0):
        return Huber(15.0).derivatives(u, y, order, bandwidth)


# a private response ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [OwnHuber(), LogCosh(10.0), Tube(20.0)], ids=repr)
def test_a_loss_of_the_residual_with_a_private_response(loss):
    """Five standard errors; a parameter left in noise units moves the intercept by more."""
    frame = skewed()
    found = vdp.fit(with_private_response(frame), "y ~ x", loss=loss)
    raw = raw_fit(loss, frame, (110.0, 30.0))
    assert np.abs((np.asarray(found.params) - raw) / np.asarray(found.bse)).max() < 5
    assert found.loss == loss.name


def test_a_strangers_huber_is_ours():
    release = with_private_response(skewed())
    for options in ({"method": "efficient"}, {"method": "drcl", "draws": 5}):
        ours, theirs = (vdp.fit(release, "y ~ x", loss=loss, **options) for loss in (Huber(15.0, 1.0), OwnHuber(15.0)))
        assert np.asarray(theirs.params) == pytest.approx(np.asarray(ours.params), rel=1e-12)
        assert np.asarray(theirs.bse) == pytest.approx(np.asarray(ours.bse), rel=1e-10)


def test_a_subclass_of_huber_stays_itself():
    release = with_private_response(skewed())
    ours, theirs = (vdp.fit(release, "y ~ x", loss=loss) for loss in (Huber(15.0, 1.0), Narrow(200.0, 1.0)))
    assert np.asarray(theirs.params) == pytest.approx(np.asarray(ours.params), rel=1e-12)
    wide = vdp.fit(release, "y ~ x", loss=Huber(200.0, 1.0))
    assert abs(wide.params[0] - theirs.params[0]) > 5 * theirs.bse[0]


# analytic -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("private", [True, False])
def test_a_smooth_stranger_is_corrected_analytically(private):
    """By quadrature, which it gets for free; the naive fit is off by more than five standard errors."""
    frame, loss = skewed(4000, 80), LogCosh(60.0)
    release = with_private_response(frame, 0.3) if private else with_public_response(frame, 0.5)
    found = vdp.fit(release, "y ~ x", loss=loss, method="analytic")
    raw = raw_fit(loss, frame, (110.0, 30.0))
    assert np.abs((np.asarray(found.params) - raw) / np.asarray(found.bse)).max() < 5
    naive = vdp.fit(release, "y ~ x", loss=loss, method="naive")
    assert np.abs((np.asarray(naive.params) - raw) / np.asarray(naive.bse)).max() > 5


@pytest.mark.parametrize("method", ["analytic", "efficient", "sdrcl", "drcl"])
def test_a_stranger_whose_response_is_a_factor(method):
    frame = followed(Gamma())
    # without an extension its draws have no variance, as those of the exponential
    how = {"draws": 2, "extension": "zero" if method == "drcl" else None}
    found = vdp.fit(with_public_response(frame), "y ~ x", loss=Gamma(), method=method, **how)
    low, high = np.asarray(found.conf_int(0.999999)).T  # of "analytic" and "sdrcl" score sets: they are weak there
    raw = raw_fit(Gamma(), frame)
    assert ((low < raw) & (raw < high)).all()
    assert np.abs(np.asarray(found.params) - raw).max() < 0.2


def followed(loss, n=8000):
    rng = np.random.default_rng(6)
    x = rng.uniform(-1, 1, n)
    return pd.DataFrame({"x": x, "y": response(loss, 0.5 + x, rng)})


@pytest.mark.parametrize("loss", [Careful(), Probit()], ids=repr)
def test_two_classes_of_a_stranger(loss):
    """A subclass of `Logistic` got its parent's corrected form, which is wrong for it by many standard errors."""
    frame = followed(loss)
    release = with_public_response(frame.assign(y=(frame["y"] == loss.classes[1]).astype(int)))
    for method in ("analytic", "efficient"):
        found = vdp.fit(release, "y ~ x", loss=loss, method=method)
        assert np.abs((np.asarray(found.params) - raw_fit(loss, frame)) / np.asarray(found.bse)).max() < 5


@pytest.mark.parametrize("loss", [Steep(0.3), Clipped(1.0)], ids=repr)
def test_a_form_that_would_contradict_the_loss_is_not_used(loss):
    release = with_public_response(followed(loss))
    with pytest.raises(ParameterError, match=f"no analytic correction for {loss.name} loss"):
        vdp.fit(release, "y ~ x", loss=loss, method="analytic")
    assert vdp.fit(release, "y ~ x", loss=loss).converged


def test_a_subclass_that_redefines_nothing_keeps_the_form():
    release = with_public_response(followed(Wide()))
    one, two = (vdp.fit(release, "y ~ x", loss=loss, method="analytic") for loss in (Wide(1.0), Huber(1.0)))
    assert np.asarray(one.params).tolist() == np.asarray(two.params).tolist()
    assert one.loss == "wide"


# kinks ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Tube(0.5), Censored(), Steep(0.3)], ids=repr)
def test_kinks_of_a_stranger_are_smoothed(loss):
    frame = followed(loss)
    found = vdp.fit(with_public_response(frame), "y ~ x", loss=loss)
    raw = raw_fit(loss, frame, (0.5, 1.0))
    assert np.abs((np.asarray(found.params) - raw) / np.asarray(found.bse)).max() < 5


# whole records --------------------------------------------------------------------------------------------------------


class Middle(RecordLoss):
    """A robust middle of a column."""

    of, base, name = "y", LogCosh(10.0), "middle"


def test_a_number_of_a_record_by_a_strangers_loss():
    frame = skewed()
    found = vdp.fit(with_private_response(frame), loss=Middle())
    y = frame["y"].to_numpy()
    raw = minimize(lambda theta: LogCosh(10.0).value(theta + 0 * y, y).mean(), [110.0]).x[0]
    assert abs(found.params["middle"] - raw) < 5 * found.bse["middle"] < 20


# predictions ----------------------------------------------------------------------------------------------------------

AT = {"x": np.array([-0.9, 0.1, 0.8])}


@pytest.mark.parametrize("loss", [Gamma(), Probit(), Censored()], ids=repr)
def test_a_strangers_mean_predicts(loss, tmp_path):
    found = vdp.fit(with_public_response(followed(loss)), "y ~ x", loss=loss)
    index = found.params[0] + found.params[1] * AT["x"]
    assert found.predict(AT) == pytest.approx(loss.mean(index))
    assert not np.allclose(found.predict(AT), index)
    band = found.predict(AT, interval=0.9)
    assert (band.lower <= band.estimate).all()
    assert (band.estimate <= band.upper).all()
    found.save(tmp_path / "r.json")
    with pytest.raises(ParameterError, match="which is not saved"):
        vdp.Results.load(tmp_path / "r.json").predict(AT)


def test_hinge_predicts_classes_and_logistic_probabilities():
    frame = followed(Probit())
    release = with_public_response(frame)
    at = {"x": np.linspace(-30, 30, 50)}
    hinge = vdp.fit(release, "y ~ x", loss="hinge")
    assert set(hinge.predict(at).tolist()) == {-1.0, 1.0}
    assert (vdp.Results.from_dict(hinge.to_dict()).predict(at) == hinge.predict(at)).all()
    found = vdp.fit(release, "y ~ x", loss="logistic")
    index = found.params[0] + found.params[1] * AT["x"]
    assert found.predict(AT) == pytest.approx(1 / (1 + np.exp(-index)))


def logistic(x, theta):
    return (x[:, 1] - theta[0]) ** 2


def poisson(x, theta):
    return (x[:, 1] - theta[0]) ** 2


@pytest.mark.parametrize("function", [logistic, poisson])
def test_a_function_predicts_nothing_whatever_it_is_called(function):
    found = vdp.fit(with_public_response(followed(Gamma())), loss=function, start=[0.0])
    assert found.loss == function.__name__
    with pytest.raises(ParameterError, match="no predictions"):
        found.predict(np.ones((1, 1)))


def test_a_subclass_that_is_called_logistic_predicts_by_its_own_mean():
    class Other(Gamma):
        name = "logistic"

    found = vdp.fit(with_public_response(followed(Gamma())), "y ~ x", loss=Other())
    assert found.predict(AT) == pytest.approx(np.exp(found.params[0] + found.params[1] * AT["x"]))


@pytest.mark.parametrize("flag", ["smooth", "kinked", "residual", "margin"])
def test_a_loss_that_states_old_flags_is_refused_with_the_new_words(flag):
    with pytest.raises(ParameterError, match=f"Old states {flag}") as found:
        type("Old", (IndexLoss,), {flag: True})
    assert "argument" in found.value.hint
    assert "order" in found.value.hint


def test_an_unknown_argument_is_refused():
    with pytest.raises(ParameterError, match="no argument 'residuals'"):
        type("Misspelt", (IndexLoss,), {"argument": "residuals"})


def test_argument_and_order_say_which_forms_serve_a_loss():
    loss = LogCosh()
    assert (loss.argument, loss.order) == ("residual", 4)
    assert [loss.smooth, loss.kinked, loss.residual, loss.margin] == [True, False, True, False]
    loss = vdp.losses.as_loss("hinge")
    assert [loss.smooth, loss.kinked, loss.residual, loss.margin] == [False, True, False, True]
