"""Series of natural losses: near the loss, as short as the records allow, refused where windows erased too much."""

import importlib

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit

import versadp as vdp
from versadp.correction import argument_of, as_terms
from versadp.correction.index_law import IndexLaw, index_law
from versadp.correction.series import Place, series
from versadp.errors import ParameterError
from versadp.fitting.models import make_problem
from versadp.losses import Logistic
from versadp.losses.expansion import Expansion
from versadp.noise import Window

KEY = bytes(range(32))


def released(slopes, noise, n=20_000, intercept=0.0, seed=0):
    """People with covariates on ±1 and a binary response, released by windows: jointly, or one a column."""
    rng, dim = np.random.default_rng(seed), len(slopes)
    x = rng.uniform(-1, 1, (n, dim))
    y = (rng.random(n) < expit(intercept + x @ slopes)).astype(float)
    names = tuple(f"x{j}" for j in range(dim))
    schema = vdp.Schema({name: vdp.Bounded(-1, 1) for name in names} | {"y": vdp.Public()})
    mech = vdp.Mechanism(schema, noise=noise(names))
    return mech.release(pa.table(dict(zip(names, x.T, strict=True)) | {"y": y}), key=KEY), "y ~ " + " + ".join(names)


def columns(epsilon):
    return lambda names: dict.fromkeys(names, Window(epsilon))


def joint(epsilon):
    return lambda names: {names: Window(epsilon)}


def at(release, formula, theta):
    """Return form, what it sees, and the series of logistic loss at coefficients in the user's units."""
    problem = make_problem(release, formula, Logistic(), None, None)
    form = as_terms(problem.model, problem.units, problem.blocks, Expansion())
    seen = form.prepare(problem.sample(20_000, 0), np.random.default_rng(0))
    return form, seen, problem.to_fit(theta)


def slope_of(expansion, u):
    rate = 1j * expansion.base * np.arange(1, 1 + len(expansion.weights))
    waves = np.exp(np.multiply.outer(u, rate))
    return expansion.linear + expansion.quadratic * u + (waves @ (rate * np.array(expansion.weights))).real


@pytest.mark.parametrize("noise", [columns(4.0), joint(8.0)], ids=["columns", "joint"])
@pytest.mark.parametrize("theta", [[0.0, 1.0, 1.0, 1.0], [-3.0, 0.5, -0.5, 1.0], [1.0, 3.0, 0.0, 0.0]], ids=str)
def test_a_series_is_near_its_loss_where_the_index_lies(theta, noise):
    """The derivative is off by less than a tenth of what 20,000 records can tell, sqrt(p(1-p)/n), on the whole law."""
    release, formula = released(theta[1:], noise, intercept=theta[0])
    form, seen, fitted = at(release, formula, np.array(theta))
    expansion, law = series(Place(form, seen, fitted, argument_of(Logistic()), 20_000))
    x = np.random.default_rng(1).uniform(-1, 1, (50_000, 3))
    u = theta[0] + x @ theta[1:]
    assert law.low < u.min()
    assert u.max() < law.high
    assert law.mean == pytest.approx(u.mean(), abs=0.1)
    assert law.sd == pytest.approx(u.std(), rel=0.2)
    error = slope_of(expansion, u) - expit(u)
    assert np.sqrt((error**2 / (expit(u) * expit(-u))).mean()) < 0.1 * 2 / np.sqrt(20_000)
    assert len(expansion.weights) <= 10


def test_a_law_holds_what_is_inside():
    law = IndexLaw(-2.0, 2.0, 0.0, 1.0)
    assert law.holds(IndexLaw(-1.8, 1.7, 0.0, 1.0))
    assert not law.holds(IndexLaw(-1.9, 1.8, 0.0, 1.0)), "hardly any room is left"
    assert not law.holds(IndexLaw(-1.9, 2.8, 0.0, 1.0))
    assert not law.holds(IndexLaw(-1.0, 1.0, 0.0, 1.0)), "far too wide: a new series would be shorter"


def test_the_range_of_an_index_is_that_of_the_box():
    release, formula = released([1.0, -2.0], columns(4.0))
    form, seen, fitted = at(release, formula, np.array([0.5, 1.0, -2.0]))
    law = index_law(form, seen, fitted)
    assert (law.low, law.high) == pytest.approx((-2.5 - 0.05, 3.5 + 0.05))


@pytest.mark.parametrize(
    ("noise", "n"), [(columns(4.0), 20_000), (joint(8.0), 20_000), (joint(6.0), 20_000)], ids=["columns", "8", "6"]
)
def test_logistic_regression_from_windows(noise, n):
    truth = np.array([-0.4, 1.0, -0.8, 0.6, 0.0])
    release, formula = released(truth[1:], noise, n, truth[0])
    found = vdp.fit(release, formula, loss="logistic")
    assert found.converged
    assert (np.abs(np.asarray(found.params) - truth) < 5 * np.asarray(found.bse)).all()
    assert np.asarray(found.bse).max() < 0.15
    naive = vdp.fit(release, formula, loss="logistic", method="naive")
    assert (np.abs(np.asarray(naive.params) - truth) > 5 * np.asarray(naive.bse)).any()


