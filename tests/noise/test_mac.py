"""Tags that are computed side by side are those that a cipher in CBC mode gives one by one."""

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from versadp.noise.mac import FEW, Texts, cipher, tags

KEY = bytes(range(32))


def one_by_one(text):
    message = len(text).to_bytes(16, "little") + text + bytes(-len(text) % 16)
    return Cipher(algorithms.AES(KEY), modes.CBC(bytes(16))).encryptor().update(message)[-16:]


@given(st.lists(st.one_of(st.binary(max_size=20), st.binary(min_size=60, max_size=70)), max_size=8))
def test_side_by_side_is_one_by_one(texts):
    for some in (texts, texts * (FEW + 1)):  # a few, and many
        assert tags(cipher(KEY), Texts.of(some)).tobytes() == b"".join(map(one_by_one, some))


def test_pieces_and_rows():
    texts = Texts.of([b"a", b"", b"ccc" * 20, b"d"])
    assert (tags(cipher(KEY), texts[1:3]) == tags(cipher(KEY), texts)[1:3]).all()
    rows = Texts.rows(np.arange(6.0).reshape(3, 2), np.arange(3, dtype=np.uint64))
    assert len(rows) == 3
    assert tags(cipher(KEY), rows)[2].tobytes() == one_by_one(
        np.array([4.0, 5.0]).tobytes() + (2).to_bytes(8, "little")
    )


def test_a_text_and_the_same_with_zeros_behind_it_differ():
    found = tags(cipher(KEY), Texts.of([b"", b"\0", bytes(16), bytes(17), b"a", b"a\0"]))
    assert len(np.unique(found[:, 0])) == 6


def test_a_piece_holds_its_own_bytes_only():
    """Pieces of a long table are tagged one after the other: a piece that held all of it would cost too much."""
    texts = Texts.of([b"abc"] * 1000)
    assert texts[10:12].data.tobytes() == b"abcabc"
    assert texts[10:12][1:2].data.tobytes() == b"abc"
    assert len(texts[5:5]) == 0
