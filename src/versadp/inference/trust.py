"""What an answer can be trusted for: strengths of coefficients, score sets of a weak fit, the specification test."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from versadp import inputs
from versadp.errors import ParameterError
from versadp.estimation.profile import Profile

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST = 1e9
LEVEL = 0.05
LOOK_FOR = (
    "rows selected or weighted by a noisy column, another mechanism than the one declared, people who are in it twice"
)


@dataclass(frozen=True)
class SpecificationTest:
    """Whether the members of a combination, which share one mean, do so in these records.

    Attributes
    ----------
    statistic : float
    df : int
        Degrees of freedom: the number of contrasts that vary.
    pvalue : float

    Examples
    --------
    >>> print(SpecificationTest.of(18.307, 10))
    specification test: chi-square 18.31 with 10 degrees of freedom, p = 0.05
    """

    statistic: float
    df: int
    pvalue: float

    @classmethod
    def of(cls, statistic: float, df: int) -> SpecificationTest:
        """Return the test of a statistic."""
        from scipy.special import chdtrc

        return cls(float(statistic), int(df), float(chdtrc(df, statistic)))

    @property
    def rejects(self) -> bool:
        """True if something is wrong, at the level of 5%."""
        return self.pvalue < LEVEL

    def __str__(self) -> str:
        freedom = f"{self.df} degree{'s' * (self.df != 1)} of freedom"
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
    profiles : mapping of str to Profile
        Of coefficients of a weak fit: what the scores cannot reject.
    test : SpecificationTest, optional
        None where there is one member alone, and nothing to contrast.

    Examples
    --------
    >>> trust = Trust({"age": 12.5}, test=SpecificationTest.of(3.0, 2))
    >>> Trust.read(trust.as_numbers()) == trust
    True
    """

    strength: Mapping[str, float] = field(default_factory=dict)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    test: SpecificationTest | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", MappingProxyType(dict(self.strength)))
        object.__setattr__(self, "profiles", MappingProxyType(dict(self.profiles)))

    def of(self, names: tuple[str, ...]) -> Trust:
        """Return it, if it is about these coefficients."""
        if not {*self.strength, *self.profiles} <= set(names):
            raise ParameterError("a strength or a score set is of a coefficient that there is not")
        return self

    def as_numbers(self) -> dict[str, Any]:
        """Return plain dictionaries, lists and numbers."""
        sets = {name: [list(each) for each in profile.as_numbers()] for name, profile in self.profiles.items()}
        test = None if self.test is None else [self.test.statistic, self.test.df]
        return {"strength": dict(self.strength), "profiles": sets, "test": test}

    @classmethod
    def read(cls, data: Any) -> Trust:
        """Return it from what `as_numbers` gave, or as it is."""
        if isinstance(data, Trust):
            return data
        if not isinstance(data, dict) or set(data) != {"strength", "profiles", "test"}:
            raise ParameterError("'trust' of the results must be strength, profiles and test")
        strength, sets, test = (data[key] for key in ("strength", "profiles", "test"))
        if not isinstance(strength, dict) or not isinstance(sets, dict):
            raise ParameterError("'trust' of the results must have names and values")
        if test is not None and not (isinstance(test, list) and len(test) == 2):
            raise ParameterError("'trust' of the results must have a statistic and its degrees of freedom")
        return cls(
            {str(name): inputs.number("a strength", value, -MOST, MOST) for name, value in strength.items()},
            {str(name): _profile(value) for name, value in sets.items()},
            None if test is None else SpecificationTest.of(inputs.number("statistic", test[0], 0, MOST), test[1]),
        )


def _profile(value: Any) -> Profile:
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(each, list) for each in value):
        raise ParameterError("a score set of the results must have values, and what is 0 or more at each")
    numbers = [[inputs.number("a score set", each, -1e300, 1e300) for each in part] for part in value]
    return Profile.read((numbers[0], numbers[1]))
