"""Formulas: what a design says of its terms, what it evaluates to, and what is refused."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from formulaic import Formula
from formulaic.transforms import TRANSFORMS

import versadp as vdp
from versadp.errors import ParameterError
from versadp.formula.design import make_design
from versadp.formula.expression import LEARNING, parse_expression
from versadp.formula.terms import Terms

SCHEMA = vdp.Schema(
    {
        "age": vdp.Bounded(18, 90),
        "region": vdp.Categorical(["n", "s"]),
        "income": vdp.Bounded(0, 5e5),
        "y": vdp.Public(),
        "w": vdp.Public(),
        "two words": vdp.Public(),
    },
    id="pid",
)


def points(rows=50):
    """Return arbitrary points, many of them outside the domain."""
    rng = np.random.default_rng(0)
    names = [name for name in SCHEMA.columns if name != "region"]
    return {name: rng.normal(1, 2, rows) for name in names}


@pytest.mark.parametrize(
    ("formula", "columns", "response"),
    [
        ("y ~ age + income", (-1, 0, 1), -1),
        ("y ~ 0 + age + w", (0, -1), -1),
        ("y ~ age - 1", (0,), -1),
        ("y ~ 1", (-1,), -1),
        ("y ~ np.log1p(income) + age", (-1, -2, 0), -1),
        ("y ~ age:income", (-1, -2), -1),
        ("y ~ age:y", (-1, -2), -1),
        ("y ~ I(age ** 2)", (-1, -2), -1),
        ("y ~ I(age) + {income}", (-1, 0, 1), -1),
        ("y ~ np.log(w) + w:`two words`", (-1, -1, -1), -1),
        ("y ~ age * w", (-1, 0, -1, -2), -1),
        ("np.log(y) ~ age", (-1, 0), -1),
        ("{y / w} ~ age", (-1, 0), -1),
        ("income ~ age + y", (-1, 0, -1), 1),
        ("np.log(income) ~ age", (-1, 0), -2),
        ("{income + w} ~ age", (-1, 0), -2),
        ("income:w ~ age", (-1, 0), -2),
        ("`two words` ~ age", (-1, 0), -1),
    ],
)
def test_terms_are_told_apart(formula, columns, response):
    design = make_design(formula, SCHEMA)
    assert design.columns == columns
    assert design.response == response
    assert design.linear == (-2 not in (*columns, response))
    assert len(design.names) == len(columns)


def test_names_and_columns_used():
    design = make_design("{y * w} ~ np.log1p(income) + `two words` + age:w", SCHEMA)
    assert design.names == ("Intercept", "np.log1p(income)", "two words", "age:w")
    assert design.response_name == "y * w"
    assert design.used == ("age", "income", "y", "w", "two words")
    assert make_design("y ~ 1", SCHEMA).used == ("y",)


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ age + income + w",
        "y ~ 0 + age",
        "y ~ age * income * w",
        "y ~ (age + income + w) ** 2 - age:w",
        "y ~ np.log1p(abs(income)) + np.exp(age / 10) + I(age ** 2)",
        "np.exp(y) ~ age / w",
        "income ~ np.log(`two words`) + {age + 2 * w}",
        "y ~ I((age > 1) & (w < 2)) + np.where(age > 0, w, -1.5) + np.clip(age, 0, 1)",
        "y ~ np.maximum(age, 0) + np.minimum(w, np.pi) + log(w) + log10(w) + exp(w)",
        "y ~ -1 + I(-age) + I(age % 2) + I(age // 2) + I(+w)",
        "y ~ 1",
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # logs of what is not positive are the case
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")  # as above
def test_agrees_with_formulaic(formula):
    data = points()
    matrix, response = make_design(formula, SCHEMA).evaluate(data)
    theirs = Formula(formula).get_model_matrix(pd.DataFrame(data), na_action="ignore", output="numpy")
    assert make_design(formula, SCHEMA).names == tuple(theirs.rhs.model_spec.column_names)
    np.testing.assert_allclose(matrix, np.asarray(theirs.rhs, dtype=float), rtol=1e-14)
    np.testing.assert_allclose(response, np.asarray(theirs.lhs, dtype=float)[:, 0], rtol=1e-14)


@pytest.mark.parametrize(
    "right",
    [
        "C(a)",
        "C(a) - 1",
        "C(a, contr.treatment('s'))",
        "C(a, contr.sum) * w",
        "C(a, contr.helmert) + C(b)",
        "C(a, contr.diff):w",
        "C(a, contr.poly)",
        "C(a, contr.SAS)",
        "C(a, {'one': [1, 0, -1], 'two': [0, 2, 1]})",
        "C(a, [[1, 0], [0, 1], [-1, -1]])",
        "C(a) * C(b) * w",
        "C(a):C(b)",
        "C(a):C(b) - 1",
        "w + C(a):w + C(b):C(a):w",
    ],
)
def test_codings_agree_with_formulaic(right):
    """The same columns, up to their order and the names of codings."""
    rng, a, b = np.random.default_rng(0), ["n", "e", "s"], [0, 1]
    data = {"a": rng.choice(a, 60), "b": rng.choice(b, 60), "w": rng.normal(size=60), "y": np.zeros(60)}
    schema = vdp.Schema({"a": vdp.Categorical(a), "b": vdp.Categorical(b), "w": vdp.Public(), "y": vdp.Public()})
    ours = make_design(f"y ~ {right}", schema).terms.matrix(data)
    frame = pd.DataFrame(data).assign(a=pd.Categorical(data["a"], a), b=pd.Categorical(data["b"], b))
    theirs = Formula(f"y ~ {right}").get_model_matrix(frame, output="numpy").rhs
    assert ours.shape == theirs.shape
    both = [np.array(sorted(np.asarray(m, dtype=float).T.tolist())) for m in (ours, theirs)]
    if right == "C(a):C(b)":  # formulaic leaves out other levels: the same space
        assert np.linalg.matrix_rank(np.hstack([ours, theirs])) == ours.shape[1]
    else:
        np.testing.assert_allclose(*both, atol=1e-12)


def test_no_row_is_dropped_and_what_is_not_finite_is_nan():
    data = {"age": np.array([-1.0, 0.0, 1.0]), "y": np.zeros(3)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        matrix, _ = make_design("y ~ np.log(age) + I(1 / age) + np.sqrt(age)", SCHEMA).evaluate(data)
    np.testing.assert_array_equal(matrix[:, 1:], [[np.nan, -1, np.nan], [np.nan, np.nan, 0], [0, 1, 1]])


def test_what_is_evaluated_belongs_to_the_caller():
    data = {name: values.copy() for name, values in points().items()}
    matrix, response = make_design("y ~ age", SCHEMA).evaluate(data)
    matrix[:], response[:] = 0, 0
    for name, values in points().items():
        np.testing.assert_array_equal(data[name], values)


def test_one_record_at_a_time():
    """A row's value does not depend on the other rows: what makes the correction unbiased."""
    design = make_design("y ~ np.log1p(income) * age + np.where(w > 0, w, age)", SCHEMA)
    data = points()
    whole, _ = design.evaluate(data)
    for rows in (slice(0, 7), slice(20, 21), slice(None, None, -1)):
        part, _ = design.evaluate({name: values[rows] for name, values in data.items()})
        np.testing.assert_allclose(part, whole[rows], rtol=1e-14)  # vector units round differently at the ends


