"""A fit that goes on without its old records: near the refit, honest about drift, and careful with its file."""

import json
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import chi2

import versadp as vdp
from versadp.cli import main
from versadp.errors import DataError, EstimationError, ParameterError, ReleaseError
from versadp.estimation import Family, last_steps
from versadp.estimation.update import Kept, drift_of, renewed
from versadp.fitting.estimate import estimate
from versadp.fitting.models import make_problem
from versadp.fitting.solver import Members, SolverOptions
from versadp.fitting.source import MemorySource
from versadp.fitting.update_solver import _Later
from versadp.fitting.update_state import State
from versadp.noise.extension import Zero

SCHEMA = vdp.Schema(
    {
        "x": vdp.Bounded(-1, 1),
        "w": vdp.Bounded(0, 1),
        "y": vdp.Public(),
        "b": vdp.Public(),
        "c": vdp.Public(),
        "town": vdp.Public(),
    }
)
MECHANISMS = {
    "windows": vdp.calibrate(SCHEMA, epsilon=5),
    "laplace": vdp.Mechanism(SCHEMA, scale=0.2, exact_rate=0.1),
    "mixed": vdp.Mechanism(
        vdp.Schema(SCHEMA.columns | {"town": vdp.Categorical(["a", "b", "c"])}), scale=0.2, exact_rate=0.1, keep=0.7
    ),
}


def people(rows, seed, moved=0.0):
    rng = np.random.default_rng(seed)
    x, w = rng.uniform(-1, 1, rows), rng.uniform(0, 1, rows)
    u = 0.3 + (1 + moved) * x - 0.8 * w
    town = rng.choice(["a", "b", "c"], rows)
    return pd.DataFrame(
        {
            "x": x,
            "w": w,
            "y": u + rng.normal(0, 0.5, rows),
            "b": (rng.random(rows) < 1 / (1 + np.exp(-u))).astype(int),
            "c": rng.poisson(np.exp(u)),
            "town": town,
        }
    )


@cache
def released(kind, rows, seed=0, moved=0.0):
    return MECHANISMS[kind].release(people(rows, seed, moved), key=bytes([seed + 1]) * 16 + bytes(range(16)))


def cut(release, ends):
    frame = release.frame
    starts = [0, *ends[:-1]]
    pieces = (frame.iloc[a:b].reset_index(drop=True) for a, b in zip(starts, ends, strict=True))
    return [vdp.Release(piece, release.mechanism) for piece in pieces]


def apart(one, other):
    """Largest difference of two fits, in standard errors of the second."""
    return float(np.abs((np.asarray(one.params) - np.asarray(other.params)) / np.asarray(other.bse)).max())


CASES = [
    ("windows", "y ~ x + w", {}, 1e-8),
    ("windows", "y ~ x + w + C(town)", {}, 1e-8),
    ("windows", "b ~ x + w", {"loss": "logistic"}, 0.02),
    ("windows", "c ~ x + w", {"loss": "poisson"}, 0.02),
    ("laplace", "y ~ x + w", {"method": "analytic"}, 1e-8),
    ("laplace", "b ~ x + w", {"loss": "logistic", "method": "analytic"}, 0.02),
    ("laplace", "y ~ x + w", {}, 0.02),  # from here on there are draws, which depend on a record's place alone
    ("laplace", "b ~ x + w", {"loss": "logistic"}, 0.02),
    pytest.param("laplace", "c ~ x + w", {"loss": "poisson"}, 0.02, marks=pytest.mark.slow),
    ("laplace", "x ~ 1", {}, 0.02),
    pytest.param("laplace", "y ~ np.exp(x) + w", {}, 0.02, marks=pytest.mark.slow),
    ("laplace", "y ~ x + w", {"method": "drcl"}, 1e-8),
    pytest.param("laplace", "b ~ x + w", {"loss": "logistic", "method": "sdrcl"}, 0.02, marks=pytest.mark.slow),
    pytest.param("mixed", "b ~ x + C(town)", {"loss": "logistic"}, 0.02, marks=pytest.mark.full),
]


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("kind", "formula", "options", "limit"), CASES)
def test_an_update_is_the_refit(kind, formula, options, limit):
    release = released(kind, 8000, 1)
    first, second = cut(release, [5000, 8000])
    before = vdp.fit(first, formula, **options)
    found, whole = before.update(second), vdp.fit(release, formula, **options)
    assert found.nobs == whole.nobs == 8000
    assert apart(found, whole) < limit
    alone = vdp.fit(second, formula, **options)
    assert max(apart(before, whole), apart(alone, whole)) > 0.1  # old or new ones alone: the comparison sees something
    assert np.asarray(found.bse) == pytest.approx(np.asarray(whole.bse), rel=0.02)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_twenty_updates_do_not_drift_away(loss):
    release = released("windows", 12_000, 1)
    formula = {"squared": "y ~ x + w", "logistic": "b ~ x + w"}[loss]
    parts = cut(release, np.linspace(2000, 12_000, 21).astype(int).tolist())
    found = vdp.fit(parts[0], formula, loss=loss)
    for part in parts[1:]:
        found = found.update(part)
    whole = vdp.fit(release, formula, loss=loss)
    assert apart(found, whole) < 0.02
    assert found.updater.state.updates == 20
    assert np.asarray(found.bse) == pytest.approx(np.asarray(whole.bse), rel=0.03)


