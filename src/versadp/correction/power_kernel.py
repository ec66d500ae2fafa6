"""Compiled loops over powers of an index: a score a record, or sums over records without any array of scores.

Formulas stand in `powers.py`. Loops are over a column at a time, and as many records as stay near the processor: such
loops are vectorised, and what they write need not go through memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.noise.kernel import summing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_NEAR = 1024  # records that are worked on at a time, as many as stay near the processor


@summing
def power_scores(
    m: Array,
    e: Array,
    block: NDArray[np.int64],
    columns: NDArray[np.int64],
    level: Array,
    one_coin: Array,
    own_coin: Array,
    source: NDArray[np.int64],
    shift: Array,
    out: Array,
) -> None:
    """Write `m level`, and in noisy columns `e_j (Σ_B one_coin e + Σ_S own_coin e) + shift_j` too, to `out` (p, n).

    `m` is (p, n) and `e` (columns, n), B the block of a column and S its source (`own_coin` may be empty); `columns`
    has for each coefficient its column, or -1 for a public one. A column at a time, and as many records as stay near
    the processor: such loops are vectorised.
    """
    along = np.empty((block.max() + 1, _NEAR))
    beside = np.empty((source.max() + 1 if own_coin.size else 0, _NEAR))
    for start in range(0, level.size, _NEAR):
        own = slice(start, start + _NEAR)
        along[:] = 0.0
        for j in range(e.shape[0]):
            part, total = e[j, own], along[block[j]]
            for i in range(part.size):
                total[i] += one_coin[j] * part[i]
        beside[:] = 0.0
        for j in range(own_coin.size):
            _add(own_coin[j], e[j, own], level[own].size, beside[source[j]])
        for k in range(m.shape[0]):
            j, row, near, into = columns[k], m[k, own], level[own], out[k, own]
            if j < 0:
                for i in range(row.size):
                    into[i] = row[i] * near[i]
            else:
                part, total = e[j, own], along[block[j]]
                for i in range(row.size):
                    into[i] = row[i] * near[i] + part[i] * total[i] + shift[j]
                if own_coin.size:
                    total = beside[source[j]]
                    for i in range(row.size):
                        into[i] += part[i] * total[i]


class Columns(NamedTuple):
    """Columns in sums of powers: a constant, public columns, noisy ones and a public response, q in all.

    Attributes
    ----------
    public, released : array (n, k), array (dim, n)
        Public columns, and noisy ones as they were released.
    response, weight : array (n,)
        Empty where the response is a noisy column, and where all records weigh the same.
    block, source : array of int (dim,)
    origin, per : array (dim,)
        Noisy columns are `e = per (released - origin)`.
    """

    public: Array
    released: Array
    response: Array
    weight: Array
    block: NDArray[np.int64]
    source: NDArray[np.int64]
    origin: Array
    per: Array


class Powers(NamedTuple):
    """The score of powers of an index: `m_j L + e_j Σ_B one_coin e + shift_j`, B the block of a noisy column j.

    Attributes
    ----------
    turn, level : array (p, q), array (q,)
        m and L, as they are made of columns.
    at : array of int (p,)
        For each coefficient its noisy column, or -1 - k for public column k.
    one_coin, shift : array (dim,)
    own_coin : array (dim,)
        Of columns of one source, where products of these are undone otherwise; empty if none are.
    """

    turn: Array
    level: Array
    at: NDArray[np.int64]
    one_coin: Array
    own_coin: Array
    shift: Array


@summing
def column_products(columns: Columns, out: Array) -> None:
    """Add products of columns to `out` (q, q), below its diagonal."""
    near, weighed = np.empty((len(out), _NEAR)), np.empty((len(out), _NEAR))
    for start in range(0, columns.released.shape[1], _NEAR):
        rows = _bring(columns, start, near)
        if columns.weight.size:
            _weigh(near, columns.weight[start : start + _NEAR], weighed)
        _add_products(weighed if columns.weight.size else near, near, rows, out)


@summing
def score_products(columns: Columns, powers: Powers, out: Array) -> None:
    """Add products of scores to `out` (p, p), below its diagonal; no score is kept."""
    near, score = np.empty((powers.level.size, _NEAR)), np.empty((len(out), _NEAR))
    for start in range(0, columns.released.shape[1], _NEAR):
        rows = _bring(columns, start, near)
        _score(columns, powers, rows, near, score)
        if columns.weight.size:
            _weigh(score, columns.weight[start : start + _NEAR], score)
        _add_products(score, score, rows, out)


@summing
def _bring(columns: Columns, start: int, near: Array) -> int:
    """Write the columns of the next records; return how many they are."""
    own, count = slice(start, start + _NEAR), columns.public.shape[1]
    rows = columns.released[0, own].size
    near[0] = 1.0
    for k in range(count):
        into = near[1 + k]
        for i in range(rows):
            into[i] = columns.public[start + i, k]
    for j in range(columns.released.shape[0]):
        column, into, origin, per = columns.released[j, own], near[1 + count + j], columns.origin[j], columns.per[j]
        for i in range(rows):
            into[i] = per * (column[i] - origin)
    if columns.response.size:
        into = near[-1]
        for i in range(rows):  # a slice would compile the words of its error, too: 1.8 s
            into[i] = columns.response[start + i]
    return rows


@summing
def _score(columns: Columns, powers: Powers, rows: int, near: Array, score: Array) -> None:
    """Write the scores of what is near."""
    first = 1 + columns.public.shape[1]
    level, along = np.zeros(_NEAR), np.zeros((columns.block.size, _NEAR))  # there are no more blocks than columns
    for q in range(powers.level.size):
        _add(powers.level[q], near[q], rows, level)
    for j in range(columns.block.size):
        _add(powers.one_coin[j], near[first + j], rows, along[columns.block[j]])
    beside = np.zeros((columns.source.max() + 1 if powers.own_coin.size else 0, _NEAR))
    for j in range(powers.own_coin.size):
        _add(powers.own_coin[j], near[first + j], rows, beside[columns.source[j]])
    for k in range(powers.at.size):
        j, into = powers.at[k], score[k]
        if j < 0:
            column = near[-j]
            for i in range(rows):
                into[i] = column[i] * level[i]
        else:
            e, total = near[first + j], along[columns.block[j]]
            times, centre, shift = powers.turn[k, first + j], powers.turn[k, 0], powers.shift[j]
            for i in range(rows):
                into[i] = (times * e[i] + centre) * level[i] + e[i] * total[i] + shift
            if powers.own_coin.size:
                total = beside[columns.source[j]]
                for i in range(rows):
                    into[i] += e[i] * total[i]


@summing
def _add(times: float, row: Array, rows: int, out: Array) -> None:
    for i in range(rows):
        out[i] += times * row[i]


@summing
def _weigh(near: Array, weight: Array, out: Array) -> None:
    """Write rows times weights."""
    for k in range(near.shape[0]):
        row, into = near[k], out[k]
        for i in range(weight.size):
            into[i] = row[i] * weight[i]


@summing
def _add_products(left: Array, right: Array, rows: int, out: Array) -> None:
    """Add products of each row of `left` with the rows of `right` up to its own."""
    for k in range(left.shape[0]):
        one = left[k]
        for h in range(k + 1):
            other, product = right[h], 0.0
            for i in range(rows):
                product += one[i] * other[i]
            out[k, h] += product
