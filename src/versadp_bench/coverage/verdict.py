"""Whether a regime holds: the rules, and how sure a number of replications can be of them.

A coefficient holds if

- 92 to 98.5% of the intervals of answered fits cover the truth; those without an end cover, and where 5% or more are of
  that kind there is no upper limit; a quantile lies in its column's range, and an interval that ends where the range
  does has no end of its own on that side;
- the bias of what is called "converged" is below a quarter of its standard error, the spread of the estimates.

A row holds if each of its coefficients does, and if 98% of the fits are answered ("converged" or "weak") among those
that raw records would have answered. What is outside by less than chance explains (one time in a thousand, shared by
the coefficients) is "unsure", and is run again with fresh replications, of which alone the verdict is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import bdtr, bdtrc, ndtri

from versadp_bench.coverage.plain import FOUND
from versadp_bench.coverage.replication import ANSWERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEAST, MOST, UNBOUNDED = 0.92, 0.985, 0.05
BIAS, ANSWERED, LEVEL = 0.25, 0.98, 0.05
SIZE = (0.04, 0.06)
CHANCE = 1e-3
FEW = 10  # converged answers whose bias says nothing
YES, UNSURE, NO = "yes", "unsure", "no"


@dataclass(frozen=True)
class Finding:
    """What is wrong, and whether chance may explain it."""

    reason: str
    by_chance: bool


@dataclass(frozen=True)
class Coefficient:
    """How the intervals and estimates of one coefficient came out.

    Attributes
    ----------
    covered, answered, unbounded : int
        Intervals that cover, all, and those without an end.
    bias : float
        Of converged answers, in their standard deviation; not a number where they are few.
    converged : int
        Converged answers.
    width, rmse : float
        Median width of the intervals, and root of the mean squared error, relative to raw fits.
    """

    name: str
    covered: int
    answered: int
    unbounded: int
    bias: float
    converged: int
    width: float
    rmse: float

    @property
    def coverage(self) -> float:
        """Share of intervals that cover."""
        return self.covered / self.answered if self.answered else np.nan

    def findings(self, chance: float = CHANCE) -> Iterable[Finding]:
        """Yield what is wrong."""
        m, k = self.answered, self.covered
        if m and k < LEAST * m:
            yield Finding(f"{self.name} covers {k / m:.3f}", bool(bdtr(k, m, LEAST) > chance))
        if m and k > MOST * m and self.unbounded < UNBOUNDED * m:
            yield Finding(f"{self.name} covers {k / m:.3f}", bool(bdtrc(k - 1, m, MOST) > chance))
        if self.converged >= FEW and abs(self.bias) >= BIAS:
            far = abs(self.bias) - BIAS > float(ndtri(1 - chance / 2)) / self.converged**0.5
            yield Finding(f"{self.name} is off by {self.bias:+.2f} se", not far)


def coefficient(
    name: str, j: int, truth: float, lines: Sequence[dict[str, Any]], within: tuple[float, float] = (-np.inf, np.inf)
) -> Coefficient:
    """Summarise one coefficient, which lies within a range, over replications."""
    answered = [line for line in lines if line["outcome"] in ANSWERS]
    ends = np.array([line["interval"][j] for line in answered], dtype=float).reshape(-1, 2)
    estimate = np.array([line["estimate"][j] for line in answered], dtype=float)
    sure = np.array([line["outcome"] == "converged" for line in answered], dtype=bool)
    wrong = estimate - truth
    endless = ~np.isfinite(ends).all(axis=1)
    unbounded = endless | (ends[:, 0] <= within[0]) | (ends[:, 1] >= within[1])
    covered = endless | ((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    raw = [line["raw"] for line in lines if line["raw"]["outcome"] == FOUND]
    widths = np.array([2 * float(ndtri(0.975)) * each["error"][j] for each in raw])
    raw_wrong = np.array([each["estimate"][j] for each in raw]) - truth
    known = wrong[np.isfinite(wrong)]
    return Coefficient(
        name,
        int(covered.sum()),
        len(answered),
        int(unbounded.sum()),
        _relative_bias(wrong[sure]),
        int(sure.sum()),
        float(np.median(np.where(endless, np.inf, ends[:, 1] - ends[:, 0])) / np.median(widths))
        if answered and raw
        else np.nan,
        float(np.sqrt((known**2).mean() / (raw_wrong**2).mean())) if known.size and raw else np.nan,
    )


def _relative_bias(wrong: Array) -> float:
    spread = float(wrong.std(ddof=1)) if wrong.size >= FEW else 0.0
    return float(wrong.mean() / spread) if spread else np.nan


def answered_findings(answered: int, asked: int) -> Iterable[Finding]:
    """Yield what is wrong with how many of the fits that raw records would have answered were answered."""
    if answered < ANSWERED * asked:
        yield Finding(f"answered {answered / asked:.3f}", bool(bdtr(answered, asked, ANSWERED) > CHANCE))


def power_findings(noticed: int, asked: int, power: float) -> Iterable[Finding]:
    """Yield what is wrong with how often a misuse was noticed."""
    if not asked:
        yield Finding("no fit was tested", by_chance=False)
    elif noticed < power * asked:
        yield Finding(f"noticed {noticed / asked:.3f}", bool(bdtr(noticed, asked, power) > CHANCE))


def size_findings(noticed: int, asked: int) -> Iterable[Finding]:
    """Yield what is wrong with how often the specification test rejects where nothing is wrong."""
    least, most = SIZE
    if noticed < least * asked:
        yield Finding(f"rejected {noticed / asked:.4f}", bool(bdtr(noticed, asked, least) > CHANCE))
    if noticed > most * asked:
        yield Finding(f"rejected {noticed / asked:.4f}", bool(bdtrc(noticed - 1, asked, most) > CHANCE))


def verdict(findings: Sequence[Finding], *, last: bool = False) -> str:
    """Return "yes", "no", or "unsure" where chance may explain all that is wrong; the last word is yes or no.

    Examples
    --------
    >>> verdict([]), verdict([Finding("x covers 0.9", True)]), verdict([Finding("x covers 0.2", False)])
    ('yes', 'unsure', 'no')
    """
    if not findings:
        return YES
    return UNSURE if not last and all(finding.by_chance for finding in findings) else NO
