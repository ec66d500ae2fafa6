"""Schemas: what is refused, what cannot be changed, what comes back."""

import contextlib
import pickle
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from versadp import Bounded, Categorical, Dates, Mechanism, Omitted, Public, Schema
from versadp.errors import ParameterError, SchemaError

NAN, INF = float("nan"), float("inf")
SCHEMA = Schema(
    {
        "age": Bounded(18, 90),
        "income": Bounded(0, 5e5),
        "region": Categorical(["n", "e", "s", "w"]),
        "y": Public(),
    },
    id="pid",
)


def test_views():
    assert SCHEMA.numeric == ("age", "income")
    assert SCHEMA.categorical == ("region",)
    assert SCHEMA.public == ("y",)
    assert SCHEMA.id == "pid"


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (1, 1),
        (2, 1),
        (NAN, 1),
        (0, INF),
        ("auto", 1),
        (None, 1),
        (True, 2),
        (-1e308, 1e308),
        (0, 5e-324),
        (0, 10**400),
    ],
)
def test_bad_bounds(lower, upper):
    with pytest.raises(SchemaError):
        Bounded(lower, upper)


def test_bounds_must_be_given():
    with pytest.raises(TypeError):
        Bounded()
    with pytest.raises(SchemaError, match="never read off the data"):
        Bounded("auto", "auto")


@pytest.mark.parametrize(
    "levels", [[], ["a"], ["a", "a"], ["a", 1], [1.0, 2.0], "ab", None, [True, 1], [2**63, 1], [None, "a"]]
)
def test_bad_levels(levels):
    with pytest.raises(SchemaError):
        Categorical(levels)


@pytest.mark.parametrize(
    ("columns", "id"),
    [
        ({}, None),
        ({"": Public()}, None),
        ({1: Public()}, None),
        ({"a\n": Public()}, None),
        ({"a": "bounded"}, None),
        ({"a": Bounded}, None),
        ({"a": Public()}, "a"),
        ({"a": Public()}, 3),
        ([("a", Public())], None),
    ],
)
def test_bad_schemas(columns, id):  # noqa: A002 - the public name
    with pytest.raises(SchemaError):
        Schema(columns, id=id)


def test_nothing_can_be_changed():
    with pytest.raises(AttributeError):
        SCHEMA.id = "other"
    with pytest.raises(AttributeError):
        del SCHEMA._columns
    with pytest.raises(TypeError):
        SCHEMA.columns["age"] = Public()
    with pytest.raises(AttributeError):
        SCHEMA.columns["age"].lower = 0


def test_changing_what_was_given_changes_nothing():
    columns = {"a": Public()}
    schema = Schema(columns)
    columns["b"] = Public()
    assert list(schema.columns) == ["a"]


names = st.text(min_size=1, max_size=8).filter(str.isprintable)
finite = st.floats(-1e12, 1e12)
nullable = st.sampled_from([False, True, "public"])
bounded = st.builds(
    lambda b, n: Bounded(*b, nullable=n), st.tuples(finite, finite).filter(lambda b: b[1] - b[0] > 1e-6), nullable
)
dates = st.builds(
    lambda d, n: Dates(*sorted(d), nullable=n), st.lists(st.dates(), min_size=2, max_size=2, unique=True), nullable
)
text_levels = st.lists(st.text(max_size=5).filter(lambda s: "\x00" not in s), min_size=2, max_size=5, unique=True)
levels = st.one_of(text_levels, st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=5, unique=True))
categories = st.builds(Categorical, st.one_of(levels, st.just([False, True])), nullable)
columns = st.one_of(bounded, dates, categories, st.just(Public()))


def encodable(schema):
    try:
        repr(schema).encode()
        schema.to_toml().encode()
    except UnicodeEncodeError:
        return False
    return True


schemas = st.builds(
    lambda columns, omitted, name: Schema(
        dict.fromkeys(omitted, Omitted()) | columns, id=None if name in {*columns, *omitted} else name
    ),
    st.dictionaries(names, columns, min_size=1, max_size=5),
    st.sets(names, max_size=2),
    st.one_of(st.none(), names),
).filter(encodable)


