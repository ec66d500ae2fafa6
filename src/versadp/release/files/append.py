"""Adding people to a release, and closing it.

An append makes new parts beside the release, moves them in, and puts the new manifest in place of the old one in a
single step: until then a reader of the manifest sees the release as it was. Everybody is looked up first, so that
nobody is released twice by accident.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from versadp.errors import ParameterError, ReleaseError
from versadp.release.checkpoints import reached
from versadp.release.durable import sync_folder
from versadp.release.files.begin import find, give_up, home_of, look, refuse_unfinished, scratch_of, unfit
from versadp.release.files.part import intact, writing
from versadp.release.files.run import Run
from versadp.release.files.sources import BATCH_ROWS
from versadp.release.folder import folder as folders
from versadp.release.ledger.history import Batch, History, histories
from versadp.release.ledger.state import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.engine import Engine


@dataclass(frozen=True)
class Appended:
    """What became of the people in a file: released for the first time, skipped as the same, charged once more."""

    new: int
    skipped: int
    charged: int


def append_file(
    out: str | Path,
    data: str | Path,
    *,
    state: str | Path | None = None,
    again: str = "refuse",
    restart: bool = False,
    batch_rows: int = BATCH_ROWS,
    engine: str | Engine = "auto",
    progress: Callable[[float], None] | None = None,
) -> Appended:
    """Add the people of a file to a release; the schema must have an id column.

    Whoever is in the release already with the same record is skipped: the same noise would come out. If the process
    ends before it is done, the same call goes on where it stopped.

    Parameters
    ----------
    out : str or Path
        The release folder.
    data : str or Path
        A Parquet, CSV or Arrow file, or a folder of Parquet files.
    state : str or Path, optional
        Where keys and ledger are kept; beside the release by default.
    again : {"refuse", "charge"}
        What to do about people who were released before with another record: refuse, or charge them for one release
        more; both versions then stand in the release.
    restart : bool
        Give up an unfinished append and begin anew.
    batch_rows, engine, progress
        As for `release_file`.

    Examples
    --------
    >>> import tempfile, pandas as pd, versadp as vdp
    >>> from versadp.release.files.release import release_file
    >>> mech = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90)}, id="pid"), scale=0.25, exact_rate=0.2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame({"pid": [1, 2, 3], "age": [30, 41, 77]}).to_parquet(folder + "/people.parquet")
    ...     pd.DataFrame({"pid": [3, 4], "age": [77, 52]}).to_parquet(folder + "/more.parquet")
    ...     first = release_file(folder + "/people.parquet", folder + "/released", mech)
    ...     append_file(folder + "/released", folder + "/more.parquet")
    Appended(new=1, skipped=1, charged=0)
    """
    if again not in {"refuse", "charge"}:
        raise ParameterError("again must be 'refuse' or 'charge'")
    place = Path(out).absolute()
    mechanism = folders.open_folder(place).mechanism
    if mechanism.schema.id is None:
        raise ParameterError(
            "a release without an id column cannot be appended to: nobody can tell who is in it already",
            hint='name the column that identifies people in the schema: id = "..."',
        )
    source = look(data, mechanism)
    with writing(), State(home_of(place, state)) as opened:
        history = _open(opened, place)
        if restart and history.running is not None:
            give_up(opened, history, scratch_of(place, history.name))
        run = Run(opened, source, mechanism, batch_rows, engine, progress)
        batch = history.running or _begin(opened, history, again)
        return _append(run, history, batch, place)


def finalize(out: str | Path, *, state: str | Path | None = None) -> None:
    """Destroy the key of a release, after which nothing can be appended and nobody can redo its noise.

    A state folder that serves this release only loses the key of its ledger too: its digests then mean nothing. One
    that was named with `state` keeps it, so that people are still recognised.

    Examples
    --------
    >>> import tempfile, pandas as pd, versadp as vdp
    >>> from versadp.release.files.release import release_file
    >>> mech = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90)}), scale=0.25, exact_rate=0.2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame({"age": [30, 41, 77]}).to_parquet(folder + "/people.parquet")
    ...     first = release_file(folder + "/people.parquet", folder + "/released", mech)
    ...     finalize(folder + "/released")
    ...     sorted(path.name for path in Path(folder, "released.provider").glob("*.key"))
    []
    """
    place = Path(out).absolute()
    folders.open_folder(place)
    with writing(), State(home_of(place, state)) as opened:
        history = find(opened, place)
        assert history is not None
        if history.running is not None:
            raise ReleaseError("something is unfinished", hint="finish it, or give it up with --restart, first")
        if not history.final:
            opened.ledger.add({"kind": "finalize", "release": history.name})
        opened.destroy_key(history.name)
        if not opened.first["shared"]:
            opened.destroy_ledger_key()


def _open(state: State, place: Path) -> History:
    """Return what the ledger knows about a release, if it is all of it."""
    history = find(state, place)
    assert history is not None
    if history.final:
        raise ReleaseError("the release was finalised: nothing can be appended", hint="make a new release")
    batch, found = history.running, folders.open_folder(place)
    if batch is not None and batch.number == 0:
        raise ReleaseError("the release is unfinished", hint="finish it with `versadp release` first")
    pending = [batch.parts[number]["file"] for number in sorted(batch.parts)] if batch is not None else []
    if (found.digest, list(found.parts)) not in (
        (history.manifest, history.parts()),
        (None if batch is None else batch.publish, history.parts() + pending),
    ):
        raise unfit()
    return history


def _begin(state: State, history: History, again: str) -> Batch:
    refuse_unfinished(histories(state.ledger.entries).values())
    entry = {"kind": "begin", "release": history.name, "batch": len(history.batches), "again": again}
    state.ledger.add(entry)
    history.batches.append(histories(state.ledger.entries)[history.name].batches[-1])
    return history.batches[-1]


def _append(run: Run, history: History, batch: Batch, place: Path) -> Appended:
    scratch = scratch_of(place, history.name) / "append"
    if batch.publish is None:
        parts = run.parts(history, batch, scratch, empty=False)
        if not parts:  # everybody is there already
            give_up(run.state, history, scratch.parent)
            return _result(run, 0)
        run.publish(history, batch, scratch, history.parts() + parts)
    parts = [batch.parts[number]["file"] for number in sorted(batch.parts)]
    _move(scratch, place, parts, batch)
    run.done(history, batch)
    shutil.rmtree(scratch.parent, ignore_errors=True)
    return _result(run, sum(part["rows"] for part in parts))


def _result(run: Run, released: int) -> Appended:
    skipped, charged = (0, 0) if run.screen is None else (run.screen.skipped, run.screen.charged)
    return Appended(released - charged, skipped, charged)


def _move(scratch: Path, place: Path, parts: list[dict[str, Any]], batch: Batch) -> None:
    """Move parts into the release, then the manifest that names them; whoever comes after a crash goes on."""
    for part in parts:
        if (scratch / part["file"]).exists():
            (scratch / part["file"]).replace(place / part["file"])
        if not intact(place / part["file"], part):
            raise ReleaseError(f"{part['file']} was lost before it was published", hint="put the release folder back")
        reached("part moved")
    sync_folder(place)
    if (scratch / folders.MANIFEST).exists():
        (scratch / folders.MANIFEST).replace(place / folders.MANIFEST)
    sync_folder(place)
    reached("after publication")
    if folders.open_folder(place).digest != batch.publish:
        raise ReleaseError("the manifest was lost before it was published", hint="put the release folder back")
