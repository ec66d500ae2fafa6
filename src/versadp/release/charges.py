"""What a release costs a person, in whole numbers, rounded up.

A charge is a pair (epsilon in units of 1e-6, delta in units of 1e-12) that the mechanism keeps for a whole
record. Charges of one person add up, which is the plain composition of such pairs: an upper bound, and one that no
order of rounding can break. `Mechanism.privacy().compose(k)` gives the exact figure for k equal releases.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from versadp.errors import ParameterError

if TYPE_CHECKING:
    from versadp.release.mechanism import Mechanism

EPSILON_UNIT, DELTA_UNIT = 10**6, 10**12
_MOST = 2**40  # sums over two million releases stay below 2^62


def charge_of(mechanism: Mechanism, target: tuple[float, float] | None = None) -> tuple[int, int]:
    """Return the charge of a mechanism.

    Parameters
    ----------
    mechanism : Mechanism
    target : tuple of float, optional
        (epsilon, delta) for a whole record, if there is such a target; by default delta is twice its floor.

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema
    >>> mech = Mechanism(Schema({"x": Bounded(0, 1)}), scale=1.0, exact_rate=0.01)
    >>> charge_of(mech, (1.5, 0.0625))
    (1500000, 62500000000)
    """
    profile = mechanism.privacy("record")
    if target is None:
        delta = min(2 * float(profile.delta_floor) + 1e-6, (1 + float(profile.delta_floor)) / 2)
        return whole(float(profile.epsilon(delta)), delta)
    epsilon, delta = target
    if not float(profile.delta(epsilon)) <= delta:
        raise ParameterError(f"the mechanism does not keep ({epsilon:g}, {delta:g}) for a whole record")
    return whole(epsilon, delta)


def whole(epsilon: float, delta: float) -> tuple[int, int]:
    """Return a pair in whole units, rounded up.

    Examples
    --------
    >>> whole(0.1, 1e-13)
    (100001, 1)
    """
    if not (0 <= epsilon < math.inf and 0 <= delta <= 1):
        raise ParameterError("a charge needs an epsilon of 0 or more and a delta between 0 and 1")
    # as fractions: 0.1 is a little more than a tenth, and stays so
    millionths = math.ceil(Fraction(epsilon) * EPSILON_UNIT)
    return min(millionths, _MOST), math.ceil(Fraction(delta) * DELTA_UNIT)


def spelled(charge: tuple[int, int]) -> str:
    """Return a charge in words.

    Examples
    --------
    >>> spelled((1500000, 62500000000))
    'epsilon 1.5, delta 0.0625'
    """
    return f"epsilon {charge[0] / EPSILON_UNIT:.7g}, delta {charge[1] / DELTA_UNIT:.6g}"
