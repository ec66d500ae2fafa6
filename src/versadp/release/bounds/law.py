"""The noise of the counts from which bounds are learnt, and what it costs: a share of the release's own target.

    a target with a delta     the Gaussian curve through (epsilon, delta) has some mu; mu_b = sqrt(share) mu is spent
    a pure one                share epsilon is spent, by geometric noise

With D counts per record (`schema/learnt.py`) that is sigma = sqrt(2 D)/mu_b, or t = 2 D/(share epsilon): replacing a
record lowers one count by 1 and raises another, D times. Windows without a shuffle get geometric noise even where they
have a delta, since their epsilon is nearly pure and the tail of Gaussian noise would cost them more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from versadp import inputs
from versadp.errors import ParameterError
from versadp.noise.counts import rounded_gaussian_error
from versadp.privacy import PrivacyProfile, approx_dp, gaussian, identity, with_slack
from versadp.privacy.profile import ULP
from versadp.release.target.person import PERSON, unit_of
from versadp.schema.learnt import GAUSSIAN, GEOMETRIC, LearntBounds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from versadp.privacy import Target
    from versadp.schema import Schema

SHARE, COVERAGE = 0.05, 0.99  # of the budget; of each column's values, between its bounds
_MOST_MU = 1e3


@dataclass(frozen=True)
class BoundsRequest:
    """Plan of learning bounds: columns, grids and noise, all of it fixed before the records are read.

    Attributes
    ----------
    epsilon, delta : float
        The target of the release, of which a share is spent.
    unit : str
        What that protects.
    share, coverage : float
    pure : bool
        Geometric noise.
    spacing : bool
        Whether the counts decide on which scale the noise of numbers is even.
    """

    epsilon: float
    delta: float
    unit: str
    share: float = SHARE
    coverage: float = COVERAGE
    pure: bool = False
    spacing: bool = False

    @classmethod
    def of(
        cls,
        schema: Schema,
        epsilon: float,
        delta: float | None,
        *,
        unit: str | None = None,
        share: float = SHARE,
        coverage: float = COVERAGE,
        pure: bool = False,
        spacing: bool = False,
    ) -> BoundsRequest:
        """Check what is asked for.

        Examples
        --------
        >>> from versadp import Bounded, Schema
        >>> BoundsRequest.of(Schema({"age": Bounded(0, 120)}), 1.0, 1e-6).unit
        'record'
        """
        less = inputs.number("delta", delta or 0.0, 0, 1, open_high=True)
        return cls(
            inputs.number("epsilon", epsilon, 0, 30, open_low=True),
            less,
            unit_of(schema, unit),
            inputs.number("share", share, 0, 0.9, open_low=True),
            inputs.number("coverage", coverage, 0.5, 1),
            pure or not less,
            spacing,
        )

    def law(self, schema: Schema, levels: Mapping[str, int], counts: int) -> LearntBounds:
        """Return the noise of counts, given how many a record changes per column and how many there are in all."""
        spread = max(levels.values()) if self.unit == "attribute" else sum(levels.values())
        rows = schema.rows_per_person if self.unit == PERSON else 1
        if self.pure:
            scale = float(math.ceil(2 * spread * rows / (self.share * self.epsilon)))
        else:
            scale = rows * math.sqrt(2 * spread / self.share) / gaussian_mu(self.epsilon, self.delta)
        return LearntBounds(
            noise=GEOMETRIC if self.pure else GAUSSIAN,
            scale=scale,
            levels=dict(levels),
            counts=counts,
            share=self.share,
            coverage=self.coverage,
            epsilon=self.epsilon,
            delta=self.delta,
            unit=self.unit,
            spacing=self.spacing,
        )


@lru_cache(maxsize=64)
def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the mu of the Gaussian noise that meets (epsilon, delta).

    Examples
    --------
    >>> round(gaussian_mu(1.0, 1e-6), 3)
    0.237
    """
    from scipy.optimize import brentq

    def excess(log_mu: float) -> float:
        found = float(gaussian(math.exp(log_mu)).delta(epsilon))
        return math.log(max(found, 1e-300) / delta)

    return math.exp(float(brentq(excess, math.log(1e-6), math.log(_MOST_MU), xtol=1e-9))) * (1 - 1e-8)


@lru_cache(maxsize=64)
def bounds_privacy(learnt: LearntBounds | None, unit: str) -> PrivacyProfile:
    """Return what learning the bounds gave away of a record, or of one attribute.

    Examples
    --------
    >>> learnt = LearntBounds("geometric", 60.0, {"age": 3}, 84, 0.05, 0.99, 2.0, 0.0, "record")
    >>> round(bounds_privacy(learnt, "record").pure_epsilon, 9)
    0.1
    """
    if learnt is None or learnt.is_free:
        return identity()
    spread = learnt.sensitivity(unit)
    if learnt.noise == GEOMETRIC:
        return approx_dp(2 * spread / learnt.scale * (1 + 4 * ULP), 0.0)
    error = rounded_gaussian_error(learnt.scale, learnt.counts)
    return with_slack(gaussian(math.sqrt(2 * spread) / learnt.scale * (1 + 4 * ULP)), error)


def check_learnt_for(learnt: LearntBounds | None, goal: Target, unit: str) -> None:
    """Refuse another target than that of which a share was spent: it may not depend on what the bounds show."""
    if learnt is None or learnt.is_free:
        return
    if (goal.epsilon, goal.delta, unit) != (learnt.epsilon, learnt.delta, learnt.unit):
        raise ParameterError(
            f"the bounds were learnt for epsilon {learnt.epsilon:g}, delta {learnt.delta:g} and unit {learnt.unit!r}",
            hint="give the same target; or learn the bounds of the declared schema for another one, which is charged",
        )
