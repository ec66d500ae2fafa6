"""fit(method="likelihood"): against closed forms and plain fits, what is served and what is refused."""

import json

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from scipy.special import expit, logit

import versadp as vdp
from versadp.cli import main
from versadp.errors import DataError, ParameterError
from versadp.fitting import likelihood as module
from versadp.inference import Results
from versadp.noise import Response, Window, ZeroInflated
from versadp.schema import Bounded, Categorical, Public

KEY = bytes(range(32))


def released(columns, noise, table, key=KEY):
    return vdp.Mechanism(vdp.Schema(columns), noise=noise).release(pa.table(table), key=key)


def fit(release, formula, loss="squared", **options):
    return vdp.fit(release, formula, loss=loss, method="likelihood", **options)


# oracles -------------------------------------------------------------------------------------------------------------


def test_two_by_two_is_the_inverted_table():
    """A binary x under randomised response and a binary y: as many parameters as shares, so all is in closed form."""
    rng, n, keep = np.random.default_rng(0), 4000, 0.5
    x = rng.integers(0, 2, n)
    y = (rng.random(n) < expit(-0.4 + 1.1 * x)).astype(float)
    columns = {"x": Categorical([0, 1]), "y": Public()}
    release = released(columns, {"x": Response(keep)}, {"x": x, "y": y})
    found = fit(release, "y ~ C(x)", "logistic")
    seen = release.to_pandas()
    table = np.histogram2d(seen.x, seen.y, bins=2)[0] / n

    def inverted(shares):
        true = (shares - (1 - keep) / 2 * shares.sum(axis=0)) / keep
        first, second = logit(true[:, 1] / true.sum(axis=1))
        return np.array([first, second - first])

    np.testing.assert_allclose(found.params, inverted(table), atol=1e-4)
    slopes = np.array([(inverted(table + h) - inverted(table - h)) / 2e-6 for h in 1e-6 * np.eye(4).reshape(4, 2, 2)]).T
    shares = table.ravel()
    cov = slopes @ (np.diag(shares) - np.outer(shares, shares)) @ slopes.T / n
    np.testing.assert_allclose(found.cov_params(), cov, rtol=1e-3)


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_without_noise_it_is_the_plain_fit(loss):
    import statsmodels.api as sm

    rng, n = np.random.default_rng(1), 3000
    x, w = rng.integers(0, 6, n).astype(float), rng.normal(size=n)
    u = 0.2 + 0.2 * x - 0.3 * w + 0.1 * x * w
    y = {
        "squared": u + 0.5 * rng.normal(size=n),
        "logistic": (rng.random(n) < expit(u)).astype(float),
        "poisson": rng.poisson(np.exp(u)).astype(float),
    }[loss]
    columns = {"x": Bounded(0, 5, step=1), "w": Public(), "y": Public()}
    release = released(columns, {"x": Window(epsilon=30.0, window=1)}, {"x": x, "w": w, "y": y})
    found = fit(release, "y ~ x + w + x:w", loss)
    seen = release.to_pandas()
    m = np.stack([np.ones(n), seen.x, seen.w, seen.x * seen.w], axis=1)
    family = {"squared": sm.families.Gaussian, "logistic": sm.families.Binomial, "poisson": sm.families.Poisson}[loss]
    plain = sm.GLM(seen.y.to_numpy(), m, family()).fit()
    np.testing.assert_allclose(found.params, plain.params, atol=0.05 * plain.bse.min())
    np.testing.assert_allclose(found.bse, plain.bse, rtol=0.12)  # squares of scores against their curvature


@pytest.mark.full
def test_what_is_smooth_fits_as_corrected_scores_do():
    rng, n = np.random.default_rng(2), 20_000
    x = rng.uniform(-1, 1, n)
    y = 1 + 2 * x + 0.5 * rng.normal(size=n)
    release = released({"x": Bounded(-1, 1), "y": Public()}, {"x": Window(epsilon=4.0)}, {"x": x, "y": y})
    ours, theirs = fit(release, "y ~ x"), vdp.fit(release, "y ~ x")
    assert (np.abs(ours.params.values - [1, 2]) < 4 * ours.bse.values).all()
    assert (ours.bse.values <= 1.02 * theirs.bse.values).all()