def test_models_without_an_intercept():
    """Columns are then not centred, and the centre of a block is part of the index."""
    rng, n = np.random.default_rng(5), 40_000
    x = rng.uniform(1, 3, (n, 2))
    y = (rng.random(n) < expit(x @ [1.0, -0.8])).astype(float)
    schema = vdp.Schema({"a": vdp.Bounded(1, 3), "b": vdp.Bounded(1, 3), "y": vdp.Public()})
    release = vdp.Mechanism(schema, noise={("a", "b"): Window(6.0)}).release(
        pa.table({"a": x[:, 0], "b": x[:, 1], "y": y}), key=KEY
    )
    found = vdp.fit(release, "y ~ a + b - 1", loss="logistic")
    assert (np.abs(np.asarray(found.params) - [1.0, -0.8]) < 5 * np.asarray(found.bse)).all()
    assert np.asarray(found.bse).max() < 0.1


def test_poisson_regression_from_windows():
    rng, n = np.random.default_rng(2), 20_000
    x = rng.uniform(-1, 1, (n, 3))
    truth = np.array([0.5, 0.6, -0.4, 0.3])
    y = rng.poisson(np.exp(truth[0] + x @ truth[1:])).astype(float)
    schema = vdp.Schema({f"x{j}": vdp.Bounded(-1, 1) for j in range(3)} | {"y": vdp.Public()})
    for noise in ({f"x{j}": Window(4.0) for j in range(3)}, {("x0", "x1", "x2"): Window(8.0)}):
        release = vdp.Mechanism(schema, noise=noise).release(
            pa.table({f"x{j}": x[:, j] for j in range(3)} | {"y": y}), key=KEY
        )
        found = vdp.fit(release, "y ~ x0 + x1 + x2", loss="poisson")
        assert (np.abs(np.asarray(found.params) - truth) < 5 * np.asarray(found.bse)).all()
        assert np.asarray(found.bse).max() < 0.1


@pytest.mark.parametrize(
    "noise",
    [{"x0": Window(4.0), "x1": Window(4.0), "y": Window(2.0)}, {("x0", "x1", "y"): Window(7.0)}],
    ids=["columns", "joint"],
)
@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_a_private_response(loss, noise):
    """Both losses are linear in the response, so that a private one is one more column to undo."""
    rng, n, truth = np.random.default_rng(4), 50_000, np.array([0.3, 0.8, -0.6])
    x = rng.uniform(-1, 1, (n, 2))
    u = truth[0] + x @ truth[1:]
    y = (rng.random(n) < expit(u)) if loss == "logistic" else rng.poisson(np.exp(u)).clip(0, 12)
    last = 1 if loss == "logistic" else 12
    schema = vdp.Schema({"x0": vdp.Bounded(-1, 1), "x1": vdp.Bounded(-1, 1), "y": vdp.Bounded(0, last, step=1)})
    people = pa.table({"x0": x[:, 0], "x1": x[:, 1], "y": y.astype(float)})
    release = vdp.Mechanism(schema, noise=noise).release(people, key=KEY)
    found = vdp.fit(release, "y ~ x0 + x1", loss=loss)
    assert (np.abs(np.asarray(found.params) - truth) < 5 * np.asarray(found.bse)).all()
    assert np.asarray(found.bse).max() < 0.25


def test_a_private_response_of_more_than_two_values_is_refused():
    schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Bounded(0, 1)})
    release = vdp.Mechanism(schema, noise={"x": Window(4.0), "y": Window(4.0)}).release(
        pa.table({"x": np.linspace(-1, 1, 100), "y": np.linspace(0, 1, 100)}), key=KEY
    )
    for loss in ("logistic", "hinge"):
        with pytest.raises(ParameterError, match="two values"):
            vdp.fit(release, "y ~ x", loss=loss)


def test_series_that_are_too_far_off_are_refused(monkeypatch):
    """One wave and a million records: what is left of the loss would shift the estimate by more than its error."""
    release, formula = released([4.0, -4.0], columns(8.0))
    form, seen, theta = at(release, formula, np.array([0.0, 4.0, -4.0]))
    series(Place(form, seen, theta, argument_of(Logistic()), 20_000))
    module = importlib.import_module("versadp.correction.series")
    monkeypatch.setattr(module, "WAVES", 1)
    with pytest.raises(ParameterError, match="too wide"):
        series(Place(form, seen, theta, argument_of(Logistic()), 20_000))


def test_a_fit_that_leaves_its_series_is_no_estimate(monkeypatch):
    release, formula = released([1.0, -1.0], columns(8.0))
    fitting = importlib.import_module("versadp.fitting.solver")
    assert vdp.fit(release, formula, loss="logistic").converged
    monkeypatch.setattr(fitting, "serves", lambda *_: False)
    assert vdp.fit(release, formula, loss="logistic").outcome == "diverged"


@pytest.mark.parametrize("slope", [6.0, 9.0])
def test_steep_slopes(slope):
    """The first guess is a third of the truth, and the series moves along with the slopes."""
    release, formula = released([slope, -slope], columns(8.0), n=50_000)
    found = vdp.fit(release, formula, loss="logistic")
    assert (np.abs(np.asarray(found.params) - [0, slope, -slope]) < 5 * np.asarray(found.bse)).all()
    assert np.asarray(found.bse).max() < 0.1 * slope


def test_a_loss_that_redefines_itself_is_natural_no_more():
    class Tilted(Logistic):
        def value(self, u, y):
            return super().value(u, y) + u**4

        def derivatives(self, u, y, order=4, bandwidth=0.0):
            first, *others = super().derivatives(u, y, order, bandwidth)
            return (first + 4 * u**3, *others)

    release, formula = released([1.0], columns(4.0), n=2000)
    fit = importlib.import_module("versadp.fitting.series_start")
    problem = make_problem(release, formula, Tilted(), None, None)
    assert fit._argument(problem) is None
    assert fit._argument(make_problem(release, formula, Logistic(), None, None)) is not None
