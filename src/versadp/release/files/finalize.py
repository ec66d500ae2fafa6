"""Closing a release for ever."""

from __future__ import annotations

from pathlib import Path

from versadp.errors import ReleaseError
from versadp.release.files.places import find, home_of
from versadp.release.files.refusals import writing
from versadp.release.folder.folder import open_folder
from versadp.release.ledger.editions import editions_from
from versadp.release.ledger.entries import Finalize
from versadp.release.ledger.state import State


def finalize(out: str | Path, *, state: str | Path | None = None) -> None:
    """Destroy the keys of a release, one per edition: nothing can be added, and its noise cannot be drawn again.

    A state folder that serves this release only loses the key of its ledger too: its digests then mean nothing. One
    that was named with `state` keeps it, so that people are still recognised.

    Parameters
    ----------
    out : str or Path
        The release folder.
    state : str or Path, optional
        Where keys and ledger are kept; by default the ledger of this user that knows the release.

    Examples
    --------
    >>> import tempfile, pandas as pd, versadp as vdp
    >>> mech = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90)}), scale=0.25, exact_rate=0.2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame({"age": [30, 41, 77]}).to_parquet(folder + "/people.parquet")
    ...     first = vdp.release_file(folder + "/people.parquet", folder + "/released", mech)
    ...     finalize(folder + "/released")
    ...     sorted(path.name for path in Path(folder, "released.provider").glob("*.key"))
    []
    """
    place = Path(out).absolute()
    open_folder(place)
    with writing(), State(home_of(place, state)) as opened:
        first = find(opened, place)
        assert first is not None
        editions = editions_from(opened.ledger, first)
        if any(history.running is not None for history in editions):
            raise ReleaseError("something is unfinished", hint="finish it, or give it up with --restart, first")
        for history in reversed(editions):  # the newest first: a crash leaves a release that can be finalised
            if not history.final:
                opened.ledger.add(Finalize(history.name))
            opened.destroy_key(history.name)
        if not opened.first.shared:
            opened.destroy_ledger_key()
