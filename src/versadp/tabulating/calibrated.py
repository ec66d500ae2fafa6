"""Tables of a release with totals: cells of one or two columns, calibrated with their covariance.

What totals say of the share of a cell is added to that of the records (`correction/calibrated_means.py`). Means in
cells, and tables of more columns, are functions of three columns or more: of these the records are taken alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.tabulating.codes import on_lattice

if TYPE_CHECKING:
    from versadp.correction.calibrated_means import CalibratedMeans
    from versadp.inputs import Array
    from versadp.tabulating.axes import Axis
    from versadp.tabulating.contraction import Means
    from versadp.tabulating.layout import Layout

ROUNDING = 1e-9  # shares that differ by less are the same
MOST_CELLS = 400  # whose covariance is calibrated: 20,000 records times 400 cells are 64 MB


def with_totals(means: Means, totals: CalibratedMeans | str, layout: Layout) -> tuple[Means, dict[str, str]]:
    """Return the means of all cells, calibrated where they can be, and what the table says of totals."""
    if totals == "":
        return means, {}
    why = totals if isinstance(totals, str) else _refused(totals, layout)
    if why or isinstance(totals, str):
        return means, {"totals": f"not used: {why}"}
    found = [_on_points(totals, layout, axis) for axis in layout.axes]
    shares = [share for share in found if share is not None]
    if len(shares) < len(found):
        return means, {"totals": "not used: edges lie between the values to which totals round"}
    values = shares[0].T
    if len(shares) == 2:
        values = np.einsum("ja,kb->abjk", *shares).reshape(-1, len(shares[0]), len(shares[1]))
    added, cov = totals.of(tuple(axis.name for axis in layout.axes), values)
    first = means.first + added
    second = cov * max(means.rows - 1, 1) + np.outer(first, first)
    return means._replace(first=first, second=second, calibrated=True), {"totals": "used"}


def _refused(totals: CalibratedMeans, layout: Layout) -> str:
    names = [axis.name for axis in layout.axes]
    if layout.measure is not None:
        return "means in cells are functions of more columns than totals are about"
    if len(names) > 2:
        return "a table of more than two columns is more than totals are about"
    if not totals.knows(*names):
        return f"no total is about {next(name for name in names if not totals.knows(name))!r}"
    if int(np.prod(layout.shape)) > MOST_CELLS:
        return f"there are more than {MOST_CELLS} cells"
    return ""


def _on_points(totals: CalibratedMeans, layout: Layout, axis: Axis) -> Array | None:
    """Return the share of each node of the totals in each level, (points, levels); None if levels bend in between."""
    law = totals.calibration.features.laws[axis.name]
    lattice = layout.lattice(axis.name)
    assert lattice is not None
    share, _ = on_lattice(axis, lattice, layout.rows, sharp=layout.sharp)
    points = np.arange(law.lattice.last + 1)
    nodes = np.minimum(law.lattice.merged * np.arange(law.lattice.points), law.lattice.last)
    for column in share[:-1].T:
        if np.abs(np.interp(points, nodes, column[nodes]) - column).max() > ROUNDING:
            return None  # what undoes the noise in levels varies more than what undoes it in their nodes
    return np.concatenate([share[nodes], share[-1:][: law.size - law.lattice.points]])