def families(release, formula, loss, sizes):
    """Return the members over old, new and all records, with the same draws."""
    choice = SolverOptions("efficient", None, 20, 0, vdp.engine.Serial())
    old, new = cut(release, sizes)
    made = [make_problem(each, formula, vdp.losses.as_loss(loss), None, None) for each in (old, new)]
    answer = estimate(made[0], choice)
    before, problem = answer.diagnostics.family, made[1]
    later = _Later(problem.source, before.source.rows)
    after = Family(before.forms, later, before.size, before.engine, 0)
    both = MemorySource((*before.source.lots, *(lot for handle in later.handles() for _, lot in later.read(handle))))
    return answer, before, after, Family(before.forms, both, before.size, before.engine, 0)


@pytest.mark.parametrize(("formula", "loss"), [("y ~ x + w", "squared"), ("b ~ x + w", "logistic")])
def test_members_and_weights_of_laplace_noise(formula, loss):
    """With the same draws and weights, sums over old records stand for the records themselves."""
    answer, before, after, both = families(released("laplace", 12_000, 2), formula, loss, [8000, 12_000])
    groups = answer.problem.groups
    assert len(before.names) == 5
    found = renewed(Kept.of(before, answer.fit.theta), after, groups)
    whole = last_steps(both, found.kept.theta, found.mix, groups)
    error = np.sqrt(np.diag(whole.cov))
    assert np.abs((found.kept.theta - whole.theta) / error).max() < 0.02
    assert np.sqrt(np.diag(found.cov)) == pytest.approx(error, rel=0.02)
    assert found.mix == pytest.approx(Kept.of(both, whole.theta).mix(groups), abs=0.03)
    if loss == "logistic":  # without what the new records say of the curvature it would be further off
        stiff = renewed(Kept.of(before, answer.fit.theta + 4 * error), after, groups).kept.theta
        assert np.abs((stiff - whole.theta) / error).max() < 0.1


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("formula", "loss", "ends"),
    [
        ("y ~ x + w", "squared", (3000, 4000, 5000)),  # pilots draw less, and bias is taken off
        ("x ~ 1", "squared", (4000, 5000)),
        pytest.param("y ~ x + w", "squared", (15_000, 22_000, 26_000), marks=pytest.mark.slow),
        pytest.param("b ~ x + w", "logistic", (3000, 4000, 5000), marks=pytest.mark.slow),
        pytest.param("c ~ x + w", "poisson", (15_000, 22_000, 26_000), marks=pytest.mark.slow),
        pytest.param("y ~ x + w", "squared", (120_000, 150_000), marks=pytest.mark.slow),  # pilots see a part of them
    ],
)
def test_laplace_noise_in_a_folder_that_grows(formula, loss, ends, tmp_path):
    """A record has the draws that it had before others came, so that updates meet the fit to everything."""
    mechanism = vdp.Mechanism(vdp.Schema(SCHEMA.columns, id="who"), scale=0.2, exact_rate=0.1)
    frame, out, state = people(ends[-1], 5).assign(who=np.arange(ends[-1])), tmp_path / "out", tmp_path / "state.json"
    for start, stop in pairwise((0, *ends)):
        frame[start:stop].to_parquet(tmp_path / "some.parquet")
        if not start:
            vdp.release_file(tmp_path / "some.parquet", out, mechanism, state=tmp_path / "keys", key=bytes(range(32)))
            found = vdp.fit(out, formula, loss=loss)
        else:
            vdp.append_file(out, tmp_path / "some.parquet", state=tmp_path / "keys")
            found = vdp.update(state, out)
        found.save_state(state)
    whole, *others = (vdp.fit(out, formula, loss=loss, random_state=seed) for seed in range(5))
    assert apart(found, whole) < 0.02
    assert max(apart(other, whole) for other in others) > 0.02  # other draws are further apart than an update may be


