"""Two classes: a response of two values, whatever they are called, as the two numbers that a loss's formula means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import DataError

if TYPE_CHECKING:
    from versadp.inputs import Array


@dataclass(frozen=True)
class Coding:
    """What each value of a response is coded to; it travels to other processes, and codes records part by part.

    Attributes
    ----------
    values, codes : tuples of float
        Values in rising order, and what each becomes.

    Examples
    --------
    >>> Coding((0.0, 1.0), (-1.0, 1.0))(np.array([1.0, 1.0, 0.0]))
    array([ 1.,  1., -1.])
    """

    values: tuple[float, ...]
    codes: tuple[float, ...]

    def __call__(self, y: Array) -> Array:
        """Return a response as its codes."""
        values = np.array(self.values)
        place = np.minimum(np.searchsorted(values, y), values.size - 1)
        if not (values[place] == y).all():
            raise DataError("the response has a value that it had not when its classes were counted")
        return np.array(self.codes)[place]


def two_values(y: Array, low: float, high: float, loss: str) -> Array:
    """Return a two-valued response as low and high, whatever two numbers it holds (0/1, -1/1).

    Examples
    --------
    >>> two_values(np.array([1.0, 0.0, 1.0]), -1.0, 1.0, "hinge")
    array([ 1., -1.,  1.])
    """
    values = np.unique(y)
    if values.size < 2:
        raise DataError(f"the response has one class, but {loss} loss needs two", hint="there is nothing to explain")
    if values.size > 2 or not set(values.tolist()) <= {-1.0, 0.0, 1.0}:
        raise DataError(
            f"{loss} loss needs a response of 0 and 1, or of -1 and 1",
            hint="compare, as in I(income > 50000) ~ age; for numbers take squared loss",
        )
    return np.where(y == values[1], high, low)
