"""What a baseline is: a frozen dataclass with its parameters, what it guarantees, and a fit.

Records are in units where every private number lies in [-1, 1] (`Sample`); a provider's declared bounds say how to get
there. All guarantees here are for a whole record, neighbours differ in one record (replace one), and the number of
records is public: the relation that versadp uses. `guarantee` is made from the noise that `fit` adds and from its
sensitivity: one function says how large the noise is, and both call it. Tests hold the noise that `fit` draws against
closed forms, and the guarantee against the budget.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from versadp import privacy
from versadp.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]

SERVER, DEVICE = "server", "device"
REGISTRY: dict[str, type[Method]] = {}


class Estimate(NamedTuple):
    """Estimates, and standard errors where the method has them."""

    values: Array
    errors: Array | None = None


@dataclass(frozen=True)
class Sample:
    """True records: covariates (n, d) and a response, all in [-1, 1].

    Examples
    --------
    >>> Sample(np.array([[0.5], [-1.0]]), np.array([0.0, 1.0])).design
    array([[ 1. ,  0.5],
           [ 1. , -1. ]])
    """

    x: Array
    y: Array

    def __post_init__(self) -> None:
        if max(np.abs(self.x).max(initial=0.0), np.abs(self.y).max(initial=0.0)) > 1:
            raise ParameterError("a value lies outside [-1, 1]", hint="scale by the declared bounds, and clamp")

    @property
    def design(self) -> Array:
        """Covariates with a constant before them."""
        return np.column_stack([np.ones(len(self.x)), self.x])


@dataclass(frozen=True)
class Budget:
    """(epsilon, delta) for a record; an infinite epsilon is no privacy, and no noise.

    Examples
    --------
    >>> round(Budget(1.0, 1e-6).mu, 3)
    0.237
    >>> Budget(math.inf).mu
    inf
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and 0 <= self.delta < 1):
            raise ParameterError("epsilon is positive, delta is in [0, 1)", hint="for example Budget(1.0, 1e-6)")

    @property
    def mu(self) -> float:
        """The largest mu of a Gaussian mechanism that meets the budget, exactly (not by a tail bound)."""
        if math.isinf(self.epsilon):
            return math.inf
        if self.delta == 0:
            raise ParameterError("Gaussian noise has no pure epsilon", hint="give a delta above 0")
        return _largest_mu(self.epsilon, self.delta)

    def met_by(self, profile: PrivacyProfile) -> bool:
        """Tell whether a guarantee meets the budget."""
        return math.isinf(self.epsilon) or bool(profile.delta(self.epsilon) <= self.delta + 1e-12)


@lru_cache(maxsize=256)
def _largest_mu(epsilon: float, delta: float) -> float:
    return privacy.solve_parameter(privacy.gaussian, privacy.target(epsilon, delta), 1e-7, 1e3)


class Method(ABC):
    """A baseline.

    Attributes
    ----------
    name, reference : str
        What it is called, and where it stands.
    where : str
        Who is trusted: a "server" sees the true records; a "device" sees its own, and nobody sees the rest.
    reusable : bool
        Whether what is published serves any number of analyses (then it is charged once).
    asymptotic : bool
        Whether its published guarantee holds only for records enough, a number that cannot be checked.
    """

    name: ClassVar[str]
    reference: ClassVar[str]
    where: ClassVar[str] = SERVER
    reusable: ClassVar[bool] = False
    asymptotic: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Put every baseline that has a name into the registry."""
        if "name" in cls.__dict__:
            REGISTRY[cls.name] = cls

    @abstractmethod
    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:
        """Return what the noise of `fit` guarantees for a record, with so many records and covariates."""

    @abstractmethod
    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Estimate from true records; noise is drawn from `rng`, which is for experiments and not for secrets."""


def laplace(rng: np.random.Generator, scale: float, size: int | tuple[int, ...]) -> Array:
    """Return Laplace noise; none at scale 0.

    Examples
    --------
    >>> laplace(np.random.default_rng(0), 0.0, 2)
    array([0., 0.])
    """
    return rng.laplace(0.0, scale, size) if scale else np.zeros(size)


def pure(epsilon: float) -> PrivacyProfile:
    """Return the guarantee of noise whose densities differ by at most a factor e^epsilon.

    Examples
    --------
    >>> pure(1.0).delta(1.0)
    0.0
    """
    return privacy.approx_dp(epsilon, 0.0)
