"""Compiled loops over powers of an index: a score a record, or sums over records without any array of scores.

Formulas stand in `expanded.py`. Loops are over a column at a time, and as many records as stay near the processor: such
loops are vectorised, and what they write need not go through memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.noise.kernel import summing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_NEAR = 1024


@summing
def power_scores(
    m: Array,
    e: Array,
    block: NDArray[np.int64],
    columns: NDArray[np.int64],
    level: Array,
    one_coin: Array,
    shift: Array,
    out: Array,
) -> None:
    """Write `m level`, and in noisy columns `e_j Σ_B one_coin e + shift_j` beside it, to `out` (p, n).

    `m` is (p, n) and `e` (columns, n), B the block of a column; `columns` has for each coefficient its column, or -1
    for a public one. A column at a time, and as many records as stay near the processor: such loops are vectorised.
    """
    along = np.empty((block.max() + 1, _NEAR))
    for start in range(0, level.size, _NEAR):
        own = slice(start, start + _NEAR)
        along[:] = 0.0
        for j in range(e.shape[0]):
            part, total = e[j, own], along[block[j]]
            for i in range(part.size):
                total[i] += one_coin[j] * part[i]
        for k in range(m.shape[0]):
            j, row, near, into = columns[k], m[k, own], level[own], out[k, own]
            if j < 0:
                for i in range(row.size):
                    into[i] = row[i] * near[i]
            else:
                part, total = e[j, own], along[block[j]]
                for i in range(row.size):
                    into[i] = row[i] * near[i] + part[i] * total[i] + shift[j]


class Columns(NamedTuple):
    """What a sum of powers takes of each record; whole arrays, for compiled loops are made for one kind of them.

    Attributes
    ----------
    public, released : array (k, n), array (dim, n)
        Public columns, and noisy ones as they were released.
    response, weight : array (n,)
        Empty where the response is a noisy column, and where all records weigh the same.
    """

    public: Array
    released: Array
    response: Array
    weight: Array


class Places(NamedTuple):
    """What columns mean to a model, whatever its coefficients are.

    Attributes
    ----------
    at : array of int (p,)
        For each coefficient its noisy column, or -1 - k for public column k.
    block : array of int (dim,)
    origin, per : array (dim,)
        Noisy columns are `e = per (released - origin)`.
    times, centre : array (dim,)
        `times e + centre` are the corrected ones.
    """

    at: NDArray[np.int64]
    block: NDArray[np.int64]
    origin: Array
    per: Array
    times: Array
    centre: Array


class Powers(NamedTuple):
    """The score of powers of an index: `m_j L + e_j Σ_B one_coin e + shift_j`, B the block of a noisy column j.

    L is `constant + by_public'public + by_noisy'e + by_response response`, and m the corrected design.
    """

    constant: float
    by_public: Array
    by_noisy: Array
    by_response: float
    one_coin: Array
    shift: Array


@summing
def power_sums(
    columns: Columns, places: Places, powers: Powers, scores: tuple[Array, Array], both_sums: tuple[Array, Array]
) -> None:
    """Add scores and their products, and public and noisy columns and theirs, to sums (q,) and (q, q).

    As many records at a time as stay near the processor: nothing else is written. Products are those on the diagonal
    and below it.
    """
    size, n = columns.public.shape[0] + columns.released.shape[0], columns.released.shape[1]
    both, weighed, score = np.empty((size, _NEAR)), np.empty((size, _NEAR)), np.empty((places.at.size, _NEAR))
    level, along = np.empty(_NEAR), np.empty((places.block.max() + 1, _NEAR))
    for start in range(0, n, _NEAR):
        rows = min(_NEAR, n - start)
        _bring(columns, places, powers, start, both, level, along)
        _score(columns, places, powers, rows, both, level, along, score)
        if columns.weight.size:
            weight = columns.weight[start : start + _NEAR]
            _times(score, weight, score)
            _times(both, weight, weighed)
        _add_products(score, score, rows, scores)
        _add_products(weighed if columns.weight.size else both, both, rows, both_sums)


@summing
def _bring(
    columns: Columns, places: Places, powers: Powers, start: int, both: Array, level: Array, along: Array
) -> None:
    """Write the next columns, L, and the sum of one coin in each block."""
    own, count = slice(start, start + _NEAR), columns.public.shape[0]
    level[:], along[:] = powers.constant, 0.0
    for k in range(count):
        column, near, by = columns.public[k, own], both[k], powers.by_public[k]
        for i in range(column.size):
            near[i] = column[i]
            level[i] += by * column[i]
    for j in range(columns.released.shape[0]):
        column, near, total = columns.released[j, own], both[count + j], along[places.block[j]]
        origin, per, by, coin = places.origin[j], places.per[j], powers.by_noisy[j], powers.one_coin[j]
        for i in range(column.size):
            near[i] = per * (column[i] - origin)
        for i in range(column.size):
            level[i] += by * near[i]
        for i in range(column.size):
            total[i] += coin * near[i]
    if columns.response.size:
        column, by = columns.response[own], powers.by_response
        for i in range(column.size):
            level[i] += by * column[i]


@summing
def _score(
    columns: Columns, places: Places, powers: Powers, rows: int, both: Array, level: Array, along: Array, score: Array
) -> None:
    """Write the scores of what is near."""
    for k in range(places.at.size):
        j, into = places.at[k], score[k]
        if j < 0:
            column = both[-1 - j]
            for i in range(rows):
                into[i] = column[i] * level[i]
        else:
            e, total = both[columns.public.shape[0] + j], along[places.block[j]]
            times, centre, shift = places.times[j], places.centre[j], powers.shift[j]
            for i in range(rows):
                into[i] = (times * e[i] + centre) * level[i] + e[i] * total[i] + shift


@summing
def _times(rows: Array, weight: Array, out: Array) -> None:
    """Write rows times weights."""
    for k in range(rows.shape[0]):
        row, into = rows[k], out[k]
        for i in range(weight.size):
            into[i] = row[i] * weight[i]


@summing
def _add_products(left: Array, right: Array, rows: int, sums: tuple[Array, Array]) -> None:
    """Add each row of `left`, and its products with the rows of `right` up to its own."""
    for k in range(left.shape[0]):
        one, whole = left[k], 0.0
        for i in range(rows):
            whole += one[i]
        sums[0][k] += whole
        for h in range(k + 1):
            other, product = right[h], 0.0
            for i in range(rows):
                product += one[i] * other[i]
            sums[1][k, h] += product
