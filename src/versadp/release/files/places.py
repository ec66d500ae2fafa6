"""Places of a release, of its unfinished files and of its secrets; and the release of the ledger at a place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from versadp.errors import ParameterError, ReleaseError, StateError
from versadp.release.folder.folder import open_folder
from versadp.release.ledger.database import mentions
from versadp.release.ledger.ledger import LEDGER
from versadp.release.ledger.rollback_guard import user_home
from versadp.release.ledger.state import LEDGER_KEY
from versadp.schema.schema import check_population

if TYPE_CHECKING:
    from versadp.release.ledger.history import History
    from versadp.release.ledger.state import State

POPULATION = "default"


def home_of(place: Path, state: str | Path | None, population: str | None = None) -> Path:
    """Return the state folder of a release that is made or to be made; it is never inside the release.

    In this order: what the provider names; one that an older version put beside the release; the one that knows the
    release, among this user's; the one of its population.
    """
    if "\0" in f"{place}{state or ''}":
        raise ParameterError("a path cannot hold a zero byte", hint="mend the path")
    if state is not None:
        home = Path(state).absolute()
    elif (beside(place) / LEDGER_KEY).exists() or (beside(place) / LEDGER).exists():
        home = beside(place)
    elif population is None:
        home = _holder(place)
    else:
        home = states() / check_population(population)
    if home == place or place in home.parents or home in place.parents:
        raise ParameterError("the state folder and the release folder must lie apart", hint="secrets stay at home")
    if not place.parent.is_dir():
        place.parent.mkdir(parents=True)
    return home


def beside(out: Path) -> Path:
    """Return where older versions kept the state of a release.

    Examples
    --------
    >>> beside(Path("shared/released")).as_posix()
    'shared/released.provider'
    """
    return out.parent / f"{out.name}.provider"


def states() -> Path:
    """Return where this user's states are: one folder a population."""
    named = os.environ.get("VERSADP_STATE")
    home = Path(named) if named else user_home()
    if home is None or not home.is_absolute():
        raise ParameterError(
            "there is no place for keys and ledger: no home folder, or VERSADP_STATE is no absolute path",
            hint="name one: state=... (--state), or the variable VERSADP_STATE",
        )
    return home


def _holder(place: Path) -> Path:
    """Return the state folder of this user that knows the release at a place."""
    digest = open_folder(place).manifest.digest
    for ledger in sorted(states().glob(f"*/{LEDGER}")):
        if mentions(ledger, digest):
            return ledger.parent
    raise StateError(
        "no ledger of yours knows this release",
        hint="name its state folder: state=... (--state); whoever released it has it",
    )


def scratch_of(place: Path, name: str) -> Path:
    """Return where an unfinished release is made: beside its place, for its owner's eyes.

    Examples
    --------
    >>> scratch_of(Path("shared/released"), "dea3").as_posix()
    'shared/.released.dea3.partial'
    """
    return place.parent / f".{place.name}.{name}.partial"


def base_of(history: History) -> Path:
    """Return the release folder for which a release of the ledger was begun; editions lie below it."""
    out = Path(history.begin.out)
    return out if history.begin.edition_of is None else out.parent


def manifest_at(place: Path) -> str | None:
    """Return the digest of the manifest of the release at a place, or None if there is no whole release."""
    try:
        return open_folder(place).manifest.digest
    except ReleaseError:
        return None


def find(state: State, place: Path) -> History | None:
    """Return the release that belongs to a place: by its manifest, or by where it was begun."""
    known = [history for history in state.ledger.histories.values() if history.counts]
    digest = manifest_at(place)
    if digest is not None:
        for history in known:
            if digest in {intake.publish for intake in history.intakes}:
                return history
        raise StateError(
            "the ledger does not know this release: it is not the latest, or belongs to another release",
            hint="put the right state folder back",
        )
    if not place.exists() or not any(place.iterdir()):
        return next((history for history in known if history.begin.out == str(place)), None)
    return None
