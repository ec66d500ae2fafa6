"""Engines: order, sums, errors, early stops; the same bytes everywhere."""

import threading
import time

import numpy as np
import pytest

from versadp.engine import Pool, Serial, as_engine, local
from versadp.engine.local import here
from versadp.errors import DataError, ParameterError
from versadp_tests.engine_work import fail_on_three, moments

OURS = [Serial(), Pool("threads", 3), Pool("processes", 2)]


@pytest.mark.parametrize("engine", OURS, ids=lambda e: e.name)
def test_every_engine_gives_the_same_bytes(engine):
    items = [np.random.default_rng(i).normal(size=100) for i in range(20)]
    expected = Serial().sum(moments, items)
    result = engine.sum(moments, iter(items))
    assert result[0] == expected[0]
    assert (result[1] == [2000, 20]).all()
    assert [r[0] for r in engine.map(moments, items)] == [item.sum() for item in items]
    assert engine.sum(moments, []) is None


@pytest.mark.parametrize("engine", OURS, ids=lambda e: e.name)
def test_errors_arrive_whole(engine):
    with pytest.raises(DataError, match="three") as caught:
        list(engine.map(fail_on_three, range(50)))
    assert caught.value.hint == "not three"


def test_items_are_taken_as_needed():
    """A stream larger than memory: only a few items are under way."""
    taken = []

    def stream():
        for i in range(1000):
            taken.append(i)
            yield i

    results = Pool("threads", 2).map(lambda i: i, stream())
    assert next(results) == 0
    assert len(taken) <= 8
    results.close()


def test_stopping_early_leaves_nothing_running():
    results = Pool("threads", 2).map(lambda i: time.sleep(0.01) or i, range(100))
    next(results)
    results.close()
    assert not [t for t in threading.enumerate() if "ThreadPoolExecutor" in t.name]


def test_names():
    assert as_engine("serial") == Serial()
    assert as_engine("local") == as_engine("auto") == here()
    engine = Pool("threads", 5)
    assert as_engine(engine) is engine
    with pytest.raises(ParameterError):
        as_engine("cloud")


def test_local_is_all_cores_of_this_machine(monkeypatch):
    monkeypatch.setattr(local, "cores", lambda: 3)
    assert as_engine("local") == Pool("threads", 3)
    seen = set()
    list(as_engine("local").map(lambda _: (time.sleep(0.05), seen.add(threading.get_ident())), range(6)))
    assert len(seen) == 3
    monkeypatch.setattr(local, "cores", lambda: 1)
    assert as_engine("local") == Serial()
