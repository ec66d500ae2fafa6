"""A file of any size into a release folder, in bounded memory, so that no crash does harm.

The key and the intent are on the disk before any noise is made; `running.py` says what follows.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from versadp.errors import KeyMaterialError, ParameterError, ReleaseError
from versadp.noise.words import check_key
from versadp.release.files.begin import begin, check_same, find, give_up, home_of, look, scratch_of
from versadp.release.files.part import writing
from versadp.release.files.run import Run
from versadp.release.files.sources import BATCH_ROWS
from versadp.release.ledger.charges import allowance, charge_of
from versadp.release.ledger.state import State
from versadp.release.release import Release, load

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.engine import Engine
    from versadp.release.mechanism import Mechanism

AGAIN = ("refuse", "charge", "others")


def release_file(
    data: str | Path,
    out: str | Path,
    mechanism: Mechanism,
    *,
    state: str | Path | None = None,
    key: bytes | None = None,
    again: str = "refuse",
    target: tuple[float, float] | None = None,
    budget: tuple[float, float] | None = None,
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
    data : str or Path
        A Parquet, CSV or Arrow file, or a folder of Parquet files.
    out : str or Path
        The release folder; it appears when it is complete.
    mechanism : Mechanism
    state : str or Path, optional
        Where keys and ledger are kept; a folder of its own beside the release by default. One folder may serve several
        releases: then it knows who was released before.
    key : bytes, optional
        32 secret random bytes; drawn by default.
    again : {"refuse", "charge", "others"}
        What to do about people whom the state folder knows from before: refuse, or charge them for one release more.
        Without an id column nobody can be recognised, so every further release is refused, unless everybody is
        charged, or the caller vouches that these are other people.
    target : tuple of float, optional
        (epsilon, delta) for a whole record that the release is charged with; by default what the mechanism keeps.
    budget : tuple of float, optional
        (epsilon, delta) that one person may be charged in all; said when the state folder is first used.
    restart : bool
        Give up an unfinished release and its key, and begin anew.
    batch_rows : int
        Records read at a time; what is released does not depend on it.
    engine : str or Engine
        Where the work runs: "auto", "local" or "threads".
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
    ...     release_file(folder + "/people.parquet", folder + "/released", mech)
    <Release: 3 records, 1 column, on disk>
    """
    if again not in AGAIN or (again == "others" and mechanism.schema.id is not None):
        raise ParameterError("again must be 'refuse', 'charge', or (without an id column) 'others'")
    if key is not None:
        check_key(key)
    place = Path(out).absolute()
    with writing():
        home = home_of(place, state)
    source = look(data, mechanism)
    charge = charge_of(mechanism, target)
    limit = None if budget is None else allowance(*budget)
    with writing():
        if place.exists() and not home.exists():
            raise ReleaseError(f"{str(out)!r} exists already", hint="a release is written once: choose a new folder")
    with writing(), State(home, make=True, shared=state is not None, budget=limit) as opened:
        run = Run(opened, source, mechanism, batch_rows, engine, progress)
        history = find(opened, place)
        if history is not None and restart:
            history = give_up(opened, history, scratch_of(place, history.name))
        if history is None:
            if place.exists() or place.is_symlink():
                raise ReleaseError(f"{str(out)!r} exists already", hint="choose a new folder")
            history = begin(opened, place, mechanism, charge=charge, again=again, key=key)
        elif key is not None and opened.has_key(history.name) and opened.key_check(key) != history.check:
            raise KeyMaterialError("the release was begun with another key", hint="leave the key out")
        check_same(history, mechanism)
        run.release(history, place)
    return load(place)
