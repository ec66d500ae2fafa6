"""What a fit says of itself: specification, strength, score sets, effective sample size, refused weights."""

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import ParameterError
from versadp.fitting.models import make_problem
from versadp.inference import Results
from versadp.noise.selection_check import SELDOM, redrawn_chance

pytestmark = pytest.mark.filterwarnings("ignore::versadp.errors.InsecureWarning")  # seeded, so that failures repeat
SCHEMA = vdp.Schema({"a": vdp.Bounded(-1, 1), "b": vdp.Bounded(-1, 1), "w": vdp.Public(), "y": vdp.Public()})
FORMULA = "y ~ a + b"


def people(seed, n=3000):
    rng = np.random.default_rng([4, seed])
    a, b = rng.uniform(-1, 1, (2, n))
    return pd.DataFrame({"a": a, "b": b, "w": rng.random(n), "y": a - b + rng.normal(size=n)})


def released(seed, scale=0.5, rate=0.05, n=3000):
    return vdp.Mechanism(SCHEMA, scale=scale, exact_rate=rate).release(people(seed, n), insecure_seed=seed)


@pytest.mark.full
def test_the_specification_test_sees_another_scale_and_not_the_right_one():
    """24 releases: at 5% more than 6 would be rejected once in three thousand runs."""
    wrong = vdp.Mechanism(SCHEMA, scale=0.6, exact_rate=0.05)
    right, noticed = 0, 0
    for seed in range(24):
        release = released(seed)
        right += vdp.fit(release, FORMULA).specification_test().rejects
        told = vdp.Release.from_frame(release.frame, wrong, on_grid=False)
        noticed += vdp.fit(told, FORMULA).specification_test().rejects
    assert right <= 6
    assert noticed >= 12


def test_rows_that_were_selected_by_a_noisy_column_are_noticed_in_the_summary():
    release = released(1, scale=0.1, n=5000)
    frame = release.to_pandas()
    some = vdp.Release.from_frame(frame[frame["a"] > 0], release.mechanism)
    found = vdp.fit(some, FORMULA)
    assert "rows selected" in str(found.summary())
    whole = vdp.fit(release, FORMULA)
    assert whole.specification_test().cut == 1.0


def test_intervals_are_score_sets_which_of_a_strong_fit_are_near_its_wald_intervals():
    found = vdp.fit(released(2), FORMULA)
    assert found.converged
    assert min(found.trust.strength.values()) > 7
    wald, sets = np.asarray(found.conf_int(kind="wald")), np.asarray(found.conf_int(kind="score"))
    assert sets == pytest.approx(wald, abs=0.25 * (wald[:, 1] - wald[:, 0]).max())
    assert (np.asarray(found.conf_int()) == sets).all()
    assert ((found.pvalues.values < 0.05) == ((sets > 0).all(axis=1) | (sets < 0).all(axis=1))).all()
    strong = vdp.fit(released(2, scale=0.02, rate=0.2), FORMULA)
    wald, sets = (np.asarray(strong.conf_int(kind=kind)) for kind in ("wald", "score"))
    assert sets == pytest.approx(wald, abs=0.03 * (wald[:, 1] - wald[:, 0]).max())


RARE = vdp.Schema({"x": vdp.Bounded(-1, 1), "c": vdp.Categorical([f"l{k}" for k in range(12)]), "y": vdp.Public()})


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_rare_level_leaves_the_other_coefficients_known(loss):
    """The rarest of twelve levels has 0.5%: its coefficient is lost in noise, and that of x must not be."""
    rng = np.random.default_rng(2)
    n, shares = 6000, np.append(np.full(11, 0.995 / 11), 0.005)
    level = rng.choice(12, n, p=shares)
    x = np.clip(rng.normal(0, 0.4, n), -1, 1)
    index = x + np.linspace(-0.5, 0.5, 12)[level] - 0.3
    y = (rng.random(n) < 1 / (1 + np.exp(-index))).astype(float) if loss == "logistic" else index + rng.normal(size=n)
    table = pd.DataFrame({"x": x, "c": [f"l{k}" for k in level], "y": y})
    mechanism = vdp.calibrate(RARE, epsilon=3, unit="attribute")
    weak = 0
    for seed in range(4):
        found = vdp.fit(mechanism.release(table, insecure_seed=seed), "y ~ x + C(c)", loss=loss)
        low, high = found.conf_int()["x"]
        assert low < 1 < high < low + 1.2
        assert abs(found.params["x"] - 1) < 4 * found.bse["x"] < 1.2
        assert found.pvalues["x"] < 0.05
        found.wald_test("x = 1")
        if found.outcome == "weak":
            weak += 1
            assert np.isnan(found.bse["C(c)[T.l11]"])
            assert "Weak coefficients: C(c)[T.l11];" in str(found.summary())
            with pytest.raises(vdp.errors.EstimationError, match="no test of weak"):
                found.wald_test("C(c)[T.l11]")
            again = Results.from_dict(found.to_dict())
            assert again.bse["x"] == found.bse["x"]
            values = found.predict({"x": [0.0, 0.0], "c": ["l3", "l11"]})
            assert np.isnan(values).tolist() == [False, True]
    assert weak > 0