@pytest.mark.parametrize(("rows", "some"), [(700, True), (1600, False)])
def test_a_bias_is_taken_off_as_long_as_a_fit_would(rows, some):
    """In standard errors it is a twentieth for 700 records, and nothing that a fit to 1,600 looks at."""
    release = released("laplace", rows, 0)
    first, second = cut(release, [350, rows])
    before, whole = (vdp.fit(each, "y ~ x + w") for each in (first, release))
    found = before.update(second)
    assert before.bias
    assert bool(whole.bias) is bool(found.bias) is some
    for name in found.bias:
        assert abs(found.bias[name] - whole.bias[name]) < 0.02 * whole.bse[name]
    if some:
        assert found.bias["x"] > 0.03 * whole.bse["x"]


@pytest.mark.parametrize(("formula", "loss"), [("x ~ 1", "squared"), ("c ~ x + w", "poisson")])
def test_few_records_are_fitted_again(formula, loss):
    """Weights of so few are steadied by records that are released again, or hang on the estimate: an update says so."""
    release = released("laplace", 4000, 3)
    first, second, _ = cut(release, [2000, 3000, 4000])
    res = vdp.fit(first, formula, loss=loss)
    with pytest.raises(EstimationError, match="3,000 together") as caught:
        res.update(second)
    assert "4,000" in caught.value.hint
    rest = vdp.Release(release.frame.iloc[2000:].reset_index(drop=True), release.mechanism)
    assert apart(res.update(rest), vdp.fit(release, formula, loss=loss)) < 0.02


def statistics(reps, old, new, moved=0.0):
    """Return drift statistics of many small studies: windows, squared loss, in one release."""
    one, two = released("windows", reps * old, 5), released("windows", reps * new, 6, moved)
    found = []
    choice = SolverOptions("efficient", None, 20, 0, vdp.engine.Serial())
    loss = vdp.losses.as_loss("squared")
    for k in range(reps):
        parts = [
            vdp.Release(each.frame.iloc[k * rows : (k + 1) * rows].reset_index(drop=True), each.mechanism)
            for each, rows in ((one, old), (two, new))
        ]
        made = [make_problem(each, "y ~ x", loss, None, None) for each in parts]
        forms = Members.of(made[0], choice, made[0].sample(old, 0)).family.forms
        own, other = (Family(forms, each.source, 2, choice.engine, 0) for each in made)
        here = Kept.of(own, np.array([0.0, 0.0]))
        theta = -np.linalg.solve(here.hessian[0], here.score[0])
        found.append(drift_of(Kept.of(own, theta), Kept.of(other, theta), np.ones((1, 1)), (np.arange(2),)).statistic)
    return np.array(found)


def check_size(reps):
    """Size 5%, and a mean of 2, within what chance makes of it once in 1e5 times; the wrong variance is noticed."""
    found = statistics(reps, 600, 400)
    size, limit = (found > chi2.ppf(0.95, 2)).mean(), chi2.ppf(0.95, 2)
    spread = 4.5 * np.sqrt(0.05 * 0.95 / reps)
    assert abs(size - 0.05) < spread
    assert abs(found.mean() - 2) < 4.5 * 2 / np.sqrt(reps)
    careless = found * (1 / 600 + 1 / 400) * 400  # which takes the old estimate for the truth
    assert abs(careless.mean() - 2) > 4.5 * 2 / np.sqrt(reps)
    if reps > 1000:
        assert abs((careless > limit).mean() - 0.05) > spread


def test_the_drift_test_holds_its_size():
    check_size(200)


@pytest.mark.slow
def test_the_drift_test_holds_its_size_at_full_length():
    check_size(4000)


def test_the_drift_test_sees_a_truth_that_moved():
    still, moved = statistics(60, 600, 400), statistics(60, 600, 400, 0.6)
    limit = chi2.ppf(0.95, 2)
    assert (moved > limit).mean() > 0.6
    assert (still > limit).mean() < 0.25


def test_results_say_what_drifted():
    first = vdp.fit(released("windows", 6000, 3), "y ~ x + w")
    found = first.update(released("windows", 6000, 4, 1.0))
    assert found.drift_test().rejects
    assert found.drift_test().df == 3
    assert "disagree" in str(found.summary())
    with pytest.raises(EstimationError, match="first fit"):
        first.drift_test()


