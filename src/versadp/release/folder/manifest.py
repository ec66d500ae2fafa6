"""The manifest of a release: what an analyst needs to know, and digests of the released parts.

Schema, noise, rows and the privacy statement at both units; no key, no raw value, no digest of raw content, nothing
about the machine. A manifest of version 4 lists the batches of its edition, earlier editions of its folder and what its
publisher says about it (`docs/format.md`). Older ones have the version of their mechanism: version 1 says each numeric
column's grid, versions 2 and 3 an order of the records.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from versadp import inputs
from versadp.errors import ParameterError, ReleaseError, VersadpError
from versadp.release.atomic_write import create
from versadp.release.folder.editions import Batch, Edition, order_of_batches, read_editions
from versadp.release.folder.metadata import NOTHING_SAID, Metadata
from versadp.release.folder.part_file import MAX_TOTALS, PartFile, spoilt, totals_name
from versadp.release.mechanism import Mechanism
from versadp.release.path.order import KEPT, Order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from versadp.release.folder.storage import Storage

MANIFEST = "manifest.json"
MAX_MANIFEST = 64 * 2**20
VERSION = 4  # of new manifests; one of an older mechanism has the version of that
_FORMAT, _VERSIONS = "versadp release", (1, 2, 3, VERSION)
_FIELDS = {"mechanism": dict, "rows": int, "insecure": bool, "parts": list, "privacy": dict, "digest": str}
_OWN_FIELDS = {1: {"grid"}, 2: {"order"}, 3: {"order"}, 4: {"metadata", "edition", "earlier", "batches", "totals"}}


@dataclass(frozen=True)
class Manifest:
    """Manifest of a release; `Manifest.of` makes one, `read_manifest` reads one and checks it.

    Attributes
    ----------
    mechanism : Mechanism
    parts : tuple of PartFile
    insecure : bool
        True if the noise came from a seed.
    privacy : dict
        The statement, and figures at both units.
    digest : str
        Of everything else in it.
    order : Order
        How the records are ordered, batch after batch.
    batches : tuple of Batch
        Who was released together; empty in manifests of older versions, which do not say.
    earlier : tuple of Edition
        Earlier editions of the same folder.
    metadata : Metadata
        What its publisher says about it.
    totals : tuple of PartFile
        Files of noisy totals, one per batch; empty if there are none.
    """

    mechanism: Mechanism
    parts: tuple[PartFile, ...]
    insecure: bool
    privacy: dict[str, Any]
    digest: str
    order: Order = KEPT
    batches: tuple[Batch, ...] = ()
    earlier: tuple[Edition, ...] = ()
    metadata: Metadata = NOTHING_SAID
    totals: tuple[PartFile, ...] = ()

    @classmethod
    def of(
        cls,
        mechanism: Mechanism,
        parts: Iterable[PartFile],
        *,
        insecure: bool = False,
        order: Order = KEPT,
        batches: Sequence[Batch] | None = None,
        earlier: Sequence[Edition] = (),
        metadata: Metadata | None = None,
        totals: Sequence[PartFile] = (),
    ) -> Manifest:
        """Return the manifest of a release that consists of these parts; without `batches` they are one batch."""
        from versadp.release.target.statement import privacy_figures

        parts = tuple(parts)
        rows = sum(part.rows for part in parts)
        if mechanism.version < VERSION:
            batches, metadata = (), None
        elif batches is None:
            batches = (Batch(rows, len(parts), None if order.alike is None else min(order.alike)),)
        figures = privacy_figures(mechanism, rows, order, earlier)
        rest = tuple(batches), tuple(earlier), metadata or NOTHING_SAID, tuple(totals)
        made = cls(mechanism, parts, insecure, figures, "", order, *rest)
        if (mechanism.totals is None) != (not totals):
            raise ReleaseError(
                "some of the records of a release with totals have none, and cannot be written",
                hint="write all records",
            )
        return replace(made, digest=digest_of(made.to_dict()))

    @property
    def version(self) -> int:
        """Version of its format."""
        return min(self.mechanism.version, VERSION)

    @property
    def rows(self) -> int:
        """Number of records."""
        return sum(part.rows for part in self.parts)

    @property
    def edition(self) -> int:
        """Number of the edition: 1 unless there are earlier ones."""
        return len(self.earlier) + 1

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries and numbers, in the order in which they are written."""
        return {
            "format": _FORMAT,
            "version": self.version,
            "mechanism": self.mechanism.to_dict(),
            **self._own_fields(),
            "insecure": self.insecure,
            "parts": [part.to_dict() for part in self.parts],
            "privacy": self.privacy,
            "digest": self.digest,
        }

    def _own_fields(self) -> dict[str, Any]:
        """Return what stands in a manifest of this version between the mechanism and the parts."""
        if self.version == 1:
            return _grid(self.mechanism) | {"rows": self.rows}
        if self.version < VERSION:
            return {"rows": self.rows, "order": self.order.to_dict()}
        return {
            "metadata": self.metadata.to_dict(),
            "edition": self.edition,
            "earlier": [edition.to_dict() for edition in self.earlier],
            "rows": self.rows,
            "batches": [batch.to_dict() for batch in self.batches],
            "totals": [part.to_dict() for part in self.totals] or None,
        }

    @classmethod
    def from_dict(cls, data: Any) -> Manifest:
        """Read what `to_dict` wrote, and refuse anything else."""
        if not isinstance(data, dict):
            raise spoilt("the manifest is not a JSON object")
        known = data.get("format") == _FORMAT and type(data.get("version")) is int and data["version"] in _VERSIONS
        if not known or set(data) != {"format", "version", *_FIELDS, *_OWN_FIELDS[data["version"]]}:
            raise spoilt("this is not a release folder, or one of a version that this versadp does not know")
        if data["digest"] != digest_of(data):
            raise ReleaseError("the manifest was edited", hint="fetch the release again; parameters cannot be changed")
        mechanism = _mechanism(data)
        if wrong := [key for key, kind in _FIELDS.items() if type(data[key]) is not kind]:
            raise spoilt(f"the manifest is not valid: {', '.join(wrong)}")
        parts = tuple(map(PartFile.from_dict, data["parts"]))
        made = cls(mechanism, parts, data["insecure"], data["privacy"], data["digest"], **_read_own_fields(data))
        made._check(data)
        return made

    def _check(self, data: dict[str, Any]) -> None:
        """Refuse a manifest whose numbers contradict one another."""
        if self.rows != data["rows"] or not self.parts:
            raise spoilt("the manifest's row counts do not add up")
        if len({part.name for part in self.parts}) < len(self.parts):
            raise spoilt("the manifest names a part twice")
        if sum(self.order.alike or ()) > self.rows:  # each batch has at least as many records as its smallest group
            raise spoilt("the manifest claims more records with equal public values than there are")
        if (self.mechanism.totals is None) != (not self.totals):
            raise spoilt("the manifest has totals and its mechanism none, or the other way round")
        first = 0
        for batch in self.batches:
            own = self.parts[first : first + batch.parts]
            first += batch.parts
            if sum(part.rows for part in own) != batch.rows:
                raise spoilt("the manifest's row counts do not add up")
        if self.batches and first != len(self.parts):
            raise spoilt("the manifest's row counts do not add up")

    def write(self, folder: Path) -> None:
        """Write it into a folder, in place of one that may be there."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False)
        (folder / MANIFEST).unlink(missing_ok=True)
        create(folder / MANIFEST, text.encode(), mode=0o666)


def refuse_metadata(mechanism: Mechanism, metadata: Metadata | None) -> None:
    """Refuse metadata for a release whose manifest is of an older version and has no place for them."""
    if metadata is not None and mechanism.version < VERSION:
        raise ParameterError(
            f"a release by a mechanism of version {mechanism.version} has no metadata",
            hint="leave them out, or make the mechanism anew from its schema and target",
        )


def read_manifest(folder: Path | Storage) -> Manifest:
    """Read a release's manifest and check it; of the parts only what it says about them."""
    from versadp.release.folder.storage import OnDisk

    storage = OnDisk(folder) if isinstance(folder, Path) else folder
    try:
        text = storage.manifest()
    except (OSError, RuntimeError) as problem:  # RuntimeError for links that go round
        if isinstance(problem, VersadpError):  # a store that does not answer
            raise
        raise ReleaseError(
            f"{str(storage)!r} is not a release folder: it has no readable {MANIFEST}",
            hint="give the folder that versadp wrote",
        ) from None
    return parse_manifest(text)


