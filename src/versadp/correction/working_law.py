"""A working law of the records on their lattice: calibrated margins, joined by a Gaussian copula.

Of a calibrated estimate's variance one part is the sampling error that totals and records share. It is a covariance of
known functions under the law of the true records, which nobody has seen; a part that hardly varies with what the law is
beyond its margins and correlations. So it is taken under the law with the calibrated margins and correlations,

    x_j = F_j^-1(Phi(u_j)),     u normal,     corr(u_j, u_k) = corr(x_j, x_k) / (h_j h_k),

h_j the correlation of x_j and u_j (the first Hermite coefficient). It has no noise of the records, which a signed
estimate of the same covariance would drown in, and is positive semidefinite.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.calibration import Calibration

    Array = NDArray[np.float64]

LEAST_EIGENVALUE = 1e-3  # of the correlations of u: estimates may be a little beyond what a law can have


def working_law(calibration: Calibration, rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.int64]]:
    """Return lattice points of records that are drawn from the working law, column by column."""
    from scipy.special import ndtr, ndtri

    columns = calibration.features.columns
    shares = {name: _law(calibration.shares((name,))) for name in columns}
    ends = {name: ndtri(np.clip(np.cumsum(share)[:-1], 1e-12, 1 - 1e-12)) for name, share in shares.items()}
    place, slope = {}, {}
    for name, share in shares.items():
        at = np.arange(share.size) - share @ np.arange(share.size)
        scale = np.sqrt(share @ at**2) or 1.0
        place[name] = at / scale
        density = np.exp(-(np.concatenate([[-40.0], ends[name], [40.0]]) ** 2) / 2) / np.sqrt(2 * np.pi)
        slope[name] = max(float(place[name] @ (density[:-1] - density[1:])), 1e-6)
    latent = np.eye(len(columns))
    for j, k in combinations(range(len(columns)), 2):
        one, two = columns[j], columns[k]
        if (one, two) in calibration.counts:
            found = place[one] @ calibration.shares((one, two)) @ place[two] / slope[one] / slope[two]
            latent[j, k] = latent[k, j] = np.clip(found, -0.99, 0.99)
    values, vectors = np.linalg.eigh(latent)
    root = vectors * np.sqrt(np.maximum(values, LEAST_EIGENVALUE))
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    u = rng.standard_normal((rows, len(columns))) @ root.T
    # evenly over each margin: drawn shares are then those of the law but for rounding
    even = (np.argsort(np.argsort(u, axis=0), axis=0) + 0.5) / rows
    return {name: np.searchsorted(ndtr(ends[name]), even[:, j]).astype(np.int64) for j, name in enumerate(columns)}


def _law(shares: Array) -> Array:
    """Return shares that are 0 or more and add up to 1."""
    kept = np.maximum(shares, 0.0)
    return np.asarray(kept / kept.sum())
