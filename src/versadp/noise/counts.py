"""Noise of whole counts from 64-bit words: rounded Gaussian, and two-sided geometric.

    rounded Gaussian      round(sigma n), n the normal quantile that one word stands for (`quantile.py`)
    two-sided geometric   P(k) proportional to e^(-|k|/t), t whole; exact, from as many words as it takes

For a whole count c is c + round(g) = round(c + g), so a rounded Gaussian is post-processing of the Gaussian mechanism:
of counts whose vector changes by at most D in Euclidean norm it is mu-GDP with mu = D/sigma. What words of 64 bits lack
of it is bounded by `rounded_gaussian_error`, which is charged. The geometric noise is sampled without any error, in
whole numbers alone (Canonne, Kamath and Steinke 2020), so that it is pure: epsilon = D/t for a change of D in L1 norm.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from versadp.noise.quantile import rounded_normal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

FARTHEST = 9.2  # no word stands for a quantile beyond it: 2^-65 is the tail probability of 9.16
_NEAR_HALF = 1e-9  # relative; the quantile in double precision is off by some 1e-15
_WORDS_AT_ONCE = 1024


def rounded_gaussian(words: NDArray[np.uint64], sigma: float) -> Counts:
    """Return the rounded Gaussian noise that words stand for: the same whole numbers on every machine.

    Parameters
    ----------
    words : array of uint64
        One per count.
    sigma : float
        Standard deviation before rounding.

    Examples
    --------
    >>> rounded_gaussian(np.array([0, 2**62, 2**62 + 2**63], np.uint64), 100.0)
    array([916,  67, -67])
    """
    from scipy.special import ndtri

    magnitude = (words & np.uint64(2**63 - 1)).astype(np.float64)
    size = -ndtri((magnitude + 0.5) * 2.0**-64) * sigma
    whole = np.rint(size)
    unsure = np.abs(np.abs(size - whole) - 0.5) <= _NEAR_HALF * (1 + size)
    for i in np.flatnonzero(unsure):
        whole[i] = abs(rounded_normal(int(words[i]), Decimal(sigma)))
    return np.where(words >> np.uint64(63) == 1, -whole, whole).astype(np.int64)


def rounded_gaussian_error(sigma: float, counts: int = 1) -> float:
    """Return a bound on the total variation distance of the noise of all counts from the ideal.

    Each of the at most `2 FARTHEST sigma + 3` values of a count has its probability to two words; beyond them lie less
    than two words' worth.

    Examples
    --------
    >>> rounded_gaussian_error(100.0) < 1.1e-16
    True
    """
    return counts * (2 * FARTHEST * sigma + 5) * 2.0**-64


def two_sided_geometric(words: Iterator[int], scale: int, size: int) -> Counts:
    """Return exact two-sided geometric noise: `P(k)` is proportional to `e^(-|k|/scale)`.

    Parameters
    ----------
    words : iterator of int
        Even 64-bit words, as many as it takes.
    scale : int
        t: noise of one value changes its probability by a factor of e if it changes by so much.
    size : int

    Examples
    --------
    >>> noise = two_sided_geometric(word_stream(bytes(range(32))), 10, 4000)
    >>> bool(abs(np.abs(noise).mean() - 10) < 1), bool(abs(noise.mean()) < 1)
    (True, True)
    """
    return np.fromiter((_geometric(words, scale) for _ in range(size)), np.int64, size)


def word_stream(key: bytes) -> Iterator[int]:
    """Yield the words of a key of 32 bytes that is used for nothing else, without end: AES-256 in counter mode."""
    encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    while True:
        yield from np.frombuffer(encryptor.update(bytes(8 * _WORDS_AT_ONCE)), "<u8").tolist()


def _geometric(words: Iterator[int], scale: int) -> int:
    while True:
        rest = _below(words, scale)
        if not _survives(words, rest, scale):  # with probability e^(-rest/scale)
            continue
        turns = 0
        while _survives(words, 1, 1):
            turns += 1
        size, negative = rest + scale * turns, next(words) & 1
        if size or not negative:  # 0 has one sign
            return -size if negative else size


def _survives(words: Iterator[int], part: int, whole: int) -> bool:
    """Return True with probability `e^(-part/whole)`, for a part of at most the whole: the alternating series."""
    steps = 1
    while _below(words, whole * steps) < part:
        steps += 1
    return steps % 2 == 1


def _below(words: Iterator[int], size: int) -> int:
    """Return a whole number from 0 to `size - 1`, all equally likely: words that would favour some are passed over."""
    most = 2**64 - 2**64 % size
    while (word := next(words)) >= most:
        pass
    return word % size
