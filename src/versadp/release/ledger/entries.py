"""Entries of a ledger: one class per kind.

    create     the state folder was made
    begin      a release was begun (`Begin`), or records are being appended to one (`Append`)
    bounds     the bounds of a release were learnt from its records
    part       a part was made; or, if records are sorted, a run of them
    sort       all runs are made, and it is counted how many records are alike in what is public
    output     a part was made of all runs
    totals     the noisy totals of an intake were made
    publish    the manifest was made, and is about to be seen
    done       it is seen
    abandon    what was begun was given up before anybody saw it
    finalize   the release is closed for ever

Records come into a release by intakes: the first one, and one for each append; in the text an intake is a "batch". The
ledger's chain is a keyed digest of each entry's text, so the text of an entry never changes: JSON, its keys in
alphabetical order. Whatever is read is checked, and what this versadp would not write is refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, get_type_hints

from versadp.errors import StateError, VersadpError
from versadp.release.folder.metadata import NOTHING_SAID, Metadata
from versadp.release.folder.part_file import PartFile
from versadp.release.mechanism import Mechanism

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Entry:
    """Base of all entries: a kind, and fields that are written and read alike."""

    kind: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, lists and numbers."""
        out: dict[str, Any] = {"kind": self.kind}
        for key, form in _FORMS[type(self)].items():
            value = getattr(self, form.name)
            if value is not None or not form.optional:
                out[key] = form.write(value)
        return out

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote, and refuse anything else."""
        if not cls.fits(data):
            raise _unknown(f"{cls.kind!r} with other fields")
        held = {}
        for key in data.keys() - {"kind"}:
            form = _FORMS[cls][key]
            try:
                held[form.name] = form.read(data[key])
            except (TypeError, ValueError, VersadpError):
                raise _unknown(f"{cls.kind!r} with a {key!r} of another kind") from None
        return cls(**held)

    @classmethod
    def fits(cls, data: dict[str, Any]) -> bool:
        """Return whether these are the keys of such an entry."""
        forms = _FORMS[cls]
        needed = {key for key, form in forms.items() if not form.optional}
        return data.get("kind") == cls.kind and {"kind", *needed} <= set(data) <= {"kind", *forms}

    def text(self) -> str:
        """Return the entry as it is written; the chain is over this text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, sort_keys=True)


@dataclass(frozen=True)
class ReleaseEntry(Entry):
    """An entry about one release, by its name in the ledger."""

    release: str


@dataclass(frozen=True)
class IntakeEntry(ReleaseEntry):
    """An entry about one intake of a release, by its number."""

    intake: int


@dataclass(frozen=True)
class Create(Entry):
    """A state folder was made, perhaps for several releases, perhaps with what one person may be charged in all."""

    kind = "create"
    version: int
    shared: bool
    budget: tuple[int, int] | None


@dataclass(frozen=True)
class Begin(ReleaseEntry):
    """A release was begun: its key is on the disk, and everybody in its first intake is charged.

    The order is "hash" if its records are sorted; None, as in older ledgers, if they stay as they come. `metadata` is
    what its manifests say of it, date and software among it; older ledgers have none. An edition names the release of
    the edition before it. With `keep_rows` the key chose so many rows of each person who has more. With `fit_bounds`
    the mechanism is on the declared bounds, and a `Bounds` entry follows.
    """

    kind = "begin"
    out: str
    mechanism: dict[str, Any]
    check: str
    charge: tuple[int, int]
    again: str
    intake: int = 0
    order: str | None = None
    metadata: dict[str, Any] | None = None
    edition_of: str | None = None
    keep_rows: int | None = None
    fit_bounds: bool | None = None

    @property
    def said(self) -> Metadata:
        """The metadata of its manifests."""
        return NOTHING_SAID if self.metadata is None else Metadata.from_dict(self.metadata)

    @property
    def noise(self) -> Mechanism:
        """The mechanism, in the version in which it was begun."""
        return Mechanism.from_dict(self.mechanism)

    @property
    def names_people(self) -> bool:
        """True if the release has an id column, by which people are recognised."""
        return self.noise.schema.id is not None


@dataclass(frozen=True)
class Bounds(ReleaseEntry):
    """Bounds were learnt: a keyed digest of the counts, and the mechanism on the effective bounds."""

    kind = "bounds"
    input: str
    mechanism: dict[str, Any]

    @property
    def noise(self) -> Mechanism:
        """The mechanism on the bounds that were learnt."""
        return Mechanism.from_dict(self.mechanism)