@given(schemas)
def test_round_trips(schema):
    for other in (
        Schema.from_dict(schema.to_dict()),
        Schema.from_toml_text(schema.to_toml()),
        pickle.loads(pickle.dumps(schema)),
        eval(repr(schema)),
    ):
        assert other == schema
        assert hash(other) == hash(schema)
        assert list(other.columns) == list(schema.columns)


def test_order_matters():
    assert Schema({"a": Public(), "b": Public()}) != Schema({"b": Public(), "a": Public()})


def test_files(tmp_path):
    SCHEMA.to_toml(tmp_path / "schema.toml")
    assert Schema.from_toml(tmp_path / "schema.toml") == SCHEMA
    with pytest.raises(SchemaError, match="cannot read"):
        Schema.from_toml(tmp_path / "missing.toml")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1",
        "columns = 3",
        "[columns]\na = 3",
        "[columns.a]\n",
        '[columns.a]\ntype = "float"',
        '[columns.a]\ntype = "bounded"',
        '[columns.a]\ntype = "bounded"\nlower = 0\nupper = 1\nstep = 2',
        '[columns.a]\ntype = "bounded"\nlower = "auto"\nupper = 1',
        '[columns.a]\ntype = "public"\nlower = 0',
        '[columns.a]\ntype = ["public"]',
        '[[columns]]\ntype = "public"',
        '[[columns]]\nname = "a"\ntype = "public"\n[[columns]]\nname = "a"\ntype = "public"',
        "[columns.a\n",
        "a = " + "[" * 5000,
    ],
)
def test_bad_toml(text):
    with pytest.raises(SchemaError):
        Schema.from_toml_text(text)


@given(st.text(max_size=200))
def test_any_text_is_a_schema_or_our_error(text):
    with contextlib.suppress(SchemaError):
        Schema.from_toml_text(text)


def test_a_step_says_what_values_are():
    column = Bounded(18, 90, step=1)
    assert (column.step, column.steps) == (1.0, 72)
    schema = Schema({"age": column, "x": Bounded(0, 1)})
    assert Schema.from_dict(schema.to_dict()) == schema
    assert Schema.from_toml_text(schema.to_toml()) == schema
    assert "step" not in Bounded(0, 1).to_dict()
    assert Bounded(0, 1, step=0.1).steps == 10
    for step in (0, -1, 7, 100, float("nan"), float("inf"), True, "1"):
        with pytest.raises(SchemaError):
            Bounded(18, 90, step=step)


def test_nullable_dates_and_omitted_columns():
    schema = Schema(
        {
            "x": Bounded(0, 1, nullable=True),
            "c": Categorical(["a", "b"], nullable="public"),
            "d": Dates("1990-01-01", date(2026, 12, 31)),
            "o": Bounded(0, 1, nullable="public"),
            "name": Omitted(),
            "y": Public(),
        }
    )
    assert list(schema.columns) == ["x", "c", "d", "o", "y"]
    assert schema.omitted == ("name",)
    assert schema.private == ("x", "c", "d", "o")
    assert schema.numeric == ("x", "d", "o")
    assert schema.public_patterns == ("c", "o")
    assert schema.to_dict()["columns"][-1] == {"name": "name", "type": "omitted"}
    assert "nullable" not in Bounded(0, 1).to_dict() | Categorical(["a", "b"]).to_dict()
    assert (Categorical(["a", "b"]).outcomes, schema.columns["c"].outcomes) == (2, 2)
    text = '[columns.d]\ntype = "dates"\nlower = 1990-01-01\nupper = "2026-12-31"\nnullable = true'
    assert Schema.from_toml_text(text).columns["d"] == Dates("1990-01-01", "2026-12-31", nullable=True)
    assert schema != Schema(schema.columns)


