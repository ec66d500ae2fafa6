"""Models with categories against statsmodels on the raw records, where noise is so little that it does not matter."""

import re

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy.special import expit

import versadp as vdp
from versadp.errors import ParameterError
from versadp.inference import Results
from versadp.losses import Multinomial, Share
from versadp.noise import Window
from versadp.schema import Bounded, Categorical

LEVELS = ["n", "e", "s", "w"]
COLUMNS = {"x": Bounded(-1, 1, step=0.25), "g": Categorical(LEVELS), "h": Categorical([0, 1])}
SCHEMA = vdp.Schema({**COLUMNS, **dict.fromkeys(("city", "w", "y", "z"), vdp.Public())})
KEPT = Window(30.0, window=1)  # a record is redrawn once in 1e11


def people(n=3000):
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, n) / 4
    g = np.digitize(x + rng.normal(size=n), [-0.6, 0.1, 0.8])
    h, city, w = rng.integers(0, 2, n), rng.integers(0, 3, n), rng.normal(size=n)
    u = x * (1 + 0.5 * (g == 1)) + np.array([0, 0.5, -0.5, 0.3])[g] + 0.4 * h * (g == 2) + 0.3 * w * (city == 1)
    frame = {"x": x, "g": np.array(LEVELS)[g], "h": h, "city": np.array(["a", "b", "new c"])[city], "w": w}
    return pd.DataFrame(frame | {"y": (rng.random(n) < expit(u)) * 1.0, "z": u + rng.normal(size=n)})


RAW = people()
ORDERED = RAW.assign(g=pd.Categorical(RAW["g"], LEVELS))


@pytest.fixture(scope="module")
def releases():
    noise = {"joint": {tuple(COLUMNS): KEPT}, "columns": {"x": KEPT, "g": Window(30.0), "h": Window(30.0)}}
    return {
        name: vdp.Mechanism(SCHEMA, noise=each).release(RAW, key=bytes(range(32)), shuffle=False)
        for name, each in noise.items()
    }


def roots(found):
    """Return where scores vanish, by name: other libraries take no bias off."""
    return {name: float(found.params[name]) + found.bias.get(name, 0.0) for name in found.names}


def by_name(params):
    """Return coefficients by our names: a coding is not shown in them."""
    short = {re.sub(r"C\((\w+), [^\[]*\)\[", r"C(\1)[", name): value for name, value in params.items()}
    return {re.sub(r"custom(\d)", r"\1", name): value for name, value in short.items()}


SAME = [  # ours, and what statsmodels calls it
    ("C(g) + x", None),
    ('C(g, contr.treatment("s")) * x', 'C(g, Treatment("s")) * x'),
    ("C(g, contr.sum) * x", "C(g, Sum) * x"),
    ("C(g) - 1", None),
    ("C(g):x", None),
    ("C(g) * C(h)", None),
    ("C(g):C(h) + w", None),
    ("C(g) * x + C(city) * x + C(h) * w", None),
    ("C(city):x", None),
]


@pytest.mark.parametrize("number", range(len(SAME)))
def test_linear_models(releases, number):
    ours, theirs = SAME[number]
    found = vdp.fit(releases["joint" if number % 2 else "columns"], f"z ~ {ours}")
    model = smf.ols(f"z ~ {theirs or ours}", ORDERED).fit(cov_type="HC0")
    wanted, errors = by_name(model.params), by_name(model.bse)
    assert set(found.names) == set(wanted)
    assert roots(found) == pytest.approx(wanted, abs=2e-5)
    assert dict(zip(found.names, np.asarray(found.bse), strict=True)) == pytest.approx(errors, rel=5e-3)


@pytest.mark.parametrize(("ours", "theirs"), SAME[1:6])
def test_logistic_models(releases, ours, theirs):
    """A series is off by less than a tenth of a standard error, as it promises; categories alone need none."""
    found = vdp.fit(releases["joint"], f"y ~ {ours}", loss="logistic")
    model = smf.logit(f"y ~ {theirs or ours}", ORDERED).fit(disp=0)
    wanted, errors = by_name(model.params), by_name(model.bse)
    assert set(found.names) == set(wanted)
    slack = 0.15 if "x" in ours or "C(g) - 1" in ours else 0.01
    at = roots(found)
    assert all(abs(at[name] - wanted[name]) < slack * errors[name] for name in wanted)


