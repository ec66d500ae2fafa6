"""Tables of a release as users ask for them: figures, margins, refusals, formats."""

import json

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import DataError, NoSuchName, ParameterError
from versadp.noise import Response, Window, ZeroInflated
from versadp.tabulating.axes import read_axes
from versadp.tabulating.codes import lattice_coding, on_lattice

N = 4000
KEY = bytes(range(32))  # so that nothing is left to chance
AGES = [18, 30, 50, 90]
COLUMNS = {
    "region": vdp.Categorical(["n", "e", "s"]),
    "age": vdp.Bounded(18, 90, step=1),
    "income": vdp.Bounded(0, 100),
    "born": vdp.Dates("1990-01-01", "1999-12-31"),
    "smokes": vdp.Categorical(["no", "yes"], nullable=True),
    "batch": vdp.Public(),
}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(5)
    smokes = rng.choice(["no", "yes"], N).astype(object)
    smokes[rng.random(N) < 0.1] = None
    return pd.DataFrame(
        {
            "region": rng.choice(["n", "e", "s"], N, p=[0.5, 0.3, 0.2]),
            "age": rng.integers(18, 91, N).astype(float),
            "income": rng.beta(2, 4, N) * 100,
            "born": pd.Timestamp("1990-01-01") + pd.to_timedelta(rng.integers(0, 3650, N), unit="D"),
            "smokes": smokes,
            "batch": rng.integers(1, 4, N),
        }
    )


@pytest.fixture(scope="module")
def clear(people):
    """Return a release with next to no noise: windows of one lattice point, redrawn once in 1e10 records."""
    noise = {name: Window(30.0, window=1) for name in ("age", "income", "born")} | {
        name: Response(1 - 1e-12) for name in ("region", "smokes")
    }
    return vdp.Mechanism(vdp.Schema(COLUMNS), noise=noise).release(people, shuffle=False, key=KEY)


@pytest.fixture(scope="module")
def noisy(people):
    noise = {("region", "age", "income"): Window(8.0), "born": Window(5.0), "smokes": Response(0.8)}
    return vdp.Mechanism(vdp.Schema(COLUMNS), noise=noise).release(people, shuffle=False, key=KEY)


def age_groups(people):
    return pd.cut(people["age"], [18, 30, 50, 91], right=False, labels=["[18, 30)", "[30, 50)", "[50, 90]"])


# figures --------------------------------------------------------------------------------------------------------------


def test_counts_without_noise_are_those_of_pandas(people, clear):
    found = vdp.table(clear, "region", "age", bins={"age": AGES}).wide("count")
    raw = pd.crosstab(people["region"], age_groups(people), margins=True, margins_name="total")
    assert np.allclose(found, raw.loc[found.index, list(found.columns)], atol=1e-4)


def test_shares_and_means_without_noise_are_those_of_pandas(people, clear):
    found = vdp.table(clear, "region", "age", bins={"age": AGES}, values="income", spread=True)
    within = pd.crosstab(people["region"], age_groups(people), normalize="index")
    wide = found.wide("row share").iloc[:3, :3]
    assert np.allclose(wide, within.loc[wide.index, list(wide.columns)], atol=1e-6)
    groups = people.groupby(["region", age_groups(people)], observed=True)["income"]
    for name, raw in (("mean", groups.mean()), ("sum", groups.sum()), ("sd", groups.std())):
        wide = found.wide(name).iloc[:3, :3]
        # incomes are released on a lattice of 1/4096 of their width or finer
        assert np.allclose(wide, raw.unstack().loc[wide.index, list(wide.columns)], rtol=2e-4), name  # noqa: PD010


def test_standard_errors_without_noise_are_binomial(people, clear):
    found = vdp.table(clear, "region", "age", bins={"age": AGES})
    share = found.estimates("share")
    assert np.allclose(share.error[:9], np.sqrt(share.value * (1 - share.value) / (N - 1))[:9], atol=1e-7)
    wilson = [vdp.table(clear, "region").cell("n").share]
    from scipy.stats import binomtest

    count = int((people["region"] == "n").sum())
    ends = binomtest(count, N).proportion_ci(method="wilson")
    assert np.allclose([wilson[0].low, wilson[0].high], [ends.low, ends.high], atol=1e-6)


