"""The grid of a column under symmetric Laplace noise.

Column j lives on `lower + k * width / 2^m`, k whole. The step is at most `sigma / 2^10`, so that rounded noise is
symmetric Laplace for every purpose of estimation, and at most `width / 2^16` (coarser only under noise of many widths),
so that rounding the record itself does not matter either. Both bounds are on the grid, so rounding adds nothing to the
shift between two records, and rounding the noise of a record on the grid is post-processing.
"""

from __future__ import annotations

import math

STEPS_PER_SIGMA = 2**10
MIN_BITS = 16
MAX_SIGMA_STEPS = 2**22
SCALE_RANGE = (1e-6, 1e6)


def grid_bits(scale: float) -> int:
    """Return the m of a column's grid: fine for the noise first, then for the record, then short for the sampler.

    Examples
    --------
    >>> grid_bits(0.25), grid_bits(1e-3)
    (16, 20)
    """
    for_noise = math.ceil(math.log2(STEPS_PER_SIGMA / scale))
    for_record = min(MIN_BITS, math.floor(math.log2(MAX_SIGMA_STEPS / scale)))
    return max(for_noise, for_record, 8)


def sampler_error(scale: float) -> float:
    """Bound on the total-variation distance between a column's noise and the ideal, rounded noise.

    Words are 64 bits long, and floating point plays no part (`quantile.exact_noise`). Let true uniforms fall
    into the cells whose middles the words name: 2^64 of W times 2^63 of a normal's size. Noise differs only if a
    rounding boundary `sigma sqrt(w) n = b` passes through the cell of (w, n). That curve is monotone, so it meets
    no more cells than it meets rows and columns. Words reach sqrt(w) < 6.72 and n < 9.2, so rows beyond
    `exp(-(b / 9.2 sigma)^2)` and columns beyond the tail of `b / 6.72 sigma` are out of its way. Summed over
    b = 1/2, 3/2, ... this is at most `(2 (1 + 8.2 sigma) + 1 + 5.4 sigma) / 2^64`, and the cells at the rim add
    `4 / 2^64`. The coin is rounded to the safe side.

    Examples
    --------
    >>> sampler_error(0.25) < 1e-12
    True
    """
    return (22 * math.ldexp(scale, grid_bits(scale)) + 7) * 2.0**-64
