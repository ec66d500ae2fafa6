"""The regimes of the coverage table, by name."""

from versadp_bench.coverage.regimes import hard, misused, sweep, tables

REGIMES = {regime.name: regime for regime in (*hard.ROWS, *tables.ROWS, *sweep.ROWS, *misused.ROWS)}
QUICK = ("uniform", "binary", "logistic, skewed", "mean, n=300")  # tried by every run of the tests

__all__ = ["QUICK", "REGIMES"]
