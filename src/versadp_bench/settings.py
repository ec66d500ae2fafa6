"""The settings in which accuracy is measured: the paper's section 7, and harder ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import expit, ndtr, ndtri

import versadp as vdp
from versadp.losses import Check, Huber, Mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Demands:
    """What a row asks for beside its error.

    Attributes
    ----------
    coverage : tuple of float
        Between which shares of 95% intervals are to cover: of all coefficients together, or `each` by itself.
    failed : float
        At most such a share is without an answer.
    bias : float
        At most so many standard errors, of any coefficient.
    """

    coverage: tuple[float, float] = (0.935, 0.965)
    failed: float = 0.01
    bias: float = 0.2
    each: bool = False


EACH = Demands((0.92, 0.985), 0.02, np.inf, each=True)  # of rows whose intervals, not biases, are what is promised


@dataclass(frozen=True)
class Setting:
    """One row of the accuracy table.

    Attributes
    ----------
    bound : float
        Covariates lie in [-bound, bound].
    noise : float
        The noise scale in the columns' own units (the paper's lambda).
    slopes : float
        Each true slope.
    required : tuple of float
        RMSE of slopes, and of the intercept if there is one.
    """

    loss: Any
    n: int
    dim: int
    bound: float
    noise: float
    exact_rate: float
    slopes: float
    required: tuple[float, ...]
    intercept: float | None = None
    sigma: float = 1.0
    used: int | None = None
    private_response: bool = False
    demands: ClassVar[Demands] = Demands()

    @property
    def formula(self) -> str:
        """The model."""
        right = " + ".join(f"x{j}" for j in range(self.used or self.dim))
        return f"y ~ {right}" + ("" if self.intercept is not None else " - 1")

    @property
    def mechanism(self) -> vdp.Mechanism:
        """What releases the data."""
        columns: dict[str, Any] = {f"x{j}": vdp.Bounded(-self.bound, self.bound) for j in range(self.dim)}
        columns["y"] = vdp.Bounded(-RESPONSE_BOUND, RESPONSE_BOUND) if self.private_response else vdp.Public()
        return vdp.Mechanism(vdp.Schema(columns), scale=self.noise / (2 * self.bound), exact_rate=self.exact_rate)

    def truth(self) -> Array:
        """Return the true coefficients."""
        slopes = np.full(self.used or self.dim, self.slopes)
        return slopes if self.intercept is None else np.append(self.intercept, slopes)

    def data(self, rng: np.random.Generator, n: int | None = None) -> dict[str, Array]:
        """Return raw records: truncated normal covariates and a response."""
        n = n or self.n
        low = ndtr(-self.bound)
        x = ndtri(low + (1 - 2 * low) * rng.random((n, self.dim)))
        u = x[:, : self.used or self.dim].sum(axis=1) * self.slopes + (self.intercept or 0.0)
        y = RESPONSES[_name(self.loss)](rng, u, self.sigma)
        if self.private_response:
            y = np.clip(y, -RESPONSE_BOUND, RESPONSE_BOUND)
        return {f"x{j}": x[:, j] for j in range(self.dim)} | {"y": y}


RESPONSE_BOUND = 2.5
RESPONSES: dict[str, Callable[[np.random.Generator, Any, float], Any]] = {
    "squared": lambda rng, u, sigma: u + sigma * rng.standard_normal(u.size),
    "check": lambda rng, u, sigma: u + sigma * rng.standard_normal(u.size),
    "huber": lambda rng, u, sigma: u + sigma * rng.standard_t(3, u.size),
    "logistic": lambda rng, u, _: (rng.random(u.size) < expit(u)).astype(float),
    "hinge": lambda rng, u, _: np.where(rng.random(u.size) < expit(2 * u), 1.0, -1.0),
    "poisson": lambda rng, u, _: rng.poisson(np.exp(u)).astype(float),
}


def _name(loss: Any) -> str:
    return loss if isinstance(loss, str) else str(loss.name)


HALF = float("nan")  # required: at most half of drcl's error
SETTINGS: dict[str, Setting] = {
    "table2 0.5": Setting("logistic", 5000, 6, 0.5, 0.5, 0.2, 1.0, (0.180,)),
    "table2 1": Setting("logistic", 5000, 6, 0.5, 1.0, 0.2, 1.0, (0.215,)),
    "table3 2": Setting(Check(), 2500, 6, 1.0, 2.0, 0.2, 1.0, (0.085, 0.045), intercept=1.0, sigma=0.8),
    "table3 2.5": Setting(Check(), 2500, 6, 1.0, 2.5, 0.2, 1.0, (0.090, 0.050), intercept=1.0, sigma=0.8),
    "logistic 10": Setting("logistic", 100_000, 10, 1.0, 2.0, 0.005, 0.3**0.5, (0.055,)),
    "squared 10, 2": Setting("squared", 100_000, 10, 1.0, 2.0, 0.005, 0.3**0.5, (0.045,)),
    "squared 10, 4": Setting("squared", 100_000, 10, 1.0, 4.0, 0.005, 0.3**0.5, (0.12,)),
    "squared 2 of 10": Setting("squared", 100_000, 10, 1.0, 4.0, 0.01, 1.0, (0.10,), used=2),
    "hinge 3": Setting("hinge", 20_000, 3, 1.0, 1.0, 0.1, 1.0, (HALF,)),
    "huber 3": Setting(Huber(scale=1.0), 5000, 3, 1.0, 1.0, 0.1, 1.0, (HALF, HALF), intercept=1.0),
    "poisson 3": Setting("poisson", 5000, 3, 1.0, 1.0, 0.1, 0.5, (HALF, HALF), intercept=0.5),
    "private response 3": Setting("squared", 5000, 3, 1.0, 1.0, 0.1, 0.5, (HALF,), sigma=0.3, private_response=True),
}


@dataclass(frozen=True)
class MeanSetting:
    """A row of the paper's Table 1: the mean of a function of one uniform column."""

    function: Callable[[Array], Array]
    value: float
    required: tuple[float]
    n: int = 500
    noise: float = 0.94
    exact_rate: float = 0.1
    demands: ClassVar[Demands] = Demands()

    @property
    def formula(self) -> None:
        """There is none."""
        return

    @property
    def loss(self) -> Mean:
        """The mean of the function of a record."""
        return Mean(lambda x: self.function(x[:, 0]))

    @property
    def mechanism(self) -> vdp.Mechanism:
        """What releases the data."""
        return vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(0, 1)}), scale=self.noise, exact_rate=self.exact_rate)

    def truth(self) -> Array:
        """Return the true mean."""
        return np.array([self.value])

    def data(self, rng: np.random.Generator, n: int | None = None) -> dict[str, Array]:
        """Return raw records."""
        return {"x": rng.random(n or self.n)}


MEANS: dict[str, MeanSetting] = {
    "table1 ReLU": MeanSetting(lambda x: np.maximum(x, 0.0), 0.5, (0.0325,)),
    "table1 indicator": MeanSetting(lambda x: ((x >= 0.5) & (x <= 1.0)).astype(float), 0.5, (0.087,)),
    "table1 absolute sine": MeanSetting(lambda x: np.abs(np.sin(2 * np.pi * x)), 2 / np.pi, (0.092,)),
}
