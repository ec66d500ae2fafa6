"""The test that two columns are independent, noise included.

    d_ij = p_ij p - p_i p_j,    Q = Σ d_ij²/(e_i f_j)

with e, f the margins, rare ones at least a tenth of the average: any weights keep the size of the test. Under
independence Q is a sum of squares of normal variables, Σ λ_l χ²_1, whose λ are the eigenvalues of the covariance of
d_ij/√(e_i f_j), noise included: without noise they are all 1/n and n Q is Pearson's statistic. Its law is matched in
mean and variance (Rao and Scott's second-order correction, by Satterthwaite):

    Q Σλ/Σλ²  ~  χ² with (Σλ)²/Σλ² degrees of freedom.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import EstimationError
from versadp.inference.chi_square import LEVEL

if TYPE_CHECKING:
    from versadp.inputs import Array

LEAST = 0.1  # of the average share of a level, as the weight of a level that is rarer, or negative by noise


@dataclass(frozen=True)
class IndependenceTest:
    """The test that two columns of a table are independent.

    Attributes
    ----------
    columns : pair of str
    statistic : float
    df : float
        Degrees of freedom, which need not be whole: at most those of Pearson's test.
    pvalue : float
    design_effect : float
        The variance of what is tested, on average, over that of raw records: how many times as many records it takes.

    Examples
    --------
    >>> print(IndependenceTest(("region", "age"), 5.991, 2.0, 0.05001, 1.3))
    independence of region and age: chi-square 5.991 with 2 degrees of freedom, p = 0.05001 (design effect 1.3)
    """

    columns: tuple[str, str]
    statistic: float
    df: float
    pvalue: float
    design_effect: float

    @property
    def rejects(self) -> bool:
        """True if independence is rejected at the level of 5%."""
        return self.pvalue < LEVEL

    def __str__(self) -> str:
        return (
            f"independence of {' and '.join(self.columns)}: chi-square {self.statistic:.4g} with {self.df:.3g} degrees "
            f"of freedom, p = {self.pvalue:.4g} (design effect {self.design_effect:.3g})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return asdict(self) | {"columns": list(self.columns)}


def independence(columns: tuple[str, str], shares: Array, cov: Array, rows: float) -> IndependenceTest:
    """Return the test of a two-way table.

    Parameters
    ----------
    columns : pair of str
    shares : array (rows, columns)
        Means of cells.
    cov : array (rows * columns, rows * columns)
        Their covariance.
    rows : float
        Number of records.
    """
    from scipy.special import gammaincc

    p, (e, f) = float(shares.sum()), (shares.sum(axis=1), shares.sum(axis=0))
    if not p > 2 * np.sqrt(max(float(cov.sum()), 0.0)):
        raise EstimationError(
            "independence cannot be tested: how many records the table has is not told", hint="use wider bins"
        )
    d = p * shares - np.outer(e, f)
    i, j = (each.ravel() for each in np.indices(shares.shape))
    slope = np.diag(np.full(d.size, p)) + shares.ravel()[:, None]
    slope -= (i[:, None] == i) * f[j][:, None] + (j[:, None] == j) * e[i][:, None]
    scale = 1 / np.sqrt(np.outer(_weights(e), _weights(f)).ravel())
    law = scale[:, None] * (slope @ cov @ slope.T) * scale
    first, second = float(np.trace(law)), float((law**2).sum())
    if not second > 0:
        raise EstimationError("independence cannot be tested: nothing varies", hint="use a table with records")
    statistic = float(((d.ravel() * scale) ** 2).sum()) * first / second
    df = first**2 / second
    raw = (e.size - 1) * (f.size - 1) * p / rows
    return IndependenceTest(columns, statistic, df, float(gammaincc(df / 2, statistic / 2)), first / raw)


def _weights(margin: Array) -> Array:
    """Return a margin without tiny and negative shares, which would weigh their levels too much."""
    return np.maximum(margin, LEAST * float(margin.sum()) / margin.size)
