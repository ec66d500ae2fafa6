"""B-splines in formulas: `bs(age, knots=(30, 50), degree=3)` becomes one column per basis function.

    y ~ bs(age, knots=(30, 50))        4 + 2 - 1 columns: cubic between the declared bounds of age, with two knots
    y ~ bs(year, knots=(2018,), degree=1, lower_bound=2015, upper_bound=2024)      a public column has no bounds

The basis is that of R's splines::bs and of patsy: knots `lower` and `upper` repeated degree + 1 times, `knots` between
them, and the first function left out beside the intercept. Knots are declared: those that are read off data, `df=5`,
would differ between noisy and true records.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import ParameterError
from versadp.formula.expression import MOST_PARTS, quote

if TYPE_CHECKING:
    from collections.abc import Callable

HINT = "declare the knots inside the bounds, e.g. bs(age, knots=(30, 50), degree=3)"
MOST_DEGREE = 5  # of a spline: chosen; higher ones are hardly told apart from it
_ARGUMENTS = {"knots", "degree", "lower_bound", "upper_bound", "include_intercept", "df"}
Bounds = tuple[float, float]


def read_spline(factor: str, bounds_of: Callable[[str], Bounds | None]) -> list[tuple[str, str]] | None:
    """Return names and expressions of the columns of `bs(...)`; None for other factors.

    Parameters
    ----------
    factor : str
    bounds_of : callable
        Returns the bounds of a column, None if it has none.

    Examples
    --------
    >>> read_spline("bs(age, knots=(50,), degree=1)", {"age": (18.0, 90.0)}.get)[1]
    ('bs(age, knots=(50,), degree=1)[1]', 'spline(age, 2, 1, 18.0, 90.0, 50.0)')
    """
    if not factor.replace(" ", "").startswith("bs("):
        return None
    column, given = _arguments(factor)
    if given.get("df") is not None or "knots" not in given:
        raise ParameterError(f"{factor} learns from the data: its knots would be those of noisy records", hint=HINT)
    bounds = bounds_of(column)
    lower, upper = (
        given.get(f"{end}_bound", None if bounds is None else bounds[k]) for k, end in enumerate(("lower", "upper"))
    )
    if lower is None or upper is None:
        raise ParameterError(
            f"{column!r} has no declared bounds, between which a spline lies",
            hint="state them: bs(year, knots=(2018,), lower_bound=2015, upper_bound=2024)",
        )
    knots = sorted(map(float, np.ravel(given["knots"])))
    degree = given.get("degree", 3)
    if not isinstance(degree, int) or isinstance(degree, bool) or not 1 <= degree <= MOST_DEGREE:
        raise ParameterError(f"the degree of {factor} must be a whole number from 1 to {MOST_DEGREE}", hint=HINT)
    if not all(lower < knot < upper for knot in knots) or len(set(knots)) < len(knots) or len(knots) > MOST_PARTS // 4:
        raise ParameterError(
            f"the knots of {factor} must differ and lie between {lower:g} and {upper:g}, the bounds of {column!r}",
            hint=HINT,
        )
    first = 0 if given.get("include_intercept") else 1
    numbers = ", ".join(repr(float(each)) for each in (lower, upper, *knots))
    return [
        (f"{factor}[{k}]", f"spline({quote(column)}, {first + k}, {degree}, {numbers})")
        for k in range(degree + 1 + len(knots) - first)
    ]


def _arguments(factor: str) -> tuple[str, dict[str, Any]]:
    """Return the column of `bs(...)` and its other arguments, which are literals."""
    quoted, text = None, factor
    if "`" in factor:  # a name that is not a Python name
        before, quoted, after = factor.split("`", 2)
        text = f"{before}_{after}"
    try:
        call = ast.parse(text.strip(), mode="eval").body
        assert isinstance(call, ast.Call)
        (column,) = call.args
        assert isinstance(column, ast.Name)
        given = {each.arg: ast.literal_eval(each.value) for each in call.keywords if each.arg is not None}
        assert set(given) <= _ARGUMENTS
        assert len(given) == len(call.keywords)
        for name in ("knots", "lower_bound", "upper_bound"):
            if given.get(name) is not None:
                assert np.isfinite(np.asarray(given[name], dtype=float)).all()
    except (SyntaxError, ValueError, TypeError, AssertionError):
        raise ParameterError(f"{factor} cannot be read", hint=HINT) from None
    return quoted or column.id, {str(name): value for name, value in given.items() if value is not None}
