"""An engine that nobody here wrote goes wherever ours go, and gives the same bytes."""

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.engine import ENGINES, Pool, Serial, add_up, as_engine, register
from versadp.errors import ParameterError

KEY = bytes(range(7, 39))
SCHEMA = vdp.Schema({"x": vdp.Bounded(-1, 1), "c": vdp.Categorical(["u", "v"]), "y": vdp.Public()})
MECHANISM = vdp.Mechanism(SCHEMA, scale=0.2, exact_rate=0.2, keep=0.5)


class Stranger:
    """Works from the last item to the first, and notes how often it was asked; no class of ours is its parent."""

    name = "stranger"

    def __init__(self):
        self.maps = self.sums = 0

    def map(self, function, items):
        self.maps += 1
        results = [function(item) for item in reversed(list(items))]
        return iter(results[::-1])

    def sum(self, function, items):
        self.sums += 1
        return add_up(self.map(function, items))


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 10_000)
    return pd.DataFrame({"x": x, "c": rng.choice(["u", "v"], 10_000), "y": 1 + x + rng.normal(size=10_000)})


@pytest.fixture
def registered():
    """A stranger's engine that is known by name, for the length of a test."""
    made = []

    def factory():
        made.append(Stranger())
        return made[-1]

    register("stranger", factory)
    yield made
    del ENGINES["stranger"]


def test_releasing_on_a_strangers_engine(people):
    engine = Stranger()
    theirs = MECHANISM.release(people, key=KEY, engine=engine)
    assert engine.maps == 1
    pd.testing.assert_frame_equal(theirs.frame, MECHANISM.release(people, key=KEY, engine="serial").frame)


def test_fitting_on_a_strangers_engine(people):
    release, engine = MECHANISM.release(people, key=KEY), Stranger()
    theirs, ours = (vdp.fit(release, "y ~ x", engine=each) for each in (engine, "serial"))
    assert engine.sums > 1
    assert theirs.to_dict() == ours.to_dict()


def test_by_name_through_every_door(people, registered, tmp_path):
    release = MECHANISM.release(people, key=KEY, engine="stranger")
    assert vdp.fit(release, "y ~ x", engine="stranger") == vdp.fit(release, "y ~ x", engine="serial")
    people.to_parquet(tmp_path / "people.parquet")
    for engine in ("stranger", "serial"):
        out = tmp_path / engine
        vdp.release_file(tmp_path / "people.parquet", out, MECHANISM, key=KEY, engine=engine, population=engine)
    theirs, ours = (vdp.load(tmp_path / engine).to_pandas() for engine in ("stranger", "serial"))
    pd.testing.assert_frame_equal(theirs, ours)
    assert sum(each.maps for each in registered) >= 3
    with pytest.raises(ParameterError, match="no engine") as caught:
        as_engine("cloud")
    assert "stranger" in caught.value.hint


def test_names_are_given_once(registered):
    for name in ("stranger", "serial", "local", "auto"):
        with pytest.raises(ParameterError, match="already"):
            register(name, Serial)
    assert as_engine("serial") == Serial()
    for name, factory in (("", Serial), (3, Serial), ("new", Serial())):
        with pytest.raises(ParameterError, match="needs a"):
            register(name, factory)
    assert "new" not in ENGINES


class Half:
    name = "half"

    def map(self, function, items):
        return map(function, items)


@pytest.mark.parametrize("engine", [3, None, Half(), Serial, object()])
def test_what_is_no_engine(people, engine):
    for call in (lambda: as_engine(engine), lambda: MECHANISM.release(people, key=KEY, engine=engine)):
        with pytest.raises(ParameterError, match="is no engine"):
            call()


def test_a_factory_that_makes_no_engine():
    register("half", Half)
    try:
        with pytest.raises(ParameterError, match="Half is no engine"):
            as_engine("half")
    finally:
        del ENGINES["half"]


@pytest.mark.parametrize(("name", "workers"), [("threads", 0), ("threads", True), ("processes", 1.5), ("cloud", 2)])
def test_pools_that_cannot_be(name, workers):
    with pytest.raises(ParameterError):
        Pool(name, workers)


def test_sums_are_added_in_order():
    """In floating point the order shows: 1e16 + 1 - 1e16 is 0 from the left, and 1 in another order."""
    items = [1e16, 1.0, -1e16]
    assert add_up(items) == 0.0
    assert add_up(items[::2] + items[1:2]) == 1.0
    assert Stranger().sum(float, items) == Serial().sum(float, items) == Pool("threads", 3).sum(float, items) == 0.0
    assert add_up([]) is None
