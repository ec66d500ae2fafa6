"""Undoing the noise in expectation: the operator T^-1, evaluated in three ways.

    signed draws    v(X1)/r + (1 - 1/r) mean v(X1 + S)           any loss, exact rate r > 0
    Laplacian       v(X1) - ((1 - r)/2) mean Lap v(X1 + S)       v with bounded second derivatives, any r
    analytic        the same with the expectation over S exact   losses of an index, linear design

v is the score extended outside the domain. Everything is in noise units: a column divided by its noise scale, so that
the noise is ZIL(r, I).
"""

from versadp.correction.analytic import Analytic
from versadp.correction.laplacian import CustomLaplacian, Laplacian
from versadp.correction.model import Batch, CustomModel, FormulaModel, IndexModel, LinearModel, RecordModel, Units
from versadp.correction.profiles import Damped, Fade, Inside, One, Profile
from versadp.correction.signed import Signed, stratified

__all__ = [
    "Analytic",
    "Batch",
    "CustomLaplacian",
    "CustomModel",
    "Damped",
    "Fade",
    "FormulaModel",
    "IndexModel",
    "Inside",
    "Laplacian",
    "LinearModel",
    "One",
    "Profile",
    "RecordModel",
    "Signed",
    "Units",
    "stratified",
]