def test_intervals_of_a_median_that_bends_little_are_score_sets(tmp_path):
    found = vdp.fit(released(2, scale=0.3, rate=0.2, n=1000), FORMULA, loss="check")
    assert found.converged
    assert 2 < min(found.trust.strength.values()) < 7
    wald, sets = np.asarray(found.conf_int(kind="wald")), np.asarray(found.conf_int(kind="score"))
    assert (np.asarray(found.conf_int()) == sets).all()
    assert not np.allclose(sets, wald, rtol=1e-3)
    assert sets == pytest.approx(wald, abs=0.5 * (wald[:, 1] - wald[:, 0]).max())
    assert "cannot reject" in str(found.summary())
    found.save(tmp_path / "found.json")
    assert (np.asarray(vdp.Results.load(tmp_path / "found.json").conf_int()) == sets).all()


def test_weights_by_a_noisy_column_are_refused_and_by_a_public_one_read():
    release = released(3)
    for weights in ("a", release.to_pandas()["a"].abs()):
        with pytest.raises(ParameterError, match="noisy column 'a'"):
            vdp.fit(release, FORMULA, weights=weights)
    noisy = release.to_pandas()["a"].to_numpy()
    for weights in (np.where(noisy > 0, 3.0, 1.0), noisy > 0, noisy**2):  # arrays have no name: they are seen in order
        with pytest.raises(ParameterError, match="noisy column 'a'"):
            vdp.fit(release, FORMULA, weights=weights)
    with pytest.raises(ParameterError, match="no public column"):
        vdp.fit(release, FORMULA, weights="nothing")
    named, given = (vdp.fit(release, FORMULA, weights=each) for each in ("w", release.to_pandas()["w"].to_numpy()))
    assert named.params.tolist() == given.params.tolist()
    assert named.bse.tolist() == given.bse.tolist()


def test_the_effective_sample_size_has_an_error_that_covers_its_draws():
    release = released(4)
    found = [vdp.fit(release, FORMULA, random_state=seed) for seed in range(6)]
    sizes = np.array([each.effective_n for each in found])
    errors = np.array([each.trust.size_error for each in found])
    assert sizes.std(ddof=1) < 3 * errors.mean()
    assert "±" in str(found[0].summary())


def test_a_weak_fit_tells_no_effective_sample_size():
    found = vdp.fit(released(5, scale=4.0, rate=0.01, n=500), FORMULA)
    assert found.outcome == "weak"
    assert found.effective_n is None


def test_columns_with_much_more_noise_have_weights_of_their_own():
    def groups(**scale):
        mech = vdp.Mechanism(SCHEMA, scale=scale, exact_rate=0.05)
        problem = make_problem(
            mech.release(people(0), insecure_seed=0), FORMULA, vdp.losses.as_loss("squared"), None, None
        )
        return [group.tolist() for group in problem.groups]

    assert groups(a=0.3, b=0.5) == [[1, 2], [0]]
    assert groups(a=0.05, b=3.0) == [[1], [2], [0]]


