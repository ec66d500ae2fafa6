"""Laws of a response: derivatives by differences, distribution functions by scipy's."""

import numpy as np
import pytest
from scipy import stats

from versadp.errors import DataError
from versadp.losses import Check, Hinge, Huber, Logistic, Poisson, Squared
from versadp.losses.response_law import Bernoulli, Counts, Normal

U = np.array([-1.3, 0.0, 0.4, 2.1])
CASES = [
    (Normal(), 0.7, 0.3, lambda u: stats.norm(u, np.exp(0.3))),
    (Bernoulli(), 1.0, 0.0, lambda u: stats.bernoulli(1 / (1 + np.exp(-u)))),
    (Counts(), 2.0, 0.0, lambda u: stats.poisson(np.exp(u))),
]


@pytest.mark.parametrize(("law", "y", "scale", "oracle"), CASES)
def test_densities_are_scipys_up_to_a_constant(law, y, scale, oracle):
    value = law.log_density(U, np.full(4, y), scale)[0]
    frozen = oracle(U)
    truth = frozen.logpdf(y) if isinstance(law, Normal) else frozen.logpmf(y)
    assert np.ptp(value - truth) < 1e-12


@pytest.mark.parametrize(("law", "y", "scale", "oracle"), CASES)
@pytest.mark.parametrize("what", ["log_density", "distribution"])
def test_slopes_are_differences(law, y, scale, oracle, what):
    h = 1e-6

    def at(u, s):
        return getattr(law, what)(u, np.full(4, y) if what == "log_density" else 0.5, s)

    _, slope, by_scale = at(U, scale)
    np.testing.assert_allclose(slope, (at(U + h, scale)[0] - at(U - h, scale)[0]) / (2 * h), atol=1e-8)
    assert (by_scale is not None) == law.scaled
    if law.scaled:
        np.testing.assert_allclose(by_scale, (at(U, scale + h)[0] - at(U, scale - h)[0]) / (2 * h), atol=1e-8)


@pytest.mark.parametrize(("law", "y", "scale", "oracle"), CASES)
def test_distribution_functions_are_scipys(law, y, scale, oracle):
    for t in (-np.inf, -0.5, 0.5, 1.5, np.inf):
        np.testing.assert_allclose(law.distribution(U, t, scale)[0], oracle(U).cdf(t), atol=1e-14)


def test_what_is_no_response_is_refused():
    for law in (Bernoulli(), Counts()):
        with pytest.raises(DataError):
            law.check(np.array([0.5]))
        law.check(np.array([0.0, 1.0]))
    Normal().check(np.array([0.5]))


def test_losses_say_which_law_is_theirs():
    assert isinstance(Squared().response_law(), Normal)
    assert isinstance(Logistic().response_law(), Bernoulli)
    assert isinstance(Poisson().response_law(), Counts)
    assert all(loss.response_law() is None for loss in (Check(), Hinge(), Huber()))

    class Steeper(Poisson):
        def value(self, u, y):
            return super().value(2 * u, y)

    assert Steeper().response_law() is None  # it is another loss, and has lost its law
