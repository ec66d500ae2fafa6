"""A model seen from a correction: what it makes of a point of the noisy columns.

A correction moves records to other points (second randomisations, clipped points) and asks the model for the rows of
its design there, and for the score of those rows. Points are in the units of the fit (`noise/units.py`), and so are the
parameters of linear designs while fitting. Models hold no functions of ours, so that they travel to other processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction.point_kernel import add_scores, weighted_squares
from versadp.correction.records import columns_at, whole_records
from versadp.errors import ParameterError
from versadp.losses.differentiation import differences

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from versadp.correction.records import Records
    from versadp.formula.design import Design
    from versadp.losses import Custom, IndexLoss
    from versadp.noise.units import Units

    Array = NDArray[np.float64]


class Model(ABC):
    """A model as corrections see it: the number of its parameters, and of numbers in a row if that is more.

    A model that knows where its fit begins says so; otherwise its loss does.
    """

    size: int
    width: int = 0

    @property
    def begin(self) -> Array | None:
        """Start of a fit."""
        return None

    @abstractmethod
    def rows(self, z: Array, record: NDArray[Any], records: Records) -> Any:
        """Return what the score is computed from at points z, which belong to `records`, each to number `record`."""

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
    tilt : array (p,), optional
        Of a loss with a scale from the data: so many times the score of the scale is taken off the score, which then
        does not depend on the scale to first order, nor do standard errors.
    """

    loss: IndexLoss
    bandwidth: float
    window: float
    tilt: Array | None

    def score(self, rows: tuple[Array, Array], theta: Array) -> Array:
        """Return the score of each row."""
        m, y = rows
        (s,) = self.loss.derivatives(m @ theta, y, 1, self.bandwidth)
        out = m * s[:, None]
        return out if self.tilt is None else out - self.loss.scale_score(m @ theta, y)[0][:, None] * self.tilt

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
        total = np.zeros((self.size, self.size))
        if self.tilt is not None:
            aside, by_index, _ = self.loss.scale_score(u, y)
            add_scores(np.tile(self.tilt, (len(u), 1)), -aside, weight, record, out)
            total -= np.outer(self.tilt, (weight[0] * by_index) @ m)
        if not hessian:
            return np.zeros((self.size, self.size))
        if not together:
            bend = [self.loss.derivatives(u, y, 2, self.window)[1]]
        return np.asarray(total + weighted_squares(m, weight[0] * bend[0]))


@dataclass
class LinearModel(IndexModel):
    """A design that is linear in the noisy columns.

    Attributes
    ----------
    columns : array of int
        For each coefficient its noisy column, or -1 for a public one; those stand in `Records.design`, in order.
    response : int
        The noisy column that is the response, or -1 for a public one, which stands in `Records.response`.
    coding : tuple of float
        A noisy response is `coding[0] + coding[1]` times that column.
    basis : array, optional
        Of the public columns: they are multiplied by it.
    """

    loss: IndexLoss
    columns: NDArray[np.int64]
    response: int = -1
    bandwidth: float = 0.0
    window: float = 0.0
    coding: tuple[float, float] = (0.0, 1.0)
    tilt: Array | None = None
    basis: Array | None = None

    def __post_init__(self) -> None:
        self.size = self.columns.size
        self.noisy, self.open = np.flatnonzero(self.columns >= 0), np.flatnonzero(self.columns < 0)
        # for compiled loops: column c of the points, or -1 - k for public column k
        self.places = self.columns.astype(np.int64)
        self.places[self.open] = -1 - np.arange(self.open.size)

    def slope(self, theta: Array, dim: int) -> Array:
        """Return the derivative of the index (less the response) by the noisy columns."""
        alpha = np.zeros(dim)
        np.add.at(alpha, self.columns[self.noisy], theta[self.noisy])
        if self.response >= 0:
            alpha[self.response] -= 1.0
        return alpha

    def public(self, records: Records) -> Array:
        """Return the public part of the design."""
        if records.design is None:
            return np.empty((records.rows, 0))
        return records.design if self.basis is None else records.design @ self.basis

    def target(self, records: Records) -> Array:
        """Return the public response."""
        assert records.response is not None
        return records.response

    def rows(self, z: Array, record: NDArray[Any] | None, records: Records) -> tuple[Array, Array]:
        """Return the design and the response at points z; no `record` means one point a record."""
        public = self.public(records)
        m = np.empty((len(z), self.size))
        m[:, self.open] = public if record is None else public[record]
        m[:, self.noisy] = z[:, self.columns[self.noisy]]
        if self.response >= 0:
            return m, self.coding[0] + self.coding[1] * z[:, self.response]
        y = self.target(records)
        return m, y if record is None else y[record]


