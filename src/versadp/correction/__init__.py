"""Undoing the noise in expectation: the operator T^-1, evaluated in several ways.

    points          the product of the inverses of the blocks that a model touches        any loss, any blocks
    terms           sum over terms of coefficient * product of what undoes each block, nothing drawn:
                    powers and waves of an index, with missing values and level by level of categories  (`terms.py`)
                    products of functions of single columns, for least squares                      (`separable.py`)
                    polynomials of columns on lattices: any loss, as near as degrees are high       (`projected.py`)
    signed draws    v(X1)/r + (1 - 1/r) mean v(X1 + S)           any loss, exact rate r > 0
    Laplacian       v(X1) - ((1 - r)/2) mean Lap v(X1 + S)       v with bounded second derivatives, any r
    analytic        the same with the expectation over S exact   losses of an index, linear design
    stencil         the same at r = 0, by differences            squared loss, polynomial design

All but the first two are for zero-inflated Laplace noise on one block: v is the score, extended outside the
domain, and everything is in noise units, a column divided by its noise scale, so that the noise is ZIL(r, I).
"""

from versadp.correction.analytic import Analytic, Stencil
from versadp.correction.argument import argument_of
from versadp.correction.by_level import ByLevel, as_by_level
from versadp.correction.calibrated import Calibrated
from versadp.correction.laplacian import CustomLaplacian, Laplacian
from versadp.correction.levels import MultinomialModel, ShareModel
from versadp.correction.model import CustomModel, FormulaModel, IndexModel, LinearModel, RecordModel
from versadp.correction.points import Rows, SignedPoints
from versadp.correction.projected import Projected
from versadp.correction.projection import Projection
from versadp.correction.random import Streams
from versadp.correction.records import Records
from versadp.correction.separable import Separable, as_separable
from versadp.correction.terms import Blurs, Terms, as_terms, by_pairs

__all__ = [
    "Analytic",
    "Blurs",
    "ByLevel",
    "Calibrated",
    "CustomLaplacian",
    "CustomModel",
    "FormulaModel",
    "IndexModel",
    "Laplacian",
    "LinearModel",
    "MultinomialModel",
    "Projected",
    "Projection",
    "RecordModel",
    "Records",
    "Rows",
    "Separable",
    "ShareModel",
    "SignedPoints",
    "Stencil",
    "Streams",
    "Terms",
    "argument_of",
    "as_by_level",
    "as_separable",
    "as_terms",
    "by_pairs",
]
