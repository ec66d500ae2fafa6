"""All methods side by side: ours answers every task, replications are kept, and summaries are what they say."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.integrate import quad

from versadp.cli import main
from versadp_experiments.baselines import REGISTRY, Budget, side_by_side, tasks
from versadp_experiments.baselines.tasks import TASKS, Answer


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(tasks, "RECORDS", 2500)
    side_by_side.mechanism.cache_clear()
    yield
    side_by_side.mechanism.cache_clear()


def test_every_method_has_a_task():
    shown = {method.name for task in TASKS.values() for method in task.methods}
    assert shown == set(REGISTRY)


def test_the_mean_s_truth_is_that_of_what_is_drawn():
    def density(x):
        return math.exp(-(((x - 0.2) / 0.3) ** 2) / 2) / (0.3 * math.sqrt(2 * math.pi))

    exact = quad(lambda x: np.clip(x, -1, 1) * density(x), -3, 3, points=[-1, 1], epsabs=1e-12)[0]
    assert TASKS["mean"].truth == pytest.approx([exact], abs=1e-9)
    assert abs(exact - 0.2) > 1e-4


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", ["mean", "median", "density", "linear", "logistic", "Poisson"])
def test_ours_answers_every_task(name, small):
    task = TASKS[name]
    sample = task.draw(np.random.default_rng(3))
    found = side_by_side.ours(name, "windows", 8.0, sample, 1)
    away = math.sqrt(np.mean((found.values - task.truth) ** 2))
    # at epsilon 8 the truth is near; what zero would be away from it says that this means something
    assert away < 0.5 * math.sqrt(np.mean(task.truth**2))
    if name != "density":
        assert (found.low < found.high).all()


def test_a_task_s_release_meets_its_epsilon(small):
    for kind in side_by_side.KINDS:
        profile = side_by_side.mechanism("linear", kind, 4.0, 2).privacy(
            "record", **({"shuffled": 2500} if kind.endswith("shuffled") else {})
        )
        delta = 1e-6 if kind.endswith("shuffled") else 0.0
        assert Budget(4.0, delta).met_by(profile)
        assert not Budget(2.0, delta / 2).met_by(profile)


@pytest.mark.full
def test_replications_are_kept_and_a_longer_run_goes_on(tmp_path, small, monkeypatch):
    for module in (side_by_side, tasks):
        monkeypatch.setattr(module, "TASKS", {"mean": TASKS["mean"], "median": TASKS["median"]})
    monkeypatch.setattr(side_by_side, "SLOW", {("median", "windows", 1.0)})
    monkeypatch.setattr(side_by_side, "KINDS", ("windows",))
    side_by_side.run(2, 5, str(tmp_path))
    path = next(tmp_path.iterdir())
    first = path.read_text().splitlines()
    store = side_by_side.run(3, 5, str(tmp_path))
    assert path.read_text().splitlines()[: len(first)] == first
    assert len(store.lines) == 6
    fresh = side_by_side.replicate("mean", 2, 5, slow=False)
    assert json.loads(json.dumps(fresh)) == store.lines[2500, 0, 2]
    rows = {row["method"]: row for row in side_by_side.tables(store, 3)["median"]}
    assert rows["versadp, windows"]["reps at 1"] == 1  # a slow cell: one in twenty, at least one
    assert rows["versadp, windows"]["reps at 4"] == 3
    assert list(rows) == ["noisy descent to a median", "sequential median", "versadp, windows"]


def test_summaries_are_what_they_say():
    task = TASKS["linear"]
    one = side_by_side._kept(task, Answer(task.truth + 0.1, task.truth - 1, task.truth + 1))
    two = side_by_side._kept(task, Answer(task.truth + 0.3, task.truth + 0.2, task.truth + 0.4))
    lost = side_by_side._kept(task, Answer(np.full(2, np.nan)))
    found = side_by_side._summary([one, two, lost])
    assert found["error"] == pytest.approx(math.sqrt((0.01 + 0.09) / 2))
    assert found["+-"] == pytest.approx(0.04 / (2 * 0.05 * math.sqrt(2)))
    assert (found["answered"], found["covered"], found["reps"]) == (pytest.approx(2 / 3), 0.5, 3)
    assert side_by_side._summary([lost])["error"] is None


@pytest.mark.full
def test_the_command_prints_and_keeps(tmp_path, monkeypatch, small):
    for module in (side_by_side, tasks):
        monkeypatch.setattr(module, "TASKS", {"mean": TASKS["mean"]})
    arguments = ["reproduce", "baselines", "--reps", "2", "--format", "json", "--out", str(tmp_path)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["mean"]
    assert [row["method"] for row in rows][-2:] == ["versadp, windows", "versadp, windows, shuffled"]
    assert all(row["error at 1"] > 0 for row in rows)
    before = next(tmp_path.iterdir()).read_bytes()
    assert CliRunner().invoke(main, arguments).stdout == result.stdout
    assert next(tmp_path.iterdir()).read_bytes() == before


@pytest.mark.slow
def test_the_whole_command_ends():
    result = CliRunner().invoke(main, ["reproduce", "baselines", "--reps", "2", "--format", "json"])
    assert result.exit_code == 0, result.output
    assert set(json.loads(result.stdout)) == set(TASKS)