def test_test_of_independence_without_noise_is_that_of_pearson(people, clear):
    from scipy.stats import chi2_contingency

    found = vdp.table(clear, "region", "age", bins={"age": AGES}).test()
    raw = chi2_contingency(pd.crosstab(people["region"], age_groups(people)), correction=False)
    assert found.pvalue == pytest.approx(raw.pvalue, abs=0.02)
    assert found.df == pytest.approx(raw.dof, abs=0.05)
    assert found.design_effect == pytest.approx(1, abs=0.05)


def test_ratios_without_noise_are_those_of_two_by_two_tables(people, clear):
    from scipy.stats.contingency import odds_ratio, relative_risk

    found = vdp.table(clear, "region", "smokes")
    raw = pd.crosstab(people["region"], people["smokes"]).loc[["n", "e"], ["no", "yes"]].to_numpy()
    assert found.odds_ratio().value == pytest.approx(raw[0, 0] * raw[1, 1] / raw[0, 1] / raw[1, 0], rel=1e-4)
    assert found.risk_ratio().value == pytest.approx(
        relative_risk(raw[0, 0], raw[0].sum(), raw[1, 0], raw[1].sum()).relative_risk, rel=1e-4
    )
    ends = odds_ratio(raw, kind="sample").confidence_interval()
    assert np.allclose([found.odds_ratio().low, found.odds_ratio().high], [ends.low, ends.high], rtol=0.02)


def test_trend_without_noise_is_a_least_squares_slope(people, clear):
    middles = age_groups(people).map({"[18, 30)": 24.0, "[30, 50)": 40.0, "[50, 90]": 70.0}).astype(float)
    found = vdp.table(clear, "age", bins={"age": AGES}, values="income").trend()
    assert found.value == pytest.approx(np.polyfit(middles, people["income"], 1)[0], abs=1e-4)
    shares = vdp.table(clear, "region", "age", bins={"age": AGES}).trend(level="n")
    assert shares.value == pytest.approx(np.polyfit(middles, (people["region"] == "n") * 1.0, 1)[0], abs=1e-6)


def test_quantiles_without_noise_are_those_of_pandas(people, clear):
    found = vdp.table(clear, "region", values="age", quantiles=[0.25, 0.5])
    raw = people.groupby("region")["age"].quantile([0.25, 0.5], interpolation="lower").unstack()  # noqa: PD010
    for k, label in enumerate(["n", "e", "s"]):
        assert abs(found.estimates("25%").value[k] - raw.loc[label, 0.25]) <= 1
        assert found.estimates("50%").low[k] <= raw.loc[label, 0.5] <= found.estimates("50%").high[k]


def test_missing_is_a_level_on_request(people, clear):
    known = vdp.table(clear, "smokes")
    assert known.cell("total").count.value == pytest.approx(people["smokes"].notna().sum(), abs=1e-3)
    every = vdp.table(clear, "smokes", "region", missing=True)
    assert every.cell("missing", "total").count.value == pytest.approx(people["smokes"].isna().sum(), abs=1e-3)
    assert every.cell("total", "total").count.value == pytest.approx(N)


def test_dates_and_public_columns_are_cut_and_counted(people, clear):
    found = vdp.table(clear, "batch", "born", bins={"born": ["1990-01-01", "1995-01-01", "1999-12-31"]}).wide("count")
    raw = pd.crosstab(people["batch"], people["born"] < "1995-01-01")
    assert np.allclose(found.iloc[:3, 0], raw[True], atol=1e-4)
    assert list(found.columns) == ["[1990-01-01, 1995-01-01)", "[1995-01-01, 1999-12-31]", "total"]


def test_values_beyond_the_edges_are_in_no_cell(people, clear):
    found = vdp.table(clear, "age", bins={"age": [30, 50]})
    assert found.cell("total").count.value == pytest.approx(
        ((people["age"] >= 30) & (people["age"] <= 50)).sum(), abs=1e-3
    )
    assert any("beyond the edges" in note for note in found.notes)


