"""Normal quantiles from words: a table of polynomials, and the exact answer where the table cannot decide.

A word of 64 bits is a sign and a magnitude `m` of 63 bits; it stands for the normal quantile at tail probability
`U = (m + 1/2) / 2^64`, which lies in (0, 1/2). The table splits each octave of `m + 1/2` into 32 intervals, with a
polynomial of degree 7 on each: no branch, no logarithm, one cache line a value. Its error is below
`TABLE_ERROR * (1 + n)` (measured against mpmath: 2^-49.7; the tests hold it).

Noise is the quantile times `s sqrt(w)`, rounded to a whole number. Wherever the error could change the rounding, the
kernel says so and `exact_noise` decides with 60 digits. The noise is therefore the same mathematical function of the
words on every machine, and floating point plays no part in the guarantee.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPLIT_BITS = 5
DEGREE = 7
TABLE_ERROR = 2.0**-46
_DIGITS = 60


@lru_cache(maxsize=1)
def quantile_table() -> NDArray[np.float64]:
    """Return the coefficients, flat: 8 for each of 64 octaves times 32 intervals, in `t` from -1/2 to 1/2."""
    from numpy.polynomial import chebyshev
    from scipy.special import ndtri

    # least squares on a few more Chebyshev nodes than coefficients averages the rounding of ndtri
    nodes = np.cos(np.pi * (np.arange(DEGREE + 5) + 0.5) / (DEGREE + 5))
    octave = 2.0 ** np.arange(-1, 63)[:, None]
    middle = octave * (1 + (np.arange(2**SPLIT_BITS) + 0.5) / 2**SPLIT_BITS)
    points = middle[..., None] + octave[..., None] / 2 ** (SPLIT_BITS + 1) * nodes
    values = -ndtri(points.reshape(-1, nodes.size) * 2.0**-64)
    series = np.linalg.lstsq(chebyshev.chebvander(nodes, DEGREE), values.T, rcond=None)[0]
    to_powers = np.stack(
        [np.pad(chebyshev.cheb2poly(row[: i + 1]), (0, DEGREE - i)) for i, row in enumerate(np.eye(DEGREE + 1))]
    )
    powers = (to_powers.T @ series) * 2.0 ** np.arange(DEGREE + 1)[:, None]  # t is half of the Chebyshev variable
    return np.ascontiguousarray(powers.T).ravel()


def exact_noise(exponential_word: int, normal_word: int, scale: float) -> int:
    """Return the noise of one cell in grid steps, decided with 60 digits.

    `round(scale * sqrt(w) * n)` with `w = -log((2a + 1) / 2^65)` and n the signed normal quantile; that
    `|noise| > k` is `tail((k + 1/2) / (scale sqrt(w))) > U`, which needs no inverse.

    Examples
    --------
    >>> exact_noise(2**62, 2**62, 1000.0), exact_noise(2**62, 2**62 + 2**63, 1000.0)
    (794, -794)
    """
    with localcontext() as context:
        context.prec = _DIGITS
        width = Decimal(scale) * (-(Decimal(2 * exponential_word + 1) / 2**65).ln()).sqrt()
    return rounded_normal(normal_word, width)


def rounded_normal(word: int, width: Decimal) -> int:
    """Return `width` times the normal quantile of a word, rounded to a whole number, decided with 60 digits.

    Examples
    --------
    >>> rounded_normal(2**62, Decimal(1000)), rounded_normal(2**62 + 2**63, Decimal(1000))
    (674, -674)
    """
    with localcontext() as context:
        context.prec = _DIGITS
        sign, magnitude = word >> 63, word & (2**63 - 1)
        probability = Decimal(2 * magnitude + 1) / 2**65
        low, high = 0, 1
        while _tail((high - Decimal("0.5")) / width) > probability:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            if _tail((middle - Decimal("0.5")) / width) > probability:
                low = middle
            else:
                high = middle
    return -low if sign else low


def _tail(x: Decimal) -> Decimal:
    """Upper tail of the standard normal: 1/2 - density * sum x^(2k+1) / (1*3*...*(2k+1)), all terms positive."""
    if x > 12:  # beyond the smallest tail that a word can ask for, 2^-65
        return Decimal(0)
    term = total = x
    k = 1
    while term > total * Decimal("1e-55"):
        term *= x * x / (2 * k + 1)
        total += term
        k += 1
    return Decimal("0.5") - total * (-x * x / 2).exp() / (2 * _PI).sqrt()


_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
