"""Correction of any loss on lattices: its score, projected on polynomials of the noisy columns (`projection.py`).

    score  <-  Σ_l w_l(z) score(x_l, public; theta),      w(z) = psi(z) P,      the same points x_l for all records.

Records that are alike in public share their scores at the points: the loss is evaluated once for each kind of record,
and what is left is a matrix product. Where they are all different, terms that are products of something public and
something noisy, `m_j = a_j b_j`, give index and score by matrix products too:

    u_l = Σ_j a_j theta_j b_lj,        score_j = a_j Σ_l w_l s'(u_l) b_lj.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from versadp.correction.form import SingleForm
from versadp.correction.model import FormulaModel, IndexModel, LinearModel, finite, levels_at
from versadp.engine.once import once
from versadp.formula.terms import Terms, product_matrix, split_by_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from versadp.correction.model import Model
    from versadp.correction.projection import Projection
    from versadp.correction.records import Records
    from versadp.noise.units import Units

    Array = NDArray[np.float64]

AT_ONCE = 2_000_000  # points of records that are worked on together
ALIKE = 4  # records of a kind, on average: with fewer each is worked on for itself


@dataclass(frozen=True)
class Projected(SingleForm):
    """One member: the projection of the score.

    Attributes
    ----------
    model : Model
    units : Units
        Their columns in the order of the blocks'.
    projection : Projection
    """

    evaluator: ClassVar[str] = "projection"
    model: Model
    units: Units
    projection: Projection
    names: tuple[str, ...] = ("projection",)

    @property
    def points(self) -> int:
        """Numbers that are kept for a record."""
        return len(self.projection.indices) + self.model.size

    @property
    def evaluations(self) -> int:
        """Points at which scores are evaluated."""
        return self.projection.size

    @once
    def z(self) -> Array:
        """The points in the units of the fit."""
        return np.asarray((self.projection.points - self.units.centre) / self.units.unit)

    @once
    def factors(self) -> Factors | None:
        """The design taken apart, where each of its terms is something public times something noisy."""
        return factors_of(self.model, self.units, self.z)

    def prepare(self, records: Records, rng: np.random.Generator) -> Spots:  # noqa: ARG002 - there is nothing to draw
        """Return corrected polynomials of some records, and which of them are alike in public."""
        assert records.released is not None
        psi = np.empty((records.rows, len(self.projection.indices)))
        step = max(AT_ONCE // len(self.projection.indices), 1)
        for start in range(0, records.rows, step):
            some = slice(start, start + step)
            psi[some] = self.projection.undone(records.released[:, some])
        if records.weight is not None:
            psi *= records.weight[:, None]
        first, kind = records.kinds()
        alike = ALIKE * first.size <= records.rows
        return Spots(self, records, psi, first if alike else None, kind if alike else None)

    def weighted_scores(self, spots: Spots, theta: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, p), and the Hessian."""
        return spots.scores(theta, hessian=hessian)


@dataclass(frozen=True)
class Factors:
    """A design whose terms are products: `m_j = a_j b_j`, and a response on one side or the other.

    Attributes
    ----------
    noisy : array (points, p)
        b, at all points.
    public : Terms or None
        Which make a; None if `Records.design` has it for the coefficients `open`.
    open : array of int
    response : array (points,) or None
        A noisy response at the points.
    """

    noisy: Array
    public: Terms | None
    open: NDArray[np.int64]
    response: Array | None

    def of(self, model: Any, records: Records) -> Array:
        """Return a of some records, (n, p)."""
        if self.public is not None:
            return finite(self.public.matrix(records.public | {"": np.zeros(records.rows)}))
        out = np.ones((records.rows, self.noisy.shape[1]))
        out[:, self.open] = model.public(records)
        return out