# margins, published ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["count", "share", "sum"])
def test_margins_are_sums_of_cells(noisy, name):
    wide = vdp.table(noisy, "region", "age", bins={"age": AGES}, values="income").wide(name).to_numpy()
    assert np.allclose(wide[:3].sum(axis=0), wide[3])
    assert np.allclose(wide[:, :3].sum(axis=1), wide[:, 3])


def test_published_counts_are_whole_nonnegative_and_consistent():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {"region": rng.choice(["n", "e", "s"], 500, p=[0.9, 0.1, 0.0]), "age": rng.integers(18, 30, 500)}
    )
    schema = vdp.Schema({name: COLUMNS[name] for name in ("region", "age")})
    noise = {("region", "age"): Window(5.0)}
    table = vdp.table(vdp.Mechanism(schema, noise=noise).release(frame, key=KEY), "region", "age", bins={"age": AGES})
    assert (table.estimates("count").value < 0).any()
    found = table.publish()
    assert found.counts.min() >= 0
    assert found.counts.sum() == 500
    wide = found.to_pandas()
    assert (wide.iloc[:3].sum() == wide.loc["total"]).all()
    assert (wide.iloc[:, :3].sum(axis=1) == wide["total"]).all()
    assert {"published", "estimate", "lower", "upper"} <= set(found.table[0])


def test_publishing_brings_counts_nearer_to_the_truth():
    rng = np.random.default_rng(4)
    schema = vdp.Schema({name: COLUMNS[name] for name in ("region", "age")})
    mechanism = vdp.Mechanism(schema, noise={("region", "age"): Window(5.0)})
    off = np.zeros(2)
    for rep in range(6):
        frame = pd.DataFrame({"region": rng.choice(["n", "e"], 800, p=[0.9, 0.1]), "age": rng.integers(18, 40, 800)})
        table = vdp.table(
            mechanism.release(frame, key=bytes(range(rep, rep + 32))), "region", "age", bins={"age": AGES}
        )
        cut = pd.cut(frame["age"], [18, 30, 50, 91], right=False)
        raw = pd.crosstab(frame["region"], cut, dropna=False).reindex(["n", "e", "s"], fill_value=0).to_numpy()
        off += [((table.wide().iloc[:3, :3] - raw) ** 2).to_numpy().sum(), ((table.publish().counts - raw) ** 2).sum()]
    assert off[1] < 0.8 * off[0]


# noise ----------------------------------------------------------------------------------------------------------------


def test_simultaneous_intervals_are_longer(noisy):
    one, many = (vdp.table(noisy, "region", simultaneous=flag).estimates("count") for flag in (False, True))
    assert ((many.high - many.low)[:3] > 1.2 * (one.high - one.low)[:3]).all()


