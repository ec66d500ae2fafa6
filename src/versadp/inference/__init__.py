"""Results of fits: estimates, intervals, tests, predictions, effects, tables, storage."""

from __future__ import annotations

from versadp.formula.terms import Terms
from versadp.inference.chi_square import WaldTest
from versadp.inference.coefficient_table import CoefTable
from versadp.inference.fit_tables import SideBySide, summary_col
from versadp.inference.prediction import Prediction
from versadp.inference.results import Results
from versadp.inference.summary import Summary

__all__ = ["CoefTable", "Prediction", "Results", "SideBySide", "Summary", "Terms", "WaldTest", "summary_col"]
