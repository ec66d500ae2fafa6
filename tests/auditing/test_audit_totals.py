"""The audit of noisy totals: what is right passes, less noise than stated and noise of another law are found."""

import numpy as np
import pytest

import versadp as vdp
from versadp.auditing.totals import totals_hold
from versadp.noise import Window
from versadp.release.totals import noise
from versadp.release.totals.law import TotalsLaw

SCHEMA = vdp.Schema({"x": vdp.Bounded(0, 1), "k": vdp.Bounded(0, 3, step=1), "c": vdp.Categorical(["a", "b"])})
ERROR = 1e-6


def mechanism(mu=1.0):
    window = Window(4.0, cells={"x": 40, "k": 3}, window={"x": 8, "k": 1})
    mech = vdp.Mechanism(SCHEMA, noise={SCHEMA.private: window})
    return mech.with_totals(TotalsLaw.of(mech.totals_features, mu / np.sqrt(0.5)))


@pytest.mark.full
@pytest.mark.parametrize("unit", ["record", "attribute"])
def test_right_totals_pass(unit):
    found = totals_hold(mechanism(), unit, ERROR, np.random.default_rng(1))
    assert found.holds, found.told


@pytest.mark.full
def test_noise_that_is_a_tenth_too_small_is_found(monkeypatch):
    right = noise.rounded_gaussian
    monkeypatch.setattr(noise, "rounded_gaussian", lambda words, sigma: right(words, 0.9 * sigma))
    found = totals_hold(mechanism(), "record", ERROR, np.random.default_rng(1))
    assert not found.holds
    assert "departs" in found.told


@pytest.mark.full
def test_an_audit_of_a_mechanism_says_what_its_totals_do():
    found = vdp.audit(mechanism(), n=2000)
    assert found.totals
    assert "totals beside the records: keep law and claim" in str(found)
    assert vdp.audit(mechanism().without_totals(), n=1000).totals is None
