"""Correction by the Laplacian: smooth losses of an index, a design that is linear in the noisy columns, any exact rate.

    v(X1) - ((1 - r)/2) mean over draws of Lap v(X1 + S),      v(x) = psi(P(x)) A(q(x))

psi = s(u) m is the score; P clips softly, column by column, `P_j = c_j + e_j k/(k + |e_j|)` with c the nearest point of
the box and e = x - c; A is the factor of the extension, q = |e|^2. P and A have continuous gradients and bounded second
derivatives on the border of the box, so there are no surface terms. With `alpha` the slope of the index, g = 2 A_q e
and `Lap A = 4 q A_qq + 2 A_q #{e_j != 0}`,

    Lap v_i = m_i [A (s'' Σ a_j² P'_j² + s' Σ a_j P''_j) + 2 s' Σ a_j P'_j g_j + s Lap A]
              + (noisy i) [2 A s' a_c P'_c² + A s P''_c + 2 s g_c P'_c].

No factor 1/r appears, so the variance stays bounded as r goes to 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp.correction.form import Form, SingleForm
from versadp.correction.point_kernel import add_terms, index_at
from versadp.correction.random import Streams, paces
from versadp.losses.differentiation import differences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.model import CustomModel, LinearModel
    from versadp.correction.points import Pace
    from versadp.correction.records import Records
    from versadp.noise.extension import Extension
    from versadp.noise.units import Units

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Places:
    """X1 (or X2 in its stead) and second randomisations of records that have as many, and what does not move."""

    first: tuple[Array, ...]
    second: tuple[Array, ...]
    design: Array
    response: Array
    weight: Array


@dataclass(frozen=True)
class Laplacian(Form):
    """Members that share one set of draws.

    Attributes
    ----------
    extensions : tuple of Extension
        One member each, with derivatives that the compiled loops know.
    soft : float
        Length k of the soft clip in noise units; 0 leaves points where they are.
    count : int
        Draws, or pairs of draws, a record.
    paired : bool
        Antithetic pairs.
    at_second : bool
        The paper's SL: `v(X2) - (1/2) Lap v(X2)`, X1 is not used.
    pace : callable, optional
        What `count` and `paired` are for records of which so many came so far, these included.
    """

    evaluator: ClassVar[str] = "Laplacian"
    placed: ClassVar[bool] = True
    model: LinearModel
    units: Units
    extensions: tuple[Extension, ...]
    soft: float = 0.5
    count: int = 1
    paired: bool = True
    at_second: bool = False
    pace: Pace | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The members."""
        return tuple("soft clip" if self.soft and each.name == "none" else each.name for each in self.extensions)

    @property
    def rate(self) -> float:
        """The exact rate of the noise."""
        assert self.units.exact_rate is not None
        return self.units.exact_rate

    @property
    def points(self) -> int:
        """Numbers that are kept for a record."""
        return self.units.dim * (1 + self.count * (2 if self.paired else 1))

    def prepare(self, records: Records, rng: np.random.Generator) -> list[Places]:
        """Draw the points of some records, those together that get as many."""
        z, rate = np.ascontiguousarray(records.z), self.rate
        response = np.zeros(len(z)) if self.model.response >= 0 else self.model.target(records)
        weight = np.ones(len(z)) if records.weight is None else records.weight
        fixed = (np.ascontiguousarray(self.model.public(records)), response, weight)
        if rate == 0:  # S vanishes
            return [Places((z,), (z,), *fixed)]
        streams, prepared = Streams.of(records, rng), []
        for own, now in paces(self, records):
            x1 = z[own]
            s = streams.laplace(np.arange(own.start, own.stop), now.count, self.units.dim) * np.sqrt(rate)
            signs = (1.0, -1.0) if now.paired else (1.0,)
            second = tuple(x1 + sign * s[:, k] for k in range(now.count) for sign in signs)
            first = second if self.at_second else (x1,)
            prepared.append(Places(first, second, *(each[own] for each in fixed)))
        return prepared

    def evaluate(self, places: list[Places], theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p) of the G combinations in mix (G, members), and the Hessian of the first."""
        size, ends = self.model.size, np.cumsum([len(each.weight) for each in places])
        scores, total = np.zeros((ends[-1], len(mix), size)), np.zeros((size, size))
        half = 0.5 if self.at_second else (1 - self.rate) / 2
        weights = np.ascontiguousarray(mix, dtype=float)
        for own, out in zip(places, np.split(scores, ends[:-1]), strict=True):
            for z in own.first:
                scale = own.weight / len(own.first)
                self._add(z, own, theta, (out, total), how=(weights, scale, False, hessian))
            for z in own.second:
                scale = own.weight * (-half / len(own.second))
                self._add(z, own, theta, (out, total), how=(weights, scale, True, hessian))
        lower = np.tril(total)
        return scores, lower + np.tril(lower, -1).T

    def _add(
        self, z: Array, places: Places, theta: Array, into: tuple[Array, Array], *, how: tuple[Array, Array, bool, bool]
    ) -> None:
        """Add the value or the Laplacian at points z: index, then the loss's own derivatives, then the sums."""
        mix, scale, laplacian, hessian = how
        model, box = self.model, np.stack([self.units.lower, self.units.upper])
        u, y = np.empty(len(z)), places.response.copy()
        hard = 1 / self.soft if self.soft else 0.0
        index_at(z, box, hard, model.places, model.response, places.design, theta, u, y)
        order = 4 if laplacian else 2
        s = np.zeros((4, len(z)))
        s[:order] = model.loss.derivatives(u, y, order)
        alpha = model.slope(theta, self.units.dim)
        kinds, lengths, rounding = self._coded
        shape = (kinds, lengths, rounding, mix, scale, *into, hessian)
        add_terms(laplacian, z, box, hard, model.places, places.design, alpha, s, *shape)

    @cached_property
    def _coded(self) -> tuple[NDArray[np.int64], Array, float]:
        """The extensions as numbers, for the compiled loop."""
        codes = [extension.code for extension in self.extensions]
        assert None not in codes
        kinds, lengths, rounding = np.array(codes, dtype=float).T
        return kinds.astype(np.int64), lengths, float(rounding.max(initial=0.0))


