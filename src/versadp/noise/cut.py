"""Whether released values end where Laplace noise would not let them: rows kept only above or below some value.

    f(y) >= f(x) e^(-√2 |x - y|)    for the density f of values with noise, in noise units

so that below the least value c there is at least 1/(e - 1) of the mass of [c, c + 1/√2), and r noisy values there, with
none below, have a chance of at most (1 - 1/e)^r. Values without noise may be anywhere: as many as there may be are left
out. Only ends inside the domain are looked at: outside it tails are exponential in any case, and attain the bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise.units import Units

    Array = NDArray[np.float64]

WINDOW = 1 / np.sqrt(2)
UNLIKELY = 4.0  # standard deviations of the number of values without noise
SELDOM = 10  # times as seldom as it may does it reject, since another test is beside it


def cut_chance(z: Array, units: Units) -> float:
    """Return ten times how likely it is, at most, that values of a column end as they do; 1 for other noise.

    Parameters
    ----------
    z : array (n, dim)
        Released values in the units of the fit.
    units : Units

    Examples
    --------
    >>> from versadp.noise import ZeroInflatedBlock
    >>> units = ZeroInflatedBlock(("x",), (-1.0,), (1.0,), (0.1,), 0.02).units(np.zeros(1))
    >>> rng = np.random.default_rng(0)
    >>> z = (rng.uniform(-1, 1, (5000, 1)) + rng.laplace(0, 0.2 / 2**0.5, (5000, 1))) / units.unit
    >>> cut_chance(z, units), cut_chance(z[z[:, 0] > 0], units) < 1e-6
    (1.0, True)
    """
    rate, n = units.exact_rate, len(z)
    if rate is None or not n:
        return 1.0
    exact = rate * n + UNLIKELY * np.sqrt(rate * (1 - rate) * n)
    sides = [(side * z[:, j], side) for j in range(units.dim) for side in (1.0, -1.0)]
    most = 0.0
    for j, (values, side) in enumerate(sides):
        end = float(values.min())
        if end > (units.lower if side > 0 else -units.upper)[j // 2]:
            most = max(most, float((values < end + WINDOW).sum()) - exact)
    return float(min(1.0, SELDOM * len(sides) * (1 - np.exp(-1.0)) ** most))
