"""Design of windows: their width, before any data are seen.

In widths, with c the window's width, d numbers in the block and K the number of combinations of its categories' levels,

    f = (c/(1 + c))^d / K,     kappa = f (e^eps - 1) / (1 + f (e^eps - 1))

is the probability that a record is kept, on a fine lattice. For values spread evenly over their bounds a kept value has
second moment `1/12 + c²/12` and a redrawn one `(1 + c)²/12`, which gives the variance of decoders of x, of x² and of
x_j x_l in closed form. A narrow window is kept seldom, a wide one says little: the rule takes the c for which the
product of the variances of a mean and of a second moment (x² alone, x_j x_l jointly) is least.

**Missing values.** A number that may be missing has `c/(1 + c + s)` in f, where a missing value has the share s/c of
its window for itself. The fewer places it has, the more records are kept, and the less a record that shows it tells of
who is missing: its weight in complete cases is `-(c - s)/s`. For a function that is 0 where the value is missing let D
be the second moment of its decoder in a redrawn record; of x, o from the middle, and of 1 that is

    D_1 = ((1 + c)((1 + c)²/12 + o²) + o² (c - s)²/s) / (1 + c + s),       D_0 = (1 + c + (c - s)²/s) / (1 + c + s).

The rule takes c and s for which the product of three variances is least: of a mean, of a product of two columns, and of
a product of two columns in a model of four, all of them of columns that may be missing as far as there are so many
(docs/decisions/0008-missing-values.md: a rule that knew means alone would make models of many columns much worse).

With a delta, `kappa = (delta + f (e^eps - 1)) / (1 + f (e^eps - 1))` is at least delta however narrow the window, so
that the product has a second minimum where the window vanishes and kappa is delta. The least of both is taken.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.errors import ParameterError
from versadp.noise.cost import GONE, missing_moments

if TYPE_CHECKING:
    from collections.abc import Callable

_HOPELESS = 1e-60  # a probability
_NARROWEST, _WIDEST = -9.0, 2.0  # logs of widths
_GRID = 44  # steps of 0.25 between them; each minimum is wider than that
_SPARSEST, _SHARES = 0.02, 25  # least share of a window that is for missing values alone, and how many are tried
_MODEL = 4  # columns of the largest model that the rule has in mind


class Size(NamedTuple):
    """Size of a window: its numbers, those that may be missing, and combinations of levels."""

    numbers: int
    nullable: int = 0
    combinations: float = 1.0


def keep_probability(c: float, size: Size, epsilon: float, delta: float = 0.0, *, alone: float = 1.0) -> float:
    """Return kappa of fine lattices; a missing value has the share `alone` of its window for itself.

    Examples
    --------
    >>> round(keep_probability(0.5, Size(1), 2.0), 4)
    0.6805
    """
    inside = (c / (1 + c)) ** (size.numbers - size.nullable) * (c / (1 + c + alone * c)) ** size.nullable
    share = inside / size.combinations * math.expm1(epsilon)
    return (delta + share) / (1 + share)


def mean_variance(c: float, keep: float) -> float:
    """Return what the noise adds to n times the variance of a mean, in widths², values spread evenly."""
    if keep == 0:
        return math.inf
    return (keep * (1 + c**2) / 12 + (1 - keep) * (1 + c) ** 2 / 12) / keep**2 - 1 / 12


def second_variance(c: float, keep: float, dim: int) -> float:
    """Return the same of a mean of squares (one number) or of products of two (several), in widths⁴."""
    kept, drawn = (1 + c**2) / 12, (1 + c) ** 2 / 12
    if dim > 1:
        return (keep * kept**2 + (1 - keep) * drawn**2) / keep**2 - 1 / 144
    fourth = keep * (1 / 80 + c**2 / 24 + c**4 / 80) + (1 - keep) * (1 + c) ** 4 / 80
    second, shift = keep * kept + (1 - keep) * drawn, (1 - keep) * drawn
    decoded = (fourth - 2 * shift * second + shift**2) / keep**2
    return decoded - c**2 / 6 * (second - shift) / keep + (c**2 / 12) ** 2 - 1 / 80


@lru_cache(maxsize=1024)  # columns of one kind have a window each, of the same width
def best_window(size: Size, epsilon: float, delta: float = 0.0, *, shared: bool = True) -> float:
    """Return the window's width c, in widths of a column, by the rule above.

    Without `shared` missing values have as many places as a window has.

    Examples
    --------
    >>> [round(1 + 1 / best_window(Size(1), epsilon), 1) for epsilon in (1.0, 2.0, 4.0, 8.0)]  # cells across a column
    [3.1, 3.8, 6.3, 20.6]
    """
    shared = shared and size.nullable > 0
    if keep_probability(math.exp(_WIDEST), size, epsilon, alone=_SPARSEST if shared else 1.0) < _HOPELESS:
        raise ParameterError(
            "so many columns in one window would never be kept",
            hint="several windows (groups=), fewer columns, or unit='attribute'",
        )
    if not shared:
        return _least(lambda log_c: _cost(math.exp(log_c), size, epsilon, delta), delta)
    shares = np.geomspace(_SPARSEST, 1.0, _SHARES)
    widths = np.exp(np.linspace(_NARROWEST, _WIDEST, 2 * _GRID + 1))
    cost = [[cost_with_missing(float(c), float(s), size, epsilon, delta) for c in widths] for s in shares]
    row, _ = np.unravel_index(np.argmin(cost), (len(shares), len(widths)))
    alone = float(shares[row])
    return _least(lambda log_c: cost_with_missing(math.exp(log_c), alone, size, epsilon, delta), delta)


def best_share(size: Size, epsilon: float, delta: float, c: float) -> float:
    """Return the share of a window that a missing value has for itself, by the rule above, in windows of width c.

    Examples
    --------
    >>> round(best_share(Size(1, 1), 4.0, 0.0, 0.25), 2), best_share(Size(8, 6), 4.0, 0.0, 2.0) < 0.5
    (1.0, True)
    """
    shares = np.geomspace(_SPARSEST, 1.0, 4 * _SHARES)
    return float(min(shares, key=lambda alone: cost_with_missing(c, float(alone), size, epsilon, delta)))


def _least(cost: Callable[[float], float], delta: float) -> float:
    """Return the width whose cost, a function of its logarithm, is least."""
    from scipy.optimize import minimize_scalar

    low, high = _NARROWEST, _WIDEST
    if delta:  # two minima: bracket the lower one on a grid
        step = (high - low) / _GRID
        least = min((low + step * k for k in range(_GRID + 1)), key=cost)
        low, high = max(low, least - step), min(high, least + step)
    return math.exp(float(minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-4}).x))


def _cost(c: float, size: Size, epsilon: float, delta: float) -> float:
    """Return the log of the product of two variances of columns in which no value is missing."""
    if keep_probability(c, size, epsilon) < _HOPELESS:
        return 1e6 - math.log(c)  # it is kept more often the wider it is
    keep = keep_probability(c, size, epsilon, delta)
    return math.log(mean_variance(c, keep)) + math.log(second_variance(c, keep, size.numbers))


def cost_with_missing(c: float, alone: float, size: Size, epsilon: float, delta: float) -> float:
    """Return the log of the product of three variances, up to a factor, where values may be missing."""
    if keep_probability(c, size, epsilon, alone=alone) < _HOPELESS:
        return 1e6 - math.log(c)
    keep = keep_probability(c, size, epsilon, delta, alone=alone)
    s = alone * c
    n, beyond = 1 + c + s, (c - s) ** 2 / s
    seen, plain = (1 + c**2) / 12, (1 + c) ** 2 / 12
    (kept, drawn), constant = missing_moments(c, s), (1 + c + beyond) / n
    held = (1 - GONE) + GONE * (beyond / c + 1 - alone)  # of 1, kept

    def variance(nullable: int, model: int) -> float:
        """Return that of a product of up to two columns in a model, `nullable` of which may be missing."""
        times = min(model, 2)
        first, rest = min(nullable, times), max(nullable - times, 0)
        near = kept**first * seen ** (times - first) * held**rest
        far = drawn**first * plain ** (times - first) * constant**rest
        return (keep * near + (1 - keep) * far) / keep**2

    share = size.nullable / size.numbers
    mean = share * math.log(variance(1, 1)) + (1 - share) * math.log(variance(0, 1))
    pair = share * math.log(variance(min(size.nullable, 2), 2)) + (1 - share) * math.log(variance(0, 2))
    return mean + pair + math.log(variance(min(size.nullable, _MODEL), _MODEL))