def test_a_state_goes_through_its_file(tmp_path):
    release = released("windows", 8000)
    first, second = cut(release, [5000, 8000])
    res = vdp.fit(first, "y ~ x + C(town)", subset="c < 5", weights="c")
    res.save_state(tmp_path / "state.json")
    found = vdp.update(tmp_path / "state.json", second)
    assert found == res.update(second)
    whole = vdp.fit(release, "y ~ x + C(town)", subset="c < 5", weights="c")
    assert apart(found, whole) < 1e-6
    text = (tmp_path / "state.json").read_text()
    assert len(text) < 20_000
    assert State.from_dict(json.loads(text)).to_dict() == json.loads(text)
    assert State.from_dict(json.loads(text) | {"lots": 3}).to_dict() == json.loads(text)  # as it was once written
    with pytest.raises(DataError, match="in the state already"):
        vdp.update(tmp_path / "state.json", first)


@pytest.mark.full
def test_a_state_older_than_a_member_goes_on_without_it(monkeypatch):
    first, second = cut(released("mixed", 8000, 1), [5000, 8000])
    with monkeypatch.context() as patch:
        patch.setattr("versadp.fitting.members.POINTS_BY_LEVEL", (Zero(),))
        before = vdp.fit(first, "b ~ x + C(town)", loss="logistic")
        known = before.update(second)
    assert "clip" not in before.updater.state.members
    assert apart(before.update(second), known) < 1e-12
    assert "clip" in vdp.fit(first, "b ~ x + C(town)", loss="logistic").updater.state.members


def test_a_batch_may_lack_levels_and_classes():
    release = released("windows", 6000)
    frame = release.frame
    some = (frame["town"] == "a") & (frame["b"] == 1) & (np.arange(6000) >= 4000)
    parts = [vdp.Release(frame[keep].reset_index(drop=True), release.mechanism) for keep in (~some, some)]
    found = vdp.fit(parts[0], "b ~ x + C(town)", loss="logistic").update(parts[1])
    assert found.nobs == 6000
    assert found.names == ("Intercept", "x", "C(town)[T.b]", "C(town)[T.c]")
    assert found.drift_test().pvalue < 1e-10  # those who said yes are no sample of all
    stranger = vdp.Release(frame.assign(town="d").head(500), release.mechanism)
    with pytest.raises(DataError, match="a level that the records before had not"):
        vdp.fit(parts[0], "y ~ x + C(town)").update(stranger)


@pytest.mark.parametrize("kind", ["windows", "laplace"])
def test_records_that_are_read_in_every_pass(kind, tmp_path, monkeypatch):
    """Too many to be kept in memory: the same state, and the same update."""
    parts = [tmp_path / "old", tmp_path / "new"]
    for each, path in zip(cut(released(kind, 6000), [4000, 6000]), parts, strict=True):
        each.save(path)
    found = []
    for cells in (30_000_000, 0):
        monkeypatch.setattr("versadp.fitting.source.KEPT_NUMBERS", cells)
        fit = vdp.fit(parts[0], "y ~ x + w")
        found.append((fit.update(parts[1]), fit.updater.state))
    (one, before), (other, after) = found
    assert apart(one, other) < 1e-8
    assert before.kept.n == after.kept.n == 4000


def test_a_folder_that_was_appended_to(tmp_path):
    schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Public()}, id="pid")
    mech = vdp.calibrate(schema, epsilon=4)
    for name, seed in (("one", 0), ("two", 1)):
        own = people(3000, seed)[["x", "y"]].assign(pid=np.arange(3000) + 3000 * seed)
        own.to_parquet(tmp_path / f"{name}.parquet")
    out, state = tmp_path / "released", {"state": tmp_path / "secret"}
    vdp.release_file(tmp_path / "one.parquet", out, mech, **state)
    vdp.fit(out, "y ~ x").save_state(tmp_path / "state.json")
    vdp.append_file(out, tmp_path / "two.parquet", **state)
    found = vdp.update(tmp_path / "state.json", out)
    assert found.nobs == 6000
    assert apart(found, vdp.fit(out, "y ~ x")) < 1e-8


REFUSED = [
    ("y ~ x", {"loss": "check", "method": "naive"}, "no update"),
    ("y ~ x", {"loss": "huber", "method": "naive"}, "no update"),
    ("y ~ x", {"cov_type": "cluster", "groups": "town"}, "clusters"),
    ("y ~ x", {"weights": "c", "weight_type": "frequency"}, "frequencies"),
    ("y ~ x", {"weights": np.arange(1.0, 4001.0)}, "weights"),
]


