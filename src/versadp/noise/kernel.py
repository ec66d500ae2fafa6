"""The compiled inner loops: words in, noise out.

Every record takes the same steps whatever its coin says: noise is computed and then masked, so that time does not
tell which records are released unchanged. The loops run without Python's lock, so threads share the work.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba.core.event import Listener, register

from versadp.noise.quantile import DEGREE, SPLIT_BITS, TABLE_ERROR

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_BITS = 52 - SPLIT_BITS
_FIRST = (1023 - 1) << SPLIT_BITS
_FRACTION = (1 << 52) - 1
_ONE = 1023 << 52
_MAGNITUDE = (1 << 63) - 1
_LARGEST = float(2**63 - 2**10)
_ROW = DEGREE + 1


FUSED = frozenset({"contract"})
SAID = "versadp: compiling loops for this machine; that happens once and takes some seconds"


class _FirstCompilation(Listener):
    """Say once per process that loops are compiled: on a terminal, and not if they are read from the cache."""

    def __init__(self) -> None:
        self.silent = False

    def on_start(self, event: Any) -> None:
        """Tell of a compilation that begins."""
        function = getattr(event.data.get("dispatcher"), "py_func", None)
        if self.silent or not str(getattr(function, "__module__", "")).startswith("versadp"):
            return
        self.silent = True
        if sys.stderr.isatty() or "ipykernel" in sys.modules:
            sys.stderr.write(f"{SAID}\n")

    def on_end(self, event: Any) -> None:
        """Tell nothing of the end."""


register("numba:compile", _FirstCompilation())  # type: ignore[no-untyped-call] # numba has no types


def compiled(function: Callable[..., Any], free: frozenset[str] = FUSED) -> Callable[..., Any]:
    """Compile, and keep the machine code on disk where there is a place for it."""
    options: dict[str, Any] = {"nogil": True, "fastmath": set(free) or False, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return] # numba has no types
    except RuntimeError:  # no writable place for the cache
        return numba.njit(**options)(function)  # type: ignore[no-any-return] # numba has no types


def summing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile with sums in any order, which is faster: for estimation, where the last bit does not matter."""
    return compiled(function, FUSED | {"reassoc", "nsz", "arcp"})


def rounded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile with every operation rounded by itself: the same bits on every CPU, for values that are released."""
    return compiled(function, frozenset())


@compiled
def spread(
    coin: NDArray[np.uint64],
    word: NDArray[np.uint64],
    threshold: np.uint64,
    root: NDArray[np.float64],
    doubt: NDArray[np.float64],
    noisy: NDArray[np.float64],
) -> None:
    """Write `sqrt(w)` of each record, the error it leaves, and 1.0 where noise is kept.

    w = -log((word + 1/2) / 2^64). Converting the word loses up to 2^-53 of u, hence of w: small w are in doubt.
    """
    for i in range(word.shape[0]):
        noisy[i] = 0.0 if coin[i] < threshold else 1.0
        w = -np.log((np.float64(word[i]) + 0.5) * 2.0**-64)
        r = np.sqrt(max(w, 0.0))
        root[i] = r
        doubt[i] = TABLE_ERROR * r + 2.0**-50 / max(r, 1e-300)


@compiled
def add_noise(
    words: NDArray[np.uint64],
    root: NDArray[np.float64],
    doubt: NDArray[np.float64],
    noisy: NDArray[np.float64],
    table: NDArray[np.float64],
    sigma: NDArray[np.float64],
    steps: NDArray[np.float64],
    unsure: NDArray[np.bool_],
) -> None:
    """Add `round(sigma sqrt(w) n)` to the whole numbers in `steps` (columns, rows).

    Cells whose rounding floating point cannot decide are left as they are and marked in `unsure`.
    """
    for j in range(steps.shape[0]):
        for i in range(steps.shape[1]):
            word = words[j, i]
            # the largest magnitudes would round up to 2^63, past the end of the table
            magnitude = min(np.float64(np.int64(word & np.uint64(_MAGNITUDE))) + 0.5, _LARGEST)
            bits = np.float64(magnitude).view(np.int64)
            at = np.uint64(((bits >> np.int64(_BITS)) - np.int64(_FIRST)) * np.int64(_ROW))
            fraction = ((bits << np.int64(SPLIT_BITS)) & np.int64(_FRACTION)) | np.int64(_ONE)
            t = np.int64(fraction).view(np.float64) - 1.5
            n = table[at + np.uint64(DEGREE)]
            for power in range(DEGREE - 1, -1, -1):
                n = n * t + table[at + np.uint64(power)]
            size = sigma[j] * root[i] * n
            noise = np.rint(size)
            doubtful = 0.5 - abs(size - noise) < sigma[j] * (n + 1.0) * doubt[i]
            unsure[j, i] = doubtful
            noise = 0.0 if doubtful else noise * noisy[i]
            steps[j, i] += -noise if word >> np.uint64(63) else noise


@compiled
def to_steps(
    values: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    step: NDArray[np.float64],
    last: NDArray[np.float64],
) -> None:
    """Clamp to the bounds and count grid steps from the lower one, in place: 0 to `last`, never -0.0."""
    for j in range(values.shape[0]):
        for i in range(values.shape[1]):
            x = min(max(values[j, i], lower[j]), upper[j])
            values[j, i] = min(np.rint((x - lower[j]) / step[j]), last[j]) + 0.0


@compiled
def to_values(
    steps: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    step: NDArray[np.float64],
    last: NDArray[np.float64],
) -> None:
    """Turn grid steps into the columns' own units, in place, as versions 1 to 3 do: a CPU may fuse two operations."""
    for j in range(steps.shape[0]):
        for i in range(steps.shape[1]):
            k = steps[j, i]
            steps[j, i] = upper[j] if k == last[j] else lower[j] + k * step[j]


