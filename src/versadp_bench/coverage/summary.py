"""How a regime came out: figures over its replications, the verdict and its reasons, and rows of tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp_bench.coverage.plain import FOUND
from versadp_bench.coverage.replication import ANSWERS
from versadp_bench.coverage.verdict import (
    CHANCE,
    LEVEL,
    Coefficient,
    Finding,
    answered_findings,
    coefficient,
    power_findings,
    verdict,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from versadp_bench.coverage.regime import Regime


@dataclass(frozen=True)
class Summary:
    """How a regime came out.

    Attributes
    ----------
    asked : int
        Replications whose raw records have an answer.
    answered : int
        Of those, how many releases have one.
    tested, noticed : int
        Specification tests, and how many rejected at 5%.
    other : str
        The most frequent outcome that is no answer, if any.
    """

    regime: Regime
    reps: int
    asked: int
    answered: int
    converged: int
    coefficients: tuple[Coefficient, ...]
    tested: int
    noticed: int
    seconds: float
    other: str
    findings: tuple[Finding, ...]
    holds: str

    @property
    def worst(self) -> Coefficient:
        """The coefficient with most against it, else the one that covers least."""
        return max(self.coefficients, key=lambda each: (len(list(each.findings())), -each.coverage))

    def row(self) -> dict[str, Any]:
        """Return a row of the table; figures of the worst coefficient."""
        head = {"row": self.regime.name, "n": self.regime.n, "reps": self.reps}
        shares = {
            "answered": _share(self.answered, self.asked),
            "converged": _share(self.converged, self.reps),
        }
        tail = {
            "rejected": _share(self.noticed, self.tested),
            "s/fit": _number(self.seconds),
            "holds": self.holds,
            "why": "; ".join(finding.reason for finding in self.findings) + (f" ({self.other})" if self.other else ""),
        }
        return head | shares | figures(self.worst) | tail

    def coefficient_rows(self) -> list[dict[str, Any]]:
        """Return a row for each coefficient."""
        return [{"row": self.regime.name, "reps": self.reps} | figures(each) for each in self.coefficients]


def figures(each: Coefficient) -> dict[str, Any]:
    """Return what a table shows of a coefficient."""
    m = each.answered
    return {
        "coefficient": each.name,
        "coverage": _share(each.covered, m),
        "+-": round((each.coverage * (1 - each.coverage) / m) ** 0.5, 3) if m else None,
        "unbounded": _share(each.unbounded, m),
        "bias/se": _number(each.bias),
        "width/raw": _number(each.width),
        "rmse/raw": _number(each.rmse),
    }


def summarise(
    regime: Regime, truth: Sequence[float], lines: Sequence[dict[str, Any]], *, last: bool = False
) -> Summary:
    """Return how a regime came out over some replications.

    Parameters
    ----------
    last : bool
        True if these replications have the last word: then nothing is unsure.
    """
    fair = [line for line in lines if line["raw"]["outcome"] == FOUND]
    answered = sum(line["outcome"] in ANSWERS for line in fair)
    names, judged = regime.names, regime.judged
    every = tuple(coefficient(names[j], j, truth[j], lines, regime.within) for j in judged)
    pvalues = [line["pvalue"] for line in lines if "pvalue" in line]
    noticed = sum(pvalue < LEVEL for pvalue in pvalues)
    if regime.misuse is None:
        wrong = [finding for each in every for finding in each.findings(CHANCE / len(every))]
        findings = (*answered_findings(answered, len(fair)), *wrong)
    else:
        findings = tuple(power_findings(noticed, len(pvalues), regime.misuse.power))
    return Summary(
        regime,
        len(lines),
        len(fair),
        answered,
        sum(line["outcome"] == "converged" for line in lines),
        every,
        len(pvalues),
        noticed,
        float(np.median([line["seconds"] for line in lines])) if lines else np.nan,
        _other(lines),
        tuple(findings),
        verdict(findings, last=last),
    )


def _other(lines: Sequence[dict[str, Any]]) -> str:
    """Return the most frequent outcome that is no answer."""
    counts = Counter(line["outcome"] for line in lines if line["outcome"] not in ANSWERS)
    return counts.most_common(1)[0][0] if counts else ""


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def _number(value: float) -> float | None:
    return float(f"{value:.3g}") if np.isfinite(value) else None