def profiled(y, m, family, j, level):
    """Return an interval of a coefficient by refitting without it, its column an offset, by statsmodels."""
    import statsmodels.api as sm
    from scipy.optimize import brentq
    from scipy.stats import chi2

    best = sm.GLM(y, m, family).fit()

    def least(b):
        held = sm.GLM(y, np.delete(m, j, axis=1), family, offset=b * m[:, j]).fit()
        return 2 * (best.llf - held.llf) - chi2.ppf(level, 1)

    centre, far = best.params[j], 6 * best.bse[j]
    return brentq(least, centre - far, centre), brentq(least, centre, centre + far)


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_without_noise_intervals_are_the_plain_likelihood_s(loss):
    import statsmodels.api as sm

    rng, n = np.random.default_rng(7), 50
    x = rng.integers(0, 4, n).astype(float)
    u = -1 + 0.8 * x
    y = {"logistic": (rng.random(n) < expit(u)), "poisson": rng.poisson(np.exp(u - 1))}[loss].astype(float)
    columns = {"x": Bounded(0, 3, step=1), "y": Public()}
    release = released(columns, {"x": Window(epsilon=30.0, window=1)}, {"x": x, "y": y})
    found, seen = fit(release, "y ~ x", loss), release.to_pandas()
    m = np.stack([np.ones(n), seen.x], axis=1)
    family = {"logistic": sm.families.Binomial(), "poisson": sm.families.Poisson()}[loss]
    for level in (0.8, 0.95):
        theirs = np.array([profiled(seen.y.to_numpy(), m, family, j, level) for j in range(2)])
        away = {
            kind: (np.abs(found.conf_int(level, kind) - theirs) / found.bse.values[:, None]).max()
            for kind in ("auto", "profile", "wald")
        }
        assert away["auto"] == away["profile"] < 0.02
        assert away["wald"] > 0.1


ROWS = 3000


# what is served ------------------------------------------------------------------------------------------------------


def people(n=ROWS, seed=3):
    rng = np.random.default_rng(seed)
    city = rng.integers(0, 2, n)
    w = rng.normal(size=n)
    x = np.clip(0.3 * w + 0.3 * city + 0.3 * rng.normal(size=n), -1.5, 1.5)
    g = np.digitize(x + 0.5 * rng.normal(size=n), [-0.2, 0.4])
    u = 0.5 + x + 0.3 * w - 0.4 * city + np.array([0.0, 0.4, -0.2])[g]
    return {
        "x": x,
        "g": np.array(["a", "b", "c"])[g],
        "city": np.array(["here", "there"])[city],
        "w": w,
        "big": np.exp(x),
        "z": np.clip(u + 0.5 * rng.normal(size=n), -3, 4),
        "count": np.minimum(rng.poisson(np.exp(0.5 * u)), 12).astype(float),
        "yes": (rng.random(n) < expit(u)).astype(float),
        "y": u + 0.5 * rng.normal(size=n),
        "n": rng.poisson(np.exp(u)).astype(float),
        "b": (rng.random(n) < expit(u)).astype(float),
    }


PRIVATE = {
    "x": Bounded(-1.5, 1.5),
    "g": Categorical(["a", "b", "c"]),
    "big": Bounded(0.2, 5),
    "z": Bounded(-3, 4),
    "count": Bounded(0, 12, step=1),
    "yes": Bounded(0, 1, step=1),
}
SCHEMA = PRIVATE | {name: Public() for name in ("city", "w", "y", "n", "b")}
NOISE = {
    "windows": {name: Window(epsilon=4.0) for name in PRIVATE},
    "joint": {("x", "g", "yes"): Window(epsilon=7.0), **{name: Window(epsilon=4.0) for name in ("big", "z", "count")}},
    "laplace": {
        ("x", "z"): ZeroInflated(0.15, 0.1),
        "g": Response(0.7),
        **{name: ZeroInflated(0.2, 0.1) for name in ("big", "count", "yes")},
    },
}
SLOPES = {"x": 1.0, "w": 0.3, "city": -0.4, "b": 0.4, "c": -0.2}
RIGHT = "x + w + C(city) + C(g)"
TRUTH = np.array([0.5, 1.0, 0.3, -0.4, 0.4, -0.2])


