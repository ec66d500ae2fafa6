"""Designs whose columns lie close together are fitted in a basis of their own, and told in the user's."""

import numpy as np
import pyarrow as pa
import pytest

import versadp as vdp
from versadp.fitting import basis
from versadp.fitting.basis import far_apart

pytestmark = pytest.mark.filterwarnings("ignore::versadp.errors.InsecureWarning")  # seeds make runs repeatable


CENTRED = {"year": "I(year - 2010)", "age**2": "(age - 54)**2 / 1000", "np.log(age)": "I(np.log(age) - 3.9)"}


def released(n=4000, scale=0.1, rate=0.2):
    rng = np.random.default_rng(1)
    age, year = rng.integers(18, 91, n).astype(float), np.sort(rng.integers(2000, 2021, n)).astype(float)
    y = 0.1 * age - 0.001 * age**2 + 0.1 * (year - 2010) + rng.normal(size=n)
    schema = vdp.Schema({"age": vdp.Bounded(18, 90), "year": vdp.Public(), "y": vdp.Public()})
    table = pa.table({"age": age, "year": year, "y": y})
    return vdp.Mechanism(schema, scale=scale, exact_rate=rate).release(table, insecure_seed=3)


@pytest.mark.parametrize("formula", ["y ~ age + year", "y ~ age + I(age**2)", "y ~ age + np.log(age)", "y ~ year"])
def test_columns_that_lie_close_together_fit_whatever_their_origin(formula):
    """The same fit as of columns that were centred by hand, in the user's coefficients."""
    release = released()
    found = vdp.fit(release, formula)
    assert found.converged
    for term, centred in CENTRED.items():
        formula = formula.replace(term, centred)
    again = vdp.fit(release, formula)
    assert again.converged
    points = {"age": np.array([20.0, 50.0, 80.0]), "year": np.array([2000.0, 2011.0, 2020.0])}
    one, two = (each.predict(points, interval=0.95) for each in (found, again))
    width = two.upper - two.lower
    assert (np.abs(one.estimate - two.estimate) < 0.02 * width).all()
    assert one.upper - one.lower == pytest.approx(width, rel=0.02)


def test_a_basis_changes_nothing_where_columns_are_far_apart():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(100, 3))
    assert (far_apart(matrix) == np.eye(3)).all()
    twice = np.column_stack([matrix, matrix[:, 0]])
    assert (far_apart(twice) == np.eye(4)).all()  # nothing could tell them apart


def test_estimates_are_equivariant(monkeypatch):
    """A basis that is forced upon a design that needs none gives the same estimates, up to where Newton stops."""
    release = released()
    plain = vdp.fit(release, "y ~ age + I(age * year / 2000)")
    monkeypatch.setattr(basis, "NEAR", 1.0)
    forced = vdp.fit(release, "y ~ age + I(age * year / 2000)")
    assert np.abs(forced.params - plain.params).max() < 0.02 * np.asarray(plain.bse).max()
    assert np.asarray(forced.bse) == pytest.approx(np.asarray(plain.bse), rel=0.01)
