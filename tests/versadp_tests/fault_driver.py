"""Real processes that do real work and are really killed."""

import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import versadp as vdp
from versadp.release import checkpoints
from versadp.release.files.append import append_file
from versadp.release.files.finalize import finalize
from versadp.release.files.release import release_file
from versadp.release.folder import parts

# three parts of one block each: small enough to be killed a thousand times
parts.PART_CELLS = 1
ROWS, MORE = 20_000, 12_000
KEY, OTHER_KEY = bytes(range(100, 132)), bytes(range(132, 164))
PLAIN = vdp.Schema({"x": vdp.Bounded(0, 1), "c": vdp.Categorical(["a", "b"]), "y": vdp.Public()})
PEOPLE = vdp.Schema({"x": vdp.Bounded(0, 1), "c": vdp.Categorical(["a", "b"]), "y": vdp.Public()}, id="pid")


def mechanism(schema=PLAIN, scale=0.5):
    return vdp.Mechanism(schema, scale=scale, exact_rate=0.1, keep=0.5)


def planned_mechanism(spacing=False):
    """Return windows on bounds that are still to be learnt: they are a hundred times as wide as the values."""
    wide = vdp.Schema({"x": vdp.Bounded(0, 100), "c": vdp.Categorical(["a", "b"]), "y": vdp.Public()})
    plan = vdp.fit_bounds(None, wide, epsilon=4, spacing=spacing)
    return vdp.calibrate(plan, epsilon=4)


def table(rows=ROWS, start=0, *, people=False):
    number = np.arange(start, start + rows)
    columns = {"x": (number * 0.61803398875) % 1, "c": np.array(["a", "b"])[number % 2], "y": number % 7}
    return pa.table(({"pid": [f"person {n}" for n in number]} if people else {}) | columns)


def prepare(folder, *, people=False):
    """Write the data of one story into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table(people=people), folder / "data.parquet", row_group_size=3000)
    if people:
        pq.write_table(table(MORE, ROWS - 1000, people=True), folder / "more.parquet")
    return folder


def act(folder, verb, options=None):
    """Do one thing that a provider does."""
    folder, options = Path(folder), dict(options or {})
    os.environ["XDG_STATE_HOME"] = str(folder / "home")  # a story that is copied is that of another user
    options = {"state": folder / "out.provider"} | options
    people = (folder / "more.parquet").exists()
    if verb == "release":
        made = mechanism(PEOPLE if people else PLAIN)
        options = {"key": KEY, "engine": "serial"} | options
        data = options.pop("data", folder / "data.parquet")
        return release_file(data, folder / "out", made, **options)
    if verb in {"learnt", "spaced"}:
        options = {"key": KEY, "engine": "serial", "fit_bounds": True} | options
        return release_file(folder / "data.parquet", folder / "out", planned_mechanism(verb == "spaced"), **options)
    if verb == "append":
        options = {"engine": "serial"} | options
        return append_file(folder / "out", options.pop("data", folder / "more.parquet"), **options)
    if verb == "edition":
        options = {"key": OTHER_KEY, "engine": "serial"} | options
        return release_file(folder / "data.parquet", None, mechanism(PEOPLE, 0.4), edition_of=folder / "out", **options)
    return finalize(folder / "out", **options)


def _child(folder, verb, options, point, nth):
    """Act, and die by SIGKILL when a point is reached for the nth time."""
    seen = 0

    def watcher(name):
        nonlocal seen
        seen += name == point
        if name == point and seen == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoints.watch(watcher)
    try:
        act(folder, verb, options)
    except vdp.errors.VersadpError as problem:
        (Path(folder) / f"refused-{os.getpid()}").write_text(f"{type(problem).__name__}: {problem}")
        os._exit(3)


def _context():
    context = multiprocessing.get_context("forkserver")
    paths = [str(Path(__file__).parents[1]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in paths if path))
    context.set_forkserver_preload(["versadp_tests.fault_warm"])
    return context


def start(folder, verb, options=None, point=None, nth=1):
    """Start a process that acts."""
    process = _context().Process(target=_child, args=(str(folder), verb, options, point, nth))
    process.start()
    return process


def killed_at(folder, verb, point, nth=1, options=None):
    """Act in a process that is killed at a point; return whether it got there."""
    process = start(folder, verb, options, point, nth)
    process.join(60)
    return process.exitcode == -signal.SIGKILL


def points(folder, verb, options=None):
    """Return all points that an undisturbed act passes, in order, each with its occurrence."""
    seen = []
    checkpoints.watch(seen.append)
    try:
        act(folder, verb, options)
    finally:
        checkpoints.unwatch(seen.append)
    return [(name, seen[: i + 1].count(name)) for i, name in enumerate(seen)]


def contents(folder):
    """Return the release's bytes by name, those of all editions."""
    out = folder / "out"
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def entries(folder, state="out.provider"):
    """Return the ledger's entries without any check."""
    with sqlite3.connect(folder / state / "ledger.sqlite") as database:
        rows = database.execute("SELECT body FROM entries ORDER BY number").fetchall()
    database.close()
    return [json.loads(body) for (body,) in rows]


def keys(folder):
    """Return the keys of releases that lie in the state."""
    return [path.read_bytes() for path in (folder / "out.provider").glob("release-*.key")]


def begun(folder):
    """Return how many intakes were charged."""
    kinds = [entry["kind"] for entry in entries(folder)]
    return kinds.count("begin") - kinds.count("abandon")


def leftovers(folder):
    """Return whatever lies about that should not."""
    return [p.name for p in folder.rglob("*") if p.name.endswith((".partial", ".tmp", "-journal"))]


def check_view(folder, rows):
    """What a reader sees: no release, or a whole one."""
    if (folder / "out").exists():
        release = vdp.load(folder / "out")
        assert len(release) in rows
        assert len(release.frame) == len(release)


def copy(story, folder):
    """Start from a folder that was prepared earlier."""
    shutil.copytree(story, folder, copy_function=shutil.copy2)
    return folder
