"""What a plan says costs, against releases of made-up people; and what it shows, as numbers."""

import json

import numpy as np
import pyarrow as pa
import pytest

import versadp as vdp
from versadp.errors import ParameterError
from versadp.noise.cost import EVEN, Decoders, rise, rise_decoder, window_decoders, window_median
from versadp.release.target.budget import LOST, cost_of_bounds, cost_of_columns, cost_of_missing
from versadp.release.target.candidate import LAPLACE, decoders
from versadp.release.target.layouts import EACH, JOINT

pytestmark = pytest.mark.filterwarnings("ignore::versadp.errors.DeltaWarning")  # of the paper's deltas

TWO = vdp.Schema({"age": vdp.Bounded(18, 90), "income": vdp.Bounded(0, 5e5)})
MIXED = vdp.Schema({**TWO.columns, "region": vdp.Categorical(["n", "e", "s", "w"]), "y": vdp.Public()})
N = 200_000


def released(mech, spread):
    """People whose values are even around the middle with this spread, and what is released, both centred in widths."""
    rng = np.random.default_rng(7)
    half = spread / EVEN / 2
    x = {name: rng.uniform(-half, half, N) for name in mech.schema.numeric}
    bounds = {name: mech.schema.columns[name] for name in x}
    table = {name: b.lower + (x[name] + 0.5) * (b.upper - b.lower) for name, b in bounds.items()}
    frame = mech.release(pa.table(table), shuffle=False, key=bytes(range(32))).frame
    width = {name: b.upper - b.lower for name, b in bounds.items()}
    return x, {name: (frame[name].to_numpy() - bounds[name].lower) / width[name] - 0.5 for name in x}


def psi(mech, name, z):
    """Decoders of x and x², written down from the laws of the noise."""
    block = next(block for block in mech.blocks if name in block.columns)
    j = block.columns.index(name)
    if not hasattr(block, "keep"):
        return z, z**2 - (1 - block.exact_rate) * block.scale[j] ** 2
    m, w = block.last[j], block.window[j]
    drawn, wide = ((m + w) ** 2 - 1) / 12 / m**2, (w**2 - 1) / 12 / m**2
    return z / block.keep, (z**2 - (1 - block.keep) * drawn) / block.keep - wide


MECHANISMS = {
    "each, 2": vdp.calibrate(TWO, epsilon=2, unit="attribute"),
    "each, 4, years": vdp.calibrate(
        vdp.Schema({"age": vdp.Bounded(18, 90, step=1), "income": vdp.Bounded(0, 5e5)}), epsilon=4, unit="attribute"
    ),
    "joint, 6": vdp.calibrate(TWO, epsilon=6),
    "Laplace": vdp.calibrate(TWO, epsilon=4, delta=0.05, noise="zil"),
}


def near(found, claimed, values):
    """Five standard errors of a mean of squares, and a thousandth for lattices."""
    return abs(found - claimed) < 5 * values.std() / np.sqrt(N) + 1e-3 * claimed


@pytest.mark.parametrize("spread", [EVEN, EVEN / 2, 0.05])
@pytest.mark.parametrize("name", MECHANISMS)
def test_decoders_have_the_moments_that_are_claimed(name, spread):
    mech = MECHANISMS[name]
    x, z = released(mech, spread)
    for column in x:
        first, second = psi(mech, column, z[column])
        claimed = decoders(mech, spread)[column]
        assert abs(first.mean() - x[column].mean()) < 5 * first.std() / np.sqrt(N)
        assert abs(second.mean() - spread**2) < 5 * second.std() / np.sqrt(N) + 1e-4
        assert near((first**2).mean(), claimed.first, first**2)
        crossed = (x[column] * first - second) ** 2
        assert near(crossed.mean(), claimed.cross, crossed)
        spreads = (second - second.mean()) ** 2
        assert near(spreads.mean(), claimed.second, spreads)


def test_other_noise_would_be_noticed():
    """A window that is kept a twentieth less often than is claimed."""
    mech = MECHANISMS["joint, 6"]
    _, z = released(mech, EVEN)
    first, _ = psi(mech, "age", z["age"])
    block = mech.blocks[0]
    wrong = window_decoders(EVEN, 0.95 * block.keep, block.last[0], block.window[0])
    assert not near((first**2).mean(), wrong.first, first**2)


