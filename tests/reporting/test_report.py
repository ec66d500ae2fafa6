"""Reports: their figures are the library's, their code runs, and what a release says is text and nothing else."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main
from versadp.release.target.statement import rounded_up
from versadp.reporting import guarantee, page
from versadp.reporting.comparison import compare
from versadp.reporting.noise import spreads
from versadp.reporting.original import original_fit
from versadp_tests.pages import Reading

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "{{ 7 * 191 }}", "$\\frac$ 😀 `x`")
LEVELS = ["</svg><script>alert(3)</script>", "'\"&<b>", "$a$"]
ROWS = 4000
KEY = bytes(range(7, 39))


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    first = rng.integers(0, 11, ROWS).astype(float)
    second = np.clip(first + rng.integers(-2, 3, ROWS), 0, 10)
    return pd.DataFrame(
        {
            HOSTILE[0]: first,
            HOSTILE[1]: second,
            HOSTILE[2]: rng.choice(LEVELS, ROWS, p=[0.5, 0.3, 0.2]),
            HOSTILE[3]: rng.choice(["<i>", "</td>"], ROWS),
        }
    )


@pytest.fixture(scope="module")
def release(people):
    """Return a release whose names and levels are written by an enemy."""
    whole = vdp.Bounded(0, 10, step=1)
    columns = {HOSTILE[0]: whole, HOSTILE[1]: whole, HOSTILE[2]: vdp.Categorical(LEVELS), HOSTILE[3]: vdp.Public()}
    return vdp.calibrate(vdp.Schema(columns), epsilon=6).release(people, key=KEY)


@pytest.fixture(scope="module")
def hostile(release):
    return vdp.report(release, fit=f"`{HOSTILE[1]}` ~ `{HOSTILE[0]}`").html


@pytest.fixture(scope="module")
def plain():
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 1, 6000)
    frame = pd.DataFrame({"x": x, "y": np.clip(0.2 + 0.5 * x + rng.normal(0, 0.1, 6000), 0, 1)})
    frame["year"] = rng.integers(2015, 2025, 6000)
    schema = vdp.Schema({"x": vdp.Bounded(0, 1), "y": vdp.Bounded(0, 1), "year": vdp.Public()})
    return frame, vdp.Mechanism(schema, scale=0.2, exact_rate=0.2).release(frame)


def check_harmless(html):
    """Raise if a page runs, loads or frames anything."""
    read = Reading(html)
    assert not read.tags & {
        "script",
        "img",
        "iframe",
        "object",
        "embed",
        "link",
        "base",
        "form",
        "i",
        "b",
        "foreignObject",
    }
    for tag, given in read.elements:
        assert not [name for name in given if name.startswith("on")], tag
        for name in ("href", "xlink:href", "src"):
            assert given.get(name, "#").startswith("#"), (tag, given)
    assert set(re.findall(r"https?://[^\"' <]*", html)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert len(read.ids) == len(set(read.ids))
    return read


def test_hostile_names_and_levels_are_text(hostile):
    read = check_harmless(hostile)
    for text in (*HOSTILE, *LEVELS):
        assert text in read.text
    assert str(7 * 191) not in hostile
    assert "default-src 'none'" in hostile
    with pytest.raises(AssertionError):  # the check can fail
        check_harmless(hostile.replace("&lt;script&gt;", "<script>"))


def test_pictures_have_names_for_who_cannot_see_them(hostile):
    read = Reading(hostile)
    drawn = [given for tag, given in read.elements if tag == "svg"]
    assert len(drawn) >= 7  # trade-off, profile, noise, forest, and a column each
    for given in drawn:
        assert given["role"] == "img"
        assert set(given["aria-labelledby"].split()) <= set(read.ids)
    assert all(len(svg) < 25_000 for svg in re.findall(r"<svg.*?</svg>", hostile, flags=re.DOTALL))


def run_code(html, folder, monkeypatch, capsys):
    (text,) = Reading(html).code
    monkeypatch.chdir(folder)
    capsys.readouterr()
    names = {}
    exec(compile(text, "code of a report", "exec"), names)
    assert "epsilon" in capsys.readouterr().out
    return names


def test_code_of_a_hostile_release_runs(hostile, release, tmp_path, monkeypatch, capsys):
    release.save(tmp_path / "released")
    names = run_code(hostile, tmp_path, monkeypatch, capsys)
    assert names["result"].answered


@pytest.mark.full
def test_code_of_a_plain_release_runs(plain, tmp_path, monkeypatch, capsys):
    plain[1].save(tmp_path / "released")
    names = run_code(vdp.report(tmp_path / "released").html, tmp_path, monkeypatch, capsys)
    assert names["result"].formula == "x ~ y + year"


def test_guarantees_are_those_of_the_release(release, hostile):
    read = Reading(hostile)
    whole, local = release.privacy("record"), release.mechanism.privacy("record")
    assert whole != local
    cells = set(read.texts)
    for profile in (whole, local):
        for epsilon in (0.5, 1.0, 4.0):
            assert rounded_up(profile.delta(epsilon)) in cells
        assert guarantee.found(profile, 0.05) in cells
        assert float(guarantee.found(profile, 0.05)[:-1]) / 100 >= 1 - profile.beta(0.05) - 1e-6
    twice = whole.compose(2)
    assert guarantee.found(twice) in cells
    assert guarantee.found(twice) != guarantee.found(whole)
    for line in release.statement().splitlines()[:2]:
        assert line.strip() in read.text


def test_columns_are_described_as_describe_does(release, hostile):
    described, cells = vdp.describe(release), set(Reading(hostile).texts)
    for name in HOSTILE[:2]:
        assert f"{described[name].mean.value:.4g}" in cells
    for share in described[HOSTILE[2]].shares.values():
        assert f"{share.low:.4g} to {share.high:.4g}" in cells


def test_naive_stands_beside_corrected(release, hostile):
    formula, cells = f"`{HOSTILE[1]}` ~ `{HOSTILE[0]}`", set(Reading(hostile).texts)
    corrected, naive = (vdp.fit(release, formula, method=method).params.values for method in ("efficient", "naive"))
    assert {f"{corrected[1]:.4g}", f"{naive[1]:.4g}"} <= cells
    assert abs(naive[1]) < abs(corrected[1])


@pytest.mark.full
def test_comparison_with_the_original_data_is_asked_for(plain, tmp_path):
    frame, release = plain
    frame.to_parquet(tmp_path / "raw.parquet")
    alone, beside = (
        Reading(vdp.report(release, raw=raw, fit="y ~ x").html) for raw in (None, tmp_path / "raw.parquet")
    )
    slope = f"{np.polyfit(frame['x'], frame['y'], 1)[0]:.4g}"
    mean, spread = (f"{figure:.4g}" for figure in (frame["x"].mean(), frame["x"].std(ddof=0)))
    for read, there in ((alone, False), (beside, True)):
        assert ("Not for sending on." in read.texts) is there
        assert any(given.get("class") == "alarm" for _, given in read.elements) is there
        assert (spread in read.texts) is there
        assert (slope in read.texts) is there  # of the model fitted to the original data
    assert {mean, f"{np.std(release.frame['x']):.4g}"} <= set(beside.texts)  # the latter noise and all
    described = vdp.describe(release)
    assert compare(release, described, frame) == compare(release, described, tmp_path / "raw.parquet")


def test_folders_are_read_in_batches_and_not_named(release, tmp_path, monkeypatch):
    place = tmp_path / "a secret place"
    release.save(place)

    def whole(_self):
        raise AssertionError("all records at once")

    monkeypatch.setattr(vdp.Release, "frame", property(whole))
    html = vdp.report(place).html
    assert f"{ROWS:,} records" in html
    for text in (str(tmp_path), "secret place", KEY.hex(), repr(KEY)):
        assert text not in html
    with pytest.raises(AssertionError):
        vdp.load(place).frame  # noqa: B018 - which reads it


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_spread_of_laplace_noise(rate):
    """One column: an atom of `rate` and a Laplace law; quantiles within five standard errors of 100,000 draws."""
    (found,) = spreads(vdp.Mechanism(vdp.Schema({"a": vdp.Bounded(0, 1)}), scale=0.5, exact_rate=rate)).values()
    b = 0.5 / np.sqrt(2)
    for level, got in ((0.75, found.half[1]), (0.95, found.mostly[1])):
        beyond = (1 - level) / (1 - rate)
        x = b * np.log(1 / (2 * beyond))
        density = (1 - rate) * np.exp(-x / b) / (2 * b)
        assert abs(got - 0.5 - x) < 5 * np.sqrt(level * (1 - level) / 100_000) / density
    assert abs(found.same - rate) < 0.005


@pytest.mark.parametrize("step", [None, 1])
def test_spread_of_windows_is_around_the_truth(step):
    """Kept in its window or even over all outputs: both are symmetric around the middle of the range."""
    mech = vdp.calibrate(vdp.Schema({"a": vdp.Bounded(0, 100, step=step), "b": vdp.Bounded(0, 1)}), epsilon=4)
    found, (block,) = spreads(mech)["a"], mech.blocks
    assert found.truth == pytest.approx(0.5)
    for low, high in (found.half, found.mostly):
        assert low + high == pytest.approx(1.0, abs=0.03)
        assert low < found.truth < high
    reach = block.reach()["a"] / 100
    assert block.keep > 0.5  # so that half of the time it is inside its window
    assert found.half[1] - found.half[0] <= 2 * reach + 1e-9
    if step and block.window[0] % 2 == 0:  # then all outputs lie between whole numbers
        assert found.same == 0
    else:
        assert 0 < found.same < 2 / (2 * reach * 100 / (step or block.step[0]) + 1)


def test_the_model_of_the_original_data_is_that_of_other_libraries(tmp_path):
    """Least squares by numpy, logistic regression by statsmodels: the same coefficients and robust standard errors."""
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.uniform(-0.2, 1.2, 3000), "g": rng.choice(["b", "a"], 3000)})
    frame["y"] = np.clip(0.2 + 0.5 * frame["x"] + 0.1 * (frame["g"] == "a") + rng.normal(0, 0.1, 3000), 0, 1)
    frame["z"] = np.where(rng.random(3000) < 1 / (1 + np.exp(-3 * frame["y"])), 1, 0)
    numbers = {name: vdp.Bounded(0, 1) for name in ("x", "y")}
    schema = vdp.Schema(numbers | {"g": vdp.Categorical(["b", "a"]), "z": vdp.Categorical([0, 1])})
    with pytest.warns(vdp.errors.ClampedWarning):
        release = vdp.calibrate(schema, epsilon=8).release(frame)
    frame.to_parquet(tmp_path / "raw.parquet")
    clipped = frame["x"].clip(0, 1)
    cases = {
        "squared": ("y ~ x + C(g)", lambda m: sm.OLS(frame["y"], m)),
        "logistic": ("z ~ x + C(g)", lambda m: sm.Logit(frame["z"], m)),
    }
    design = np.column_stack([np.ones(3000), clipped, frame["g"] == "a"])
    for loss, (formula, other) in cases.items():
        result = vdp.fit(release, formula, loss=loss)
        estimate, error = original_fit(result, release, loss, tmp_path / "raw.parquet")
        theirs = other(design).fit(cov_type="HC0", **({} if loss == "squared" else {"disp": 0}))
        assert estimate == pytest.approx(np.asarray(theirs.params), abs=1e-6)
        assert error == pytest.approx(np.asarray(theirs.bse), rel=1e-4)
        unclipped = np.column_stack([np.ones(3000), frame["x"], frame["g"] == "a"])  # negative control
        plain = other(unclipped).fit(**({} if loss == "squared" else {"disp": 0}))
        assert estimate != pytest.approx(np.asarray(plain.params), abs=1e-3)


def test_command(release, tmp_path):
    release.save(tmp_path / "released")
    raw = tmp_path / "raw.csv"
    release.frame.to_csv(raw, index=False)
    command = ["report", str(tmp_path / "released"), "--raw", str(raw), "--out"]
    done = CliRunner().invoke(main, [*command, str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    assert "report written" in done.stdout
    assert "keep it to yourself" in done.stderr
    check_harmless((tmp_path / "page.html").read_text())
    done = CliRunner().invoke(main, [*command, str(tmp_path / "no" / "page.html")])
    assert done.exit_code == 2
    assert str(tmp_path) not in done.output


def test_no_records_and_one():
    schema = vdp.Schema({"a": vdp.Bounded(0, 10, step=1), "b": vdp.Categorical(["x", "y"])})
    for rows in (0, 1):
        frame = pd.DataFrame({"a": np.full(rows, 3.0), "b": np.full(rows, "x")})
        html = vdp.report(vdp.calibrate(schema, epsilon=4).release(frame)).html
        check_harmless(html)
        assert "not told" in html


def test_what_is_not_installed_is_said(release, monkeypatch):
    page.environment.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(vdp.errors.MissingExtraError, match="jinja2"):
        vdp.report(release)
    page.environment.cache_clear()


@pytest.mark.full
def test_missing_values_and_dates(tmp_path):
    rng = np.random.default_rng(2)
    a = np.where(rng.random(3000) < 0.2, np.nan, rng.integers(0, 5, 3000))
    born = pa.array(rng.integers(0, 100, 3000), pa.int32()).cast(pa.date32())
    table = pa.table({"a": pa.array(a, from_pandas=True), "born": born})
    columns = {"a": vdp.Bounded(0, 4, step=1, nullable=True), "born": vdp.Dates("1970-01-01", "1970-04-30")}
    release = vdp.calibrate(vdp.Schema(columns), epsilon=6).release(table)
    html = vdp.report(release, raw=table).html
    check_harmless(html)
    assert "1970-01-01 to 1970-04-30" in html


def test_a_report_shows_what_the_publisher_says(release, tmp_path):
    texts = ("title", "curator", "contact", "purpose")
    plain = vdp.Metadata(**{name: f"the {name}" for name in texts}, covers="nobody asked")
    release.save(tmp_path / "plain", metadata=plain)
    page = Reading(vdp.report(tmp_path / "plain").html)
    told = "".join(page.texts)
    assert all(f"the {name}" in told for name in texts)
    assert "2026-03-01" in told
    assert "nobody asked" not in told
    bare = "".join(Reading(vdp.report(release).html).texts)
    assert "Publisher" not in bare
    assert "Report on a private release" in bare


def test_a_hostile_publisher_writes_text(release, tmp_path):
    texts = dict(
        zip(("title", "curator", "contact", "purpose"), [HOSTILE[0], HOSTILE[1], HOSTILE[2], LEVELS[0]], strict=True)
    )
    release.save(tmp_path / "hostile", metadata=vdp.Metadata(**texts))
    page, before = Reading(vdp.report(tmp_path / "hostile").html), Reading(vdp.report(release).html)
    assert page.tags == before.tags | {"dl", "dt", "dd"}
    told = "".join(page.texts)
    assert all(text in told for text in texts.values())
