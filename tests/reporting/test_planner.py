"""The planning page: its figures are the library's, and its widths those that a description of a release has."""

import base64
import hashlib
import json
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main
from versadp.reporting import planner
from versadp.reporting.coefficients import Coefficients
from versadp.reporting.planner import ALPHAS, Way, key

SCHEMA = vdp.Schema({"age": vdp.Bounded(18, 90), "</script><b>": vdp.Categorical(["n", "<!--"])})
WAYS = (
    Way("windows", "Windows", "w", "window", (1, 4), (0.0,)),
    Way("shuffled", "Shuffled", "s", "window", (0.5,), (1e-6,), shuffled=True),
    Way("laplace", "Laplace", "l", "zil", (4,), (0.01, 0.2)),
)


@pytest.fixture(scope="module")
def html():
    return vdp.planner(SCHEMA, ways=WAYS, records=(100, 100_000)).html


@pytest.fixture(scope="module")
def data(html):
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, flags=re.DOTALL)
    return json.loads(text)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("unit", ["record", "attribute"])
@pytest.mark.parametrize(
    "stop",
    [("windows", "window", 4, 0.0, None), ("shuffled", "window", 0.5, 1e-6, 100_000), ("laplace", "zil", 4, 0.2, None)],
)
def test_figures_are_those_of_calibrate(data, unit, stop):
    way, noise, epsilon, delta, count = stop
    mech = vdp.calibrate(SCHEMA, epsilon=epsilon, delta=delta or None, unit=unit, noise=noise, shuffled=count)
    point, profile = data["points"][key(way, unit, epsilon, delta, count)], mech.privacy(unit, shuffled=count)
    assert point["beta"] == pytest.approx(profile.beta(list(ALPHAS)).tolist(), abs=5e-5)
    assert float(point["found"][:-1]) / 100 >= 1 - profile.beta(0.01) - 1e-6
    assert profile.delta(epsilon) <= delta + 1e-12
    assert point["noise"] == {label: text for block in mech.blocks for label, text in block.facts(None).items()}


def test_what_is_not_possible_is_said(data):
    refused = data["points"][key("shuffled", "record", 0.5, 1e-6, 100)]
    kept = data["points"][key("shuffled", "record", 0.5, 1e-6, 100_000)]
    assert "refused" in refused or refused["widths"]["age"]["times"] > kept["widths"]["age"]["times"]


def test_widths_are_those_of_a_description(data):
    """Even values, 20,000 of them: the interval of their mean is as wide as the page says, within three percent."""
    rng = np.random.default_rng(0)
    rows = 20_000
    people = pd.DataFrame({"age": rng.uniform(18, 90, rows), "</script><b>": rng.choice(["n", "<!--"], rows)})
    described = vdp.describe(vdp.calibrate(SCHEMA, epsilon=1).release(people))
    mean, share = described["age"].mean, described["</script><b>"].shares["n"]
    widths = data["points"][key("windows", "record", 1, 0.0, None)]["widths"]
    for found, name in ((mean, "age"), (share, "</script><b>")):
        page = widths[name]["width"] / rows**0.5
        assert found.high - found.low == pytest.approx(page, rel=0.03)
        assert found.high - found.low != pytest.approx(page / widths[name]["times"], rel=0.03)  # that of raw data


def test_coefficients_are_those_of_a_plan():
    """One stop of each noise, against `plan` for the same model; the page keeps widths for one record."""
    schema = vdp.Schema({"age": vdp.Bounded(18, 90), "income": vdp.Bounded(0, 1e5)})
    model = Coefficients(schema, "income ~ age")
    plan = vdp.plan(schema, formula="income ~ age", records=50_000, epsilon=4)
    widths = model.widths(plan["one joint window"])
    for name, error in plan.bse("one joint window").items():
        assert widths[name]["width"] / 50_000**0.5 == pytest.approx(2 * 1.959964 * error, rel=1e-3)
    raw = dict(zip(plan.names, plan.raw, strict=True))
    for name, each in widths.items():
        assert each["times"] == pytest.approx(plan.bse("one joint window")[name] / raw[name], rel=1e-3)
    fewer = model.widths(vdp.calibrate(schema, epsilon=2))
    assert all(fewer[name]["times"] > widths[name]["times"] for name in widths)


def test_the_model_of_a_page(data):
    """A model of the first columns stands on it, and one that is asked for and cannot be is refused."""
    assert data["model"]["formula"] == "age ~ C(`</script><b>`)"
    four, one = (data["points"][key("windows", "record", epsilon, 0.0, None)] for epsilon in (4, 1))
    names = list(four["coefficients"])
    assert names == list(data["model"]["assumed"])
    assert all(one["coefficients"][n]["width"] > four["coefficients"][n]["width"] for n in names)
    with pytest.raises(vdp.errors.VersadpError, match="nothing"):
        vdp.planner(SCHEMA, formula="age ~ nothing", ways=WAYS[:1])


def test_names_stay_in_their_script(html):
    assert html.count("<script") == 2
    assert "<b>" not in html
    (script,) = re.findall(r"<script>(.*?)</script>", html, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html
    assert "http://" not in html
    assert "https://" not in html


def test_command(tmp_path, monkeypatch):
    monkeypatch.setattr(planner, "WAYS", WAYS)
    monkeypatch.setattr(planner.planner, "__kwdefaults__", planner.planner.__kwdefaults__ | {"ways": WAYS[:1]})
    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml())
    place = tmp_path / "plan.html"
    options = ["--report", str(place), "--records", "3500"]
    done = CliRunner().invoke(main, ["plan", str(tmp_path / "schema.toml"), *options])
    assert done.exit_code == 0, done.output
    assert "Planning a private release" in place.read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', place.read_text(), flags=re.DOTALL)[1])
    assert data["records"] == [35, 350, 3500, 35_000, 350_000]  # the page opens at the middle
