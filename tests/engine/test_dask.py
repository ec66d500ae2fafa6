"""Work on a cluster: the same bytes, and names of records are sent, never records."""

import builtins
import pickle

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.engine import Dask, Serial, as_engine, at_work, dask, is_remote, local_engine
from versadp.engine.code import code_here, differing
from versadp.errors import DataError, EngineError, MissingExtraError, ParameterError
from versadp.release.folder.folder import Handle
from versadp_tests.engine_work import fail_on_three, moments

SCHEMA = vdp.Schema(
    {
        "x": vdp.Bounded(-1, 1),
        "z": vdp.Bounded(0, 1),
        "c": vdp.Categorical(["u", "v"]),
        "y": vdp.Public(),
        "g": vdp.Public(),
    }
)
KEY = bytes(range(11, 43))


def released(rows, path, mechanism=None):
    rng = np.random.default_rng(5)
    x, z = rng.uniform(-1, 1, rows), rng.uniform(0, 1, rows)
    people = pd.DataFrame({"x": x, "z": z, "c": rng.choice(["u", "v"], rows), "g": rng.integers(0, 40, rows)})
    people["y"] = 1 + x + z + rng.normal(size=rows)
    made = mechanism or vdp.Mechanism(SCHEMA, scale=0.2, exact_rate=0.2, keep=0.6)
    made.release(people, key=KEY).save(path)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return released(3000, tmp_path_factory.mktemp("cluster") / "released")


@pytest.fixture
def sent(monkeypatch):
    """Whatever is sent to the cluster, as bytes, and what comes back."""
    moved = {"out": [], "back": []}
    sealed, results = dask._sealed, Dask._results

    def note(thing):
        moved["out"].append((thing, sealed(thing)))
        return moved["out"][-1][1]

    def noted(self, task, bundles):
        found = results(self, task, bundles)
        moved["back"] += found
        return found

    monkeypatch.setattr(dask, "_sealed", note)
    monkeypatch.setattr(Dask, "_results", noted)
    return moved


def test_the_same_bytes_in_order(client):
    items = [np.random.default_rng(i).normal(size=50) for i in range(12)]
    engine = as_engine(client)
    there, here = engine.sum(moments, iter(items)), Serial().sum(moments, items)
    assert [np.asarray(each).tobytes() for each in there] == [np.asarray(each).tobytes() for each in here]
    assert engine.sum(moments, []) is None
    assert engine.sum(float, [1e16, 1.0, -1e16]) == 0.0  # in another order it would be 1


def test_errors_arrive_whole(client):
    with pytest.raises(DataError, match="three") as caught:
        list(as_engine(client).map(fail_on_three, range(6)))
    assert caught.value.hint == "not three"
    with pytest.raises(ZeroDivisionError):
        list(as_engine(client).map(lambda i: 1 // i, [0]))


def test_few_items_are_under_way_and_none_is_left(client):
    taken = []

    def stream():
        for i in range(100):
            taken.append(i)
            yield i

    results = as_engine(client).map(abs, stream())
    assert next(results) == 0
    assert len(taken) <= dask.UNDER_WAY * 2 + 1  # one is looked at before it is sent
    results.close()
    assert len(taken) <= dask.UNDER_WAY * 2 + 1
    assert not client.futures or all(f.status != "pending" for f in client.futures.values())


FITS = {
    "series": ("y ~ x + z", {}),
    "draws": ("y ~ np.exp(x)", {"method": "drcl", "draws": 3}),
    "categories": ("y ~ C(c) + z", {}),
    "clusters": ("y ~ x", {"cov_type": "cluster", "groups": "g"}),
    "a part, weighted": ("y ~ x", {"subset": "g > 10", "weights": "g"}),
    "your own": (None, {"loss": lambda x, theta: (x[:, 0] - theta[0]) ** 2, "start": [0.1]}),
    "likelihood": ("y ~ x", {"method": "likelihood"}),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full if name == "likelihood" else ()) for name in FITS]
)
def test_fits_are_those_of_this_machine(client, folder, sent, name):
    formula, options = FITS[name]
    there = vdp.fit(folder, formula, engine=client, **options)
    assert sent["back"]  # it was the cluster that worked
    assert there.to_dict() == vdp.fit(folder, formula, engine="serial", **options).to_dict()


