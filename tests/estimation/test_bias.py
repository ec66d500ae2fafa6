"""The bias of order 1/n: against that of a ratio and of a logarithm of means, and against simulation."""

import numpy as np
import pyarrow as pa
import pytest

import versadp as vdp
from versadp.correction.form import Form
from versadp.errors import ParameterError
from versadp.estimation.criterion import Combined
from versadp.estimation.diagnostic_statistics import bias
from versadp.estimation.moments import Family
from versadp.estimation.newton import Fit
from versadp.estimation.outcome import Outcome
from versadp_tests.nowhere import Nowhere

pytestmark = pytest.mark.filterwarnings("ignore::versadp.errors.InsecureWarning")  # seeds make runs repeatable


class Scores(Form):
    """A form of one member whose scores are a function of theta."""

    names = ("one",)
    points = 1

    def __init__(self, scores):
        self.scores = scores

    def prepare(self, records, rng):
        return None

    def evaluate(self, prepared, theta, mix, *, hessian):
        return self.scores(theta)[:, None] * mix.sum(axis=1)[None, :, None], None


def found(scores, theta, hessian, cov, n, *, groups=None):
    family = Family((Scores(scores),), Nowhere(n), theta.size, vdp.engine.Serial(), 0)
    groups = groups or (np.arange(theta.size),)
    fit = Fit(theta, cov, Outcome.CONVERGED, n, hessian=hessian)
    return bias(Combined(family, np.ones((len(groups), 1)), groups), fit, n)


def test_the_bias_of_a_ratio_of_means():
    rng = np.random.default_rng(0)
    n = 400
    a = rng.normal(1.0, 0.7, n)
    b = -2.0 * a + 0.5 * a**2 + rng.normal(size=n)
    ratio = -b.mean() / a.mean()
    variance = np.var(b + a * ratio) / n / a.mean() ** 2
    off = found(lambda theta: (b + a * theta[0])[:, None], np.array([ratio]), [[a.mean()]], np.array([[variance]]), n)
    taylor = (ratio * np.var(a) + np.cov(a, b, ddof=0)[0, 1]) / n / a.mean() ** 2
    assert off == pytest.approx([taylor], rel=1e-9)


@pytest.mark.parametrize("apart", [False, True])
def test_the_bias_of_two_logarithms_of_means(apart):
    """In units that mix the two, and with groups of their own."""
    rng = np.random.default_rng(1)
    n = 4000
    x = rng.exponential((1.0, 3.0), (n, 2)) @ np.array([[1.0, 0.4], [0.0, 1.0]])
    turn = np.array([[1.0, 0.0], [0.0, 1.0]]) if apart else np.array([[1.0, 0.5], [-0.3, 2.0]])
    root = np.log(x.mean(axis=0))
    theta = np.linalg.solve(turn, root)
    hessian = turn.T @ np.diag(np.exp(root)) @ turn
    inverse = np.linalg.inv(hessian) @ turn.T
    cov = inverse @ np.cov(x.T, ddof=0) @ inverse.T / n
    groups = (np.array([0]), np.array([1])) if apart else None
    off = found(lambda at: (np.exp(turn @ at) - x) @ turn, theta, hessian, cov, n, groups=groups)
    expected = np.linalg.solve(turn, -np.var(x, axis=0) / (2 * n * x.mean(axis=0) ** 2))
    assert off == pytest.approx(expected, rel=1e-3)  # differences over a standard error, in place of derivatives


def test_nothing_is_taken_off_where_scores_end():
    def scores(theta):
        raise ParameterError("beyond what can be corrected")

    assert found(scores, np.zeros(1), np.eye(1), np.eye(1), 10) is None


def released(rep, n=300):
    rng = np.random.default_rng([7, rep])
    x = rng.uniform(-1, 1, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-2 * x))).astype(float)
    schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Public()})
    return vdp.Mechanism(schema, scale=0.3, exact_rate=0.1).release(pa.table({"x": x, "y": y}), insecure_seed=rep)


def test_results_say_what_was_taken_off():
    release = released(0)
    result = vdp.fit(release, "y ~ x", loss="logistic")
    assert set(result.bias) == {"Intercept", "x"}
    assert 0 < abs(result.bias["x"]) < 0.5 * result.bse["x"]
    assert "corrected for a bias" in str(result.summary())
    assert vdp.Results.from_dict(result.to_dict()).bias == result.bias
    # the paper's methods are the paper's
    assert vdp.fit(release, "y ~ x", loss="logistic", method="drcl", draws=5).bias == {}


def test_nothing_is_taken_off_a_fit_without_noise():
    schema = vdp.Schema({"x": vdp.Public(), "y": vdp.Public(), "z": vdp.Bounded(0, 1)})
    x = np.linspace(-1, 1, 200)
    y = (np.arange(200) % 3 == 0).astype(float)
    release = vdp.Mechanism(schema, scale=0.3).release(pa.table({"x": x, "y": y, "z": (x + 1) / 2}), insecure_seed=1)
    assert vdp.fit(release, "y ~ x", loss="logistic").bias == {}


@pytest.mark.slow
def test_few_records_are_less_biased():
    """300 records, logistic: some 0.3 of a standard deviation off before, and more spread."""
    results = [vdp.fit(released(rep), "y ~ x", loss="logistic", random_state=rep) for rep in range(400)]
    after = np.array([[result.params["x"], result.bias["x"]] for result in results if result.converged])
    before = after.sum(axis=1)
    wrong, less = before - 2, after[:, 0] - 2
    assert wrong.mean() / wrong.std() - less.mean() / less.std() > 0.1
    assert abs(less.mean()) / less.std() < 0.25
    assert (less**2).mean() < 0.9 * (wrong**2).mean()
