"""Random words as a pure function of a secret key, the mechanism's parameters and the content.

A retry gives the same bytes; another version of a record, another scale, another place in the table gives
independent words. Nothing here has a seed or a state.

    root    = HMAC(key, parameters)                          two scales never share noise
    tag     = GMAC(root.digest, slab number, content)        a universal hash: never leaves this module
    words   = AES-256-CTR under HMAC(root.slab, slab number, rows, tag)

A table without an id is keyed by slabs of `SLAB_ROWS` rows, which belong to the format and not to how a file
happens to be read. A record with an id is keyed on its own, and on a person's device each block of it is:

    tag     = CBC-MAC(root.record, content, CBC-MAC(root.name, id) XOR version)      side by side, see `mac.py`
    words   = AES-256(root.cipher; tag XOR 0, 1, 2, ...)

Each word that a record uses has a fixed place, so noise has random access.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from versadp.errors import KeyMaterialError
from versadp.noise.mac import Texts, cipher, encrypt, tags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SLAB_ROWS = 8192
KEY_BYTES = 32
_FORMAT = b"versadp noise 2\0"


def fresh_key() -> bytes:
    """Return 256 random bits from the operating system.

    Examples
    --------
    >>> len(fresh_key())
    32
    """
    return secrets.token_bytes(KEY_BYTES)


def check_key(key: object) -> bytes:
    """Return the key if it can be one: 32 bytes that are not plainly constant.

    Examples
    --------
    >>> check_key(bytes(32))
    Traceback (most recent call last):
    ...
    versadp.errors.KeyMaterialError: the key is not random: it repeats a few bytes
      hint: make one with versadp.fresh_key() and keep it secret
    """
    hint = "make one with versadp.fresh_key() and keep it secret"
    if not isinstance(key, bytes | bytearray) or len(key) != KEY_BYTES:
        raise KeyMaterialError(f"a key is {KEY_BYTES} bytes", hint=hint)
    # 32 random bytes have fewer than 12 distinct values with probability below 1e-18
    if len(set(key)) < 12:
        raise KeyMaterialError("the key is not random: it repeats a few bytes", hint=hint)
    return bytes(key)


def mac(key: bytes, *parts: bytes | memoryview) -> bytes:
    """HMAC-SHA256 of the parts, each with its length, so that no two lists of parts look the same."""
    made = hmac.new(key, digestmod="sha256")
    for part in parts:
        made.update(len(part).to_bytes(8, "little"))
        made.update(part)
    return made.digest()


@dataclass(frozen=True, slots=True)
class Keystream:
    """The words of one key under one set of parameters; made by `keystream`."""

    _digest: AESGCM = field(repr=False)
    _slab: bytes = field(repr=False)
    _name: Cipher[modes.ECB] = field(repr=False)
    _record: Cipher[modes.ECB] = field(repr=False)
    _cipher: Cipher[modes.ECB] = field(repr=False)

    def __reduce__(self) -> tuple[object, ...]:
        raise KeyMaterialError("a keystream holds secrets and cannot be pickled")

    def slab(self, number: int, content: NDArray[np.float64], words: int) -> NDArray[np.uint64]:
        """Return the words of one slab of a table.

        Parameters
        ----------
        number : int
            Place of the slab in the table.
        content : array (columns, rows)
            What is being released, as whole numbers; at most `SLAB_ROWS` rows.
        words : int
            Words a record.

        Returns
        -------
        array (words, rows)
        """
        rows = content.shape[1]
        place = number.to_bytes(12, "little")
        tag = self._digest.encrypt(place, b"", np.ascontiguousarray(content).data.cast("B"))
        key = mac(self._slab, place, rows.to_bytes(8, "little"), tag)
        # word w of row r stands at w * SLAB_ROWS + r whatever the number of rows
        stream = np.zeros((words, SLAB_ROWS), np.uint64)
        raw = stream.data.cast("B")
        Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update_into(raw, raw)
        return stream[:, :rows]

    def records(
        self,
        content: NDArray[np.float64],
        names: Texts | None,
        words: int,
        versions: NDArray[np.uint64] | None = None,
    ) -> NDArray[np.uint64]:
        """Return the words of records that are keyed one by one.

        Parameters
        ----------
        content : array (columns, rows)
            What is being released, as whole numbers.
        names : Texts, optional
            The id of each record; none on a person's device, whose key is the person's own.
        words : int
            Words a record.
        versions : array (rows), optional
            Which version of a person's record it is: a number that no other has; none is 0, the first.

        Returns
        -------
        array (words, rows)
        """
        rows = content.shape[1]
        named = tags(self._name, Texts.of([b""] * rows) if names is None else names)
        if versions is not None:  # another person's tag is that near with probability 2^-128 a pair
            named = np.column_stack([named[:, 0], named[:, 1] ^ versions])
        tag = tags(self._record, Texts.rows(content.T, named))
        blocks = -(-words // 2)
        counters = np.zeros((rows, blocks, 2), np.uint64)
        counters[:, :, 0] = np.arange(blocks, dtype=np.uint64)
        counters ^= tag.reshape(rows, 1, 2)
        return np.ascontiguousarray(encrypt(self._cipher, counters).reshape(rows, 2 * blocks)[:, :words].T)

    def blocks(
        self, contents: Sequence[NDArray[np.float64]], names: Texts | None, words: Sequence[int]
    ) -> NDArray[np.uint64]:
        """Return the words of one record whose blocks are keyed one by one.

        Parameters
        ----------
        contents : sequence of arrays (columns, 1)
            What is being released in each block; its place there is part of its key, so equal content shares no words.
        names : Texts, optional
            The id of the record.
        words : sequence of int
            Words of each block.

        Returns
        -------
        array (words, 1)
            Of all blocks, one after the other.
        """
        named = tags(self._name, Texts.of([b""]) if names is None else names).tobytes()
        texts = [number.to_bytes(8, "little") + content.tobytes() + named for number, content in enumerate(contents)]
        pairs = [-(-count // 2) for count in words]
        counters = np.repeat(tags(self._record, Texts.of(texts)), pairs, axis=0)
        counters[:, 0] ^= np.concatenate([np.arange(each, dtype=np.uint64) for each in pairs])
        found = encrypt(self._cipher, counters).ravel()
        starts = np.cumsum([0, *pairs]) * 2
        used = [found[start : start + count] for start, count in zip(starts, words, strict=False)]
        return np.concatenate(used)[:, None]


def keystream(key: bytes, parameters: bytes) -> Keystream:
    """Derive the words of a key for one mechanism; `parameters` is all that the noise may depend on.

    Nothing is kept: whoever drops the key and what is returned here has dropped all of it.

    Examples
    --------
    >>> stream = keystream(fresh_key(), b"scale=1")
    >>> content = np.zeros((1, 3))
    >>> bool((stream.slab(0, content, 4) == stream.slab(0, content, 4)).all())
    True
    >>> bool((stream.slab(0, content, 4) == stream.slab(1, content, 4)).any())
    False
    """
    root = mac(check_key(key), _FORMAT, parameters)
    return Keystream(
        AESGCM(mac(root, b"digest")),
        mac(root, b"block"),  # what the format calls it
        cipher(mac(root, b"name")),
        cipher(mac(root, b"record")),
        cipher(mac(root, b"cipher")),
    )
