"""Laws for strangers: a block, a loss, an extension and an engine of somebody else's go all the way, to right answers.

All tolerances are five standard errors, by simulation: a false alarm once in a million each.
"""

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.noise import How, as_extension
from versadp.release.target.plan import compare
from versadp_tests.strangers import Backwards, Folded, Half, LogCosh, Lottery

vdp.noise.register(Lottery)
N, TICKETS = 40_000, 9
KEY = bytes(range(40, 72))
SCHEMA = vdp.Schema(
    {
        "x": vdp.Bounded(-1, 1),
        "z": vdp.Bounded(0, 20),
        "c": vdp.Categorical(["a", "b"]),
        "y": vdp.Public(),
        "b": vdp.Public(),
    }
)


def noise(keep=0.4):
    return {
        "x": Lottery(TICKETS, keep),
        "z": vdp.noise.ZeroInflated(scale=0.3, exact_rate=0.2),
        "c": vdp.noise.Response(0.6),
    }


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    x = rng.choice(np.linspace(-1, 1, TICKETS), N, p=np.arange(1, TICKETS + 1) / 45)
    z = np.clip(10 + 4 * x + rng.gumbel(0, 1.5, N), 0, 20)
    u = 0.5 + 1.2 * x
    return pd.DataFrame(
        {
            "x": x,
            "z": z,
            "c": rng.choice(["a", "b"], N),
            "y": u + rng.normal(0, 0.5, N),
            "b": (rng.random(N) < 1 / (1 + np.exp(-u))).astype(int),
        }
    )


@pytest.fixture(scope="module")
def mech():
    return vdp.Mechanism(SCHEMA, noise=noise())


@pytest.fixture(scope="module")
def release(mech, people):
    return mech.release(people, key=KEY, shuffle=False)


def near(result, name, truth):
    return abs(result.params[name] - truth) < 5 * result.bse[name]


# a block -------------------------------------------------------------------------------------------------------------


def test_a_block_is_released_in_memory_on_devices_and_through_files(mech, people, release, tmp_path):
    kept = np.isclose(release.frame["x"], people["x"]).mean()
    expected = 0.4 + 0.6 / TICKETS
    assert abs(kept - expected) < 5 * np.sqrt(expected * (1 - expected) / N)
    assert mech.release(people, key=KEY, shuffle=False).frame.equals(release.frame)
    record = people.iloc[0].to_dict()
    assert mech.privatize(record, key=KEY) == mech.privatize(record, key=KEY)
    release.save(tmp_path / "released")
    again = vdp.load(tmp_path / "released")
    assert again.mechanism == mech
    assert again.to_pandas()["x"].equals(release.frame["x"])
    assert vdp.Mechanism.from_json(mech.to_json()) == mech
    people.to_parquet(tmp_path / "people.parquet")
    from_file = vdp.release_file(tmp_path / "people.parquet", tmp_path / "from-file", mech, key=KEY, shuffle=False)
    assert from_file.to_pandas()["x"].equals(release.frame["x"])


def test_a_block_states_its_guarantee(mech):
    lottery = np.log1p(TICKETS * 0.4 / 0.6)
    alone = vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(-1, 1)}), noise={"x": Lottery(TICKETS, 0.4)})
    assert alone.privacy("attribute").delta(lottery + 1e-6) < 1e-12
    assert alone.privacy("record").delta(lottery - 0.1) > 1e-3
    # the record composes all blocks, the attribute is as bad as the worst
    assert mech.privacy("record").delta(1.0) > mech.privacy("attribute").delta(1.0)
    assert mech.privacy("attribute").delta(1.0) >= alone.privacy("attribute").delta(1.0)
    assert "lottery of 9 tickets" in mech.statement()
    facts = {row["fact"]: row["A"] for row in compare({"A": mech})}
    assert facts["x kept in a lottery"] == "40%"


@pytest.mark.parametrize("unit", ["record", "attribute"])
def test_a_block_is_audited(unit):
    alone = vdp.Mechanism(
        vdp.Schema({"x": vdp.Bounded(-1, 1), "c": vdp.Categorical(["a", "b"])}),
        noise={"x": Lottery(TICKETS, 0.4), "c": vdp.noise.Response(0.3)},
    )
    assert vdp.audit(alone, n=60_000, unit=unit).passed
    weaker = vdp.Mechanism(alone.schema, noise={"x": Lottery(TICKETS, 0.3), "c": vdp.noise.Response(0.3)})
    assert not vdp.audit(alone, n=60_000, unit=unit, claim=weaker.privacy(unit)).passed


def test_a_block_is_undone_alone_and_in_products(release, people):
    frame, weight, record = release.augment(draws=3, return_record=True, random_state=0)
    functions = {
        "x": lambda t: t["x"],
        "kink": lambda t: np.abs(t["x"] - 0.3),
        "product": lambda t: t["x"] * t["z"] * (t["c"] == "a"),
    }
    for name, g in functions.items():
        found = np.bincount(record, weight * g(frame).to_numpy(), minlength=N) - g(people).to_numpy()
        assert abs(found.mean()) < 5 * found.std() / np.sqrt(N), name
    one_block = np.bincount(record, np.abs(weight) * frame["x"].to_numpy(), minlength=N) - people["x"].to_numpy()
    assert abs(one_block.mean()) > 5 * one_block.std() / np.sqrt(N)


