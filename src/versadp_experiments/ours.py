"""Ours beside the paper's methods: `versadp.fit` on the same released records, with standard errors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import versadp as vdp
from versadp.losses import Check, Mean
from versadp_experiments import means
from versadp_experiments.cells import COLUMNS, OURS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versadp_experiments.cells import Cell
    from versadp_experiments.sampling import Sample

    Array = NDArray[np.float64]
    Found = tuple[list[float] | None, list[float] | None]

FORMULA = " + ".join(f"x{j}" for j in range(6))


def mechanism(cell: Cell) -> vdp.Mechanism:
    """Return the mechanism that releases a cell's records."""
    if cell.table == "table1":
        columns: dict[str, Any] = {"x": vdp.Bounded(0, 1)}
        return vdp.Mechanism(vdp.Schema(columns), scale=cell.noise, exact_rate=cell.exact_rate)
    columns = {f"x{j}": vdp.Bounded(-cell.bound, cell.bound) for j in range(6)} | {"y": vdp.Public()}
    return vdp.Mechanism(vdp.Schema(columns), scale=cell.noise / (2 * cell.bound), exact_rate=cell.exact_rate)


def released(cell: Cell, sample: Sample) -> vdp.Release:
    """Return a sample's X1 as a release."""
    if cell.table == "table1":
        columns = {"x": sample.x1[:, 0]}
    else:
        columns = {f"x{j}": sample.x1[:, j] for j in range(6)} | {"y": sample.y}
    return vdp.Release.from_frame(pa.table(columns), mechanism(cell), on_grid=False)


def fitted(cell: Cell, release: vdp.Release, method: str, draws: int = 1, seed: int = 0) -> Found:
    """Fit a cell's model by a method of the library; nothing where it did not converge."""
    if cell.table == "table1":
        return _means(release, method, draws, seed)
    formula = f"y ~ {FORMULA}" + (" - 1" if cell.table == "table2" else "")
    loss: Any = "logistic" if cell.table == "table2" else Check()
    found = vdp.fit(release, formula, loss=loss, method=method, draws=draws, random_state=seed)
    return _numbers(found)


def _numbers(found: vdp.Results) -> Found:
    """Return estimates and standard errors, of a weak fit half of an interval over 1.96; nothing if one is missing."""
    if not found.answered:
        return None, None
    estimates, ends = np.asarray(found.params), np.asarray(found.conf_int())
    errors = np.asarray(found.bse) if found.converged else (ends[:, 1] - ends[:, 0]) / (2 * 1.959964)
    if not np.isfinite([estimates, errors]).all():
        return None, None
    return estimates.tolist(), errors.tolist()


def _first(f: Callable[[Array], Array], x: Array) -> Array:
    return f(x[:, 0])


def _means(release: vdp.Release, method: str, draws: int, seed: int) -> Found:
    values, errors = [], []
    for name in COLUMNS["table1"]:
        loss = Mean(partial(_first, means.FUNCTIONS[name].value))
        found = vdp.fit(release, loss=loss, method=method, draws=draws, random_state=seed)
        value, error = _numbers(found)
        if value is None or error is None:
            return None, None
        values += value
        errors += error
    return values, errors


def estimates(cell: Cell, sample: Sample, seed: int) -> dict[str, Found]:
    """Return estimates and standard errors of ours."""
    release = released(cell, sample)
    found: dict[str, Found] = {}
    for method in OURS:
        closed = method == "analytic" and cell.table == "table1"  # `fit` integrates only losses of an index
        found[method] = means.analytic(cell, sample) if closed else fitted(cell, release, method, seed=seed)
    return found
