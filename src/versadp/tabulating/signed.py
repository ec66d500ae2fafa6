"""Cells by signed points, for blocks without a lattice: zero-inflated noise, and blocks of one's own.

    psi_k(z) = Σ_p weight_p 1{point_p in cell k},        E psi_k(Z) = 1{x in cell k},

accumulated per record, multiplied over blocks (others enter by their codes), then summed with the products of cells.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.engine.base import add_up
from versadp.noise import How
from versadp.schema import Bounded, Categorical
from versadp.tabulating.axes import Axis
from versadp.tabulating.contraction import Means, contract, drawn_means, factors
from versadp.tabulating.counting import count, over_records

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.inputs import Array
    from versadp.noise import Block
    from versadp.release.folder.folder import Handle
    from versadp.release.release import Release
    from versadp.schema import Column
    from versadp.tabulating.layout import Layout

    Cells = NDArray[np.int64]

LARGEST = 2**22  # numbers in an array of records, cells or points: 32 MB
SEED = 0x7AB1E  # of the draws of signed points, with the number of a lot's first record


def cell_means(release: Release, layout: Layout, groups: Sequence[Cells], engine: str | Engine) -> list[Means]:
    """Return the means of each group of cells: by codes if all columns have them, else record by record."""
    if not layout.signed:
        counted = count(release, layout, engine)
        return [contract(layout, counted, cells) for cells in groups]
    found = over_records(release, partial(_gather, release, layout, tuple(groups)), engine)
    if found is None:
        sizes = [layout.functions * len(cells) for cells in groups]
        return [Means(0, np.zeros(size), np.zeros((size, size))) for size in sizes]
    rows = found[0]
    pairs = zip(found[1::2], found[2::2], strict=True)
    return [Means(rows, first / max(rows, 1), second / max(rows, 1)) for first, second in pairs]


def _gather(release: Release, layout: Layout, groups: tuple[Cells, ...], handle: Handle) -> tuple[Any, ...]:
    table = release.read(handle, layout.columns)
    width = layout.functions * sum(map(len, groups)) + sum(block.point_count(How()) for block in layout.signed)
    lot = max(64, LARGEST // width)
    starts = range(0, max(handle.rows, 1), lot)
    found = add_up(_lot(layout, groups, table.slice(start, lot), handle.first + start) for start in starts)
    assert found is not None
    return found


def _lot(layout: Layout, groups: tuple[Cells, ...], table: pa.Table, first: int) -> tuple[Any, ...]:
    undone = [_undo(layout, block, table, first) for block in layout.signed]
    codes, u = _codes(layout, table)
    out: list[Any] = [table.num_rows]
    for cells in groups:
        psi = _psi(layout, codes, u, undone, cells)
        out += [psi.sum(axis=0), psi.T @ psi]
    return tuple(out)


def _codes(layout: Layout, table: pa.Table) -> tuple[Cells, Array | None]:
    """Return the codes of columns that have them (0 elsewhere), and the measure undone if it has."""
    codes = np.zeros((table.num_rows, len(layout.axes) + 1), np.int64)
    for j, axis in enumerate(layout.axes):
        if not layout.is_signed(axis.name):
            codes[:, j] = layout.coding(axis).of(axis, axis.values(table.column(axis.name)))
    measure = layout.measure
    if measure is None or layout.is_signed(measure.name):
        return codes, None
    values = measure.values(table.column(measure.name))
    codes[:, -1] = np.isnan(values) if layout.slots > 1 else 0
    return codes, layout.undone(values)


def _psi(layout: Layout, codes: Cells, u: Array | None, undone: Sequence[tuple[Any, Array]], cells: Cells) -> Array:
    """Return the functions of some cells, undone at each record, (records, functions * cells)."""
    f = layout.functions
    kept, drawn = factors(layout, codes, cells)
    out = np.empty((len(codes), f, len(cells)))
    out[:] = (kept if drawn is None else kept + drawn)[:, None]
    if u is not None:
        for i in range(1, f):
            out[:, i] = kept * u[:, i - 1, None]
            out[:, i] += 0.0 if drawn is None else drawn * drawn_means(layout, codes)[:, i, None]
    for at, found in undone:
        # at: columns of the block; found: (records, functions or 1, cells of the block)
        shape = tuple(layout.axes[j].size + 1 for j in at)
        place = np.ravel_multi_index(tuple(cells[:, list(at)].T), shape) if at else np.zeros(len(cells), np.int64)
        out *= found[:, :, place]
    return out.reshape(len(codes), -1)


def _undo(layout: Layout, block: Block, table: pa.Table, first: int) -> tuple[tuple[int, ...], Array]:
    """Return the columns of a block, and its share of psi: (records, functions or 1, cells and margins)."""
    at = tuple(j for j, axis in enumerate(layout.axes) if axis.name in block.columns)
    released = np.stack([_released(layout, table, name) for name in block.columns])
    rng = np.random.default_rng([first, SEED])
    points = block.points(released, rng, How())
    inside, place = points.weight != 0, np.zeros(points.record.size, np.int64)
    for j in at:
        axis = layout.axes[j]
        level = axis.place(_within(points.columns[axis.name], axis.declared))
        inside &= level < axis.size
        place = place * axis.size + np.minimum(level, axis.size - 1)
    size = int(np.prod([layout.axes[j].size for j in at], dtype=np.int64))
    record, weight = points.record[inside], points.weight[inside]
    flat, rows = record * size + place[inside], table.num_rows
    count = [np.bincount(flat, weight, rows * size)]
    if layout.measure is not None and layout.measure.name in block.columns:
        u = layout.measure.at(points.columns[layout.measure.name][inside])
        count += [np.bincount(flat, weight * each, rows * size) for each in u.T]
    out: Any = np.stack([each.reshape(rows, size) for each in count], axis=1)
    out = out.reshape(*out.shape[:2], *(layout.axes[j].size for j in at))
    for k in range(2, out.ndim):  # all levels of a column, behind them
        out = np.append(out, out.sum(axis=k, keepdims=True), axis=k)
    return at, out.reshape(*out.shape[:2], -1)


def _within(values: Array, declared: Column) -> Array:
    """Return values inside the bounds of their column: points on a bound may be off by rounding."""
    return np.clip(values, declared.lower, declared.upper) if isinstance(declared, Bounded) else values


def _released(layout: Layout, table: pa.Table, name: str) -> Array:
    """Return a column of a block as the block takes it."""
    declared = layout.declared[name]
    if not isinstance(declared, Categorical):
        return Axis(name, declared, (), np.empty(0)).values(table.column(name))
    return Axis(name, declared, tuple(declared.levels)).values(table.column(name))
