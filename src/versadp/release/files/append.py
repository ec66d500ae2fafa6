"""Adding people to a release.

An append makes new parts beside the release, moves them in, and puts the new manifest in place of the old one in a
single step: until then a reader of the manifest sees the release as it was. Everybody is looked up first, so that
nobody is released twice by accident.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from versadp.errors import ParameterError, ReleaseError
from versadp.release.atomic_write import sync_folder
from versadp.release.checkpoints import reached
from versadp.release.files.intake import Feed, Run
from versadp.release.files.intent import begin_append, give_up
from versadp.release.files.places import find, home_of, scratch_of
from versadp.release.files.refusals import unfit, writing
from versadp.release.files.repartition import Screen
from versadp.release.files.sources import BATCH_ROWS, open_fitting
from versadp.release.folder.folder import open_folder
from versadp.release.folder.manifest import MANIFEST
from versadp.release.ledger.digests import TAGGED
from versadp.release.ledger.exposure import exposure_before
from versadp.release.ledger.row_store import Pile
from versadp.release.ledger.state import State, prepare
from versadp.release.path.rows import check_keep

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.engine import Engine
    from versadp.release.files.queries import Query
    from versadp.release.files.sources import Source
    from versadp.release.ledger.history import History, Intake


@dataclass(frozen=True)
class Appended:
    """What became of the people in a file: released for the first time, skipped as the same, charged once more.

    Where people may have several rows these are numbers of rows.
    """

    new: int
    skipped: int
    charged: int


def append_file(
    out: str | Path,
    data: str | Path | Query | Source,
    *,
    state: str | Path | None = None,
    again: str = "refuse",
    keep_rows: int | None = None,
    restart: bool = False,
    batch_rows: int = BATCH_ROWS,
    engine: str | Engine = "auto",
    progress: Callable[[float], None] | None = None,
) -> Appended:
    """Add the people of a file to a release; the schema must have an id column.

    Whoever is in the release already with the same record is skipped: the same noise would come out. That they are not
    there again shows that they did not change. If the process ends before it is done, the same call goes on where it
    stopped.

    Parameters
    ----------
    out : str or Path
        The release folder.
    data : str, Path, Query or Source
        As for `release_file`.
    state : str or Path, optional
        Where keys and ledger are kept; by default the ledger of this user that knows the release.
    again : {"refuse", "charge"}
        What to do about people who were released before with another record: refuse; or charge everybody in the file
        for one release more. Both versions then stand in the release, each with noise of its own, and so they do for
        people whose record is the same: otherwise it would show who changed. The file that came last is not charged
        again.
    keep_rows : int, optional
        As for `release_file`.
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
    mechanism = open_folder(place).mechanism
    if mechanism.schema.id is None:
        raise ParameterError(
            "a release without an id column cannot be appended to: nobody can tell who is in it already",
            hint='name the column that identifies people in the schema: id = "..."',
        )
    with writing():
        home = home_of(place, state)
        prepare(home, make=False)
    feed = Feed(open_fitting(data, mechanism.schema, home), batch_rows, engine, progress)
    if keep_rows is not None:
        check_keep(keep_rows, mechanism.schema)
    with writing(), State(home) as opened:
        name = _open(opened, place).name
        feed = feed.keeping(keep_rows, mechanism, opened, opened.ledger.histories[name])
        if restart and opened.ledger.histories[name].running is not None:
            give_up(opened, name, scratch_of(place, name))
        if opened.ledger.histories[name].running is None:
            if again == "charge" and (there := _last_again(opened, opened.ledger.histories[name], feed)):
                return Appended(0, there, 0)
            begin_append(opened, name, again, keep_rows)
        run = Run(opened, feed, mechanism, name, len(opened.ledger.histories[name].intakes) - 1)
        if run.intake.begin.keep_rows != keep_rows:
            raise ParameterError(
                f"the append was begun with keep_rows={run.intake.begin.keep_rows}",
                hint="finish it as it was begun, or begin anew: restart=True (--restart)",
            )
        return _append(run, place)


def _open(state: State, place: Path) -> History:
    """Return what the ledger knows about a release, if it is all of it."""
    history = find(state, place)
    assert history is not None
    if history.final:
        raise ReleaseError("the release was finalised: nothing can be appended", hint="make a new release")
    intake, manifest = history.running, open_folder(place).manifest
    if intake is not None and intake.number == 0:
        raise ReleaseError("the release is unfinished", hint="finish it with `versadp release` first")
    known = [(history.manifest, history.files)]
    if intake is not None:  # a crash may have come before its end was marked
        known.append((intake.publish, history.files + intake.files))
    if (manifest.digest, manifest.parts) not in known:
        raise unfit()
    return history


def _last_again(state: State, history: History, feed: Feed) -> int:
    """Return how many people a file has if they are just those of the last intake: then its command was run again."""
    last = history.name, history.done[-1].number
    then, now = Pile(TAGGED, state.folder), Pile(TAGGED, state.folder)
    for _, rows in state.ledger.people({last}):
        then.add(rows[:, :TAGGED])
    before, charge = exposure_before(state.ledger), history.begin.charge
    screen = Screen(history.begin.noise, state.digest_key, history.name, charge, before, None, "charge")
    for batch, _ in feed.source.batches(feed.batch_rows):
        now.add(screen.rows(batch)[:, :TAGGED])
    return len(now) if now.is_same(then) else 0


def _append(run: Run, place: Path) -> Appended:
    scratch = scratch_of(place, run.name) / "append"
    if run.intake.publish is None:
        run.make(scratch, empty=False)
        if not run.intake.parts:  # everybody is there already
            give_up(run.state, run.name, scratch.parent)
            return _result(run, 0)
        run.publish(scratch, run.history.files + run.intake.files)
    _move(scratch, place, run.intake)
    run.done()
    shutil.rmtree(scratch.parent, ignore_errors=True)
    return _result(run, sum(file.rows for file in run.intake.files))


def _result(run: Run, released: int) -> Appended:
    skipped, charged = (0, 0) if run.screen is None else (run.screen.skipped, run.screen.charged)
    return Appended(released - charged, skipped, charged)


def _move(scratch: Path, place: Path, intake: Intake) -> None:
    """Move parts into the release, then the manifest that names them; whoever comes after a crash goes on."""
    for file in intake.files:
        if (scratch / file.name).exists():
            (scratch / file.name).replace(place / file.name)
        if not file.is_intact(place):
            raise ReleaseError(f"{file.name} was lost before it was published", hint="put the release folder back")
        reached("part moved")
    sync_folder(place)
    if (scratch / MANIFEST).exists():
        (scratch / MANIFEST).replace(place / MANIFEST)
    sync_folder(place)
    reached("after publication")
    if open_folder(place).manifest.digest != intake.publish:
        raise ReleaseError("the manifest was lost before it was published", hint="put the release folder back")
