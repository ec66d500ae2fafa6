"""describe: against plain statistics, enumeration and closed forms; what is not told; every way to show it."""

import itertools
import json
import sys
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from scipy.stats import beta, binom, laplace
from statsmodels.stats.proportion import proportion_confint

import versadp as vdp
from versadp.cli import main
from versadp.describing.cumulative import cumulative
from versadp.describing.layout import Layout
from versadp.describing.one_pass import Firm, Lot, group_keys
from versadp.errors import MissingExtraError, ParameterError
from versadp.noise import Response, Window, ZeroInflated
from versadp.schema import Bounded, Categorical, Dates, Public
from versadp_tests.outputs import kept_outputs
from versadp_tests.strangers import Lottery

KEY = bytes(range(32))


def released(columns, noise, table, **options):
    mech = vdp.Mechanism(vdp.Schema(columns), noise=noise)
    return mech.release(table if hasattr(table, "columns") else pa.table(table), key=KEY, **options)


def people(n, seed=0):
    """Two correlated numbers, a category, and what a release of them has beside."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 2)) @ np.linalg.cholesky([[1, 0.6], [0.6, 1]]).T
    return pd.DataFrame(
        {
            "age": np.clip(50 + 12 * z[:, 0], 18, 90),
            "income": np.clip(np.exp(10 + 0.5 * z[:, 1]), 0, 1e5),
            "region": rng.choice(list("nes"), n, p=[0.1, 0.3, 0.6]),
        }
    )


COLUMNS = {"age": Bounded(18, 90), "income": Bounded(0, 1e5), "region": Categorical(list("nes"))}
NOISE = {("age", "income"): ZeroInflated(0.25, 0.2), "region": Response(0.5)}


# oracles -------------------------------------------------------------------------------------------------------------


def test_without_noise_it_is_what_pandas_says():
    rng, n = np.random.default_rng(1), 3000
    frame = pd.DataFrame({"a": 1e6 + rng.normal(size=n), "b": rng.exponential(size=n), "t": rng.choice(["x", "y"], n)})
    frame["b"] += frame["a"] - 1e6
    columns = {name: Public() for name in frame} | {"z": Bounded(0, 1, nullable="public")}
    frame["z"] = np.where(np.arange(n) < 10, np.nan, 0.5)
    found = vdp.describe(released(columns, {"z": Window(4)}, frame))
    for name in ("a", "b"):
        own = found[name]
        assert own.mean.value == pytest.approx(frame[name].mean(), rel=1e-12)
        assert own.mean.error == pytest.approx(frame[name].sem(), rel=1e-9)
        assert own.sd.value == pytest.approx(frame[name].std(), rel=1e-9)
        assert own.quantiles[0.25].value == pytest.approx(frame[name].quantile(0.25))
        assert own.missing is None
    assert found.correlations["a", "b"] == pytest.approx(frame[["a", "b"]].corr().loc["a", "b"], abs=1e-9)
    assert found["t"].shares["x"].value == pytest.approx((frame["t"] == "x").mean())
    low, high = proportion_confint(10, n, method="wilson")
    own = found["z"].missing
    assert (own.value, own.low, own.high) == pytest.approx((10 / n, low, high), rel=1e-6)


def test_quantiles_without_noise_lie_between_two_order_statistics():
    n, values = 101, np.arange(101.0)
    found = vdp.describe(
        released({"a": Public(), "z": Bounded(0, 1)}, {"z": Window(4)}, {"a": values, "z": values / 100})
    )
    own = found["a"].quantiles[0.5]
    # the chance that the median lies between these two, by the binomial law
    inside = binom.cdf(own.high - 1, n, 0.5) - binom.cdf(own.low, n, 0.5)
    assert 0.95 <= inside < 0.99


def _law(block, truth):
    """Return all outputs of a small window block and how likely each is, by its definition."""
    axes, chances = [], []
    for x, m, w, s in zip(truth, block.last, block.window, block.unseen, strict=True):
        total = m + w + s
        kept = np.zeros(total)
        kept[list(kept_outputs(m, w, s, None if np.isnan(x) else round(x)))] = 1 / w
        axes.append(range(total))
        chances.append((kept, np.full(total, 1 / total)))
    for place in itertools.product(*axes):
        kept, drawn = (np.prod([chances[j][k][z] for j, z in enumerate(place)]) for k in (0, 1))
        yield place, block.keep * kept + (1 - block.keep) * drawn


@pytest.mark.parametrize("truth", [(1.0, 2.0), (3.0, np.nan), (np.nan, np.nan)])
@pytest.mark.parametrize("together", [True, False])
def test_moments_have_the_right_expectation(truth, together):
    """Over all outputs of two small windows, joint or not, nullable: 1, x, y, xx, yy, xy of those who have both."""
    columns = {"x": Bounded(0, 4, step=1, nullable=True), "y": Bounded(0, 3, step=1, nullable=True)}
    spec = Window(3, cells={"x": 4, "y": 3}, window={"x": 3, "y": 2}, missing={"x": 2, "y": 1})
    one = {name: Window(3, cells=round(c.upper), window=2) for name, c in columns.items()}
    rel = released(columns, {("x", "y"): spec} if together else one, {"x": [1.0, 2.0], "y": [1.0, None]})
    blocks = rel.mechanism.blocks
    outputs, weight = [], []
    for parts in itertools.product(
        *(list(_law(block, truth if together else (t,))) for block, t in zip(blocks, truth, strict=False))
    ):
        outputs.append([z for place, _ in parts for z in place])
        weight.append(np.prod([chance for _, chance in parts]))
    values = np.array(outputs, dtype=float).T
    at = 0
    for block in blocks:
        block.to_values(own := values[at : at + len(block.columns)])
        values[at : at + len(block.columns)] = own
        at += len(block.columns)
    layout = Layout.of(rel)
    lot = Lot(layout, Firm.of(layout), {"x": values[0], "y": values[1]})
    key = ("x", "y")
    seen = lot.statistics(key, group_keys(layout).index(key)) @ np.array(weight)
    x, y = (truth[0] - 2) / 4, (truth[1] - 1.5) / 3
    wanted = np.array([1, x, y, x * x, y * y, x * y])
    np.testing.assert_allclose(seen, np.zeros(6) if np.isnan(truth).any() else wanted, atol=1e-12)
    single = lot.statistics(("x",), group_keys(layout).index(("x",))) @ np.array(weight)
    np.testing.assert_allclose(single, [0, 0, 0] if np.isnan(x) else [1, x, x * x], atol=1e-12)
    assert not np.allclose(values[0][~np.isnan(values[0])].mean(), truth[0])  # what is released has another


def test_shares_are_the_inverted_table_with_wilson_intervals():
    rng, n, keep = np.random.default_rng(2), 900, 0.4
    rel = released({"g": Categorical(list("abc"))}, {"g": Response(keep)}, {"g": rng.choice(list("aaab"), n)})
    found, seen = vdp.describe(rel)["g"], rel.to_pandas()["g"]
    for level in "abc":
        count = int((seen == level).sum())
        ends = np.array([count / n, *proportion_confint(count, n, method="wilson")])
        value, low, high = (ends - (1 - keep) / 3) / keep
        own = found.shares[level]
        assert (own.value, own.low, own.high) == pytest.approx((value, max(low, 0), min(high, 1)), abs=1e-12)
    naive = float((seen == "a").mean())
    assert not found.shares["a"].low <= naive <= found.shares["a"].high


@pytest.mark.parametrize("nullable", [True, "public"])
def test_levels_and_missing_add_up(nullable):
    values = ["a"] * 500 + ["b"] * 300 + [None] * 200
    columns = {"g": Categorical(["a", "b"], nullable=nullable), "x": Bounded(0, 1)}
    rel = released(columns, {("g", "x"): Window(8)}, {"g": values, "x": np.linspace(0, 1, 1000)})
    found = vdp.describe(rel)["g"]
    total = sum(each.value for each in found.shares.values()) + found.missing.value
    assert total == pytest.approx(1)
    assert found.missing.low <= 0.2 <= found.missing.high  # 2.8 and 0 standard errors of chance, with this key
    if nullable == "public":
        assert found.missing.value == pytest.approx(0.2)


@pytest.mark.parametrize(("scale", "rate"), [(0.94, 0.1), (0.05, 0.02)])
def test_steps_of_laplace_noise_have_the_right_expectation(scale, rate):
    """By the Laplace law of one column, bin by bin; a value counts as spread over its bin, 1/32 of b."""
    block = ZeroInflated(scale, rate).on({"x": Bounded(0, 1), "other": Bounded(0, 9)})
    bins = block.bins("x")
    t = np.array([bins.edges[bins.beyond + bins.inside // 3], *bins.outside, np.inf])
    psi, edges = block.steps("x", t), bins.edges
    for x in (0.0, 0.2, 0.7, 1.0):
        below = laplace.cdf((edges - x) * np.sqrt(2) / scale)
        below[[0, -1]] = 0, 1
        chance = np.append((1 - rate) * np.diff(below), 0)
        chance[bins.place(np.array([x]))[0]] += rate
        np.testing.assert_allclose(chance @ psi, (x <= t).astype(float), atol=2e-3)
    naive = np.append(edges[1:, None] <= t, np.zeros((1, t.size)), axis=0)
    assert np.abs(chance @ naive - (x <= t)).max() > 0.01


def test_steps_of_a_lattice_have_the_right_expectation():
    column = Bounded(0, 4, step=1, nullable=True)
    block = Window(2, cells=4, window=1).on({"x": column})
    t, bins = np.array([0.0, 2.0, np.inf]), block.bins("x")
    psi = block.steps("x", t)
    for truth in (0.0, 2.0, 4.0, np.nan):
        chance = np.zeros(bins.count)
        for (place,), each in _law(block, (truth,)):
            values = np.array([[float(place)]])
            block.to_values(values)
            chance[bins.place(values[0])[0]] += each
        np.testing.assert_allclose(chance @ psi, truth <= t, atol=1e-12)


def test_quantiles_of_laplace_noise_are_as_good_as_one_column_can_be():
    """At n = 500, U(0, 1), rate 0.1, scale 0.94 no estimate of P(X <= 1/2) has an error below 0.0843."""
    block, n = ZeroInflated(0.94, 0.1).on({"x": Bounded(0, 1)}), 2e9
    bins = block.bins("x")
    edges, x = bins.edges, (np.arange(4000) + 0.5) / 4000
    below = laplace.cdf((edges[:, None] - x) * np.sqrt(2) / 0.94).mean(axis=1)
    below[[0, -1]] = 0, 1
    inside = np.clip(edges[1:], 0, 1) - np.clip(edges[:-1], 0, 1)
    counts = np.append(n * (0.9 * np.diff(below) + 0.1 * inside), 0)
    found = cumulative(block, "x", Bounded(0, 1), counts)
    curve = found.curve(0.5)
    error = float(np.interp(curve.estimate, curve.at, curve.error)) * np.sqrt(n / 500)
    assert curve.estimate == pytest.approx(0.5, abs=1e-3)
    assert 0.0840 < error < 0.0850


def test_quantiles_of_windows_have_a_bias_below_their_error():
    """Beta(2, 9) under a window of epsilon 4, by the law of its outputs: at n = 1e5, at 4 quantiles."""
    block, n = Window(4).on({"x": Bounded(0, 1)}), 1e5
    bins, ends = block.bins("x"), np.linspace(0, 1, 1501)
    law = beta(2, 9)
    kernel = block.law(("x",), bins.middles[None], ends[None, :-1], ends[None, 1:])
    share = kernel @ np.diff(law.cdf(ends)) * np.diff(bins.edges)
    found = cumulative(block, "x", Bounded(0, 1), np.append(n * share / share.sum(), 0))
    assert not found.is_single
    for tau in (0.1, 0.25, 0.5, 0.9):
        seen = found._curve(tau, found._look(np.array([law.ppf(tau)])))
        assert abs(seen.score[0]) < 0.3 * seen.error[0]


# what it is of, and where it is ---------------------------------------------------------------------------------------


def _same(one, other):
    for a, b in zip(one.table, other.table, strict=True):
        assert (a["column"], a["statistic"]) == (b["column"], b["statistic"])
        for key in ("estimate", "std_error", "lower", "upper"):
            assert a[key] == pytest.approx(b[key], rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(one.correlations, other.correlations, rtol=1e-9)


def test_a_folder_of_parts_in_any_order_is_the_release_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("versadp.release.folder.folder.GROUP_ROWS", 300)
    monkeypatch.setattr("versadp.release.folder.folder.PART_ROWS", 1000)
    monkeypatch.setattr("versadp.describing.one_pass.LOT", 128)
    rel = released(COLUMNS, NOISE, people(3000))
    rel.save(tmp_path / "released")
    here, there = vdp.describe(rel), vdp.describe(tmp_path / "released", engine="serial")
    _same(here, there)
    assert len(list((tmp_path / "released").glob("*.parquet"))) > 1
    mixed = rel.to_pandas().sample(frac=1, random_state=0)
    _same(here, vdp.describe(vdp.Release.from_frame(mixed, rel.mechanism)))
    with pytest.raises(ParameterError, match="processes"):
        vdp.describe(rel, engine="processes")


def test_large_and_small_numbers_of_records():
    frame = people(400)
    for n in (1, 2):
        found = vdp.describe(released(COLUMNS, NOISE, frame[:n]))
        assert found.records == n
        assert not found["age"].mean.told or n > 1
        assert (found["age"].mean.low, found["age"].mean.high) == (18, 90) or n > 1
        assert all(-1 <= row["lower"] <= row["upper"] <= 1 for row in found.correlation_table)
    assert "too few records" in vdp.describe(released(COLUMNS, NOISE, frame[:1])).summary()


def test_no_records():
    rel = released(COLUMNS, NOISE, people(3))
    found = vdp.describe(vdp.Release(rel.frame[:0], rel.mechanism))
    assert found.records == 0
    assert not any(row["estimate"] for row in found.table)
    assert np.isnan(found["region"].shares["n"].value)


def test_dates_are_dates():
    first = date(2000, 1, 1)
    rng = np.random.default_rng(3)
    days = rng.integers(0, 1001, 4000)
    table = {"born": [first + timedelta(int(d)) for d in days]}
    found = vdp.describe(released({"born": Dates("2000-01-01", "2002-09-27")}, {"born": Window(6)}, table))
    own = found["born"]
    assert abs(own.mean.value - days.mean()) < 5 * own.mean.error
    assert own.sd.low < days.std() < own.sd.high
    (row,) = [row for row in found.table if row["statistic"] == "mean"]
    assert row["estimate"] == str(first + timedelta(round(own.mean.value)))
    assert row["lower"] == str(first + timedelta(round(own.mean.low)))
    assert row["std_error"] == pytest.approx(own.mean.error)


def test_insignificant_standard_deviation_is_not_estimated():
    rng = np.random.default_rng(4)
    frame = {"x": 0.5 + 0.001 * rng.normal(size=500), "y": rng.random(500)}
    rel = released({"x": Bounded(0, 1), "y": Bounded(0, 1)}, {("x", "y"): ZeroInflated(1.0, 0.1)}, frame)
    found = vdp.describe(rel)
    assert not found["x"].sd.told
    assert found["x"].sd.low == 0
    assert 0.001 <= found["x"].sd.high <= 0.5
    assert (found.correlation("x", "y").low, found.correlation("y", "x").high) == (-1, 1)
    assert "x: its standard deviation is not significant" in found.summary()
    assert "nan" not in found.summary()


def test_notes_name_quantities_without_an_estimate():
    values = np.linspace(0, 1, 300)
    rel = released(
        {"x": Bounded(0, 1), "y": Bounded(0, 1)},
        {"x": Lottery(5, 0.5), "y": ZeroInflated(0.2)},
        {"x": values, "y": values},
    )
    found = vdp.describe(rel)
    assert "x: no moments, as its noise has no" in " ".join(found.notes)
    assert "y: quantiles assume a uniform distribution within each of 64 cells" in " ".join(found.notes)
    assert not found["x"].quantiles[0.5].told
    assert (found["x"].quantiles[0.5].low, found["x"].quantiles[0.5].high) == (0, 1)
    assert found["y"].mean.told
    assert found["y"].histogram is not None
    assert found["x"].histogram is None


def test_histograms_add_up_and_densities_integrate():
    rel = released(COLUMNS | {"p": Public()}, NOISE, people(5000).assign(p=np.arange(5000.0)))
    found = vdp.describe(rel)
    for name in ("age", "p"):
        own = found[name].histogram
        assert own.share.sum() == pytest.approx(1)
        assert (own.density * (own.high - own.low)).sum() == pytest.approx(1)
        band = own.band()
        assert (band[:, 0] <= own.share).all()
        assert (own.share <= band[:, 1]).all()
    assert found["region"].histogram is None


@pytest.mark.full
def test_histogram_cells_are_joined_until_significant():
    """A window of half a range shows no thirty-two cells, and its shares would be noise; a light one does."""
    x = np.clip(np.random.default_rng(8).normal(50, 15, 20_000), 0, 100)
    cells = []
    for epsilon in (2, 4, 12):
        mech = vdp.Mechanism(vdp.Schema({"x": Bounded(0, 100)}), noise={"x": Window(epsilon=epsilon)})
        own = vdp.describe(mech.release(pd.DataFrame({"x": x})))["x"].histogram
        assert own.low[0] == 0
        assert own.high[-1] == 100
        assert own.share.size == 4 or np.sqrt(np.mean(own.error**2)) <= own.share.mean() / 3
        cells.append(own.share.size)
    assert cells[0] < cells[-1] == 32
    assert cells == sorted(cells)


# how it is shown ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    columns = {"<b>": Bounded(0, 1), "g": Categorical(["<i>", "b"]), "x": Bounded(0, 1)}
    rng = np.random.default_rng(5)
    table = {"<b>": rng.random(500), "g": rng.choice(["<i>", "b"], 500), "x": rng.random(500)}
    path = tmp_path_factory.mktemp("describe") / "released"
    released(columns, {("<b>", "x"): ZeroInflated(0.2, 0.3), "g": Response(0.6)}, table).save(path)
    return path


def test_html_is_escaped_and_text_is_narrow(folder):
    found = vdp.describe(folder)
    for page in (found._repr_html_(), found.table._repr_html_(), found.summary("html")):
        assert "<b>" not in page
        assert "<i>" not in page
        assert "&lt;b&gt;" in page
    assert max(map(len, found.summary().splitlines())) < 120
    assert list(found) == ["<b>", "g", "x"]
    assert found.table.to_pandas().loc[("x", "mean"), "estimate"] == found["x"].mean.value
    assert found.summary("latex").count("begin{table}") == 2
    assert repr(found) == "<Description: 500 records, 3 columns>"
    with pytest.raises(KeyError, match="choose from <b>, g, x"):
        found["age"]


def run(*arguments):
    return CliRunner().invoke(main, ["describe", *map(str, arguments)])


def test_the_command(folder, tmp_path):
    found = vdp.describe(folder, level=0.9, quantiles=(0.1,))
    options = (folder, "--level", "0.9", "--quantile", "0.1")
    assert run(*options).stdout.rstrip("\n") == found.summary()
    data = json.loads(run(*options, "--format", "json").stdout)
    assert data["table"] == list(found.table)
    assert data["correlations"] == list(found.correlation_table)
    assert (data["records"], data["level"]) == (500, 0.9)
    lines = run(*options, "--format", "csv").stdout.splitlines()
    assert lines[0] == "column,statistic,estimate,std_error,lower,upper"
    assert len(lines) == 1 + len(found.table) + len(found.correlation_table)
    assert run(folder, "--plot", tmp_path / "p.png").exit_code == 0
    assert (tmp_path / "p.png").stat().st_size > 1000
    assert run(folder, "--level", "95").exit_code == 2
    assert run(folder, "--quantile", "2").exit_code == 2


def test_a_picture_needs_matplotlib(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match="matplotlib"):
        vdp.describe(folder).plot()


# coverage -------------------------------------------------------------------------------------------------------------


def _coverage(reps, n):
    """Return for each statistic how often its interval covers the truth, and how often a naive one does."""
    truth = people(400_000, seed=9)
    wanted = {("age", "mean"): truth["age"].mean(), ("age", "sd"): truth["age"].std()}
    wanted |= {("income", "sd"): truth["income"].std(), ("region", "share of n"): 0.1}
    wanted |= {(name, "50%"): truth[name].median() for name in ("age", "income")}
    wanted[("income", "75%")] = truth["income"].quantile(0.75)
    rho = truth[["age", "income"]].corr().loc["age", "income"]
    hits = dict.fromkeys([*wanted, "correlation", "naive sd", "naive share", "naive correlation"], 0)
    mech = {
        "laplace": vdp.Mechanism(vdp.Schema(COLUMNS), noise=NOISE),
        "window": vdp.Mechanism(vdp.Schema(COLUMNS), noise={("age", "income", "region"): Window(8)}),
    }
    out = {}
    for name, each in mech.items():
        own = dict(hits)
        for k in range(reps):
            rel = each.release(people(n, seed=100 + k), key=np.random.default_rng(k).bytes(32))
            found = vdp.describe(rel, engine="serial", quantiles=(0.5, 0.75))
            rows = {(row["column"], row["statistic"]): row for row in found.table}
            for key, value in wanted.items():
                own[key] += rows[key]["lower"] <= value <= rows[key]["upper"]
            r = found.correlation("age", "income")
            own["correlation"] += r.low <= rho <= r.high
            seen = rel.to_pandas()
            spread = seen["age"].std()
            own["naive sd"] += abs(spread - wanted["age", "sd"]) <= 1.96 * spread / np.sqrt(2 * n)
            plain = proportion_confint(int((seen["region"] == "n").sum()), n, method="wilson")
            own["naive share"] += plain[0] <= 0.1 <= plain[1]
            z = np.arctanh(seen[["age", "income"]].corr().loc["age", "income"])
            own["naive correlation"] += abs(z - np.arctanh(rho)) <= 1.96 / np.sqrt(n - 3)
        out[name] = {key: count / reps for key, count in own.items()}
    return out


@pytest.mark.slow
def test_intervals_cover():
    """95% of 200: right code falls below 0.884 less than once in a hundred thousand runs; naive intervals do fall."""
    reps = 200
    found, least = _coverage(reps, 4000), 0.95 - 4.27 * np.sqrt(0.95 * 0.05 / reps)
    for own in found.values():
        for key, share in own.items():
            if "naive" in key:
                assert share < least, (key, share)
            else:
                assert share >= least, (key, share)


@pytest.mark.parametrize("gone", ["at random", "with the value"])
def test_numbers_whose_missing_values_are_private_have_quantiles_and_histograms(gone):
    """Of those who have a value: where missing goes with the value they are other people than all."""
    rng = np.random.default_rng(3)
    n = 40_000
    x = np.clip(rng.normal(50, 12, n), 0, 100)
    lost = rng.random(n) < (0.2 if gone == "at random" else np.where(x > 55, 0.6, 0.1))
    there = x[~lost]
    schema = vdp.Schema({"x": Bounded(0, 100, nullable=True)})
    people = pd.DataFrame({"x": np.where(lost, np.nan, x)})
    found = vdp.describe(vdp.calibrate(schema, epsilon=4).release(people, key=bytes(range(32))))["x"]
    for tau, each in found.quantiles.items():  # five standard errors, and half a cell of 64
        assert abs(each.value - np.quantile(there, tau)) < 5 * each.error + 0.8
    drawn = found.histogram.joined(found.histogram.share.size // 4)  # four cells
    assert drawn.share.sum() == pytest.approx(1)
    truth, whole = (np.histogram(each, np.append(drawn.low, drawn.high[-1]))[0] / each.size for each in (there, x))
    assert (np.abs(drawn.share - truth) < 5 * drawn.error + 0.005).all()
    if gone == "with the value":  # the control: of all people, those who are missing among them
        assert (np.abs(drawn.share - whole) > 5 * drawn.error + 0.005).any()


def test_the_picture_of_a_category_shows_what_is_missing():
    values = ["a"] * 600 + ["b"] * 300 + [None] * 100
    rel = released({"g": Categorical(list("ab"), nullable=True)}, {"g": Response(0.9)}, {"g": values})
    found = vdp.describe(rel)
    (axes,) = found.plot().axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b", "missing"]
    heights = [bar.get_height() for bar in axes.patches if hasattr(bar, "get_height")]
    assert heights == pytest.approx([*(each.value for each in found["g"].shares.values()), found["g"].missing.value])
    assert found["g"].released.share.sum() == pytest.approx(1)


def test_describe_says_that_rows_were_selected_by_a_noisy_column():
    rng, n = np.random.default_rng(3), 4000
    values = {"x": rng.beta(4, 2, n), "g": rng.choice(list("ab"), n)}
    rel = released({"x": Bounded(0, 1), "g": Categorical(list("ab"))}, {("x", "g"): Window(4)}, values)
    assert not any("lacks" in note for name in values for note in vdp.describe(rel)[name].notes)
    frame = rel.to_pandas()
    some = vdp.describe(vdp.Release.from_frame(frame[frame["x"] > 0.4], rel.mechanism, on_grid=False))
    assert "selected by a noisy column" in some["x"].notes[0]
    assert "lacks values" in some.summary()