@dataclass(frozen=True)
class CustomLaplacian(SingleForm):
    """A user's loss with a Laplacian of its own: `loss(X1) - ((1 - r)/2) mean laplacian(X2)`, no extension."""

    evaluator: ClassVar[str] = "Laplacian"
    placed: ClassVar[bool] = True
    model: CustomModel
    units: Units
    count: int = 1
    at_second: bool = False
    names: tuple[str, ...] = ("none",)

    @property
    def rate(self) -> float:
        """The exact rate of the noise."""
        assert self.units.exact_rate is not None
        return self.units.exact_rate

    def prepare(self, records: Records, rng: np.random.Generator) -> tuple[Array, tuple[Array, ...], Array | float]:
        """Draw the points of some records."""
        every = np.arange(records.rows)
        s = Streams.of(records, rng).laplace(every, self.count, self.units.dim) * np.sqrt(self.rate)
        second = tuple(self.model.rows(records.z + s[:, k], every, records) for k in range(self.count))
        weight = 1.0 if records.weight is None else records.weight[:, None]
        return self.model.rows(records.z, every, records), second, weight

    def weighted_scores(
        self, places: tuple[Array, tuple[Array, ...], Array | float], theta: Array, *, hessian: bool
    ) -> tuple[Array, Array]:
        """Return scores (n, p), and the Hessian by differences."""
        out = self._score(places, theta)
        if not hessian:
            return out, np.zeros((theta.size, theta.size))
        total = differences(lambda t: self._score(places, t).sum(axis=0), theta, self.model.steps)
        return out, (total + total.T) / 2

    def _score(self, places: tuple[Array, tuple[Array, ...], Array | float], theta: Array) -> Array:
        first, second, weight = places
        half = 0.5 if self.at_second else (1 - self.rate) / 2
        values = second if self.at_second else (first,)
        loss, scales = self.model.loss, dict(zip(self.units.names, self.units.unit.tolist(), strict=True))
        unit = tuple(scales.get(name, 0.0) for name in self.model.order)
        out: Array = np.mean([loss.gradient(x, theta) for x in values], axis=0)
        for x in second:
            out -= half / len(second) * differences(partial(loss.laplacian, x, unit=unit), theta)
        return out * weight
