"""Diagnostics of a fit: strength of each coefficient, score sets of weak fits, the specification test."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.errors import ParameterError
from versadp.estimation.score_sets import ScoreSet
from versadp.inference.chi_square import SpecificationTest

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_STRENGTH = 1e9  # cap of a strength, whose error may be 0: chosen; JSON has no infinity, and 7 is already strong
_ENTRIES = {"strength", "sets", "test", "size_error"}
LOOK_FOR = (
    "rows selected or weighted by a noisy column, another mechanism than the one declared, people who are in it twice; "
    "under method 'likelihood', noisy columns that depend on public ones in another way than it assumes"
)


@dataclass(frozen=True)
class Trust:
    """Diagnostics of a fit.

    Attributes
    ----------
    strength : mapping of str to float
        Curvature of each coefficient in units of its own standard error. Below 2 is weak, below 7 read intervals only.
    sets : mapping of str to ScoreSet
        Values that the scores cannot reject, by coefficient: of weak fits, and of fits with an uncertain curvature.
    test : SpecificationTest, optional
        None if there is only one member, or if the contrasts depend on a few records.
    size_error : float, optional
        Standard error of the effective sample size.

    Examples
    --------
    >>> trust = Trust({"age": 12.5}, test=SpecificationTest.of(3.0, 2))
    >>> Trust.read(trust.as_numbers()) == trust
    True
    """

    strength: Mapping[str, float] = field(default_factory=dict)
    sets: Mapping[str, ScoreSet] = field(default_factory=dict)
    test: SpecificationTest | None = None
    size_error: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", MappingProxyType(dict(self.strength)))
        object.__setattr__(self, "sets", MappingProxyType(dict(self.sets)))

    def of(self, names: tuple[str, ...]) -> Trust:
        """Return the diagnostics, checked to be of these coefficients."""
        if not {*self.strength, *self.sets} <= set(names):
            raise ParameterError(
                "a strength or a score set names an unknown coefficient", hint=f"coefficients: {', '.join(names)}"
            )
        return self

    def as_numbers(self) -> dict[str, Any]:
        """Return plain dictionaries, lists and numbers."""
        sets = {name: [list(each) for each in one.as_numbers()] for name, one in self.sets.items()}
        test = None if self.test is None else [self.test.statistic, self.test.df, self.test.cut]
        return {"strength": dict(self.strength), "sets": sets, "test": test, "size_error": self.size_error}

    @classmethod
    def read(cls, data: Any) -> Trust:
        """Return diagnostics from the output of `as_numbers`, or unchanged."""
        if isinstance(data, Trust):
            return data
        _check_entries(data)
        strength, sets, test, error = data["strength"], data["sets"], data["test"], data["size_error"]
        return cls(
            {
                str(name): inputs.number("a strength", value, -MOST_STRENGTH, MOST_STRENGTH)
                for name, value in strength.items()
            },
            {str(name): _set(value) for name, value in sets.items()},
            None if test is None else _test(*test),
            None if error is None else inputs.number("size_error", error, 0, np.inf, open_high=True),
        )


def _check_entries(data: Any) -> None:
    if not isinstance(data, dict) or set(data) != _ENTRIES:
        raise ParameterError(f"'trust' of the results must be {', '.join(sorted(_ENTRIES))}")
    if not isinstance(data["strength"], dict) or not isinstance(data["sets"], dict):
        raise ParameterError("'trust' of the results must have names and values")
    test = data["test"]
    if test is not None and not (isinstance(test, list) and len(test) == 3):
        raise ParameterError("'trust' of the results must have a statistic, its degrees of freedom and a chance")


def _test(statistic: Any, df: Any, cut: Any) -> SpecificationTest:
    value, chance = inputs.number("a statistic", statistic, 0, np.inf), inputs.number("a chance", cut, 0, 1)
    return SpecificationTest.of(value, inputs.whole("degrees of freedom", df, 0), chance)


def _set(value: Any) -> ScoreSet:
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(each, list) for each in value):
        raise ParameterError("a score set of the results must have values, and a number of 0 or more at each")
    numbers = [[inputs.number("a score set", each, -1e300, 1e300) for each in part] for part in value]
    return ScoreSet.read((numbers[0], numbers[1]))