@dataclass(frozen=True)
class Append(IntakeEntry):
    """A later intake was begun, whose people are charged as those of the first, unless it has a charge of its own."""

    kind = "begin"
    again: str
    charge: tuple[int, int] | None = None
    keep_rows: int | None = None


@dataclass(frozen=True)
class Part(IntakeEntry):
    """A part of an intake was made: keyed digests of what was read and of its people, and what was written."""

    kind = "part"
    number: int
    input: str
    file: PartFile
    outside: dict[str, int]
    people: str | None = None


@dataclass(frozen=True)
class Sort(IntakeEntry):
    """All runs of an intake are made; `alike` is the size of its smallest group with equal public values.

    It is `weaker` (True, or left out) if its provider accepted that it guarantees less than the release was made for.
    """

    kind = "sort"
    alike: int
    weaker: bool | None = None


@dataclass(frozen=True)
class Output(IntakeEntry):
    """A part of an intake whose records are sorted was made."""

    kind = "output"
    number: int
    file: PartFile


@dataclass(frozen=True)
class Sheet(IntakeEntry):
    """Noisy totals of an intake were made: a keyed digest of the exact ones, and the file."""

    kind = "totals"
    input: str
    file: PartFile


@dataclass(frozen=True)
class Publish(IntakeEntry):
    """All parts of an intake are made, and so is the manifest that has this digest."""

    kind = "publish"
    manifest: str


@dataclass(frozen=True)
class Done(IntakeEntry):
    """An intake is part of its release, for everybody to see."""

    kind = "done"


@dataclass(frozen=True)
class Abandon(IntakeEntry):
    """An intake was given up: nothing of it was ever seen, and no person is charged."""

    kind = "abandon"


@dataclass(frozen=True)
class Finalize(ReleaseEntry):
    """The key of a release is to be destroyed: nothing comes after this."""

    kind = "finalize"


KINDS: tuple[type[Entry], ...] = (
    Create,
    Begin,
    Bounds,
    Append,
    Part,
    Sort,
    Output,
    Sheet,
    Publish,
    Done,
    Abandon,
    Finalize,
)


def read_entry(text: str) -> Entry:
    """Return the entry that a text of the ledger says.

    Examples
    --------
    >>> read_entry('{"batch": 0, "kind": "done", "release": "dea30c62fae8f140"}')
    Done(release='dea30c62fae8f140', intake=0)
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise _unknown("no JSON object")
    known = [kind for kind in KINDS if kind.kind == data.get("kind")]
    if not known:
        raise _unknown("another kind")
    # two entries say "begin", and are told by their fields
    return next((kind for kind in known if kind.fits(data)), known[0]).from_dict(data)


def _unknown(what: str) -> StateError:
    return StateError(
        f"the ledger has an entry that this versadp does not know: {what}",
        hint="use the versadp that wrote it, or a newer one",
    )


# how a value of each type stands in the text -------------------------------------------------------------------------


class _Form(NamedTuple):
    """A field: its name, whether its key may be left out, and how its value is read and written."""

    name: str
    optional: bool
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


def _exactly(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) is not kind:  # True is no number here
            raise TypeError
        return value

    return read


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value


def _pair(value: Any) -> tuple[int, int]:
    epsilon, delta = _exactly(list)(value)
    return _count(epsilon), _count(delta)


def _counts(value: Any) -> dict[str, int]:
    return {name: _count(number) for name, number in _exactly(dict)(value).items()}


def _as_it_is(value: Any) -> Any:
    return value


_KEYS = {"intake": "batch"}
_TYPES: dict[Any, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    str: (_exactly(str), _as_it_is),
    str | None: (_exactly(str), _as_it_is),
    int: (_count, _as_it_is),
    int | None: (_count, _as_it_is),
    bool: (_exactly(bool), _as_it_is),
    bool | None: (_exactly(bool), _as_it_is),
    tuple[int, int]: (_pair, list),
    tuple[int, int] | None: (
        lambda value: None if value is None else _pair(value),
        lambda value: None if value is None else list(value),
    ),
    dict[str, int]: (_counts, _as_it_is),
    dict[str, Any]: (_exactly(dict), _as_it_is),
    dict[str, Any] | None: (lambda value: Metadata.from_dict(value).to_dict(), _as_it_is),
    PartFile: (PartFile.recorded, PartFile.to_dict),
}


def _forms(kind: type[Entry]) -> dict[str, _Form]:
    """Return the fields of an entry by their keys in the text."""
    types = get_type_hints(kind)
    return {
        _KEYS.get(field.name, field.name): _Form(field.name, field.default is None, *_TYPES[types[field.name]])
        for field in fields(kind)
    }


_FORMS = {kind: _forms(kind) for kind in KINDS}