def test_describe_and_bootstrap(client, folder, sent):
    assert vdp.describe(folder, engine=client).to_dict() == vdp.describe(folder, engine="serial").to_dict()
    assert sent["back"]
    there, here = (vdp.bootstrap(folder, "y ~ z", reps=2, engine=each) for each in (client, "serial"))
    assert (there.estimates == here.estimates).all()


def test_what_moves_is_of_the_size_of_the_parameters(client, sent, tmp_path):
    """A pass over four times the records, in as many handles, sends and brings back no more."""
    sizes = {}
    for rows in (2000, 8000):
        sent["out"].clear(), sent["back"].clear()
        vdp.fit(released(rows, tmp_path / str(rows)), "y ~ x + z", engine=client)
        works = [(thing, sealed.data) for thing, sealed in sent["out"]]
        assert works.pop(0)[0].__name__ == "take_and_keep"  # before the first pass: a bounded random part
        assert works.pop(0)[0][0].handle.rows == rows
        sizes[rows] = [max(len(data) for _, data in works), max(len(pickle.dumps(each)) for each in sent["back"][1:])]
    (out, back), (more_out, more_back) = sizes.values()
    assert more_out <= out + 200
    assert more_back <= back + 200
    assert back < 3000  # three coefficients: a few vectors and matrices
    assert out < 16_000  # the mechanism, the formula and where things are
    assert 4 * max(out, back) < 8000 * 8  # which is less than one column of the records


def test_records_in_memory_stay_where_they_are(sent):
    people = pd.DataFrame({"x": np.linspace(-1, 1, 500), "z": 0.5, "c": "u", "y": np.arange(500.0), "g": 1})
    release = vdp.Mechanism(SCHEMA, scale=0.2, exact_rate=0.2, keep=0.6).release(people, key=KEY, engine="dask")
    there, here = (vdp.fit(release, "y ~ x", engine=each) for each in ("dask", "serial"))
    assert there == here
    vdp.describe(release, engine="dask")
    assert sent == {"out": [], "back": []}


def test_what_is_far():
    engine = as_engine("dask://127.0.0.1:8786")
    assert is_remote(engine)
    assert not is_remote(local_engine(engine))
    assert not any(is_remote(as_engine(name)) for name in ("auto", "local", "serial", "threads"))
    assert repr(Dask()) == "Dask()"
    with pytest.raises(ParameterError, match="no engine 'cloud://x'"):
        as_engine("cloud://x")


def test_a_client_stays_its_owners(client):
    with at_work(client) as engine:
        assert list(engine.map(abs, [-1])) == [1]
    assert client.status == "running"


def test_who_is_not_there(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(dask, "JOINING", 0.5)
    with pytest.raises(EngineError, match="no scheduler at"):
        list(as_engine("dask://127.0.0.1:9").map(abs, [1]))


def test_without_dask(monkeypatch):
    real = builtins.__import__

    def absent(name, *rest):
        if name == "distributed":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingExtraError, match="dask") as caught:
        list(Dask().map(abs, [1]))
    assert "versadp[dask]" in caught.value.hint


def test_other_code_is_refused(client, monkeypatch):
    """Also by a worker that comes later, whom nobody asked: each task says what code it was sent by."""
    here = code_here()
    other = (("versadp", "0" * 16), *here[1:])
    assert differing(here, other) == ["versadp"]
    assert differing(here, None) == [name for name, _ in here]
    with pytest.raises(EngineError, match="a worker runs another version of versadp than the driver"):
        dask._run(other, dask._sealed(abs), (dask._sealed(-1),))
    engine = Dask(client)
    monkeypatch.setattr(dask, "code_here", lambda: other)
    with pytest.raises(EngineError, match=r"the worker .* runs another version of versadp"):
        list(engine.map(abs, [-1]))


