"""What public columns of a model tell about the law of its noisy ones.

Noisy columns usually go with public ones, and a likelihood that took them for independent would be biased. Records
with equal public values are a stratum with a law of its own, about which nothing is assumed, if there are few of them.
Where there are many, as with public numbers, all have one law up to a factor that is estimated too,

    q(x | w) = f(x) e^{w'Γx} / ∫ f(t) e^{w'Γt} dt,

which holds if x is linear in w with normal errors, if it has two values and a logistic model of w, and if it is
independent of w.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction.model import finite
from versadp.fitting.public_facts import public_levels
from versadp.fitting.source import values_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.release.release import Release

    Array = NDArray[np.float64]

FEW = 6  # groups of equal public values that have a law each


@dataclass(frozen=True)
class Groups:
    """What public columns of the model tell about the law of the noisy ones.

    Attributes
    ----------
    columns : tuple of str
    rows : array (groups, columns) or None
        Public values that have a law each; None if they are too many.
    centre, spread : array
        Of the numbers that densities go with.
    levels : dict of str to list
        Of columns that hold text.
    """

    columns: tuple[str, ...]
    rows: Array | None
    centre: Array
    spread: Array
    levels: dict[str, list[str]]

    def numbers(self, public: dict[str, NDArray[Any]], n: int) -> Array:
        """Return the columns as numbers, text by the numbers of its levels, (n, columns)."""
        out = np.zeros((n, len(self.columns)))
        for j, name in enumerate(self.columns):
            out[:, j] = (
                np.searchsorted(self.levels[name], public[name].astype(str)) if name in self.levels else public[name]
            )
        return out

    def spread_out(self, numbers: Array) -> Array:
        """Return columns of numbers, and indicators of all levels but the first, (n, q)."""
        out = []
        for j, name in enumerate(self.columns):
            if name in self.levels:
                out += [(numbers[:, j] == level).astype(float) for level in range(1, len(self.levels[name]))]
            else:
                out.append(numbers[:, j])
        return np.stack(out, axis=1) if out else np.zeros((len(numbers), 0))

    @property
    def strata(self) -> int:
        """How many laws there are."""
        return 1 if self.rows is None else max(len(self.rows), 1)

    def of(self, numbers: Array) -> tuple[NDArray[np.int64], Array]:
        """Return the stratum of each record, and the numbers that its density goes with."""
        if self.rows is None:
            return np.zeros(len(numbers), np.int64), (self.spread_out(numbers) - self.centre) / self.spread
        same = (numbers[:, None, :] == self.rows[None]).all(axis=2)
        return np.argmax(same, axis=1), np.zeros((len(numbers), 0))


def make_groups(release: Release, names: tuple[str, ...]) -> Groups:
    """Look at the public columns of a model: how many groups of equal values there are."""
    levels = {name: found for name in names if (found := public_levels(release, name)) is not None}
    groups = Groups(names, np.zeros((1, 0)), np.zeros(0), np.ones(0), levels)
    if not names:
        return groups
    rows: Array | None = np.zeros((0, len(names)))
    count, width = 0, groups.spread_out(np.zeros((1, len(names)))).shape[1]
    first, second = np.zeros((2, width))
    for handle in release.handles():
        table = release.read(handle, list(names))
        numbers = groups.numbers({name: values_of(table.column(name)) for name in names}, table.num_rows)
        if rows is not None:
            rows = np.unique(np.concatenate([rows, finite(numbers)]), axis=0)
            rows = rows if len(rows) <= FEW else None
        each = groups.spread_out(numbers)
        count, first, second = count + len(each), first + each.sum(axis=0), second + (each**2).sum(axis=0)
    centre = first / count
    spread = np.sqrt(np.maximum(second / count - centre**2, 1e-300))
    return replace(groups, rows=rows, centre=centre, spread=np.where(spread > 1e-12 * np.abs(centre), spread, 1.0))