def test_contrasts_of_ones_own(releases):
    """Columns by name, and a matrix, are what they say: means by level are the same, however they are coded."""
    release = releases["columns"]
    first = vdp.fit(release, 'z ~ C(g, {"south": [0, 0, 1, 0], "rest": [1, 0, 0, -1]})')
    assert first.names == ("Intercept", "C(g)[south]", "C(g)[rest]")
    given = np.array([[0.0, 1], [0, 0], [1, 0], [0, -1]])[RAW["g"].map(LEVELS.index)]
    wanted = np.linalg.lstsq(np.column_stack([np.ones(len(RAW)), given]), RAW["z"], rcond=None)[0]
    assert np.asarray(first.params) == pytest.approx(wanted, abs=1e-6)
    by_matrix = vdp.fit(release, "z ~ C(g, [[0, 1], [0, 0], [1, 0], [0, -1]])")
    assert np.asarray(by_matrix.params) == pytest.approx(np.asarray(first.params), abs=1e-9)
    at, means = {"g": LEVELS}, RAW.groupby("g")["z"].mean()[LEVELS].to_numpy()
    for coding in ("sum", "helmert", "diff", "poly", "SAS", 'treatment("w")'):
        assert vdp.fit(release, f"z ~ C(g, contr.{coding})").predict(at) == pytest.approx(means, abs=1e-6)


@pytest.mark.parametrize("left", ['I(g == "e")', 'I((g == "e") | (g == "s"))', "h"])
def test_levels_as_responses(releases, left):
    chosen = {"h": RAW["h"] == 1, 'I(g == "e")': RAW["g"] == "e"}.get(left, RAW["g"].isin(["e", "s"]))
    model = sm.Logit(chosen.astype(float), sm.add_constant(RAW[["x", "w"]])).fit(disp=0)
    found = vdp.fit(releases["columns"], f"{left} ~ x + w", loss="logistic")
    assert (np.abs(np.asarray(found.params) - model.params.to_numpy()) < 0.15 * model.bse.to_numpy()).all()


@pytest.mark.parametrize("left", ["g", "city"])
def test_multinomial_logit(releases, left, tmp_path):
    """A private and a public response, with a public, a private number and a category; predictions and files."""
    release, levels = releases["columns"], LEVELS if left == "g" else ["a", "b", "new c"]
    private = "h" if left == "g" else "x"
    model = sm.MNLogit(RAW[left].map(levels.index), sm.add_constant(RAW[["w", private]])).fit(disp=0)
    found = vdp.fit(release, f"{left} ~ w + {private}", loss="multinomial")
    shown = {"h": "h[T.1]"}.get(private, private)
    assert found.names[:3] == tuple(f"{levels[1]}:{name}" for name in ("Intercept", "w", shown))
    wanted = model.params.to_numpy().T.ravel()
    assert np.asarray(found.params) == pytest.approx(wanted, abs=1e-4)
    assert np.asarray(found.bse) == pytest.approx(model.bse.to_numpy().T.ravel(), rel=0.15)
    at = {"w": [0.0, 1.0], "h": [0, 1], "x": [0.5, -1.0]}
    chances = model.predict(np.array([[1, 0, at[private][0]], [1, 1, at[private][1]]]))
    assert found.predict(at) == pytest.approx(chances, abs=1e-4)
    found.save(tmp_path / "fit.json")
    again = Results.load(tmp_path / "fit.json")
    assert again == found
    assert again.classes == tuple(levels)
    band = again.predict(at, interval=0.95)
    assert ((band.lower < band.estimate) & (band.estimate < band.upper) & (band.upper < 1)).all()
    assert list(band.to_pandas().columns[:2]) == [(levels[0], "estimate"), (levels[0], "lower")]


def test_another_reference(releases):
    one = vdp.fit(releases["columns"], "g ~ w", loss="multinomial")
    other = vdp.fit(releases["columns"], "g ~ w", loss=Multinomial(reference="s"))
    assert other.classes == ("s", "n", "e", "w")
    assert other.params["n:w"] == pytest.approx(-one.params["s:w"], abs=1e-5)
    assert other.bse["n:w"] == pytest.approx(one.bse["s:w"], rel=1e-4)