def test_whole_numbers_and_truth_values_are_numbers():
    matrix, response = make_design("y ~ age + w", SCHEMA).evaluate(
        {"age": np.array([20, 30]), "w": np.array([True, False]), "y": np.array([1, 0], dtype=np.int8)}
    )
    assert matrix.dtype == response.dtype == np.float64
    np.testing.assert_array_equal(matrix, [[1, 20, 1], [1, 30, 0]])


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("", "must be text"),
        (None, "must be text"),
        ("age", "left and a right side"),
        ("~ age", "left and a right side"),
        ("y ~ age ~ w", "left and a right side"),
        ("y ~", "right side of the formula is empty"),
        ("y ~ 0", "right side of the formula is empty"),
        ("y ~ -1", "right side of the formula is empty"),
        ("y ~ age +", "cannot be read"),
        ("y ~ np.log(age", "cannot be read"),
        ("y ~ 3 * age", "cannot be read"),
        ("y ~ [age ~ w]", "cannot be read"),
        ("y ~ I(" + "-" * 5000 + "age)", "cannot be read"),
        ("y ~ .", "must name its columns"),
        ("y ~ age | w", "cannot have |"),
        ("y + w ~ age", "must be one response"),
        ("1 ~ age", "must be one response"),
        ("I(2) ~ age", "must be one response"),
        ("y ~ nope + age", "not there: 'nope'"),
        ("nope ~ age", "not there: 'nope'"),
        ("y ~ np.log(nope)", "not there: 'nope'"),
        ("y ~ pid", "id column"),
        ("y ~ I(region == 'north')", "no level of 'region'"),
        ("y ~ C(age)", "not a category"),
        ("y ~ C(w)", "'w' in C() is not a category"),
        ("y ~ np.log(C(region))", "C() stands on its own"),
        ("y ~ C(region, contr.orthogonal)", "cannot be read"),
        ("y ~ C(region, treatment('nowhere'))", "none of its levels"),
        ("y ~ age + age", "repeats age"),
        ("y ~ w + age ** 2", "not a power of a column"),
        ("y ~ age^2", "not a power of a column"),
        ("y ~ age:age", "not a power of a column"),
        ("y ~ age + I(age)", "stands in the formula already"),
        ("y ~ np.log(w) + I(np.log(w))", "stands in the formula already"),
        ("y ~ age + y", "is the response"),
        ("y ~ I(3)", "uses no column"),
        ("y ~ np.mean(age)", "one record at a time"),
        ("y ~ np.cumsum(age)", "one record at a time"),
        ("y ~ np.add.reduce(age)", "one record at a time"),
        ("y ~ np.matmul(age, age)", "one record at a time"),
        ("y ~ age.mean()", "one record at a time"),
        ("y ~ sum(age)", "one record at a time"),
        ("y ~ {age[0]}", "cannot hold a subscript"),
        ("y ~ {age.size}", "cannot hold a method or attribute"),
        ("y ~ np.log(age, where=w)", "plain arguments"),
        ("y ~ np.where(18 < age < 40, 1, 0)", "condition like this"),
        ("y ~ {1 if w else age}", "condition like this"),
        ("y ~ {[z for z in age]}", "cannot hold"),
        ("y ~ {'text'}", "cannot hold a text"),
        ("y ~ {age @ w}", "cannot hold"),
        ("y ~ {age + 1j}", "cannot hold"),
    ],
)
def test_refuses(formula, words):
    with pytest.raises(ParameterError) as caught:
        make_design(formula, SCHEMA)
    assert words in str(caught.value)
    assert caught.value.hint or "served" in words
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(LEARNING))
def test_transforms_that_learn_are_refused(name):
    with pytest.raises(ParameterError, match="learns from the data"):
        make_design(f"y ~ {name}(age)", SCHEMA)


