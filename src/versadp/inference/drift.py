"""Whether new records have the truth of the old ones, and what lets a fit go on with them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from versadp.inference.results import Results

LEVEL = 0.05


@dataclass(frozen=True)
class DriftTest:
    """Whether old and new records have one truth, as the model sees it.

    Attributes
    ----------
    statistic : float
        How far apart their scores are, at the old estimate.
    df : int
        Degrees of freedom: the number of coefficients.
    pvalue : float

    Examples
    --------
    >>> print(DriftTest.of(5.991, 2))
    drift test: chi-square 5.991 with 2 degrees of freedom, p = 0.05001
    """

    statistic: float
    df: int
    pvalue: float

    @classmethod
    def of(cls, statistic: float, df: int) -> DriftTest:
        """Return the test of a statistic."""
        from scipy.special import chdtrc

        return cls(float(statistic), int(df), float(chdtrc(df, statistic)) if df else 1.0)

    @property
    def rejects(self) -> bool:
        """True if old and new records disagree, at the level of 5%."""
        return self.pvalue < LEVEL

    def __str__(self) -> str:
        freedom = f"{self.df} degree{'s' * (self.df != 1)} of freedom"
        return f"drift test: chi-square {self.statistic:.4g} with {freedom}, p = {self.pvalue:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return asdict(self)


class Renewal(Protocol):
    """What brings a fit up to date; it is not saved with results, but has a file of its own."""

    @property
    def drift(self) -> DriftTest | None:
        """Of the last update."""
        ...

    def update(self, new: Any) -> Results:
        """Return the fit with new records."""
        ...

    def save(self, path: str | Path) -> None:
        """Write what is needed for that to a file."""
        ...