@pytest.mark.parametrize(("formula", "options", "why"), REFUSED)
def test_what_has_no_update_says_why(formula, options, why):
    release = released("windows", 4000)
    with pytest.raises(EstimationError, match=why):
        vdp.fit(release, formula, **options).update(release)


def test_other_mechanisms_and_files_of_results_are_refused(tmp_path):
    res = vdp.fit(released("windows", 4000), "y ~ x")
    with pytest.raises(ReleaseError, match="another mechanism"):
        res.update(released("laplace", 12_000, 2))
    res.save(tmp_path / "res.json")
    with pytest.raises(ParameterError, match="no state"):
        vdp.update(tmp_path / "res.json", released("windows", 4000))
    with pytest.raises(EstimationError, match="cannot be updated"):
        vdp.Results.load(tmp_path / "res.json").update(released("windows", 6000))


def of(kept, **changed):
    return {"kept": kept | changed}


SPOILT = {
    "spread": lambda d: of(d["kept"], spread=(-np.array(d["kept"]["spread"])).tolist()),
    "shape": lambda d: of(d["kept"], theta=d["kept"]["theta"][:-1]),
    "infinite": lambda d: of(d["kept"], theta=[float("inf")] * len(d["names"])),
    "skew": lambda d: of(d["kept"], hessian=np.random.default_rng(0).normal(size=(1, 4, 4)).tolist()),
    "text": lambda d: of(d["kept"], theta=["0.1"] * len(d["names"])),
    "few": lambda d: of(d["kept"], n=1),
    "curved": lambda d: of(d["kept"], hessian=(-1e6 * np.array(d["kept"]["hessian"])).tolist()),
    "formula": lambda _: {"formula": "y ~ x"},
    "method": lambda _: {"method": "drcl"},
    "loss": lambda _: {"loss": "check"},
    "digest": lambda _: {"seen": ["../../x"]},
    "edition": lambda _: {"edition": 0},
    "fingerprint": lambda _: {"counted": [[1]]},
    "fingerprints": lambda _: {"counted": [[5, -1]]},
    "basis": lambda _: {"basis": [[0.0]]},
    "more": lambda _: {"more": 1},
    "levels": lambda _: {"levels": {"town": ["a"]}},
}


@pytest.mark.parametrize("way", SPOILT)
def test_a_state_that_somebody_edited_is_refused(way, tmp_path):
    first, second = cut(released("windows", 6000), [4000, 6000])
    data = vdp.fit(first, "y ~ x + C(town)").updater.state.to_dict()
    (tmp_path / "state.json").write_text(json.dumps(data))
    assert vdp.update(tmp_path / "state.json", second).nobs == 6000  # as it was
    (tmp_path / "state.json").write_text(json.dumps(data | SPOILT[way](data)))
    with pytest.raises(vdp.errors.VersadpError):
        vdp.update(tmp_path / "state.json", second)


def test_records_that_are_too_far_from_the_old_ones_are_refused():
    old = vdp.fit(released("windows", 6000, 3), "c ~ x + w", loss="poisson").updater.state
    far = replace(old, kept=replace(old.kept, theta=old.kept.theta + 3.0))
    with pytest.raises(vdp.errors.VersadpError):
        vdp.update(far, released("windows", 6000, 4))


def test_the_command_goes_on_from_a_state(tmp_path):
    first, second = cut(released("windows", 8000), [5000, 8000])
    for name, part in (("one", first), ("two", second)):
        part.save(tmp_path / name)
    state = str(tmp_path / "state.json")

    def run(*words):
        return CliRunner().invoke(main, ["fit", *words, "--format", "json"])

    assert run(str(tmp_path / "one"), "y ~ x + w", "--state", state).exit_code == 0
    before = (tmp_path / "state.json").read_text()
    refused = run(str(tmp_path / "two"), "y ~ x", "--update", state)
    assert refused.exit_code != 0
    assert "that of its state" in refused.output
    done = run(str(tmp_path / "two"), "--update", state)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["records"] == 8000
    whole = vdp.fit(released("windows", 8000), "y ~ x + w")
    assert [row["estimate"] for row in found["coefficients"]] == pytest.approx(list(whole.params), rel=1e-6)
    assert (tmp_path / "state.json").read_text() != before  # it is the state to go on from
    assert run(str(tmp_path / "two"), "--update", state).exit_code != 0  # whose records are in it now
