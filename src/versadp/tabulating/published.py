"""A table to publish: whole numbers, none negative, that add up.

    x = argmin (x - y)' C⁻¹ (x - y),    x >= 0,  Σ x = the total,

y the unbiased counts and C their covariance: the table without negative counts that is nearest in the metric of the
errors. It is rounded by largest remainders, so that cells add up to the total and margins are the sums of cells. Each
figure is biased where a count was negative, and together they are nearer to the truth than y is. Intervals stay those
of the unbiased figures, and are for the truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.inputs import Array

LEAST = 1e-9  # eigenvalue of C relative to the largest, below which a direction is taken to be known


def published_counts(counts: Array, cov: Array) -> NDArray[np.int64]:
    """Return counts as whole numbers, none negative, that add up to the rounded total.

    Parameters
    ----------
    counts : array (cells,)
        Unbiased counts.
    cov : array (cells, cells)
        Their covariance.

    Examples
    --------
    >>> published_counts(np.array([12.3, -2.1, 9.8]), np.diag([4.0, 4.0, 4.0])).tolist()
    [11, 0, 9]
    """
    total = max(float(counts.sum()), 0.0)
    whole = round(total)
    if not whole:
        return np.zeros(counts.size, np.int64)
    return rounded(projected(counts, cov, total) * (whole / total), whole)


def projected(counts: Array, cov: Array, total: float) -> Array:
    """Return the nonnegative counts with a total that are nearest to some in the metric of their errors."""
    from scipy.optimize import nnls

    size, vectors = np.linalg.eigh(cov)
    root = 1 / np.sqrt(np.maximum(size, LEAST * max(float(size[-1]), np.finfo(float).tiny)))
    whitened = root[:, None] * vectors.T
    # the total is held by a row that weighs more than any error
    firm = 1e3 * float(root.max()) * np.ones((1, counts.size))
    scale = float(root.max())
    left = np.append(whitened, firm, axis=0) / scale
    right = np.append(whitened @ counts, firm[0, 0] * total) / scale
    if (counts >= 0).all():
        return counts
    found, _ = nnls(left, right, maxiter=50 * counts.size)
    return np.asarray(found * (total / max(float(found.sum()), np.finfo(float).tiny)))


def rounded(values: Array, total: int) -> NDArray[np.int64]:
    """Return whole numbers near to values that add up to a total: by largest remainders.

    Examples
    --------
    >>> rounded(np.array([1.4, 1.4, 1.2]), 4).tolist()
    [2, 1, 1]
    """
    down = np.floor(values).astype(np.int64)
    left = total - int(down.sum())
    order = np.argsort(-(values - down), kind="stable")
    for k in range(abs(left)):
        down[order[k % values.size]] += np.sign(left)
    return np.maximum(down, 0)
