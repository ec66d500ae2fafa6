"""Adding people to a release.

An append makes new parts beside the release, moves them in, and puts the new manifest in place of the old one in a
single step: until then a reader of the manifest sees the release as it was. Everybody is looked up first, so that
nobody is released twice by accident.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from versadp.errors import ParameterError, ReleaseError
from versadp.release.atomic_write import sync_folder
from versadp.release.checkpoints import reached
from versadp.release.files.account import notes_on
from versadp.release.files.charges import charge_of, keeps
from versadp.release.files.edition import Terms, known_editions, release_edition
from versadp.release.files.intake import Feed, Run
from versadp.release.files.intent import begin_append, give_up
from versadp.release.files.places import home_of, scratch_of
from versadp.release.files.refusals import unfit, writing
from versadp.release.files.sign import refuse_unsignable, sign_again
from versadp.release.files.sources import BATCH_ROWS, open_fitting
from versadp.release.folder.edition_folders import edition_place
from versadp.release.folder.folder import open_folder
from versadp.release.folder.manifest import MANIFEST
from versadp.release.ledger.editions import editions_before
from versadp.release.ledger.state import State, prepare
from versadp.release.mechanism import VERSION
from versadp.release.path.rows import check_keep
from versadp.release.release import load
from versadp.release.target.statement import guarantee_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.engine import Engine
    from versadp.release.files.queries import Query
    from versadp.release.files.sources import Source
    from versadp.release.ledger.history import History, Intake


@dataclass(frozen=True)
class Appended:
    """Result of an append: what became of the people in the file.

    Attributes
    ----------
    new, skipped, charged : int
        Released for the first time; left out as the same; released once more and charged. Where people may have
        several rows these are numbers of rows.
    before, after : str
        The guarantee of the release, in one line each.
    notes : tuple of str
        What the ledger knows of the release and its manifest does not say.
    """

    new: int
    skipped: int
    charged: int
    before: str = field(default="", repr=False, compare=False)
    after: str = field(default="", repr=False, compare=False)
    notes: tuple[str, ...] = field(default=(), repr=False, compare=False)


def append_file(
    out: str | Path,
    data: str | Path | Query | Source,
    *,
    state: str | Path | None = None,
    again: str = "refuse",
    accept_weaker: bool = False,
    without_missing_people: bool = False,
    keep_rows: int | None = None,
    restart: bool = False,
    batch_rows: int = BATCH_ROWS,
    engine: str | Engine = "auto",
    progress: Callable[[float], None] | None = None,
) -> Appended:
    """Add the people of a file to the newest edition of a release; the schema must have an id column.

    Whoever is in that edition already with the same record is skipped: the same noise would come out. That they are
    not there again shows that they did not change. Whoever is known with another record, or from an older edition or
    another release only, is refused. If the process ends before it is done, the same call goes on where it
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
        What to do about people who were released before with another record: refuse; or make the file the next
        edition, with the same noise law, and charge everybody in it for one release more (`release_file` with
        `edition_of` makes one with other noise). Everybody gets noise of their own there, also those whose record is
        the same: otherwise it would show who changed. A file that is the newest edition already is not charged again.
    accept_weaker : bool
        Add people although they are protected less than the target asks for, or, without a target, than the release
        states; otherwise that is refused. Of a mechanism that was calibrated for a shuffle they are charged with its
        guarantee without one.
    without_missing_people : bool
        With again="charge": as for `release_file`.
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
    base = Path(out).absolute()
    mechanism = load(base).mechanism
    if mechanism.schema.id is None:
        raise ParameterError(
            "a release without an id column cannot be appended to: nobody can tell who is in it already",
            hint='name the column that identifies people in the schema: id = "..."',
        )
    with writing():
        home = home_of(base, state)
        prepare(home, make=False)
    feed = Feed(open_fitting(data, mechanism.schema, home), batch_rows, engine, progress)
    if keep_rows is not None:
        check_keep(keep_rows, mechanism.schema)
    with writing(), State(home) as opened:
        history, place = _newest(opened, base)
        refuse_unsignable(opened, place)
        running = history.running
        if running is not None and restart:
            give_up(opened, history.name, scratch_of(base, history.name))
            running = None
        # an older versadp appended further versions to an edition: what it began so is finished so
        if again == "charge" and (running is None or running.begin.again != "charge"):
            terms = Terms(
                history.begin.charge,
                history.is_sorted or history.noise.version == 1,  # which knew of no order
                restart=restart,
                without_missing_people=without_missing_people,
                keep_rows=keep_rows,
            )
            return _edition(opened, base, feed, history, terms)
        if running is None:
            begin_append(opened, history.name, _own_charge(history) if accept_weaker else None, keep_rows)
        number = len(opened.ledger.histories[history.name].intakes) - 1
        feed = feed.keeping(keep_rows, history.noise, opened, history)
        run = Run(opened, feed, history.noise, history.name, number, accept_weaker)
        _refuse_other_rows(run, keep_rows)
        return _append(run, place, base)


