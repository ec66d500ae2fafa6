"""Functions of windowed columns with any smooth loss, and losses of one's own: near what the raw records say."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import versadp as vdp
from versadp.correction import FormulaModel, Projected, Projection
from versadp.engine import Serial
from versadp.errors import ParameterError
from versadp.estimation import Family
from versadp.fitting.models import make_problem
from versadp.fitting.projecting import begun, raised
from versadp.losses import Logistic, as_loss

N = 12_000


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    age = np.clip(rng.normal(45, 12, N), 18, 90)
    income = np.clip(rng.gamma(4, 10, N), 8, 120)
    region, p = rng.choice(list("nes"), N), rng.normal(size=N)
    u = -3 + 0.9 * np.log(age) - 0.2 * np.log(income) + 0.4 * (region == "e") + 0.3 * p
    return pd.DataFrame(
        {
            "age": age,
            "income": income,
            "region": region,
            "p": p,
            "b": (rng.random(N) < 1 / (1 + np.exp(-u))).astype(float),
            "k": rng.poisson(np.exp(0.5 * u)).astype(float),
            "y": u + rng.normal(0, 0.5, N),
        }
    )


COLUMNS = {"age": vdp.Bounded(18, 90), "income": vdp.Bounded(8, 120), "region": vdp.Categorical(list("nes"))}


def released(frame, names, unit="attribute", epsilon=6.0):
    public = ["p", "b", "k", "y"]
    schema = vdp.Schema({name: COLUMNS[name] for name in names} | {name: vdp.Public() for name in public})
    return vdp.calibrate(schema, epsilon=epsilon, unit=unit).release(frame[[*names, *public]], shuffle=False)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("names", "unit", "formula", "loss"),
    [
        (["age"], "attribute", "b ~ np.log(age) + p", "logistic"),
        (["age", "income"], "record", "k ~ np.log(age) + np.log(income)", "poisson"),
        (["age", "region"], "record", "b ~ np.log(age) + C(region, Treatment('n')) + p", "logistic"),
    ],
)
def test_functions_of_columns_find_what_the_raw_records_say(people, names, unit, formula, loss):
    # estimates are within their own standard errors of the raw ones: 5.5 for at most 5 coefficients, three times
    found = vdp.fit(released(people, names, unit), formula, loss=loss, engine="serial")
    raw = {"logistic": smf.logit, "poisson": smf.poisson}[loss](formula, people).fit(disp=0)
    assert "polynomials of degree" in found.header["correction"]
    names = {name: name.replace(", Treatment('n')", "") for name in raw.params.index}
    params, bse = (each.rename(names)[list(found.params.index)] for each in (raw.params, raw.bse))
    assert (np.abs(found.params - params) < 5.5 * found.bse).all()
    assert (found.bse > 0.9 * bse).all()


def test_medians_of_a_function_of_a_column(people):
    found = vdp.fit(released(people, ["age"]), "y ~ np.log(age)", loss="check", engine="serial")
    raw = smf.quantreg("y ~ np.log(age)", people).fit(0.5)
    assert (np.abs(found.params - raw.params) < 5.5 * found.bse).all()


def growth(x, theta):
    return (x[:, 1] - np.exp(theta[0] + theta[1] * np.log(x[:, 0]))) ** 2 / 2


def bend(x, theta):
    return np.abs(x[:, 1] - theta[0] - theta[1] * (x[:, 0] > 40))


def test_a_loss_of_ones_own_on_a_windowed_column(people):
    frame = people.assign(y=np.exp(-2 + 0.7 * np.log(people.age)) + np.random.default_rng(1).normal(0, 0.3, N))
    schema = vdp.Schema({"age": COLUMNS["age"], "y": vdp.Public()})
    release = vdp.calibrate(schema, epsilon=6, unit="attribute").release(frame[["age", "y"]], shuffle=False)
    found = vdp.fit(release, loss=growth, start=np.array([-1.5, 0.6]), engine="serial")
    assert (np.abs(found.params - [-2, 0.7]) < 5.5 * found.bse).all()
    assert (found.bse < 0.2).all()


def test_a_loss_that_no_polynomial_is_near_is_refused(people):
    schema = vdp.Schema({"age": COLUMNS["age"], "y": vdp.Public()})
    release = vdp.calibrate(schema, epsilon=6, unit="attribute").release(people[["age", "y"]], shuffle=False)
    with pytest.raises(ParameterError, match="no polynomial of the noisy columns") as refused:
        vdp.fit(release, loss=bend, start=np.zeros(2), engine="serial")
    assert "kinks" in refused.value.hint


@pytest.fixture(scope="module")
def problem(people):
    return begun(make_problem(released(people, ["age"]), "b ~ np.log(age)", as_loss("logistic"), None, None))


def test_what_a_projection_may_shift_is_what_it_does(people, problem):
    """The fit with low degrees, against one with high ones of the same records: its shift is within the bound."""
    sample, theta = problem.sample(N, 0), np.array([-2.5, 0.7])

    def root(degrees):
        form, at = Projected(problem.model, problem.units, Projection(problem.blocks, degrees)), theta
        family = Family((form,), problem.source, 2, Serial(), 0)
        for _ in range(8):
            now = family.moments(at, np.ones(1))
            at = at - np.linalg.solve(now.hessian, now.score[0])
        return at, np.sqrt(np.diag(now.covariance()))

    best, error = root((20,))
    last = raised(problem, best, sample, Serial(), seed=0, line=None)
    assert 3 < last.degrees[0] < 20
    assert (np.abs(root(last.degrees)[0] - best) < 0.1 * error).all()
    # a straight line is off by far more, which the bound would not have allowed
    assert (np.abs(root((1,))[0] - best) > 0.3 * error).any()


def test_the_hessian_is_the_derivative_of_the_score(problem):
    sample, theta, step = problem.sample(500, 0), np.array([-1.0, 0.4]), np.array([1e-5, -2e-5])
    assert isinstance(problem.model, FormulaModel)
    assert isinstance(problem.model.loss, Logistic)
    form = Projected(problem.model, problem.units, Projection(problem.blocks, (7,)))
    spots = form.prepare(sample, np.random.default_rng(0))
    ahead, behind = (spots.scores(theta + sign * step, hessian=False)[0].sum(axis=0) for sign in (1, -1))
    np.testing.assert_allclose(spots.scores(theta, hessian=True)[1] @ step, (ahead - behind) / 2, rtol=1e-6, atol=1e-8)
