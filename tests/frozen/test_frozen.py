"""Sixty fits are what they were: estimates, standard errors and outcomes, up to rounding (`versadp_bench.frozen`)."""

import json
from pathlib import Path

import pytest

from versadp.noise.window import WindowBlock
from versadp_bench.cells import CELLS
from versadp_bench.frozen import SHIFT, compared, frozen_table, unlike

FROZEN = json.loads((Path(__file__).parent / "frozen.json").read_text())
QUICK = [name for name, row in FROZEN.items() if row["seconds"] < 0.2]
FIGURES = {"outcome": "converged", "estimate": [1.0, 2.0], "se": [0.1, 0.2], "correction": "", "seconds": 1.0}


def changed(names):
    return [row for row in compared(FROZEN, frozen_table(names)) if unlike(row)]


def test_the_table_has_all_cells():
    assert list(FROZEN) == list(CELLS)
    assert len(CELLS) == 60


@pytest.mark.parametrize("name", QUICK)
def test_quick_cells_are_what_they_were(name):
    assert changed([name]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CELLS if name not in QUICK])
def test_all_cells_are_what_they_were(name):
    assert changed([name]) == []


@pytest.mark.parametrize("name", ["squared, joint, several", "logistic, separate, category", "mean, joint, no formula"])
def test_a_wrong_keep_is_noticed(name, monkeypatch):
    right = WindowBlock.keep.fget
    monkeypatch.setattr(WindowBlock, "keep", property(lambda self: right(self) * (1 - 1e-4)))
    assert changed([name])


@pytest.mark.parametrize(
    "other",
    [
        {"estimate": [1.0, 2.0 + 0.2 * 2 * SHIFT]},
        {"se": [0.1, 0.2 * (1 - 2 * SHIFT)]},
        {"outcome": "weak"},
        {"outcome": "weak", "estimate": [], "se": []},
    ],
)
def test_a_difference_is_noticed(other):
    assert not any(map(unlike, compared({"cell": FIGURES}, {"cell": FIGURES})))
    assert all(map(unlike, compared({"cell": FIGURES}, {"cell": FIGURES | other})))


def test_what_has_moved_furthest_comes_first():
    one, other = FIGURES | {"estimate": [1.0, 2.1]}, FIGURES | {"estimate": [1.3, 2.0], "seconds": 2.0}
    before = {"same": FIGURES, "one": FIGURES, "other": FIGURES}
    rows = compared(before, {"same": FIGURES, "one": one, "other": other})
    assert [row["cell"] for row in rows] == ["other", "one", "same"]
    assert [round(row["shift/se"], 9) for row in rows] == [3.0, 0.5, 0.0]
    assert [row["time ratio"] for row in rows] == [2.0, 1.0, 1.0]
