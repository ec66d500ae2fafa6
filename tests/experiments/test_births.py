"""The births benchmark: criteria against counting by hand, and the command on made-up births."""

import itertools
import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv

from versadp.cli import main
from versadp.errors import DataError, ParameterError
from versadp_experiments.births import criteria, data, faithfulness, report


def born(n, seed):
    """Return made-up births, as a file has them."""
    rng = np.random.default_rng(seed)
    age = rng.integers(14, 50, n)
    week = np.clip(np.rint(rng.normal(39, 2, n)), 20, 45).astype(int)
    female = rng.random(n) < 0.5
    weight = np.rint(3300 + 150 * (week - 39) - 120 * female + rng.normal(0, 400, n)).astype(int)
    days = [f"2019-{month:02d}-15" for month in rng.integers(1, 13, n)]
    return pa.table([age, rng.geometric(0.5, n), week, female, days, weight], names=list(data.RAW))


def rows(*given):
    return {name: np.array(values) for name, values in zip(data.NAMES, zip(*given, strict=True), strict=True)}


def test_preparation_clips_and_rounds_down():
    table = born(500, 1)
    found, raw = data.prepare(table), table.to_pydict()
    assert found["mother_age"].tolist() == [min(max(x, 17), 45) for x in raw["mother_age"]]
    assert found["birth_weight"].tolist() == [min(max(x, 1400), 4500) // 100 * 100 for x in raw["birth_weight"]]
    assert found["birth_month"].tolist() == [int(day[5:7]) for day in raw["date_of_birth"]]
    assert found["is_female"].tolist() == [int(x) for x in raw["is_female"]]
    with pytest.raises(DataError, match="no column parity"):
        data.prepare(table.drop_columns("parity"))
    with pytest.raises(ParameterError, match="needs a file") as told:
        data.read(None)
    assert "National Bureau" in str(told.value)


def test_differences_of_tables_are_those_of_counting():
    a, b = data.prepare(born(60, 2)), data.prepare(born(80, 3))
    found = criteria.table_differences(a, b)
    for ways in range(1, 7):
        worst = 0.0
        for chosen in itertools.combinations(data.NAMES, ways):
            one, other = (Counter(zip(*(each[name].tolist() for name in chosen), strict=True)) for each in (a, b))
            worst = max(worst, *(abs(one[key] / 60 - other[key] / 80) for key in {*one, *other}))
        assert found[ways] == pytest.approx(worst, abs=1e-12)
    assert criteria.table_differences(a, a) == dict.fromkeys(range(1, 7), 0.0)


def test_ratio_counts_one_more_on_both_sides():
    a = rows((30, 1, 39, 0, 5, 3000), (30, 1, 39, 0, 5, 3000), (30, 1, 39, 0, 5, 3000))
    b = rows((30, 1, 39, 0, 5, 3000), (30, 2, 39, 0, 5, 3000), (30, 1, 39, 0, 5, 3000))
    assert criteria.one_way_ratio(a, b) == pytest.approx(2.0)  # parity 2: (0 + 1)/4 against (1 + 1)/4


def test_means_are_of_cells_cut_and_filled_to_the_size_of_the_raw_ones():
    b = rows(*[(20, 1, 39, 0, 1, 3000)] * 50, *[(40, 3, 39, 0, 1, 3000)] * 50)
    a = rows(*[(20, 1, 39, 0, 1, 3000)] * 76, *[(40, 3, 39, 0, 1, 3000)] * 24)
    # 48 rows are wanted in each cell: of the older 24 have parity 3 and 24 the middle, 6
    assert criteria.mean_difference(a, b, "parity") == pytest.approx(4.5 - 3)
    assert criteria.mean_difference(b, b, "parity") == 0.0
    assert criteria.mean_difference(a, b, "birth_weight") == 0.0  # the middle of its range


def test_regression_is_standardised_by_the_raw_births():
    b = data.prepare(born(2000, 4))
    centre, spread = criteria.standards(b)
    true = criteria.regression(b, centre, spread)
    x = np.stack([b[name] for name in data.NAMES[:-1]], axis=1)
    slopes = np.linalg.solve(np.cov(x.T), np.cov(x.T, b["birth_weight"])[:-1, -1])
    assert true == pytest.approx([*(slopes * x.std(axis=0)), b["birth_weight"].mean()], rel=1e-6)
    assert criteria.regression_differences(true, b) == (0.0, 0.0)
    total, error = criteria.regression_differences(true + np.array([0, 0, -5, 0, 0, 2]), b)
    assert total == pytest.approx(7)
    assert error > 0


def within_reach(a, b):
    """Return whether rows of two tables lie within distance 1, pair by pair, from its definition."""
    scaled = []
    for each in (a, b):
        bins = [np.digitize(each["mother_age"], [0, 18, 20, 25, 30, 35, 37, 40, 43, np.inf])]
        bins.append(np.digitize(each["gestation_week"], [0, 29, 32, 34, 37, 42, np.inf]))
        days = np.array([15, 46, 74, 105, 135, 166, 196, 227, 258, 288, 319, 349])[each["birth_month"] - 1] / 14
        scaled.append([*bins, each["birth_weight"] / 100, days, 100 * each["is_female"], 100 * each["parity"]])
    far = sum(np.abs(p[:, None] - q[None]) for p, q in zip(*scaled, strict=True))
    return far <= 1 + 1e-9


def test_faithfulness_is_one_less_the_largest_matching():
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    rng = np.random.default_rng(5)
    for _ in range(20):
        a, b = (
            dict(zip(data.NAMES, [rng.integers(28, 33, 60), *(rng.integers(1, 3, 60) for _ in "12")], strict=False))
            for _ in "ab"
        )
        for each in (a, b):
            each["gestation_week"] = rng.integers(36, 39, 60)
            each |= {"is_female": rng.integers(0, 2, 60), "birth_month": rng.integers(1, 3, 60)}
            each["birth_weight"] = 100 * rng.integers(29, 34, 60)
        near = within_reach(a, b)
        matched = (maximum_bipartite_matching(csr_array(near.astype(int))) >= 0).mean()
        assert faithfulness.unmatched(a, b) == pytest.approx(1 - matched)
        assert 1 - near.any(axis=1).mean() <= 1 - matched  # one partner for several rows would be too few
    assert faithfulness.unmatched(a, a) == 0


def test_unique_rows_are_counted_in_all_columns_and_in_what_others_know():
    a = rows((30, 1, 39, 0, 5, 3000), (30, 1, 39, 0, 5, 3000), (30, 1, 39, 0, 5, 3100), (30, 1, 40, 0, 5, 3100))
    assert criteria.unique_rows(a) == 2
    assert criteria.unique_in_known(a) == 1  # the one of week 40


def test_rows_of_the_table_are_the_criteria_in_order():
    b = data.prepare(born(300, 7))
    same, twice = report.judge_rows(b, b), report.judge_rows({name: np.repeat(b[name], 2) for name in b}, b)
    assert same[:8] == [1.0, 0, 0, 0, 0, 0, 0, 0]
    assert twice[8:] == [0, 0] != same[8:]
    found = report.people_rows([[same, twice], [same, twice]])
    assert [row["criterion"] for row in found] == [str(k) for k in range(1, 11)]
    assert found[0]["within"] == "2 of 2"
    assert found[8]["within"] == "0 of 2"


def test_command_shows_criteria_beside_limits(tmp_path):
    path = tmp_path / "births.csv"
    csv.write_csv(born(20_000, 6), path)
    arguments = [
        "reproduce",
        "births",
        "--data",
        str(path),
        "--releases",
        "1",
        "--no-people",
        "--epsilon",
        "8",
        "--format",
        "json",
    ]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)["release"]
    assert [row["criterion"] for row in found] == ["3", "4", "5", "6", "7"]
    assert list(json.loads(result.stdout)) == ["release"]
    assert [row["limit"] for row in found] == [0.3, 100, 1, 30, 5]
    assert all(row["widest half interval"] > 0 for row in found)
    missing = CliRunner().invoke(main, ["reproduce", "births"])
    assert missing.exit_code == 2
    assert "--data FILE" in missing.stderr