def bundled(items, did, tasks, seconds):
    """Return the sizes of bundles if each item takes so many seconds."""
    bundles, sizes = dask._Bundles(items, did, tasks), []
    for bundle in bundles:
        sizes.append(len(bundle.sealed))
        bundles.took(seconds * sizes[-1], sizes[-1])
    return sizes


def test_short_items_are_sent_together_and_the_last_are_shared_out():
    assert bundled(range(5), {}, 4, 10 * dask.WORTH) == [1] * 5
    sizes = bundled(range(100), {}, 4, dask.WORTH / 8)
    assert (sum(sizes), sizes[0], max(sizes)) == (100, 1, 8)
    assert 1 <= sizes[-1] < sizes[-2] + 1 <= 8 * dask.LEAST + 1  # fewer, and not one by one
    assert len(sizes) < 20
    assert max(bundled(range(1000), {}, 4, 0.0)) == dask.TOGETHER
    assert max(bundled(iter(range(1000)), {}, 4, 0.0)) == dask.TOGETHER  # of an unknown number


def test_items_of_one_file_go_together_as_far_as_that_is_fair():
    handles = [Handle(f"part-{k // 8:05d}.parquet", k % 8, 0, 1) for k in range(40)]
    files = [{pickle.loads(item.data).file for item in bundle.sealed} for bundle in dask._Bundles(handles, {}, 4)]
    assert files[:2] == [{"part-00000.parquet"}, {"part-00001.parquet"}]
    assert [len(names) for names in files] == [1] * len(files)  # as long as nothing is known of them
    assert len(files) < 20
    assert len(list(dask._Bundles(handles[:8], {}, 4))) >= 4  # and yet there is something for everybody
    sizes = bundled(handles, {}, 4, dask.WORTH / 8)
    assert sizes == [8, 8, 8, 8, 4, 4]  # whole files, as long as others have as much left


def test_items_that_were_with_different_workers_are_not_sent_together():
    origins = [hash(dask._sealed(i)) for i in range(20)]
    did = {origin: "one" if i < 11 else "two" for i, origin in enumerate(origins)}
    bundles = list(dask._Bundles(range(20), did, 1))
    assert {bundle.last for bundle in bundles} == {"one", "two"}
    for bundle in bundles:
        assert {did[origin] for origin in bundle.origins} == {bundle.last}


def test_short_items_give_the_same_results_in_order(client):
    assert list(Dask(client).map(abs, range(-500, 0))) == list(range(500, 0, -1))


def test_items_go_where_they_were_and_elsewhere_if_nobody_is_there(client):
    engine = Dask(client)
    assert list(engine.map(abs, [-1, -2])) == [1, 2]
    (worker,) = set(engine._did.values())
    assert worker in client.scheduler_info()["workers"]
    engine._did = dict.fromkeys(engine._did, "tcp://127.0.0.1:9")  # who is lost by now
    assert list(engine.map(abs, [-1, -2])) == [1, 2]
    assert set(engine._did.values()) == {worker}


def test_workers_keep_what_they_prepared_as_far_as_it_goes(client, folder, monkeypatch):
    """A handle is read for the random part, and no more for the first pass; in every pass if nothing may be kept."""
    from versadp.estimation import moments
    from versadp.release.folder.folder import Folder

    reads, real = [], Folder.read_handle

    def counted(self, *rest):
        reads.append(rest)
        return real(self, *rest)

    monkeypatch.setattr(Folder, "read_handle", counted)
    kept, few = vdp.fit(folder, "y ~ x + z", engine=client), len(reads)
    monkeypatch.setattr(moments, "KEPT_NUMBERS", 0)
    assert vdp.fit(folder, "y ~ x + z", engine=client) == kept
    assert few == 2  # for the random part and the first family of scores together, and for a second family
    assert len(reads) - few > few


def test_an_asynchronous_client(client):
    class Asynchronous:
        asynchronous = True

    with pytest.raises(ParameterError, match="asynchronous"):
        Dask(Asynchronous())
