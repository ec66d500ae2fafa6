"""Wald tests of linear constraints.

W = (R θ - q)' (R V R')⁻¹ (R θ - q)  →  χ² with rank(R) degrees of freedom   under R θ₀ = q
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import EstimationError, ParameterError

if TYPE_CHECKING:
    from versadp.inputs import Array


@dataclass(frozen=True)
class WaldTest:
    """The result of a Wald test.

    Attributes
    ----------
    statistic : float
    df : int
        Degrees of freedom: the number of constraints.
    pvalue : float

    Examples
    --------
    >>> print(WaldTest(statistic=3.841458820694124, df=1, pvalue=0.05))
    Wald test: chi-square 3.841 with 1 degree of freedom, p = 0.05
    """

    statistic: float
    df: int
    pvalue: float

    def __str__(self) -> str:
        freedom = f"{self.df} degree{'s' * (self.df != 1)} of freedom"
        return f"Wald test: chi-square {self.statistic:.4g} with {freedom}, p = {self.pvalue:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return asdict(self)


def wald(params: Array, cov: Array, R: Array, q: Array) -> WaldTest:
    """Test R θ = q.

    Examples
    --------
    >>> wald(np.array([2.0, 0.0]), np.eye(2), np.array([[1.0, 0.0]]), np.array([0.0])).statistic
    4.0
    """
    from scipy.stats import chi2

    # rows scaled to length one: whether constraints repeat each other does not depend on their units
    scale = np.linalg.norm(R, axis=1)
    if not scale.all() or np.linalg.matrix_rank(R / scale[:, None]) < len(R):
        raise ParameterError("the constraints repeat or contradict each other", hint="give each constraint once")
    gap = (R @ params - q) / scale
    spread = (R / scale[:, None]) @ cov @ (R / scale[:, None]).T
    sd = np.sqrt(np.maximum(np.diag(spread), 0))
    if not sd.all():
        raise EstimationError("the constraints have no uncertainty to be tested against")
    try:
        root = np.linalg.cholesky(spread / np.outer(sd, sd))
    except np.linalg.LinAlgError:
        raise EstimationError(
            "the covariance of the constraints is not positive definite", hint="test fewer constraints at a time"
        ) from None
    statistic = float(np.sum(np.linalg.solve(root, gap / sd) ** 2))
    return WaldTest(statistic, len(R), float(chi2.sf(statistic, len(R))))
