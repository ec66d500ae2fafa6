"""When a release may not begin or go on, and when a disk does not take it: each refusal once, with its hint."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from versadp.errors import KeyMaterialError, ParameterError, ReleaseError, SpentError, StateError, VersadpError
from versadp.release.files.charges import spelled
from versadp.release.ledger.exposure import VOUCHED
from versadp.release.path.order import Order
from versadp.release.target.statement import guarantee_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from versadp.release.folder.metadata import Metadata
    from versadp.release.ledger.exposure import Exposure
    from versadp.release.ledger.history import History
    from versadp.release.ledger.state import State
    from versadp.release.mechanism import Mechanism


def refuse_strangers(exposure: Exposure, column: str | None, again: str) -> None:
    """Refuse people who cannot be told from those released before, unless they are to be charged or vouched for."""
    strange = exposure.strange(column)
    if strange and again == "refuse":
        raise SpentError(
            f"people were released {strange} time{'s' * (strange > 1)} before, and without the same id column in both "
            "nobody can tell whether they are here again",
            hint="other people get a ledger of their own: population='...' (--population); for the same people give "
            "the schema that id, or charge everybody for both: again='charge' (--again charge)",
        )


def refuse_spent(exposure: Exposure, budget: tuple[int, int] | None, charge: tuple[int, int], again: str) -> None:
    """Refuse a release without an id column if a person who may be in it would be charged more than the budget."""
    if budget is None:
        return
    most = (0, 0) if again == VOUCHED else exposure.most()
    total = most[0] + charge[0], most[1] + charge[1]
    if any(cost > limit for cost, limit in zip(total, budget, strict=True)):
        raise SpentError(
            f"the budget is spent: {spelled(budget)} a person, and this release would make it {spelled(total)}",
            hint="release nothing more of these people, or with more noise",
        )


def refuse_key(state: State, history: History, key: bytes | None) -> None:
    """Refuse to go on with another key than that with which a release was begun."""
    if key is not None and state.has_key(history.name) and state.key_check(key) != history.begin.check:
        raise KeyMaterialError("the release was begun with another key", hint="leave the key out")


def as_begun(
    history: History,
    mechanism: Mechanism,
    *,
    shuffle: bool,
    keep_rows: int | None = None,
    metadata: Metadata | None = None,
) -> Mechanism:
    """Return the mechanism with which a release was begun; refuse other noise, order, rows or metadata."""
    begun = history.begin.noise
    if begun.version > 1 and shuffle != history.is_sorted:  # version 1 had no other order than that of the input
        raise _unlike(history, f"with shuffle={history.is_sorted}")
    try:
        same = mechanism.in_version(begun.version) == begun
    except ParameterError:  # the older version has no such noise
        same = False
    if same and metadata is not None and not metadata.says(history.begin.said):
        raise _unlike(history, "with other metadata")
    if not same:
        raise _unlike(history, "with another schema or other noise")
    if history.begin.keep_rows != keep_rows:
        raise _unlike(history, f"with keep_rows={history.begin.keep_rows}")
    return begun


def is_as_begun(history: History, mechanism: Mechanism, *, shuffle: bool, keep_rows: int | None = None) -> bool:
    """Return whether a release was made with this noise, in this order."""
    try:
        as_begun(history, mechanism, shuffle=shuffle, keep_rows=keep_rows)
    except (ParameterError, ReleaseError):
        return False
    return True


def _unlike(history: History, how: str) -> VersadpError:
    if history.done:
        return ReleaseError(f"there is a release already, made {how}", hint="choose a new folder")
    return ParameterError(
        f"the release was begun {how}", hint="finish it as it was begun, or begin anew: restart=True (--restart)"
    )


def too_weak(mechanism: Mechanism, before: Order, alike: int) -> ReleaseError:
    """Return our error for people whose addition would guarantee less than the release was made for."""
    target = mechanism.target
    need = before.among if target is None else target.shuffled
    made = "the release guarantees what it states" if target is None else "the mechanism was calibrated for a shuffle"
    return ReleaseError(
        f"{made} among at least {need:,} records with equal public values, and here a group has {alike:,}: "
        f"now {guarantee_line(mechanism, before)}; with these people {guarantee_line(mechanism, Order((alike,)))}",
        hint="collect people until they are enough; or begin anew with accept_weaker=True (--accept-weaker): they are "
        "then protected less, which the statement says",
    )


def unfit() -> StateError:
    """Return our error for a release and a ledger of different age."""
    return StateError(
        "the ledger does not fit the release: one of them was restored from an older copy",
        hint="put the newer one back, of both",
    )


def changed() -> StateError:
    """Return our error for data that are not those of the unfinished release."""
    return StateError(
        "the data are not those with which the release was begun",
        hint="finish it with the same data, or begin anew: restart=True (--restart)",
    )


def lost() -> StateError:
    """Return our error for parts that have other records than the runs from which they were gathered."""
    return StateError(
        "records were lost between runs and parts: the scratch folder was changed, or its disk is damaged",
        hint="begin anew: restart=True (--restart)",
    )


def otherwise(what: str) -> StateError:
    """Return our error for bytes that are not those that the ledger knows."""
    return StateError(
        f"{what} came out otherwise than before: another version of versadp or of arrow made it",
        hint="finish it with the versions with which it was begun",
    )


@contextmanager
def writing() -> Iterator[None]:
    """Turn what the system says about a disk that does not take what is written into our error."""
    try:
        yield
    except OSError as problem:
        raise cannot_write(problem) from None


def cannot_write(problem: BaseException) -> ReleaseError:
    """Return our error for a disk that does not take what is written."""
    return ReleaseError(
        f"the release cannot be written ({_reason(problem)})",
        hint="nothing of it can be seen yet; mend this and run the same command again: it goes on where it stopped",
    )


def _reason(problem: BaseException) -> str:
    number = getattr(problem, "errno", None)
    return errno.errorcode.get(number, type(problem).__name__) if isinstance(number, int) else type(problem).__name__
