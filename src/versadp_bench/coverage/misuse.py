"""What must not be done with a release, since its noise is then no longer what was declared.

The specification test of a fit should notice; a row of the table says how often it does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import versadp as vdp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    Changed = tuple[vdp.Release, dict[str, Any]]


def _selected(release: vdp.Release) -> Changed:
    """Keep the rows whose first noisy column is above the middle of its bounds."""
    frame, column = _first(release)
    return vdp.Release.from_frame(frame.filter(_above(release, column)), release.mechanism, on_grid=False), {}


def _doubled(release: vdp.Release) -> Changed:
    """Have every row twice."""
    import pyarrow as pa

    return vdp.Release.from_frame(pa.concat_tables([release.frame, release.frame]), release.mechanism), {}


def _weighted(release: vdp.Release) -> Changed:
    """Give rows above the middle of the first noisy column three times the weight, among weights of another kind.

    Weights by the column alone would be refused.
    """
    _, column = _first(release)
    own = np.random.default_rng(column.size).uniform(0.5, 1.5, column.size)
    return release, {"weights": np.where(_above(release, column), 3.0, 1.0) * own}


def _misdeclared(release: vdp.Release) -> Changed:
    """Declare a scale that is a fifth too large."""
    told = release.mechanism
    scale = {name: 1.2 * value for name, value in told.scale.items()}
    declared = vdp.Mechanism(told.schema, scale, told.exact_rate, told.keep or None)
    return vdp.Release.from_frame(release.frame, declared, on_grid=False), {}


def _first(release: vdp.Release) -> tuple[pa.Table, Any]:
    frame = release.frame
    return frame, frame[release.mechanism.schema.numeric[0]].to_numpy()


def _above(release: vdp.Release, column: Any) -> Any:
    schema = release.mechanism.schema
    bounds: Any = schema.columns[schema.numeric[0]]
    return column > (bounds.lower + bounds.upper) / 2


_WAYS: Mapping[str, Callable[[vdp.Release], Changed]] = {
    "selected": _selected,
    "doubled": _doubled,
    "weighted": _weighted,
    "misdeclared": _misdeclared,
}


@dataclass(frozen=True)
class Misuse:
    """A way to misuse a release, and how often a test at 5% should notice.

    Examples
    --------
    >>> Misuse("doubled", 0.25).power
    0.25
    """

    way: str
    power: float = field(repr=False)

    def change(self, release: vdp.Release) -> Changed:
        """Return the misused release, and options of the fit."""
        return _WAYS[self.way](release)
