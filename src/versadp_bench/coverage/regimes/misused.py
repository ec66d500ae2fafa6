"""Releases that were misused: how often the specification test notices, which coverage says nothing about."""

from __future__ import annotations

from versadp_bench.coverage.covariates import Covariates
from versadp_bench.coverage.misuse import Misuse
from versadp_bench.coverage.populations import Index
from versadp_bench.coverage.regime import Regime, Scaled

_LINE = Index(Covariates("uniform", 2), (1.0, -1.0))

# selected rows of noisier columns would spread less than the noise alone, and have no fit to test
ROWS = tuple(
    Regime(name, _LINE, 5000, Scaled(scale, 0.05), "y ~ x0 + x1", misuse=Misuse(way, power))
    for name, scale, way, power in (
        ("rows selected", 0.1, "selected", 0.98),
        ("rows doubled", 0.5, "doubled", 0.2),
        ("rows weighted", 0.5, "weighted", 0.5),
        ("scale misdeclared", 0.5, "misdeclared", 0.5),
    )
)
