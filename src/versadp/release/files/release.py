"""A file of any size into a release folder, in bounded memory, so that no crash does harm.

The key and the intent are on the disk before any noise is made; `intake.py` says what follows. The release is made
beside its place and appears there by one rename.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from versadp import inputs
from versadp.errors import KeyMaterialError, ParameterError, ReleaseError, StateError
from versadp.noise.words import check_key
from versadp.release.atomic_write import sync_folder
from versadp.release.checkpoints import reached
from versadp.release.files.charges import allowance, charge_of
from versadp.release.files.intake import Feed, Run
from versadp.release.files.intent import begin, give_up
from versadp.release.files.places import POPULATION, find, home_of, manifest_at, scratch_of
from versadp.release.files.queries import Query
from versadp.release.files.refusals import as_begun, unfit, writing
from versadp.release.files.sign import sign_in_place, sign_scratch
from versadp.release.files.sources import BATCH_ROWS, open_fitting
from versadp.release.folder.folder import open_folder
from versadp.release.folder.manifest import MANIFEST, read_manifest, refuse_metadata
from versadp.release.ledger.ledger import LEDGER
from versadp.release.ledger.state import State
from versadp.release.path.order import KEPT, Order
from versadp.release.release import Release, load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from versadp.engine import Engine
    from versadp.release.files.sources import Source
    from versadp.release.folder.metadata import Metadata
    from versadp.release.mechanism import Mechanism

AGAIN = ("refuse", "charge", "others")


def release_file(
    data: str | Path | Query | Source,
    out: str | Path,
    mechanism: Mechanism,
    *,
    shuffle: bool = True,
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
        The release folder; it appears when it is complete.
    mechanism : Mechanism
    shuffle : bool
        Sort the records by a public hash of what is released of them, so that their order tells nothing; see
        `Mechanism.release`. Noised records are then written twice. What is appended later is sorted by itself.
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
        (epsilon, delta) for a whole record that the release is charged with; by default what the mechanism keeps.
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
    _check_arguments(mechanism, state=state, population=population, key=key, again=again)
    refuse_metadata(mechanism, metadata)
    place = inputs.path(out, "a new folder").absolute()
    with writing():
        home = home_of(place, state, population or mechanism.schema.population or POPULATION)
    if isinstance(data, Query) and not shuffle:
        raise ParameterError(
            "rows of a query come in an order that tells what is in them, and cannot keep it",
            hint="leave out keep-order",
        )
    feed = Feed(open_fitting(data, mechanism.schema, home), batch_rows, engine, progress)
    charge = charge_of(mechanism, target)
    if not shuffle:
        KEPT.check(mechanism)
    elif feed.source.rows is not None:
        Order((feed.source.rows,)).check(mechanism)
    limit = None if budget is None else allowance(*budget)
    with writing():
        if place.exists() and not (home / LEDGER).exists():
            raise ReleaseError(f"{str(out)!r} exists already", hint="a release is written once: choose a new folder")
    with writing(), State(home, make=True, budget=limit) as opened:
        history = find(opened, place)
        if history is not None and restart:
            history = give_up(opened, history.name, scratch_of(place, history.name))
        if history is None:
            if place.exists() or place.is_symlink():
                raise ReleaseError(f"{str(out)!r} exists already", hint="choose a new folder")
            order = "hash" if shuffle and mechanism.version > 1 else None
            history = begin(
                opened, place, mechanism, charge=charge, again=again, key=key, order=order, metadata=metadata
            )
        elif key is not None and opened.has_key(history.name) and opened.key_check(key) != history.begin.check:
            raise KeyMaterialError("the release was begun with another key", hint="leave the key out")
        begun = as_begun(history, mechanism, shuffle=shuffle, metadata=metadata)
        _finish(Run(opened, feed, begun, history.name, 0), place, sign=sign)
    return load(place)


def _check_arguments(
    mechanism: Mechanism, *, state: str | Path | None, population: str | None, key: bytes | None, again: str
) -> None:
    if again not in AGAIN or (again == "others" and mechanism.schema.id is not None):
        raise ParameterError("again must be 'refuse', 'charge', or (without an id column) 'others'")
    if key is not None:
        check_key(key)
    if state is not None and population is not None:
        raise ParameterError("a state folder has one ledger: name a state or a population, one of them")


def _finish(run: Run, place: Path, *, sign: bool) -> None:
    """Make, or finish, or check the first intake of a release."""
    if run.history.final:
        raise ReleaseError("the release was finalised", hint="choose a new folder")
    if run.intake.publish is not None and manifest_at(place) == run.intake.publish:
        run.done()
    if place.exists():
        shutil.rmtree(scratch_of(place, run.name), ignore_errors=True)  # a crash may have left it empty
        _compare(run, place)
        if sign:
            sign_in_place(run.state, place, run.name)
        return
    if len(run.history.done) > 1:
        raise ReleaseError("the release folder is gone, and records had been appended to it", hint="put it back")
    scratch = scratch_of(place, run.name) / "release"
    run.make(scratch, empty=True)
    run.publish(scratch, run.intake.files)
    _sweep(scratch)
    if sign:
        sign_scratch(run.state, scratch)
    scratch.rename(place)
    sync_folder(place.parent)
    reached("after publication")
    run.done()
    shutil.rmtree(scratch.parent, ignore_errors=True)


def _sweep(scratch: Path) -> None:
    """Remove what a killed process left of other data: only what the manifest names is to be seen."""
    named = {MANIFEST, *(part.name for part in read_manifest(scratch).parts)}
    for path in scratch.iterdir():
        if path.name not in named:
            path.unlink()
    sync_folder(scratch)


def _compare(run: Run, place: Path) -> None:
    """Refuse if the release holds other records than the source."""
    if run.history.manifest != open_folder(place).manifest.digest:
        raise unfit()
    try:
        run.check(place)
    except StateError:
        raise ReleaseError(f"{place.name!r} exists already, with other records", hint="choose a new folder") from None
