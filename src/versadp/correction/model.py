"""A model seen from a correction: what it makes of a point of the noise block.

A correction moves records to other points (second randomisations, clipped points) and asks the model for the rows of
its design there, and for the score of those rows. Parameters of linear designs are in noise units while fitting.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction.kernel import add_scores, clip_to_box, distance2, weighted_squares
from versadp.losses.record import differences

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from versadp.losses import Custom, IndexLoss

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """The noise block in noise units: `z = (x - centre) / sigma`, its box, and the exact rate."""

    centre: Array
    sigma: Array
    lower: Array
    upper: Array
    exact_rate: float
    bounds: tuple[Array, Array]
    step: Array

    @property
    def dim(self) -> int:
        """Number of columns of the block."""
        return self.sigma.size

    def to_noise(self, columns: Sequence[Array]) -> Array:
        """Return columns as a block in noise units."""
        out = np.empty((len(columns[0]), self.dim))
        for j, column in enumerate(columns):
            np.subtract(column, self.centre[j], out=out[:, j])
        out /= self.sigma
        return out

    def to_columns(self, z: Array) -> Array:
        """Return a block in the columns' own units; what is outside by rounding is on the border of the domain."""
        x = z * self.sigma + self.centre
        near = (x > self.bounds[0] - self.step) & (x < self.bounds[1] + self.step)
        return np.where(near, np.clip(x, *self.bounds), x)

    def clip(self, z: Array) -> Array:
        """Return the nearest points of the box."""
        return np.clip(z, self.lower, self.upper)

    def clip_in_place(self, z: Array) -> Array:
        """Move points to the nearest of the box and return their squared distances to it."""
        out = np.empty(len(z))
        clip_to_box(z, self.lower, self.upper, out)
        return out

    def distance2(self, z: Array) -> Array:
        """Return squared distances to the box."""
        out = np.empty(len(z))
        distance2(np.ascontiguousarray(z), self.lower, self.upper, out)
        return out


@dataclass(frozen=True)
class Batch:
    """Some records: the noise block in noise units, numeric public columns, and analyst's weights if there are any."""

    z: Array
    public: dict[str, Array] = field(default_factory=dict)
    weight: Array | None = None

    @property
    def rows(self) -> int:
        """Number of records."""
        return len(self.z)

    def take(self, index: NDArray[Any]) -> Batch:
        """Return some of the records."""
        weight = None if self.weight is None else self.weight[index]
        return Batch(self.z[index], {name: column[index] for name, column in self.public.items()}, weight)


class Model(ABC):
    """What signed draws need of a model: the number of its parameters, and of numbers in a row if that is more."""

    size: int
    width: int = 0

    @abstractmethod
    def rows(self, z: Array, record: NDArray[Any], batch: Batch) -> Any:
        """Return what the score is computed from at points z, which belong to records `record` of the batch."""

    @abstractmethod
    def score(self, rows: Any, theta: Array) -> Array:
        """Return the score of each row, (m, p)."""

    @abstractmethod
    def add_up(
        self, rows: Any, theta: Array, weight: Array, record: NDArray[np.int64], out: Array, *, hessian: bool
    ) -> Array:
        """Add the scores of rows, times each row of `weight` (G, m), to those of their records in `out` (n, G, p).

        Returns the sum of Hessians times the first row of weights; zeros if it is not asked for.
        """


class IndexModel(Model):
    """A loss of an index: rows are a design matrix and a response.

    Attributes
    ----------
    bandwidth : float
        By which a loss with kinks is smoothed.
    window : float
        The same for its curvature alone in signed draws; 0 is the bandwidth. Curvature varies more than the score does,
        and its noise goes into every standard error.
    """

    loss: IndexLoss
    bandwidth: float
    window: float

    def score(self, rows: tuple[Array, Array], theta: Array) -> Array:
        """Return the score of each row."""
        m, y = rows
        (s,) = self.loss.derivatives(m @ theta, y, 1, self.bandwidth)
        return m * s[:, None]

    def add_up(
        self,
        rows: tuple[Array, Array],
        theta: Array,
        weight: Array,
        record: NDArray[np.int64],
        out: Array,
        *,
        hessian: bool,
    ) -> Array:
        """Add weighted scores of rows to those of their records; return the sum of Hessians."""
        m, y = rows
        u = m @ theta
        together = hessian and not self.window
        s, *bend = self.loss.derivatives(u, y, 2 if together else 1, self.bandwidth)
        add_scores(m, s, weight, record, out)
        if not hessian:
            return np.zeros((self.size, self.size))
        if not together:
            bend = [self.loss.derivatives(u, y, 2, self.window)[1]]
        return np.asarray(weighted_squares(m, weight[0] * bend[0]))