@dataclass
class FormulaModel(IndexModel):
    """A design with functions of noisy columns, evaluated in the columns' own units at every point.

    Attributes
    ----------
    change : array (p, p), optional
        By which the design is multiplied first: from coefficients in units of the noise to those of the formula.
    basis : array (p, p), optional
        By which the design is multiplied then.
    coding : tuple of float
        A noisy response is `coding[0] + coding[1]` times the left side.
    """

    loss: IndexLoss
    design: Design
    units: Units
    bandwidth: float = 0.0
    window: float = 0.0
    tilt: Array | None = None
    basis: Array | None = None
    coding: tuple[float, float] = (0.0, 1.0)
    change: Array | None = None

    def __post_init__(self) -> None:
        self.size = len(self.design.names)
        self._levels = {name: self.design.levels[name] for name in self.design.private}

    def rows(self, z: Array, record: NDArray[Any], records: Records) -> tuple[Array, Array]:
        """Return the design and the response at points z."""
        apart = bool(self._levels) and None not in self.design.splits
        columns = {}
        if not apart or records.response is None:
            columns = columns_at(z, record, records, self.units) | levels_at(z, self.units, self._levels)
        matrix = finite(self._by_splits(z, record, records) if apart else self.design.matrix(columns))
        matrix = self.moved(matrix)
        if records.response is None:
            return matrix, self.coding[0] + self.coding[1] * finite(self.design.response_at(columns))
        return matrix, records.response[record]

    def moved(self, matrix: Array) -> Array:
        """Return a design in the coefficients of the fit."""
        for by in (self.change, self.basis):
            matrix = matrix if by is None else matrix @ by
        return matrix

    def _by_splits(self, z: Array, record: NDArray[Any], records: Records) -> Array:
        """Return the design of terms that are taken apart: numbers by level are looked up, no text is compared."""
        x, names, private = self.units.to_columns(z), self.units.names, self.design.private
        code = {}
        for name in private:
            own, last = x[:, names.index(name)], len([level for level in self._levels[name] if level is not None])
            code[name] = np.rint(np.where(np.isnan(own), last, own)).astype(np.int64)
        rests = []
        for split in self.design.splits:
            assert split is not None
            rests.append((*split.rest, *(part.text for part in split.parts if part.column not in private)))
        keys = list(dict.fromkeys(rests))
        public = records.public_products(keys)
        out = np.ones((len(z), self.size))
        for j, (split, rest) in enumerate(zip(self.design.splits, rests, strict=True)):
            assert split is not None
            for part in split.parts:
                if part.column in private:  # beyond the levels of the design is what is missing
                    out[:, j] *= np.append(part.values, 0.0)[code[part.column]]
            if split.number is not None:
                out[:, j] *= x[:, names.index(split.number)]
            if rest:
                out[:, j] *= public[record, keys.index(rest)]
        return out


@dataclass
class RecordModel(IndexModel):
    """One number of a function of a record: a mean (squared loss) or a quantile (check loss).

    Attributes
    ----------
    of : str or callable
        A noisy column, or a user's function of whole records.
    order : tuple of str
        The columns of a whole record.
    """

    loss: IndexLoss
    of: str | Callable[[Any], Any]
    order: tuple[str, ...]
    units: Units
    bandwidth: float = 0.0
    window: float = 0.0
    tilt: Array | None = None
    size: int = 1

    def rows(self, z: Array, record: NDArray[Any], records: Records) -> tuple[Array, Array]:
        """Return a column of ones and the function's values."""
        return np.ones((len(z), 1)), self._values(z, record, records)

    def _values(self, z: Array, record: NDArray[Any], records: Records) -> Array:
        if isinstance(self.of, str):
            return np.ascontiguousarray(self.units.to_columns(z)[:, self.units.names.index(self.of)])
        out = np.asarray(self.of(whole_records(z, record, records, self.units, self.order)), dtype=float)
        if out.shape != (len(z),):
            raise ParameterError(f"the function must return one number a record, not an array of shape {out.shape}")
        return finite(out)


@dataclass
class CustomModel(Model):
    """A user's loss of whole records.

    Attributes
    ----------
    order : tuple of str
        The columns of a whole record.
    steps : array (p,), optional
        Of the differences that give the Hessian; wide enough, they serve losses with kinks too.
    """

    loss: Custom
    size: int
    order: tuple[str, ...]
    units: Units
    steps: Array | None = None

    def __post_init__(self) -> None:
        self.width = len(self.order)

    def rows(self, z: Array, record: NDArray[Any], records: Records) -> Array:
        """Return whole records in the columns' own units."""
        return whole_records(z, record, records, self.units, self.order)

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


def levels_at(z: Array, units: Units, levels: Mapping[str, tuple[Any, ...]]) -> dict[str, NDArray[Any]]:
    """Return private categories as their levels at points z, None or NaN for what is missing."""
    out = {}
    for name, every in levels.items():
        j = units.names.index(name)
        code, known = z[:, j] * units.unit[j] + units.centre[j], [level for level in every if level is not None]
        # numbers stay numbers, text is compared as it is
        values = np.array([*known, None], dtype=object if isinstance(known[0], str) else float)
        out[name] = values[np.rint(np.where(np.isnan(code), len(known), code)).astype(np.int64)]
    return out


def finite(values: Array) -> Array:
    """Return values if they are finite."""
    if not np.isfinite(values).all():
        raise ParameterError(
            "a term of the model is not finite somewhere on the domain, or outside where this method looks too",
            hint="'efficient', and 'drcl' with extension 'zero' or 'clip', never leave the domain",
        )
    return values
