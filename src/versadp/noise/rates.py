"""Probabilities of coins: in [0, 1), and not so small that they never come true."""

from __future__ import annotations

from typing import Any

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
