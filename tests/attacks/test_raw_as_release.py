"""`Release.from_frame` refuses raw data that lie on the lattice of a release, and never honest reports."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import DataError, ReleaseError
from versadp.noise import Response, Window
from versadp.noise.selection_check import HONEST_REFUSED, fewest_chance

FIRST = dt.date(2020, 1, 1)
AGE, DAY = vdp.Bounded(18, 90, step=1), vdp.Dates("2020-01-01", "2020-12-31")
REGION = vdp.Categorical(["n", "s", "e", "w"])
RAW = {
    "age": (AGE, Window(1, window=25), lambda rng, n: rng.integers(18, 91, n).astype(float)),
    "day": (DAY, Window(1, window=91), lambda rng, n: [FIRST + dt.timedelta(int(k)) for k in rng.integers(0, 366, n)]),
    "region": (REGION, Response(0.3), lambda rng, n: rng.choice(["n", "s", "e"], n)),
    "place": (REGION, Window(1), lambda rng, n: rng.choice(["n", "s", "e"], n)),
}


def case(name, n=2000, seed=0):
    column, noise, draw = RAW[name]
    mech = vdp.Mechanism(vdp.Schema({name: column}), noise={name: noise})
    return mech, pd.DataFrame({name: draw(np.random.default_rng(seed), n)})


@pytest.mark.parametrize("on_grid", [True, None])
@pytest.mark.parametrize("name", RAW)
def test_raw_data_are_no_release(name, on_grid):
    mech, raw = case(name)
    with pytest.raises(DataError, match="shows no noise"):
        vdp.Release.from_frame(raw, mech, on_grid=on_grid)


@pytest.mark.parametrize("name", RAW)
def test_honest_reports_are_accepted_in_any_number(name):
    for seed, n in enumerate((0, 1, 5, 100, 5000)):
        mech, raw = case(name, n, seed)
        if n:
            assert len(vdp.Release.from_frame(mech.release(raw).frame, mech, on_grid=True)) == n


def test_few_raw_records_cannot_be_told():
    mech, raw = case("region", n=20)
    assert len(vdp.Release.from_frame(raw, mech, on_grid=True)) == 20


def test_honest_tables_are_refused_as_rarely_as_is_said():
    """Worst case for the bound: nobody ever is in the group of outputs; the tail is summed exactly over all counts."""
    from scipy.stats import binom

    for n in (10, 300, 5000):
        for keep, share in ((0.1, 0.25), (0.6, 0.05), (0.9, 0.5)):
            refused = [
                fewest_chance(np.array([k, n - k], float), np.array([share, 1 - share]), keep, n) < HONEST_REFUSED
                for k in range(n + 1)
            ]
            low = binom.pmf(np.arange(n + 1), n, (1 - keep) * share)[np.array(refused)].sum()
            assert low <= HONEST_REFUSED


def test_missing_values_and_single_outputs_are_accepted():
    schema = vdp.Schema({"a": vdp.Bounded(0, 1, nullable=True), "b": vdp.Categorical(["x", "y"], nullable="public")})
    mech = vdp.Mechanism(schema, noise={"a": Window(2), "b": Response(0.5)})
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"a": np.where(rng.random(3000) < 0.5, np.nan, 0.5), "b": [None, "x", "x"] * 1000})
    assert len(vdp.Release.from_frame(mech.release(frame).frame, mech, on_grid=True)) == 3000


def test_the_number_that_a_shuffle_was_calibrated_for_is_held():
    mech = vdp.calibrate(vdp.Schema({"age": AGE}), epsilon=1, delta=1e-6, shuffled=10_000)
    reports = pd.DataFrame([mech.privatize({"age": 40}, key=bytes(range(k, k + 32))) for k in range(100)])
    with pytest.raises(ReleaseError, match="at least 10,000"):
        vdp.Release.from_frame(reports, mech, shuffle=True)
    kept = vdp.Release.from_frame(reports, mech)
    assert kept.privacy() == mech.privacy()
    assert "Among 10,000" not in kept.statement()