def test_people_with_several_rows_widen_standard_errors(people):
    frame = people[["region"]].assign(pid=np.arange(N) // 4)
    errors = []
    for rows in (1, 4):
        given = frame if rows == 4 else frame.assign(pid=np.arange(N))
        schema = vdp.Schema({"region": COLUMNS["region"]}, id="pid", rows_per_person=rows)
        mechanism = vdp.Mechanism(schema, noise={"region": Response(0.9)})
        errors.append(vdp.table(mechanism.release(given, key=KEY), "region").estimates("count").error[:3])
    assert np.allclose(errors[1] / errors[0], 2, rtol=0.1)


def test_cells_that_tell_nothing_are_marked():
    frame = pd.DataFrame({"region": ["n", "e", "s"] * 30})
    schema = vdp.Schema({"region": COLUMNS["region"]})
    found = vdp.table(vdp.Mechanism(schema, noise={"region": Response(0.05)}).release(frame, key=KEY), "region")
    assert not found.estimates("count").told[:3].any()
    assert "*" in str(found)
    assert any("next to nothing" in note for note in found.notes)


def test_zero_inflated_noise_serves_tables(people):
    schema = vdp.Schema({name: COLUMNS[name] for name in ("region", "age", "income")})
    noise = {"region": Response(0.8), ("age", "income"): ZeroInflated(scale=0.2, exact_rate=0.5)}
    release = vdp.Mechanism(schema, noise=noise).release(people[["region", "age", "income"]], key=KEY)
    found = vdp.table(release, "region", "age", bins={"age": AGES}, values="income")
    raw = pd.crosstab(people["region"], age_groups(people)).loc[["n", "e", "s"]].to_numpy().ravel()
    count, mean = found.estimates("count"), found.estimates("mean")
    assert (np.abs(count.value[:9] - raw) < 5 * count.error[:9]).all()  # a fixed key: nothing is left to chance
    true = people.groupby(["region", age_groups(people)], observed=True)["income"].mean().loc[["n", "e", "s"]]
    assert (np.abs(mean.value[:9] - true) < 5 * mean.error[:9]).all()


def test_outputs_have_few_codes_and_hardly_more_variance(noisy):
    for name, edges in (("age", AGES), ("income", [0, 20, 50, 100])):
        (axis,) = read_axes(noisy, [name], {name: edges}, {}, missing=False)
        block = next(block for block in noisy.mechanism.blocks if name in block.columns)
        lattice = block.lattice(name)
        coding = lattice_coding(axis, lattice, N, sharp=False)
        assert coding.size < 40 < lattice.drawn.size + 40
        v, _ = on_lattice(axis, lattice, N, sharp=False)
        best = lattice.even @ lattice.corrected(v, lattice.even) ** 2
        psi = coding.kept[:, :-1] / lattice.keep + (1 - 1 / lattice.keep) * coding.drawn[:, :-1]
        ours = lattice.even @ psi[coding.code[:-1]] ** 2
        assert (ours < 1.01 * best).all()


def test_sharp_edges_cost_more_and_are_refused_where_few_records_tell_them(noisy):
    (axis,) = read_axes(noisy, ["income"], {"income": [0, 20, 100]}, {}, missing=False)
    lattice = noisy.mechanism.blocks[0].lattice("income")
    shares = [on_lattice(axis, lattice, N, sharp=flag)[0] for flag in (False, True)]
    soft, sharp = (lattice.even @ lattice.corrected(v, lattice.even) ** 2 for v in shares)
    assert (sharp > 50 * soft).all()
    with pytest.raises(ParameterError, match="one record in"):
        vdp.table(noisy, "income", bins={"income": [0, 20, 100]}, sharp=True)


# refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ((), {}, "one to 4 columns"),
        (("region", "age", "income", "born", "smokes"), {}, "one to 4 columns"),
        (("region", "region"), {}, "twice"),
        (("age",), {}, "needs bins"),
        (("age",), {"bins": {"age": [18]}}, "two edges"),
        (("age",), {"bins": {"age": [18, 50, 30]}}, "not in order"),
        (("age",), {"bins": {"age": [100, 120]}}, "outside its bounds"),
        (("age",), {"bins": {"age": "18,30"}}, "list of edges"),
        (("region",), {"bins": {"region": [1, 2]}}, "is no number"),
        (("born",), {"bins": {"born": ["1990-01-01", "soon"]}}, "is no date"),
        (("region",), {"values": "smokes"}, "has no means"),
        (("region",), {"values": "region"}, "cannot have means in it"),
        (("region",), {"quantiles": [0.5]}, "are of a number"),
        (("age", "income", "born"), {"bins": {"age": range(18, 91), "income": range(101)}}, "needs bins"),
        (("age", "income"), {"bins": {"age": range(18, 91), "income": range(101)}}, "cells, and at most"),
    ],
)
def test_tables_that_cannot_be_made_are_refused(noisy, columns, options, words):
    with pytest.raises(ParameterError, match=words):
        vdp.table(noisy, *columns, **options)


@pytest.mark.parametrize(
    ("columns", "options"),
    [(("regio",), {}), (("region",), {"bins": {"age": AGES}}), (("region",), {"values": "size"})],
)
def test_unknown_names_are_refused(noisy, columns, options):
    with pytest.raises(NoSuchName):
        vdp.table(noisy, *columns, **options)


