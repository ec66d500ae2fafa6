"""Where a release, what is unfinished of it and its secrets lie; and which release of the ledger lies at a place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from versadp.errors import ParameterError, ReleaseError, StateError
from versadp.release.folder.folder import open_folder
from versadp.release.ledger.state import default_state

if TYPE_CHECKING:
    from versadp.release.ledger.history import History
    from versadp.release.ledger.state import State


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


def scratch_of(place: Path, name: str) -> Path:
    """Return where an unfinished release is made: beside its place, for its owner's eyes.

    Examples
    --------
    >>> scratch_of(Path("shared/released"), "dea3").as_posix()
    'shared/.released.dea3.partial'
    """
    return place.parent / f".{place.name}.{name}.partial"


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
