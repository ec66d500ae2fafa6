"""Before a release begins or goes on: where its secrets live, what the ledger knows, and whether it may."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from versadp.errors import DataError, ParameterError, ReleaseError, SpentError, StateError
from versadp.release.files.sources import Source, open_source
from versadp.release.folder import folder as folders
from versadp.release.ledger.charges import spelled
from versadp.release.ledger.history import History, histories
from versadp.release.ledger.state import State, default_state
from versadp.release.path.table import read_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from versadp.release.mechanism import Mechanism


def look(data: str | Path, mechanism: Mechanism) -> Source:
    """Open a source and refuse, before anything is done, columns that do not fit the schema."""
    source = open_source(data, mechanism.schema)
    try:
        read_table(source.columns.empty_table(), mechanism.schema)
    except pa.ArrowException:  # there are types of which arrow makes no table
        raise DataError("a column is of a kind that cannot be released", hint="drop it, or convert it") from None
    return source


def scratch_of(place: Path, name: str) -> Path:
    """Return where an unfinished release is made: beside its place, for its owner's eyes."""
    return place.parent / f".{place.name}.{name}.partial"


def give_up(state: State, history: History, scratch: Path) -> History | None:
    """Abandon the batch that is under way: nothing of it was ever seen, and its key goes with it."""
    batch = history.running
    if batch is None:
        raise ReleaseError("the release is complete: there is nothing to begin anew", hint="choose a new folder")
    if batch.publish is not None:
        raise ReleaseError("the release is being published already", hint="run the command without --restart")
    shutil.rmtree(scratch, ignore_errors=True)
    state.ledger.add({"kind": "abandon", "release": history.name, "batch": batch.number})
    batch.status = "abandoned"
    if batch.number == 0:
        state.destroy_key(history.name)
        return None
    return history


def home_of(place: Path, state: str | Path | None) -> Path:
    """Return the state folder of a release, which is never inside it."""
    home = default_state(place) if state is None else Path(state).absolute()
    if "\0" in f"{place}{home}":
        raise ParameterError("a path cannot hold a zero byte", hint="mend the path")
    if home == place or place in home.parents or home in place.parents:
        raise ParameterError("the state folder and the release folder must lie apart", hint="secrets stay at home")
    if not place.parent.is_dir():
        place.parent.mkdir(parents=True)
    return home


def digest_of(place: Path) -> str | None:
    """Return the digest of a release's manifest, or None if there is no release."""
    try:
        return folders.open_folder(place).digest
    except ReleaseError:
        return None


def find(state: State, place: Path) -> History | None:
    """Return the release that belongs to a place: by its manifest, or by where it was begun."""
    known = [history for history in histories(state.ledger.entries).values() if history.counts]
    digest = digest_of(place)
    if digest is not None:
        for history in known:
            if digest in {batch.publish for batch in history.batches}:
                return history
        raise StateError(
            "the ledger does not know this release: it is not the latest, or belongs to another release",
            hint="put the right state folder back",
        )
    if not place.exists() or not any(place.iterdir()):
        return next((history for history in known if history.out == str(place)), None)
    return None


def begin(
    state: State, place: Path, mechanism: Mechanism, *, charge: tuple[int, int], again: str, key: bytes | None
) -> History:
    """Write key and intent to the disk, in this order."""
    known = [history for history in histories(state.ledger.entries).values() if history.counts]
    refuse_unfinished(known)
    if known and not state.first["shared"]:
        raise StateError("this state folder belongs to another release", hint="choose one with --state")
    _check_again(state, known, mechanism, charge, again)
    name, secret = state.new_key(key)
    entry = {
        "kind": "begin",
        "release": name,
        "batch": 0,
        "out": str(place),
        "mechanism": mechanism.to_dict(),
        "check": state.key_check(secret),
        "charge": list(charge),
        "again": again,
    }
    state.ledger.add(entry)
    return histories(state.ledger.entries)[name]


def refuse_unfinished(known: Iterable[History]) -> None:
    """One after the other: whoever is in an unfinished release is not all in the ledger yet."""
    for history in known:
        if history.running is not None:
            raise StateError(
                f"this state folder has an unfinished release, {Path(history.out).name!r}",
                hint="run its command again to finish it, or with --restart to give it up, first",
            )


def _check_again(state: State, known: list[History], mechanism: Mechanism, charge: tuple[int, int], again: str) -> None:
    """Refuse a further release of people who cannot be told from those released before, or who have no budget left."""
    blind = [h for h in known if mechanism.schema.id is None or "id" not in h.mechanism["schema"]]
    if blind and again == "refuse":
        raise SpentError(
            f"this state folder holds {len(blind)} earlier release{'s' * (len(blind) > 1)}, and without an id column "
            "in both nobody can tell whether the same people are in this one",
            hint="give the schema an id; or charge everybody: again='charge'; or vouch for it: again='others'",
        )
    spent = [history.charge for history in blind if again == "charge" and history.again != "others"]
    total = tuple(sum(column) for column in zip(charge, *spent, strict=True))
    budget = state.first["budget"]
    if budget is not None and any(cost > limit for cost, limit in zip(total, budget, strict=True)):
        raise SpentError(
            f"the budget is spent: {spelled((budget[0], budget[1]))} a person, and this release would make it "
            f"{spelled((total[0], total[1]))}",
            hint="release nothing more of these people, or with more noise",
        )


def check_same(history: History, mechanism: Mechanism) -> None:
    """Refuse to go on with other noise than the release was begun with."""
    if history.mechanism != mechanism.to_dict():
        raise ParameterError(
            "the release was begun with another schema or other noise",
            hint="finish it as it was begun, or begin anew: restart=True (--restart)",
        )


def unfit() -> StateError:
    """Return our error for a release and a ledger of different age."""
    return StateError(
        "the ledger does not fit the release: one of them was restored from an older copy",
        hint="put the newer one back, of both",
    )


def changed() -> StateError:
    """Return our error for data that are not those of the unfinished release."""
    return StateError(
        "the data are not those with which the release was begun",
        hint="finish it with the same data, or begin anew: restart=True (--restart)",
    )
