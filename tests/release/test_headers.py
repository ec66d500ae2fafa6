"""Text files without a header: noticed where a schema is drafted, refused where one is released, and never shown."""

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import versadp as vdp
from versadp.cli.main import main
from versadp.errors import DataError
from versadp.release.files.headers import header_doubts

WORDS = ["age", "income", "region", "born", "sex", "Größe", "q1", "income_2019", "household size"]
KINDS = {
    "number": st.integers(-999, 99_999).map(str) | st.floats(0, 1, allow_subnormal=False).map(repr),
    "date": st.dates().map(str) | st.dates().map(lambda day: day.strftime("%d/%m/%Y")),
    "levels": st.sampled_from(["north", "south"]),
    "address": st.integers(0, 999).map("p{}@example.org".format),
}


@st.composite
def tables(draw):
    """Return rows of cells: at least one column of numbers, dates, addresses or few levels, and free text."""
    kinds = draw(st.lists(st.sampled_from([*KINDS]), min_size=1, max_size=4))
    count = draw(st.integers(8, 20))
    columns = [draw(st.lists(KINDS[kind], min_size=count, max_size=count)) for kind in kinds]
    for kind, cells in zip(kinds, columns, strict=True):
        if kind == "levels":
            cells[:4] = ["north", "south", "north", "south"]
    texts = [[f"text {row} {number}" for row in range(count)] for number in range(draw(st.integers(0, 2)))]
    return [list(row) for row in zip(*columns, *texts, strict=True)]


@settings(deadline=None)
@given(tables(), st.permutations(WORDS))
def test_a_record_in_the_first_line_is_doubted_and_a_header_is_not(rows, words):
    doubts = header_doubts(rows[0], rows[1:])
    assert doubts is not None
    assert not any(cell in doubts for cell in rows[0] if len(cell) > 4)
    assert header_doubts(words[: len(rows[0])], rows) is None


def test_a_header_of_years_is_one_if_another_column_shows_it():
    rows = [[str(number), str(7 * number), str(number % 3)] for number in range(20)]
    assert header_doubts(["pid", "2019", "2020"], rows) is None
    assert header_doubts(["2018", "2019", "2020"], rows) == (
        "3 of its 3 cells are a number, a date, an address or empty"
    )
    texts = [[f"text {number}", f"more {number}"] for number in range(20)]
    assert header_doubts(["name", "town"], texts) == "none of its cells differs in kind from the values below it"
    assert header_doubts(["name", "town"], []) is None


SECRET = "4177"
FIRST = f"{SECRET},{SECRET},north,1990-01-31\n"
HEADLESS = FIRST + "".join(f"{n + 20},{n},north,1990-01-{n + 1:02d}\n" for n in range(9))


@pytest.fixture
def place(tmp_path):
    (tmp_path / "people.csv").write_text(HEADLESS)
    return tmp_path


def run(*words):
    return CliRunner().invoke(main, list(map(str, words)))


def test_drafting_a_schema_of_a_file_without_a_header_is_refused_without_its_values(place):
    refused = run("schema", "init", place / "people.csv", "--out", place / "draft.toml")
    assert refused.exit_code == 2
    assert "--header no" in refused.output
    assert not any(cell in refused.output for cell in (SECRET, "north", "1990"))
    assert not (place / "draft.toml").exists()
    drafted = run("schema", "init", place / "people.csv", "--header", "no")
    assert drafted.exit_code == 0, drafted.output
    assert "#   column_1,column_2,column_3,column_4\n" in drafted.output
    assert '[columns."column_4"]\ntype = "dates"\n' in drafted.output
    assert not any(cell in drafted.output for cell in (SECRET, "north"))
    with pytest.raises(vdp.errors.ParameterError):
        vdp.draft_schema(place / "people.csv", header="maybe")


def test_a_header_that_is_doubted_can_be_vouched_for(tmp_path):
    (tmp_path / "years.csv").write_text("2019,2020\n1,2\n3,4\n")
    with pytest.raises(DataError, match="may be a person's record"):
        vdp.draft_schema(tmp_path / "years.csv")
    assert '[columns."2019"]' in vdp.draft_schema(tmp_path / "years.csv", header="yes")


def test_releasing_and_appending_a_file_without_a_header_name_missing_columns_only(place):
    """The first two values are equal: as names of columns they would be refused as repeated, and shown."""
    schema = vdp.Schema({"age": vdp.Bounded(0, 99), "sex": vdp.Categorical(["f", "m"])}, id="pid")
    mechanism = vdp.Mechanism(schema, scale=1, keep=0.5)
    state = {"state": place / "state"}
    (place / "good.csv").write_text("pid,age,sex\n1,30,f\n2,40,m\n")
    vdp.release_file(place / "good.csv", place / "out", mechanism, **state)
    for ask in (
        lambda: vdp.release_file(place / "people.csv", place / "other", mechanism, **state),
        lambda: vdp.append_file(place / "out", place / "people.csv", **state),
    ):
        with pytest.raises(DataError, match="missing columns: 'pid', 'age', 'sex'") as caught:
            ask()
        assert "first line" in str(caught.value.hint)
        assert SECRET not in f"{caught.value}{caught.value.hint}"


def test_finalize_asks_before_it_destroys_a_key(place, monkeypatch):
    mechanism = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(0, 99)}), scale=1)
    (place / "good.csv").write_text("age\n30\n40\n")
    vdp.release_file(place / "good.csv", place / "out", mechanism, state=place / "state")
    keys = lambda: list((place / "state").glob("release-*.key"))  # noqa: E731
    words = ("finalize", place / "out", "--state", place / "state")
    refused = run(*words)
    assert refused.exit_code == 2
    assert "--yes" in refused.output
    assert keys()
    monkeypatch.setattr("versadp.cli.finalize._is_terminal", lambda: True)
    said_no = CliRunner().invoke(main, list(map(str, words)), input="n\n")
    assert said_no.exit_code != 0
    assert keys()
    assert CliRunner().invoke(main, list(map(str, words)), input="y\n").exit_code == 0
    assert not keys()