@pytest.mark.parametrize(
    ("formula", "loss", "truth"),
    [("y ~ x", "squared", 1.2), ("b ~ x", "logistic", 1.2), ("y ~ x", "check", 1.2), ("z ~ x", "squared", 4.0)],
)
def test_a_block_is_learnt_from(release, formula, loss, truth):
    """The last is a product of two blocks: a private response in another one."""
    result = vdp.fit(release, formula, loss=loss)
    assert near(result, "x", truth)
    assert not near(vdp.fit(release, formula, loss=loss, method="naive"), "x", truth)
    assert result.predict({"x": np.array([0.0, 0.5])}).shape == (2,)


def test_functions_of_a_column_in_a_block_of_somebody_elses(release, people):
    slope = np.polyfit(np.exp(people["x"]), people["y"], 1)[0]
    assert near(vdp.fit(release, "y ~ np.exp(x)"), "np.exp(x)", slope)


def test_methods_for_other_noise_say_so(release):
    with pytest.raises(vdp.errors.ParameterError, match="efficient"):
        vdp.fit(release, "y ~ x", method="analytic")


def test_an_unknown_block_is_refused(mech):
    text = mech.to_json().replace('"lottery"', '"raffle"')
    with pytest.raises(vdp.errors.ParameterError, match="does not know"):
        vdp.Mechanism.from_json(text)


# a loss --------------------------------------------------------------------------------------------------------------


def by_simplex(loss, x, y):
    from scipy.optimize import minimize

    return minimize(lambda t: loss.value(t[0] + t[1] * x, y).mean(), [y.mean(), 0.0], method="Nelder-Mead").x


@pytest.mark.thinned(2)
@pytest.mark.parametrize("method", ["efficient", "analytic", "drcl", "sdrcl"])
def test_a_loss_with_units_of_its_own_and_a_private_response(people, method):
    """In noise units the response is divided by its noise scale, and the loss must mean the same there."""
    schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "z": vdp.Bounded(0, 20)})
    release = vdp.Mechanism(schema, scale=0.04, exact_rate=0.3).release(people[["x", "z"]])
    result = vdp.fit(release, "z ~ x", loss=LogCosh(), method=method)
    truth = by_simplex(LogCosh(), people["x"].to_numpy(), people["z"].to_numpy())
    assert near(result, "Intercept", truth[0])
    assert near(result, "x", truth[1])
    squares = np.polyfit(people["x"], people["z"], 1)[::-1]
    assert abs(squares[0] - truth[0]) > 5 * result.bse["Intercept"]  # another loss is told apart


def test_a_loss_predicts_by_its_own_mean(release):
    half, plain = (vdp.fit(release, "y ~ x", loss=loss) for loss in (Half(), "squared"))
    at = {"x": np.array([-1.0, 0.3])}
    assert half.predict(at) == pytest.approx(2 * plain.predict(at), rel=1e-9)


# an extension --------------------------------------------------------------------------------------------------------


def test_an_extension_is_used_everywhere_and_stays_unbiased(people):
    schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "z": vdp.Bounded(0, 20), "y": vdp.Public()})
    release = vdp.Mechanism(schema, scale=0.5, exact_rate=0.2).release(people[["x", "z", "y"]])
    found = {kind: vdp.fit(release, "y ~ x", method="drcl", extension=kind) for kind in ("none", "zero", Folded())}
    for result in found.values():
        assert near(result, "x", 1.2)
    estimates = [result.params["x"] for result in found.values()]
    assert len({round(float(estimate), 12) for estimate in estimates}) == 3
    frame, weight, record = release.augment(extension=Folded(), draws=3, return_record=True, random_state=0)
    assert frame["x"].between(-1 - 1e-4, 1 + 1e-4).all()  # the box is half a step of the grid larger
    difference = np.bincount(record, weight * frame["x"].to_numpy() ** 2, minlength=N) - people["x"].to_numpy() ** 2
    assert abs(difference.mean()) < 5 * difference.std() / np.sqrt(N)
    with pytest.raises(vdp.errors.ParameterError, match="folded"):
        vdp.fit(release, "y ~ x", method="sdrcl", extension=Folded())


def test_how_takes_any_extension():
    assert How(3, Folded()).extension.name == "folded"
    assert as_extension(Folded()).name == "folded"


# an engine -----------------------------------------------------------------------------------------------------------


def test_an_engine_gives_the_same_release_and_the_same_fit(mech, people, release):
    assert mech.release(people, key=KEY, shuffle=False, engine=Backwards()).frame.equals(release.frame)
    ours, theirs = (vdp.fit(release, "y ~ x", engine=engine) for engine in ("serial", Backwards()))
    assert np.asarray(theirs.params) == pytest.approx(np.asarray(ours.params), rel=1e-12)
