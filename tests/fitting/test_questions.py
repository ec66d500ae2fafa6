"""Everyday questions about terms: years as levels, splines, logarithms at a bound; against statsmodels on raw data."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import versadp as vdp
from versadp.errors import DataError, ParameterError
from versadp.inference import Results


def release_of(people, columns, epsilon=8.0):
    """Return a release in which only the columns named are noisy."""
    schema = {name: columns.get(name, vdp.Public()) for name in people}
    noise = {name: vdp.noise.Window(epsilon=epsilon) for name in columns}
    return vdp.Mechanism(vdp.Schema(schema), noise=noise).release(people)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    n = 6000
    age, year = rng.uniform(18, 90, n), rng.integers(2016, 2020, n)
    y = 1 + np.sin(age / 12) + 0.3 * (year == 2018) + 0.01 * age * (year == 2019) + rng.normal(size=n)
    return pd.DataFrame({"age": age, "year": year, "y": y, "other": rng.uniform(0, 1, n)})


@pytest.fixture(scope="module")
def public(people):
    return release_of(people, {"other": vdp.Bounded(0, 1)})


@pytest.mark.parametrize("formula", ["y ~ C(year)*age", "y ~ C(year) - 1"])
def test_years_are_levels_as_in_statsmodels(people, public, formula):
    ours, theirs = vdp.fit(public, formula), smf.ols(formula, people).fit(cov_type="HC1")
    for name in ours.names:
        assert ours.params[name] == pytest.approx(theirs.params[name], rel=1e-6, abs=1e-9)
        assert ours.bse[name] == pytest.approx(theirs.bse[name], rel=1e-6)


def test_years_beside_a_noisy_number_are_inside_the_interval_of_raw_data(people):
    release = release_of(people, {"age": vdp.Bounded(18, 90)})
    ours, theirs = vdp.fit(release, "y ~ C(year)*age"), smf.ols("y ~ C(year)*age", people).fit()
    ends = ours.conf_int(0.999)
    for name in ours.names:
        assert ends[name][0] < theirs.params[name] < ends[name][1], name
    assert ours.wald_test("C(year):age").df == 3
    assert ours.avg_comparisons("year")[0]["coefficient"] == "year: 2017 - 2016"


def test_levels_of_years_are_kept(people, public, tmp_path):
    fit = vdp.fit(public, "y ~ C(year) + age")
    fit.save(tmp_path / "fit.json")
    back = Results.load(tmp_path / "fit.json")
    assert str(back.anova()) == str(fit.anova())
    assert back.predict({"year": [2018], "age": [30.0]}) == fit.predict({"year": [2018], "age": [30.0]})
    with pytest.raises(ParameterError, match="none of its levels"):
        fit.predict({"year": [2050], "age": [30.0]})
    with pytest.raises(ParameterError, match="not a category"):
        vdp.fit(public, "y ~ C(age)")  # of fractions
    with pytest.raises(ParameterError, match="noisy numbers without C"):
        vdp.fit(public, "y ~ C(other)")


def test_a_year_that_is_new_is_told_at_an_update(people):
    release = release_of(people, {"age": vdp.Bounded(18, 90)})
    early, late = release.frame["year"] < 2019, release.frame["year"] == 2019  # it is shuffled
    old, more = (vdp.Release(release.frame[some], release.mechanism) for some in (early, late))
    fit = vdp.fit(old, "y ~ C(year) + age")
    with pytest.raises(DataError, match="records before had not"):
        fit.update(more)


def test_splines_are_those_of_patsy(people, public):
    spline = "bs(age, knots=(30, 50), degree=3, lower_bound=18, upper_bound=90)"
    ours = vdp.fit(public, f"y ~ {spline} + C(year)")
    theirs = smf.ols(f"y ~ {spline} + C(year)", people).fit(cov_type="HC1")
    assert ours.names[1:6] == tuple(f"{spline}[{k}]" for k in range(5))
    for name in ours.names:
        assert ours.params[name] == pytest.approx(theirs.params[name], rel=1e-5, abs=1e-8)
        assert ours.bse[name] == pytest.approx(theirs.bse[name], rel=1e-5)


def test_a_spline_of_a_noisy_number_covers_that_of_raw_data(people):
    release = release_of(people, {"age": vdp.Bounded(18, 90)}, epsilon=5)
    ours = vdp.fit(release, "y ~ bs(age, knots=(50,), degree=2)")
    theirs = smf.ols("y ~ bs(age, knots=(50,), degree=2, lower_bound=18, upper_bound=90)", people).fit()
    ends = ours.conf_int(0.999).values
    assert ((ends[:, 0] < theirs.params.to_numpy()) & (theirs.params.to_numpy() < ends[:, 1])).all()
    naive = vdp.fit(release, "y ~ bs(age, knots=(50,), degree=2)", method="naive").conf_int(0.999).values
    assert not ((naive[:, 0] < theirs.params.to_numpy()) & (theirs.params.to_numpy() < naive[:, 1])).all()
    assert ours.wald_test("bs(age, knots=(50,), degree=2)").df == 3
    at = {"age": np.array([18.0, 40.0, 90.0])}
    np.testing.assert_allclose(ours.predict(at), theirs.predict(pd.DataFrame(at)), atol=0.5)


@pytest.mark.parametrize(
    ("term", "wrong"),
    [
        ("bs(other, df=5)", "learns from the data"),
        ("bs(other)", "learns from the data"),
        ("bs(other, knots=(2,))", "between 0 and 1"),
        ("bs(other, knots=(0.5, 0.5))", "differ"),
        ("bs(other, knots=(0.5,), degree=9)", "degree"),
        ("bs(other, knots=(0.5,), degree=True)", "degree"),
        ("bs(other, knots='a')", "cannot be read"),
        ("bs(other, knots=(age,))", "cannot be read"),
        ("bs(other, 3)", "cannot be read"),
        ("bs(age, knots=(30,))", "no declared bounds"),
        ("np.log(bs(other, knots=(0.5,)))", "on its own"),
        ("I(spline(other, 99, 1, 0.0, 1.0))", "takes a column and numbers"),
        ("I(spline(other, 1, 1, 0.0, 1.0, 3.0))", "knots must rise"),
        ("I(spline(1, 1, 1, 0.0, 1.0))", "takes a column and numbers"),
    ],
)
def test_splines_that_cannot_be_are_refused(public, term, wrong):
    with pytest.raises(ParameterError, match=wrong):
        vdp.fit(public, f"y ~ {term}")


@pytest.mark.parametrize(
    ("formula", "wrong", "hint"),
    [
        ("np.log(wage) ~ 1", r"log\(0\)", "np.log1p"),
        ("y ~ log(wage)", r"log\(0\)", "np.log1p"),
        ("y ~ np.log(change)", "log of -5", "maximum"),
        ("y ~ I(1 / wage)", "not finite where wage is 0", "maximum"),
    ],
)
def test_logarithms_of_a_bound_say_what_to_write(formula, wrong, hint):
    people = pd.DataFrame({"wage": [1.0, 2.0] * 50, "change": [0.0, 1.0] * 50, "y": [1.0, 3.0] * 50})
    release = release_of(people, {"wage": vdp.Bounded(0, 60), "change": vdp.Bounded(-5, 5)})
    with pytest.raises(ParameterError, match=wrong) as caught:
        vdp.fit(release, formula)
    assert hint in caught.value.hint
