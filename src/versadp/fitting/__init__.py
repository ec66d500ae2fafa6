"""Fit a model to a release: formula, correction, solver, report."""

from versadp.fitting.bootstrap import Bootstrap, bootstrap
from versadp.fitting.fit import fit
from versadp.formula.design import Design, make_design

__all__ = ["Bootstrap", "Design", "bootstrap", "fit", "make_design"]
