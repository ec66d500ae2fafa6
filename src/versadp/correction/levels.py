"""Models whose response is a category, level by level: shares, and multinomial logit.

    shares         score_l = theta_l - 1{x = l}                                Hessian  I
    multinomial    score_l = m (p_l - 1{y = l}),  p = softmax(m'theta)         Hessian  (diag p - p p') ⊗ m m'

Rows are a design and the indicators of the levels. As all models they are evaluated at signed points, where a private
category has one a level: with public covariates, or categories, nothing is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction.model import Model, finite, levels_at
from versadp.correction.point_kernel import add_scores
from versadp.correction.records import columns_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.records import Records
    from versadp.formula.design import Design
    from versadp.losses.categorical import Multinomial, Share
    from versadp.noise.units import Units

    Array = NDArray[np.float64]


@dataclass
class ShareModel(Model):
    """The shares of the levels of one column.

    Attributes
    ----------
    levels : tuple
        Those that are counted, None for what is missing.
    private : bool
        Whether the column is a noisy one.
    """

    loss: Share
    levels: tuple[Any, ...]
    private: bool
    units: Units
    bandwidth: float = 0.0
    window: float = 0.0

    def __post_init__(self) -> None:
        self.size = len(self.levels)

    @property
    def begin(self) -> Array:
        """Start of a fit."""
        return np.full(self.size, 1 / self.size)

    def rows(self, z: Array, record: NDArray[Any], records: Records) -> Array:
        """Return the indicators of levels at points z."""
        name = self.loss.of
        own = levels_at(z, self.units, {name: self.levels})[name] if self.private else records.public[name][record]
        return one_hot(own, self.levels)

    def score(self, rows: Array, theta: Array) -> Array:
        """Return the score of each row."""
        return theta - rows

    def add_up(
        self, rows: Array, theta: Array, weight: Array, record: NDArray[np.int64], out: Array, *, hessian: bool
    ) -> Array:
        """Add weighted scores of rows to those of their records; return the sum of Hessians."""
        add_scores(self.score(rows, theta), np.ones(len(record)), weight, record, out)
        return float(weight[0].sum()) * np.eye(self.size) * hessian


@dataclass
class MultinomialModel(Model):
    """Multinomial logit with any design.

    Attributes
    ----------
    classes : tuple
        The levels of the response, the reference first.
    basis : array (p, p), optional
        By which the design is multiplied.
    """

    loss: Multinomial
    design: Design
    classes: tuple[Any, ...]
    units: Units
    bandwidth: float = 0.0
    window: float = 0.0
    basis: Array | None = None

    def __post_init__(self) -> None:
        self.size = len(self.design.names) * (len(self.classes) - 1)

    @property
    def begin(self) -> Array:
        """Start of a fit: all levels alike."""
        return np.zeros(self.size)

    def rows(self, z: Array, record: NDArray[Any], records: Records) -> tuple[Array, Array]:
        """Return the design and the indicators of all levels but the reference, at points z."""
        private = {name: self.design.levels[name] for name in self.design.private}
        columns = columns_at(z, record, records, self.units) | levels_at(z, self.units, private)
        matrix = finite(self.design.matrix(columns))
        assert self.design.classes is not None
        y = one_hot(columns[self.design.classes], self.classes[1:])
        return (matrix if self.basis is None else matrix @ self.basis), y

    def score(self, rows: tuple[Array, Array], theta: Array) -> Array:
        """Return the score of each row, level by level."""
        m, y = rows
        wrong = self._probabilities(m, theta) - y
        return (wrong[:, :, None] * m[:, None, :]).reshape(len(m), -1)

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
        add_scores(self.score(rows, theta), np.ones(len(record)), weight, record, out)
        total = np.zeros((self.size, self.size))
        if not hessian:
            return total
        m, p = rows[0], self._probabilities(rows[0], theta)
        size = m.shape[1]
        for a in range(p.shape[1]):
            for b in range(p.shape[1]):
                bend = weight[0] * p[:, a] * ((a == b) - p[:, b])
                total[a * size : (a + 1) * size, b * size : (b + 1) * size] = m.T @ (m * bend[:, None])
        return total

    def _probabilities(self, m: Array, theta: Array) -> Array:
        """Return the probabilities of all levels but the reference."""
        return self.loss.probabilities(m @ np.ascontiguousarray(theta.reshape(-1, m.shape[1]).T))[:, 1:]


def one_hot(values: NDArray[Any], levels: tuple[Any, ...]) -> Array:
    """Return the indicators of levels, (rows, levels).

    Examples
    --------
    >>> one_hot(np.array(["n", None, "e"], dtype=object), ("e", None))
    array([[0., 0.],
           [0., 1.],
           [1., 0.]])
    """
    if values.dtype.kind == "f":
        return np.stack([np.isnan(values) if level is None else values == level for level in levels], axis=1) * 1.0
    return np.array([values == level for level in levels], dtype=float).T