def _refuse_other_rows(run: Run, keep_rows: int | None) -> None:
    """Refuse to go on with an append that keeps another number of rows per person."""
    begun = run.intake.begin.keep_rows
    if begun != keep_rows:
        raise ParameterError(
            f"the append was begun with keep_rows={begun}",
            hint="finish it as it was begun, or begin anew: restart=True (--restart)",
        )


def _own_charge(history: History) -> tuple[int, int] | None:
    """Return what is charged for people who may hide among fewer than a mechanism was calibrated for; None as ever."""
    mechanism = history.noise
    if mechanism.target is None or mechanism.target.shuffled is None:
        return None
    return charge_of(mechanism, alone=True)


def _newest(state: State, base: Path) -> tuple[History, Path]:
    """Return the newest edition of a release that is complete, and its folder, if the ledger knows all of it."""
    chain = known_editions(state, base)
    if len(chain) > 1 and not chain[-1].done:
        if chain[-1].intakes[0].publish is not None:
            raise ReleaseError("an edition is unfinished", hint="run the command that makes it again first")
        chain.pop()  # nobody has seen it: it is given up if anything else is begun
    history, place = chain[-1], edition_place(base, len(chain))
    if history.final:
        raise ReleaseError("the release was finalised: nothing can be appended", hint="make a new release")
    intake, manifest = history.running, open_folder(place).manifest
    known = [(history.manifest, history.files)]
    if intake is not None:  # a crash may have come before its end was marked
        known.append((intake.publish, history.files + intake.files))
    if (manifest.digest, manifest.parts) not in known:
        raise unfit()
    return history, place


def _edition(state: State, base: Path, feed: Feed, history: History, terms: Terms) -> Appended:
    """Make the people of a file the next edition, with the noise of the newest."""
    mechanism = history.noise.in_version(VERSION)
    if not keeps(mechanism, terms.charge):
        terms = replace(terms, charge=charge_of(mechanism))
    run = release_edition(state, base, feed, mechanism, terms)
    before = _guarantee(state, history)
    if run is None:
        return Appended(0, sum(file.rows for file in history.files), 0, before, before, notes_on(state, history))
    return _result(run, sum(file.rows for file in run.intake.files), before)


def _append(run: Run, place: Path, base: Path) -> Appended:
    scratch, before = scratch_of(base, run.name) / "append", _guarantee(run.state, run.history)
    if run.intake.publish is None:
        run.make(scratch, empty=False)
        if not run.intake.parts:  # everybody is there already
            give_up(run.state, run.name, scratch.parent)
            return _result(run, 0, before)
        run.publish(scratch, run.history.files + run.intake.files)
    _move(run.state, scratch, place, run.intake)
    run.done()
    shutil.rmtree(scratch.parent, ignore_errors=True)
    return _result(run, sum(file.rows for file in run.intake.files), before)


def _result(run: Run, released: int, before: str) -> Appended:
    skipped, charged = (0, 0) if run.screen is None else (run.screen.skipped, run.screen.charged)
    after = _guarantee(run.state, run.history)
    return Appended(released - charged, skipped, charged, before, after, notes_on(run.state, run.history))


def _guarantee(state: State, history: History) -> str:
    """Return the guarantee of a release of the ledger, with the editions before it, in one line."""
    return guarantee_line(history.noise, history.order, editions_before(state.ledger, history))


def _move(state: State, scratch: Path, place: Path, intake: Intake) -> None:
    """Move parts into the release, then the manifest that names them; after a crash the next run goes on.

    The signature of a release that is signed comes first: it fits the manifest that is there and the one that comes.
    """
    for file in (*intake.files, *([] if intake.sheet is None else [intake.sheet.file])):
        if (scratch / file.name).exists():
            (scratch / file.name).replace(place / file.name)
        if not file.is_intact(place):
            raise ReleaseError(f"{file.name} was lost before it was published", hint="put the release folder back")
        reached("part moved")
    sync_folder(place)
    sign_again(state, scratch, place)
    if (scratch / MANIFEST).exists():
        (scratch / MANIFEST).replace(place / MANIFEST)
    sync_folder(place)
    reached("after publication")
    if open_folder(place).manifest.digest != intake.publish:
        raise ReleaseError("the manifest was lost before it was published", hint="put the release folder back")