@rounded
def to_exact_values(
    steps: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    step: NDArray[np.float64],
    last: NDArray[np.float64],
) -> None:
    """Turn grid steps into the columns' own units, in place; both bounds come back as they were declared."""
    # a function of its own: numba's cache does not tell one function with two sets of options apart
    for j in range(steps.shape[0]):
        for i in range(steps.shape[1]):
            k = steps[j, i]
            steps[j, i] = upper[j] if k == last[j] else lower[j] + k * step[j]


@compiled
def survey(values: NDArray[np.float64], lower: float, upper: float, most: float, counts: NDArray[np.int64]) -> None:
    """Count what is not finite, what is absurdly large, and what is out of bounds."""
    missing = huge = outside = 0
    for i in range(values.shape[0]):
        x = values[i]
        missing += not np.isfinite(x)
        huge += abs(x) > most
        outside += (x < lower) | (x > upper)
    counts[0] += missing
    counts[1] += huge
    counts[2] += outside


@compiled
def count_in_cells(
    values: NDArray[np.float64],
    starts: NDArray[np.float64],
    near: NDArray[np.int64],
    shift: int,
    counts: NDArray[np.int64],
) -> None:
    """Count the values in each cell, `starts` where all but the first begin; NaN is counted last, behind the cells.

    `near` has, for each value of a number's first bits, the ones before the last `shift`, the first cell that it may
    be in.
    """
    bits, last = values.view(np.uint64), counts.shape[0] - 1
    for i in range(values.shape[0]):
        x = values[i]
        cell = near[bits[i] >> np.uint64(shift)]
        while cell < starts.shape[0] and x >= starts[cell]:
            cell += 1
        counts[last if np.isnan(x) else cell] += 1


@compiled
def redraw(
    coin: NDArray[np.uint64],
    word: NDArray[np.uint64],
    threshold: np.uint64,
    levels: int,
    codes: NDArray[np.float64],
) -> None:
    """Replace codes whose coin fails by a level drawn from the word: floor(word * levels / 2^64), levels < 2^31."""
    for i in range(codes.shape[0]):
        high = (word[i] >> np.uint64(32)) * np.uint64(levels)
        low = (word[i] & np.uint64(0xFFFFFFFF)) * np.uint64(levels)
        level = np.float64((high + (low >> np.uint64(32))) >> np.uint64(32))
        codes[i] = codes[i] if coin[i] < threshold else level


