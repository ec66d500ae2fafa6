"""Targets of a guarantee: (epsilon, delta); an attacker's `advantage`; a miss rate `beta` at `alpha`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.errors import ParameterError

if TYPE_CHECKING:
    from versadp.privacy.profile import PrivacyProfile


@dataclass(frozen=True, slots=True)
class Target:
    """Target, its unit and the number of shuffled records, if these are given; made by `target`.

    Examples
    --------
    >>> Target(epsilon=4.0, unit="record").to_dict()
    {'epsilon': 4.0, 'unit': 'record'}
    """

    epsilon: float | None = None
    delta: float | None = None
    advantage: float | None = None
    alpha: float | None = None
    beta: float | None = None
    unit: str | None = None
    shuffled: int | None = None

    def to_dict(self) -> dict[str, float | str]:
        """Return what is set, as it stands in files."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, data: Any) -> Target:
        """Read what `to_dict` wrote.

        Examples
        --------
        >>> Target.from_dict({"epsilon": 1.0, "delta": 0.01, "unit": "record"}).unit
        'record'
        """
        if not isinstance(data, Mapping) or not set(data) <= {field.name for field in fields(cls)}:
            raise ParameterError("this is no privacy target")
        numbers = {name: value for name, value in data.items() if name not in {"unit", "shuffled"}}
        unit, shuffled = data.get("unit"), data.get("shuffled")
        if unit is not None and not isinstance(unit, str):
            raise ParameterError("the unit of a privacy target must be text")
        if shuffled is not None:
            shuffled = inputs.whole("shuffled", shuffled, 1)
        return replace(target(**numbers), unit=unit, shuffled=shuffled)

    def room(self, profile: PrivacyProfile) -> float:
        """Return how far a profile stays inside the target, on any scale: at least 0 where it meets it."""
        if self.advantage is not None:
            return self.advantage - profile.advantage()
        if self.alpha is not None and self.beta is not None:
            return float(profile.beta(self.alpha)) - self.beta
        assert self.epsilon is not None
        assert self.delta is not None
        found = float(profile.delta(self.epsilon))
        floor = profile._quick_floor
        if min(found, self.delta) <= floor:
            return self.delta - found
        # what is above the floor is nearly a power of the shift: in logarithms the search is almost linear
        return float(np.log((self.delta - floor) / (found - floor))) if found != self.delta else 0.0

    def __str__(self) -> str:
        if self.advantage is not None:
            return f"advantage {self.advantage:g}"
        if self.alpha is not None:
            return f"beta {self.beta:g} at alpha {self.alpha:g}"
        return f"epsilon {self.epsilon:g}, delta {self.delta:g}"


def target(
    epsilon: float | None = None,
    delta: float | None = None,
    *,
    advantage: float | None = None,
    alpha: float | None = None,
    beta: float | None = None,
) -> Target:
    """Check a target: just one of (epsilon, delta), advantage, (alpha, beta).

    Parameters
    ----------
    epsilon, delta : float, optional
        epsilon >= 0 and delta in [0, 1).
    advantage : float, optional
        In (0, 1).
    alpha, beta : float, optional
        False alarms in (0, 1), and the least share of targets missed there, in [0, 1).

    Returns
    -------
    Target

    Examples
    --------
    >>> print(target(0.8, 0.17))
    epsilon 0.8, delta 0.17
    """
    pairs = ((epsilon, delta), (advantage,), (alpha, beta))
    given = [all(v is not None for v in pair) for pair in pairs]
    if sum(given) != 1 or sum(any(v is not None for v in pair) for pair in pairs) != 1:
        half = [name for name, v in (("delta", delta), ("alpha", alpha), ("beta", beta)) if v is not None]
        raise ParameterError(
            "give one target: epsilon with delta, or advantage, or alpha with beta"
            + (f"; {half[0]} alone is half of one" if len(half) == 1 and epsilon is None and advantage is None else ""),
            hint="e.g. epsilon=4, delta=1e-6; windows need no delta",
        )
    if given[0]:
        return Target(
            epsilon=inputs.number("epsilon", epsilon, 0.0, np.inf, open_high=True),
            delta=inputs.number("delta", delta, 0.0, 1.0, open_high=True),
        )
    if given[1]:
        return Target(advantage=inputs.number("advantage", advantage, 0.0, 1.0, open_low=True, open_high=True))
    return Target(
        alpha=inputs.number("alpha", alpha, 0.0, 1.0, open_low=True, open_high=True),
        beta=inputs.number("beta", beta, 0.0, 1.0, open_high=True),
    )


def nearest(profile: PrivacyProfile, goal: Target) -> str:
    """Say what a profile offers next to a target that it misses.

    Parameters
    ----------
    profile : PrivacyProfile
        The most private one there is.
    goal : Target
        What was asked for.

    Returns
    -------
    str

    Examples
    --------
    >>> from versadp.privacy import approx_dp
    >>> nearest(approx_dp(1.0, 0.05), target(1.0, 0.01))
    'delta 0.05 at epsilon 1'
    """
    if goal.advantage is not None:
        return f"advantage {_above(profile.advantage())}"
    if goal.alpha is not None:
        return f"beta {float(np.floor(1e6 * profile.beta(goal.alpha)) / 1e6):g} at alpha {goal.alpha:g}"
    assert goal.epsilon is not None
    return f"delta {_above(profile.delta(goal.epsilon))} at epsilon {goal.epsilon:g}"


def _above(value: float) -> str:
    """Print with six digits, rounded up so that what is printed can be met."""
    digits = 6 - int(np.floor(np.log10(max(value, 1e-300)))) - 1
    scale = 10.0**digits
    return f"{np.ceil(value * scale * (1 - 1e-12)) / scale:.6g}"
