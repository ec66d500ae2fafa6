"""Chi-square tests of a fit: linear constraints, drift between old and new records, specification."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

LEVEL = 0.05  # of the specification and drift tests: the customary one; a valid fit is rejected once in twenty
SURE_LEVEL = 0.001  # p-value below which a summary calls a rejection sure: once in a thousand valid fits


@dataclass(frozen=True)
class ChiSquareTest:
    """A test whose statistic has a chi-square distribution under the null hypothesis.

    Attributes
    ----------
    statistic : float
    df : int
        Degrees of freedom.
    pvalue : float
    """

    name: ClassVar[str]

    statistic: float
    df: int
    pvalue: float

    @classmethod
    def of(cls, statistic: float, df: int) -> Self:
        """Return the test of a statistic."""
        return cls(float(statistic), int(df), _upper_tail(statistic, df))

    @property
    def rejects(self) -> bool:
        """True if the null hypothesis is rejected at the level of 5%."""
        return self.pvalue < LEVEL

    def __str__(self) -> str:
        freedom = f"{self.df} degree{'s' * (self.df != 1)} of freedom"
        return f"{self.name}: chi-square {self.statistic:.4g} with {freedom}, p = {self.pvalue:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return asdict(self)


def _upper_tail(statistic: float, df: int) -> float:
    from scipy.special import chdtrc

    return float(chdtrc(df, statistic)) if df else 1.0


@dataclass(frozen=True)
class WaldTest(ChiSquareTest):
    """The Wald test of linear constraints; its degrees of freedom are the number of constraints.

    Examples
    --------
    >>> print(WaldTest(statistic=3.841458820694124, df=1, pvalue=0.05))
    Wald test: chi-square 3.841 with 1 degree of freedom, p = 0.05
    """

    name = "Wald test"


@dataclass(frozen=True)
class LikelihoodRatioTest(ChiSquareTest):
    """The likelihood ratio test of a model within a larger one, `2 (l - l_0)`.

    Examples
    --------
    >>> print(LikelihoodRatioTest.of(3.841458820694124, 1))
    likelihood ratio test: chi-square 3.841 with 1 degree of freedom, p = 0.05
    """

    name = "likelihood ratio test"


@dataclass(frozen=True)
class FTest:
    """A Wald test as an F test: the statistic over its degrees of freedom, `F = W / q`.

    Attributes
    ----------
    statistic : float
        F; also `fvalue`.
    df_num, df_denom : float
        Number of constraints, and records less coefficients.
    pvalue : float

    Examples
    --------
    >>> print(FTest.of(WaldTest.of(6.0, 2), 100))
    F test: F 3 with 2 and 100 degrees of freedom, p = 0.05429
    """

    statistic: float
    df_num: int
    df_denom: int
    pvalue: float

    @classmethod
    def of(cls, test: WaldTest, df_denom: int) -> Self:
        """Return the F test of a Wald test."""
        from scipy.special import fdtrc

        statistic = test.statistic / test.df
        return cls(statistic, test.df, df_denom, float(fdtrc(test.df, df_denom, statistic)))

    @property
    def fvalue(self) -> float:
        """The statistic, under its name in statsmodels."""
        return self.statistic

    def __str__(self) -> str:
        freedom = f"{self.df_num} and {self.df_denom:,} degrees of freedom"
        return f"F test: F {self.statistic:.4g} with {freedom}, p = {self.pvalue:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return asdict(self)


@dataclass(frozen=True)
class DriftTest(ChiSquareTest):
    """The test that old and new records have the same coefficients, by the difference of their scores.

    Examples
    --------
    >>> print(DriftTest.of(5.991, 2))
    drift test: chi-square 5.991 with 2 degrees of freedom, p = 0.05001
    """

    name = "drift test"


@dataclass(frozen=True)
class SpecificationTest(ChiSquareTest):
    """The test that the members of a combination share one mean, and that no outputs of the noise are missing.

    Attributes
    ----------
    statistic : float
    df : int
        Degrees of freedom: the number of contrasts that vary; 0 if there is only one member.
    pvalue : float
        Of the statistic, or `cut` if that is less.
    cut : float
        Upper bound on the probability that a noisy column lacks the outputs that it lacks.

    Examples
    --------
    >>> print(SpecificationTest.of(18.307, 10))
    specification test: chi-square 18.31 with 10 degrees of freedom, p = 0.05
    """

    name = "specification test"

    cut: float = 1.0

    @classmethod
    def of(cls, statistic: float, df: int, cut: float = 1.0) -> Self:
        """Return the test of a statistic, and of missing outputs."""
        return cls(float(statistic), int(df), min(_upper_tail(statistic, df), cut), float(cut))

    def __str__(self) -> str:
        if self.cut <= self.pvalue < 1:
            return f"specification test: a noisy column lacks values that noise would have made, p = {self.cut:.4g}"
        if not self.df:
            return "specification test: no values are lacking that noise would have made"
        return super().__str__()
