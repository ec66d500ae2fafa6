"""Bounds learnt with noise: what they hold, what they cost, and what a schema says of them."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import ParameterError, SchemaError
from versadp.release.bounds.cells import cells_of, learnable
from versadp.release.bounds.count import people_in_cells
from versadp.release.bounds.estimate import estimated
from versadp.release.bounds.law import BoundsRequest, bounds_privacy, gaussian_mu
from versadp.release.bounds.learn import learnt_schema, planned
from versadp.release.path.table import read_table

KEYS = [bytes([k]) + bytes(range(1, 32)) for k in range(40)]
TARGET = {"epsilon": 1.0, "delta": 1e-6}
N = 100_000
INCOME = vdp.Bounded(0, 500_000)


def income(n=N, seed=0):
    return np.exp(np.random.default_rng(seed).normal(10, 0.7, n))


def fitted(values, column=INCOME, key=KEYS[0], **kwargs):
    return vdp.fit_bounds(
        pd.DataFrame({"x": values}), vdp.Schema({"x": column}), key=key, **({**TARGET, **kwargs})
    ).columns["x"]


def share_outside(values, column):
    return float(np.mean(values < column.lower)), float(np.mean(values > column.upper))


def test_bounds_hold_most_values_and_little_more():
    values = income()
    true = np.quantile(values, [0.005, 0.995])
    made = [fitted(values, key=key) for key in KEYS[:10]]
    widths = [column.width / (true[1] - true[0]) for column in made]
    assert min(widths) > 0.9
    assert np.median(widths) < 1.1
    assert max(widths) < 1.5
    assert max(max(share_outside(values, column)) for column in made) < 0.01
    assert all(column.declared == (0.0, 500_000.0) for column in made)


def test_coverage_asks_for_wider_bounds_and_1_keeps_all():
    values = income()
    narrow, wide = fitted(values, coverage=0.9), fitted(values, coverage=0.999)
    assert narrow.width < fitted(values).width < wide.width
    schema = vdp.Schema({"x": INCOME})
    assert vdp.fit_bounds(pd.DataFrame({"x": values}), schema, **TARGET, coverage=1) == schema


def test_with_few_people_the_declared_bounds_stay():
    assert fitted(income(200)) == INCOME
    assert fitted(income(10)) == INCOME
    assert fitted(income(0)) == INCOME


RNG = np.random.default_rng(7)
AWKWARD = {
    "piled at zero": np.where(RNG.random(N) < 0.6, 0.0, income(N, 1)),
    "two peaks": np.where(RNG.random(N) < 0.5, RNG.normal(20_000, 500, N), RNG.normal(300_000, 2_000, N)),
    "heavy tail": np.minimum(1_000 * (RNG.pareto(1.2, N) + 1), 500_000.0),
    "all at the upper bound": np.full(N, 500_000.0),
    "all at the lower bound": np.zeros(N),
    "constant": np.full(N, 41_000.0),
    "top code": np.minimum(income(N, 2), 60_000.0),
    "beyond both bounds": RNG.normal(250_000, 400_000, N),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_columns_keep_their_values(name):
    values = AWKWARD[name]
    column = fitted(values)
    held = np.clip(values, 0, 500_000)
    below, above = share_outside(held, column)
    assert max(below, above) < 0.01
    assert 0 <= column.lower < column.upper <= 500_000
    schema = vdp.fit_bounds(pd.DataFrame({"x": values}), vdp.Schema({"x": INCOME}), key=KEYS[0], **TARGET)
    if (clipped := schema.bounds.clipped.get("x")) is not None:  # what is said of it is so
        assert abs(clipped.below - below) < 4 * clipped.error
        assert abs(clipped.above - above) < 4 * clipped.error
        moved = np.clip(held, column.lower, column.upper).mean() - held.mean()
        assert abs(clipped.shift - moved) < 4 * clipped.shift_error + 0.02 * column.width


def test_nearly_empty_columns_are_about_who_has_a_value():
    values = np.where(RNG.random(N) < 0.97, np.nan, income())
    for nullable in (True, "public"):
        column = fitted(values, vdp.Bounded(0, 500_000, nullable=nullable))
        there = values[~np.isnan(values)]
        assert max(share_outside(there, column)) < 0.25  # 1% of the people are a third of those with a value
        assert column.upper > np.median(there)


def test_bounds_lie_on_steps_and_days():
    age = np.clip(RNG.normal(45, 12, N), 18, 90).round()
    column = fitted(age, vdp.Bounded(0, 120, step=1))
    assert column.lower % 1 == column.upper % 1 == 0
    assert 10 <= column.lower <= 20
    assert 75 <= column.upper <= 90
    coarse = fitted(10 * age.round(-1), vdp.Bounded(0, 10_000, step=50))
    assert coarse.lower % 50 == coarse.upper % 50 == 0
    born = pd.Timestamp("1960-01-01") + pd.to_timedelta(RNG.integers(0, 10_000, N), "D")
    dates = fitted(born, vdp.Dates("1900-01-01", "2030-12-31"))
    assert "1955" < dates.ends[0] < "1960-02"
    assert "1987-01" < dates.ends[1] < "1992"
    assert dates.declared == ("1900-01-01", "2030-12-31")
    assert fitted(np.full(N, 3.0), vdp.Bounded(0, 30, step=1)).to_dict()["effective"] == [2.0, 4.0]


LEVELS = [f"code {k}" for k in range(60)]


def test_rare_levels_become_other():
    values = RNG.choice(LEVELS, N, p=np.append([0.12] * 8, np.full(52, 0.04 / 52)))
    schema = vdp.Schema({"x": vdp.Categorical(LEVELS)})
    made = vdp.fit_bounds(pd.DataFrame({"x": values}), schema, key=KEYS[0], **TARGET)
    column = made.columns["x"]
    assert column.levels[:8] == tuple(LEVELS[:8])
    assert column.levels[-1] == "other"
    assert set(column.declared_levels) == set(LEVELS)
    released = vdp.calibrate(made, epsilon=1, delta=1e-6, shuffled=N).release(pd.DataFrame({"x": values})).frame["x"]
    assert set(released) <= set(column.levels)
    share = vdp.describe(vdp.calibrate(made, epsilon=1, delta=1e-6, shuffled=N).release(pd.DataFrame({"x": values})))
    truth = np.isin(values, column.merged).mean()
    assert abs(share["x"].shares["other"].value - truth) < 6 * share["x"].shares["other"].error
    with_other = vdp.Schema({"x": vdp.Categorical([*LEVELS, "other"])})
    again = vdp.fit_bounds(pd.DataFrame({"x": values}), with_other, key=KEYS[0], **TARGET).columns["x"]
    assert "other" in again.merged
    assert again.levels.count("other") == 1


def test_rare_whole_numbers_become_one():
    values = RNG.choice(60, N, p=np.append([0.12] * 8, np.full(52, 0.04 / 52)))
    made = vdp.fit_bounds(
        pd.DataFrame({"x": values}), vdp.Schema({"x": vdp.Categorical(list(range(60)))}), key=KEYS[0], **TARGET
    )
    column = made.columns["x"]
    assert (column.levels[:8], column.levels[-1]) == (tuple(range(8)), -1)
    assert sorted(column.declared_levels) == list(range(60))
    assert vdp.Schema.from_dict(made.to_dict()) == made
    release = vdp.calibrate(made, epsilon=1, delta=1e-6, shuffled=N).release(pd.DataFrame({"x": values}))
    assert set(release.frame["x"]) <= set(column.levels)
    assert vdp.audit(release, n=20_000).passed  # what is released is read back with its merged level
    share, truth = vdp.describe(release)["x"].shares[-1], np.isin(values, column.merged).mean()
    assert abs(share.value - truth) < 6 * share.error


@pytest.mark.parametrize("spread", [0.7, 0.02])
def test_a_spacing_is_chosen_where_it_spreads_values_wider(spread):
    values = np.exp(np.random.default_rng(0).normal(10, spread, N))
    column = fitted(values, spacing=True)
    assert column.spacing == ("log1p" if spread > 0.1 else "linear")
    assert fitted(values).spacing == "linear"
    bounds = fitted(values, spacing=True), fitted(values)
    assert bounds[0].declared == bounds[1].declared


@pytest.mark.parametrize("name", ["shuffled", "pure, attribute"])
def test_a_chosen_spacing_changes_nothing_that_is_claimed(name):
    plan, made = both(name, spacing=True)
    assert made.schema.columns["x"].spacing == "log1p"
    assert made.schema.columns["age"].spacing == "linear"
    among = TARGETS[name].get("shuffled")
    for each in ("record", "attribute"):
        claimed = [mech.privacy(each, shuffled=among).delta([0.0, 0.5, 1.0, 2.0, 4.0]) for mech in (plan, made)]
        assert np.array_equal(*claimed)
    assert vdp.Mechanism.from_json(made.to_json()) == made


def test_windows_by_hand_and_laplace_noise_keep_their_scale():
    from versadp.release.bounds.reapply import spaceable

    schema = vdp.Schema({"x": INCOME, "z": INCOME})
    by_hand = vdp.Mechanism(schema, noise={"x": vdp.noise.Window(2), "z": vdp.noise.Window(2, cells=64)})
    assert spaceable(by_hand) == {"x"}
    assert not spaceable(vdp.Mechanism(schema, scale=0.5, exact_rate=0.1))


# what it costs -------------------------------------------------------------------------------------------------------

SCHEMA = vdp.Schema({"x": INCOME, "age": vdp.Bounded(0, 120, step=1), "c": vdp.Categorical(["a", "b"])})
PEOPLE = pd.DataFrame({"x": income(), "age": RNG.integers(20, 80, N), "c": RNG.choice(["a", "b"], N)})
TARGETS = {
    "shuffled": {"epsilon": 1.0, "delta": 1e-6, "shuffled": N},
    "shuffled, attribute": {"epsilon": 1.0, "delta": 1e-6, "shuffled": N, "unit": "attribute"},
    "pure": {"epsilon": 4.0},
    "pure, attribute": {"epsilon": 4.0, "unit": "attribute"},
    "windows with a delta": {"epsilon": 4.0, "delta": 1e-4},
    "Laplace": {"epsilon": 4.0, "delta": 0.05, "noise": "zil"},
    "Laplace, attribute": {"epsilon": 4.0, "delta": 0.05, "noise": "zil", "unit": "attribute"},
}


def both(name, **more):
    """Return the mechanisms on the planned schema and on the fitted one."""
    target = TARGETS[name]
    asked = {key: target[key] for key in ("epsilon", "delta", "unit") if key in target} | more
    schemas = vdp.fit_bounds(None, SCHEMA, **asked), vdp.fit_bounds(PEOPLE, SCHEMA, **asked, key=KEYS[0])
    return [vdp.calibrate(schema, **target) for schema in schemas]


SLOW = {"Laplace", "Laplace, attribute"}  # two curves are composed on a mesh, many times


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in TARGETS])
def test_the_target_covers_both_steps_and_no_outcome_changes_what_is_claimed(name):
    plan, made = both(name)
    target = TARGETS[name]
    unit, among = target.get("unit", "record"), target.get("shuffled")
    assert made.schema.columns["x"].width < 0.5 * plan.schema.columns["x"].width
    assert made.privacy(unit, shuffled=among).delta(target["epsilon"]) <= target.get("delta", 0.0)
    for each in ("record", "attribute"):
        claimed = [mech.privacy(each, shuffled=among).delta([0.0, 0.5, 1.0, 2.0, 4.0]) for mech in (plan, made)]
        assert np.array_equal(*claimed)
    blocks = [block.guarantee(unit) for block in made.blocks]
    alone = vdp.privacy.worst(*blocks) if unit == "attribute" else vdp.privacy.compose(*blocks)
    if among is None:  # the noise by itself leaves room for the counts
        assert np.all(alone.delta([0.5, 1.0, 2.0]) <= made.privacy(unit).delta([0.5, 1.0, 2.0]) * (1 + 1e-9))
    assert vdp.Mechanism.from_json(made.to_json()) == made


def test_the_share_is_of_the_budget():
    learnt = vdp.fit_bounds(None, SCHEMA, **TARGET).bounds
    mu = np.sqrt(2 * sum(learnt.levels.values())) / learnt.scale
    assert mu**2 / gaussian_mu(1.0, 1e-6) ** 2 == pytest.approx(0.05, rel=1e-6)
    assert bounds_privacy(learnt, "record").delta(1.0) < 1e-6
    pure = vdp.fit_bounds(None, SCHEMA, epsilon=4).bounds
    assert bounds_privacy(pure, "record").pure_epsilon == pytest.approx(0.2)
    assert bounds_privacy(pure, "attribute").pure_epsilon < 0.12
    assert bounds_privacy(pure, "record").delta(0.2 * (1 + 1e-9)) == 0


def test_a_person_with_several_rows_is_protected_with_all_of_them():
    schema = vdp.Schema({"x": INCOME}, id="pid", rows_per_person=3)
    plan = vdp.fit_bounds(None, schema, epsilon=1.0, delta=1e-6)
    one = vdp.fit_bounds(None, vdp.Schema({"x": INCOME}), epsilon=1.0, delta=1e-6)
    assert plan.bounds.scale == pytest.approx(3 * one.bounds.scale)
    mech = vdp.calibrate(plan, epsilon=1.0, delta=1e-6, shuffled=N)
    assert mech.privacy(shuffled=N).delta(1.0) <= 1e-6


def test_another_target_is_refused():
    schema = vdp.fit_bounds(PEOPLE, SCHEMA, **TARGET, key=KEYS[0])
    for target in ({"epsilon": 2.0, "delta": 1e-6}, {"epsilon": 1.0}, {**TARGET, "unit": "attribute"}):
        with pytest.raises(ParameterError, match="learnt for epsilon 1"):
            vdp.calibrate(schema, **target)


def test_one_person_moves_each_count_by_one():
    plan = planned(SCHEMA, BoundsRequest.of(SCHEMA, 1.0, 1e-6))
    cells = learnable(plan)
    other = PEOPLE.copy()
    other.loc[0, ["x", "age"]] = [499_999.0, 119]
    counts = [people_in_cells(read_table(frame, plan), cells) for frame in (PEOPLE, other)]
    change = np.abs(counts[0] - counts[1])
    assert change.max() == 1
    start = 0
    for name, each in cells.items():
        own = [each.sums(c[start : start + each.size + 1]) for c in counts]
        start += each.size + 1
        assert np.sum((own[0] - own[1]) ** 2) <= 2 * plan.bounds.levels[name]


@pytest.mark.parametrize("column", [INCOME, vdp.Bounded(-50, 1e6), vdp.Bounded(0, 30, step=1, nullable=True)])
def test_least_squares_is_unbiased_and_has_the_errors_that_it_states(column):
    cells = cells_of(column)
    rng = np.random.default_rng(1)
    people = rng.integers(0, 400, cells.size + 1)
    people[-1] *= cells.hidden
    n, exact = int(people.sum()), cells.sums(people)
    found = [estimated(cells, exact + rng.normal(0, 10, exact.size), n, 10.0) for _ in range(3000)]
    leaves = people if cells.hidden else people[:-1]
    error = np.array([each.people - leaves for each in found])
    sd = np.sqrt(np.diag(found[0].covariance))
    assert np.all(np.abs(error.mean(axis=0)) < 6 * sd / np.sqrt(3000))
    assert np.all(np.abs(error.std(axis=0) / sd - 1) < 0.08)  # six standard errors of 3000 draws
    assert all(abs(each.people.sum() - n) < 1e-6 for each in found[:5])


@pytest.mark.parametrize(
    "column",
    [
        INCOME,
        vdp.Bounded(-300, 1e6),
        vdp.Bounded(-5, -1),
        vdp.Bounded(0, 30, step=1),
        vdp.Dates("1950-01-01", "2020-12-31"),
        vdp.Categorical([f"level {k}" for k in range(500)]),
    ],
)
def test_people_are_counted_in_their_cells(column):
    cells = cells_of(column)
    ends = cells.starts
    values = np.concatenate([ends, np.nextafter(ends, -np.inf), np.nextafter(ends, np.inf)])
    if not cells.ordered:
        values = np.arange(500.0)
    else:
        values = np.concatenate([values, RNG.normal(0, 400, 2000), [0.0, -0.0, 1e300, -1e300, 5e-324, -5e-324]])
    expected = np.bincount(np.searchsorted(ends, values, side="right"), minlength=cells.size)
    found = pickle.loads(pickle.dumps(cells)).count(np.append(values, [np.nan, np.nan]))
    assert np.array_equal(found, np.append(expected, 2))


# determinism ---------------------------------------------------------------------------------------------------------


def test_the_same_counts_get_the_same_noise_in_any_order_and_others_get_other_noise():
    shuffled = PEOPLE.sample(frac=1, random_state=1)
    made = [vdp.fit_bounds(frame, SCHEMA, **TARGET, key=KEYS[0]) for frame in (PEOPLE, shuffled)]
    assert made[0] == made[1]
    plan = planned(SCHEMA, BoundsRequest.of(SCHEMA, 1.0, 1e-6))
    counts = people_in_cells(read_table(PEOPLE, plan), learnable(plan))
    one_more = counts.copy()
    one_more[[3, 4]] += [1, -1]
    clipped = [learnt_schema(plan, each, KEYS[0]).bounds.clipped for each in (counts, one_more)]
    assert clipped[0] != clipped[1]  # with the same noise a single person changes no figure of three digits
    assert vdp.fit_bounds(PEOPLE, SCHEMA, **TARGET, key=KEYS[1]).bounds.clipped != made[0].bounds.clipped


def test_files_and_tables_give_the_same_bounds(tmp_path):
    PEOPLE.to_parquet(tmp_path / "people.parquet", row_group_size=7_000)
    made = vdp.fit_bounds(tmp_path / "people.parquet", SCHEMA, **TARGET, key=KEYS[0])
    assert made == vdp.fit_bounds(PEOPLE, SCHEMA, **TARGET, key=KEYS[0])


# what a schema says --------------------------------------------------------------------------------------------------


def test_a_fitted_schema_survives_its_texts():
    schema = vdp.fit_bounds(PEOPLE, SCHEMA, **TARGET, key=KEYS[0])
    assert vdp.Schema.from_dict(json.loads(json.dumps(schema.to_dict(), sort_keys=True))) == schema
    assert vdp.Schema.from_toml_text(schema.to_toml()) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert schema.as_declared().columns == SCHEMA.columns
    assert schema != SCHEMA
    assert schema.as_declared() != SCHEMA  # what was spent stays said


@pytest.mark.parametrize(
    "change",
    [
        {"effective": [-1, 5]},
        {"effective": [5, 3]},
        {"effective": [1]},
        {"effective": "1, 2"},
        {"effective": [0.5, 90]},
        {"effective": [1, float("nan")]},
    ],
)
def test_effective_bounds_that_are_none_are_refused(change):
    with pytest.raises(SchemaError):
        vdp.Schema.from_dict({"columns": {"x": {"type": "bounded", "lower": 0, "upper": 100, "step": 1} | change}})


@pytest.mark.parametrize(
    "change",
    [
        {"noise": "none"},
        {"scale": 0.0},
        {"scale": "1"},
        {"levels": {}},
        {"levels": {"x": 0}},
        {"levels": {"y": 3}},
        {"share": 2},
        {"unit": "row"},
        {"clipped": {"x": [0, 0, 0, 0]}},
        {"counts": -1},
        {"delta": 0},
        {"more": 1},
    ],
)
def test_what_is_said_of_learnt_bounds_is_checked(change):
    data = vdp.fit_bounds(None, vdp.Schema({"x": INCOME}), **TARGET).to_dict()
    assert vdp.Schema.from_dict(data).bounds.scale > 1
    data["bounds"] |= change
    with pytest.raises(SchemaError):
        vdp.Schema.from_dict(data)


def test_older_mechanisms_have_no_learnt_bounds():
    mech = vdp.calibrate(vdp.fit_bounds(PEOPLE, SCHEMA, **TARGET, key=KEYS[0]), **TARGET, shuffled=N)
    with pytest.raises(ParameterError, match="version 4"):
        mech.in_version(3)


# what analysts see ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def released():
    schema = vdp.fit_bounds(PEOPLE, SCHEMA, **TARGET, key=KEYS[0])
    with pytest.warns(vdp.errors.ClampedWarning):
        return vdp.calibrate(schema, **TARGET, shuffled=N).release(PEOPLE, key=KEYS[2])


def test_the_statement_says_declared_and_effective_bounds_and_the_share(released):
    text = released.statement()
    column = released.mechanism.schema.columns["x"]
    assert "5% of its budget" in text
    assert f"{column.lower:,.6g} to {column.upper:,.6g}, declared 0 to 500,000" in text
    assert "the mean moves by" in text


def test_description_says_by_how_much_the_mean_moved(released):
    found, clipped = vdp.describe(released, columns=["x"]), released.mechanism.schema.bounds.clipped["x"]
    (note,) = [note for note in found["x"].notes if "moved its mean" in note]
    assert f"{clipped.shift:.2g}"[:3] in note
    moved = PEOPLE["x"].clip(*bounds_of(released, "x")).mean() - PEOPLE["x"].mean()
    assert abs(clipped.shift - moved) < 4 * clipped.shift_error  # four standard errors of the counts' noise
    assert "about" in str(found.summary())


def bounds_of(release, name):
    column = release.mechanism.schema.columns[name]
    return column.lower, column.upper


def test_quantiles_beyond_the_bounds_are_refused_with_the_reason(released):
    described = vdp.describe(released, quantiles=[0.001, 0.5, 0.999])
    quantiles = described["x"].quantiles
    assert not quantiles[0.999].told
    assert quantiles[0.5].told
    assert any("beyond the learnt bounds" in note for note in described.notes)
    for loss in (vdp.losses.Quantile("x", 0.999), "age"):
        with pytest.raises(ParameterError, match="beyond the learnt bounds"):
            vdp.fit(released, loss=loss) if loss != "age" else vdp.fit(
                released, "x ~ age", loss=vdp.losses.Check(0.001)
            )
    assert "clipped at learnt bounds" in described.header["bounds"]
    assert "clipped at learnt bounds" in str(vdp.fit(released, "age ~ x").summary())


def test_an_earlier_release_costs_nothing(released):
    wide = vdp.Schema({"x": INCOME, "age": vdp.Bounded(0, 120, step=1), "c": vdp.Categorical(["a", "b"])})
    schema = vdp.fit_bounds(released, wide)
    assert schema.bounds.is_free
    assert schema.columns["x"].width < 0.5 * INCOME.width
    plain = vdp.calibrate(wide, epsilon=4)
    assert vdp.calibrate(schema, epsilon=4).privacy().delta(3.0) <= plain.privacy().delta(3.0) * 1.2
    assert vdp.calibrate(schema, epsilon=4).privacy().pure_epsilon == pytest.approx(4.0)
    devices = vdp.calibrate(schema.as_effective(), epsilon=4)
    assert "effective" not in devices.to_json()
    assert devices.schema.columns["x"].width == schema.columns["x"].width
    with pytest.raises(SchemaError, match="what that cost"):
        released.mechanism.schema.as_effective()
    with pytest.raises(ParameterError, match="costs nothing"):
        vdp.fit_bounds(released, wide, epsilon=1)
