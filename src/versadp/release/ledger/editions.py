"""Editions of a release as its ledger knows them: each is a release of its own that names the one before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.release.folder.editions import Edition
from versadp.release.ledger.row_store import Pile

if TYPE_CHECKING:
    from versadp.release.ledger.history import History
    from versadp.release.ledger.ledger import Ledger


def editions_from(ledger: Ledger, first: History) -> list[History]:
    """Return a release and all editions that follow it, in order; the last may be unfinished.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from versadp.release.ledger.entries import Begin
    >>> from versadp.release.ledger.history import after
    >>> one = Begin("dea3", "/out", {}, "69de", (8, 4), "refuse")
    >>> two = Begin("b0b1", "/out/edition-0002", {}, "77aa", (8, 4), "charge", edition_of="dea3")
    >>> known = after(after({}, one), two)
    >>> [each.name for each in editions_from(SimpleNamespace(histories=known), known["dea3"])]
    ['dea3', 'b0b1']
    """
    found = [first]
    following = {each.begin.edition_of: each for each in ledger.histories.values() if each.counts}
    while (after := following.get(found[-1].name)) is not None:
        found.append(after)
    return found


def editions_before(ledger: Ledger, history: History) -> tuple[Edition, ...]:
    """Return the editions before a release of the ledger, as its manifest names them."""
    found: list[History] = []
    before = history.begin.edition_of
    while before is not None:
        found.append(ledger.histories[before])
        before = found[-1].begin.edition_of
    return tuple(as_edition(ledger, each, number) for number, each in enumerate(reversed(found), 1))


def as_edition(ledger: Ledger, history: History, number: int) -> Edition:
    """Return what a later manifest says of a release that is complete."""
    assert history.manifest is not None
    rows = sum(file.rows for file in history.files)
    versions = most_versions(ledger, history)
    return Edition(number, rows, history.manifest, history.noise, history.order, versions)


def most_versions(ledger: Ledger, history: History) -> int:
    """Return how many versions of one person a release holds at the most: 1, unless an older versadp appended some."""
    if not any(intake.begin.again == "charge" for intake in history.done[1:]):
        return 1
    tags = Pile(1, ledger.folder)
    for _, rows in ledger.people({(history.name, intake.number) for intake in history.done}):
        tags.add(rows[:, :1])
    counts = (np.unique(rows[:, 0], return_counts=True)[1] for rows in tags.pieces())
    return max((int(found.max(initial=1)) for found in counts), default=1)
