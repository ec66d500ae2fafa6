"""`versadp fit`."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main
from versadp.errors import DataError
from versadp.inference import Results
from versadp.losses import Check
from versadp_tests.inference_cases import make


def run(*arguments):
    return CliRunner().invoke(main, ["fit", *map(str, arguments)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Public()})
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 2000)
    frame = pd.DataFrame({"x": x, "y": 1 + 2 * x + rng.normal(0, 0.5, 2000)})
    path = tmp_path_factory.mktemp("fit") / "released"
    vdp.Mechanism(schema, scale=0.5, exact_rate=0.2).release(frame, key=bytes(range(32))).save(path)
    return path


@pytest.fixture
def calls(monkeypatch):
    """Take the place of `versadp.fit`; note how it was called, answer with `answer`."""
    seen = {"answer": make()}

    def fit(release, formula, **options):
        seen.update(release=release, formula=formula, options=options)
        if isinstance(seen["answer"], Exception):
            raise seen["answer"]
        return seen["answer"]

    monkeypatch.setattr(vdp, "fit", fit, raising=False)
    return seen


def test_options_reach_the_fit(folder, calls):
    options = ("--loss", "logistic", "--method", "drcl", "--extension", "zero", "--draws", "5", "--random-state", "7")
    result = run(folder, "y ~ x", *options)
    assert result.exit_code == 0, result.output
    assert len(calls["release"]) == 2000
    assert calls["formula"] == "y ~ x"
    expected = {"loss": "logistic", "method": "drcl", "extension": "zero", "draws": 5, "random_state": 7}
    assert calls["options"] == expected | {"engine": "auto"}


def test_defaults(folder, calls):
    assert run(folder, "y ~ x").exit_code == 0
    expected = {"loss": "squared", "method": "efficient", "extension": None, "draws": 20, "random_state": 0}
    assert calls["options"] == expected | {"engine": "auto"}


def test_quantiles(folder, calls):
    assert run(folder, "y ~ x", "--loss", "check", "--tau", "0.9").exit_code == 0
    assert calls["options"]["loss"] == Check(tau=0.9)
    result = run(folder, "y ~ x", "--loss", "squared", "--tau", "0.9")
    assert result.exit_code == 2
    assert "--tau belongs to the check loss" in result.stderr


def test_every_format(folder, calls, tmp_path):
    text = run(folder, "y ~ x", "--level", "0.9")
    assert text.stdout.rstrip("\n") == str(make().summary(0.9))
    data = json.loads(run(folder, "y ~ x", "--format", "json", "--level", "0.9").stdout)
    assert data["coefficients"] == list(make().coef_table(0.9))
    assert (data["outcome"], data["records"], data["header"]["epsilon"]) == ("converged", 1000, "4")
    assert run(folder, "y ~ x", "--format", "csv").stdout == make().coef_table().to_csv()
    assert run(folder, "y ~ x", "--save", tmp_path / "fit.json").exit_code == 0
    assert Results.load(tmp_path / "fit.json") == make()


def test_no_estimate_is_exit_code_1(folder, calls):
    calls["answer"] = make(outcome="diverged", params=None, cov=None, advice="collect more records")
    for style in ("text", "csv", "json"):
        result = run(folder, "y ~ x", "--format", style)
        assert result.exit_code == 1
        assert "diverged" in result.output
        assert "collect more records" in result.output
    assert run(folder, "y ~ x", "--format", "csv").stdout == ""
    assert json.loads(run(folder, "y ~ x", "--format", "json").stdout)["coefficients"] is None


@pytest.mark.parametrize(
    "options",
    [
        ("y ~ x", "--loss", "nonsense"),
        ("y ~ x", "--method", "nonsense"),
        ("y ~ x", "--level", "95"),
        ("y ~ x", "--draws", "0"),
        (),
    ],
)
def test_what_the_user_can_mend(folder, calls, options):
    result = run(folder, *options)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_errors_of_the_fit_and_of_the_folder(folder, calls, tmp_path):
    calls["answer"] = DataError("there is one class", hint="use more records")
    result = run(folder, "y ~ x")
    assert result.exit_code == 2
    assert "versadp: there is one class" in result.stderr
    assert run(tmp_path / "none", "y ~ x").exit_code == 2
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty", "y ~ x").exit_code == 2


def test_a_fit_from_end_to_end(folder):
    """The release is fixed by its key, so the estimate is too; 6 standard errors."""
    result = run(folder, "y ~ x", "--format", "json")
    assert result.exit_code == 0, result.output
    for row, truth in zip(json.loads(result.stdout)["coefficients"], (1.0, 2.0), strict=True):
        assert abs(row["estimate"] - truth) < 6 * row["std_error"]
    result = run(folder, "y ~ nothing")
    assert result.exit_code == 2
    assert "not there: 'nothing'" in result.stderr


def test_options_of_a_study_reach_the_fit(folder, calls):
    options = ("--weights", "w", "--weight-type", "frequency", "--offset", "o", "--cluster", "g", "--subset", "y > 1")
    assert run(folder, "y ~ x", *options).exit_code == 0
    study = {"weights": "w", "weight_type": "frequency", "offset": "o", "groups": "g", "subset": "y > 1"}
    assert {name: calls["options"][name] for name in study} == study
    assert calls["options"]["cov_type"] == "cluster"


def test_k_of_huber_loss(folder, calls):
    assert run(folder, "y ~ x", "--loss", "huber", "--k", "2").exit_code == 0
    assert calls["options"]["loss"] == vdp.losses.Huber(k=2.0)
    wrong = run(folder, "y ~ x", "--k", "2")
    assert wrong.exit_code == 2
    assert "--k belongs to the huber loss" in wrong.output


def test_a_subset_at_the_command_line(folder):
    found = json.loads(run(folder, "y ~ x", "--subset", "y > 1", "--format", "json").output)
    release = vdp.load(folder)
    assert found["header"]["subset"] == "y > 1"
    assert found["records"] == int((release.to_pandas()["y"] > 1).sum())
