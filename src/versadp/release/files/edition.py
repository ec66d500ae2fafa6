"""A further edition of a release: everybody in a file once more, with noise of their own, in a folder of its own.

In the ledger an edition is a release with a key and a history of its own that names the one before it; so it is
resumed, charged and published as any release. No released row is carried over: the difference of two editions would
show whose record changed.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import DataError, KeyMaterialError, ParameterError, ReleaseError
from versadp.release.files.bounds_step import with_bounds
from versadp.release.files.first_publication import finish
from versadp.release.files.intake import Run
from versadp.release.files.intent import begin, give_up
from versadp.release.files.places import find, scratch_of
from versadp.release.files.refusals import as_begun, is_as_begun, refuse_key, unfit
from versadp.release.files.repartition import Screen
from versadp.release.files.sign import is_signed, refuse_unsignable
from versadp.release.folder.edition_folders import edition_place
from versadp.release.folder.folder import open_folder
from versadp.release.ledger.digests import TAGGED
from versadp.release.ledger.editions import editions_from
from versadp.release.ledger.exposure import exposure_before
from versadp.release.ledger.row_store import Pile
from versadp.release.mechanism import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from versadp.release.files.intake import Feed
    from versadp.release.folder.metadata import Metadata
    from versadp.release.ledger.history import History
    from versadp.release.ledger.state import State
    from versadp.release.mechanism import Mechanism

    Rows = NDArray[np.uint64]


def check_place(out: object, edition_of: object) -> None:
    """Refuse a release that is to go to two places, or to none."""
    if (out is None) == (edition_of is None):
        raise ParameterError(
            "give a new folder, or the one that gets an edition, one of them", hint="--out DIR or --edition-of DIR"
        )


def check_edition(mechanism: Mechanism, again: str) -> None:
    """Refuse arguments with which no edition can be made."""
    if mechanism.schema.id is None:
        raise ParameterError(
            "an edition needs an id column: without one nobody can tell who is in the editions before",
            hint='name the column that identifies people in the schema: id = "..."; or release to a new folder',
        )
    if again == "others":
        raise ParameterError("an edition is of the same people, who are charged once more", hint="leave again out")


@dataclass(frozen=True)
class Terms:
    """Options of an edition, see `release_file`; what it charges one person is in the units of `charges.py`.

    Without metadata an edition says what the one before it said, with its own date; it is signed if that one is.
    """

    charge: tuple[int, int]
    shuffle: bool = True
    key: bytes | None = field(default=None, repr=False)
    restart: bool = False
    without_missing_people: bool = False
    metadata: Metadata | None = None
    sign: bool = False
    keep_rows: int | None = None
    fit_bounds: bool = False


@dataclass(frozen=True)
class Place:
    """Place of the next edition: its folder, the edition before it, and what was begun of it."""

    folder: Path
    number: int
    after: History
    begun: History | None


def next_place(state: State, base: Path) -> Place:
    """Return where the next edition of a release folder goes; one that is unfinished, or was lost, is the next."""
    chain = known_editions(state, base)
    number, last = len(chain), chain[-1]
    folder = edition_place(base, number)
    if number > 1 and (not last.done or not folder.exists()):
        return Place(folder, number, chain[-2], last)
    if last.running is not None and last.running.publish is not None:
        raise ReleaseError("an append is unfinished", hint="run it again first: `versadp append` with the same file")
    if open_folder(folder).manifest.digest != last.manifest:
        raise unfit()
    return Place(edition_place(base, number + 1), number + 1, last, None)


def known_editions(state: State, base: Path) -> list[History]:
    """Return the editions of a release folder by its ledger; the last may be unfinished."""
    first = find(state, base)
    if first is None:
        raise ReleaseError(f"{base.name!r} is not a release folder", hint="an edition follows a release")
    if not first.done:
        raise ReleaseError("the release is unfinished", hint="finish it with `versadp release` first")
    return editions_from(state.ledger, first)


def release_edition(
    state: State,
    base: Path,
    feed: Feed,
    mechanism: Mechanism,
    terms: Terms,
) -> Run | None:
    """Make, or finish, the next edition of a release folder; None if the newest holds just these people already."""
    mechanism = mechanism.in_version(VERSION)
    place = next_place(state, base)
    begun = place.begun
    if begun is not None and terms.restart:
        begun = give_up(state, begun.name, scratch_of(base, begun.name))
    if begun is None and _is_there(state, place.after, feed, mechanism, terms):
        if place.after.running is None:  # a crash may have left it after the end was marked
            shutil.rmtree(scratch_of(base, place.after.name), ignore_errors=True)
        return None
    refuse_unsignable(state, edition_place(base, place.number - 1))
    _refuse_before(state, place, mechanism, terms.key)
    if begun is None or begun.intakes[0].publish is None:
        _refuse_missing(state, place, feed, mechanism, allowed=terms.without_missing_people)
    if begun is None:
        begun = begin(
            state,
            place.folder,
            mechanism,
            charge=terms.charge,
            again="charge",
            key=terms.key,
            order="hash" if terms.shuffle else None,
            keep_rows=terms.keep_rows,
            metadata=terms.metadata or place.after.begin.said,
            edition_of=place.after.name,
            fit_bounds=terms.fit_bounds,
        )
    else:
        refuse_key(state, begun, terms.key)
    mechanism = as_begun(begun, mechanism, shuffle=terms.shuffle, keep_rows=terms.keep_rows, metadata=terms.metadata)
    feed = feed.keeping(terms.keep_rows, mechanism, state, begun)
    mechanism = with_bounds(state, begun.name, feed, mechanism, scratch_of(base, begun.name))
    run = Run(state, feed, mechanism, begun.name, 0)
    sign = terms.sign or is_signed(edition_place(base, place.number - 1))
    finish(run, place.folder, base, sign=sign)
    return run


def _refuse_before(state: State, place: Place, mechanism: Mechanism, key: bytes | None) -> None:
    """Refuse an edition that cannot follow the one before it."""
    before = place.after
    if before.final:
        raise ReleaseError("the release was finalised: it gets no further edition", hint="make a new release")
    if before.begin.noise.schema.id != mechanism.schema.id:
        raise ParameterError(
            "the editions before have another id column, by which people are recognised",
            hint="name the same column in the schema, or release to a new folder",
        )
    if before.begin.noise.schema.rows_per_person != mechanism.schema.rows_per_person:
        raise ParameterError(
            "the editions before have another rows_per_person, and all editions together protect one unit",
            hint="declare the same number in the schema, or release to a new folder",
        )
    if key is not None and state.key_check(key) in {each.begin.check for each in _chain(state, before)}:
        raise KeyMaterialError(
            "the key is that of an edition before: the same noise would show who did not change", hint="leave it out"
        )


def _chain(state: State, last: History) -> list[History]:
    found = [last]
    while (name := found[-1].begin.edition_of) is not None:
        found.append(state.ledger.histories[name])
    return found


def _is_there(state: State, last: History, feed: Feed, mechanism: Mechanism, terms: Terms) -> bool:
    """Return whether a release holds just the people of a file, with this noise: then its command was run again."""
    if not is_as_begun(last, mechanism, shuffle=terms.shuffle, keep_rows=terms.keep_rows):
        return False
    if not last.final:  # whose key is gone
        feed = feed.keeping(terms.keep_rows, last.begin.noise, state, last)
    intakes = last.done
    if intakes[-1].number > 0 and intakes[-1].begin.again == "charge":  # versions that an older versadp appended
        intakes = intakes[-1:]
    then, now = Pile(TAGGED, state.folder), Pile(TAGGED, state.folder)
    for _, rows in state.ledger.people({(last.name, intake.number) for intake in intakes}):
        then.add(rows[:, :TAGGED])
    for rows in _people(state, last, feed, last.noise):
        now.add(rows)
    return now.is_same(then)


def _refuse_missing(state: State, place: Place, feed: Feed, mechanism: Mechanism, *, allowed: bool) -> None:
    """Refuse a file that leaves out people of the edition before."""
    if allowed:
        return
    before = place.after
    if before.noise.version < VERSION:  # which knew ids as they were spelled
        mechanism = mechanism.in_version(VERSION - 1)
    now, missing = Pile(TAGGED, state.folder), np.zeros(0, np.uint64)
    for rows in _people(state, before, feed, mechanism):
        now.add(rows)
    for _, rows in state.ledger.people({(before.name, intake.number) for intake in before.done}):
        there = np.zeros(len(rows), np.bool_)
        for which, _ in now.matches(rows[:, 0]):
            there[which] = True
        missing = np.union1d(missing, rows[~there, 0])
    if len(missing):
        raise DataError(
            f"{len(missing)} people of edition {place.number - 1} are not in the file, and an edition holds everybody",
            hint="add them; or leave them out with without_missing_people=True (--without-missing-people): how many "
            "people an edition has is public, and the editions before keep those who are left out",
        )


def _people(state: State, history: History, feed: Feed, mechanism: Mechanism) -> Iterator[Rows]:
    """Yield the people of a file, with digests as a release of the ledger has them."""
    before = exposure_before(state.ledger)
    screen = Screen(mechanism, state.digest_key, history.name, history.begin.charge, before, None, "charge")
    for batch, _ in feed.source.batches(feed.batch_rows):
        yield screen.rows(batch)[:, :TAGGED]
