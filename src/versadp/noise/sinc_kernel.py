"""Compiled loop of `sin(y)/y` and its derivatives, for real or complex y."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.kernel import compiled

if TYPE_CHECKING:
    from versadp.noise.closed import Complex

TERMS = 14  # of the power series of sin(y)/y, exact below 1


@compiled
def write_sinc(y: Complex, out: Complex) -> None:
    """Write `sin(y)/y` and its first two derivatives: below 1 by its power series, which is exact there."""
    for i in range(y.shape[0]):
        at = y[i]
        if abs(at) >= 1.0:
            value = np.sin(at) / at
            first = (np.cos(at) - value) / at
            out[0, i], out[1, i], out[2, i] = value, first, -value - 2.0 * first / at
            continue
        square, term = at * at, 1.0 + 0.0j  # term: of the series over its power of y
        value, first, second = 1.0 + 0.0j, 0.0j, 0.0j
        for k in range(1, TERMS):
            power, size = 2.0 * k, 1.0 / (2.0 * k * (2.0 * k + 1.0))
            second -= power * (power - 1.0) * size * term
            first -= power * size * term * at
            term = -term * size * square
            value += term
        out[0, i], out[1, i], out[2, i] = value, first, second
