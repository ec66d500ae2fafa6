"""An intent in the ledger: a release or an append is begun, or given up before any of it was seen."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from versadp.errors import ReleaseError, StateError
from versadp.release.files.places import base_of, scratch_of
from versadp.release.files.refusals import refuse_spent, refuse_strangers
from versadp.release.folder.manifest import VERSION
from versadp.release.folder.metadata import NOTHING_SAID
from versadp.release.ledger.entries import Abandon, Append, Begin
from versadp.release.ledger.exposure import exposure_before

if TYPE_CHECKING:
    from pathlib import Path

    from versadp.release.folder.metadata import Metadata
    from versadp.release.ledger.history import History
    from versadp.release.ledger.state import State
    from versadp.release.mechanism import Mechanism


def begin(
    state: State,
    place: Path,
    mechanism: Mechanism,
    *,
    charge: tuple[int, int],
    again: str,
    key: bytes | None,
    order: str | None,
    metadata: Metadata | None = None,
    edition_of: str | None = None,
    keep_rows: int | None = None,
    fit_bounds: bool = False,
) -> History:
    """Write key and intent to the disk, in this order; software and date are those of now, whenever it is done.

    An edition names the release before it.
    """
    known = [history for history in state.ledger.histories.values() if history.counts]
    if known and not state.first.shared and edition_of is None:
        raise StateError("this state folder belongs to another release", hint="choose one with --state")
    exposure, column = exposure_before(state.ledger), mechanism.schema.id
    refuse_strangers(exposure, column, again)
    if column is None:  # with an id everybody is looked up, one by one
        refuse_spent(exposure, state.first.budget, charge, again)
    give_up_unseen(state)
    # editions of one folder are told from earlier releases: its figures count them all
    earlier = sum(history.counts for history in state.ledger.histories.values()) - _editions(state, edition_of)
    name, secret = state.new_key(key)
    state.ledger.add(
        Begin(
            release=name,
            out=str(place),
            mechanism=mechanism.to_dict(),
            check=state.key_check(secret),
            charge=charge,
            again=again,
            order=order,
            metadata=None if mechanism.version < VERSION else (metadata or NOTHING_SAID).begun(earlier).to_dict(),
            edition_of=edition_of,
            keep_rows=keep_rows,
            fit_bounds=fit_bounds or None,
        )
    )
    return state.ledger.histories[name]


def _editions(state: State, name: str | None) -> int:
    """Return how many editions there are up to a release of the ledger."""
    count = 0
    while name is not None:
        count, name = count + 1, state.ledger.histories[name].begin.edition_of
    return count


def begin_append(state: State, name: str, charge: tuple[int, int] | None = None, keep_rows: int | None = None) -> None:
    """Write the intent to append to a release to the disk; its people may be charged otherwise than those before."""
    refuse_strangers(exposure_before(state.ledger), state.ledger.histories[name].begin.noise.schema.id, "refuse")
    give_up_unseen(state)
    state.ledger.add(Append(name, len(state.ledger.histories[name].intakes), "refuse", charge, keep_rows))


def give_up_unseen(state: State) -> None:
    """Give up releases that a crash left unseen, one after the other, so that none blocks another.

    Whoever is in an unfinished intake is not all in the ledger, so nothing may be begun beside it. Its command, run
    again, begins anew. What was announced is in the ledger as a whole, and stays.
    """
    for history in state.ledger.histories.values():
        if history.running is not None and history.running.publish is None:
            give_up(state, history.name, scratch_of(base_of(history), history.name))


def give_up(state: State, name: str, scratch: Path) -> History | None:
    """Abandon the intake that is under way: nothing of it was ever seen. Return what is left of the release.

    If it was the first intake, nothing is left, and the key goes with it.
    """
    intake = state.ledger.histories[name].running
    if intake is None:
        raise ReleaseError("the release is complete: there is nothing to begin anew", hint="choose a new folder")
    if intake.publish is not None:
        raise ReleaseError("the release is being published already", hint="run the command without --restart")
    shutil.rmtree(scratch, ignore_errors=True)
    state.ledger.add(Abandon(name, intake.number))
    history = state.ledger.histories[name]
    if history.over:
        state.destroy_key(name)
        return None
    return history
