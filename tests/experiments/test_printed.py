"""The published figures, and when ours agree with them."""

import math

import pytest

from versadp_experiments.cells import COLUMNS, METHODS, SIZES, TABLES, cells
from versadp_experiments.printed import Key, agrees, as_figure, published


@pytest.mark.parametrize(("table", "count"), [("table1", 36), ("table2", 180), ("table3", 168)])
def test_every_printed_figure_is_there_and_has_a_cell(table, count):
    figures = published(table)
    assert len(figures) == count
    for key in figures:
        assert key.n in SIZES[table]
        assert key.block in {0, 1}
        assert key.method in METHODS[table]
        assert key.column in COLUMNS[table]


def test_figures_are_those_of_the_paper():
    assert published("table1")[Key(500, 0, "DR", "absolute_sine")] == (0.170, 0.0005)
    assert published("table1")[Key(1000, 1, "SL", "relu")].value == 0.250
    assert published("table2")[Key(5000, 1, "DR", "beta_5")].value == 0.782
    assert published("table2")[Key(10000, 0, "Naive", "beta_6")].value == 0.728
    assert published("table3")[Key(2500, 0, "sCL", "beta_0")].value == 0.111
    assert published("table3")[Key(7500, 1, "Oracle", "beta_6")].value == 0.022


def test_sums_guard_against_a_figure_changed_by_mistake():
    sums = {table: round(sum(f.value for f in published(table).values()), 3) for table in TABLES}
    assert sums == {"table1": 6.848, "table2": 78.441, "table3": 69.293}


def test_agreement_allows_chance_and_rounding_and_no_more():
    figure = as_figure("0.200")
    room = 3 * 0.001 * math.sqrt(1 + 1000 / 5000) + 0.0005
    assert agrees(0.2 + 0.999 * room, 0.001, figure, 1000)
    assert not agrees(0.2 + 1.001 * room, 0.001, figure, 1000)
    assert not agrees(0.2 - 1.001 * room, 0.001, figure, 1000)


def test_the_paper_lists_six_sample_sizes_for_table_1():
    assert [c.n for c in cells("table1")][::2] == [500, 1000, 2000, 3000, 4000, 5000]


def test_readings_differ_just_where_the_findings_say():
    found, stated = cells("table1", (500,)), cells("table1", (500,), "stated")
    assert found[0] == stated[0]
    assert (found[1].noise, stated[1].noise) == (1.2, 1.4)
    assert [c.bound for c in cells("table2", (5000,), "stated")] == [1.0, 1.0]
    assert [c.sigma for c in cells("table3", (2500,), "stated")] == [1.0, 1.0]
