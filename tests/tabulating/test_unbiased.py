"""Cells are undone without bias: every output of small blocks, with its exact probability."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.noise import Response, Window
from versadp.tabulating.axes import read_axes
from versadp.tabulating.contraction import all_cells, contract
from versadp.tabulating.counting import Counted, joint_codes
from versadp.tabulating.layout import Layout, read_measure

AGE, SIZE = vdp.Bounded(0, 5, step=1), vdp.Bounded(0, 2, step=1)
REGION = vdp.Categorical(["n", "e", "s"])
WINDOW = {"cells": 5, "window": 3}
CASES = {
    "joint": (
        {"region": REGION, "age": AGE},
        {("region", "age"): Window(2.0, **WINDOW)},
        ("region", "age"),
        None,
    ),
    "separate": (
        {"region": REGION, "age": AGE},
        {"region": Response(0.6), "age": Window(2.0, **WINDOW)},
        ("region", "age"),
        None,
    ),
    "privately missing": (
        {"region": vdp.Categorical(["n", "e"], nullable=True), "age": vdp.Bounded(0, 5, step=1, nullable=True)},
        {("region", "age"): Window(2.0, **WINDOW)},
        ("region", "age"),
        None,
    ),
    "publicly missing": (
        {"region": vdp.Categorical(["n", "e"], nullable="public"), "age": vdp.Bounded(0, 5, step=1, nullable="public")},
        {("region", "age"): Window(2.0, **WINDOW)},
        ("region", "age"),
        None,
    ),
    "values in the same block": (
        {"region": REGION, "age": AGE, "size": SIZE},
        {("region", "age", "size"): Window(2.0, cells={"age": 5, "size": 2}, window={"age": 3, "size": 2})},
        ("region", "age"),
        "size",
    ),
    "values in another block": (
        {"age": AGE, "size": SIZE},
        {"age": Window(2.0, **WINDOW), "size": Window(2.0, cells=2, window=2)},
        ("age",),
        "size",
    ),
    "values publicly missing": (
        {"age": AGE, "size": vdp.Bounded(0, 2, step=1, nullable="public")},
        {("age", "size"): Window(2.0, cells={"age": 5, "size": 2}, window={"age": 3, "size": 2})},
        ("age",),
        "size",
    ),
    "values privately missing": (
        {"age": AGE, "size": vdp.Bounded(0, 2, step=1, nullable=True)},
        {("age", "size"): Window(2.0, cells={"age": 5, "size": 2}, window={"age": 3, "size": 2}, missing="window")},
        ("age",),
        "size",
    ),
}


def values_of(column):
    """Return every value of a column, missing last."""
    values = list(column.levels) if isinstance(column, vdp.Categorical) else list(np.arange(column.upper + 1))
    return [*values, None] if column.nullable else values


def outputs(block, name, column, value):
    """Return what is released, with the probabilities if the record is kept and if it is redrawn."""
    category = isinstance(column, vdp.Categorical)
    values = len(column.levels) if category else int(column.upper) + 1
    window = 1 if category else block.window[block.columns.index(name)]
    hidden = 0
    if column.nullable is True:
        hidden = 1 if category else block.unseen[block.columns.index(name)]
    if value is None and column.nullable == "public":
        return [(None, 1.0, 1.0)]
    shown, count = values + window - 1, values + window - 1 + hidden
    kept = np.zeros(shown + bool(hidden))
    if value is None:
        first = (shown - (window - hidden)) // 2 if not category else 0
        kept[first : first + window - hidden] = 1 / window
        kept[shown] = hidden / window
    else:
        start = column.levels.index(value) if category else int(value)
        kept[start : start + window] = 1 / window
    drawn = np.append(np.full(shown, 1 / count), [hidden / count] if hidden else [])
    middle = (window - 1) / 2
    out = [column.levels[k] if category else k - middle for k in range(shown)] + ([None] if hidden else [])
    return list(zip(out, kept, drawn, strict=True))


def law(mechanism, record):
    """Return all released records of a record, and their probabilities."""
    frames, weights = [{}], np.ones(1)
    for block in mechanism.blocks:
        names = list(block.columns)
        every = [outputs(block, n, mechanism.schema.columns[n], record[n]) for n in names]
        found = list(product(*every))
        weight = [
            block.keep * np.prod([o[1] for o in each]) + (1 - block.keep) * np.prod([o[2] for o in each])
            for each in found
        ]
        more = [dict(zip(names, (o[0] for o in each), strict=True)) for each in found]
        frames = [a | b for a in frames for b in more]
        weights = np.outer(weights, weight).ravel()
    return pd.DataFrame(frames), weights


def expected(case, missing):
    """Yield each record with the means of its cells over its law, and the layout."""
    columns, noise, names, values = CASES[case]
    mechanism = vdp.Mechanism(vdp.Schema(columns), noise=noise)
    bins = {"age": [0, 2, 3, 5]} if "age" in names else {}
    for combination in product(*map(values_of, columns.values())):
        record = dict(zip(columns, combination, strict=True))
        frame, weight = law(mechanism, record)
        assert abs(weight.sum() - 1) < 1e-12
        for name, column in columns.items():
            frame[name] = frame[name].astype(object if isinstance(column, vdp.Categorical) else float)
        release = vdp.Release.from_frame(frame, mechanism, on_grid=False)
        measure = None if values is None else read_measure(release, values, spread=True)
        layout = Layout.of(release, read_axes(release, names, bins, {}, missing=missing), measure)
        table = release.to_arrow()
        joint, seen = joint_codes(layout, table)
        codes = np.stack(np.unravel_index(joint, layout.sizes), axis=1)
        u = (
            np.ones((len(frame), 1))
            if seen is None
            else np.append(np.ones((len(frame), 1)), layout.undone(seen), axis=1)
        )
        sums = weight[:, None, None] * u[:, :, None] * u[:, None]
        yield record, layout, contract(layout, Counted(codes, sums), all_cells(layout.shape)), (codes, u, weight)


def truth(layout, record):
    """Return the functions of the cells at a record."""
    place = []
    for axis in layout.axes:
        value = record[axis.name]
        if value is None:
            place.append(axis.size - 1 if axis.missing else None)
        elif axis.edges is None:
            place.append(axis.levels.index(value))
        else:
            place.append(int(np.searchsorted(axis.edges[1:-1], value, side="right")))
    cells = np.zeros(layout.shape)
    if None not in place:
        cells[tuple(place)] = 1.0
    measure = layout.measure
    u = [1.0]
    if measure is not None:
        value = record[measure.name]
        x = None if value is None else (value - measure.centre) / measure.width
        powers = {"there": 1.0, "value": x, "square": None if x is None else x * x}
        u += [0.0 if x is None else powers[name] for name in measure.functions]
    return np.concatenate([each * cells.ravel() for each in u])


@pytest.mark.parametrize(
    ("case", "missing"), [*((case, False) for case in CASES), ("privately missing", True), ("publicly missing", True)]
)
def test_cells_of_every_record_have_their_true_expectation(case, missing):
    for record, layout, means, _ in expected(case, missing):
        assert np.abs(means.first - truth(layout, record)).max() < 1e-10, record


@pytest.mark.parametrize(
    "case", ["joint", "separate", "publicly missing", "values in the same block", "values publicly missing"]
)
def test_products_of_cells_are_those_of_single_outputs(case):
    # one output at a time: the mean is psi itself, and its products are those of psi
    for _, layout, means, (codes, u, weight) in [next(iter(expected(case, True)))]:
        second = np.zeros_like(means.second)
        cells = all_cells(layout.shape)
        for code, value, w in zip(codes, u, weight, strict=True):
            psi = contract(layout, Counted(code[None], np.outer(value, value)[None]), cells).first
            second += w * np.outer(psi, psi)
        assert np.allclose(second, means.second, atol=1e-10)


def test_counts_of_released_values_are_biased():
    (record, layout, means, (codes, _, weight)) = next(iter(expected("joint", False)))
    released = np.zeros(layout.shape)
    for (i, j, _), w in zip(codes, weight, strict=True):
        kept = layout.coding(layout.axes[0]).kept[i, :-1].argmax(), layout.coding(layout.axes[1]).kept[j, :-1].argmax()
        released[kept] += w
    assert np.abs(released.ravel() - truth(layout, record)).max() > 0.1
    assert np.abs(means.first - truth(layout, record)).max() < 1e-10
