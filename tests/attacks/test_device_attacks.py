"""Attacks on people's devices: months of reports, a shared key, and a key that was dropped."""

import gc
import sys

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import DataError

SCHEMA = vdp.Schema({"age": vdp.Bounded(0, 100), "income": vdp.Bounded(0, 1e5)})
MONTHS, PEOPLE = 24, 60


def error_in_age(mech):
    """Median error of the average of all reports, of people whose age is fixed and whose income drifts."""
    rng, errors = np.random.default_rng(0), []
    for _ in range(PEOPLE):
        key, age, income = rng.bytes(32), rng.uniform(20, 80), rng.uniform(2e4, 8e4)
        reports = [mech.privatize({"age": age, "income": income + 100 * month}, key=key) for month in range(MONTHS)]
        errors.append(abs(np.mean([report["age"] for report in reports]) - age))
    return np.median(errors)


def test_months_of_reports_do_not_average_out_what_did_not_change():
    """One block a column keeps its noise; a record that is keyed as a whole (version 2) is the control."""
    mech = vdp.Mechanism(SCHEMA, noise={name: vdp.noise.ZeroInflated(1.0, 0.0) for name in SCHEMA.columns})
    now, before = error_in_age(mech), error_in_age(mech.in_version(2))
    # a Laplace deviation has median 49 here; of 24 it is 14. Over 60 people each median is within a factor of 1.6
    assert now > 30
    assert before < 22


@pytest.mark.parametrize("given", [{}, {"pid": None}, {"pid": float("nan")}, {"pid": True}, {"pid": 1.5}])
def test_a_record_without_its_id_is_refused(given):
    """With one key for many people equal records would have equal noise."""
    mech = vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(0, 1)}, id="pid"), scale=1.0, exact_rate=0.0)
    with pytest.raises(DataError, match="id column 'pid'"):
        mech.privatize({"x": 0.5} | given, key=bytes(range(32)))
    for name in ("ann", 7, np.int64(7)):
        assert mech.privatize({"x": 0.5, "pid": name}, key=bytes(range(32)))
    same = [mech.privatize({"x": 0.5, "pid": name}, key=bytes(range(32)))["x"] for name in (7, "7", np.int64(7))]
    assert len(set(same)) == 1


def test_a_key_that_was_dropped_is_nowhere():
    """Nothing refers to the key's bytes that did not before: when the caller lets go of them they are gone."""
    mech = vdp.Mechanism(SCHEMA, scale=1.0, exact_rate=0.0)
    key = vdp.fresh_key()
    before = sys.getrefcount(key)
    mech.privatize({"age": 40, "income": 3e4}, key=key)
    mech.release(pd.DataFrame({"age": [40.0], "income": [3e4]}), key=key)
    gc.collect()
    assert sys.getrefcount(key) == before


def test_no_key_is_an_argument_of_a_cache():
    from functools import _lru_cache_wrapper

    import versadp.noise.words
    import versadp.release.path.record

    for module in (versadp.noise.words, versadp.release.path.record):
        assert not [name for name, each in vars(module).items() if isinstance(each, _lru_cache_wrapper)]
