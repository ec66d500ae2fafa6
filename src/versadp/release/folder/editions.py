"""Batches and editions of a release folder: which people were released together, and how often.

An *edition* holds each person once; its people come in *batches*, each shuffled by itself. A person is in one batch of
an edition, so an edition guarantees what its weakest batch does, and what a folder tells about somebody who is in all
its editions is the composition of these guarantees.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from versadp.errors import VersadpError
from versadp.release.folder.part_file import spoilt
from versadp.release.mechanism import Mechanism
from versadp.release.path.order import KEPT, Order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from versadp.privacy import PrivacyProfile

MOST_EDITIONS = 1000  # of one folder; a guarantee composed so often is none
MOST_VERSIONS = 10_000  # of one person within an edition, in folders of older versions
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Batch:
    """People who were released together.

    Attributes
    ----------
    rows, parts : int
        How many records it has, and in how many files they are.
    alike : int, optional
        How many records its smallest group with equal public values has; None if the records were not shuffled.
    weaker : bool
        True if its provider accepted that it guarantees less than the release was made for.

    Examples
    --------
    >>> Batch.from_dict(Batch(1000, 1, alike=412).to_dict())
    Batch(rows=1000, parts=1, alike=412, weaker=False)
    """

    rows: int
    parts: int
    alike: int | None = None
    weaker: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return what stands in a manifest."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, data: Any) -> Batch:
        """Read what `to_dict` wrote, and refuse anything else."""
        if not isinstance(data, dict) or set(data) != {field.name for field in fields(cls)}:
            raise spoilt("the manifest's list of batches is not valid")
        counts = [data["rows"], data["parts"], *([] if data["alike"] is None else [data["alike"]])]
        if any(type(count) is not int or count < 0 for count in counts) or type(data["weaker"]) is not bool:
            raise spoilt("the manifest's list of batches is not valid")
        if (data["alike"] or 0) > data["rows"]:
            raise spoilt("the manifest claims more records with equal public values than there are")
        return cls(**data)


def order_of_batches(batches: Sequence[Batch]) -> Order:
    """Return how the records of some batches are ordered.

    Examples
    --------
    >>> order_of_batches([Batch(1000, 1, 412), Batch(90, 1, 90)])
    Order(alike=(412, 90))
    """
    if any(batch.alike is None for batch in batches):
        return KEPT
    return Order(tuple(batch.alike or 0 for batch in batches))


@dataclass(frozen=True)
class Edition:
    """An earlier edition of a release, as the manifest of a later one knows it.

    Attributes
    ----------
    number : int
        The first is 1.
    rows : int
        How many records it has.
    manifest : str
        Digest of its manifest.
    mechanism : Mechanism
        Its noise.
    order : Order
        How its records are ordered, and how many hide one another.
    versions : int
        How many versions of one person it may hold: 1, but in folders of older versions.

    Examples
    --------
    >>> from versadp import Bounded, Schema, noise
    >>> mech = Mechanism(Schema({"age": Bounded(18, 90)}), noise={"age": noise.Window(epsilon=1)})
    >>> round(Edition(1, 1000, "0" * 64, mech, KEPT, versions=3).privacy("record").pure_epsilon, 6)
    3.0
    """

    number: int
    rows: int
    manifest: str
    mechanism: Mechanism
    order: Order
    versions: int = 1

    def privacy(self, unit: str | None) -> PrivacyProfile:
        """Return what it guarantees by itself."""
        profile = self.mechanism.privacy(unit, shuffled=self.order.among)
        return profile if self.versions == 1 else profile.compose(self.versions)

    def to_dict(self) -> dict[str, Any]:
        """Return what stands in a manifest."""
        return {
            "number": self.number,
            "rows": self.rows,
            "manifest": self.manifest,
            "mechanism": self.mechanism.to_dict(),
            "order": self.order.to_dict(),
            "versions": self.versions,
        }

    @classmethod
    def from_dict(cls, data: Any) -> Edition:
        """Read what `to_dict` wrote, and refuse anything else."""
        if not isinstance(data, dict) or set(data) != {field.name for field in fields(cls)}:
            raise spoilt("the manifest's list of editions is not valid")
        try:
            made = cls(
                **data | {"mechanism": Mechanism.from_dict(data["mechanism"]), "order": Order.from_dict(data["order"])}
            )
        except (VersadpError, ValueError):
            raise spoilt("the manifest's list of editions is not valid") from None
        counts = [(made.number, MOST_EDITIONS), (made.rows, 2**63), (made.versions, MOST_VERSIONS)]
        if any(type(count) is not int or not 0 <= count <= most for count, most in counts) or not made.versions:
            raise spoilt("the manifest's list of editions is not valid")
        if type(made.manifest) is not str or not _DIGEST.fullmatch(made.manifest):
            raise spoilt("the manifest's list of editions is not valid")
        if sum(made.order.alike or ()) > made.rows:
            raise spoilt("the manifest claims more records with equal public values than there are")
        return made


def composed(own: PrivacyProfile, earlier: Sequence[Edition], unit: str | None) -> PrivacyProfile:
    """Return the composed guarantee of an edition and all earlier ones, for a person in all of them."""
    from versadp.privacy import compose

    return compose(own, *(edition.privacy(unit) for edition in earlier)) if earlier else own


def read_editions(data: Any) -> tuple[Edition, ...]:
    """Return the earlier editions that a manifest names: 1, 2, ... in order."""
    if not isinstance(data, list) or len(data) >= MOST_EDITIONS:
        raise spoilt("the manifest's list of editions is not valid")
    editions = tuple(map(Edition.from_dict, data))
    if [edition.number for edition in editions] != list(range(1, len(editions) + 1)):
        raise spoilt("the manifest's list of editions is not valid")
    return editions
