"""Models: formulas, and `fit`."""

from versadp.models.bootstrap import Bootstrap, bootstrap
from versadp.models.fit import fit
from versadp.models.formula import Design, make_design

__all__ = ["Bootstrap", "Design", "bootstrap", "fit", "make_design"]
