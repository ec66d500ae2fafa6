"""Account of a population: its releases, and the most that one person was charged by all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from versadp.errors import StateError, VersadpError
from versadp.release.files.charges import DELTA_UNIT, EPSILON_UNIT, spelled
from versadp.release.files.places import POPULATION, find, home_of, states
from versadp.release.files.refusals import writing
from versadp.release.folder.signature import key_text, public_bytes
from versadp.release.ledger.editions import as_edition, most_versions
from versadp.release.ledger.exposure import exposure_before
from versadp.release.ledger.ledger import LEDGER
from versadp.release.ledger.state import State
from versadp.release.target.person import units_of
from versadp.release.target.statement import EPSILONS, rounded_up
from versadp.schema.schema import check_population

if TYPE_CHECKING:
    from pathlib import Path

    from versadp.release.ledger.history import History


@dataclass(frozen=True)
class Account:
    """Contents of a ledger.

    Attributes
    ----------
    releases : tuple of dict
        One per release, in the order in which they were begun: folder, records, intakes, what it charges one person
        (epsilon and delta for a whole record), and whether it is open, unfinished or final.
    most : tuple of int
        What one person was charged by all releases at the most, in the whole units of `charges.py`.
    budget : tuple of int, optional
        What one person may be charged in all.
    notes : tuple of str
        What manifests of older versions do not say: which releases hold several versions of a person.
    """

    releases: tuple[dict[str, Any], ...]
    most: tuple[int, int]
    budget: tuple[int, int] | None
    notes: tuple[str, ...] = ()

    def sentence(self) -> str:
        """Return in one sentence what one person was charged, and may be."""
        count = len(self.releases)
        told = f"One person was charged by {count} release{'s' * (count != 1)} at most {spelled(self.most)} in all"
        return f"{told}, of a budget of {spelled(self.budget)}." if self.budget else f"{told}; there is no budget."


def account(place: Path | None = None, *, state: Path | None = None, population: str | None = None) -> Account:
    """Return what the ledger of a release says, or the one of a state folder or a population.

    Parameters
    ----------
    place : Path, optional
        A release folder: the ledger that knows it.
    state : Path, optional
        A state folder.
    population : str, optional
        Without both: the name under which these people were released, `default` if none was given.

    Examples
    --------
    >>> import tempfile, pandas as pd, versadp as vdp
    >>> from pathlib import Path
    >>> mech = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90)}), scale=0.25, exact_rate=0.2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame({"age": [30, 41, 77]}).to_parquet(folder + "/people.parquet")
    ...     for name in ("one", "two"):
    ...         made = vdp.release_file(
    ...             folder + "/people.parquet", f"{folder}/{name}", mech, state=folder + "/secret", again="charge"
    ...         )
    ...     account(state=Path(folder, "secret")).sentence()
    'One person was charged by 2 releases at most epsilon 10.16297, delta 0.800002 in all; there is no budget.'
    """
    with writing(), State(_state_of(place, state, population)) as opened:
        known = [each for each in opened.ledger.histories.values() if each.counts]
        notes = tuple(note for each in known for note in notes_on(opened, each))
        rows = tuple(map(_row, known))
        return Account(rows, exposure_before(opened.ledger).most(), opened.first.budget, notes)


def notes_on(state: State, history: History) -> tuple[str, ...]:
    """Return what the manifest of a release does not say: that it holds several versions of a person."""
    versions = most_versions(state.ledger, history)
    if versions == 1:
        return ()
    edition = as_edition(state.ledger, history, 1)
    together = edition.privacy(units_of(history.noise.schema)[0])
    pairs = ", ".join(f"({epsilon:g}, {rounded_up(float(together.delta(epsilon)))})" for epsilon in EPSILONS)
    holds = f"{history.begin.out} holds up to {versions} versions of a person, and its manifest states one's guarantee"
    return (f"{holds}; all of them together guarantee (epsilon, delta): {pairs}",)


def notes_for(place: Path) -> tuple[str, ...]:
    """Return what this user's ledger knows of a release and its manifest does not say; nothing if none knows it.

    Examples
    --------
    >>> from pathlib import Path
    >>> notes_for(Path("no-such-release"))
    ()
    """
    try:
        with State(home_of(place.absolute(), None)) as opened:
            history = find(opened, place.absolute())
            return () if history is None else notes_on(opened, history)
    except (VersadpError, OSError):
        return ()


def public_key(place: Path | None = None, *, state: Path | None = None, population: str | None = None) -> str:
    """Return the public key of a state folder's signatures, as text; the arguments are those of `account`."""
    with writing(), State(_state_of(place, state, population)) as opened:
        if not opened.has_signing_key:
            raise StateError(
                "nothing was signed from this state folder, so it has no key", hint="`versadp sign DIR` makes one"
            )
        return key_text(public_bytes(opened.signing_key()))


def _state_of(place: Path | None, state: Path | None, population: str | None) -> Path:
    if place is not None:
        return home_of(place.absolute(), state)
    return _home(population or POPULATION) if state is None else state.absolute()


def _home(population: str) -> Path:
    """Return the state folder of a population; name those that there are if it has none."""
    home = states() / check_population(population)
    if not home.exists():
        there = ", ".join(sorted(path.parent.name for path in states().glob(f"*/{LEDGER}"))) or "none yet"
        raise StateError(
            f"there is no ledger of a population {population!r}", hint=f"there is: {there}; or give --state"
        )
    return home


def _row(history: History) -> dict[str, Any]:
    epsilon, delta = history.begin.charge
    status = "final" if history.final else "open" if history.running is None else "unfinished"
    return {
        "release": history.begin.out,
        "records": sum(file.rows for file in history.files),
        "intakes": len(history.done),
        "epsilon": epsilon / EPSILON_UNIT,
        "delta": delta / DELTA_UNIT,
        "status": status,
    }
