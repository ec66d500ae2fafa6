"""Tags of many texts at once: a message authentication code that works side by side.

    state_0 = AES(length),   state_j = AES(state_{j-1} XOR block_j),   tag = the last state

is CBC-MAC with the length first. No message is then the beginning of another, and for such messages CBC-MAC is a
pseudorandom function if AES is one (Petrank and Rackoff, 2000), up to (blocks in all)² / 2^128: 1e-22 for twenty
million records of ten blocks. HMAC of one short text costs 2.7 µs, nearly all of it in setting out; here a million
texts take their steps together, and a step costs a few nanoseconds a text.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Tags = NDArray[np.uint64]

BLOCK = 16
FEW = 8
# the first k of 16 bytes, as two words
_FIRST = np.frombuffer(b"".join(b"\xff" * k + bytes(BLOCK - k) for k in range(BLOCK + 1)), "<u8").reshape(-1, 2)


@dataclass(frozen=True)
class Texts:
    """Texts of any length, end to end and nothing else: text i is `data[starts[i]:starts[i + 1]]`."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> Self:
        """Return texts one by one as `Texts`."""
        starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(texts), np.uint8), starts)

    @classmethod
    def rows(cls, *columns: NDArray[Any]) -> Self:
        """Return the rows of arrays that stand side by side, each row as one text."""
        joined = np.concatenate([np.ascontiguousarray(c).view(np.uint8).reshape(len(c), -1) for c in columns], axis=1)
        return cls(joined.ravel(), np.arange(len(joined) + 1, dtype=np.int64) * joined.shape[1])

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, rows: slice) -> Texts:
        start, stop, _ = rows.indices(len(self))
        starts = self.starts[start : stop + 1]
        return Texts(self.data[starts[0] : starts[-1]], starts - starts[0])


def cipher(key: bytes) -> Cipher[modes.ECB]:
    """Return AES-256 as a function of blocks."""
    return Cipher(algorithms.AES(key), modes.ECB())  # noqa: S305 - the one building block, and never used bare


def encrypt(function: Cipher[modes.ECB], blocks: Tags) -> Tags:
    """Return blocks, two words each, encrypted."""
    out = function.encryptor().update(np.ascontiguousarray(blocks).data.cast("B")) if blocks.size else b""
    return np.frombuffer(out, np.uint64).reshape(blocks.shape)


def tags(function: Cipher[modes.ECB], texts: Texts) -> Tags:
    """Return one tag of 128 bits a text, as two words.

    Examples
    --------
    >>> function = cipher(bytes(range(32)))
    >>> one = tags(function, Texts.of([b"ann", b"bob", b"ann"]))
    >>> (one[0] == one[2]).all(), (one[0] == one[1]).any()
    (np.True_, np.False_)
    """
    if len(texts) <= FEW:
        return _one_by_one(function, texts)
    length = np.diff(texts.starts)
    state = encrypt(function, np.column_stack([length, np.zeros_like(length)]).astype(np.uint64)).copy()
    if (length == length[0]).all():
        return _of_one_length(function, texts.data.reshape(len(texts), -1), state)
    padded = np.concatenate([texts.data, np.zeros(BLOCK, np.uint8)])
    # the 16 bytes from each place on, as two words: a view, one byte apart
    anywhere = np.ndarray((padded.size - BLOCK + 1, 2), "<u8", padded.data, strides=(1, 8))
    rows, at = np.flatnonzero(length), 0
    while rows.size:
        block = anywhere[texts.starts[rows] + at] & _FIRST[np.minimum(length[rows] - at, BLOCK)]
        state[rows] = encrypt(function, state[rows] ^ block)
        at += BLOCK
        rows = rows[length[rows] > at]
    return state


def _of_one_length(function: Cipher[modes.ECB], texts: NDArray[np.uint8], state: Tags) -> Tags:
    """Return the same tags of texts that are rows of one array: blocks are columns of it."""
    for at in range(0, texts.shape[1], BLOCK):
        block = np.zeros((len(texts), BLOCK), np.uint8)
        block[:, : texts.shape[1] - at] = texts[:, at : at + BLOCK]
        state = encrypt(function, state ^ block.view(np.uint64))
    return state


def _one_by_one(function: Cipher[modes.ECB], texts: Texts) -> Tags:
    """Return the same tags by the library's own chaining, which is quicker for a few texts."""
    chain, data = Cipher(function.algorithm, modes.CBC(bytes(BLOCK))), texts.data.tobytes()
    out = b""
    for start, stop in pairwise(texts.starts.tolist()):
        text = data[start:stop]
        message = len(text).to_bytes(BLOCK, "little") + text + bytes(-len(text) % BLOCK)
        out += chain.encryptor().update(message)[-BLOCK:]
    return np.frombuffer(out, np.uint64).reshape(-1, 2)
