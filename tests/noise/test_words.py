"""Words are a pure function of key, parameters, place and content, and look random."""

import pickle

import numpy as np
import pytest
from scipy.stats import chi2

from versadp.errors import KeyMaterialError
from versadp.noise.mac import Texts
from versadp.noise.words import SLAB_ROWS, check_key, fresh_key, keystream

KEY = bytes(range(32))
CONTENT = np.arange(30.0).reshape(3, 10)
BLOCK_WORDS = [
    7989008040191578371,
    4590406409103672712,
    14234547868407705000,
    8404410624948639894,
    15697015985732311433,
]
RECORD_WORDS = [
    2382845994756714941,
    9816974554851687314,
    7893066641867593320,
    10227153375193612467,
    16717046730385765097,
]


def words(key=KEY, parameters=b"p", number=0, content=CONTENT, count=5):
    return keystream(key, parameters).slab(number, content, count)


def test_same_input_same_words():
    assert (words() == words()).all()


def test_anything_else_gives_other_words():
    changed = CONTENT.copy()
    changed[2, 9] += 1
    base = words()
    for other in (
        words(key=fresh_key()),
        words(parameters=b"q"),
        words(number=1),
        words(content=changed),
        words(content=CONTENT[:, :9]),
        words(content=np.ascontiguousarray(CONTENT.T[:, :3])),
    ):
        rows = min(base.shape[1], other.shape[1])
        assert not (base[:, :rows] == other[:, :rows]).any()


def test_records_are_keyed_one_by_one():
    stream = keystream(KEY, b"p")
    names = [f"{i}".encode() for i in range(10)]
    whole = stream.records(CONTENT, Texts.of(names), 5)
    order = np.random.default_rng(0).permutation(10)
    permuted = stream.records(CONTENT[:, order], Texts.of([names[i] for i in order]), 5)
    assert (permuted == whole[:, order]).all()
    assert (stream.records(CONTENT[:, 3:4], Texts.of(names)[3:4], 5) == whole[:, 3:4]).all()
    renamed = stream.records(CONTENT, Texts.of([b"x", *names[1:]]), 5)
    assert (renamed[:, 0] != whole[:, 0]).all()
    assert (renamed[:, 1:] == whole[:, 1:]).all()


def test_id_and_content_cannot_be_shifted_into_each_other():
    stream = keystream(KEY, b"p")
    one = stream.records(np.frombuffer(b"abcdefgh").reshape(1, 1), Texts.of([b"12345678"]), 2)
    other = stream.records(np.frombuffer(b"12345678").reshape(1, 1), Texts.of([b"abcdefgh"]), 2)
    assert not (one == other).any()


@pytest.mark.thinned(2)
@pytest.mark.parametrize("way", ["block", "records"])
def test_words_are_uniform(way):
    """Chi-square on the bytes of 10 MB and on each bit's share; false alarms 1e-6 each."""
    stream, content = keystream(fresh_key(), b"p"), np.zeros((2, SLAB_ROWS))
    content[0] = np.arange(SLAB_ROWS)
    if way == "block":
        sample = np.concatenate([stream.slab(b, content, 10).ravel() for b in range(16)])
    else:
        sample = stream.records(content, None, 11).ravel()
    counts = np.bincount(sample.view(np.uint8), minlength=256)
    expected = counts.sum() / 256
    assert ((counts - expected) ** 2 / expected).sum() < chi2.ppf(1 - 1e-6, 255)
    for bit in range(64):
        share = ((sample >> np.uint64(bit)) & np.uint64(1)).mean()
        assert abs(share - 0.5) < 5.5 * 0.5 / np.sqrt(sample.size)
    assert len(np.unique(sample)) == sample.size


@pytest.mark.parametrize(
    "key", [b"", b"short", bytes(32), b"0" * 32, b"ab" * 16, "x" * 32, None, 7, bytes(range(33)), [1] * 32]
)
def test_bad_keys(key):
    with pytest.raises(KeyMaterialError) as caught:
        check_key(key)
    assert "fresh_key" in str(caught.value)


def test_secrets_are_neither_shown_nor_pickled():
    stream = keystream(KEY, b"p")
    assert KEY.hex() not in repr(stream)
    assert repr(stream) == "Keystream()"
    with pytest.raises(KeyMaterialError):
        pickle.dumps(stream)


def test_the_words_of_the_format_stay_what_they_are():
    """A device gives the same answer to the same record for ever, and a release can be resumed by a later version."""
    stream = keystream(KEY, b"p")
    assert stream.slab(3, CONTENT, 5)[:, 4].tolist() == BLOCK_WORDS
    assert stream.records(CONTENT, Texts.of([b"a person whose name is long"] * 10), 5)[:, 4].tolist() == RECORD_WORDS
