"""Calibrated means of functions of one or two columns, with their covariance: for descriptions and tables.

    mean  =  that of the records + E_U[v w],        n Cov  =  Var psi_r(Z) + (Var v(X) - Var r(X)) + n B Sigma B',

r = v - B phi (`calibration.py`). The first term is that of a part of the records, the second is under the working law
(`working_law.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from versadp.correction.calibrated import Controls
from versadp.correction.calibrated_release import OutputCodes, calibration_of
from versadp.correction.calibration import components
from versadp.correction.working_law import working_law

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from versadp.correction.calibration import Calibration
    from versadp.correction.features import Support
    from versadp.release.release import Release

    Array = NDArray[np.float64]

PART = 20_000  # records by which variances are judged, evenly from all: normal ones are then known to 0.5%
_KNOWN: WeakKeyDictionary[Any, CalibratedMeans] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class CalibratedMeans:
    """Means of functions of one or two columns, calibrated to totals.

    Attributes
    ----------
    calibration : Calibration
    codes : array (records, columns)
        Outputs of a part of the records.
    drawn : mapping of str to array
        Lattice points of records from the working law.
    """

    calibration: Calibration
    codes: NDArray[np.int16]
    drawn: Mapping[str, NDArray[np.int64]]

    def knows(self, *columns: str) -> bool:
        """Return True if totals are about some columns."""
        return all(name in self.calibration.features.laws for name in columns)

    def points(self, name: str) -> Array:
        """Return the lattice points of a column, NaN for a missing value."""
        return self.calibration.features.laws[name].values

    def of(self, columns: Support, values: Array) -> tuple[Array, Array]:
        """Return what is added to the records' means of functions (K, points, ...), and the covariance of the sums."""
        own, n = self.calibration.features, self.calibration.rows
        place = [own.columns.index(name) for name in columns]
        density = self.calibration.marginals(columns)[columns]
        added = (values * density).reshape(len(values), -1).mean(axis=1)
        gain = self.calibration.gain(components({columns: values}))
        seen: Any = (slice(None), *(self.codes[:, j].astype(np.int64) for j in place))
        psi = own.undone(columns, values)[seen].T
        nothing = np.zeros((0, 0))
        left = psi - Controls(self.calibration, gain, np.zeros(0), nothing, nothing).of(self.codes)
        true: Any = (slice(None), *(self.drawn[name] for name in columns))
        v = values[true].T
        b = np.zeros_like(v)
        for support, table in own.tables(gain).items():
            at: Any = (slice(None), *(self.drawn[name] for name in support))
            b += table[at].T
        both = np.cov(np.concatenate([v, b], axis=1), rowvar=False)
        k = len(values)
        shared = both[:k, k:] + both[k:, :k] - both[k:, k:]
        noise = (gain * self.calibration.sd**2) @ gain.T
        return added, (np.cov(left, rowvar=False).reshape(k, k) + _without_negative(shared)) / n + noise


def _without_negative(matrix: Array) -> Array:
    """Return the part of a symmetric matrix that is a covariance."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def calibrated_means(release: Release) -> CalibratedMeans | str:
    """Return what totals say of means over all records of a release, or why nothing; "" where it has no totals."""
    calibration = calibration_of(release)
    if isinstance(calibration, str):
        return calibration
    if release.mechanism.schema.rows_per_person > 1:
        return "a person may have several rows"
    if release not in _KNOWN:
        every = max(1, len(release) // PART)
        codes = OutputCodes(calibration.features.laws, release.mechanism.schema.columns)
        seen = [codes.of(release.read(handle, codes.columns))[::every] for handle in release.handles()]
        drawn = working_law(calibration, PART, np.random.default_rng(0x7074))
        _KNOWN[release] = CalibratedMeans(calibration, np.concatenate(seen), drawn)
    return _KNOWN[release]
