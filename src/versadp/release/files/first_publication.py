"""The first records of a release appear at its place: made beside it, and moved there by one rename."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from versadp.errors import ReleaseError, StateError
from versadp.release.atomic_write import sync_folder
from versadp.release.checkpoints import reached
from versadp.release.files.places import manifest_at, scratch_of
from versadp.release.files.refusals import unfit
from versadp.release.files.sign import sign_in_place, sign_scratch
from versadp.release.folder.folder import open_folder
from versadp.release.folder.manifest import MANIFEST, read_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from versadp.release.files.intake import Run


def finish(run: Run, place: Path, base: Path, *, sign: bool = False) -> None:
    """Make, or finish, or check the first intake of a release at a place; what is unfinished lies beside `base`."""
    beside = scratch_of(base, run.name)
    if run.history.final:
        raise ReleaseError("the release was finalised", hint="choose a new folder")
    if run.intake.publish is not None and manifest_at(place) == run.intake.publish:
        run.done()
    if place.exists():
        shutil.rmtree(beside, ignore_errors=True)  # a crash may have left it empty
        _compare(run, place)
        if sign:
            sign_in_place(run.state, place, base)
        return
    if len(run.history.done) > 1:
        raise ReleaseError("the release folder is gone, and records had been appended to it", hint="put it back")
    scratch = beside / "release"
    run.make(scratch, empty=True)
    run.publish(scratch, run.intake.files)
    _sweep(scratch)
    if sign:
        sign_scratch(run.state, scratch)
    scratch.rename(place)
    sync_folder(place.parent)
    reached("after publication")
    run.done()
    shutil.rmtree(beside, ignore_errors=True)


def _sweep(scratch: Path) -> None:
    """Remove what a killed process left of other data: only what the manifest names is to be seen."""
    manifest = read_manifest(scratch)
    named = {MANIFEST, *(part.name for part in (*manifest.parts, *manifest.totals))}
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