@pytest.fixture(scope="module")
def releases():
    table = people()
    return {name: released(SCHEMA, noise, table) for name, noise in NOISE.items()}


@pytest.mark.thinned(9)
@pytest.mark.parametrize("noise", list(NOISE))
@pytest.mark.parametrize(("left", "loss"), [("y", "squared"), ("b", "logistic"), ("n", "poisson")])
def test_numbers_and_categories_beside_public_columns(releases, noise, left, loss):
    found = fit(releases[noise], f"{left} ~ {RIGHT}", loss)
    assert found.converged
    order = [found.names.index(name) for name in ("Intercept", "x", "w", "C(city)[T.there]", "C(g)[T.b]", "C(g)[T.c]")]
    assert (np.abs(found.params.values[order] - TRUTH) < 4.5 * found.bse.values[order]).all()


SLOW = pytest.mark.slow  # a cell for every count, and a density at every one of them


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("noise", "left", "loss", "factor"),
    [
        *((noise, "yes", "logistic", 1.0) for noise in NOISE),
        pytest.param("windows", "count", "poisson", 0.5, marks=SLOW),
        pytest.param("laplace", "count", "poisson", 0.5, marks=SLOW),
    ],
)
def test_private_responses(releases, noise, left, loss, factor):
    found = fit(releases[noise], f"{left} ~ x + w + C(city) + C(g)", loss)
    assert found.converged
    order = [found.names.index(name) for name in ("Intercept", "x", "w", "C(city)[T.there]", "C(g)[T.b]", "C(g)[T.c]")]
    assert (np.abs(found.params.values[order] - factor * TRUTH) < 4.5 * found.bse.values[order]).all()


@pytest.mark.full
def test_a_private_normal_response(releases):
    found = fit(releases["windows"], "z ~ x + w + C(city)")
    # g is left out, and goes with x: the slope is that of raw records
    table = people()
    m = np.stack([np.ones(ROWS), table["x"], table["w"], table["city"] == "there"], axis=1)
    raw = np.linalg.lstsq(m, table["z"], rcond=None)[0]
    order = [found.names.index(name) for name in ("Intercept", "x", "w", "C(city)[T.there]")]
    assert (np.abs(found.params.values[order] - raw) < 4.5 * found.bse.values[order]).all()


@pytest.mark.full
def test_functions_of_noisy_columns(releases):
    found = fit(releases["laplace"], "y ~ np.log(big) + w + C(city)")
    table = people()
    m = np.stack([np.ones(ROWS), table["x"], table["w"], table["city"] == "there"], axis=1)
    raw = np.linalg.lstsq(m, table["y"], rcond=None)[0]
    order = [found.names.index(name) for name in ("Intercept", "np.log(big)", "w", "C(city)[T.there]")]
    assert (np.abs(found.params.values[order] - raw) < 4.5 * found.bse.values[order]).all()


# public columns ------------------------------------------------------------------------------------------------------


def related(n, seed, bent):
    rng = np.random.default_rng(seed)
    w = rng.uniform(-1, 1, n)
    x = np.clip((1.5 * w**2 - 0.5 if bent else 0.5 * w) + 0.2 * rng.normal(size=n), -1.6, 1.6)
    return {"x": x, "w": w, "y": x + w + 0.5 * rng.normal(size=n)}


RELATED = {"x": Bounded(-1.6, 1.6), "w": Public(), "y": Public()}