def parse_manifest(text: bytes) -> Manifest:
    """Return the manifest that a text is."""
    try:
        return Manifest.from_dict(inputs.json_value(text))
    except ReleaseError:
        raise
    except ValueError:
        raise spoilt("the manifest is not valid JSON of finite numbers") from None


def text_of(manifest: Manifest, storage: Storage) -> bytes:
    """Return the text of a manifest that was read from there; refuse if another stands there by now."""
    text = storage.manifest()
    if parse_manifest(text).digest != manifest.digest:
        raise ReleaseError("the release was replaced or appended to meanwhile", hint="load it again")
    return text


def digest_of(data: dict[str, Any]) -> str:
    """Return the digest of everything in a manifest but itself: of released facts only."""
    body = {key: value for key, value in data.items() if key != "digest"}
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _mechanism(data: dict[str, Any]) -> Mechanism:
    """Return a manifest's mechanism, once the manifest is known to be of its version."""
    try:
        mechanism = Mechanism.from_dict(data["mechanism"])
    except VersadpError as problem:
        raise spoilt(f"the manifest's mechanism is not valid: {problem.message}") from None
    if data["version"] != min(mechanism.version, VERSION):
        raise spoilt("the manifest's version is not that of its mechanism")
    if any(data[key] != value for key, value in _grid(mechanism).items()):
        raise spoilt("the manifest's grid does not fit its mechanism")
    return mechanism


