"""An exponential tilt of a law to estimated means of features.

    q(x) = f(x) exp(λ'φ(x))/Z,        E_q φ = t - ω C λ

with t the estimates, C their covariance: the law nearest to f in Kullback and Leibler's distance under a penalty of
(E_q φ - t)' C⁻¹ (E_q φ - t)/(2ω). f is thus taken for an estimate as well, whose own error in a direction of unit
length is √(1/ω): where the estimates are better than that they are met, where they are noise the law stays. λ is the
minimum of the convex log Z - λ't + ω λ'Cλ/2, found by Newton's steps whose Hessian is that of some of the points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.inputs import Array
    from versadp.people.features import Features
    from versadp.people.targets import Targets

PRIOR = 0.1  # error of f in a direction of unit length: a hypothesis, compared with 0.03 and 0.3 on one release
SEEN = 20_000  # points of which the Hessian is computed
STEPS = 40  # of Newton's method, which doubles its digits with each: a bound that is not met
CLOSE = 0.02  # of 1/√n, the least standard error of a feature: how near the means are brought


@dataclass(frozen=True, eq=False)
class Points:
    """Points of a law with weights that add up to 1.

    Attributes
    ----------
    at : array of int (points, columns)
    weight : array (points,)
    """

    at: NDArray[np.integer]
    weight: Array


class Tilt:
    """The tilts of one law: what does not depend on the estimates is computed once."""

    def __init__(self, points: Points, features: Features, penalty: Array) -> None:
        from scipy.linalg import cho_factor

        self.points, self.features, self.penalty = points, features, penalty
        self._groups = features.groups()
        self._cells = []
        for columns, _ in self._groups:
            shape = tuple(features.axes[j].size for j in columns)
            self._cells.append(np.ravel_multi_index(tuple(points.at[:, j] for j in columns), shape))
        self._hessian = cho_factor(self._spread(points.weight) + penalty)

    def _spread(self, weight: Array) -> Array:
        """Return the covariance of the features at points drawn by weight, evenly."""
        chosen = systematic(weight, SEEN, 0.5)
        phi = self.features.values(self.points.at[chosen])
        phi -= phi.mean(axis=0)
        return np.asarray(phi.T @ phi / len(phi))

    def log_weights(self, tilt: Array) -> Array:
        """Return λ'φ at the points, column by column and pair by pair."""
        out = np.zeros(len(self.points.weight))
        for (columns, numbers), cells in zip(self._groups, self._cells, strict=True):
            out += self._table(columns, numbers, tilt[numbers])[cells]
        return out

    def means(self, weight: Array) -> Array:
        """Return the means of the features under weights."""
        out = np.empty(self.features.size)
        for (columns, numbers), cells in zip(self._groups, self._cells, strict=True):
            tables = [self.features.functions[j].table for j in columns]
            law = np.bincount(cells, weight, int(np.prod([len(table) for table in tables])))
            at = self.features.at[numbers]
            if len(columns) == 1:
                out[numbers] = (law @ tables[0])[at[:, columns[0]]]
            else:
                moments = tables[0].T @ law.reshape(len(tables[0]), -1) @ tables[1]
                out[numbers] = moments[at[:, columns[0]], at[:, columns[1]]]
        return out

    def _table(self, columns: tuple[int, ...], numbers: NDArray[np.int64], tilt: Array) -> Array:
        """Return the part of λ'φ that some columns have, at all their points."""
        tables, at = [self.features.functions[j].table for j in columns], self.features.at[numbers]
        if len(columns) == 1:
            return np.asarray(tables[0][:, at[:, columns[0]]] @ tilt)
        matrix = np.zeros((tables[0].shape[1], tables[1].shape[1]))
        matrix[at[:, columns[0]], at[:, columns[1]]] = tilt
        return np.asarray(tables[0] @ matrix @ tables[1].T).ravel()

    def weights(self, tilt: Array, base: Array | None = None) -> tuple[Array, float]:
        """Return the tilted weights, which add up to 1, and log Z."""
        log = self.log_weights(tilt)
        top = float(log.max())
        new = (self.points.weight if base is None else base) * np.exp(log - top)
        total = float(new.sum())
        return new / total, top + float(np.log(total))

    def solve(self, target: Array, close: float, base: Array | None = None) -> tuple[Array, Array]:
        """Return λ and the tilted weights for target means, of the points' own weights or of others."""
        from scipy.linalg import cho_factor, cho_solve

        tilt = np.zeros(self.features.size)
        factor, refreshed = self._hessian, 0

        def value(at: Array, log_total: float) -> float:
            return log_total - float(at @ target) + float(at @ self.penalty @ at) / 2

        weight, total = self.weights(tilt, base)
        now = value(tilt, total)
        for _ in range(STEPS):
            slope = self.means(weight) - target + self.penalty @ tilt
            move = -cho_solve(factor, slope)
            gain = -float(slope @ move)
            if gain < close**2:
                break
            length = 1.0
            while True:
                new, total = self.weights(tilt + length * move, base)
                then = value(tilt + length * move, total)
                if then < now or length < 1e-3:
                    break
                length /= 2
            if length < 1 and refreshed < STEPS:  # far from where the Hessian was taken
                factor = cho_factor(self._spread(new) + self.penalty)
                refreshed += 1
            tilt, weight, now = tilt + length * move, new, then
        return tilt, weight


def tilted(points: Points, features: Features, targets: Targets, prior: float = PRIOR) -> tuple[Tilt, Array]:
    """Return the tilts of a law, and its weights once it is tilted to estimates."""
    found = Tilt(points, features, targets.cov / prior**2)
    least = float(np.sqrt(np.diag(targets.cov).min()))
    _, weight = found.solve(targets.mean, CLOSE * least)
    return found, weight


def systematic(weight: Array, rows: int, start: float) -> NDArray[np.int64]:
    """Return numbers of points, each as often as its weight says up to one: every 1/rows of the cumulative weight.

    Examples
    --------
    >>> systematic(np.array([0.5, 0.25, 0.25]), 4, 0.5)
    array([0, 0, 1, 2])
    """
    total = np.cumsum(weight)
    marks = (np.arange(rows) + start) * (total[-1] / rows)
    found = np.searchsorted(total, marks, side="right").astype(np.int64)
    return np.asarray(np.minimum(found, len(weight) - 1))
