"""Releases whose parts are made on a cluster: the same bytes, made once or twice, and no key in what is sent."""

import base64
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import versadp as vdp
from versadp.engine import Dask, dask
from versadp.errors import DataError, EngineError, KeyMaterialError
from versadp.noise.words import _FORMAT, keystream, mac
from versadp.release.files import worker
from versadp.release.files.sources import open_fitting, open_source
from versadp.release.files.worker import Errand, make_elsewhere, stretches
from versadp.release.ledger.state import State, read_secrets
from versadp_tests.fault_driver import KEY, PLAIN, act, contents, leftovers, mechanism, prepare, table


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Bytes of releases that were made here."""
    out = {}
    for people in (False, True):
        for shuffle in (False, True):
            folder = prepare(tmp_path_factory.mktemp("here") / "story", people=people)
            act(folder, "release", {"shuffle": shuffle})
            out[people, shuffle] = contents(folder)
    return out


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_the_same_bytes(client, undisturbed, tmp_path, people, shuffle):
    folder, told = prepare(tmp_path / "story", people=people), []
    for _ in range(2):  # the second time it is complete, and held against its input
        act(folder, "release", {"shuffle": shuffle, "engine": client, "progress": told.append})
        assert contents(folder) == undisturbed[people, shuffle]
    assert len(contents(folder)) == 4  # three parts, so that the shuffle works across them
    assert leftovers(folder) == []
    assert told[-1] == 1.0


def test_an_append_and_text_files(client, tmp_path):
    stories = [prepare(tmp_path / name, people=True) for name in ("here", "there")]
    for folder, engine in zip(stories, ("serial", client), strict=True):
        pc.write_csv(pq.read_table(folder / "data.parquet"), folder / "data.csv")
        act(folder, "release", {"data": folder / "data.csv", "engine": engine})
        act(folder, "append", {"engine": engine})
    assert contents(stories[0]) == contents(stories[1])


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_stretches_are_all_of_the_input(tmp_path, rows):
    whole = table(1000)
    for number, (start, stop) in enumerate([(0, 400), (400, 400), (400, 1000)]):
        pq.write_table(whole.slice(start, stop - start), tmp_path / f"{number}.parquet", row_group_size=130)
    source = open_source(tmp_path)
    found = list(stretches(source.counts(), rows, {}, empty=True))
    batches = [[batch for where in each.rows for batch in source.between(*where)] for each in found]
    assert pa.Table.from_batches([b for some in batches for b in some]).equals(whole)
    assert {sum(b.num_rows for b in some) for some in batches[:-1]} <= {rows}
    assert [each.number for each in found] == list(range(len(found)))
    assert list(stretches([0], 5, {}, empty=True)) == [(0, (), 0.0, None)]
    assert list(stretches([0], 5, {}, empty=False)) == []


def test_an_input_that_changes_meanwhile(tmp_path):
    pq.write_table(table(100), tmp_path / "data.parquet")
    source = open_source(tmp_path / "data.parquet")
    pq.write_table(table(60), tmp_path / "data.parquet")
    with pytest.raises(DataError, match="60 of 100 records"):
        list(source.between(0, 0, 100))
    pq.write_table(table(100).drop_columns("y"), tmp_path / "data.parquet")
    with pytest.raises(DataError, match="changed its columns"):
        list(source.between(0, 0, 100))


@pytest.fixture
def errand(tmp_path):
    """An errand to an unfinished release of one part."""
    folder, home = prepare(tmp_path / "story"), tmp_path / "home"
    made, scratch = mechanism(), tmp_path / "partial" / "release"
    scratch.mkdir(parents=True)
    with State(home, make=True) as state:
        name, secret = state.new_key(KEY)
        source, check = open_fitting(folder / "data.parquet", PLAIN), state.key_check(secret)
        yield Errand(home, check, source, made, name, scratch, 8192, 0, frozen=False, is_sorted=False)


def test_a_part_that_is_made_several_times_at_once(errand):
    """As by workers that were thought to be lost: whole files, one after the other, of the same bytes."""
    (stretch, *_) = stretches(errand.source.counts(), errand.rows, {}, empty=True)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: make_elsewhere(errand, stretch), range(8)))
    assert len({each.file for each in made}) == 1
    assert [path.name for path in errand.folder.iterdir()] == ["part-00000.parquet"]
    assert made[0].file.is_intact(errand.folder)
    assert leftovers(errand.folder.parent) == []


def test_who_comes_too_late_writes_nothing_into_a_published_release(errand, monkeypatch):
    """The folder was published while a second worker was still writing: nothing strange appears in it."""
    (stretch, *_) = stretches(errand.source.counts(), errand.rows, {}, empty=True)
    make_elsewhere(errand, stretch)
    published = errand.folder.with_name("published")
    real = worker.settle

    def late(scratch, path, **options):
        errand.folder.rename(published)
        real(scratch, path, **options)

    monkeypatch.setattr(worker, "settle", late)
    with pytest.raises(vdp.errors.ReleaseError, match="cannot be written"):
        make_elsewhere(errand, stretch)
    assert [path.name for path in published.iterdir()] == ["part-00000.parquet"]


def test_a_worker_that_sees_too_little(errand, tmp_path):
    (stretch, *_) = stretches(errand.source.counts(), errand.rows, {}, empty=True)
    with pytest.raises(EngineError, match="does not see the state folder"):
        make_elsewhere(replace(errand, home=tmp_path / "nowhere"), stretch)
    with pytest.raises(EngineError, match="does not see the folder of the release"):
        make_elsewhere(replace(errand, folder=tmp_path / "nowhere" / "release"), stretch)
    with pytest.raises(KeyMaterialError, match="not that of this release"):
        read_secrets(errand.home, errand.release, "0" * 32)
    shutil.rmtree(errand.home)
    errand.home.mkdir()
    with pytest.raises(KeyMaterialError, match="ledger's key cannot be read"):
        make_elsewhere(errand, stretch)


def spellings(secret):
    """Ways in which bytes could show: raw, in hex, in base 64 wherever they begin, and as Python writes them."""
    wide = [base64.b64encode(b"\0" * pad + secret)[4:-4] for pad in range(3)]
    return [secret, secret.hex().encode(), secret.hex().upper().encode(), *wide, repr(secret)[2:-1].encode()]


def told_by(client):
    """Return all that scheduler and workers tell: logs, names, transitions, whatever is remembered of tasks."""

    def told(dask_scheduler):
        tasks = [(task.key, task.run_spec, task.group_key, task.annotations) for task in dask_scheduler.tasks.values()]
        return repr((tasks, dask_scheduler.transition_log))

    logs = (client.get_scheduler_logs(), client.get_worker_logs(), client.run_on_scheduler(told))
    return repr(logs).encode()


def test_keys_are_in_nothing_that_is_sent_told_or_logged(client, tmp_path, monkeypatch):
    sent, telling, sealed, results = [], [], dask._sealed, Dask._results

    def note(thing):
        made = sealed(thing)
        sent.extend([made.data, repr(made).encode()])
        return made

    def noted(self, task, bundles):
        telling.append(told_by(client))  # while tasks are under way
        found = results(self, task, bundles)
        sent.extend([repr(found).encode(), dask._sealed.__wrapped__(found).data])
        return found

    note.__wrapped__ = sealed
    monkeypatch.setattr(dask, "_sealed", note)
    monkeypatch.setattr(Dask, "_results", noted)
    folder = prepare(tmp_path / "story")
    act(folder, "release", {"engine": client})
    ledger = (folder / "out.provider" / "ledger.key").read_bytes()
    digests, root = mac(ledger, b"digests"), mac(KEY, _FORMAT, mechanism().parameters)
    everything = b"\n".join([*sent, *telling])
    for secret in (KEY, ledger, digests, root, mac(root, b"block"), mac(root, b"record")):
        for spelled in spellings(secret):
            assert spelled not in everything
    assert b"out.provider" in everything  # where they are, on the other hand, is sent
    # and they would be found: a function that holds a key is sent like any other
    list(Dask(client).map(lambda _: len(KEY), [1]))
    assert KEY in b"\n".join(sent)


def test_what_holds_secrets_cannot_be_sent(client):
    stream = keystream(KEY, b"")
    with pytest.raises(KeyMaterialError, match="cannot be pickled"):
        list(Dask(client).map(lambda _: np.sum(stream.slab(0, np.zeros((1, 1)), 1)), [1]))
