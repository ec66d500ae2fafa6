"""From a loss to predictions: the link is the loss's own, whatever it is called."""

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import ParameterError
from versadp.inference import Results
from versadp.losses import Squared

POINTS = np.array([[1.0, -0.5], [1.0, 0.25]])


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 2000)
    frame = pd.DataFrame({"x": x, "y": 1 + 0.5 * x + rng.normal(0, 0.1, 2000)})
    schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Public()})
    return vdp.Mechanism(schema, scale=0.2, exact_rate=0.2).release(frame, key=bytes(range(7, 39)))


class Named(Squared):
    """A stranger's loss whose mean has a name."""

    link = "exponential"


class Cubed(Squared):
    """A stranger's loss with a mean of its own."""

    link = None

    def mean(self, u):
        return u**3


def test_a_function_that_is_called_like_a_loss_gets_no_link_of_it(release):
    def logistic(x, theta):
        return (x[:, 0] - theta[0]) ** 2 / 2

    found = vdp.fit(release, loss=logistic, start=[0.0])
    assert (found.loss, found.converged) == ("logistic", True)
    with pytest.raises(ParameterError, match="without a linear predictor"):
        found.predict(np.ones((1, 1)))


@pytest.mark.parametrize(("loss", "mean"), [(Named(), np.exp), (Cubed(), lambda u: u**3), ("squared", lambda u: u)])
def test_predictions_by_the_losss_own_mean(release, loss, mean):
    found = vdp.fit(release, "y ~ x", loss=loss)
    np.testing.assert_allclose(found.predict(POINTS), mean(POINTS @ np.asarray(found.params)), rtol=1e-12)


def test_a_named_link_is_saved_and_a_mean_of_ones_own_is_not(release, tmp_path):
    found = vdp.fit(release, "y ~ x", loss=Named())
    found.save(tmp_path / "fit.json")
    np.testing.assert_array_equal(Results.load(tmp_path / "fit.json").predict(POINTS), found.predict(POINTS))
    vdp.fit(release, "y ~ x", loss=Cubed()).save(tmp_path / "fit.json")
    with pytest.raises(ParameterError, match="which is not saved"):
        Results.load(tmp_path / "fit.json").predict(POINTS)


def test_advice_names_the_rate_and_another_method(release):
    """A linear loss has no minimum, whatever the records."""

    def endless(x, theta):
        return theta[0] * x[:, 0]

    for method in ("drcl", "efficient"):
        found = vdp.fit(release, loss=endless, start=[0.0], method=method)
        assert found.outcome == "indefinite"
        assert found.outcome.advice in found.advice
        assert "exact_rate of this release is 0.2" in found.advice
        assert ("'efficient'" in found.advice) == (method == "drcl")