@compiled
def distance2(z: Array, lower: Array, upper: Array, out: Array) -> None:
    """Write squared distances to the box."""
    for i in range(z.shape[0]):
        q = 0.0
        for j in range(z.shape[1]):
            e = max(lower[j] - z[i, j], z[i, j] - upper[j], 0.0)
            q += e * e
        out[i] = q


@compiled
def clip_to_box(z: Array, lower: Array, upper: Array, out: Array) -> None:
    """Write squared distances to the box, and move points to the nearest of the box."""
    for i in range(z.shape[0]):
        q = 0.0
        for j in range(z.shape[1]):
            nearest = min(max(z[i, j], lower[j]), upper[j])
            e = z[i, j] - nearest
            z[i, j] = nearest
            q += e * e
        out[i] = q


@compiled
def keep_or_redraw(
    words: NDArray[np.uint64],
    threshold: np.uint64,
    windows: NDArray[np.int64],
    outputs: NDArray[np.int64],
    content: NDArray[np.float64],
) -> None:
    """Move each record to a place in its window, or anywhere; words are (1 + columns, rows): a coin, and one a column.

    Both places are computed for every record: `floor(word * n / 2^64)`, n < 2^31.
    """
    for j in range(content.shape[0]):
        w, n = np.uint64(windows[j]), np.uint64(outputs[j])
        for i in range(content.shape[1]):
            high, low = words[1 + j, i] >> np.uint64(32), words[1 + j, i] & np.uint64(0xFFFFFFFF)
            near = (high * w + ((low * w) >> np.uint64(32))) >> np.uint64(32)
            far = (high * n + ((low * n) >> np.uint64(32))) >> np.uint64(32)
            kept = content[j, i] + np.float64(near)
            content[j, i] = kept if words[0, i] < threshold else np.float64(far)


@compiled
def multiply_terms(
    released: Array,
    lattice: Array,
    lost: NDArray[np.int64],
    missing: NDArray[np.int64],
    table: Array,
    start: NDArray[np.int64],
    width: NDArray[np.int64],
    at: NDArray[np.int64],
    drawn: Array,
    keep: float,
    out: Array,
) -> int:
    """Multiply `out` (n, K) by `Π table/keep + (1 - 1/keep) Π drawn` of each record: products over the columns.

    `lattice` (columns, 3) has low, step and half the window, which tell the row of a column's table; what is not finite
    is in row `lost`, and if that is row `missing` everybody sees it. Returns how many values have no row.
    """
    columns, terms = at.shape
    weight = 1 / keep
    kept, shared, row, outside = np.empty(terms), np.empty(terms), np.empty(columns, np.int64), 0
    for k in range(terms):
        shared[k] = 1 - weight
        for c in range(columns):
            shared[k] *= drawn[c, 0, k]
    for i in range(released.shape[1]):
        known = True
        for c in range(columns):
            place = np.rint((released[c, i] - lattice[c, 0]) / lattice[c, 1] + lattice[c, 2])
            if np.isfinite(place):
                inside = min(max(place, 0.0), np.float64(missing[c] - 1))
                outside += inside != place
                row[c] = np.int64(inside)
            else:
                row[c] = lost[c]
            known &= row[c] != missing[c]
        first = start[0] + row[0] * width[0]
        for k in range(terms):
            kept[k] = table[first + at[0, k]]
        for c in range(1, columns):
            first = start[c] + row[c] * width[c]
            for k in range(terms):
                kept[k] *= table[first + at[c, k]]
        if known:
            for k in range(terms):
                out[i, k] *= kept[k] * weight + shared[k]
        else:
            for k in range(terms):
                level = 1 - weight
                for c in range(columns):
                    level *= drawn[c, 1 if row[c] == missing[c] else 0, k]
                out[i, k] *= kept[k] * weight + level
    return outside


@compiled
def mix(key: NDArray[np.uint64], state: NDArray[np.uint64]) -> None:
    """Mix a column of keys into the hashes of its rows: two rounds of multiply and shift."""
    for i in range(key.shape[0]):
        h = (state[i] ^ key[i]) * np.uint64(0x9E3779B97F4A7C15)
        h = (h ^ (h >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        state[i] = h ^ (h >> np.uint64(32)) ^ np.uint64(0x9E3779B97F4A7C15)
