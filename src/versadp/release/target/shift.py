"""Largest shift of the numeric block, given everything else: the one number that calibration solves for.

The shift is the largest distance of two records in units of the noise scale, so the least noise is the largest shift.
The profile here is the one that will be reported: categories composed, and the sampler's error, which depends on the
scale, charged.

The exact curve costs milliseconds, its limit in dim microseconds. So the limit is solved first, with all else as it is:
the answer is larger, and how many times larger hardly depends on what the categories get, so that one solution predicts
the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from versadp.errors import InfeasibleError
from versadp.noise.grid import SCALE_RANGE
from versadp.noise.missing import as_sampled
from versadp.privacy import (
    compose,
    symmetric_laplace,
    symmetric_laplace_limit,
    zero_inflated,
)
from versadp.privacy.solving.parameter import search_parameter, shift_bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.privacy import PrivacyProfile, Target

_ROUGH = 1e-3  # to which the limit is solved


@dataclass(frozen=True)
class ShiftProblem:
    """Everything but the shift.

    Parameters
    ----------
    goal : Target
        What is to be met.
    dim : int
        Number of numeric columns.
    width : float
        Diameter of the domain, in widths of a column: what the shift is at scale 1.
    rate : float
        The exact rate.
    others : PrivacyProfile
        What the categories give away, `identity()` if they do not count.

    Examples
    --------
    >>> from versadp.privacy import identity, target
    >>> problem = ShiftProblem(target(0.8, 0.17), 6, 1.0, 0.05, identity())
    >>> low, high = problem.bracket
    >>> shift = problem.solve(1e-9)
    >>> round(low, 2), round(shift, 6), round(high, 2)
    (0.5, 0.574393, 0.76)
    """

    goal: Target
    dim: int
    width: float
    rate: float
    others: PrivacyProfile

    def profile(self, curve: Callable[[float], PrivacyProfile], shift: float) -> PrivacyProfile:
        """Return the guarantee at a shift, with a family of curves for the block."""
        scale = min(self.width / shift, SCALE_RANGE[1])
        numbers = as_sampled(curve(shift), [scale] * self.dim, shift)
        return compose(zero_inflated(numbers, self.rate), self.others)

    @cached_property
    def bracket(self) -> tuple[float, float]:
        """Shifts on either side of the answer: the limit in dim asks for less, dim 1 without categories allows more."""
        low, high = shift_bounds(self.goal, self.rate, self.dim)
        limit = partial(symmetric_laplace, 1) if self.dim == 1 else symmetric_laplace_limit
        profile = partial(self.profile, limit)
        try:
            return search_parameter(profile, self.goal, 1e-3 * low, high, tolerance=_ROUGH, near=low), high
        except InfeasibleError:
            if self.others.pure_epsilon > 0:  # it is the categories that leave no room
                raise
            raise self._too_much() from None

    def solve(self, tolerance: float, ratio: float | None = None) -> float:
        """Return the largest shift that meets the target, as `search_parameter` does.

        `ratio` is a guess at how many times the limit's it is.
        """
        if self.dim == 1 and tolerance >= _ROUGH:  # the bracket's lower end was solved for on the exact curve
            return self.bracket[0]
        near = None if ratio is None else ratio * self.bracket[0]
        profile = partial(self.profile, partial(symmetric_laplace, self.dim))
        return search_parameter(profile, self.goal, *self.bracket, tolerance=tolerance, near=near)

    def scale(self, shift: float) -> float:
        """Return the noise scale, relative to a column's width, that has this shift."""
        if self.width / shift > SCALE_RANGE[1]:
            raise self._too_much()
        return self.width / shift

    def _too_much(self) -> InfeasibleError:
        most = f"{self.goal} needs noise of more than {SCALE_RANGE[1]:g} widths"
        return InfeasibleError(most, hint="fewer columns, or a larger delta")
