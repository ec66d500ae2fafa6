"""Random words of one record on a device, since version 4 of a mechanism: HMAC-SHA256 over typed bytes.

    own   = HMAC(key, text("versadp device 4") || text(context) || law of the block)
    words = HMAC(own, u64(0) || message) || HMAC(own, u64(1) || message) || ...
    message = u64(0), or u64(1) || text(id), then u64(number of places) || the places as u64

A block's words depend on its own law, so that changes elsewhere in a mechanism leave its noise as it is.
`docs/format.md` specifies every byte, for clients in other languages.
"""

from __future__ import annotations

import hmac
import struct
import unicodedata
from typing import TYPE_CHECKING

from versadp.errors import ParameterError
from versadp.inputs import is_encodable
from versadp.schema import Bounded, Categorical, Dates

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from versadp.noise import Block
    from versadp.schema import Column, Schema

DOMAIN = "versadp device 4"
MISSING = 2**64 - 1  # the place of a publicly missing value
_WORDS_PER_DIGEST = 4
_NULLABLE = {False: 0, True: 1, "public": 2}


def text(value: str) -> bytes:
    """Return a text as its length in bytes (u64) and its UTF-8 bytes."""
    data = value.encode()
    return u64(len(data)) + data


def u64(value: int) -> bytes:
    """Return a whole number as 8 bytes, little-endian; a negative one as its two's complement."""
    return (value % 2**64).to_bytes(8, "little")


def f64(value: float) -> bytes:
    """Return a number as 8 bytes, IEEE 754 double, little-endian."""
    return struct.pack("<d", value)


def block_law(block: Block, schema: Schema) -> bytes:
    """Return the law of a block: its noise, its columns as declared, and its numbers."""
    columns = b"".join(_column(name, schema.columns[name]) for name in block.columns)
    return text(block.spec.name) + u64(len(block.columns)) + columns + b"".join(map(_typed, block.law_numbers()))


def block_words(
    key: bytes, law: bytes, content: NDArray[np.float64], count: int, *, context: str, name: str | None
) -> bytes:
    """Return the words of one block of a record, 8 bytes each, little-endian."""
    own = hmac.digest(key, text(DOMAIN) + text(context) + law, "sha256")
    message = (u64(0) if name is None else u64(1) + text(name)) + u64(content.size) + _places(content)
    digests = (hmac.digest(own, u64(k) + message, "sha256") for k in range(-(-count // _WORDS_PER_DIGEST)))
    return b"".join(digests)[: 8 * count]


def check_context(context: object) -> str:
    """Return the name of a collector, if it can be one."""
    if not isinstance(context, str) or not is_encodable(context) or not unicodedata.is_normalized("NFC", context):
        raise ParameterError("context must be text in Unicode form NFC", hint='e.g. context="clinic"')
    return context


def _typed(value: str | float) -> bytes:
    if isinstance(value, str):
        return text(value)
    return f64(value) if isinstance(value, float) else u64(value)


def _column(name: str, column: Column) -> bytes:
    head = text(name) + u64(_NULLABLE[getattr(column, "nullable", False)])
    if isinstance(column, Dates):
        return head + text("dates") + text(str(column.first)) + u64(int(column.upper))
    if isinstance(column, Bounded):
        return head + text("bounded") + f64(column.lower) + f64(column.upper)
    assert isinstance(column, Categorical)
    kind = {str: "text", int: "whole", bool: "truth"}[type(column.levels[0])]
    levels = b"".join(text(level) if isinstance(level, str) else u64(int(level)) for level in column.levels)
    return head + text("categorical") + text(kind) + u64(len(column.levels)) + levels


def _places(content: NDArray[np.float64]) -> bytes:
    places = content.ravel().tolist()
    if any(place == place and not (0 <= place < 2**53 and place.is_integer()) for place in places):  # noqa: PLR0124 - NaN
        raise ParameterError(
            "the content of a noise block must be whole numbers from 0 on", hint="see Block.to_content"
        )
    return b"".join(u64(MISSING if place != place else int(place)) for place in places)  # noqa: PLR0124 - NaN
