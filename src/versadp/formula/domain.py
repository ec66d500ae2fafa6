"""Terms at the declared bounds: a function that is not finite there is refused before anything is computed.

Noise is undone by values of a term all over the declared domain, so that `np.log(wage)` of a wage from 0 on is log(0)
for somebody, though nobody's wage may be 0.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.formula.expression import quote
from versadp.schema import Bounded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from versadp.formula.expression import Expression
    from versadp.schema import Schema

MOST_COLUMNS = 6  # of a factor, whose 64 corners are looked at: chosen


def check_bounds(factors: Iterable[Expression], schema: Schema) -> None:
    """Raise for factors that are not finite at declared bounds of the noisy numbers that they use.

    Examples
    --------
    >>> from versadp.formula.expression import parse_expression
    >>> from versadp.schema import Schema
    >>> check_bounds([parse_expression("np.log(wage)")], Schema({"wage": Bounded(0, 60)}))
    Traceback (most recent call last):
        ...
    versadp.errors.ParameterError: np.log(wage) is log(0) where wage is 0, its declared bound
      hint: write np.log1p(wage), or np.log(np.maximum(wage, 1)); or release it with a lower bound above 0
    """
    for factor in factors:
        bounded = {name: column for name in factor.columns if isinstance(column := schema.columns[name], Bounded)}
        if factor.bare is not None or not 0 < len(factor.columns) == len(bounded) <= MOST_COLUMNS:
            continue
        corners = np.array(list(product(*((column.lower, column.upper) for column in bounded.values()))))
        columns = dict(zip(bounded, corners.T, strict=True))
        lost = np.isnan(np.broadcast_to(factor.evaluate(columns), len(corners)))
        if lost.any():
            raise _not_finite(factor, dict(zip(bounded, corners[lost][0].tolist(), strict=True)))


def _not_finite(factor: Expression, corner: dict[str, float]) -> ParameterError:
    """Return the error of a factor that is not finite at a corner of the domain."""
    where = " and ".join(f"{name} is {value:g}" for name, value in corner.items())
    bounds = "its declared bound" if len(corner) == 1 else "their declared bounds"
    (name, value), *_ = corner.items()
    written = quote(name)
    if len(corner) == 1 and factor.text.replace(" ", "") in {f"{log}({written})" for log in ("np.log", "log")}:
        what = "log(0)" if value == 0 else f"the log of {value:g}"
        hint = (
            f"write np.log1p({written}), or np.log(np.maximum({written}, 1)); or release it with a lower bound above 0"
        )
        if value < 0:
            hint = f"write np.log(np.maximum({written}, 1)), or release it with a lower bound above 0"
        return ParameterError(f"{factor.text} is {what} where {where}, {bounds}", hint=hint)
    return ParameterError(
        f"{factor.text} is not finite where {where}, {bounds}",
        hint=f"keep away from there, e.g. by np.maximum({written}, 1), or release it with other bounds",
    )
