"""Folders of a release's editions, and how they hold one another.

The first edition lies in the release folder itself, edition k in `edition-000k` below it. Each appears in one step, a
whole folder on disk and by its manifest in a store, so the newest is the last whose manifest is there: nothing is
listed. The manifest of an edition names the digests of all earlier ones; editions that are there must be those.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from versadp import inputs
from versadp.errors import ParameterError, ReleaseError
from versadp.release.folder.editions import MOST_EDITIONS, Edition
from versadp.release.folder.folder import Folder, open_storage
from versadp.release.folder.manifest import parse_manifest
from versadp.release.folder.part_file import is_inside, spoilt
from versadp.release.folder.storage import storage_of
from versadp.release.object_store import Stored, place_of

if TYPE_CHECKING:
    from os import PathLike

    from versadp.release.folder.manifest import Manifest

Place = TypeVar("Place", Path, Stored, Path | Stored)
_NAME = re.compile(r"edition-([0-9]{4})")


def edition_name(number: int) -> str:
    """Return the name of the folder of a later edition.

    Examples
    --------
    >>> edition_name(2)
    'edition-0002'
    """
    return f"edition-{number:04d}"


def edition_place(base: Place, number: int) -> Place:
    """Return where an edition of the release folder `base` lies.

    Examples
    --------
    >>> edition_place(Path("released"), 1).as_posix(), edition_place(Path("released"), 3).as_posix()
    ('released', 'released/edition-0003')
    """
    return base if number == 1 else base / edition_name(number)


@dataclass(frozen=True)
class Editions:
    """The editions of a release folder, by their manifests.

    Attributes
    ----------
    base : Path or Stored
        Where the first lies.
    manifests : dict of int to Manifest
        Those that are there, by number.
    """

    base: Path | Stored
    manifests: dict[int, Manifest]

    @property
    def newest(self) -> int:
        """Number of the newest edition."""
        return max(self.manifests)

    def known(self) -> tuple[Edition, ...]:
        """Return what the newest manifest knows of all editions, its own last."""
        last = self.manifests[self.newest]
        own = Edition(self.newest, last.rows, last.digest, last.mechanism, last.order)
        return (*last.earlier, own)

    def beside(self, number: int) -> tuple[Edition, ...]:
        """Return all editions but one; of that one the further versions of a person that it may hold."""
        known = self.known()
        own, rest = known[number - 1], (*known[: number - 1], *known[number:])
        return rest if own.versions == 1 else (*rest, replace(own, versions=own.versions - 1))

    def folder(self, number: int) -> Folder:
        """Open an edition."""
        if number not in self.manifests:
            there = ", ".join(map(str, sorted(self.manifests)))
            raise ReleaseError(f"the release has no edition {number}", hint=f"there is: {there}")
        folder = open_storage(storage_of(edition_place(self.base, number)))
        if folder.manifest.digest != self.manifests[number].digest:
            raise ReleaseError("the release was replaced or appended to meanwhile", hint="load it again")
        return folder


def find_editions(path: str | PathLike[str] | Stored) -> tuple[Editions, int]:
    """Return the editions of a release folder, or of the one that an edition's folder lies in; and which is meant.

    That is the newest for a release folder, and the edition itself for its own folder.
    """
    place = place_of(path, "the folder of a release")
    folder = open_storage(storage_of(place))
    own = folder.manifest.edition
    if own == 1:
        base, manifests = place, {1: folder.manifest}
    else:
        named = _NAME.fullmatch(place.name)
        if named is None or int(named[1]) != own:
            raise spoilt(f"this is edition {own} of a release, and its folder is not named {edition_name(own)!r}")
        base, manifests = _parent(place), {own: folder.manifest}
    for number in (n for n in range(1, own) if n not in manifests):
        if (found := _manifest(base, number)) is not None:
            manifests[number] = found
    for number in count(own + 1):
        if number > MOST_EDITIONS or (found := _manifest(base, number)) is None:
            break
        manifests[number] = found
    editions = Editions(base, manifests)
    _check(manifests)
    return editions, editions.newest if own == 1 else own


def _manifest(base: Path | Stored, number: int) -> Manifest | None:
    """Return the manifest of an edition, or None if there is none."""
    try:
        if isinstance(base, Path) and number > 1 and not is_inside(base, edition_name(number)):
            raise spoilt(f"edition {number} is a link to somewhere else")
        return parse_manifest(storage_of(edition_place(base, number)).manifest())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        raise ReleaseError(f"the manifest of edition {number} cannot be read", hint="fetch the release again") from None


def _check(manifests: dict[int, Manifest]) -> None:
    """Refuse editions that are not those of their folders, or not those that a later one names."""
    for number, manifest in manifests.items():
        if manifest.edition != number:
            raise spoilt(f"the folder of edition {number} holds edition {manifest.edition}")
        for earlier in manifest.earlier:
            there = manifests.get(earlier.number)
            if there is not None and there.digest != earlier.manifest:
                raise spoilt(f"edition {earlier.number} is not the one that edition {number} follows")


def open_edition(path: str | PathLike[str] | Stored, number: int | None = None) -> tuple[Folder, tuple[Edition, ...]]:
    """Open an edition of a release folder, by default the newest; return all others of the folder with it."""
    editions, meant = find_editions(path)
    if number is not None:
        number = inputs.whole("edition", number, 1)
        if meant not in {editions.newest, number}:
            raise ParameterError(f"this is the folder of edition {meant}", hint="give the release folder itself")
        meant = number
    return editions.folder(meant), editions.beside(meant)


def all_editions(folder: Folder) -> dict[int, Folder]:
    """Return all editions of the release that a folder is an edition of, by number."""
    editions, _ = find_editions(folder.storage.path)
    if 1 not in editions.manifests:
        raise ReleaseError("the first edition of the release is not there", hint="copy the folder of this edition")
    opened = {number: editions.folder(number) for number in sorted(editions.manifests) if number != _number(folder)}
    return dict(sorted((opened | {_number(folder): folder}).items()))


def _number(folder: Folder) -> int:
    return folder.manifest.edition


def _parent(place: Path | Stored) -> Path | Stored:
    return Stored(place.bucket, place.key.rpartition("/")[0]) if isinstance(place, Stored) else place.parent
