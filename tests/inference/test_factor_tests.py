"""Tests of whole terms, ANOVA tables and nested models, against statsmodels."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from statsmodels.stats.anova import anova_lm

import versadp as vdp
from versadp.errors import EstimationError, NoSuchName, ParameterError
from versadp.inference import Results

FORMULA = "y ~ C(region)*age + inc"


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 4000
    region, age = rng.choice(list("nesw"), n, p=[0.4, 0.3, 0.2, 0.1]), rng.uniform(18, 90, n)
    inc = rng.uniform(0, 5, n)
    noise = rng.normal(size=n) * (1 + age / 50)
    y = 1 + 0.02 * age + 0.1 * inc + 0.3 * (region == "w") + 0.004 * age * (region == "e") + noise
    return pd.DataFrame({"region": region, "age": age, "inc": inc, "y": y, "other": rng.uniform(0, 1, n)})


@pytest.fixture(scope="module")
def public(people):
    """A release in which only a column that no model uses is noisy: fits are those of statsmodels."""
    columns = {name: vdp.Public() for name in ("region", "age", "inc", "y")}
    mechanism = vdp.Mechanism(vdp.Schema({"other": vdp.Bounded(0, 1)} | columns), scale=0.1, exact_rate=0.1)
    return mechanism.release(people)


def f_column(table):
    return {row["term"]: row["F"] for row in table}


@pytest.mark.parametrize("typ", [2, 3])
def test_anova_is_that_of_statsmodels_with_its_robust_covariance(people, public, typ):
    ours = f_column(vdp.fit(public, FORMULA).anova(typ, test="F"))
    theirs = anova_lm(smf.ols(FORMULA, people).fit(), typ=typ, robust="hc1")["F"]
    for term, value in ours.items():
        assert value == pytest.approx(theirs[term], rel=1e-6)
    if typ == 2:  # the other type is another test: a negative control
        wrong = f_column(vdp.fit(public, FORMULA).anova(3, test="F"))
        assert abs(wrong["age"] / theirs["age"] - 1) > 0.5


def test_terms_are_those_of_statsmodels(people, public):
    ours, theirs = vdp.fit(public, FORMULA), smf.ols(FORMULA, people).fit(cov_type="HC1")
    for row in theirs.wald_test_terms(scalar=True).table.itertuples():
        found = ours.wald_test(row.Index)
        assert (found.statistic, found.df) == (pytest.approx(row.statistic, rel=1e-6), row.df_constraint)
    assert ours.wald_test("region:age") == ours.wald_test("age:C(region)") == ours.wald_test("C(region):age")
    assert ours.wald_test(["C(region)", "inc"]).df == 4
    f = ours.f_test("C(region)")
    hypothesis = ", ".join(f"C(region)[T.{level}] = 0" for level in "nsw")
    same = theirs.f_test(hypothesis)
    assert f.fvalue == pytest.approx(float(same.statistic), rel=1e-6)
    assert f.pvalue == pytest.approx(float(same.pvalue), rel=1e-3)
    assert (f.df_num, f.df_denom) == (same.df_num, same.df_denom)
    assert len(ours.t_test("C(region)")) == 3


def test_the_same_statistic_from_the_same_estimate_and_covariance_of_noisy_records(people):
    schema = {"age": vdp.Bounded(18, 90), "region": vdp.Categorical(list("nesw")), "y": vdp.Public()}
    noise = {name: vdp.noise.Window(epsilon=7) for name in ("age", "region")}
    release = vdp.Mechanism(vdp.Schema(schema), noise=noise).release(people[list(schema)])
    fit = vdp.fit(release, "y ~ age + C(region)")
    rows = [j for j, name in enumerate(fit.names) if name.startswith("C(region)")]
    theta, cov = fit.params.values[rows], fit.cov_params().values[np.ix_(rows, rows)]
    assert fit.wald_test("C(region)").statistic == pytest.approx(theta @ np.linalg.solve(cov, theta), rel=1e-9)
    assert fit.anova()["C(region)"]["chi2"] == fit.wald_test("C(region)").statistic
    raw = smf.ols("y ~ age + C(region, Treatment('n'))", people).fit()
    low, high = fit.conf_int(0.999)["age"]
    assert low < raw.params["age"] < high
    small = vdp.fit(release, "y ~ age")
    assert fit.compare(small) == fit.wald_test("C(region)")
    with pytest.raises(ParameterError, match="not nested"):
        small.compare(fit)
    with pytest.raises(ParameterError, match="response"):
        fit.compare(vdp.fit(release, "I(y * 2) ~ age"))


def test_results_from_a_file_know_their_terms(public, tmp_path):
    fit = vdp.fit(public, FORMULA)
    fit.save(tmp_path / "fit.json")
    assert str(Results.load(tmp_path / "fit.json").anova()) == str(fit.anova())
    assert fit.anova().to_pandas().loc["inc", "df"] == 1
    with pytest.raises(NoSuchName, match="did you mean"):
        fit.anova()["incc"]


def test_what_cannot_be_tested_is_refused(public):
    fit = vdp.fit(public, "y ~ age")
    for wrong in ({"typ": 1}, {"typ": None}, {"typ": 2.0}, {"test": "t"}):
        with pytest.raises(ParameterError):
            fit.anova(**wrong)
    with pytest.raises(ParameterError, match="cannot read"):
        fit.wald_test("C(region)")
    with pytest.raises(EstimationError, match="no likelihood"):
        _ = fit.aic
    with pytest.raises(EstimationError, match="no likelihood"):
        fit.lr_test("age")
    with pytest.raises(ParameterError, match="smaller fit"):
        fit.compare("y ~ 1")
    with pytest.raises(EstimationError, match="beside the intercept"):
        vdp.fit(public, "y ~ 1").anova()


def test_covariances_by_the_names_of_statsmodels(people, public):
    ours, theirs = vdp.fit(public, "y ~ age", cov_type="HC1"), smf.ols("y ~ age", people).fit(cov_type="HC1")
    np.testing.assert_allclose(ours.bse.values, theirs.bse.values, rtol=1e-6)
    assert vdp.fit(public, "y ~ age", groups="region").bse.values.tolist() == (
        vdp.fit(public, "y ~ age", groups="region", cov_type="cluster").bse.values.tolist()
    )
    for name in ("nonrobust", "HC0", "HC2", "HC3", "HAC"):
        with pytest.raises(ParameterError, match="HC1"):
            vdp.fit(public, "y ~ age", cov_type=name)


@pytest.mark.full
def test_likelihood_ratio_is_that_of_records_without_noise():
    rng = np.random.default_rng(3)
    n = 3000
    x, w = rng.choice(list("abc"), n), rng.integers(0, 2, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-(-0.3 + 0.4 * (x == "b") + 0.2 * w)))).astype(int)
    people = pd.DataFrame({"x": x, "w": w, "y": y})
    schema = vdp.Schema({"x": vdp.Categorical(list("abc")), "w": vdp.Public(), "y": vdp.Public()})
    release = vdp.Mechanism(schema, noise={"x": vdp.noise.Window(epsilon=20)}).release(people)
    large = vdp.fit(release, "y ~ C(x) + w", loss="logistic", method="likelihood")
    small = vdp.fit(release, "y ~ C(x)", loss="logistic")
    raw = [smf.logit(formula, people).fit(disp=0) for formula in ("y ~ C(x) + w", "y ~ w", "y ~ C(x)")]
    assert large.lr_test("C(x)").statistic == pytest.approx(2 * (raw[0].llf - raw[1].llf), abs=1e-2)
    assert large.lr_test("w").statistic == pytest.approx(2 * (raw[0].llf - raw[2].llf), abs=1e-2)
    assert large.lr_test(["w", "C(x)"]).df == 3
    both = vdp.fit(release, "y ~ C(x) * w", loss="logistic", method="likelihood")
    theirs = smf.logit("y ~ C(x) * w", people).fit(disp=0)
    assert large.aic - both.aic == pytest.approx(raw[0].aic - theirs.aic, abs=1e-2)
    assert both.compare(large).statistic == pytest.approx(2 * (theirs.llf - raw[0].llf), abs=1e-2)
    with pytest.raises(ParameterError, match="differ in their method"):
        large.compare(small)
    with pytest.raises(ParameterError, match="terms or coefficients"):
        large.lr_test("z")
