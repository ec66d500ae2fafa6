"""A free test: members share one mean, so that contrasts of their scores have mean zero.

    g_i = (s_1i - s_Ki, ..., s_(K-1)i - s_Ki),    n g' S^+ g  ->  chi-square,    S the covariance of g_i

Extensions differ outside the domain only, where no true record is: what differs between them is noise that the
mechanism is known to have. Records that were selected or weighted by what noise made of them, and noise of another law,
have it otherwise. At the estimate the test is as it would be at the truth: members share one curvature too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.estimation.family import Family

    Array = NDArray[np.float64]

ROUNDING = 1e-8
LEAST = 0.01  # of the largest eigenvalue of the contrasts' correlations: less is the rounding of a few records


def contrast_test(family: Family, theta: Array) -> tuple[float, int] | None:
    """Return the statistic of the members' contrasts, and its degrees of freedom; None where there are none.

    Parameters
    ----------
    family : Family
        Of several members.
    theta : array (p,)
        The estimate.
    """
    members = len(family.names)
    if members < 2:
        return None
    try:
        found = family.moments(theta, np.eye(members), hessian=False)
    except ParameterError:
        return None
    size = members * theta.size
    against = np.kron(np.eye(members)[:-1] - np.eye(members)[-1], np.eye(theta.size))
    mean = found.score.ravel()
    spread = found.outer.reshape(size, size) - np.outer(mean, mean)
    covariance = against @ spread @ against.T
    # what is equal up to rounding is no contrast
    varies = np.diag(covariance) > ROUNDING * (against**2 @ np.diag(spread))
    return statistic(found.n, (against @ mean)[varies], covariance[np.ix_(varies, varies)]) if varies.any() else None


def statistic(n: int, mean: Array, covariance: Array) -> tuple[float, int]:
    """Return `n m' S^+ m` over the directions that vary, and their number.

    Examples
    --------
    >>> value, df = statistic(100, np.array([0.2, 0.2]), np.full((2, 2), 1.0))
    >>> round(value, 3), df
    (4.0, 1)
    """
    unit = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(unit, unit))
    kept = values > LEAST * values[-1]
    along = (mean / unit) @ vectors[:, kept]
    return float(n * np.sum(along**2 / values[kept])), int(kept.sum())
