"""Draws around released records: those of a record are its own, wherever it stands among others.

The record with p others before it has a stream of words of its own (SplitMix64),

    word_j = mix(start + j gamma),    start = mix(key xor mix(p)),

with a key of the seed. So its draws depend neither on how records are cut into lots nor on what comes after them:
records that arrive in parts and records of one table are drawn for alike, and a fit that goes on (`update`) meets one
to all of them. For the same reason the number of its draws is a matter of its place (`paces`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from versadp.noise.kernel import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from versadp.correction.laplacian import Laplacian
    from versadp.correction.points import SignedPoints
    from versadp.correction.records import Records

    Array = NDArray[np.float64]

Form = TypeVar("Form", "SignedPoints", "Laplacian")
FIRST = 1024  # records that share a pace; then as many as came before
_GAMMA = 0x9E3779B97F4A7C15  # increment of SplitMix64: 2^64 over the golden ratio, made odd
_UNIT = 2.0**-53  # step of uniform numbers with 53 bits


@dataclass(frozen=True)
class Streams:
    """Streams of words, one for each record: of some seed, from a place on.

    Examples
    --------
    >>> whole, later = Streams(np.uint64(7), 0), Streams(np.uint64(7), 60)
    >>> draws = whole.laplace(np.arange(100), count=4, dim=2)
    >>> bool((draws[60:] == later.laplace(np.arange(40), count=4, dim=2)).all())
    True
    """

    key: np.uint64
    first: int

    @classmethod
    def of(cls, records: Records, rng: np.random.Generator) -> Streams:
        """Return the streams of some records; those that have no places are counted from 0."""
        return cls(rng.integers(2**64, dtype=np.uint64), records.before or 0)

    def laplace(self, numbers: NDArray[np.int64], count: int, dim: int) -> Array:
        """Return (n, count, dim) draws of SL(I) for some records, W stratified over a record's; each is SL on its own.

        In one dimension SL is Laplace, whose size is exponential: then the size itself is stratified.
        """
        out = np.empty((len(numbers), count, dim))
        _draw(self.key, self._places(numbers), out)
        return out

    def uniform(self, numbers: NDArray[np.int64]) -> Array:
        """Return a number between 0 and 1 for each of some records, that is none of its draws."""
        out = np.empty(len(numbers))
        _begin(~self.key, self._places(numbers), out)
        return out

    def _places(self, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
        return (numbers + self.first).astype(np.uint64)


def paces(form: Form, records: Records) -> Iterator[tuple[slice, Form]]:
    """Yield records that share a pace, and the form with the draws that they get: later ones fewer.

    Of records with places, 1024 share one, the next 1024, the next 2048, and so on, whatever comes after them.
    """
    if form.pace is None or records.before is None:
        yield slice(0, records.rows), form
        return
    at, stop = records.before, records.before + records.rows
    while at < stop:
        end = max(1 << at.bit_length(), FIRST)
        changed: Any = form.pace(end)
        yield slice(at - records.before, min(end, stop) - records.before), replace(form, **changed)
        at = end


@compiled
def _mix(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@compiled
def _begin(key: np.uint64, places: NDArray[np.uint64], out: Array) -> None:
    """Write the first number of the stream of each place."""
    for i in range(places.size):
        out[i] = np.float64(_mix(_mix(key ^ _mix(places[i])) + np.uint64(_GAMMA)) >> np.uint64(11)) * _UNIT


@compiled
def _draw(key: np.uint64, places: NDArray[np.uint64], out: Array) -> None:
    """Write draws of SL(I) into `out` (n, count, dim): W by strata in random order, normal numbers by the polar way."""
    count, dim = out.shape[1], out.shape[2]
    strata = np.empty(count)
    gamma, low = np.uint64(_GAMMA), np.uint64(11)
    for i in range(places.size):
        word = _mix(key ^ _mix(places[i]))
        strata[0] = 0.0
        for j in range(1, count):  # a permutation, from the inside out
            word += gamma
            other = int(np.float64(_mix(word) >> low) * _UNIT * (j + 1))
            strata[j] = strata[other]
            strata[other] = j
        for j in range(count):
            word += gamma
            w = -np.log1p(-(strata[j] + np.float64(_mix(word) >> low) * _UNIT) / count)
            if dim == 1:
                word += gamma
                out[i, j, 0] = (w if _mix(word) >> np.uint64(63) else -w) * math.sqrt(0.5)
                continue
            for k in range(0, dim, 2):
                x = y = 0.0
                square = 1.0
                while square >= 1.0 or square == 0.0:
                    word += gamma
                    x = np.float64(_mix(word) >> low) * (2 * _UNIT) - 1.0
                    word += gamma
                    y = np.float64(_mix(word) >> low) * (2 * _UNIT) - 1.0
                    square = x * x + y * y
                radius = np.sqrt(-2.0 * w * np.log(square) / square)
                out[i, j, k] = radius * x
                if k + 1 < dim:
                    out[i, j, k + 1] = radius * y
