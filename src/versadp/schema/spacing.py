"""Spacings of a number's lattice: even in its values, or even in a function of them.

    linear    t = x
    log1p     t = sign(x) log(1 + |x|),      x = sign(t) (e^|t| - 1)

A window on a column is even in t. What is released are values x, so that everybody who reads them reads the column.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LINEAR, LOG1P = "linear", "log1p"
SPACINGS = (LINEAR, LOG1P)
FUNCTIONS = {LOG1P: "np.log1p"}  # as which a formula names t, for columns whose bounds are not below 0
FARTHEST = 700.0  # of t: e^709 is the largest double
_DIGITS = 40  # of tables: 2^17 products then keep more than 30, and doubles need 17


def check_spacing(spacing: object, *, step: bool) -> None:
    """Refuse what is no spacing, and one beside a step.

    Examples
    --------
    >>> check_spacing("log1p", step=False)
    """
    if spacing not in SPACINGS:
        raise SchemaError(
            f"there is no spacing {spacing!r}",
            hint=f"choose from {', '.join(SPACINGS)}; a file may need a newer versadp",
        )
    if step and spacing != LINEAR:
        raise SchemaError(
            "a column has a step or a spacing, not both",
            hint="leave out the step: with a spacing values are rounded to a thousandth of themselves or less",
        )


def even_number(spacing: str, x: float) -> float:
    """Return t of one value.

    Examples
    --------
    >>> even_number("linear", 3.0), even_number("log1p", 0.0)
    (3.0, 0.0)
    """
    return x if spacing == LINEAR else math.copysign(math.log1p(abs(x)), x)


def to_even(spacing: str, x: Array) -> Array:
    """Return t of values of a column.

    Examples
    --------
    >>> to_even("log1p", np.array([-1.0, 0.0, np.e - 1])).round(4)
    array([-0.6931,  0.    ,  1.    ])
    """
    x = np.asarray(x, dtype=np.float64)
    return x if spacing == LINEAR else np.asarray(np.copysign(np.log1p(np.abs(x)), x))


def from_even(spacing: str, t: Array) -> Array:
    """Return the values of a column, from t.

    Examples
    --------
    >>> from_even("log1p", to_even("log1p", np.array([-3.0, 0.0, 500_000.0]))).round(6)
    array([-3.e+00,  0.e+00,  5.e+05])
    """
    t = np.asarray(t, dtype=np.float64)
    return t if spacing == LINEAR else np.asarray(np.copysign(np.expm1(np.abs(t)), t))


@lru_cache(maxsize=32)
def half_steps(lower: float, upper: float, last: int, beyond: int) -> Array:
    """Return values at multiples of half a step of a log1p lattice, the same doubles on every machine.

    Parameters
    ----------
    lower, upper : float
        The ends of the lattice, 0 and `last` steps from its first point.
    last : int
    beyond : int
        How many half steps the table begins before the first point, and ends behind the last.

    Examples
    --------
    >>> half_steps(0.0, 3.0, 2, 1).round(4)
    array([-0.4142,  0.    ,  0.4142,  1.    ,  1.8284,  3.    ,  4.6569])
    """
    with localcontext() as context:
        context.prec = _DIGITS
        first, end = (_log1p(Decimal(bound)) for bound in (lower, upper))
        step = (end - first) / (2 * last)
        times, each, out = step.exp(), (first - beyond * step).exp(), []
        for _ in range(2 * (last + beyond) + 1):
            out.append(float(each - 1 if each >= 1 else 1 - 1 / each))
            each *= times
    table = np.array(out)
    table[beyond], table[beyond + 2 * last] = lower, upper
    table.setflags(write=False)
    return table


def _log1p(x: Decimal) -> Decimal:
    return (1 + x).ln() if x >= 0 else -(1 - x).ln()
