"""Populations: who is released. Each knows its schema, draws samples, and knows its true values where a formula does.

Index:      y = a + b'f(x) + (s + t x0) e      a response that depends on covariates through an index
Bare:       covariates alone, for means and quantiles
Incomes:    the README's people: log-normal incomes beside ages and regions
Resampled:  rows of a table, drawn with replacement
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.special import ndtri

import versadp as vdp
from versadp_bench.coverage.data import BOUNDS, table
from versadp_bench.coverage.responses import ERRORS, LAWS, OWN_LOSS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from versadp_bench.coverage.covariates import Covariates

    Array = NDArray[np.float64]
    Columns = dict[str, Any]

MANY = 2_000_000


class Population(Protocol):
    """Who is released."""

    @property
    def schema(self) -> vdp.Schema:
        """What the columns are."""
        ...

    def draw(self, rng: np.random.Generator, n: int) -> Columns:
        """Draw n records, inside the bounds of the schema."""
        ...

    def everyone(self) -> Columns:
        """Return the whole population, or so many that their fit may stand for it."""
        ...

    def truth(self, loss: Any) -> Array | None:
        """Return the true coefficients by a formula, if there is one."""
        ...


_FUNCTIONS: Mapping[str, Callable[[Array], Array]] = {
    "square": lambda x: x[:, 0] ** 2,
    "log": lambda x: np.log(x[:, 0]),
    "product": lambda x: x[:, 0] * x[:, 1],
}


@dataclass(frozen=True)
class Index:
    """A response that depends on covariates through an index.

    Attributes
    ----------
    slopes : tuple of float
        Of the first covariates, and last of the function of them that `also` names; the rest are in the release only.
    response : str
        An error that is added to the index, or a law: see `responses`.
    sigma, tilt : float
        The error's scale is `sigma + tilt * x0`.
    private : (float, float), optional
        Bounds of the response where it is released with noise too; it is moved into them.
    """

    covariates: Covariates
    slopes: tuple[float, ...]
    intercept: float = 0.0
    response: str = "normal"
    sigma: float = 1.0
    tilt: float = 0.0
    also: str = ""
    private: tuple[float, float] | None = None

    @property
    def schema(self) -> vdp.Schema:
        """What the columns are."""
        names, bounds = self.covariates.names, self.covariates.bounds
        columns: dict[str, Any] = {name: vdp.Bounded(*pair) for name, pair in zip(names, bounds, strict=True)}
        return vdp.Schema(columns | {"y": vdp.Bounded(*self.private) if self.private else vdp.Public()})

    def draw(self, rng: np.random.Generator, n: int) -> Columns:
        """Draw n records."""
        x = self.covariates.draw(rng, n)
        used = x[:, : len(self.slopes) - bool(self.also)]
        features = np.column_stack([used, _FUNCTIONS[self.also](x)]) if self.also else used
        y = self._response(rng, x, self.intercept + features @ np.array(self.slopes))
        return dict(zip(self.covariates.names, x.T, strict=True)) | {"y": np.clip(y, *self.private or (None, None))}

    def _response(self, rng: np.random.Generator, x: Array, u: Array) -> Array:
        if self.response in LAWS:
            return LAWS[self.response](rng, u)
        return np.asarray(u + (self.sigma + self.tilt * x[:, 0]) * ERRORS[self.response].draw(rng, len(u)))

    def everyone(self) -> Columns:
        """Return so many that their fit may stand for the population's."""
        return self.draw(np.random.default_rng(99), MANY)

    def truth(self, loss: Any) -> Array | None:
        """Return intercept and slopes, moved to where the loss sees the error; None where there is no formula."""
        place = self._place(loss)
        if place is None:
            return None
        moved = np.array([self.intercept + self.sigma * place, *self.slopes])
        moved[1] += self.tilt * place
        return moved

    def _place(self, loss: Any) -> float | None:
        """Return where the loss sees an error of scale 1."""
        kind, error = (loss if isinstance(loss, str) else loss.name), ERRORS.get(self.response)
        if error is None:
            return 0.0 if OWN_LOSS.get(self.response) == kind else None
        if kind == "check":  # bounds beyond the quantile do not move it
            return error.quantile(vdp.losses.as_loss(loss).tau)  # type: ignore[union-attr] # a check loss has one
        if self.private:
            return None
        return error.mean if kind == "squared" else 0.0 if kind == "huber" and error.symmetric else None


@dataclass(frozen=True)
class Bare:
    """Covariates alone."""

    covariates: Covariates

    @property
    def schema(self) -> vdp.Schema:
        """What the columns are."""
        pairs = zip(self.covariates.names, self.covariates.bounds, strict=True)
        return vdp.Schema({name: vdp.Bounded(*pair) for name, pair in pairs})

    def draw(self, rng: np.random.Generator, n: int) -> Columns:
        """Draw n records."""
        return dict(zip(self.covariates.names, self.covariates.draw(rng, n).T, strict=True))

    def everyone(self) -> Columns:
        """Return so many that their fit may stand for the population's."""
        return self.draw(np.random.default_rng(99), MANY)

    def truth(self, loss: Any) -> Array | None:
        """Return a quantile of a column, where there is a formula."""
        of_column = isinstance(loss, vdp.losses.Quantile) and isinstance(loss.of, str)
        known = self.covariates.quantile(loss.tau) if of_column else None
        return None if known is None else np.array([known])


@dataclass(frozen=True)
class Incomes:
    """The README's people."""

    centre: float = 10.5
    sigma: float = 0.6

    @property
    def schema(self) -> vdp.Schema:
        """What the columns are."""
        regions = vdp.Categorical(["n", "e", "s", "w"])
        return vdp.Schema({"age": vdp.Bounded(18, 90), "income": vdp.Bounded(0, 500_000), "region": regions})

    def draw(self, rng: np.random.Generator, n: int) -> Columns:
        """Draw n records."""
        income = np.minimum(rng.lognormal(self.centre, self.sigma, n), 500_000)
        region = rng.choice(["n", "e", "s", "w"], n)
        return {"age": rng.integers(18, 91, n).astype(float), "income": income, "region": region}

    def everyone(self) -> Columns:
        """Return so many that their fit may stand for the population's."""
        return self.draw(np.random.default_rng(99), MANY)

    def truth(self, loss: Any) -> Array | None:
        """Return a quantile of the incomes; none of anything else."""
        if not isinstance(loss, vdp.losses.Quantile) or loss.of != "income":
            return None
        return np.array([np.exp(self.centre + self.sigma * ndtri(loss.tau))])


@dataclass(frozen=True)
class Resampled:
    """A table as a population; its columns without bounds are public.

    Examples
    --------
    >>> Resampled("fair").schema.public
    ('affair',)
    """

    data: str

    @property
    def schema(self) -> vdp.Schema:
        """What the columns are."""
        bounds = BOUNDS[self.data]
        return vdp.Schema(
            {name: vdp.Bounded(*bounds[name]) if name in bounds else vdp.Public() for name in self.everyone()}
        )

    def draw(self, rng: np.random.Generator, n: int) -> Columns:
        """Draw n rows with replacement."""
        everyone = self.everyone()
        rows = rng.integers(0, len(next(iter(everyone.values()))), n)
        return {name: column[rows] for name, column in everyone.items()}

    def everyone(self) -> Columns:
        """Return the table."""
        return table(self.data)

    def truth(self, loss: Any) -> Array | None:  # noqa: ARG002 - one signature for all populations
        """Return nothing: the fit of the whole table is the truth."""
        return None
