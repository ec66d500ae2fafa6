"""A release on disk: Parquet parts and a manifest.

The manifest says what an analyst needs (schema, noise, grid, rows, the privacy statement at both units) and holds
digests of the released parts only: no key, no raw value, no digest of raw content, nothing about the machine.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from versadp.errors import ReleaseError, VersadpError
from versadp.release.durable import create, sha256, sync_file, sync_folder
from versadp.release.folder.parts import GROUP_ROWS, part_name, part_options, part_rows, plain_table
from versadp.release.mechanism import Mechanism

if TYPE_CHECKING:
    from collections.abc import Iterator

    from versadp.release.release import Release

MANIFEST = "manifest.json"
PART_ROWS = 2**20
MAX_MANIFEST = 64 * 2**20
_HEAD = {"format": "versadp release", "version": 1}
_FIELDS = {"mechanism", "grid", "rows", "insecure", "parts", "privacy", "digest"}
_PART = {"file": str, "rows": int, "bytes": int, "sha256": str}
_PART_NAME = re.compile(r"part-\d{5}\.parquet")


@dataclass(frozen=True)
class Folder:
    """A release folder whose manifest has been read and checked; parts are checked when they are read."""

    path: Path
    mechanism: Mechanism
    rows: int
    insecure: bool
    parts: tuple[dict[str, Any], ...]
    digest: str = ""
    _checked: set[str] = field(default_factory=set, repr=False, compare=False)

    def read(self) -> pa.Table:
        """Return all records."""
        return pa.concat_tables([pq.ParquetFile(self._check(part)).read() for part in self.parts])

    def batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the records part by part."""
        for part in self.parts:
            yield from pq.ParquetFile(self._check(part)).iter_batches(rows)

    def _check(self, part: dict[str, Any]) -> Path:
        """Return the part's path once its bytes are what the manifest says."""
        path: Path = self.path / part["file"]
        if part["file"] not in self._checked:
            if sha256(path) != part["sha256"]:
                raise _spoilt(f"{part['file']} was changed after release")
            self._checked.add(part["file"])
        return path


def write_folder(path: str | Path, release: Release) -> None:
    """Write a release to a new folder; it appears whole or not at all."""
    target = Path(path)
    if target.exists():
        raise ReleaseError(f"{str(target)!r} exists already", hint="a release is written once: choose a new folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.parent / f".{target.name}.{secrets.token_hex(6)}.partial"
    scratch.mkdir()
    try:
        parts = _write_parts(scratch, release)
        write_manifest(scratch, release.mechanism, parts, insecure=release.insecure)
        sync_folder(scratch)
        scratch.rename(target)
        sync_folder(target.parent)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def open_folder(path: str | Path) -> Folder:
    """Read a release folder's manifest and check it."""
    folder = Path(path)
    manifest = _read_manifest(folder)
    if any(manifest.get(key) != value for key, value in _HEAD.items()) or set(manifest) != {*_HEAD, *_FIELDS}:
        raise _spoilt("this is not a release folder, or one of a version that this versadp does not know")
    if manifest["digest"] != _digest(manifest):
        raise ReleaseError("the manifest was edited", hint="fetch the release again; parameters cannot be changed")
    try:
        mechanism = Mechanism.from_dict(manifest["mechanism"])
    except VersadpError as problem:
        raise _spoilt(f"the manifest's mechanism is not valid: {problem.message}") from None
    if manifest["grid"] != _grid(mechanism):
        raise _spoilt("the manifest's grid does not fit its mechanism")
    parts = _check_parts(folder, manifest)
    return Folder(folder, mechanism, manifest["rows"], bool(manifest["insecure"]), parts, manifest["digest"])


def _write_parts(folder: Path, release: Release) -> list[dict[str, Any]]:
    table, schema = plain_table(release.to_arrow()), release.mechanism.schema
    rows, parts = part_rows(schema, PART_ROWS), []
    for number, start in enumerate(range(0, max(len(release), 1), rows)):
        path, piece = folder / part_name(number), table.slice(start, rows)
        pq.write_table(piece, path, row_group_size=GROUP_ROWS, **part_options(schema))
        sync_file(path)
        parts.append(part_entry(path, piece.num_rows))
    return parts


def part_entry(path: Path, rows: int) -> dict[str, Any]:
    """Return what the manifest says about a part."""
    return {"file": path.name, "rows": rows, "bytes": path.stat().st_size, "sha256": sha256(path)}


def write_manifest(folder: Path, mechanism: Mechanism, parts: list[dict[str, Any]], *, insecure: bool = False) -> str:
    """Write a manifest and return its digest."""
    from versadp.release.target.statement import privacy_figures

    rows = sum(part["rows"] for part in parts)
    manifest = _HEAD | {
        "mechanism": mechanism.to_dict(),
        "grid": _grid(mechanism),
        "rows": rows,
        "insecure": insecure,
        "parts": [{name: part[name] for name in _PART} for part in parts],  # in one order, wherever they come from
        "privacy": privacy_figures(mechanism, rows),
    }
    digest = _digest(manifest)
    text = json.dumps(manifest | {"digest": digest}, indent=2, ensure_ascii=False)
    (folder / MANIFEST).unlink(missing_ok=True)
    create(folder / MANIFEST, text.encode(), mode=0o666)
    return digest


def _grid(mechanism: Mechanism) -> dict[str, int]:
    """Return the m of each numeric column's grid, `lower + k * width / 2^m`."""
    return {name: m for block in mechanism.blocks for name, m in block.grid().items()}


def _digest(manifest: dict[str, Any]) -> str:
    """Digest of everything in the manifest but itself: of released facts only."""
    body = {key: value for key, value in manifest.items() if key != "digest"}
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _spoilt(message: str) -> ReleaseError:
    return ReleaseError(message, hint="fetch the release again")


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        if (folder / MANIFEST).stat().st_size > MAX_MANIFEST:
            raise _spoilt("the manifest is too large to be one")
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except OSError:
        raise ReleaseError(
            f"{str(folder)!r} is not a release folder: it has no readable {MANIFEST}",
            hint="give the folder that versadp wrote",
        ) from None
    except (ValueError, RecursionError):
        raise _spoilt("the manifest is not valid JSON") from None
    if not isinstance(manifest, dict):
        raise _spoilt("the manifest is not a JSON object")
    return manifest


def _check_parts(folder: Path, manifest: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    parts, rows = manifest["parts"], manifest["rows"]
    for part in parts if isinstance(parts, list) else [None]:
        if not isinstance(part, dict) or {k: type(v) for k, v in part.items()} != _PART:
            raise _spoilt("the manifest's list of parts is not valid")
        # a name that climbs out of the folder is an attack, not a part
        if not _PART_NAME.fullmatch(part["file"]):
            raise _spoilt("the manifest names a part that versadp does not write")
        path = folder / part["file"]
        if not path.is_file() or path.stat().st_size != part["bytes"]:
            raise _spoilt(f"{part['file']} is missing or has another size")
    if type(rows) is not int or sum(part["rows"] for part in parts) != rows or not parts:
        raise _spoilt("the manifest's row counts do not add up")
    return tuple(parts)