def _read_own_fields(data: dict[str, Any]) -> dict[str, Any]:
    """Return what a manifest says in fields that not every version has, as arguments of `Manifest`."""
    if data["version"] < VERSION:
        try:
            return {"order": Order.from_dict(data.get("order", KEPT.to_dict()))}
        except ValueError:
            raise spoilt("the manifest's order of records is not valid") from None
    if not isinstance(data["batches"], list) or not data["batches"]:
        raise spoilt("the manifest's list of batches is not valid")
    batches = tuple(map(Batch.from_dict, data["batches"]))
    if len({batch.alike is None for batch in batches}) > 1:
        raise spoilt("the manifest's list of batches is not valid")
    totals = _read_totals(data["totals"], batches)
    earlier = read_editions(data["earlier"])
    if type(data["edition"]) is not int or data["edition"] != len(earlier) + 1:
        raise spoilt("the manifest's list of editions is not valid")
    try:
        metadata = Metadata.from_dict(data["metadata"])
    except ParameterError as problem:
        raise spoilt(f"the manifest is not valid: {problem.message}") from None
    rest = {"earlier": earlier, "metadata": metadata, "totals": totals}
    return {"order": order_of_batches(batches), "batches": batches} | rest


def _read_totals(data: Any, batches: Sequence[Batch]) -> tuple[PartFile, ...]:
    """Return the files of totals, one per batch; none if there are none."""
    if data is None:
        return ()
    if not isinstance(data, list) or len(data) != len(batches):
        raise spoilt("the manifest's list of totals is not valid")
    files = tuple(PartFile.from_dict(each, totals=True) for each in data)
    for number, (file, batch) in enumerate(zip(files, batches, strict=True)):
        if file.name != totals_name(number) or file.rows != batch.rows or file.size > MAX_TOTALS:
            raise spoilt("the manifest's list of totals is not valid")
    return files


def _grid(mechanism: Mechanism) -> dict[str, dict[str, int]]:
    """Return what version 1 says about grids, the m of each column's `lower + k * width / 2^m`; later ones nothing."""
    if mechanism.version != 1:
        return {}
    return {"grid": {name: m for block in mechanism.blocks for name, m in block.grid().items()}}
