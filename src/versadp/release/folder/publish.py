"""A release into a store: parts first, each in one step under its own name, the manifest last.

A store renames nothing, so there is no folder that appears whole; but a release is what its manifest names, and until
the manifest is there nobody sees one. Whoever is stopped does the same again: the same bytes come under the same names.
A release that was appended to keeps its parts and gets new ones, so its manifest is replaced in one step too, and who
reads meanwhile finds the old one and all that it names.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from versadp.errors import ReleaseError
from versadp.release.checkpoints import reached
from versadp.release.folder.manifest import MANIFEST, Manifest, parse_manifest, text_of
from versadp.release.folder.signature import SIGNATURE, copied
from versadp.release.folder.storage import InStore
from versadp.release.object_store import PIECE

if TYPE_CHECKING:
    from versadp.release.folder.folder import Folder
    from versadp.release.folder.metadata import Metadata
    from versadp.release.folder.storage import Storage
    from versadp.release.object_store import Stored
    from versadp.release.release import Release


def put_release(target: Stored, release: Release, folder: Folder | None, metadata: Metadata | None = None) -> None:
    """Put a release into a store; one in memory is written out first, so that its bytes are those of a folder."""
    from versadp.release.folder.edition_folders import all_editions, edition_place
    from versadp.release.folder.folder import open_folder, write_folder

    if folder is not None:
        for number, edition in all_editions(folder).items():  # an edition follows what is there
            _put(edition_place(target, number), edition.storage, edition.manifest)
        return

    with tempfile.TemporaryDirectory(prefix="versadp-") as place:
        write_folder(Path(place, "released"), release, metadata=metadata)
        made = open_folder(Path(place, "released"))
        _put(target, made.storage, made.manifest)


def _put(target: Stored, storage: Storage, manifest: Manifest) -> None:
    there, text = _there(target), text_of(manifest, storage)
    signature = copied(storage)
    if there is not None and there.digest == manifest.digest:
        _put_signature(target, signature)
        return
    known = () if there is None else there.parts
    if there is not None and (there.mechanism != manifest.mechanism or manifest.parts[: len(known)] != known):
        raise ReleaseError(f"{str(target)!r} has another release already", hint="choose a new address")
    for part in (*manifest.parts[len(known) :], *manifest.totals):
        found = storage.opened(part)
        data = found.read_bytes() if isinstance(found, Path) else _read(found)
        (target / part.name).put(data)
        reached("part put")
    _put_signature(target, signature)  # it fits the manifest before this one too
    (target / MANIFEST).put(text)
    reached("manifest put")


def _put_signature(target: Stored, signature: bytes | None) -> None:
    if signature is not None and signature != copied(InStore(target)):
        (target / SIGNATURE).put(signature)
        reached("signature put")


def _there(target: Stored) -> Manifest | None:
    """Return the manifest that is there already; what cannot be read as one counts as none."""
    try:
        return parse_manifest(InStore(target).manifest())
    except FileNotFoundError:
        return None


def _read(file: object) -> bytes:
    pieces = []
    with file as opened:  # type: ignore[attr-defined] # a file of arrow's
        while data := opened.read(PIECE):
            pieces.append(data)
    return b"".join(pieces)