@dataclass(frozen=True)
class Spots:
    """Some records: their corrected polynomials, and what they are made of.

    `record`, `rows` and `factor` write all points out, for whoever asks more of them than scores.
    """

    form: Projected
    records: Records
    psi: Array  # (n, products)
    first: NDArray[np.int64] | None  # one record of each kind
    kind: NDArray[np.int64] | None  # of each record

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.psi)

    @once
    def record(self) -> NDArray[np.int64]:
        """Whose each point is."""
        return np.repeat(np.arange(self.n), self.form.projection.size)

    @property
    def rows(self) -> Any:
        """Rows of the model at every point."""
        return self._rows(np.arange(self.n))

    @property
    def factor(self) -> Array:
        """The weights of all points, (1, points)."""
        return self.form.projection.spots(self.psi).reshape(1, -1)

    def _rows(self, index: NDArray[np.int64]) -> Any:
        """Return what the model makes of all points of some records."""
        form = self.form
        return form.model.rows(np.tile(form.z, (index.size, 1)), np.repeat(index, form.projection.size), self.records)

    def scores(self, theta: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return the score of each record, and the sum of Hessians."""
        if self.first is not None:
            return self._by_kind(theta, hessian=hessian)
        if self.form.factors is not None:
            return self._by_factors(theta, hessian=hessian)
        return self._one_by_one(theta, hessian=hessian)

    @once
    def _grouped(self) -> tuple[NDArray[np.int64], Array, list[tuple[NDArray[np.int64], Any]]]:
        """Records sorted by kind, the weight of each point of each kind, and what the model makes of some kinds."""
        assert self.first is not None
        assert self.kind is not None
        size = self.form.projection.size
        total = np.zeros((self.first.size, self.psi.shape[1]))
        np.add.at(total, self.kind, self.psi)
        weight = self.form.projection.spots(total)
        every = np.array_split(np.arange(self.first.size), -(-self.first.size * size // AT_ONCE))
        return np.argsort(self.kind, kind="stable"), weight, [(some, self._rows(self.first[some])) for some in every]

    def _by_kind(self, theta: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Do so where many records are alike in public."""
        assert self.kind is not None
        model, projection = self.form.model, self.form.projection
        order, weight, groups = self._grouped
        ends = np.append(0, np.cumsum(np.bincount(self.kind, minlength=len(weight))))
        score, bend = np.empty((self.n, model.size)), np.zeros((model.size, model.size))
        for some, rows in groups:
            at = model.score(rows, theta).reshape(some.size, projection.size, -1)
            for k, values in zip(some, at, strict=True):
                own = order[ends[k] : ends[k + 1]]
                score[own] = self.psi[own] @ projection.coefficients(values)
            if hessian:
                each = weight[some].reshape(1, -1)
                aside = np.zeros((1, 1, model.size))
                bend += model.add_up(rows, theta, each, np.zeros(each.size, np.int64), aside, hessian=True)
        return score, bend

    def _slices(self) -> Iterator[slice]:
        step = max(AT_ONCE // self.form.projection.size, 1)
        return (slice(start, min(start + step, self.n)) for start in range(0, self.n, step))

    def _one_by_one(self, theta: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Do so for any model, point by point."""
        model, size = self.form.model, self.form.projection.size
        score, bend = np.zeros((self.n, 1, model.size)), np.zeros((model.size, model.size))
        for some in self._slices():
            index = np.arange(some.start, some.stop)
            weight, record = self.form.projection.spots(self.psi[some]), np.repeat(np.arange(index.size), size)
            rows = self._rows(index)
            bend += model.add_up(rows, theta, weight.reshape(1, -1), record, score[some], hessian=hessian)
        return score[:, 0], bend

    @once
    def _open(self) -> Array:
        assert self.form.factors is not None
        return self.form.factors.of(self.form.model, self.records)

    def _by_factors(self, theta: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Do so by matrix products of what is public and what is noisy."""
        factors, model = self.form.factors, self.form.model
        assert isinstance(model, IndexModel)
        assert factors is not None
        basis = getattr(model, "basis", None) if factors.public is not None else None
        beta = theta if basis is None else basis @ theta
        below = np.tril_indices(theta.size)
        squares = factors.noisy[:, below[0]] * factors.noisy[:, below[1]]
        score, total, moved = np.empty((self.n, theta.size)), np.zeros(below[0].size), np.zeros(theta.size)
        aside = np.zeros(self.n)
        for some in self._slices():
            a, weight = self._open[some], self.form.projection.spots(self.psi[some])
            u, y = (a * beta) @ factors.noisy.T, self._response(some)
            s, *bend = _shaped(model, u, y, 2 if hessian and not model.window else 1, model.bandwidth)
            score[some] = a * ((weight * s) @ factors.noisy)
            if model.tilt is not None:
                flat = model.loss.scale_score(u.ravel(), np.broadcast_to(y, u.shape).ravel())
                of_scale, by_index = (each.reshape(u.shape) for each in flat[:2])
                aside[some] = np.einsum("il,il->i", weight, of_scale)
                moved += np.einsum("ij,ij->j", a, (weight * by_index) @ factors.noisy)
            if hessian:
                curved = _shaped(model, u, y, 2, model.window)[1] if model.window else bend[0]
                total += np.einsum("iq,iq->q", a[:, below[0]] * a[:, below[1]], (weight * curved) @ squares)
        whole = np.zeros((theta.size, theta.size))
        whole[below] = total
        whole += np.tril(whole, -1).T
        if basis is not None:
            score, whole, moved = score @ basis, basis.T @ whole @ basis, moved @ basis
        return (score, whole) if model.tilt is None else _tilted(score, whole, aside, moved, model.tilt)

    def _response(self, some: slice) -> Array:
        """Return the response of some records at the points, (records, points) or what broadcasts to it."""
        assert self.form.factors is not None
        noisy = self.form.factors.response
        if noisy is not None:
            return noisy
        assert self.records.response is not None
        return self.records.response[some, None]


def _tilted(score: Array, whole: Array, aside: Array, moved: Array, tilt: Array) -> tuple[Array, Array]:
    """Return scores and Hessian with the score of the scale taken off."""
    return score - aside[:, None] * tilt, whole - np.outer(tilt, moved)


def _shaped(model: IndexModel, u: Array, y: Array, order: int, bandwidth: float) -> list[Array]:
    """Return derivatives of the loss at an index (records, points)."""
    flat = model.loss.derivatives(u.ravel(), np.broadcast_to(y, u.shape).ravel(), order, bandwidth)
    return [each.reshape(u.shape) for each in flat[:order]]


def factors_of(model: Model, units: Units, z: Array) -> Factors | None:
    """Return a design taken apart, if each of its terms is something public times something noisy."""
    if isinstance(model, LinearModel):
        noisy = np.ones((len(z), model.size))
        noisy[:, model.noisy] = z[:, model.columns[model.noisy]]
        response = None if model.response < 0 else model.coding[0] + model.coding[1] * z[:, model.response]
        return Factors(noisy, None, model.open, response)
    if not isinstance(model, FormulaModel):
        return None
    design, names = model.design, model.design.names
    terms = [split_by_columns(term, units.names) for term in design.terms.expressions]
    left = split_by_columns((design.left,), units.names)
    if left is None or None in terms:
        return None
    apart = [each for each in terms if each is not None]
    x = units.to_columns(z)
    columns: dict[str, Any] = {name: x[:, j] for j, name in enumerate(units.names)}
    columns |= levels_at(z, units, {name: design.levels[name] for name in design.private})
    response = None
    if left[0]:
        response = model.coding[0] + model.coding[1] * finite(design.response_at(columns))
    noisy = finite(product_matrix([tuple(factor.text for factor in own) for own, _ in apart], columns, len(z)))
    return Factors(noisy, Terms(names, tuple(public for _, public in apart)), np.empty(0, np.int64), response)
