"""A regime: who is released, under which noise, what is asked, and what the right answer is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import versadp as vdp
from versadp.errors import EstimationError
from versadp.planning.precision import anew
from versadp_bench.coverage.plain import FOUND, Plain, plain_fit, plain_huber

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from versadp_bench.coverage.misuse import Misuse
    from versadp_bench.coverage.populations import Population

    Array = NDArray[np.float64]
    Columns = Mapping[str, Any]


class Noise(Protocol):
    """What makes a mechanism of a schema."""

    def mechanism(self, schema: vdp.Schema) -> vdp.Mechanism:
        """Return the mechanism."""
        ...


@dataclass(frozen=True)
class Scaled:
    """Noise that is chosen: a scale for all columns or one each, an exact rate, what categories keep."""

    scale: float | tuple[float, ...]
    exact_rate: float
    keep: float | None = None

    def mechanism(self, schema: vdp.Schema) -> vdp.Mechanism:
        """Return the mechanism."""
        one = isinstance(self.scale, float | int)
        scale = self.scale if one else dict(zip(schema.numeric, self.scale, strict=True))  # type: ignore[arg-type] # a tuple, if it is not one number
        return vdp.Mechanism(schema, scale, self.exact_rate, self.keep)  # type: ignore[arg-type] # as above


@dataclass(frozen=True)
class Calibrated:
    """Noise that meets a target."""

    epsilon: float
    delta: float
    unit: str = "record"

    def mechanism(self, schema: vdp.Schema) -> vdp.Mechanism:
        """Return the mechanism."""
        # without the target, of whose delta a release warns
        return anew(vdp.calibrate(schema, epsilon=self.epsilon, delta=self.delta, unit=self.unit, noise="zil"))


@dataclass(frozen=True)
class Windowed:
    """A window of an epsilon per attribute."""

    epsilon: float

    def mechanism(self, schema: vdp.Schema) -> vdp.Mechanism:
        """Return the mechanism."""
        return vdp.calibrate(schema, epsilon=self.epsilon, unit="attribute")


@dataclass(frozen=True)
class Regime:
    """One row of the coverage table.

    Attributes
    ----------
    name : str
    people : Population
        Who is released.
    n : int
        Records of a sample.
    noise : Noise
    formula : str, optional
        The model; none for means and quantiles.
    loss : str or loss of versadp
    counted : tuple of int
        Numbers of the coefficients whose intervals are judged; none: all.
    misuse : Misuse, optional
        What is done to the release that must not be done: the row is then judged by how often the specification test
        notices.
    slow : bool
        A fit takes long; a thinned run leaves the row out.

    What is shown by `repr` is what replications depend on; a kept run is known by it.

    Examples
    --------
    >>> from versadp_bench.coverage.covariates import Covariates
    >>> from versadp_bench.coverage.populations import Index
    >>> one = Regime("a line", Index(Covariates("uniform", 1), (2.0,)), 500, Scaled(0.5, 0.1), "y ~ x0")
    >>> one.truth(), one.names
    (array([0., 2.]), ('Intercept', 'x0'))
    """

    name: str
    people: Population
    n: int
    noise: Noise
    formula: str | None = None
    loss: Any = "squared"
    counted: tuple[int, ...] = field(default=(), repr=False)
    misuse: Misuse | None = None
    slow: bool = field(default=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients."""
        return tuple(_design(self, self.people.draw(np.random.default_rng(0), 10))[2])

    @property
    def judged(self) -> tuple[int, ...]:
        """Numbers of the coefficients that are judged."""
        return self.counted or tuple(range(len(self.names)))

    @property
    def within(self) -> tuple[float, float]:
        """The range that what is estimated is known to lie in: that of its column, for a quantile of one."""
        of = self.loss.of if isinstance(self.loss, vdp.losses.Quantile) else None
        column = self.people.schema.columns[of] if isinstance(of, str) else None
        return (column.lower, column.upper) if isinstance(column, vdp.Bounded) else (-np.inf, np.inf)

    def mechanism(self) -> vdp.Mechanism:
        """Return what releases the records; a target is solved once."""
        return _mechanism(self)

    def fit_raw(self, columns: Columns, *, sharp: bool = False) -> Plain:
        """Fit raw records, as one would without privacy."""
        design, y, _ = _design(self, columns)
        kind = _kind(self.loss)
        whole = vdp.losses.as_loss(self.loss)
        if isinstance(whole, vdp.losses.Huber) and whole.unscaled:
            return plain_huber(design, y, whole.k, sharp=sharp)
        return plain_fit(kind, design, y, _option(whole, kind), sharp=sharp)

    def truth(self) -> Array:
        """Return the true coefficients: by a formula, or by the fit of everyone."""
        known = self.people.truth(self.loss)
        if known is not None:
            return known
        found = self.fit_raw(self.people.everyone(), sharp=True)
        if found.outcome != FOUND:
            raise EstimationError(f"there is no truth in regime {self.name!r}: {found.outcome}")
        return found.estimate


@cache
def _mechanism(regime: Regime) -> vdp.Mechanism:
    return regime.noise.mechanism(regime.people.schema)


def _kind(loss: Any) -> str:
    """Return the name of the loss of an index that a loss is, for a mean or quantile that of a constant."""
    if isinstance(loss, vdp.losses.Mean):
        return "squared"
    if isinstance(loss, vdp.losses.Quantile):
        return "check"
    return str(loss if isinstance(loss, str) else loss.name)


def _option(loss: Any, kind: str) -> float:
    return float(getattr(loss, {"check": "tau", "huber": "corner"}.get(kind, ""), 0.0))


def _design(regime: Regime, columns: Columns) -> tuple[Array, Array, list[str]]:
    """Return design, response and names of the coefficients."""
    if regime.formula is None:
        y = _values(regime.loss.of, columns)
        return np.ones((len(y), 1)), y, [regime.loss.name]
    import pandas as pd
    from formulaic import model_matrix

    left, right = model_matrix(regime.formula, pd.DataFrame(dict(columns)))
    return right.to_numpy(float), left.to_numpy(float)[:, 0], list(right.columns)


def _values(of: str | Callable[[Array], Array], columns: Columns) -> Array:
    if isinstance(of, str):
        return np.asarray(columns[of], dtype=float)
    return np.asarray(of(np.stack([np.asarray(column, dtype=float) for column in columns.values()], axis=1)))
