"""Wald tests and constraints in words."""

import numpy as np
import pytest
from scipy import stats

from versadp.errors import EstimationError, ParameterError
from versadp.inference.chi_square import WaldTest
from versadp.inference.wald import read_constraints, wald

NAMES = ("Intercept", "age", "age:income", "np.where(a, b, c)", "voltage", "two words", "I(age == 3)")


def row(**weights):
    return [weights.get(name, 0.0) for name in ("i", "a", "x", "w", "v", "t", "e")]


@pytest.mark.parametrize(
    ("words", "matrix", "right"),
    [
        ("age", [row(a=1)], [0]),
        ("age = 0", [row(a=1)], [0]),
        ("0 = age", [row(a=-1)], [0]),
        ("age = voltage", [row(a=1, v=-1)], [0]),
        ("age:income = age", [row(x=1, a=-1)], [0]),
        ("np.where(a, b, c) = 1, age = 2", [row(w=1), row(a=1)], [1, 2]),
        ("np.where(a, b, c)", [row(w=1)], [0]),
        ("I(age == 3) = 3", [row(e=1)], [3]),
        ("2*age - two words/4 + 1 = -voltage * 3 + 1.5e1", [row(a=2, t=-0.25, v=3)], [14]),
        ("age + age - .5 = 0", [row(a=2)], [0.5]),
        ("- age = - 1", [row(a=-1)], [-1]),
        ("age + voltage", [row(a=1, v=1)], [0]),
    ],
)
def test_constraints_in_words(words, matrix, right):
    R, q = read_constraints(words, 0, NAMES)
    np.testing.assert_array_equal(R, matrix)
    np.testing.assert_allclose(q, right, rtol=1e-15)


def test_constraints_as_names_and_numbers():
    R, q = read_constraints(["age", "voltage"], [1.0, 2.0], NAMES)
    np.testing.assert_array_equal(R, [row(a=1), row(v=1)])
    np.testing.assert_array_equal(q, [1, 2])
    np.testing.assert_array_equal(read_constraints("age", 3, NAMES)[1], [3])
    np.testing.assert_array_equal(read_constraints(np.eye(7)[1], 3, NAMES)[0], np.eye(7)[1:2])
    np.testing.assert_array_equal(read_constraints(np.eye(7)[:3], 3, NAMES)[1], [3, 3, 3])


@pytest.mark.parametrize(
    ("R", "q"),
    [
        ("", 0),
        ("income = 0", 0),
        ("volt = 0", 0),
        ("age = 0 = voltage", 0),
        ("age =", 0),
        ("age,", 0),
        ("age voltage = 0", 0),
        ("age * voltage = 0", 0),
        ("age / 0 = 1", 0),
        ("age ** 2 = 1", 0),
        (np.eye(3), 0),
        (np.zeros((0, 7)), 0),
        (np.full((1, 7), np.nan), 0),
        (np.zeros((1, 2, 7)), 0),
        ([[1, "a"]], 0),
        (None, 0),
        ("age", [1, 2]),
        ("age", "x"),
        ("age", np.nan),
    ],
)
def test_constraints_that_cannot_be_read(R, q):
    with pytest.raises(ParameterError):
        read_constraints(R, q, NAMES)


def test_one_constraint_is_the_square_of_z():
    result = wald(np.array([1.2, 5.0]), np.diag([0.25, 4.0]), np.array([[1.0, 0.0]]), np.array([0.2]))
    assert result.statistic == pytest.approx(4.0, rel=1e-14)
    assert result.pvalue == pytest.approx(2 * stats.norm.sf(2), rel=1e-12)


def test_the_statistic_does_not_depend_on_how_the_constraints_are_written():
    """The same hypothesis in other units, other combinations and another parametrisation."""
    rng = np.random.default_rng(0)
    root, params = rng.normal(size=(4, 4)), rng.normal(size=4)
    cov, R, q = root @ root.T, rng.normal(size=(2, 4)), rng.normal(size=2)
    first = wald(params, cov, R, q)
    mix, units = rng.normal(size=(2, 2)), np.diag([1e-9, 1.0, 1e7, 3.0])
    assert wald(params, cov, mix @ R, mix @ q).statistic == pytest.approx(first.statistic, rel=1e-8)
    inverse = np.linalg.inv(units)
    other = wald(units @ params, units @ cov @ units, R @ inverse, q)
    assert other.statistic == pytest.approx(first.statistic, rel=1e-8)


def test_level_under_the_hypothesis():
    """Rejections at 5% among 20,000 draws: 6 standard errors are 0.0092, passed by chance once in 5e8."""
    rng = np.random.default_rng(3)
    root = np.array([[1.0, 0.0, 0.0], [0.8, 0.3, 0.0], [-0.4, 0.2, 2.0]])
    cov, R = root @ root.T, np.array([[1.0, -1.0, 0.0], [0.0, 1.0, 1.0]])
    truth = np.array([1.0, 2.0, 3.0])
    draws = truth + rng.normal(size=(20_000, 3)) @ root.T
    rejected = np.mean([wald(theta, cov, R, R @ truth).pvalue < 0.05 for theta in draws[:2000]])
    assert abs(rejected - 0.05) < 6 * np.sqrt(0.05 * 0.95 / 2000)
    # the control: variances without their covariances are not enough
    wrong = np.mean([wald(theta, np.diag(np.diag(cov)), R, R @ truth).pvalue < 0.05 for theta in draws[:2000]])
    assert abs(wrong - 0.05) > 6 * np.sqrt(0.05 * 0.95 / 2000)


def test_constraints_that_cannot_be_tested():
    params, cov = np.array([1.0, 2.0]), np.eye(2)
    for R in ([[1.0, 0.0], [2.0, 0.0]], [[0.0, 0.0]], np.eye(2)[[0, 1, 0]]):
        with pytest.raises(ParameterError, match="repeat or contradict"):
            wald(params, cov, np.array(R), np.zeros(len(R)))
    with pytest.raises(EstimationError, match="not positive definite"):
        wald(params, np.array([[1.0, 2.0], [2.0, 1.0]]), np.eye(2), np.zeros(2))
    with pytest.raises(EstimationError, match="variance of a constraint is 0"):
        wald(params, np.zeros((2, 2)), np.eye(2), np.zeros(2))


def test_a_test_in_words():
    assert str(WaldTest(5.0, 2, 0.082)) == "Wald test: chi-square 5 with 2 degrees of freedom, p = 0.082"
    assert WaldTest(5.0, 2, 0.082).to_dict() == {"statistic": 5.0, "df": 2, "pvalue": 0.082}