@pytest.mark.slow
def test_noisy_columns_may_go_with_public_numbers_but_not_anyhow():
    straight, bent = (
        fit(released(RELATED, {"x": ZeroInflated(0.4, 0.05)}, related(8000, 4, bend)), "y ~ x + w")
        for bend in (False, True)
    )
    assert (np.abs(straight.params.values - [0, 1, 1]) < 4 * straight.bse.values).all()
    assert straight.specification_test().pvalue > 1e-4
    assert bent.specification_test().pvalue < 1e-6  # the law of x is another one than is assumed, and it is seen
    assert "Something is wrong" in str(bent.summary())


@pytest.mark.full
def test_groups_of_equal_public_values_have_laws_of_their_own():
    rng, n = np.random.default_rng(5), 8000
    w = rng.integers(0, 3, n)
    x = np.where(w == 0, -1.2, np.where(w == 1, 1.2, rng.choice([-1, 1], n))) + 0.1 * rng.normal(size=n)
    table = {"x": x, "w": w.astype(float), "y": x + w + 0.5 * rng.normal(size=n)}
    found = fit(released(RELATED, {"x": ZeroInflated(0.4, 0.05)}, table), "y ~ x + w")
    assert (np.abs(found.params.values - [0, 1, 1]) < 4 * found.bse.values).all()
    assert "each of 3 groups" in found.header["law of x"]
    with pytest.raises(vdp.errors.EstimationError, match="nothing to contrast"):
        found.specification_test()


# results -------------------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_results_say_what_is_assumed_and_do_all_that_results_do(releases, tmp_path):
    found = fit(releases["windows"], "n ~ x + w", "poisson")
    text = str(found.summary())
    assert "that the response follows a Poisson law" in text
    assert "any law, times a factor" in text
    found.save(tmp_path / "fit.json")
    again = Results.load(tmp_path / "fit.json")
    assert again == found
    assert "Poisson law" in again.header["assumes"]
    for level in (0.9, 0.95):
        np.testing.assert_array_equal(again.conf_int(level), found.conf_int(level, kind="profile"))
    assert (found.conf_int(kind="wald").values != found.conf_int().values).all()
    assert "what the likelihood cannot reject; Wald intervals" in text
    assert found.wald_test("x = 0").pvalue < 1e-6
    band = again.predict({"x": [0.0, 1.0], "w": [0.0, 0.0]}, interval=0.95)
    assert (band.lower < band.estimate).all()
    with pytest.raises(vdp.errors.EstimationError, match="score sets"):
        found.conf_int(kind="score")


@pytest.mark.full
def test_command(releases, tmp_path):
    releases["windows"].save(tmp_path / "released")
    asked = ["fit", str(tmp_path / "released"), "y ~ x", "--method", "likelihood", "--format", "json"]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    said = json.loads(done.output)
    assert said["method"] == "likelihood"
    assert "normal law" in said["header"]["assumes"]


@pytest.mark.full
def test_lots_and_engines_change_nothing(releases, monkeypatch):
    formula = "b ~ x + w + x:w"
    whole = fit(releases["laplace"], formula, "logistic", engine="serial")
    monkeypatch.setattr(module, "KEPT_NUMBERS", 0)
    monkeypatch.setattr("versadp.fitting.likelihood_pairs.NUMBERS_AT_ONCE", 64 * 500)
    for engine in ("serial", "threads"):
        again = fit(releases["laplace"], formula, "logistic", engine=engine)
        np.testing.assert_allclose(again.params, whole.params, rtol=1e-6)
        np.testing.assert_allclose(again.bse, whole.bse, rtol=1e-6)


# refusals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "options", "words"),
    [
        ("y ~ x", {"loss": "check"}, "no likelihood"),
        ("b ~ x", {"loss": "hinge"}, "no likelihood"),
        ("y ~ x", {"loss": "huber"}, "no likelihood"),
        (None, {"loss": vdp.losses.Mean("x")}, "no likelihood"),
        (None, {"loss": "squared"}, "needs a formula"),
        ("y ~ x", {"weights": "n"}, "takes no weights"),
        ("y ~ x", {"extension": "zero"}, "takes no extension"),
        ("y ~ x", {"start": [0.0, 1.0]}, "takes no start"),
        ("y ~ w", {}, "no noisy column"),
        ("y ~ x + big + z + count", {}, "few noisy columns"),
        ("np.exp(z) ~ x", {}, "not a function of it"),
        ("z ~ x", {"loss": "poisson"}, "few whole numbers"),
        ("z ~ x", {"loss": "logistic"}, "two values"),
        ("count ~ x", {"loss": "logistic"}, "two values"),
    ],
)
def test_what_is_not_served_is_refused(releases, formula, options, words):
    with pytest.raises(ParameterError, match=words):
        vdp.fit(releases["windows"], formula, method="likelihood", **options)


