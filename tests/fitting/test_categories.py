"""Categories in models: `C(region)` private or public, in windows, beside them, and beside Laplace noise."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit

import versadp as vdp
from versadp.correction import LinearModel, Records, as_terms
from versadp.errors import DataError, ParameterError
from versadp.formula.design import CODED, PUBLIC, make_design
from versadp.losses import Poisson, Squared
from versadp.losses.expansion import Expansion
from versadp.noise import Response, Window, ZeroInflated
from versadp.noise.cases import Coded
from versadp.noise.units import Units
from versadp.schema import Bounded, Categorical

KEY = bytes(range(32))
LEVELS = ["n", "e", "s", "w"]
COLUMNS = {"x0": Bounded(-1, 1), "x1": Bounded(-1, 1), "g": Categorical(LEVELS), "h": Categorical([0, 1])}
SCHEMA = vdp.Schema({**COLUMNS, "city": vdp.Public(), "y": vdp.Public(), "z": vdp.Public()})
NOISE = {
    "columns": dict.fromkeys(COLUMNS, Window(3.0)),
    "joint": {tuple(COLUMNS): Window(7.0)},
    "laplace": {("x0", "x1"): ZeroInflated(0.2, 0.1), "g": Response(0.6), "h": Response(0.6)},
}
TRUTH = {
    "Intercept": 0.0,
    "x0": 1.0,
    "x1": -0.5,
    "C(g)[T.e]": 0.5,
    "C(g)[T.s]": -0.5,
    "C(g)[T.w]": 0.3,
    "C(h)[T.1]": 0.4,
}
CITIES = {"C(city)[T.b]": 0.4, "C(city)[T.new c]": -0.2}


def people(n=40_000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 2))
    g = np.digitize(x[:, 0] + rng.normal(size=n), [-0.6, 0.1, 0.8])
    h, city = rng.integers(0, 2, n), rng.integers(0, 3, n)
    u = x @ [1.0, -0.5] + np.array([0, 0.5, -0.5, 0.3])[g] + 0.4 * h + np.array([0, 0.4, -0.2])[city]
    return pa.table(
        {
            "x0": x[:, 0],
            "x1": x[:, 1],
            "g": np.array(LEVELS)[g],
            "h": h,
            "city": np.array(["a", "b", "new c"])[city],
            "y": (rng.random(n) < expit(u)).astype(float),
            "z": u + rng.normal(0, 0.5, n),
        }
    )


@pytest.fixture(scope="module")
def releases():
    table = people()
    return {name: vdp.Mechanism(SCHEMA, noise=noise).release(table, key=KEY) for name, noise in NOISE.items()}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kind", NOISE)
@pytest.mark.parametrize(("left", "loss"), [("z", "squared"), ("y", "logistic")])
def test_levels_are_learnt(releases, kind, left, loss):
    """Private categories in blocks of their own, with numbers, and beside Laplace noise; a public one beside them."""
    found = vdp.fit(releases[kind], f"{left} ~ x0 + x1 + C(g) + C(h) + C(city)", loss=loss)
    truth = TRUTH | CITIES
    assert tuple(found.names) == tuple(truth)
    assert (np.abs(np.asarray(found.params) - list(truth.values())) < 5 * np.asarray(found.bse)).all()
    assert np.asarray(found.bse).max() < 0.15
    naive = vdp.fit(releases[kind], f"{left} ~ x0 + x1 + C(g) + C(h) + C(city)", loss=loss, method="naive")
    assert (np.abs(np.asarray(naive.params) - list(truth.values())) > 5 * np.asarray(naive.bse)).any()


def test_another_reference_is_the_same_model(releases):
    one = vdp.fit(releases["joint"], "z ~ x0 + C(g)")
    other = vdp.fit(releases["joint"], 'z ~ x0 + C(g, treatment("s"))')
    assert tuple(other.names) == ("Intercept", "x0", "C(g)[T.n]", "C(g)[T.e]", "C(g)[T.w]")
    assert other.params["C(g)[T.n]"] == pytest.approx(-one.params["C(g)[T.s]"], abs=1e-8)
    assert other.bse["C(g)[T.n]"] == pytest.approx(one.bse["C(g)[T.s]"], rel=1e-6)
    every = vdp.fit(releases["joint"], "z ~ x0 + g - 1")
    assert tuple(every.names) == ("x0", "g[n]", "g[e]", "g[s]", "g[w]")
    assert every.params["g[s]"] == pytest.approx(one.params["Intercept"] + one.params["C(g)[T.s]"], abs=1e-8)


def test_predictions_take_levels_as_they_are(releases, tmp_path):
    found = vdp.fit(releases["joint"], "z ~ x0 + C(g) + C(city)")
    at = {"x0": [0.0, 0.5], "g": ["n", "s"], "city": ["b", "a"]}
    both = found.predict(at)
    by_hand = [
        found.params["Intercept"] + found.params["C(city)[T.b]"],
        found.params["Intercept"] + 0.5 * found.params["x0"] + found.params["C(g)[T.s]"],
    ]
    assert both == pytest.approx(by_hand)
    found.save(tmp_path / "fit.json")
    assert type(found).load(tmp_path / "fit.json").predict(at) == pytest.approx(both)


def test_public_categories_interact(releases):
    found = vdp.fit(releases["joint"], "z ~ x0 + C(city) + z_less:C(city)".replace("z_less", "y"))
    assert tuple(found.names)[-3:] == ("y:C(city)[a]", "y:C(city)[b]", "y:C(city)[new c]")


def test_a_release_of_categories_alone():
    """Means by level, against those of the raw records."""
    table = people().select(["g", "z"])
    schema = vdp.Schema({"g": Categorical(LEVELS), "z": vdp.Public()})
    found = vdp.fit(vdp.Mechanism(schema, noise={"g": Window(2.0)}).release(table, key=KEY), "z ~ C(g) - 1")
    raw = table.to_pandas().groupby("g")["z"].mean()[LEVELS].to_numpy()
    assert (np.abs(np.asarray(found.params) - raw) < 5 * np.asarray(found.bse)).all()
    assert np.asarray(found.bse).max() < 0.05


def test_designs():
    design = make_design("y ~ x0 + C(g)", SCHEMA)
    assert design.columns == (PUBLIC, 0, CODED, CODED, CODED)
    assert design.linear
    assert design.private == ("g",)
    assert [split.parts[0].values for split in design.splits[2:]] == [(0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)]


@pytest.mark.parametrize(
    ("formula", "loss", "words"),
    [
        ("g ~ x0", "logistic", "multinomial"),
        ("z ~ x0", "multinomial", "no category"),
    ],
)
def test_what_is_not_served_is_refused(releases, formula, loss, words):
    with pytest.raises(ParameterError) as caught:
        vdp.fit(releases["joint"], formula, loss=loss)
    assert words in f"{caught.value} {caught.value.hint}"


def test_missing_public_levels_are_refused():
    table = people(200)
    some = table.set_column(4, "city", pa.array([None, *table["city"].to_pylist()[1:]]))
    mech = vdp.Mechanism(SCHEMA, noise=NOISE["joint"])
    try:
        release = mech.release(some, key=KEY)
    except DataError:
        return  # refused before
    with pytest.raises(DataError, match="missing"):
        vdp.fit(release, "z ~ C(city)")


# exactly -------------------------------------------------------------------------------------------------------------

INDICATORS = ((0, 0), (1, 0), (0, 1))  # of the second and the third level
SMALL = Window(2.5, cells=4, window=3).on({"g": Categorical(["a", "b", "c"]), "x": Bounded(-1, 3)})


def view(g, x):
    return np.array([x, g == 1, g == 2], dtype=float)


@pytest.mark.parametrize(
    "expansion", [Squared().expansion(), Poisson().expansion(), Expansion(0.5, 0.1, 0.8, (0.3 + 0.1j, 0.05j))], ids=str
)
@pytest.mark.parametrize("keep", [1.0, 1.02])
def test_expected_scores_are_the_true_ones(expansion, keep):
    """Over all outputs of two records, a number and a category under one coin; a coin that is 2% off is rejected."""
    import dataclasses

    spoilt = dataclasses.replace(SMALL, coin=int(SMALL.kept * keep))
    units = Units.plain({"x": (-1.0, 3.0), "g[0]": (0.0, 1.0), "g[1]": (0.0, 1.0)})
    model, theta = LinearModel(Squared(), np.arange(-1, 3)), np.array([0.4, -0.7, 1.3, 0.5])
    form = as_terms(model, units, (Coded(spoilt, {"g": INDICATORS}),), expansion)
    for g, x in ((0, -1.0), (2, 1.0)):
        z, level = np.divmod(np.arange(21), 3)
        inside = (z >= x + 1) & (z < x + 4) & (level == g)
        chance = SMALL.keep * inside / 3 + (1 - SMALL.keep) / 21
        released = view(level, z - 1 - 1.0)
        one = np.ones((21, 1))
        seen = form.prepare(Records(released.T, {}, one, 0.9 * one[:, 0], chance, released), np.random.default_rng(0))
        score, bend = form.evaluate(seen, theta, np.ones((1, 1)), hessian=True)
        m = np.append(1.0, units.from_columns(list(view(np.array([g]), np.array([x]))))[0])
        rate = 1j * expansion.base * np.arange(1, 1 + len(expansion.weights))
        waves = np.array(expansion.weights) * np.exp(rate * (m @ theta))
        first = expansion.linear + expansion.quadratic * m @ theta - 0.9 + (rate * waves).sum().real
        second = expansion.quadratic + (rate**2 * waves).sum().real
        error = max(np.abs(score.sum(axis=(0, 1)) - first * m).max(), np.abs(bend - second * np.outer(m, m)).max())
        assert (error < 1e-12) == (keep == 1.0)


# missing values ------------------------------------------------------------------------------------------------------

HOLES = {"x0": Bounded(-1, 1, nullable=True), "g": Categorical(LEVELS, nullable=True)}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kind", ["columns", "joint"])
def test_complete_cases_and_missing_as_a_level(kind):
    """Who is missing depends on the level and on the number; complete cases are the raw complete ones'."""
    rng, table = np.random.default_rng(1), people(30_000).to_pandas()
    table["z"] += 0.5 * table["x0"] * (table["g"] == "e")
    whole = table.copy()
    table.loc[rng.random(len(table)) < 0.1 + 0.2 * (table["g"] == "s"), "g"] = None
    table.loc[rng.random(len(table)) < 0.2 + 0.1 * whole["x0"], "x0"] = np.nan
    noise = {"columns": dict.fromkeys(HOLES, Window(3.0)), "joint": {tuple(HOLES): Window(6.0)}}[kind]
    schema = vdp.Schema({**HOLES, "z": vdp.Public()})
    release = vdp.Mechanism(schema, noise=noise).release(pa.Table.from_pandas(table[["x0", "g", "z"]]), key=KEY)
    import statsmodels.formula.api as smf

    complete = table.dropna().copy()
    for formula in ("z ~ C(g) * x0", "z ~ C(g) + x0"):
        found = vdp.fit(release, formula)
        raw = smf.ols(formula.replace("C(g)", f"C(g, levels={LEVELS})"), complete).fit().params
        wanted = {name.replace(f", levels={LEVELS}", ""): value for name, value in raw.items()}
        assert set(found.names) == set(wanted)
        assert all(abs(found.params[name] - value) < 5 * found.bse[name] for name, value in wanted.items())
        assert np.asarray(found.bse).max() < 0.1
    known = table.dropna(subset="x0").assign(g=table["g"].fillna("missing"))
    found = vdp.fit(release, "z ~ C(g, missing=True) + x0")
    raw = smf.ols(f"z ~ C(g, levels={[*LEVELS, 'missing']}) + x0", known).fit().params
    assert found.names[4] == "C(g)[T.missing]"
    assert (np.abs(np.asarray(found.params) - raw.to_numpy()) < 5 * np.asarray(found.bse)).all()
    at = found.predict({"g": ["n", None], "x0": [0.0, 0.0]})
    assert at[1] - at[0] == pytest.approx(found.params["C(g)[T.missing]"])