def test_every_stateful_transform_of_formulaic_is_known():
    stateful = {name for name, f in TRANSFORMS.items() if getattr(f, "__is_stateful_transform__", False)}
    assert {"scale", "bs", "poly"} <= stateful
    for name in stateful:
        with pytest.raises(ParameterError):
            make_design(f"y ~ {name}(age)", SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').getcwd()",
        "().__class__.__bases__",
        "np.load(age)",
        "np.lib.format(age)",
        "(lambda: age)()",
        "open(age)",
        "eval(age)",
        "f'{age}'",
        "(x := age)",
        "np.__dict__",
    ],
)
def test_no_python_beyond_arithmetic(text):
    with pytest.raises(ParameterError):
        parse_expression(text)
    with pytest.raises(ParameterError):
        Terms(("a",), ((text,),))


def test_constants_cannot_stall():
    value = parse_expression("age * 9 ** 9 ** 9 ** 9 ** 9").evaluate({"age": np.ones(2)})
    assert np.isnan(value).all()


def test_errors_of_data_show_no_value():
    design = make_design("y ~ age + w", SCHEMA)
    fine = {"age": np.array([1.0]), "w": np.array([1.0]), "y": np.array([1.0])}
    for bad in ({"w": np.array(["secret-7"])}, {"w": np.array([[7.25]])}, {"w": np.array([7.25, 1])}):
        with pytest.raises(ParameterError) as caught:
            design.evaluate(fine | bad)
        assert "7" not in str(caught.value)
    with pytest.raises(ParameterError, match="plain numbers"):
        design.evaluate(fine | {"w": np.array(["secret"], dtype=object)})
    with pytest.raises(ParameterError, match="missing columns: 'w'"):
        design.evaluate({"age": fine["age"], "y": fine["y"]})
    with pytest.raises(ParameterError, match="cannot be evaluated: TypeError"):
        make_design("y ~ np.left_shift(age, w)", SCHEMA).evaluate(fine)


def test_a_design_is_frozen_and_crosses_to_a_worker():
    design = make_design("y ~ np.log1p(income) + age", SCHEMA)
    with pytest.raises(AttributeError):
        design.response = 3
    other = pickle.loads(pickle.dumps(design))
    assert other == design
    np.testing.assert_array_equal(other.evaluate(points())[0], design.evaluate(points())[0])


def test_schema_is_needed():
    with pytest.raises(ParameterError, match="Schema"):
        make_design("y ~ age", {"age": 1})
