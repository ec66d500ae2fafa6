"""What is said of totals before and after a release, and what is refused."""

import pandas as pd
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli.main import main
from versadp.errors import ParameterError

SCHEMA = vdp.Schema({"x": vdp.Bounded(0, 1), "k": vdp.Bounded(0, 9, step=1), "c": vdp.Categorical(["a", "b"])})
GOAL = {"epsilon": 4.0, "delta": 1e-6, "shuffled": 10_000}


@pytest.fixture(scope="module")
def mechanism():
    return vdp.calibrate(SCHEMA, **GOAL, totals=True)


def test_the_statement_says_what_the_totals_are_and_take(mechanism):
    told = mechanism.statement()
    assert "Noisy totals of all people" in told
    assert "50% of the target's squared mu" in told
    assert "a device, which knows one record, has none" in told
    assert "Noisy totals" not in mechanism.without_totals().statement()


def test_a_share_of_the_budget_is_the_records_loss(mechanism):
    less = vdp.calibrate(SCHEMA, **GOAL, totals=0.3)
    none = vdp.calibrate(SCHEMA, **GOAL, totals=False)
    assert less.totals.share == 0.3
    assert none.totals is None
    assert none == vdp.calibrate(SCHEMA, **GOAL)
    found = [sum(block.epsilon for block in each.blocks) for each in (none, less, mechanism)]
    assert found == sorted(found, reverse=True)
    assert all(each.privacy("record", shuffled=10_000).delta(4.0) <= 1e-6 for each in (less, mechanism))


def test_a_mechanism_with_totals_survives_its_text(mechanism):
    again = vdp.Mechanism.from_json(mechanism.to_json())
    assert again == mechanism
    assert again.totals == mechanism.totals
    assert again != mechanism.without_totals()
    with pytest.raises(ParameterError, match="version 4"):
        mechanism.in_version(3)


@pytest.mark.parametrize(
    "goal",
    [{"epsilon": 4.0}, {"epsilon": 4.0, "delta": 1e-6}, {"epsilon": 4.0, "shuffled": 10_000}],
    ids=["local", "without a shuffle", "pure"],
)
def test_targets_that_have_no_totals_say_so(goal):
    with pytest.raises(ParameterError, match="totals are released beside shuffled records"):
        vdp.calibrate(SCHEMA, **goal, totals=True)


def test_laplace_noise_has_none():
    with pytest.raises(ParameterError, match="totals are released beside shuffled records"):
        vdp.calibrate(SCHEMA, epsilon=4.0, delta=0.05, exact_rate=0.01, totals=True)


def test_attribute_targets_count_one_attribute():
    goal = {"epsilon": 4.0, "delta": 1e-6, "shuffled": 10_000, "unit": "attribute", "groups": [SCHEMA.private]}
    mech = vdp.calibrate(SCHEMA, **goal, totals=True)
    assert mech.privacy("attribute", shuffled=10_000).delta(4.0) <= 1e-6
    assert mech.totals.mu("attribute") < mech.totals.mu("record")


@pytest.mark.full
def test_people_with_several_rows_have_so_many_times_the_noise(mechanism):
    several = vdp.Schema(dict(SCHEMA.columns), id="pid", rows_per_person=3)
    mech = vdp.calibrate(several, **GOAL, groups=[SCHEMA.private], totals=True)
    assert mech.totals.scale == pytest.approx([3 * scale for scale in mechanism.totals.scale])
    assert mech.privacy("person", shuffled=10_000).delta(4.0) <= 1e-6


@pytest.mark.full
def test_the_plan_has_a_column_for_them():
    shown = str(vdp.plan(SCHEMA, **GOAL, totals=True))
    assert "totals: noise of a count" in shown
    assert "what depends on three and more pays" in " ".join(shown.split())


@pytest.mark.full
def test_the_command_releases_them(tmp_path):
    frame = pd.DataFrame({"x": 0.5, "k": [i % 10 for i in range(10_000)], "c": "a"})
    frame.to_parquet(tmp_path / "people.parquet")
    columns = "".join(
        f'[columns.{name}]\ntype = "{kind}"\n{more}\n'
        for name, kind, more in [
            ("x", "bounded", "lower = 0\nupper = 1"),
            ("k", "bounded", "lower = 0\nupper = 9\nstep = 1"),
            ("c", "categorical", 'levels = ["a", "b"]'),
        ]
    )
    (tmp_path / "schema.toml").write_text(columns)
    args = ["release", str(tmp_path / "people.parquet"), "--schema", str(tmp_path / "schema.toml")]
    args += ["--epsilon", "4", "--delta", "1e-6", "--shuffled", "10000", "--one-row-per-person"]
    run = CliRunner().invoke(main, [*args, "--out", str(tmp_path / "out"), "--totals", "--totals-share", "0.4"])
    assert run.exit_code == 0, run.output
    assert "They take 40%" in run.output
    assert vdp.load(tmp_path / "out").totals.rows == 10_000
    wrong = CliRunner().invoke(main, [*args, "--out", str(tmp_path / "other"), "--totals-share", "0.4"])
    assert wrong.exit_code != 0
