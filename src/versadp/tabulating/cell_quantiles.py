"""Quantiles of a number in each cell of a table, by inverting the cell's corrected distribution function.

    F_k(t) = E psi_{k, x <= t}/E psi_k,        score(t) = E (psi_{k, x <= t} - τ psi_k)/E psi_k,

the number is one more column of the table, cut into many levels, and its interval is that of the score's zero
(`estimation/distribution.py`): it needs no density. Values lie evenly inside a level; interval ends are ends of levels.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from versadp.estimation.distribution import Curve
from versadp.fitting.source import numbers_of
from versadp.schema import Bounded, Dates
from versadp.schema.spacing import from_even
from versadp.tabulating.axes import Axis
from versadp.tabulating.cell_estimates import Estimates
from versadp.tabulating.codes import COARSE, FASTER, MANY, RAMPS
from versadp.tabulating.layout import Layout
from versadp.tabulating.signed import cell_means

if TYPE_CHECKING:
    from collections.abc import Sequence

    from versadp.engine import Engine
    from versadp.inputs import Array
    from versadp.release.release import Release
    from versadp.schema import Column
    from versadp.tabulating.contraction import Means

PUBLIC, SEEN = 256, 1_000_000  # levels of a public number, and how many values they are taken from
BETWEEN = 8  # values of a level at which the score is looked at


def read_quantiles(
    release: Release, layout: Layout, name: str, taus: Sequence[float], *, z: float, engine: str | Engine
) -> dict[float, Estimates]:
    """Return estimates of quantiles in all cells and margins, by level."""
    axis = _fine(release, name)
    finer = Layout.of(release, (*layout.axes, axis), None, sharp=layout.sharp)
    finer.check_codes()
    every = list(product(*(range(size + 1) for size in layout.shape)))
    inner = [key for key in every if all(j < size for j, size in zip(key, layout.shape, strict=True))]
    keys = inner + [key for key in every if key not in set(inner)]
    levels = np.arange(axis.size)
    groups = [np.append(np.tile(key, (axis.size, 1)), levels[:, None], axis=1) for key in keys]
    found = cell_means(release, finer, groups, engine)
    widening = float(release.mechanism.schema.rows_per_person**0.5)
    out = {}
    for tau in taus:
        rows = np.array([_quantile(axis, means, tau, z, widening) for means in found])
        value, error, low, high = rows.T
        whole = np.ptp(axis.cuts) if axis.edges is not None else np.inf
        out[tau] = Estimates(value, error, low, high, np.isfinite(value) & (high - low < whole * (1 - 1e-9)))
    return out


def _fine(release: Release, name: str) -> Axis:
    """Return a number cut into many levels: its values if they are few, else even cells; a public one by its values."""
    declared = release.mechanism.schema.columns[name]
    if not isinstance(declared, Bounded):
        return _public(release, name)
    steps = round(declared.width) if isinstance(declared, Dates) else declared.steps
    if steps is not None and steps < COARSE:
        return _singles(name, declared, np.linspace(declared.lower, declared.upper, steps + 1))
    cells = int(RAMPS * max(1.0, len(release) / MANY) ** FASTER)
    home = next(block for block in release.mechanism.blocks if name in block.columns)
    lattice = home.lattice(name)
    if lattice is not None and lattice.last < COARSE:  # values are rounded to its points
        middles = lattice.values
        ends = np.concatenate([[declared.lower], (middles[1:] + middles[:-1]) / 2, [declared.upper]])
    else:
        ends = from_even(declared.spacing, np.linspace(*declared.even_bounds, cells + 1))
        ends[[0, -1]] = declared.lower, declared.upper
    return Axis(name, declared, tuple(range(ends.size - 1)), ends)


def _singles(name: str, declared: Column, values: Array) -> Axis:
    ends = np.concatenate([values[:1], (values[1:] + values[:-1]) / 2, values[-1:]])
    return Axis(name, declared, tuple(values.tolist()), ends, points=values)


def _public(release: Release, name: str) -> Axis:
    """Return a public number cut into its values, or into levels that hold about as many records each."""
    stride = max(1, len(release) // SEEN)
    parts = [numbers_of(release.read(h, [name]).column(name))[::stride] for h in release.handles()]
    values = np.concatenate([*parts, np.empty(0)])
    values = values[np.isfinite(values)]
    declared, single = release.mechanism.schema.columns[name], np.unique(values)
    if 0 < single.size <= PUBLIC and stride == 1:
        return _singles(name, declared, single)
    ends = np.unique(np.quantile(values, np.linspace(0, 1, PUBLIC + 1))) if values.size else np.zeros(1)
    ends = np.array([ends[0], ends[0] + 1.0]) if ends.size < 2 else ends
    return Axis(name, declared, tuple(range(ends.size - 1)), ends)


def _quantile(axis: Axis, means: Means, tau: float, z: float, widening: float) -> tuple[float, float, float, float]:
    """Return a quantile, its standard error and the ends of its interval; NaN if the count is not significant."""
    assert axis.edges is not None
    share, cov = float(means.first.sum()), means.cov
    se = float(np.sqrt(max(cov.sum(), 0.0)))
    if share <= z * se or share * means.rows <= 1.5:
        return np.nan, np.nan, float(axis.edges[0]), float(axis.edges[-1])
    at, below = _below(axis)
    score = below @ means.first / share - tau
    away = below - tau
    error = np.sqrt(np.maximum(np.einsum("tj,jk,tk->t", away, cov, away), 0.0)) / share
    curve = Curve(at, score, error)
    from scipy.special import ndtr

    low, high = curve.interval(float(2 * ndtr(z) - 1))
    if axis.points is None:
        last = axis.edges.size - 1
        low = float(axis.edges[max(int(np.searchsorted(axis.edges, low, side="right")) - 1, 0)])
        high = float(axis.edges[min(int(np.searchsorted(axis.edges, high, side="left")), last)])
    return curve.estimate, (high - low) / 2 / z * widening, low, high


def _below(axis: Axis) -> tuple[Array, Array]:
    """Return values, and the share of each level that lies below them, (values, levels)."""
    assert axis.edges is not None
    if axis.points is not None:
        return axis.points, np.tri(axis.points.size)
    low, high = axis.edges[:-1], axis.edges[1:]
    inner = low[:, None] + (high - low)[:, None] * np.arange(BETWEEN) / BETWEEN
    at = np.append(inner.ravel(), high[-1:])
    return at, np.clip((at[:, None] - low) / (high - low), 0.0, 1.0)
