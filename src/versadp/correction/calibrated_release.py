"""The calibration of a release to its totals: one pass over its records, kept with the release.

The pass counts the outputs of each column and of each pair of columns that the totals are about: all that the records
tell of the features. Outputs that were seen merged are counted so (`lattice_laws.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from versadp.correction.calibration import Calibration
from versadp.correction.features import Features
from versadp.errors import DataError
from versadp.schema import Categorical, Dates
from versadp.schema.spacing import LINEAR

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from versadp.correction.features import Support
    from versadp.correction.lattice_laws import LatticeLaw
    from versadp.release.release import Release

    Array = NDArray[np.float64]

LOT = 2**17  # records per step: codes of ten columns then take 5 MB
_KNOWN: WeakKeyDictionary[Any, Calibration | str] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class OutputCodes:
    """From released columns to the numbers of their outputs.

    Attributes
    ----------
    laws : mapping of str to LatticeLaw
    declared : mapping of str to Column
    """

    laws: Mapping[str, LatticeLaw]
    declared: Mapping[str, Any]

    @property
    def columns(self) -> list[str]:
        """The columns, in the order of the codes."""
        return list(self.laws)

    def of(self, table: pa.Table) -> NDArray[np.int16]:
        """Return the output of each record in each column, (n, columns)."""
        out = np.empty((table.num_rows, len(self.laws)), np.int16)
        for j, (name, law) in enumerate(self.laws.items()):
            places = law.lattice.places(self._numbers(table.column(name), self.declared[name]))
            if places.size and (places.min() < 0 or places.max() >= law.outputs):
                raise DataError(
                    f"column {name!r} holds values that its noise never gives",
                    hint="undo what was done to the column after release",
                )
            out[:, j] = places
        return out

    @staticmethod
    def _numbers(column: Any, declared: Any) -> Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        if isinstance(declared, Dates):
            from versadp.release.path.dates import from_dates

            return from_dates(column, declared)
        if isinstance(declared, Categorical):
            column = pc.index_in(column, value_set=pa.array(list(declared.levels)).cast(column.type))
        return np.asarray(column.combine_chunks().to_numpy(zero_copy_only=False), dtype=float)


def calibration_of(release: Release) -> Calibration | str:
    """Return the calibration of a release to its totals, or why there is none; "" where it has no totals."""
    if release not in _KNOWN:
        _KNOWN[release] = _calibration(release)
    return _KNOWN[release]


def _calibration(release: Release) -> Calibration | str:
    totals = release.totals
    if totals is None:
        several = any(sheet is not None for sheet in release.totals_by_batch)
        return "this release has several batches, each with totals of its own" if several else ""
    declared = release.mechanism.schema.columns
    spaced = [name for name in totals.terms.functions if getattr(declared[name], "spacing", LINEAR) != LINEAR]
    if spaced:
        return f"column {spaced[0]!r} has a spacing, for which totals are not undone yet"
    features = Features.of(release.mechanism.blocks, totals.terms)
    if features is None:
        return "a column's lattice is finer than tables of two columns can be"
    if totals.rows != len(release):
        return "the totals are of other people than these records"
    counts = output_counts(release, features)
    return Calibration(features, totals.rows, np.asarray(totals.sd), counts, np.asarray(totals.means))


def output_counts(release: Release, features: Features) -> dict[Support, Array]:
    """Return shares of records by output of each column and each pair that features are about."""
    codes = OutputCodes(features.laws, release.mechanism.schema.columns)
    place = {name: j for j, name in enumerate(codes.columns)}
    shapes = {support: tuple(features.laws[name].outputs for name in support) for support in features.groups if support}
    total = {support: np.zeros(int(np.prod(shape)), np.int64) for support, shape in shapes.items()}
    for handle in release.handles():
        table = release.read(handle, codes.columns)
        for start in range(0, table.num_rows, LOT):
            seen = codes.of(table.slice(start, LOT)).T.astype(np.int64)
            for support, shape in shapes.items():
                joint = seen[place[support[0]]]
                if len(support) == 2:
                    joint = joint * shape[1] + seen[place[support[1]]]
                total[support] += np.bincount(joint, minlength=total[support].size)
    rows = max(len(release), 1)
    return {support: total[support].reshape(shape) / rows for support, shape in shapes.items()}
