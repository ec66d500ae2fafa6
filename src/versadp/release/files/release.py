"""A file of any size into a release folder, in bounded memory, so that no crash does harm.

The key and the intent are on the disk before any noise is made; `intake.py` says what follows. The release is made
beside its place and appears there by one rename.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from versadp import inputs
from versadp.errors import ParameterError, ReleaseError
from versadp.noise.words import check_key
from versadp.release.files.bounds_step import check_planned, with_bounds
from versadp.release.files.charges import allowance, charge_of
from versadp.release.files.edition import Terms, check_edition, check_place, release_edition
from versadp.release.files.first_publication import finish
from versadp.release.files.intake import Feed, Run
from versadp.release.files.intent import begin, give_up
from versadp.release.files.places import POPULATION, find, home_of, scratch_of
from versadp.release.files.queries import Query
from versadp.release.files.refusals import as_begun, refuse_key, writing
from versadp.release.files.sources import BATCH_ROWS, open_fitting
from versadp.release.folder.manifest import refuse_metadata
from versadp.release.ledger.ledger import LEDGER
from versadp.release.ledger.state import State
from versadp.release.path.order import KEPT, Order
from versadp.release.path.rows import check_keep
from versadp.release.release import Release, load
from versadp.release.target.usefulness import warn_delta

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from versadp.engine import Engine
    from versadp.release.files.sources import Source
    from versadp.release.folder.metadata import Metadata
    from versadp.release.ledger.history import History
    from versadp.release.mechanism import Mechanism

AGAIN = ("refuse", "charge", "others")


def release_file(
    data: str | Path | Query | Source,
    out: str | Path | None,
    mechanism: Mechanism,
    *,
    shuffle: bool = True,
    edition_of: str | Path | None = None,
    without_missing_people: bool = False,
    keep_rows: int | None = None,
    fit_bounds: bool = False,
    state: str | Path | None = None,
    population: str | None = None,
    key: bytes | None = None,
    again: str = "refuse",
    target: tuple[float, float] | None = None,
    budget: tuple[float, float] | None = None,
    metadata: Metadata | None = None,
    sign: bool = False,
    restart: bool = False,
    batch_rows: int = BATCH_ROWS,
    engine: str | Engine = "auto",
    progress: Callable[[float], None] | None = None,
) -> Release:
    """Release a file of any size into a new folder.

    If the process ends before it is done, the same call goes on where it stopped and gives the same bytes. Called
    again after it is done it changes nothing and costs nothing.

    Parameters
    ----------
    data : str, Path, Query or Source
        A Parquet, CSV or Arrow file, a folder of Parquet files, what `sql` returns, or an object with `columns`, `rows`
        and `batches` that gives the same records in the same order each time (`versadp.release.files.sources.Source`).
    out : str or Path
        The release folder; it appears when it is complete. None with `edition_of`.
    mechanism : Mechanism
    shuffle : bool
        Sort the records by a public hash of what is released of them, so that their order tells nothing; see
        `Mechanism.release`. Noised records are then written twice. What is appended later is sorted by itself.
    edition_of : str or Path, optional
        A release folder: the file becomes its next edition, below it, and what `load` opens from then on. It holds
        everybody who is to be in it, all with new noise and charged for one release more; no released row is carried
        over. Schema and noise may be others, the id column is the same.
    without_missing_people : bool
        Make an edition although people of the newest one are not in the file; otherwise that is refused. How many
        people an edition has is public, and those who are left out stay in the editions before.
    keep_rows : int, optional
        Keep at most so many rows of each person, no more than the schema's `rows_per_person`; the key chooses which,
        whatever stands in them. By default people with more rows than the schema allows are refused.
    fit_bounds : bool
        First learn the bounds of the columns from these records, as part of this release, its guarantee and its
        charge. The mechanism is then calibrated on what `fit_bounds(None, schema, ...)` returns: the declared schema,
        and what learning will cost. What is appended later keeps these bounds.
    state : str or Path, optional
        Where keys and ledger are kept. By default a folder of this user, under `$VERSADP_STATE`,
        `$XDG_STATE_HOME/versadp` or `~/.local/state/versadp`, with one ledger for each population: it knows who was
        released before, whatever the folder. A release that has an older state beside it (`OUT.provider`) keeps that.
    population : str, optional
        A name for these people, if other people are released too: ledgers of two populations know nothing of each
        other. By default the one that the schema names, or "default".
    key : bytes, optional
        32 secret random bytes; drawn by default.
    again : {"refuse", "charge", "others"}
        What to do about people whom the ledger knows from before: refuse, or charge them for one release more.
        Without an id column nobody can be recognised, so every further release is refused, unless everybody is
        charged, or the caller vouches that these are other people.
    target : tuple of float, optional
        (epsilon, delta) for a person (a whole record, where a person has one row) that the release is charged with; by
        default what the mechanism keeps.
    budget : tuple of float, optional
        (epsilon, delta) that one person may be charged in all; said when the state folder is first used.
    metadata : Metadata, optional
        What stands in the manifest beside the guarantee: title, curator, contact, purpose, covers, rationale. Date,
        software and the number of earlier releases are set when the release is begun, whatever is given.
    sign : bool
        Sign the manifest with the key of the state folder, which is made when it is first needed; what is appended is
        then signed too. See `versadp.sign`.
    restart : bool
        Give up an unfinished release and its key, and begin anew.
    batch_rows : int
        Records read at a time; what is released does not depend on it.
    engine : str or Engine
        Where the work runs: "auto" and "local" are all cores of this machine, "serial" is one thread; "dask",
        "dask://host:port" or a client of a cluster whose workers see the same folders: they read the key in the
        state folder, and it is never sent. People with an id, and what is not in Parquet files, are read and noised
        here, and sorted there.
    progress : callable, optional
        Called with the share of the data that has been read.

    Returns
    -------
    Release
        On disk; nothing of it is in memory.

    Examples
    --------
    >>> import tempfile, pandas as pd, versadp as vdp
    >>> mech = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90)}), scale=0.25, exact_rate=0.2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame({"age": [30, 41, 77]}).to_parquet(folder + "/people.parquet")
    ...     release_file(folder + "/people.parquet", folder + "/released", mech, state=folder + "/secret")
    <Release: 3 records, 1 column, on disk>
    """
    fit_bounds = fit_bounds and check_planned(mechanism)
    _check_arguments(mechanism, state=state, population=population, key=key, again=again, keep_rows=keep_rows)
    check_place(out, edition_of)
    if edition_of is not None:
        check_edition(mechanism, again)
    refuse_metadata(mechanism, metadata if edition_of is None else None)  # editions are of the present version
    place = inputs.path(out if edition_of is None else edition_of, "a release folder").absolute()
    follows = edition_of is not None
    home = _home_of(place, state, population, mechanism, follows=follows)
    _check_order(data, mechanism, shuffle=shuffle)
    feed = Feed(open_fitting(data, mechanism.schema, home), batch_rows, engine, progress)
    if shuffle and feed.source.rows is not None:
        Order((feed.source.rows,)).check(mechanism)
    charge = charge_of(mechanism, target)
    limit = None if budget is None else allowance(*budget)
    with writing():
        if not follows and place.exists() and not (home / LEDGER).exists():
            raise ReleaseError(f"{str(out)!r} exists already", hint="a release is written once: choose a new folder")
    terms = Terms(charge, shuffle, key, restart, without_missing_people, metadata, sign, keep_rows, fit_bounds)
    with writing(), State(home, make=not follows, budget=limit) as opened:
        if follows:
            release_edition(opened, place, feed, mechanism, terms)
            return _warned(load(place), mechanism)
        history = _history(opened, place, mechanism, terms, again)
        begun = as_begun(history, mechanism, shuffle=shuffle, keep_rows=keep_rows, metadata=metadata)
        feed = feed.keeping(keep_rows, begun, opened, history)
        begun = with_bounds(opened, history.name, feed, begun, scratch_of(place, history.name))
        finish(Run(opened, feed, begun, history.name, 0), place, place, sign=sign)
    return _warned(load(place), mechanism)


def _home_of(
    place: Path, state: str | Path | None, population: str | None, mechanism: Mechanism, *, follows: bool
) -> Path:
    """Return the folder of the state: for an edition that of the editions before it."""
    with writing():
        return home_of(place, state, population or (None if follows else mechanism.schema.population or POPULATION))


def _check_order(data: object, mechanism: Mechanism, *, shuffle: bool) -> None:
    """Raise if records are to keep an order that tells of them, or that the mechanism is not for."""
    if shuffle:
        return
    if isinstance(data, Query):
        raise ParameterError(
            "rows of a query come in an order that tells what is in them, and cannot keep it",
            hint="leave out keep-order",
        )
    KEPT.check(mechanism)


def _history(state: State, place: Path, mechanism: Mechanism, terms: Terms, again: str) -> History:
    """Return the history of the release at a place: one that was begun before, or a new one."""
    history = find(state, place)
    if history is not None and terms.restart:
        history = give_up(state, history.name, scratch_of(place, history.name))
    if history is not None:
        refuse_key(state, history, terms.key)
        return history
    if place.exists() or place.is_symlink():
        raise ReleaseError(f"{str(place)!r} exists already", hint="choose a new folder")
    return begin(
        state,
        place,
        mechanism,
        charge=terms.charge,
        again=again,
        key=terms.key,
        order="hash" if terms.shuffle and mechanism.version > 1 else None,
        keep_rows=terms.keep_rows,
        metadata=terms.metadata,
        fit_bounds=terms.fit_bounds,
    )


def _warned(release: Release, mechanism: Mechanism) -> Release:
    """Warn of a delta that gives some people away: how many there are is known once a file has been read."""
    warn_delta(mechanism.target, len(release) // mechanism.schema.rows_per_person)
    return release


def _check_arguments(
    mechanism: Mechanism,
    *,
    state: str | Path | None,
    population: str | None,
    key: bytes | None,
    again: str,
    keep_rows: int | None,
) -> None:
    if keep_rows is not None:
        check_keep(keep_rows, mechanism.schema)
    if again not in AGAIN or (again == "others" and mechanism.schema.id is not None):
        raise ParameterError("again must be 'refuse', 'charge', or (without an id column) 'others'")
    if key is not None:
        check_key(key)
    if state is not None and population is not None:
        raise ParameterError("a state folder has one ledger: name a state or a population, one of them")
