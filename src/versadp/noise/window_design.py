"""How wide a window should be, before any data are seen.

In widths, with c the window's width, d numbers in the block and K the number of combinations of its categories' levels,

    f = (c/(1 + c))^d / K,     kappa = f (e^eps - 1) / (1 + f (e^eps - 1))

is the probability that a record is kept, on a fine lattice; for a number that may be missing it is `c/(1 + 2c)`, since
missing takes the place of one more window. For values spread evenly over their bounds a kept value has
second moment `1/12 + c²/12` and a redrawn one `(1 + c)²/12`, which gives the variance of decoders of x, of x² and of
x_j x_l in closed form. A narrow window is kept seldom, a wide one says little: the rule takes the c for which the
product of the variances of a mean and of a second moment (x² alone, x_j x_l jointly) is least.

With a delta, `kappa = (delta + f (e^eps - 1)) / (1 + f (e^eps - 1))` is at least delta however narrow the window,
so that the product has a second minimum where the window vanishes and kappa is delta. The least of both is taken.
"""

from __future__ import annotations

import math

from versadp.errors import ParameterError

_HOPELESS = 1e-60  # a probability
_NARROWEST, _WIDEST = -9.0, 2.0  # logs of widths
_GRID = 44  # steps of 0.25 between them; each minimum is wider than that


def keep_probability(
    c: float, dim: int, epsilon: float, combinations: float = 1.0, delta: float = 0.0, *, nullable: int = 0
) -> float:
    """Return kappa of fine lattices; `nullable` of the numbers may be missing.

    Examples
    --------
    >>> round(keep_probability(0.5, 1, 2.0), 4)
    0.6805
    """
    inside = (c / (1 + c)) ** (dim - nullable) * (c / (1 + 2 * c)) ** nullable
    share = inside / combinations * math.expm1(epsilon)
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


def best_window(dim: int, epsilon: float, combinations: float = 1.0, delta: float = 0.0, *, nullable: int = 0) -> float:
    """Return the window's width c, in widths of a column, by the rule above.

    Examples
    --------
    >>> [round(1 + 1 / best_window(1, epsilon), 1) for epsilon in (1.0, 2.0, 4.0, 8.0)]  # cells across a column
    [3.1, 3.8, 6.3, 20.6]
    """
    from scipy.optimize import minimize_scalar

    if keep_probability(math.exp(_WIDEST), dim, epsilon, combinations, nullable=nullable) < _HOPELESS:
        raise ParameterError(
            "so many columns in one window would never be kept",
            hint="several windows (groups=), fewer columns, or unit='attribute'",
        )

    def cost(log_c: float) -> float:
        c = math.exp(log_c)
        keep = keep_probability(c, dim, epsilon, combinations, delta, nullable=nullable)
        if keep_probability(c, dim, epsilon, combinations, nullable=nullable) < _HOPELESS:
            return 1e6 - log_c  # it is kept more often the wider it is
        return math.log(mean_variance(c, keep)) + math.log(second_variance(c, keep, dim))

    low, high = _NARROWEST, _WIDEST
    if delta:  # two minima: bracket the lower one on a grid
        step = (high - low) / _GRID
        least = min((low + step * k for k in range(_GRID + 1)), key=cost)
        low, high = max(low, least - step), min(high, least + step)
    return math.exp(float(minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-4}).x))