def test_bands_of_classes_are_those_of_logistic():
    """With two classes multinomial is logistic regression, bands included."""
    params, cov = np.array([0.3, -0.7]), np.array([[0.02, 0.005], [0.005, 0.03]])
    kinds = {"loss": "x", "method": "efficient"}
    names = ("Intercept", "age")
    two = Results(params, cov, names, "converged", 100, **kinds, predict_link="softmax", classes=("a", "b"))
    one = Results(params, cov, names, "converged", 100, **kinds, predict_link="logistic")
    at = np.array([[1.0, 0.4], [1.0, 2.0]])
    a, b = two.predict(at, interval=0.9), one.predict(at, interval=0.9)
    for name in ("estimate", "lower", "upper"):
        assert getattr(a, name)[:, 1] == pytest.approx(getattr(b, name))


@pytest.mark.parametrize("kind", ["joint", "columns"])
def test_shares_have_their_closed_form(kind):
    """Shares and errors under real noise: (mean of 1{z = l} - (1-κ)/L)/κ, by hand."""
    noise = {"joint": {tuple(COLUMNS): Window(4.0)}, "columns": dict.fromkeys(COLUMNS, Window(2.0))}[kind]
    mech = vdp.Mechanism(SCHEMA, noise=noise)
    release = mech.release(RAW, key=bytes(range(32)))
    keep = next(block.keep for block in mech.blocks if "g" in block.columns)
    found = vdp.fit(release, loss=Share("g"))
    seen = release.frame["g"].to_numpy()[:, None] == np.array(LEVELS)
    raw = (seen - (1 - keep) / 4) / keep
    assert found.names == ("g[n]", "g[e]", "g[s]", "g[w]")
    assert np.asarray(found.params) == pytest.approx(raw.mean(axis=0), abs=1e-9)
    assert np.asarray(found.bse) == pytest.approx(raw.std(axis=0) / np.sqrt(len(RAW)), rel=2e-3)
    assert np.asarray(found.params).sum() == pytest.approx(1)
    public = vdp.fit(release, loss=Share("city"))
    assert np.asarray(public.params) == pytest.approx(RAW["city"].value_counts(normalize=True).sort_index().to_numpy())
    with pytest.raises(ParameterError, match="no category"):
        vdp.fit(release, loss=Share("x"))


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("z ~ C(g, __import__('os'))", "cannot be read"),
        ("z ~ C(g, contr.treatment(open('x')))", "cannot be read"),
        ("z ~ C(g, contr.treatment('x'))", "none of its levels"),
        ("z ~ C(g, [[1], [2]])", "each of its 4 levels"),
        ("z ~ C(g, {'a': [1, 1, 1, 1]})", "same for all levels"),
        ("z ~ C(g, levels=['n'])", "cannot be read"),
        ("z ~ C(x)", "is not a category"),
        ("z ~ I(g == 'north')", "no level"),
        ("g ~ x", "4 levels"),
        ("z ~ missing(g + 1)", "one column"),
    ],
)
def test_formulas_that_are_refused(releases, formula, words):
    with pytest.raises(ParameterError, match=words):
        vdp.fit(releases["joint"], formula)


def test_unknown_levels_in_predictions(releases, tmp_path):
    found = vdp.fit(releases["columns"], "z ~ C(g) * C(h) + C(city)")
    found.save(tmp_path / "fit.json")
    for each in (found, Results.load(tmp_path / "fit.json")):
        good = {"g": ["n", "w"], "h": [0, 1], "city": "a"}
        assert np.isfinite(each.predict(good)).all()
        for bad in ({"g": ["n", "x"]}, {"h": [0, 2]}, {"city": "d"}, {"g": ["n", None]}):
            with pytest.raises(ParameterError, match="none of its levels"):
                each.predict(good | bad)


def test_losses_without_a_closed_form(releases):
    """By points over levels: Huber's loss against its minimum on the raw records, hinge beside it."""
    from scipy.optimize import minimize

    loss = vdp.losses.Huber(1.0, scale=1.0)
    found = vdp.fit(releases["columns"], "z ~ C(g) + C(h)", loss=loss)
    m = np.column_stack([np.ones(len(RAW)), *(RAW["g"] == level for level in LEVELS[1:]), RAW["h"]]).astype(float)
    z = RAW["z"].to_numpy()
    raw = minimize(
        lambda t: loss.value(m @ t, z).sum(), np.zeros(5), jac=lambda t: m.T @ loss.derivatives(m @ t, z, 1)[0]
    )
    assert (np.abs(np.asarray(found.params) - raw.x) < 0.02 * np.asarray(found.bse)).all()
    sides = vdp.fit(releases["columns"], "y ~ C(g) + w", loss="hinge")
    assert sides.converged
    assert set(np.unique(sides.predict({"g": LEVELS, "w": 0.0}))) <= {-1.0, 1.0}