def test_the_summary_states_the_guarantee_that_was_asked_for():
    schema = vdp.Schema({"a": vdp.Bounded(-1, 1), "b": vdp.Bounded(-1, 1), "y": vdp.Bounded(-8, 8)})
    table = people(5, 12_000)[["a", "b", "y"]]
    strict = vdp.calibrate(schema, epsilon=3, unit="attribute").release(table, insecure_seed=5)
    header = vdp.fit(strict, FORMULA).header
    assert (header["privacy unit"], header["epsilon"], header["delta"]) == ("attribute", "3", "0")
    central = vdp.calibrate(schema, epsilon=1, delta=1e-6, shuffled=10_000).release(table, insecure_seed=5)
    header = vdp.fit(central, FORMULA).header
    assert header["privacy unit"] == "record, hidden among 12,000 in an order that tells nothing"
    assert header["epsilon"] == "1"
    assert 0 < float(header["delta"]) <= 1e-6


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("slope", "tau", "outcome"), [(5.0, 0.9, "weak"), (0.5, 0.5, "converged")])
def test_a_quantile_with_hardly_a_record_beyond_it_is_weak(slope, tau, outcome):
    """With steep slopes noise leaves what some forty raw records would tell, of which four lie beyond 0.9."""
    rng = np.random.default_rng(6)
    a, b = rng.uniform(-1, 1, (2, 2000))
    frame = pd.DataFrame({"a": a, "b": b, "w": 1.0, "y": slope * (a - b) + 0.3 * rng.normal(size=2000)})
    release = vdp.Mechanism(SCHEMA, scale=0.25, exact_rate=0.1).release(frame, insecure_seed=6)
    found = vdp.fit(release, FORMULA, loss=vdp.losses.Check(tau))
    assert found.outcome == outcome
    ends = np.asarray(found.conf_int())
    assert np.isfinite(found.params).all()
    assert (ends[:, 0] < found.params).all()
    assert (found.params < ends[:, 1]).all()
    assert np.isnan(found.bse).all() == (outcome == "weak")


PEOPLE = vdp.Schema({"a": vdp.Bounded(0, 1), "c": vdp.Categorical(list("nsw")), "y": vdp.Public()})


@pytest.mark.parametrize(
    "target", [{"epsilon": 4}, {"epsilon": 4, "unit": "attribute"}], ids=["joint", "a column each"]
)
@pytest.mark.parametrize(
    ("formula", "chosen"),
    [("y ~ a", lambda t: t["a"] > 0.4), ("y ~ C(c)", lambda t: t["c"] == "n"), ("a ~ C(c)", lambda t: t["a"] < 0.5)],
    ids=["above", "one level", "below"],
)
def test_windows_notice_rows_that_were_selected_by_a_noisy_column(target, formula, chosen):
    rng, n = np.random.default_rng(0), 5000
    a, c = rng.beta(4, 2, n), rng.choice(list("nsw"), n, p=[0.8, 0.15, 0.05])  # few are low, and few in the west
    mechanism = vdp.calibrate(PEOPLE, **target)
    release = mechanism.release(pd.DataFrame({"a": a, "c": c, "y": a + rng.normal(size=n)}), key=bytes(range(32)))
    frame = release.to_pandas()
    whole = vdp.fit(vdp.Release.from_frame(frame.sort_values("a"), mechanism), formula)
    assert whole.specification_test().pvalue == 1.0
    found = vdp.fit(vdp.Release.from_frame(frame[chosen(frame)], mechanism, on_grid=False), formula)
    assert found.specification_test().pvalue < 1e-9
    assert "rows selected" in str(found.summary())
    assert Results.from_dict(found.to_dict()).specification_test() == found.specification_test()


def test_what_is_lacking_is_rarely_said_of_what_is_in_order():
    """With all that is kept at one place, which is worst: at most 0.5%, so more than 8 of 400 once in 4,000 times."""
    block, rng = vdp.noise.Window(epsilon=2).on({"x": vdp.Bounded(0, 1)}), np.random.default_rng(1)
    lattice = block.lattice("x")
    said = 0
    for _ in range(400):
        n = int(rng.integers(50, 2000))
        place = np.where(rng.random(n) < lattice.keep, 0, rng.integers(0, lattice.shown, n))  # kept ones at one place
        z = lattice.low + lattice.step * (place - (lattice.window - 1) / 2)
        said += SELDOM * redrawn_chance(lattice, z) < 0.05
    assert said <= 8


@pytest.mark.full
def test_a_point_that_is_no_minimum_makes_no_coefficient_known():
    """Slopes of 12 and 6 saturate: the least criterion lies where the correction of the series is an artefact."""
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1, 1, (2, 20_000))
    y = (rng.random(20_000) < 1 / (1 + np.exp(-12 * a - 6 * b))).astype(float)
    schema = vdp.Schema({"a": vdp.Bounded(-1, 1), "b": vdp.Bounded(-1, 1), "y": vdp.Public()})
    mechanism = vdp.calibrate(schema, epsilon=4, unit="attribute")
    for seed in range(2):
        release = mechanism.release(pd.DataFrame({"a": a, "b": b, "y": y}), insecure_seed=seed)
        found = vdp.fit(release, "y ~ a + b", loss="logistic")
        if found.answered:
            ends = found.conf_int()
            assert ends["a"][0] < 12 < ends["a"][1]
            assert ends["b"][0] < 6 < ends["b"][1]
