"""Charges of a release per person, in whole numbers, rounded up.

A charge is a pair (epsilon in units of 1e-6, delta in units of 1e-12) that the mechanism keeps for a whole
record. Charges of one person add up, which is the plain composition of such pairs: an upper bound, and one that no
order of rounding can break. `Mechanism.privacy().compose(k)` gives the exact figure for k equal releases.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from versadp import inputs
from versadp.errors import ParameterError

if TYPE_CHECKING:
    from versadp.release.mechanism import Mechanism

EPSILON_UNIT, DELTA_UNIT = 10**6, 10**12
_MOST = 2**40  # sums over two million releases stay below 2^62


def charge_of(
    mechanism: Mechanism, target: tuple[float, float] | None = None, *, alone: bool = False
) -> tuple[int, int]:
    """Return the charge of a mechanism.

    Parameters
    ----------
    mechanism : Mechanism
    target : tuple of float, optional
        (epsilon, delta) for a whole record, if there is such a target; by default delta is twice its floor. What was
        calibrated for a shuffled release is charged as such, since nothing less is released with it.
    alone : bool
        Charge what a record's own noise keeps, whatever was calibrated for.

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema
    >>> mech = Mechanism(Schema({"x": Bounded(0, 1)}), scale=1.0, exact_rate=0.01)
    >>> charge_of(mech, (1.5, 0.0625))
    (1500000, 62500000000)
    """
    shuffled = None if alone or mechanism.target is None else mechanism.target.shuffled
    profile = mechanism.privacy(shuffled=shuffled)
    if target is None:
        delta = min(2 * float(profile.delta_floor) + 1e-6, (1 + float(profile.delta_floor)) / 2)
        return whole(math.nextafter(float(profile.epsilon(delta)), math.inf), delta)
    epsilon, delta = target
    if not float(profile.delta(epsilon)) <= delta:
        raise ParameterError(
            f"the mechanism does not keep ({epsilon:g}, {delta:g}) for a whole record", hint="leave the target out"
        )
    return whole(epsilon, delta)


def keeps(mechanism: Mechanism, charge: tuple[int, int]) -> bool:
    """Return whether a mechanism guarantees what a charge says.

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema
    >>> mech = Mechanism(Schema({"x": Bounded(0, 1)}), scale=1.0, exact_rate=0.01)
    >>> keeps(mech, (1500000, 62500000000)), keeps(mech, (1000, 62500000000))
    (True, False)
    """
    profile = mechanism.privacy(shuffled=None if mechanism.target is None else mechanism.target.shuffled)
    return Fraction(float(profile.delta(charge[0] / EPSILON_UNIT))) * DELTA_UNIT <= charge[1]


def whole(epsilon: float, delta: float) -> tuple[int, int]:
    """Return a pair in whole units, rounded up; a number is taken as it is written, so that 0.1 is a tenth.

    Examples
    --------
    >>> whole(0.1, 1e-13)
    (100000, 1)
    """
    exact = _exact(epsilon, delta)
    return min(math.ceil(exact[0]), _MOST), math.ceil(exact[1])


def allowance(epsilon: float, delta: float) -> tuple[int, int]:
    """Return a budget in whole units, rounded down, and below the largest charge, which stands for any larger one.

    Examples
    --------
    >>> allowance(0.3, 1e-13)
    (300000, 0)
    """
    exact = _exact(epsilon, delta)
    return min(math.floor(exact[0]), _MOST - 1), math.floor(exact[1])


def _exact(epsilon: float, delta: float) -> tuple[Fraction, Fraction]:
    pair = inputs.number("epsilon", epsilon, 0, math.inf, open_high=True), inputs.number("delta", delta, 0, 1)
    return Fraction(repr(pair[0])) * EPSILON_UNIT, Fraction(repr(pair[1])) * DELTA_UNIT


def spelled(charge: tuple[int, int]) -> str:
    """Return a charge in words.

    Examples
    --------
    >>> spelled((1500000, 62500000000))
    'epsilon 1.5, delta 0.0625'
    """
    return f"epsilon {charge[0] / EPSILON_UNIT:.7g}, delta {charge[1] / DELTA_UNIT:.6g}"
