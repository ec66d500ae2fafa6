"""Releases that were misused: how often the specification test notices, which coverage says nothing about."""

from __future__ import annotations

from versadp_bench.coverage.covariates import Covariates
from versadp_bench.coverage.misuse import Misuse
from versadp_bench.coverage.populations import Index
from versadp_bench.coverage.regime import Regime, Scaled

_LINE = Index(Covariates("uniform", 2), (1.0, -1.0))

ROWS = tuple(
    Regime(name, _LINE, 5000, Scaled(0.5, 0.05), "y ~ x0 + x1", misuse=Misuse(way, power))
    for name, way, power in (
        ("rows selected", "selected", 0.98),
        ("rows doubled", "doubled", 0.2),
        ("rows weighted", "weighted", 0.5),
        ("scale misdeclared", "misdeclared", 0.5),
    )
)
