"""Models: formulas, and `fit`."""

from versadp.formula.design import Design, make_design
from versadp.models.bootstrap import Bootstrap, bootstrap
from versadp.models.fit import fit

__all__ = ["Bootstrap", "Design", "bootstrap", "fit", "make_design"]
