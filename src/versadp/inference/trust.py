"""What an answer can be trusted for: strengths of coefficients, score sets of a weak fit, the specification test."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.errors import ParameterError
from versadp.estimation.score_sets import ScoreSet

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST = 1e9
LEVEL = 0.05
_ENTRIES = {"strength", "sets", "test", "size_error"}
LOOK_FOR = (
    "rows selected or weighted by a noisy column, another mechanism than the one declared, people who are in it twice; "
    "under method 'likelihood', noisy columns that do not go with public ones as it assumes"
)


@dataclass(frozen=True)
class SpecificationTest:
    """Whether the members of a combination share one mean, as they should, and whether noise is where it should be.

    Attributes
    ----------
    statistic : float
    df : int
        Degrees of freedom: the number of contrasts that vary; 0 where there is one member alone.
    pvalue : float
        Of the statistic, or `cut` if that is less.
    cut : float
        How likely it is, at most, that a noisy column lacks the values that it lacks.

    Examples
    --------
    >>> print(SpecificationTest.of(18.307, 10))
    specification test: chi-square 18.31 with 10 degrees of freedom, p = 0.05
    """

    statistic: float
    df: int
    pvalue: float
    cut: float = 1.0

    @classmethod
    def of(cls, statistic: float, df: int, cut: float = 1.0) -> SpecificationTest:
        """Return the test of a statistic."""
        from scipy.special import chdtrc

        return cls(float(statistic), int(df), min(float(chdtrc(df, statistic)) if df else 1.0, cut), float(cut))

    @property
    def rejects(self) -> bool:
        """True if something is wrong, at the level of 5%."""
        return self.pvalue < LEVEL

    def __str__(self) -> str:
        freedom = f"{self.df} degree{'s' * (self.df != 1)} of freedom"
        if self.cut <= self.pvalue < 1:
            return f"specification test: a noisy column lacks values that noise would have made, p = {self.cut:.4g}"
        if not self.df:
            return "specification test: no values are lacking that noise would have made"
        return f"specification test: chi-square {self.statistic:.4g} with {freedom}, p = {self.pvalue:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return asdict(self)


@dataclass(frozen=True)
class Trust:
    """How far an answer carries.

    Attributes
    ----------
    strength : mapping of str to float
        Of coefficients: their curvature in units of its own sampling error. Below 7 is weak.
    sets : mapping of str to ScoreSet
        Of coefficients of a weak fit, and of one whose bend is hardly known: what the scores cannot reject.
    test : SpecificationTest, optional
        None where there is one member alone, or where contrasts hang on a few records.
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
        """Return it, if it is about these coefficients."""
        if not {*self.strength, *self.sets} <= set(names):
            raise ParameterError("a strength or a score set is of a coefficient that there is not")
        return self

    def as_numbers(self) -> dict[str, Any]:
        """Return plain dictionaries, lists and numbers."""
        sets = {name: [list(each) for each in one.as_numbers()] for name, one in self.sets.items()}
        test = None if self.test is None else [self.test.statistic, self.test.df, self.test.cut]
        return {"strength": dict(self.strength), "sets": sets, "test": test, "size_error": self.size_error}

    @classmethod
    def read(cls, data: Any) -> Trust:
        """Return it from what `as_numbers` gave, or as it is."""
        if isinstance(data, Trust):
            return data
        if not isinstance(data, dict) or set(data) != _ENTRIES:
            raise ParameterError(f"'trust' of the results must be {', '.join(sorted(_ENTRIES))}")
        strength, sets, test, error = data["strength"], data["sets"], data["test"], data["size_error"]
        if not isinstance(strength, dict) or not isinstance(sets, dict):
            raise ParameterError("'trust' of the results must have names and values")
        if test is not None and not (isinstance(test, list) and len(test) == 3):
            raise ParameterError("'trust' of the results must have a statistic, its degrees of freedom and a chance")
        return cls(
            {str(name): inputs.number("a strength", value, -MOST, MOST) for name, value in strength.items()},
            {str(name): _set(value) for name, value in sets.items()},
            None if test is None else _test(*test),
            None if error is None else inputs.number("size_error", error, 0, np.inf, open_high=True),
        )


def _test(statistic: Any, df: Any, cut: Any) -> SpecificationTest:
    value, chance = inputs.number("a statistic", statistic, 0, np.inf), inputs.number("a chance", cut, 0, 1)
    return SpecificationTest.of(value, inputs.whole("degrees of freedom", df, 0), chance)


def _set(value: Any) -> ScoreSet:
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(each, list) for each in value):
        raise ParameterError("a score set of the results must have values, and what is 0 or more at each")
    numbers = [[inputs.number("a score set", each, -1e300, 1e300) for each in part] for part in value]
    return ScoreSet.read((numbers[0], numbers[1]))
