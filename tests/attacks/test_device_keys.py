"""Attacks on people's devices: a shared key, and a key that was dropped."""

import gc
import sys

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import DataError

SCHEMA = vdp.Schema({"age": vdp.Bounded(0, 100), "income": vdp.Bounded(0, 1e5)})


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
