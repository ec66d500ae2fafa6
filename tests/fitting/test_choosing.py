"""Which correction is taken, what is refused as too coarse, and what a fit without an answer says."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.formula.api as smf

import versadp as vdp
from versadp.correction import Records
from versadp.correction.form import Form
from versadp.engine import Serial
from versadp.errors import ParameterError
from versadp.estimation import Diagnostics, Family, sample_size_needed
from versadp.fitting.approximate import few_points
from versadp.fitting.models import make_problem
from versadp.fitting.source import MemorySource
from versadp.losses import Check
from versadp.noise import Window
from versadp_bench.windows import WindowSetting

N = 12_000


@pytest.fixture(scope="module")
def grades():
    rng = np.random.default_rng(0)
    c = rng.integers(0, 4, N).astype(float)
    return pd.DataFrame({"c": c, "y": 1 + 0.5 * c + rng.normal(0, 0.8, N)})


def on_lattice(frame, **column):
    schema = vdp.Schema({"c": vdp.Bounded(0, 3, **column), "y": vdp.Public()})
    return vdp.Mechanism(schema, noise={"c": Window(4.0, cells=3, window=1)}).release(frame)


def test_median_regression_on_a_few_points_takes_the_less_varying_and_says_so(grades):
    release = on_lattice(grades, step=1)
    found, points = (
        vdp.fit(release, "y ~ c", loss="check", method=each, engine="serial") for each in ("efficient", "drcl")
    )
    raw = smf.quantreg("y ~ c", grades).fit(0.5)
    # the two vary nearly alike here: which is taken differs from release to release, that the other is worse does not
    taken, worse = re.fullmatch(
        r"(.*), for .* would have ([\d.]+) times the standard error", found.header["correction"]
    ).groups()
    assert float(worse) >= 1
    assert taken in {"series", "signed points"}
    if taken == "signed points":  # each from a start of its own
        np.testing.assert_allclose(np.asarray(found.params), np.asarray(points.params), rtol=1e-3)
    assert np.abs((np.asarray(found.params) - raw.params.to_numpy()) / np.asarray(found.bse)).max() < 4.5
    assert (np.asarray(found.bse) > 0.9 * raw.bse.to_numpy()).all()  # no correction makes records better than they are


def test_a_window_has_too_many_points_to_choose(grades):
    some, many = (
        on_lattice(grades, step=1),
        vdp.calibrate(vdp.Schema({"c": vdp.Bounded(0, 3), "y": vdp.Public()}), epsilon=4).release(grades),
    )
    problems = [make_problem(each, "y ~ c", Check(), None, None) for each in (some, many)]
    assert [few_points(each) for each in problems] == [True, False]


def test_responses_beyond_the_bend_are_no_atom(grades):
    # the series, with levels so few that an atom would stay one: by a category, which has no points beside a number
    frame = grades.assign(g=np.where(np.random.default_rng(1).random(N) < 0.5, "a", "b"))
    schema = vdp.Schema({"c": vdp.Bounded(0, 3, step=1), "g": vdp.Categorical(["a", "b"]), "y": vdp.Public()})
    release = vdp.calibrate(schema, epsilon=12, unit="attribute").release(frame)
    found = vdp.fit(release, "y ~ c + C(g)", loss="check", engine="serial")
    raw = smf.quantreg("y ~ c + C(g)", frame).fit(0.5).params[["Intercept", "c", "C(g)[T.b]"]]
    assert "kinks smoothed over" in found.header
    # epsilon 12 keeps nearly all, so that what is left is how far the series is off: with an atom many standard errors
    assert np.abs((np.asarray(found.params) - raw.to_numpy()) / np.asarray(found.bse)).max() < 2.5


@pytest.fixture(scope="module")
def line():
    rng = np.random.default_rng(2)
    x = np.clip(rng.normal(0, 0.5, N), -1, 1)
    return pd.DataFrame({"x": x, "y": 1 + x + rng.normal(0, 0.8, N), "b": rng.random(N) < 1 / (1 + np.exp(-2 * x))})


def released(frame, cells, **column):
    schema = vdp.Schema({"x": vdp.Bounded(-1, 1, **column), "y": vdp.Public(), "b": vdp.Public()})
    return vdp.Mechanism(schema, noise={"x": Window(6.0, cells=cells, window=1)}).release(frame)


@pytest.mark.parametrize(("formula", "loss"), [("y ~ x", "squared"), ("b ~ x", "logistic")])
def test_a_lattice_that_is_too_coarse_is_refused(line, formula, loss):
    with pytest.raises(ParameterError, match=r"lattice is too coarse: undoing .*x.* would move x by") as refused:
        vdp.fit(released(line, 3), formula, loss=loss, engine="serial")
    assert "declare its step" in refused.value.hint
    assert vdp.fit(released(line, 40), formula, loss=loss, engine="serial").converged


def test_values_on_the_lattice_are_not_refused(line):
    rounded = line.assign(x=np.rint((line.x + 1) * 1.5) / 1.5 - 1)
    found = vdp.fit(released(rounded, 3, step=2 / 3), "y ~ x")
    raw = smf.ols("y ~ x", rounded).fit()
    assert np.abs((np.asarray(found.params) - raw.params.to_numpy()) / np.asarray(found.bse)).max() < 4.5


def test_the_refusal_knows_by_how_much_rounding_moves_a_slope(line):
    # least squares of the rounded column against that of the column itself, without noise
    rounded = line.assign(x=np.rint((line.x + 1) * 3) / 3 - 1)
    slopes = [smf.ols("y ~ x", each).fit().params["x"] for each in (line, rounded)]
    with pytest.raises(ParameterError) as refused:
        vdp.fit(released(line, 6), "y ~ x")
    told = float(str(refused.value).split("would move x by ")[1].split(" standard")[0])
    error = vdp.fit(released(rounded, 6, step=1 / 3), "y ~ x").bse["x"]
    assert told * error == pytest.approx(slopes[0] - slopes[1], rel=0.25)


class Bent(Form):
    """A form whose records have curvatures of their own, and nothing else."""

    names = ("bent",)

    def __init__(self, bends):
        self.bends = bends

    def prepare(self, records, rng):
        return self.bends

    def evaluate(self, bends, theta, mix, *, hessian):
        return (bends[:, None] * theta)[:, None], np.eye(1) * bends.sum()


@pytest.mark.parametrize(("t", "wanted"), [(9.0, 4900.0), (-0.3, 1e6), (-50.0, np.inf)])
def test_sample_size_needed_are_those_that_make_curvature_seven_errors(t, wanted):
    # curvatures of 10,000 records, t errors from 0: 7 errors take (7/(t + 1))² times as many, for a mean an error above
    mean = t / 9999**0.5
    bends = np.tile([mean - 1, mean + 1], 5000)
    family = Family((Bent(bends),), MemorySource((Records(np.zeros((10_000, 1))),)), 1, Serial(), 0)
    asked = Diagnostics(family, family, family, family, np.eye(1), (np.arange(1),), np.zeros(1))
    assert sample_size_needed(asked, 10_000) == pytest.approx(wanted)


@pytest.mark.slow
def test_a_fit_without_an_answer_says_how_many_records_it_takes():
    row = WindowSetting("logistic", "record", 4.0, 6, (np.inf, np.inf), n=10_000)
    release = row.mechanism.release(pa.table(row.data(np.random.default_rng(0))))
    found = vdp.fit(release, row.formula, loss="logistic", engine="serial")
    assert not found.converged
    assert "exact_rate" not in found.advice
    assert "larger epsilon" in found.advice
    assert "records" in found.advice.split(";")[1]


def growth(x, theta):
    return (x[:, 1] - theta[0] - np.exp(theta[1] * x[:, 0])) ** 2 / 2


@pytest.mark.parametrize("loss", ["squared", "logistic", "own"])
def test_functions_of_a_column_on_too_coarse_a_lattice_are_refused(line, loss):
    def fitted(cells):
        release = released(line, cells)
        if loss == "own":
            return vdp.fit(release, loss=growth, start=np.array([0.0, 0.5]), engine="serial")
        return vdp.fit(release, f"{'y' if loss == 'squared' else 'b'} ~ np.exp(x)", loss=loss, engine="serial")

    with pytest.raises(ParameterError, match="lattice is too coarse"):
        fitted(3)
    assert fitted(40).converged


def test_the_refusal_knows_by_how_much_rounding_moves_a_function(line):
    rounded = line.assign(x=np.rint((line.x + 1) * 2) / 2 - 1)
    slopes = [
        smf.logit("b ~ np.exp(x)", each.astype(float)).fit(disp=0).params["np.exp(x)"] for each in (line, rounded)
    ]
    with pytest.raises(ParameterError) as refused:
        vdp.fit(released(line, 4), "b ~ np.exp(x)", loss="logistic", engine="serial")
    told = float(re.search(r"by ([\d.]+) standard", str(refused.value)).group(1))
    error = vdp.fit(released(rounded, 4, step=1 / 2), "b ~ np.exp(x)", loss="logistic", engine="serial").bse[
        "np.exp(x)"
    ]
    assert told * error == pytest.approx(slopes[0] - slopes[1], rel=0.35)
