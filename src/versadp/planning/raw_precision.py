"""Precision without noise: the minimum of the mean loss over many simulated people, and its sandwich covariance.

theta minimises E l(m'theta, y),     n var(theta_hat) = V⁻¹ A V⁻¹,   V = E l'' m m',  A = E l'² m m'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.losses import IndexLoss

    Array = NDArray[np.float64]

MOST_STEPS = 50  # of Newton, which converges in about ten or raises: chosen


class Raw(NamedTuple):
    """Coefficients of a population, and n times the covariance of a fit to n of its records without noise."""

    theta: Array
    cov: Array
    rows: int

    def bse(self, records: int) -> Array:
        """Return the standard errors of a fit to `records` people without noise."""
        return np.sqrt(np.diag(self.cov) / records)

    @property
    def error(self) -> Array:
        """The standard errors of theta itself, which is estimated from finitely many simulated people."""
        return self.bse(self.rows)


def raw_fit(loss: IndexLoss, m: Array, y: Array, start: Array, share: float = 1.0) -> Raw:
    """Return the minimum of a mean loss without noise and its covariance, by Newton steps.

    Parameters
    ----------
    loss : IndexLoss
    m, y : arrays
        Design, and response as the loss codes it.
    start : array
    share : float
        Share of the people who are in the fit.

    Examples
    --------
    >>> from versadp.losses import Squared
    >>> rng = np.random.default_rng(0)
    >>> m = np.column_stack([np.ones(1000), rng.normal(size=1000)])
    >>> y = m @ [1.0, 2.0] + rng.normal(size=1000)
    >>> bool(np.allclose(raw_fit(Squared(), m, y, np.zeros(2)).theta, np.linalg.lstsq(m, y)[0]))
    True
    """
    bandwidth, _ = loss.bandwidths(m, y)
    unit = np.sqrt((m**2).mean(axis=0))
    m, theta = m / unit, start * unit  # scaled columns
    for _ in range(MOST_STEPS):
        first, second = loss.derivatives(m @ theta, y, 2, bandwidth)
        score, bend = m * first[:, None], (m * second[:, None]).T @ m / len(y)
        try:
            step = np.linalg.solve(bend, score.mean(axis=0))
        except np.linalg.LinAlgError:
            raise ParameterError("terms of the model are collinear", hint="leave one of them out") from None
        theta = theta - step
        if np.abs(step).max() < 1e-9 * (1 + np.abs(theta).max()):
            break
    half = np.linalg.solve(bend, score.T @ score / len(y))
    cov = np.linalg.solve(bend, half.T)
    return Raw(theta / unit, cov / np.outer(unit, unit) / share, round(len(y) / share))
