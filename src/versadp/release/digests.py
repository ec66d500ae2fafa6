"""Digests of what was read, for the ledger only, and a person's place in it.

A digest of raw content falls to guessing (a small record has few versions), so every digest here is keyed, with keys
that never leave the provider:

    tag of a block    = GMAC(content key; place, content)           fast; never stored
    digest of a part  = HMAC(ledger key; all tags in order)         stored in the ledger
    tag of a person   = HMAC(ledger key; id)                        64 bits, stored in the ledger
    digest of a record = HMAC(ledger key; release, id, content)     64 bits, stored in the ledger

64 bits: among 20 million people two share a tag with probability 1e-5, and then one of them is refused, not leaked.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from versadp.noise.words import BLOCK_ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.release.noising import Channels
    from versadp.release.table import Table


def mac(key: bytes, *parts: bytes) -> bytes:
    """HMAC-SHA256 of the parts, each with its length, so that no two lists of parts look the same."""
    return hmac.digest(key, b"".join(len(part).to_bytes(8, "little") + part for part in parts), "sha256")


class PartDigest:
    """The digest of one part's input, block by block; a `Witness`."""

    def __init__(self, ledger_key: bytes, release: str, number: int) -> None:
        self._key = mac(ledger_key, b"part", release.encode(), number.to_bytes(8, "little"))
        self._gmac = AESGCM(mac(self._key, b"content"))
        self._tags = bytearray()

    def block(self, number: int, content: NDArray[np.float64]) -> None:
        """See the private content of a block."""
        self._see(0, number, content.shape[1], np.ascontiguousarray(content).data.cast("B"))

    def rest(self, table: Table, first: int) -> None:
        """See what is not noised: public columns, and who the people are."""
        for kind, array in enumerate(table.public.values(), 1):
            for data in _buffers(array):
                self._see(kind, first, len(array), data)
        if table.names is not None:
            joined = b"".join(len(name).to_bytes(8, "little") + name for name in table.names)
            self._see(2**31, first, len(table.names), joined)

    def _see(self, kind: int, number: int, rows: int, data: Any) -> None:
        # a place may be used again for other content: tags are universal hashes, whose values stay in this object
        place = kind.to_bytes(4, "little") + number.to_bytes(8, "little")
        self._tags += place + rows.to_bytes(8, "little") + self._gmac.encrypt(place, b"", data)

    def finish(self) -> str:
        """Return the digest."""
        return mac(self._key, bytes(self._tags)).hex()


def _buffers(array: pa.Array) -> list[Any]:
    """Return the bytes of a fresh array without nulls: numbers, or offsets and text."""
    if not pa.types.is_large_string(array.type):
        return [np.ascontiguousarray(array.to_numpy(zero_copy_only=False)).data.cast("B")] if len(array) else []
    _, offsets, text = array.buffers()
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1] if offsets else np.zeros(1)
    return [ends.astype(np.int64).data.cast("B"), bytes(text)[: int(ends[-1])] if text else b""]


def people_rows(
    ledger_key: bytes, release: str, table: Table, channels: Channels, charge: tuple[int, int]
) -> NDArray[np.uint64]:
    """Return one row a person: tag, digest of the record, and what the release costs them (two whole numbers)."""
    assert table.names is not None
    key, head = mac(ledger_key, b"people"), mac(ledger_key, b"release", release.encode())
    rows = np.empty((table.rows, 4), np.uint64)
    rows[:, 2:] = charge
    tags = [hmac.digest(key, b"id" + name, "sha256")[:8] for name in table.names]
    records = [
        hmac.digest(key, b"".join((head, _sized(name), *record)), "sha256")[:8]
        for name, record in zip(table.names, zip(*_records(table, channels), strict=True), strict=True)
    ]
    rows[:, 0] = np.frombuffer(b"".join(tags), "<u8")
    rows[:, 1] = np.frombuffer(b"".join(records), "<u8")
    return rows


def _sized(text: bytes) -> bytes:
    """Return text with its length before it, so that where it ends is not in doubt."""
    return len(text).to_bytes(8, "little") + text


def _records(table: Table, channels: Channels) -> list[list[bytes]]:
    """Return what a record is as bytes, column by column: private content as whole numbers, then public values."""
    count = len(table.numeric) + len(table.codes)
    raw = np.empty((table.rows, count))
    for start in range(0, table.rows, BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        private = [values[rows] for values in (*table.numeric.values(), *table.codes.values())]
        raw[rows] = channels.content(private).T
    text, size = raw.tobytes(), 8 * count
    private_bytes = [text[i * size : (i + 1) * size] for i in range(table.rows)]
    return [private_bytes] + [[_sized(str(v).encode()) for v in array.to_pylist()] for array in table.public.values()]