@pytest.mark.parametrize("name", MECHANISMS)
def test_slopes_and_means_spread_as_much_as_is_claimed(name):
    """500 samples of 400 people: the standard error of a standard deviation is 3.2%; five of them."""
    mech = MECHANISMS[name]
    x, z = released(mech, EVEN)
    groups, rng = 500, np.random.default_rng(1)
    raw = x["age"].reshape(groups, -1)
    y = raw + rng.normal(0, EVEN, raw.shape)
    first, second = (each.reshape(groups, -1) for each in psi(mech, "age", z["age"]))
    claimed = decoders(mech, EVEN)["age"]
    n = raw.shape[1]
    assert first.mean(axis=1).std() / (EVEN / np.sqrt(n)) == pytest.approx(claimed.mean, rel=0.16)
    score = (y * first - second).mean(axis=1) / EVEN**2  # the linear part of the slope's error
    assert score.std() / (1 / np.sqrt(n)) == pytest.approx(claimed.slope, rel=0.16)


def test_a_fit_is_at_least_as_good_as_the_plan():
    """Sixty fits of 2000 people: their standard deviation is known to 9%, and efficient may only be better."""
    mech = vdp.calibrate(vdp.Schema({"x": vdp.Bounded(0, 1), "y": vdp.Public()}), epsilon=4)
    rng = np.random.default_rng(3)
    slopes = []
    for _ in range(60):
        x = rng.random(2000)
        y = x + rng.normal(0, EVEN, 2000)
        slopes.append(vdp.fit(mech.release(pa.table({"x": x, "y": y})), "y ~ x").params["x"])
    ratio = np.std(slopes) * np.sqrt(2000)
    assert ratio < 1.4 * decoders(mech, EVEN)["x"].slope


@pytest.mark.parametrize("c", [0.05, 0.2, 0.35, 0.8, 1.5])
def test_the_decoder_of_a_share_is_unbiased_and_spreads_as_claimed(c):
    inside = (np.arange(4000) + 0.5) / 4000
    for x in np.linspace(0, 1, 21):
        assert rise_decoder(x + c * inside, c).mean() == pytest.approx(rise(np.array([x]))[0], abs=0.01)
    rng, keep = np.random.default_rng(0), 0.7
    x = rng.random(N)
    z = np.where(rng.random(N) < keep, x + c * rng.random(N), rng.random(N) * (1 + c))
    decoded = rise_decoder(z, c) / keep
    assert 2 * decoded.std() == pytest.approx(window_median(keep, 1000, round(1000 * c)), rel=0.02)


# where the budget goes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["record", "attribute"])
@pytest.mark.parametrize(
    "target", [{"epsilon": 6}, {"epsilon": 4, "delta": 0.05}, {"epsilon": 4, "exact_rate": 0.01, "delta": 0.05}]
)
def test_one_column_more_is_calibrated_anew(unit, target):
    rows = {row["numeric columns"]: row for row in cost_of_columns(MIXED, target, unit=unit)}
    assert list(rows) == [1, 2, 3]
    for count, columns in ((1, ["age"]), (2, ["age", "income"]), (3, ["age", "income", "more"])):
        every = {**MIXED.columns, "more": vdp.Bounded(-1, 1)}
        schema = vdp.Schema({name: every[name] for name in (*columns, "region", "y")})
        costs = decoders(vdp.calibrate(schema, **target, unit=unit), EVEN)["age"]
        assert rows[count]["mean"] == pytest.approx(costs.mean, rel=1e-6)
        assert rows[count]["slope"] == pytest.approx(costs.slope, rel=1e-6)
    if unit == "record":
        assert rows[1]["mean"] < rows[2]["mean"] < rows[3]["mean"]


def test_a_target_out_of_reach_for_more_columns_is_shown_as_such():
    many = vdp.Schema({f"x{j}": vdp.Bounded(0, 1) for j in range(40)})
    rows = cost_of_columns(many, {"epsilon": 0.5, "delta": 1e-9, "exact_rate": 0.0}, unit="record")
    assert rows[-1]["numeric columns"] == 41
    assert rows[-1]["mean"] is None or rows[-1]["mean"] > 100