@dataclass
class LinearModel(IndexModel):
    """A design that is linear in the noisy columns.

    Attributes
    ----------
    columns : array of int
        For each coefficient its column of the block, or -1 for a public one.
    public : callable
        From a batch to the public columns of the design, in the order of their coefficients.
    response : int
        The block's column that is the response, or -1.
    target : callable
        From a batch to a public response.
    """

    loss: IndexLoss
    columns: NDArray[np.int64]
    public: Callable[[Batch], Array]
    target: Callable[[Batch], Array]
    response: int = -1
    bandwidth: float = 0.0
    window: float = 0.0

    def __post_init__(self) -> None:
        self.size = self.columns.size
        self.noisy, self.open = np.flatnonzero(self.columns >= 0), np.flatnonzero(self.columns < 0)
        # for compiled loops: column c of the block, or -1 - k for public column k
        self.places = self.columns.astype(np.int64)
        self.places[self.open] = -1 - np.arange(self.open.size)

    def slope(self, theta: Array, dim: int) -> Array:
        """Return the derivative of the index (less the response) by the block's columns."""
        alpha = np.zeros(dim)
        np.add.at(alpha, self.columns[self.noisy], theta[self.noisy])
        if self.response >= 0:
            alpha[self.response] -= 1.0
        return alpha

    def rows(self, z: Array, record: NDArray[Any] | None, batch: Batch) -> tuple[Array, Array]:
        """Return the design and the response at points z; no `record` means one point a record."""
        public = self.public(batch)
        m = np.empty((len(z), self.size))
        m[:, self.open] = public if record is None else public[record]
        m[:, self.noisy] = z[:, self.columns[self.noisy]]
        if self.response >= 0:
            return m, z[:, self.response].copy()
        y = self.target(batch)
        return m, y if record is None else y[record]


@dataclass
class FormulaModel(IndexModel):
    """A design with functions of noisy columns, evaluated in the columns' own units at every point."""

    loss: IndexLoss
    size: int
    evaluate: Callable[[Array, NDArray[Any], Batch], tuple[Array, Array]]
    units: Units
    bandwidth: float = 0.0
    window: float = 0.0

    def rows(self, z: Array, record: NDArray[Any], batch: Batch) -> tuple[Array, Array]:
        """Return the design and the response at points z."""
        return self.evaluate(self.units.to_columns(z), record, batch)


@dataclass
class RecordModel(IndexModel):
    """One number of a function of a record: a mean (squared loss) or a quantile (check loss)."""

    loss: IndexLoss
    function: Callable[[Array, NDArray[Any], Batch], Array]
    units: Units
    bandwidth: float = 0.0
    window: float = 0.0
    size: int = 1

    def rows(self, z: Array, record: NDArray[Any], batch: Batch) -> tuple[Array, Array]:
        """Return a column of ones and the function's values."""
        return np.ones((len(z), 1)), self.function(self.units.to_columns(z), record, batch)


@dataclass
class CustomModel(Model):
    """A user's loss of whole records.

    Attributes
    ----------
    steps : array (p,), optional
        Of the differences that give the Hessian; wide enough, they serve losses with kinks too.
    """

    loss: Custom
    size: int
    records: Callable[[Array, NDArray[Any], Batch], Array]
    units: Units
    steps: Array | None = None
    width: int = 0

    def rows(self, z: Array, record: NDArray[Any], batch: Batch) -> Array:
        """Return whole records in the columns' own units."""
        return self.records(self.units.to_columns(z), record, batch)

    def score(self, rows: Array, theta: Array) -> Array:
        """Return the gradient of the loss at each row."""
        return self.loss.gradient(rows, theta)

    def add_up(
        self, rows: Array, theta: Array, weight: Array, record: NDArray[np.int64], out: Array, *, hessian: bool
    ) -> Array:
        """Add weighted gradients of rows to those of their records; the Hessian is by central differences."""
        add_scores(self.score(rows, theta), np.ones(len(record)), weight, record, out)
        if not hessian:
            return np.zeros((self.size, self.size))
        total = differences(lambda t: weight[0] @ self.loss.gradient(rows, t), theta, self.steps)
        return (total + total.T) / 2