@pytest.mark.parametrize("nullable", ["maybe", None, 1, 0, "True", "Public", [True]])
def test_bad_nullable(nullable):
    for make in (lambda n: Bounded(0, 1, nullable=n), lambda n: Categorical(["a", "b"], nullable=n)):
        with pytest.raises(SchemaError, match="nullable must be"):
            make(nullable)
    with pytest.raises(SchemaError, match="nullable must be"):
        Dates("1990-01-01", "2026-12-31", nullable=nullable)


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        ("2000-01-01", "2000-01-01"),
        ("2000-01-02", "2000-01-01"),
        ("auto", "2000-01-01"),
        ("2000-02-30", "2001-01-01"),
        (0, 1),
        (None, "2000-01-01"),
        (datetime(2000, 1, 1, tzinfo=UTC), "2001-01-01"),
        ("1990-01-01T00:00", "2000-01-01"),
    ],
)
def test_bad_dates(lower, upper):
    with pytest.raises(SchemaError, match=r"bound must be a date|must be before"):
        Dates(lower, upper)


def test_a_schema_of_nothing_but_omitted_columns_is_none():
    with pytest.raises(SchemaError, match="at least one column"):
        Schema({"a": Omitted()})
    for text in ('[columns.a]\ntype = "omitted"\nlower = 1', '[columns.a]\ntype = "public"\nnullable = true'):
        with pytest.raises(SchemaError, match="needs just"):
            Schema.from_toml_text(text)


# several rows per person ----------------------------------------------------------------------------------------------


def test_rows_per_person_comes_back_from_every_form():
    schema = Schema({"age": Bounded(18, 90)}, id="pid", rows_per_person=3, population="patients")
    assert schema.rows_per_person == 3
    assert SCHEMA.rows_per_person == 1
    assert schema != Schema({"age": Bounded(18, 90)}, id="pid")
    assert hash(schema) != hash(Schema({"age": Bounded(18, 90)}, id="pid"))
    for again in (
        Schema.from_dict(schema.to_dict()),
        Schema.from_toml_text(schema.to_toml()),
        pickle.loads(pickle.dumps(schema)),
    ):
        assert again == schema
        assert again.rows_per_person == 3
    assert pickle.loads(pickle.dumps(schema)).population == "patients"
    assert "rows_per_person=3" in repr(schema)


def test_one_row_per_person_is_not_written_and_may_be_said():
    assert "rows_per_person" not in str(SCHEMA.to_dict()) + SCHEMA.to_toml() + repr(SCHEMA)
    assert Schema.from_dict(SCHEMA.to_dict() | {"rows_per_person": 1}) == SCHEMA
    assert Schema({"age": Bounded(18, 90)}, rows_per_person=1).id is None


@pytest.mark.parametrize("rows", [0, -1, 1.0, 2.5, True, "2", None, 1001, NAN])
def test_rows_per_person_is_a_whole_number_from_one_on(rows):
    with pytest.raises(SchemaError, match="whole number from 1"):
        Schema({"age": Bounded(18, 90)}, id="pid", rows_per_person=rows)
    with pytest.raises(SchemaError, match="whole number from 1"):
        Schema.from_dict(SCHEMA.to_dict() | {"rows_per_person": rows})


def test_several_rows_per_person_need_an_id():
    with pytest.raises(SchemaError, match="which rows are one person's") as caught:
        Schema({"age": Bounded(18, 90)}, rows_per_person=2)
    assert "id =" in str(caught.value)
    with pytest.raises(SchemaError, match="which rows are one person's"):
        Schema.from_toml_text('rows_per_person = 2\n[columns.age]\ntype = "bounded"\nlower = 1\nupper = 2\n')


def test_rows_per_person_is_among_the_parameters_of_the_noise():
    one, two = (Mechanism(Schema({"age": Bounded(18, 90)}, id="pid", rows_per_person=k), scale=1.0) for k in (1, 2))
    assert one != two
    assert one.parameters == Mechanism(Schema({"age": Bounded(18, 90)}, id="pid"), scale=1.0).parameters
    assert Mechanism.from_json(two.to_json()) == two
    for version in (1, 2, 3):
        with pytest.raises(ParameterError, match="version 4"):
            two.in_version(version)
        data = one.in_version(version).to_dict()
        with pytest.raises(SchemaError, match="before version 4"):
            Mechanism.from_dict(data | {"schema": data["schema"] | {"rows_per_person": 2}})