def test_bounds_twice_as_wide():
    """The same people in bounds twice as wide: half the spread, and the noise of the wider bounds."""
    mech = MECHANISMS["joint, 6"]
    (row, _) = cost_of_bounds(mech)
    _, z = released(mech, EVEN / 2)
    first, _ = psi(mech, "age", z["age"])
    assert row["mean, bounds twice as wide"] == pytest.approx(first.std() / (EVEN / 2), rel=0.01)
    assert row["mean, bounds twice as wide"] > row["mean"]
    assert row["slope, bounds twice as wide"] > row["slope"]


def test_where_columns_are_lost():
    mech = MECHANISMS["each, 2"]
    row = cost_of_bounds(mech)[0]
    least = row["mean lost below a standard deviation of"]
    assert decoders(mech, least)["age"].mean == pytest.approx(LOST, rel=1e-6)
    assert decoders(mech, row["slope lost below a standard deviation of"])["age"].slope == pytest.approx(LOST, rel=1e-6)
    counted = cost_of_bounds(mech, rows=10_000)[0]["slope lost below a standard deviation of"]
    _, z = released(mech, counted)
    _, second = psi(mech, "age", z["age"])
    samples = second.reshape(-1, 10_000).mean(axis=1)  # at the limit the variance is two standard errors from 0
    assert counted**2 / (second.std() / 100) == pytest.approx(2, rel=0.05)
    assert len(samples) == 20
    strict = vdp.calibrate(TWO, epsilon=0.1)
    assert cost_of_bounds(strict)[0]["slope lost below a standard deviation of"] is None


def test_strength_grows_with_the_root_of_the_records():
    costs = Decoders(0.2, 0.1, 0.01, 0.04)
    assert costs.strength(400) == pytest.approx(2 * costs.strength(100))


# what is shown --------------------------------------------------------------------------------------------------------


def leaves(data):
    if isinstance(data, dict):
        return [leaf for value in data.values() for leaf in leaves(value)]
    return [leaf for value in data for leaf in leaves(value)] if isinstance(data, list) else [data]


@pytest.mark.parametrize(
    "target",
    [
        {"epsilon": 4},
        {"epsilon": 4, "unit": "attribute"},
        {"epsilon": 4, "delta": 0.05, "rows": 10_000},
        {"epsilon": 1, "delta": 1e-6, "shuffled": 100_000, "rows": 100_000},
        {"advantage": 0.3},
        {"alpha": 0.05, "beta": 0.6, "unit": "attribute"},
    ],
)
def test_a_plan_is_numbers_and_its_default_is_what_calibrate_takes(target):
    p = vdp.plan(MIXED, **target)
    again = json.loads(json.dumps(p.to_dict(), allow_nan=False))
    assert again["default"] == p.default
    assert p[p.default] == vdp.calibrate(MIXED, **{name: value for name, value in target.items() if name != "rows"})
    for candidate in again["candidates"]:
        if "refused" in candidate:
            assert candidate["refused"]
            continue
        for cost in leaves(candidate["costs"]):
            assert cost is None or cost >= 1
        for way in candidate["privacy"].values():
            assert all(0 <= figures["found"] <= 1 for figures in way.values())
        if "epsilon" in target:
            way = candidate["privacy"]["shuffled" if "shuffled" in target else "local"]
            assert way[target.get("unit", "record")]["epsilon"] <= target["epsilon"] * (1 + 1e-9)
    text = str(p)
    assert "The default is " + p.default in text
    assert "Bounds are the budget" in text
    assert "serves: " in text


def test_what_cannot_be_is_said_and_why():
    pure = {each.name: each for each in vdp.plan(MIXED, epsilon=4).candidates}
    assert pure[LAPLACE].mechanism is None
    assert "Laplace noise needs a delta" in pure[LAPLACE].refused
    risk = {each.name: each for each in vdp.plan(MIXED, advantage=0.3).candidates}
    assert "epsilon" in risk[EACH].refused
    with pytest.raises(ParameterError, match="no mechanism"):
        vdp.plan(MIXED, epsilon=4)[LAPLACE]
    for bad in ({}, {"epsilon": 4, "unit": "household"}, {"epsilon": -1}, {"epsilon": 4, "rows": 0}):
        with pytest.raises(ParameterError):
            vdp.plan(MIXED, **bad)