def test_edges_that_divide_cells_are_refused_with_the_nearest():
    schema = vdp.Schema({"x": vdp.Bounded(0, 16)})
    release = vdp.Mechanism(schema, noise={"x": Window(4.0, cells=16, window=3)}).release(
        pd.DataFrame({"x": np.arange(17.0)})
    )
    with pytest.raises(ParameterError, match=r"divide cells.*5.*\n.*nearest edges are 5.5"):
        vdp.table(release, "x", bins={"x": [0, 5.2, 16]})
    assert vdp.table(release, "x", bins={"x": [0, 5.5, 16]}).records == 17


def test_columns_that_were_changed_after_release_are_refused(noisy):
    frame = noisy.frame.copy()
    frame["age"] += 500
    with pytest.raises(DataError, match="its noise never gives"):
        vdp.table(vdp.Release.from_frame(frame, noisy.mechanism, on_grid=False), "age", bins={"age": AGES})


def test_comparisons_that_do_not_exist_are_refused(noisy):
    one = vdp.table(noisy, "region")
    for ask in (
        one.test,
        one.odds_ratio,
        lambda: one.trend("region"),
        lambda: one.difference(("n",), ("total",), "row share"),
    ):
        with pytest.raises((ParameterError, NoSuchName)):
            ask()
    with pytest.raises(NoSuchName):
        one.cell("x")
    with pytest.raises(NoSuchName):
        one.estimates("mean")


# formats --------------------------------------------------------------------------------------------------------------


def test_tables_are_text_pandas_json_and_pictures(noisy, tmp_path):
    found = vdp.table(noisy, "region", "age", bins={"age": AGES}, values="income")
    for style in ("text", "html", "latex", "markdown"):
        assert "region" in found.summary(style)
    assert json.loads(json.dumps(found.to_dict()))["columns"]["age"] == ["[18, 30)", "[30, 50)", "[50, 90]"]
    assert found.to_pandas().loc[("n", "total", "count"), "estimate"] == found.cell("n", "total").count.value
    for kind in ("bars", "heat map"):
        found.plot(tmp_path / f"{kind}.png", kind=kind)
        assert (tmp_path / f"{kind}.png").stat().st_size > 1000
    assert "Published" in found.publish().summary("markdown")


def test_a_folder_gives_the_same_table(noisy, tmp_path):
    noisy.save(tmp_path / "released")
    one, other = (
        vdp.table(each, "region", "age", bins={"age": AGES}).wide() for each in (noisy, tmp_path / "released")
    )
    assert np.allclose(one, other)


def test_an_empty_release_tells_nothing(people):
    schema = vdp.Schema({"region": COLUMNS["region"]})
    release = vdp.Mechanism(schema, noise={"region": Response(0.5)}).release(people[["region"]].head(0))
    share = vdp.table(release, "region").cell("n").share
    assert (share.low, share.high) == (0.0, 1.0)


# groups ---------------------------------------------------------------------------------------------------------------


def test_describe_by_group_gives_means_and_shares(people, clear):
    found = vdp.describe(clear, by="region", quantiles=[0.5])
    raw = people.groupby("region")
    for label in ("n", "e", "s"):
        assert found[label]["income"]["mean"].value == pytest.approx(raw["income"].mean()[label], rel=1e-3)
        assert found[label]["income"]["sd"].value == pytest.approx(raw["income"].std()[label], rel=1e-3)
        share = (people["smokes"][people["region"] == label].dropna() == "yes").mean()
        assert found[label]["smokes"]["share of yes"].value == pytest.approx(share, abs=1e-6)
    assert found.table.to_pandas().index.names == ["region", "column", "statistic"]
    assert "Description by region" in found.summary("markdown")


def test_describe_by_bins_of_a_number(people, clear):
    found = vdp.describe(clear, by="age", bins={"age": AGES}, columns=["income"])
    raw = people.groupby(age_groups(people), observed=True)["income"].mean()
    assert found["[30, 50)"]["income"]["mean"].value == pytest.approx(raw["[30, 50)"], rel=1e-3)
    with pytest.raises(ParameterError, match="name of one column"):
        vdp.describe(clear, by=["age"])
