"""The first step of a release whose bounds are learnt: counts of its records, and bounds from these, with noise.

The key and the intent, with the charge of the whole release, are on the disk before anything is counted. The bounds
stand in the ledger before any record is noised. Whoever comes after a crash counts again, and gets the same bounds of
the same records, or is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from versadp.engine import at_work
from versadp.errors import DataError, ParameterError
from versadp.noise.words import mac
from versadp.release.bounds.cells import learnable
from versadp.release.bounds.count import counted
from versadp.release.bounds.learn import learnt_schema
from versadp.release.bounds.reapply import on_learnt_bounds, spaceable
from versadp.release.checkpoints import reached
from versadp.release.files.intent import give_up
from versadp.release.files.refusals import changed
from versadp.release.ledger.entries import Bounds

if TYPE_CHECKING:
    from pathlib import Path

    from versadp.release.files.intake import Feed
    from versadp.release.ledger.state import State
    from versadp.release.mechanism import Mechanism


def check_planned(mechanism: Mechanism) -> bool:
    """Return True if bounds are to be learnt; refuse a mechanism that leaves no share of its target for it."""
    learnt = mechanism.schema.bounds
    if learnt is None or learnt.is_free or learnt.clipped or mechanism.schema.as_declared() is not mechanism.schema:
        raise ParameterError(
            "the mechanism is not one whose bounds are still to be learnt",
            hint="calibrate it on the schema that fit_bounds(None, schema, epsilon=..., delta=...) returns; if that "
            "says nothing of bounds, there is nothing to learn about these columns",
        )
    return True


def with_bounds(state: State, name: str, feed: Feed, mechanism: Mechanism, scratch: Path) -> Mechanism:
    """Return the mechanism of a release on bounds that are learnt from its records, or were before a crash.

    Parameters
    ----------
    state : State
    name : str
        Of the release in the ledger.
    feed : Feed
    mechanism : Mechanism
        On the declared bounds, as the release was begun.
    scratch : Path
        Where what is unfinished of it lies.
    """
    history = state.ledger.histories[name]
    if not history.begin.fit_bounds:
        return mechanism
    first = history.intakes[0]
    if history.bounds is not None and (first.publish is not None or first.status != "running"):
        return history.noise
    law = mechanism.schema.bounds
    assert law is not None
    cells = learnable(mechanism.schema, list(law.levels))
    try:
        with at_work(feed.engine) as engine:
            counts = counted(feed.source, mechanism.schema, cells, engine, feed.batch_rows)
    except DataError:
        give_up(state, name, scratch)
        raise
    digest = mac(state.digest_key, b"bounds", name.encode(), counts.astype("<i8").tobytes()).hex()
    if history.bounds is None:
        reached("bounds counted")
        key = state.key(name, history.begin.check)
        schema = learnt_schema(mechanism.schema, counts, key, spaceable(mechanism))
        state.ledger.add(Bounds(name, digest, on_learnt_bounds(mechanism, schema).to_dict()))
        reached("bounds learnt")
    elif history.bounds.input != digest:
        raise changed()
    return state.ledger.histories[name].noise
