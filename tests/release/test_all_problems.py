"""One run names all columns and all problems of a table, and shows no value."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main
from versadp.errors import DataError, together
from versadp.noise import Window
from versadp.release.files.sources import open_fitting
from versadp.schema import Bounded, Categorical, Dates, Public

SCHEMA = vdp.Schema(
    {
        "age": Bounded(18, 90),
        "income": Bounded(0, 1e5),
        "born": Dates("1990-01-01", "2020-12-31"),
        "region": Categorical(["north", "south"]),
        "weight": Bounded(0, 200),
        "height": Bounded(0, 3),
        "city": Public(),
        "gone": Bounded(0, 1),
    }
)
PEOPLE = pd.DataFrame(
    {
        "age": [41.25, np.nan, np.inf],
        "income": ["31337", "unknown", "45678"],
        "born": ["13/02/2001", "30/12/1999", "01/01/2001"],
        "region": ["north", "atlantis", "erewhon"],
        "weight": [None, 71.5, 65.25],
        "height": [1e300, 1.5, 1.75],
        "city": ["Ys", "Ker", None],
        "Maria Musterfrau": ["a", "b", "c"],
    }
)
EXPECTED = [
    "missing columns: 'gone', and 1 that the schema does not know",
    "column 'age' has 2 missing or non-finite values",
    "column 'income' holds",
    "1 of 3 values are no numbers",
    "column 'born' holds text like dd/mm/yyyy, but needs dates",
    "column 'region' has 2 values that are none of its levels",
    "column 'weight' has 1 missing or non-finite values",
    "column 'height' has 1 values beyond 2^53",
    "column 'city' has 1 missing or non-finite values",
]
VALUES = ["41.25", "31337", "unknown", "13/02", "1999", "atlantis", "erewhon", "71.5", "1e300", "Ker", "Musterfrau"]


def require_all(said, expected=EXPECTED):
    for words in expected:
        assert words in said, words
    assert f"{len(expected) - 1} problems" in said
    for value in VALUES:
        assert value not in said, value


@pytest.mark.parametrize(
    "kind", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_all_problems_of_a_table_are_named_at_once(kind):
    mechanism = vdp.Mechanism(SCHEMA, noise={name: Window(2) for name in SCHEMA.private})
    with pytest.raises(DataError) as problem:
        mechanism.release(kind(PEOPLE))
    require_all(str(problem.value))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_all_problems_of_a_file_are_named_in_one_run(tmp_path, ending):
    if ending == "csv":
        PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    else:
        PEOPLE.to_parquet(tmp_path / "people.parquet")
    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml())
    argv = ["release", str(tmp_path / f"people.{ending}"), "--schema", str(tmp_path / "schema.toml"), "--epsilon", "8"]
    said = CliRunner().invoke(main, [*argv, "--out", str(tmp_path / "out"), "--state", str(tmp_path / "state")])
    assert said.exit_code == 2, said.output
    require_all(said.output, EXPECTED[:-1] if ending == "csv" else EXPECTED)  # an empty public text is one
    assert "among 3 records looked at" in said.output


def test_dates_in_a_text_file_are_told_how_to_be_spelled(tmp_path):
    PEOPLE[["born"]].to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(DataError, match="holds text like dd/mm/yyyy, but needs dates") as problem:
        open_fitting(tmp_path / "people.csv", vdp.Schema({"born": SCHEMA.columns["born"]}))
    assert "format='%d/%m/%Y'" in problem.value.hint


@pytest.mark.parametrize(
    ("text", "way"),
    [
        (["31/12/1999", "1/2/2000"], "dd/mm/yyyy"),
        (["12/31/1999", "1/2/2000"], "mm/dd/yyyy"),
        (["1/2/2000", "3/4/2001"], "dd/mm/yyyy or mm/dd/yyyy"),
        (["31.12.1999"], "dd.mm.yyyy"),
        (["19991231"], "yyyymmdd"),
        (["1999-12-31"], "yyyy-mm-dd"),
    ],
)
def test_the_spelling_of_dates_is_recognised(text, way):
    mechanism = vdp.Mechanism(vdp.Schema({"born": SCHEMA.columns["born"]}), noise={"born": Window(2)})
    with pytest.raises(DataError, match=f"holds text like {way}, but needs dates"):
        mechanism.release(pd.DataFrame({"born": text}))


def test_a_single_problem_is_said_as_it_is():
    one = DataError("column 'a' holds text", hint="convert it")
    assert together([one]) is one
    two = together([one, DataError("missing columns: 'b'", hint="convert it")])
    assert str(two) == "2 problems:\n  column 'a' holds text\n  missing columns: 'b'\n  hint: convert it"