def test_responses_that_are_none_are_refused(releases):
    with pytest.raises(DataError, match="whole numbers"):
        fit(releases["windows"], "np.exp(y) ~ x", "poisson")


def test_missing_values_and_too_many_records_are_refused(releases, monkeypatch):
    table = {"x": [0.5, None, 1.0] * 5, "y": np.arange(15.0)}
    release = released({"x": Bounded(0, 1, nullable=True), "y": Public()}, {"x": Window(epsilon=2.0)}, table)
    with pytest.raises(ParameterError, match="missing"):
        fit(release, "y ~ x")
    monkeypatch.setattr(module, "LIMIT", 1000)
    with pytest.raises(DataError, match="records against") as refused:
        fit(releases["windows"], "y ~ x")
    assert "random part" in str(refused.value)


@pytest.mark.full
@pytest.mark.parametrize(("scale", "weak"), [(0.5, True), (0.1, False)], ids=["much noise", "little noise"])
def test_who_knows_little_of_the_noisy_column_says_so(scale, weak):
    """Within groups x has a standard deviation of 1/4; with noise four times as wide intervals covered 90%."""
    n, rng = 3000, np.random.default_rng(5)
    w = (rng.random(n) < 0.5).astype(float)
    x = np.clip(0.3 * (2 * w - 1) + 0.25 * rng.standard_normal(n), -1, 1)
    people = pa.table({"x": x, "w": w, "y": (rng.random(n) < expit(x)).astype(float)})
    schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "w": vdp.Public(), "y": vdp.Public()})
    release = vdp.Mechanism(schema, scale=scale, exact_rate=0.02).release(people)
    found = vdp.fit(release, "y ~ x + w", loss="logistic", method="likelihood")
    assert found.converged
    assert ("caution" in found.header) == weak
    assert ("is known to" in str(found.summary())) == weak


# coverage ------------------------------------------------------------------------------------------------------------


def missed(loss, noise, n, reps):
    """Return in how many releases intervals of 95% miss intercept and slope: ours, and those of noise not undone."""
    truth, count = np.array([0.3, 1.0]), np.zeros((2, 2), int)
    for k in range(reps):
        rng = np.random.default_rng([k, 8])
        x = 2 * rng.beta(2, 5, n) - 1
        u = truth[0] + truth[1] * x
        y = u + 0.7 * rng.normal(size=n) if loss == "squared" else (rng.random(n) < expit(u)).astype(float)
        release = released({"x": Bounded(-1, 1), "y": Public()}, {"x": noise}, {"x": x, "y": y}, bytes([k, *range(31)]))
        for j, found in enumerate((fit(release, "y ~ x", loss), vdp.fit(release, "y ~ x", loss=loss, method="naive"))):
            low, high = found.conf_int().values.T
            count[j] += (truth < low) | (high < truth)
    return count


@pytest.mark.slow
def test_intervals_cover_in_a_few_releases():
    ours, naive = missed("squared", ZeroInflated(0.25, 0.05), 600, 25)
    assert ours.max() <= 8  # of 25: more once in a hundred thousand
    assert naive[1] > 8


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("noise", [ZeroInflated(0.35, 0.05), Window(epsilon=2.0)], ids=["laplace", "window"])
def test_intervals_cover(loss, noise):
    ours, naive = missed(loss, noise, 3000, 200)
    assert ours.max() <= 26  # of 200: more once in a hundred thousand
    assert naive[1] > 26
