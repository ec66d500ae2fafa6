"""The coverage table: which rows are run, how often, and what is shown of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from versadp_bench.coverage.regimes import REGIMES
from versadp_bench.coverage.running import AGAIN, FULL, Plan, run
from versadp_bench.coverage.verdict import NO, size_findings, verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from versadp_bench.coverage.summary import Summary

POOLED = "all rows: specification test"


@dataclass(frozen=True)
class Table:
    """How regimes came out, as rows to show."""

    rows: list[dict[str, Any]]
    coefficients: list[dict[str, Any]]

    @property
    def met(self) -> bool:
        """True if no row is known not to hold."""
        return all(row["holds"] != NO for row in self.rows)


def coverage_plan(names: Sequence[str] = (), reps: int = FULL, again: int | None = None, seed: int = 1) -> Plan:
    """Return what to run: the rows asked for, or all; a thinned run leaves out slow ones, and runs none again.

    Examples
    --------
    >>> plan = coverage_plan(reps=200)
    >>> len(plan.regimes) >= 40, plan.again
    (True, 1000)
    >>> coverage_plan(["uniform"], reps=20).again
    0
    """
    regimes = [REGIMES[name] for name in names or REGIMES if names or reps >= FULL or not REGIMES[name].slow]
    fresh = (AGAIN if reps >= FULL else 0) if again is None else again
    return Plan(regimes, reps, fresh, seed)


def coverage_table(plan: Plan, out: str | Path | None = None, engine: str = "processes") -> Table:
    """Run a plan, or the rest of it, and return its table."""
    return as_table(run(plan, out, engine))


def as_table(found: Sequence[Summary]) -> Table:
    """Return the rows of a table: one a regime, and a last one for the size of the specification test over all."""
    rows = [each.row() for each in found]
    usual = [each for each in found if each.regime.misuse is None]
    tested, noticed = sum(each.tested for each in usual), sum(each.noticed for each in usual)
    if tested:
        findings = tuple(size_findings(noticed, tested))
        last = {"row": POOLED, "reps": tested, "rejected": round(noticed / tested, 4), "holds": verdict(findings)}
        rows.append(dict.fromkeys(rows[0]) | last | {"why": "; ".join(finding.reason for finding in findings)})
    return Table(rows, [row for each in found for row in each.coefficient_rows()])
