"""All readers of files are fed nonsense: nothing but our own errors, in bounded time and memory, and nothing changed.

Structured mutants (a value replaced anywhere in a tree, and signed) and mutants of bytes. The slow suite has 1e5.
"""

import json
import shutil
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import VersadpError
from versadp.formula.terms import Terms
from versadp.release.folder.manifest import digest_of
from versadp.release.folder.part_file import PartFile
from versadp_bench.measure import peak_memory

SCHEMA = vdp.Schema({"age": vdp.Bounded(0, 1), "c": vdp.Categorical(["a", "b"]), "t": vdp.Public(), "y": vdp.Public()})
FEW, MANY = 60, 20_000
SECONDS, MEGABYTES = 20, 1000  # memory beyond what is held before
ODD = [None, True, -1, 0, 2**63, 10**30, 1e308, -0.5, 5e-324, "", "x", "\0", "../x", [], [[]], {}, {"a": 1}, "é" * 500]
FORMULA = ["age", "np.log1p(age)", "(", ")", "**", "+", "-", ":", "C(c)", "I(", "`", "9" * 30, "np.", "where", ",", "~"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A release folder, a schema and results as they are written."""
    place = tmp_path_factory.mktemp("fuzz")
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"age": rng.random(400), "c": rng.choice(["a", "b"], 400), "t": ["u"] * 400})
    people["y"] = (people["age"] + rng.normal(0, 0.1, 400)).clip(0, 1)
    mech = vdp.Mechanism(SCHEMA, scale=0.2, exact_rate=0.3, keep=0.7)
    mech.release(people).save(place / "released")
    SCHEMA.to_toml(place / "s.toml")
    vdp.fit(place / "released", "y ~ age").save(place / "r.json")
    return place


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(tree, rng):
    """Return a tree with a value anywhere in it replaced, left out or doubled."""
    tree = json.loads(json.dumps(tree))
    path = (spots := list(places(tree))[1:])[rng.integers(len(spots))]
    *above, last = path
    parent = tree
    for key in above:
        parent = parent[key]
    choice = rng.integers(4)
    if choice == 0:
        del parent[last]
    elif choice == 1 and isinstance(parent[last], int | float):
        parent[last] = float(parent[last]) * 10.0 ** rng.integers(-30, 30)
    elif choice == 2 and isinstance(parent, list):
        parent.append(parent[last])
    else:
        parent[last] = ODD[rng.integers(len(ODD))]
    return tree


def noisy(data, rng):
    """Return bytes with some changed, cut out or put in."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(len(data)))
        choice = rng.integers(3)
        if choice == 0:
            data[at] = rng.integers(256)
        elif choice == 1:
            del data[at : at + int(rng.integers(1, 20))]
        else:
            data[at:at] = rng.bytes(int(rng.integers(1, 8)))
        if not data:
            break
    return bytes(data)


def read_release(folder):
    release = vdp.load(folder)
    return len(release), str(release.mechanism), release.to_arrow().num_rows


def manifest(files, place, rng):
    data = json.loads((files / "released" / "manifest.json").read_text())
    if rng.random() < 0.3:
        text = noisy(json.dumps(data).encode(), rng)
    else:
        mutant = changed(data, rng)
        text = json.dumps(mutant | {"digest": digest_of(mutant)}).encode()
    (place / "manifest.json").write_bytes(text)
    return lambda: read_release(place)


def part(files, place, rng):
    name = "part-00000.parquet"
    (place / name).write_bytes(noisy((files / "released" / name).read_bytes(), rng))
    data = json.loads((files / "released" / "manifest.json").read_text())
    data["parts"] = [PartFile.of(place / name, 400).to_dict()]
    (place / "manifest.json").write_text(json.dumps(data | {"digest": digest_of(data)}))
    return lambda: read_release(place)


def schema(files, place, rng):
    (place / "s.toml").write_bytes(noisy((files / "s.toml").read_bytes(), rng))
    return lambda: repr(vdp.Schema.from_toml(place / "s.toml"))


def results(files, place, rng):
    data = (files / "r.json").read_bytes()
    text = noisy(data, rng) if rng.random() < 0.3 else json.dumps(changed(json.loads(data), rng)).encode()
    (place / "r.json").write_bytes(text)

    def read():
        found = vdp.Results.load(place / "r.json")
        str(found.summary())
        found.predict({"age": np.array([0.1, 0.2])})

    return read


def term(files, place, rng):
    text = " ".join(rng.choice(FORMULA, rng.integers(1, 8)))
    ages = np.array([0.25, 0.5])
    ages.flags.writeable = True

    def read():
        try:
            Terms(("a",), ((text,),)).matrix({"age": ages})
        finally:
            assert ages.tolist() == [0.25, 0.5]

    return read


READERS = {"manifest": manifest, "part": part, "schema": schema, "results": results, "term": term}


def fresh_peak():
    """Forget what tests before took at their peak; return what is held now, in GiB."""
    if (forget := Path("/proc/self/clear_refs")).exists():
        forget.write_text("5")
    return peak_memory()


def feed(kind, files, tmp_path, count, seed):
    """Feed a reader; return how many mutants it took, and how many it refused."""
    place, rng = tmp_path / "released", np.random.default_rng(seed)
    shutil.copytree(files / "released", place)
    original = {path.name: path.read_bytes() for path in (files / "released").iterdir()}
    held, taken = fresh_peak(), 0
    for _ in range(count):
        act = READERS[kind](files, place, rng)
        before = {path.name: path.read_bytes() for path in place.iterdir()}
        begun = time.process_time()
        try:
            act()
            taken += 1
        except VersadpError:
            pass
        assert time.process_time() - begun < SECONDS
        assert {path.name: path.read_bytes() for path in place.iterdir()} == before
        for name, data in original.items():
            if before.get(name) != data:
                (place / name).write_bytes(data)
    assert (peak_memory() - held) * 1024 < MEGABYTES
    return taken, count - taken


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", READERS)
def test_readers_refuse_nonsense_by_our_own_errors(files, tmp_path, kind):
    _, refused = feed(kind, files, tmp_path, FEW, 1)
    assert refused > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", READERS)
def test_readers_refuse_much_nonsense_by_our_own_errors(files, tmp_path, kind, record_property):
    taken, refused = feed(kind, files, tmp_path, MANY, 2)
    record_property("taken", taken)
    record_property("refused", refused)
    assert refused > 0
