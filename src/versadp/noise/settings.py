"""Checks of a provider's settings: probabilities of coins, and numbers for all columns or for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from versadp import inputs
from versadp.errors import ParameterError

MIN_RATE = 1e-9


def check_rate(name: str, rate: Any) -> float:
    """Return a probability in [0, 1), 0 or at least `MIN_RATE`.

    Examples
    --------
    >>> check_rate("keep", 0.5)
    0.5
    """
    value = inputs.number(name, rate, 0, 1, open_high=True)
    if 0 < value < MIN_RATE:
        raise ParameterError(f"{name} must be 0 or at least {MIN_RATE:g}: a smaller one never happens")
    return value


def each_column(what: str, value: Any, columns: tuple[str, ...]) -> dict[str, float]:
    """Return one number a column, from one number for all or a mapping.

    Examples
    --------
    >>> each_column("scale", 0.5, ("age", "income"))
    {'age': 0.5, 'income': 0.5}
    """
    if not columns and (value is None or value == {} or not isinstance(value, Mapping)):
        return {}
    if value is None:
        raise ParameterError(
            f"{what} is missing: it is needed for {', '.join(map(repr, columns))}",
            hint=f"e.g. {what}=0.5; or let calibrate(schema, epsilon=4) choose",
        )
    if not isinstance(value, Mapping):
        value = dict.fromkeys(columns, value)
    if set(value) != set(columns):
        wrong = sorted(set(value) ^ set(columns))
        raise ParameterError(
            f"{what} must name just these columns: {', '.join(columns)}; see {', '.join(wrong)}",
            hint="one number for all, or one for each of them",
        )
    return {name: inputs.number(f"{what} of column {name!r}", value[name], -np.inf, np.inf) for name in columns}
