"""Records that are released again: noise of the mechanism's law, and steadier weights."""

import importlib

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import versadp as vdp
from versadp.correction import Records
from versadp.estimation.sizes import REHEARSED_ROWS
from versadp.fitting.solver import rehearse
from versadp.losses import Mean
from versadp.noise.units import Units

fitting = importlib.import_module("versadp.fitting.solver")
RATE = 0.1


def box(dim=1):
    low, one = np.full(dim, -0.5), np.ones(dim)
    return Units(tuple("abc"[:dim]), 0 * one, one, low, -low, (low, -low), one, RATE)


def test_stand_ins_are_records_in_the_box_with_the_mechanisms_noise():
    z = np.array([[0.25], [7.0], [-0.25]])
    batch = Records(z, {"side": np.sign(z[:, 0])})
    again = rehearse(batch, box(), seed=1)
    noise = again.z[:, 0] - 0.25 * again.public["side"]  # the public column tells which record it was
    assert set(again.public["side"]) == {1.0, -1.0}
    same = np.isclose(noise, 0.0)
    assert stats.binomtest(int(same.sum()), REHEARSED_ROWS, RATE).pvalue > 1e-4
    assert stats.kstest(noise[~same], stats.laplace(scale=0.5**0.5).cdf).pvalue > 1e-4
    assert stats.kstest(noise[~same], stats.laplace().cdf).pvalue < 1e-4  # a Laplace of scale 1 has twice the variance


def test_columns_share_their_size():
    again = rehearse(Records(np.zeros((5, 3))), box(3), seed=2)
    moved = np.abs(again.z[again.z.any(axis=1)])
    assert stats.spearmanr(moved[:, 0], moved[:, 1]).pvalue < 1e-6


def test_the_nearest_record_stands_in_where_none_is_in_the_box():
    assert np.isclose(rehearse(Records(np.array([[2.0], [9.0]])), box(), seed=3).z, 2.0).any()


@pytest.mark.filterwarnings("ignore::versadp.errors.InsecureWarning")  # seeded, so that failures repeat
def test_weights_are_steadier(monkeypatch):
    """Of 24 samples of 500: the spread of a weight falls; sqrt(500/2500) = 0.45 by pooling alone."""
    mechanism = vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(0, 1)}), scale=0.94, exact_rate=RATE)
    loss = Mean(lambda x: (x[:, 0] >= 0.5).astype(float))
    spreads = []
    for below in (0, 4000):
        monkeypatch.setattr(fitting, "STEADY_FROM", below)
        weights = []
        for seed in range(24):
            people = pa.table({"x": np.random.default_rng(seed).random(500)})
            release = mechanism.release(people, insecure_seed=seed)
            weights.append(vdp.fit(release, loss=loss, random_state=seed).weights["clip"])
        spreads.append(np.std(weights))
    assert spreads[1] < 0.6 * spreads[0]
