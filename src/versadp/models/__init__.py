"""Models: formulas, and `fit`."""

from versadp.models.fit import fit
from versadp.models.formula import Design, make_design

__all__ = ["Design", "fit", "make_design"]
