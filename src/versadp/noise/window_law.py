"""The law of a window in whole numbers: a coin, and uniform draws from words of 64 bits.

A column has a lattice of `m + 1` points, a window of w of them, and `m + w` outputs; `m + w + s` if values may be
missing, which is the lattice point `m + w`: its set of w outputs is the last s, which no value's window has, and the
`w - s` in the middle of the others. A word draws one of w of them as it does one of a window. One coin for the whole
block: kept records move to a place in their window, others to any output, each column uniformly. With N = 2^64 and a
coin that keeps `T` of N words,

    P(output | x) = T/N Π q_j + (N - T)/N Π p_j      if the output is in the window of x, else the second term alone.

A word u draws `floor(u n / N)` of n values, each with `floor(N/n)` or `ceil(N/n)` words. So whatever the two records,
the ratio of their probabilities of any output is at most, with n_j outputs,

    1 + T Π ceil(N/w_j) / ((N - T) Π floor(N/n_j)),

a ratio of whole numbers. T is the largest for which it is at most e^epsilon, or a rational below that: the law that is
sampled keeps pure epsilon, and there is no sampler's error to charge. With a delta, T may be larger: no output in a
window has more probability under its record, less e^epsilon times that under another, than the likeliest, so delta is
at most the window's size times that,

    T/N Π w_j ceil(N/w_j)/N + (N - T)/N (1 - e^epsilon) Π w_j floor(N/n_j)/N.

The outputs of a missing value are released as one, which is post-processing: a sum of w terms, and the same bounds.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

WORDS = 2**64


def odds(epsilon: float) -> Fraction:
    """Return a rational that is at most `e^epsilon - 1`, and less by a part in 10^40.

    Examples
    --------
    >>> round(float(odds(1.0)), 12)
    1.718281828459
    """
    with localcontext() as context:
        context.prec = 50
        value = Decimal(epsilon).exp() - 1
        context.rounding = ROUND_FLOOR
        return Fraction(value * (1 - Decimal("1e-40")))


def kept_words(
    windows: tuple[int, ...], outputs: tuple[int, ...], epsilon: float, delta: float = 0.0, *, words: int = WORDS
) -> int:
    """Return the largest T, how many of 2^64 words keep a record, that the guarantee allows.

    Parameters
    ----------
    windows, outputs : tuple of int
        Of each column: lattice points in its window, and possible outputs.
    epsilon, delta : float
    words : int
        How many words there are: N.

    Examples
    --------
    >>> T = kept_words((1,), (4,), epsilon=1.0)  # randomised response on four levels
    >>> round(T / 2**64, 9) == round((math.e - 1) / (math.e - 1 + 4), 9)
    True
    """
    inside = math.prod(-(-words // w) for w in windows)
    outside = math.prod(words // n for n in outputs)
    more = odds(epsilon)
    pure = _floor(more * outside * words / (inside + more * outside))
    if not delta:
        return pure
    size = Fraction(math.prod(windows), words ** len(windows))
    share = more * outside * size
    return max(pure, min(_floor(words * (Fraction(delta) + share) / (inside * size + share)), words - 1))


def worst_ratio(windows: tuple[int, ...], outputs: tuple[int, ...], kept: int, *, words: int = WORDS) -> Fraction:
    """Return the largest ratio of probabilities of any output under any two records: e^epsilon, exactly bounded.

    Examples
    --------
    >>> float(worst_ratio((1,), (2,), 2**63))
    3.0
    """
    inside = math.prod(-(-words // w) for w in windows)
    outside = math.prod(words // n for n in outputs)
    return 1 + Fraction(kept * inside, (words - kept) * outside)


def _floor(value: Fraction) -> int:
    return value.numerator // value.denominator
