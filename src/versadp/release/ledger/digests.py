"""Digests of what was read, for the ledger only, and a person's place in it.

A digest of raw content falls to guessing (a small record has few versions), so every digest here is keyed, with keys
that never leave the provider:

    tag of a block    = GMAC(content key; place, content)           fast; never stored
    digest of a part  = HMAC(ledger key; all tags in order)         stored in the ledger
    tag of a person   = CBC-MAC(ledger key; id)                     64 bits, stored in the ledger
    digest of a record = CBC-MAC(ledger key, release; content, id)  64 bits, stored in the ledger

64 bits: among 20 million people two share a tag with probability 1e-5, and then one of them is refused, not leaked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from versadp.noise.mac import Texts, cipher, tags
from versadp.noise.words import SLAB_ROWS, mac
from versadp.release.path.columns import texts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.release.path.noised import Layout
    from versadp.release.path.table import Table


TAGGED = 2  # numbers that tell a person and their record: tag, and digest of the record
PERSON = TAGGED + 2  # numbers that the ledger keeps of a person: these, and a charge


class PartDigest:
    """The digest of one part's input, block by block; a `Witness`."""

    def __init__(self, ledger_key: bytes, release: str, number: int) -> None:
        self._key = mac(ledger_key, b"part", release.encode(), number.to_bytes(8, "little"))
        self._gmac = AESGCM(mac(self._key, b"content"))
        self._tags = bytearray()

    def slab(self, number: int, content: NDArray[np.float64]) -> None:
        """See the private content of a block."""
        self._see(0, number, content.shape[1], np.ascontiguousarray(content).data.cast("B"))

    def rest(self, table: Table, first: int) -> None:
        """See what is not noised: public columns, and who the people are."""
        for kind, array in enumerate(table.public.values(), 1):
            if pa.types.is_large_string(array.type):
                self._see_texts(kind, first, texts_of(array))
            elif len(array):
                self._see(kind, first, len(array), np.ascontiguousarray(_values(array)).data.cast("B"))
        if table.names is not None:
            self._see_texts(2**31, first, table.names)

    def _see_texts(self, kind: int, first: int, texts: Texts) -> None:
        for data in (texts.starts, texts.data):
            self._see(kind, first, len(texts), data.tobytes())  # which may be empty

    def _see(self, kind: int, number: int, rows: int, data: Any) -> None:
        # a place may be used again for other content: tags are universal hashes, whose values stay in this object
        place = kind.to_bytes(4, "little") + number.to_bytes(8, "little")
        self._tags += place + rows.to_bytes(8, "little") + self._gmac.encrypt(place, b"", data)

    def finish(self) -> str:
        """Return the digest."""
        return mac(self._key, bytes(self._tags)).hex()


def people_rows(
    ledger_key: bytes, release: str, table: Table, layout: Layout, *, several: bool = False
) -> NDArray[np.uint64]:
    """Return one row a record: tag of the person, and digest of the record.

    Where people may have `several` rows, also a digest of the private values alone, by which equal ones are numbered.
    """
    assert table.names is not None
    named = tags(cipher(mac(ledger_key, b"people")), layout.names(table.names))
    public = [_public(ledger_key, array) for array in table.public.values()]
    digest = cipher(mac(ledger_key, b"record", release.encode()))
    equal = cipher(mac(ledger_key, b"equal rows", release.encode()))
    rows = np.empty((table.rows, TAGGED + several), np.uint64)
    rows[:, 0] = named[:, 0]
    for start in range(0, table.rows, SLAB_ROWS):  # in steps, to need little memory
        some = slice(start, start + SLAB_ROWS)
        private = layout.content({name: values[some] for name, values in table.private.items()}).T
        record = Texts.rows(private, *(column[some] for column in public), named[some])
        rows[some, 1] = tags(digest, record)[:, 0]
        if several:
            rows[some, TAGGED] = tags(equal, Texts.rows(private, named[some]))[:, 0]
    return rows


def charged_rows(people: NDArray[np.uint64], charge: tuple[int, int]) -> NDArray[np.uint64]:
    """Return what the ledger keeps of people: their rows, by tag, and what the release costs them.

    A person is charged for the first row, which stands for all (`repartition.FIRST`); further rows cost nothing.
    """
    ordered = people[people[:, 0].argsort(kind="stable")]
    rows = np.empty((len(people), PERSON), np.uint64)
    rows[:, :TAGGED] = ordered[:, :TAGGED]
    rows[:, TAGGED:] = ordered[:, -1:] * np.array(charge, np.uint64)
    return rows


def _public(ledger_key: bytes, array: pa.Array) -> NDArray[np.uint64]:
    """Return two words a value: a text's tag; or a number and its kind, however many bits the file gave it."""
    if pa.types.is_large_string(array.type):
        return tags(cipher(mac(ledger_key, b"public")), texts_of(array))
    values = _values(array)
    out = np.zeros((len(values), 2), np.uint64)
    if values.dtype.kind == "f":
        out[:, 0], out[:, 1] = values.astype(np.float64).view(np.uint64), 1
    else:
        out[:, 0], out[:, 1] = values.astype(np.uint64), 2 * (values < 0)
    return out


def _values(array: pa.Array) -> NDArray[Any]:
    return np.asarray(array.to_numpy(zero_copy_only=False))