def test_one_joint_window_is_better_for_a_record_and_each_for_an_attribute():
    record = {each.name: each.costs()["age"]["slope"] for each in vdp.plan(TWO, epsilon=8).candidates if each.mechanism}
    assert record[JOINT] < record[EACH]
    attribute = vdp.plan(TWO, epsilon=4, unit="attribute")
    assert attribute.default == EACH
    found = {each.name: each.costs()["age"]["slope"] for each in attribute.candidates if each.mechanism}
    assert found[EACH] < found[JOINT]


def test_a_column_that_is_likely_lost_is_named():
    assert any("Likely lost: the slope of age" in word for word in vdp.plan(TWO, epsilon=0.1).warnings)
    assert any("narrower bounds" in word for word in vdp.plan(TWO, epsilon=4, rows=1000).warnings)
    assert not any("Likely lost" in word for word in vdp.plan(TWO, epsilon=8, rows=100_000).warnings)


def test_a_shuffle_beside_public_columns_is_warned_of():
    columns = {"age": vdp.Bounded(18, 90), "year": vdp.Public()}
    found = vdp.plan(vdp.Schema(columns), epsilon=1, delta=1e-6, shuffled=5000)
    assert "each group must have at least 5,000 with equal public values" in str(found)
    del columns["year"]
    assert "split" not in str(vdp.plan(vdp.Schema(columns), epsilon=1, delta=1e-6, shuffled=5000))


def test_mean_is_not_lost_among_very_many_records():
    found = vdp.plan(TWO, epsilon=0.1, rows=100_000_000)
    assert not any("lost: the mean" in word for word in found.warnings)
    assert any("Likely lost: the mean of age" in word for word in vdp.plan(TWO, epsilon=0.1, rows=10_000).warnings)


@pytest.mark.parametrize("goal", [{"epsilon": 4}, {"epsilon": 1, "delta": 1e-6, "shuffled": 50_000}])
def test_lines_of_plan_are_at_most_100_wide_with_long_names(goal):
    columns = {f"a_rather_long_name_of_a_column_of_this_schema_number_{j}": vdp.Bounded(0, 1) for j in range(4)}
    columns["region_of_residence_at_the_time_of_the_interview_" + "x" * 80] = vdp.Categorical(["n", "s"])
    lines = str(vdp.plan(vdp.Schema(columns), **goal, rows=60_000)).splitlines()
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("epsilon", [4, 8])
def test_the_price_of_every_nullable_is_shown_and_small(epsilon):
    """At most 1.25 in the standard error of a mean at epsilon 4 to 8: its own and those of other columns."""
    hiding = {f"x{j}": vdp.Bounded(0, 1, nullable=True) for j in range(6)} | {"a": vdp.Bounded(0, 1)}
    found = vdp.plan(vdp.Schema(hiding | {"c": vdp.Categorical(["u", "v"], nullable=True)}), epsilon=epsilon)
    assert [row["column"] for row in found.missing] == [*(f"x{j}" for j in range(6)), "c"]
    assert all(1 < row["its own mean"] < 1.25 and 1 <= row["other means"] < 1.25 for row in found.missing[:-1])
    assert found.to_dict()["missing"] == found.missing
    assert "What each nullable=True costs" in str(found)
    assert "nullable" not in str(vdp.plan(TWO, epsilon=epsilon))


def test_a_level_more_for_what_is_missing_is_priced_as_randomised_response():
    """A category of k levels by itself keeps `1/(1 + k/(e^ε - 1))`, so that one level more has a closed form."""
    schema = vdp.Schema({"c": vdp.Categorical(["u", "v"], nullable=True)})
    (row,) = cost_of_missing(vdp.calibrate(schema, epsilon=2))
    odds = np.expm1(2)
    assert row == {"column": "c", "its own mean": pytest.approx((1 + 3 / odds) / (1 + 2 / odds)), "other means": 1.0}
