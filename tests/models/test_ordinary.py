"""Ordinary designs fit: a year, a square, a logarithm. Columns that nearly coincide are no lack of information."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import versadp as vdp
from versadp.models.basis import apart

KEY = bytes(range(7, 39))
FORMULAS = ("y ~ age + year", "y ~ age + I(age**2)", "y ~ age + np.log(age)", "y ~ age + year + I(year**2)")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    n = 5000
    age, year = np.round(rng.uniform(18, 90, n)), rng.integers(2000, 2021, n).astype(float)
    u = 0.03 * (age - 50) + 0.1 * (year - 2010) + 0.0003 * (age - 50) ** 2
    return pd.DataFrame({"age": age, "year": year, "y": 1 + u + rng.normal(size=n), "b": rng.random(n) < 0.5 + u / 20})


def released(people, scale, exact_rate):
    schema = {"age": vdp.Bounded(18, 90), "year": vdp.Public(), "y": vdp.Public(), "b": vdp.Public()}
    return vdp.Mechanism(vdp.Schema(schema), scale, exact_rate).release(people, key=KEY)


@pytest.fixture(scope="module")
def clean(people):
    """Noise so small, and so rare, that it cannot be seen beyond a millionth of a standard error."""
    return released(people, 1e-6, 1 - 1e-6)


@pytest.fixture(scope="module")
def noisy(people):
    return released(people, 0.1, 0.2)


@pytest.mark.parametrize("formula", FORMULAS)
def test_clean_records_give_what_statsmodels_gives(people, clean, formula):
    found, plain = vdp.fit(clean, formula), smf.ols(formula, people).fit()
    assert found.converged
    assert (np.abs(np.asarray(found.params) - plain.params.to_numpy()) < 1e-4 * plain.bse.to_numpy()).all()
    robust = smf.ols(formula, people).fit(cov_type="HC0").bse.to_numpy()
    assert np.asarray(found.bse) == pytest.approx(robust, rel=0.01)


@pytest.mark.parametrize("formula", FORMULAS)
def test_noisy_records_give_it_too(people, noisy, formula):
    """Six standard errors: what is left between the two fits is noise alone, which is less than that."""
    found, plain = vdp.fit(noisy, formula), smf.ols(formula, people).fit()
    assert found.converged
    assert (np.abs(np.asarray(found.params) - plain.params.to_numpy()) < 6 * np.asarray(found.bse)).all()
    assert (np.asarray(found.bse) < 3 * plain.bse.to_numpy()).all()


@pytest.mark.parametrize("loss", ["logistic", "check", "huber"])
def test_other_losses(noisy, loss):
    formula = "b ~ age + year" if loss == "logistic" else "y ~ age + year"
    found = vdp.fit(noisy, formula, loss=loss)
    assert found.converged
    assert 0 < found.params["year"] < 0.2


def test_columns_that_coincide_are_refused(people):
    """What a basis must not do is to hide that a design has no full rank."""
    both = people.assign(twice=2 * people["year"])
    schema = vdp.Schema({"age": vdp.Bounded(18, 90)} | {name: vdp.Public() for name in ("year", "twice", "y", "b")})
    release = vdp.Mechanism(schema, 0.1, 0.2).release(both, key=KEY)
    assert vdp.fit(release, "y ~ age + year + twice").outcome == "indefinite"


def test_a_basis_is_for_near_columns_alone():
    rng = np.random.default_rng(0)
    far = np.stack([np.ones(100), rng.normal(size=100)], axis=1)
    assert (apart(far) == np.eye(2)).all()
    near = np.stack([np.ones(100), 2010 + 6 * far[:, 1]], axis=1)
    cosines = (near @ apart(near)).T @ (near @ apart(near)) / 100
    assert cosines == pytest.approx(np.eye(2), abs=1e-8)
    assert (apart(np.stack([far[:, 1], 2 * far[:, 1]], axis=1)) == np.eye(2)).all()
