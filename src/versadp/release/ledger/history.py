"""What the entries of a ledger say about each release: a fold over the chain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass
class Batch:
    """One run of records into a release: the first, or one that was appended."""

    number: int
    begin: dict[str, Any]
    parts: dict[int, dict[str, Any]] = field(default_factory=dict)
    publish: str | None = None
    status: str = "running"


@dataclass
class History:
    """One release, as the ledger knows it."""

    name: str
    out: str
    mechanism: dict[str, Any]
    check: str
    charge: tuple[int, int]
    again: str
    batches: list[Batch] = field(default_factory=list)
    final: bool = False

    @property
    def done(self) -> list[Batch]:
        """Batches that are part of the release."""
        return [batch for batch in self.batches if batch.status == "done"]

    @property
    def running(self) -> Batch | None:
        """The batch that is under way."""
        return next((batch for batch in self.batches if batch.status == "running"), None)

    @property
    def manifest(self) -> str | None:
        """Digest of the manifest that is in force."""
        return self.done[-1].publish if self.done else None

    @property
    def counts(self) -> bool:
        """Whether anything of it is, or may come to be, known to others."""
        return any(batch.status != "abandoned" for batch in self.batches)

    def parts(self) -> list[dict[str, Any]]:
        """Return the parts that belong to the release, as they stand in its manifest."""
        return [batch.parts[number]["file"] for batch in self.done for number in sorted(batch.parts)]


def histories(entries: Iterable[dict[str, Any]]) -> dict[str, History]:
    """Return all releases of a ledger by name."""
    out: dict[str, History] = {}
    for entry in entries:
        kind = entry["kind"]
        if kind == "begin" and entry["batch"] == 0:
            charge = (entry["charge"][0], entry["charge"][1])
            known = (entry["release"], entry["out"], entry["mechanism"], entry["check"], charge, entry["again"])
            out[entry["release"]] = History(*known)
        if kind == "begin":
            out[entry["release"]].batches.append(Batch(entry["batch"], entry))
        elif kind == "finalize":
            out[entry["release"]].final = True
        elif kind in {"part", "publish", "done", "abandon"}:
            batch = out[entry["release"]].batches[-1]
            if kind == "part":
                batch.parts[entry["number"]] = entry
            elif kind == "publish":
                batch.publish = entry["manifest"]
            else:
                batch.status = "done" if kind == "done" else "abandoned"
    return out
