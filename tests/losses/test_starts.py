"""Where a fit starts and how much it smooths: plain fits, against other libraries; laws of units, outliers, records."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import ndtr

from versadp.losses import Check, Hinge, Huber, Logistic, Poisson, Squared
from versadp.losses.starts import robust, separating
from versadp_tests.loss_registry import (
    LOSSES,
    Careful,
    Censored,
    Expectile,
    Gamma,
    LogCosh,
    Probit,
    Steep,
    Tube,
    design,
)

# starts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Squared(), Huber(), LogCosh(), Tube(), Expectile()], ids=repr)
def test_losses_of_the_residual_start_from_least_squares(loss):
    m, y = design(loss)
    assert loss.start(m, y) == pytest.approx(np.linalg.lstsq(m, y, rcond=None)[0], abs=1e-4)


PEERS = {
    Logistic(): lambda m, y: sm.Logit(y, m).fit(disp=0),
    Probit(): lambda m, y: sm.Probit(y > 0, m).fit(disp=0),
    Poisson(): lambda m, y: sm.Poisson(y, m).fit(disp=0),
    Gamma(): lambda m, y: sm.GLM(y, m, family=sm.families.Gamma(sm.families.links.Log())).fit(),
    Careful(): lambda m, y: sm.GLM(y, m, family=sm.families.Binomial(), freq_weights=1 + y).fit(),
}


@pytest.mark.parametrize("loss", PEERS, ids=repr)
def test_smooth_losses_start_where_newton_ends(loss):
    """It stops at a step that moves no index by 0.001."""
    m, y = design(loss)
    assert loss.start(m, y) == pytest.approx(PEERS[loss](m, y).params, abs=2e-3)


def test_hinge_starts_from_a_logistic_fit():
    m, y = design(Hinge())
    assert Hinge().start(m, y) == pytest.approx(sm.Logit((y + 1) / 2, m).fit(disp=0).params, abs=2e-3)
    assert np.array_equal(Hinge().start(m, y), separating(m, y == 1))


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.8])
def test_check_starts_at_its_quantile(tau):
    m, y = design(Check())
    below = np.mean(y < m @ Check(tau).start(m, y))
    assert below == pytest.approx(tau, abs=2 / len(y))
    turned = Check(tau).start(m[:, [1, 0, 2]], y)
    assert turned[[1, 0, 2]] == pytest.approx(Check(tau).start(m, y))
    without = Check(tau).start(m[:, 1:], y)
    assert without == pytest.approx(robust(m[:, 1:], y))


@pytest.mark.parametrize("loss", [Check(0.3), Huber(), LogCosh(), Tube(), Steep(0.3)], ids=repr)
def test_an_outlier_does_not_tilt_a_start(loss):
    """A hundred records of noise: least squares is moved by half a million."""
    m, y = design(loss)
    plain = loss.start(m, y)
    y[0] = 1e9
    assert np.abs(loss.start(m, y) - plain).max() < 0.5
    assert np.abs(Squared().start(m, y) - plain).max() > 1e5


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_no_start_is_worse_than_zero(loss):
    """Nor does a design without full rank, a constant response or a single record break it."""
    m, y = design(loss)
    start = loss.start(m, y)
    assert loss.value(m @ start, y).mean() <= loss.value(0 * y, y).mean()
    for few in (m[:, [0, 0, 1]], np.column_stack([m, 1e8 * m[:, 1]])):
        assert np.isfinite(loss.start(few, y)).all()
    assert np.isfinite(loss.start(m[:1], y[:1])).all()
    assert np.isfinite(loss.start(m, np.full(len(m), y.max()))).all()


def test_start_is_zero_where_newton_increases_the_loss():
    class Misled(Gamma):
        def value(self, u, y):
            return u * u

        def derivatives(self, u, y, order=4, bandwidth=0.0):
            return (u - 3, 1 + 0 * u, 0 * u, 0 * u)[:order]

    assert Misled().start(np.ones((5, 1)), np.ones(5)).tolist() == [0.0]


# bandwidths -----------------------------------------------------------------------------------------------------------

KINKED = [loss for loss in LOSSES if loss.kinked]


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if not loss.kinked], ids=repr)
def test_without_kinks_nothing_is_smoothed(loss):
    assert loss.bandwidths(*design(loss)) == (0.0, 0.0)


def further(loss):
    """By how much more the curvature of a quantile is smoothed than that of the median."""
    tau = getattr(loss, "tau", 0.5)
    return (0.25 / (tau * (1 - tau))) ** 0.4


@pytest.mark.parametrize("loss", KINKED, ids=repr)
def test_bandwidths_shrink_with_records_and_grow_with_coefficients(loss):
    """At the rate of the formula, `((p + log m)/m)^0.4`, as long as it is below its bound."""
    found = []
    for n in (4000, 64_000):
        m, y = design(loss, n)
        h, window = loss.bandwidths(m, y)
        assert window == pytest.approx(1.5 * further(loss) * h)
        twice, _ = loss.bandwidths(m, y, 1.5)
        assert twice == pytest.approx(1.5 * h)
        found.append(h * (n / (3 + np.log(n))) ** 0.4)
    assert found[1] == pytest.approx(found[0], rel=0.05), "the scale of residuals, to a few percent"
    m, y = design(loss)
    noise = np.random.default_rng(0).normal(size=(len(m), 20))
    assert loss.bandwidths(np.column_stack([m, noise]), y)[0] > 1.2 * loss.bandwidths(m, y)[0]


@pytest.mark.parametrize("loss", KINKED, ids=repr)
def test_few_records_are_smoothed_by_two_scales_at_most(loss):
    m, y = design(loss, 12)
    h, window = loss.bandwidths(m, y)
    scale = np.std(y - m @ robust(m, y)) if loss.residual else 1.0
    assert h <= 2 * scale * (1 + 1e-12)
    assert h <= window <= max(further(loss) * h, 1.5 * scale) * (1 + 1e-12)


def test_margins_and_quantiles_have_their_own_constants():
    """The documented formula, normal response: 4 residual scales, for curvature more further out; 6 for margins."""
    n = 50_000
    rate = ((3 + np.log(n)) / n) ** 0.4
    m, y = design(Check(), n)
    for tau in (0.1, 0.5, 0.7):
        h, window = Check(tau).bandwidths(m, y)
        assert h == pytest.approx(4 * rate, rel=0.03), "the residual scale is 1"
        assert window == pytest.approx(1.5 * further(Check(tau)) * h)
    assert Tube().bandwidths(m, y)[0] == pytest.approx(4 * rate, rel=0.03)
    for loss in (Hinge(), Censored()):
        assert loss.bandwidths(*design(loss, n))[0] == pytest.approx(6 * rate, rel=1e-12)


@pytest.mark.parametrize("loss", [loss for loss in KINKED if loss.residual], ids=repr)
def test_an_outlier_does_not_widen_the_smoothing(loss):
    m, y = design(loss)
    plain = loss.bandwidths(m, y)[0]
    y[0] = 1e9
    assert loss.bandwidths(m, y)[0] == pytest.approx(plain, rel=0.05)


@pytest.mark.parametrize("loss", KINKED, ids=repr)
def test_a_constant_response_is_smoothed_by_next_to_nothing_but_not_by_nothing(loss):
    m, y = design(loss)
    assert loss.bandwidths(m, np.full(len(m), y.max()))[0] > 0


def test_smoothing_moves_a_loss_by_little():
    """Halving the bandwidth of a fourth-order kernel divides its bias by sixteen, that of a second-order one by four.

    The loss at a normal response, one standard deviation from its middle, by quadrature over the response.
    """
    y = np.linspace(-10, 10, 20_001)
    weight = 1e-3 * np.exp(-y * y / 2) / np.sqrt(2 * np.pi)

    def bias(loss, h, exact):
        return abs(weight @ loss.derivatives(np.ones(y.size), y, 1, h)[0] - exact)

    below = ndtr(1.0)
    assert bias(Check(), 0.8, below - 0.5) / bias(Check(), 0.4, below - 0.5) == pytest.approx(16, rel=0.2)
    assert bias(Tube(0), 0.8, 2 * below - 1) / bias(Tube(0), 0.4, 2 * below - 1) == pytest.approx(4, rel=0.2)
