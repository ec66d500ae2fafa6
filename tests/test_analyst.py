"""The analyst's hour runs: its commands, its schema and its lines, and what it finds is what the raw data say."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import statsmodels.formula.api as smf
from click.testing import CliRunner

from versadp.cli import main

PAGE = Path(__file__).parent.parent / "docs" / "tutorials" / "analyst.md"


@pytest.fixture(scope="module")
def hour(tmp_path_factory):
    """Run the page from top to bottom, and return the names that it leaves."""
    place, names = tmp_path_factory.mktemp("hour"), {"__name__": "hour"}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("XDG_STATE_HOME", str(place / "home"))
        for kind, block in re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
            if kind == "python":
                exec(compile(block, str(PAGE), "exec"), names)
            elif kind == "toml":
                Path("schema.toml").write_text(block)
            elif kind == "console":
                for line in re.findall(r"^\$ versadp (.*)$", block, flags=re.MULTILINE):
                    result = CliRunner().invoke(main, shlex.split(line))
                    assert result.exit_code == 0, (line, result.output)
    return names


def near(result, raw, names):
    """Within five standard errors of what the raw records say, whose own errors are in them."""
    for ours, theirs in names.items():
        assert abs(result.params[ours] - raw.params[theirs]) < 5 * result.bse[ours], ours


@pytest.mark.full
def test_three_models_of_the_survey(hour):
    raw = smf.logit("affair ~ rate_marriage + yrs_married + religious", hour["survey"]).fit(disp=0)
    assert hour["three"].outcome in {"converged", "weak"}
    near(
        hour["one"], smf.logit("affair ~ rate_marriage", hour["survey"]).fit(disp=0), {"rate_marriage": "rate_marriage"}
    )
    if hour["three"].converged:
        near(hour["three"], raw, {name: name for name in ("rate_marriage", "yrs_married", "religious")})
    text = str(hour["table"])
    for word in ("rating", "+ years", "+ religion", "epsilon", "privacy unit"):
        assert word in text
    assert "\\begin{table}" in hour["table"].render("latex")


def test_three_models_of_the_experiment(hour):
    raw = smf.ols("mdvis ~ lncoins + disea + C(health, Treatment('good'))", hour["rand"]).fit()
    level = "C(health)[T.fair or poor]"
    near(hour["models"][2], raw, {"lncoins": "lncoins", "disea": "disea"})
    near(hour["models"][2], raw, {level: "C(health, Treatment('good'))[T.fair or poor]"})
    assert np.isfinite(hour["models"][2].rsquared)
    slope = smf.ols("mdvis ~ lncoins + disea", hour["rand"]).fit().params["disea"]
    naive = hour["naive"]  # the control: noise that is not undone; off by about ten of its standard errors
    assert abs(naive.params["disea"] - slope) > 5 * naive.bse["disea"]
