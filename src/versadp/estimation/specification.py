"""A free test: members share one mean, so that contrasts of their scores have mean zero.

    g_i = (s_1i - s_Ki, ..., s_(K-1)i - s_Ki),    n g' S^+ g  ->  chi-square,    S the covariance of g_i

Extensions differ outside the domain only, where no true record is: what differs between them is noise that the
mechanism is known to have. Records that were selected or weighted by what noise made of them, and noise of another law,
have it otherwise. At the estimate the test is as it would be at the truth: members share one curvature too.

A direction of the contrasts that hangs on a few records is not normal: with q its values, the number of records that
count is `(sum q^2)^2 / sum q^4`, and the error of a normal distribution is of the order of its inverse. Directions with
fewer than `RECORDS_PER_CONTRAST` are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.estimation.moments import evaluated
from versadp.estimation.thresholds import LEAST_CONTRAST, RECORDS_PER_CONTRAST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.estimation.moments import Family, Form, Prepared

    Array = NDArray[np.float64]

ROUNDING = 1e-8


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
    if not varies.any():
        return None
    against = directions(covariance[np.ix_(varies, varies)]) @ against[varies]
    _, squares, fourths = family.total(Counting(family.forms, theta, members, against))
    kept = squares**2 > RECORDS_PER_CONTRAST * fourths
    return (float(found.n * np.sum((against[kept] @ mean) ** 2)), int(kept.sum())) if kept.any() else None


@dataclass(frozen=True)
class Counting:
    """What one pass asks of some records: sums of squares and of fourth powers of contrasts."""

    forms: tuple[Form, ...]
    theta: Array
    members: int
    against: Array  # (k, members p)

    def sums(self, prepared: Prepared) -> tuple[int, Array, Array]:
        """Return number and sums."""
        scores = evaluated(self.forms, prepared, self.theta, np.eye(self.members), hessian=False)[0]
        squares = (scores.reshape(len(scores), -1) @ self.against.T) ** 2
        return len(scores), squares.sum(axis=0), (squares**2).sum(axis=0)


def directions(covariance: Array) -> Array:
    """Return directions, a row each, along which what has a covariance varies by 1 and not together.

    Examples
    --------
    >>> directions(np.full((2, 2), 4.0)).round(3)  # one direction: both move together
    array([[0.25, 0.25]])
    """
    unit = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(unit, unit))
    kept = values > LEAST_CONTRAST * values[-1]
    found = (vectors[:, kept] / np.sqrt(values[kept]) / unit[:, None]).T
    return np.asarray(found * np.sign(found.sum(axis=1, keepdims=True)))
