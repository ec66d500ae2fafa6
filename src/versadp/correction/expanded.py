"""Correction of losses that are sums of powers and waves of an index, by the blocks' inverses in closed form.

A design that is linear in the noisy columns, any number of blocks, nothing drawn. In the units of the fit let c be the
centres of the blocks, e = released - c, and f = weight e, which has expectation x - c (`noise/closed.py`). A record's
corrected design is `m = (public, c + f)`. For any linear function `L = k + b'x` of the noisy columns

    m_j L  <-  m_j (k + b'(c + f)) + f_j (1/weight - 1) b_B'f_B + (shift b)_j,        B the block of column j:

inside a block there is one coin and so one weight, between blocks corrected columns multiply. Powers need no more: the
score of `(quadratic/2) u² + linear u + cross y u` is `m L` with `L = quadratic u + linear + cross y`, for any y.

A wave of the index is a product over blocks, `e^{iτu} <- e^{iτ public} Π_B (gain_B e^{iτ alpha_B'e_B} + level_B)`, with
alpha the slope of the index; gain and level depend on the slope, so that their derivatives are part of the score. A
response that turns waves too is one more column with a slope of its own, or one more thing that is public.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.correction.model import LinearModel, RecordModel
from versadp.correction.power_kernel import Columns, Powers, column_products, power_scores, score_products
from versadp.correction.turning import turning
from versadp.correction.wave_kernel import add_waves, wave_values
from versadp.engine.once import once
from versadp.errors import ParameterError
from versadp.losses.expansion import QUARTER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.model import IndexModel, Records
    from versadp.losses.expansion import Expansion
    from versadp.noise.block import Inverse
    from versadp.noise.closed import Complex
    from versadp.noise.units import Units

    Array = NDArray[np.float64]
    Sums = tuple[int, Array, Array, Array]

LARGEST = 50.0  # real exponent of a wave beyond which it is refused: e^50 leaves no digits


class Train(NamedTuple):
    """How waves `e^{i (τ (u + along y) + ahead y)}` turn with the noisy columns: by `τ alpha + fixed`."""

    alpha: Array
    fixed: Array
    along: float
    ahead: float


@dataclass(frozen=True)
class Seen:
    """Some records, as far as they do not depend on the parameters; each array is made when it is first asked for.

    Sums of powers alone ask for none: of many records, to write them would take longer than to add them up.
    """

    form: Expanded
    records: Records

    @property
    def weight(self) -> Array | None:
        """Weights of the records."""
        return self.records.weight

    @once
    def total(self) -> float:
        """Sum of weights."""
        return float(self.records.rows if self.weight is None else self.weight.sum())

    @once
    def _both(self) -> Array:
        """Public columns, and released ones around the blocks' centres."""
        public, released, (origin, unit) = self.form.public(self.records).T, self.records.released, self.form.place
        assert released is not None
        both = np.empty((len(public) + len(released), self.records.rows))
        both[: len(public)] = public
        e = both[len(public) :]
        np.subtract(released, origin[:, None], out=e)
        e /= unit[:, None]
        return both

    @property
    def public(self) -> Array:
        """Public columns, (columns, n)."""
        return self._both[: -self.form.units.dim]

    @property
    def e(self) -> Array:
        """Released columns around the blocks' centres, (dim, n)."""
        return self._both[-self.form.units.dim :]

    @once
    def m(self) -> Array:
        """Corrected design, (n, p), column by column."""
        model, (centre, weight, _, _) = self.form.model, self.form.inverse
        rows = np.empty((model.size, self.records.rows))
        rows[model.open] = self.public
        for k, j in zip(model.noisy, model.columns[model.noisy], strict=True):
            np.multiply(self.e[j], weight[j], out=rows[k])
            rows[k] += centre[j]
        return rows.T

    @once
    def y(self) -> Array:
        """Corrected response, (n,)."""
        model, (centre, weight, _, _) = self.form.model, self.form.inverse
        at, (origin, scale) = model.response, model.coding
        return model.target(self.records) if at < 0 else origin + scale * (self.e[at] * weight[at] + centre[at])

    @once
    def products(self) -> Array:
        """Sums of products of a constant, public columns, noisy ones and a public response, (q, q)."""
        column_products(self.columns, out := np.zeros((self.form.width, self.form.width)))
        return whole(out)

    @once
    def squares(self) -> Array:
        """Sum of corrected products of the design, (p, p)."""
        return self.form.squares(self.products)

    @property
    def columns(self) -> Columns:
        """All of them as they were released, for compiled loops."""
        form, records, none = self.form, self.records, np.empty(0)
        assert records.released is not None
        public, response = form.public(records), form.model.target(records) if form.public_response else none
        share, (origin, unit) = none if self.weight is None else self.weight, form.place
        public, released, response, share = map(_to_read, (public, records.released, response, share))
        return Columns(public, released, response, share, form.inverse[3], origin, 1 / unit)


@dataclass(frozen=True)
class Expanded:
    """One member: the closed inverse of each power and wave of an expanded loss.

    Attributes
    ----------
    model : LinearModel
    units : Units
    blocks : tuple of Inverse
        All with `products` in closed form; their columns in the order of the units.
    expansion : Expansion
        Of the model's loss.
    """

    model: LinearModel
    units: Units
    blocks: tuple[Inverse, ...]
    expansion: Expansion
    names: tuple[str, ...] = ("closed form",)

    @property
    def points(self) -> int:
        """Numbers that are kept for a record: of powers alone, which are added up, its own unless a score is asked."""
        return self.width if self.expansion.is_quadratic else self.units.dim + self.model.size + 2

    @once
    def inverse(self) -> tuple[Array, Array, Array, NDArray[np.int64]]:
        """Centres, weights and shift in the units of the fit, and the block of each column."""
        unit, size = self.units.unit, self.units.dim
        centre, weight, shift, block = np.empty(size), np.empty(size), np.zeros((size, size)), np.empty(size, np.int64)
        at = 0
        for number, each in enumerate(self.blocks):
            own, found = slice(at, at + len(each.columns)), each.products()
            assert found is not None
            assert self.units.names[own] == each.columns
            centre[own], weight[own], shift[own, own], block[own] = found.centre, found.weight, found.shift, number
            at = own.stop
        return (centre - self.units.centre) / unit, weight, shift / np.outer(unit, unit), block

    @property
    def place(self) -> tuple[Array, Array]:
        """Where released columns have their blocks' centres, and their units."""
        return self.inverse[0] * self.units.unit + self.units.centre, self.units.unit

    def public(self, records: Records) -> Array:
        """Return the public columns of the design, (n, columns)."""
        return np.ones((records.rows, 1)) if records.design is None else self.model.public(records)

    def prepare(self, records: Records, rng: np.random.Generator) -> Seen:  # noqa: ARG002 - there is nothing to draw
        """Return what corrected columns, design and response are made of."""
        return Seen(self, records)

    def squares(self, products: Array) -> Array:
        """Return the sum of corrected products of the design, by those of columns."""
        model, (_, weight, shift, block), turn = self.model, self.inverse, self._turn
        at, noisy = model.columns[model.noisy], self.noisy
        apart = (weight - weight**2) * products[noisy, noisy] + products[0, 0] * shift
        squares = turn @ products @ turn.T
        squares[np.ix_(model.noisy, model.noisy)] += (apart * (block[:, None] == block))[np.ix_(at, at)]
        return np.asarray(squares)

    @property
    def noisy(self) -> slice:
        """Which of all columns are noisy: before them are a constant and public ones, and a public response after."""
        first = 1 + self.model.open.size
        return slice(first, first + self.units.dim)

    @property
    def width(self) -> int:
        """How many columns that are, q."""
        return int(self.noisy.stop) + self.public_response

    @once
    def _turn(self) -> Array:
        """The corrected design, as it is made of all columns, (p, q)."""
        model, (centre, weight, _, _) = self.model, self.inverse
        at, turn = model.columns[model.noisy], np.zeros((model.size, self.width))
        turn[model.open, 1 + np.arange(model.open.size)] = 1.0
        turn[model.noisy, 0], turn[model.noisy, self.noisy.start + at] = centre[at], weight[at]
        return turn

    def evaluate(self, seen: Seen, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p), and the Hessian."""
        score, bend = self.weighted_scores(seen, theta, hessian=hessian)
        return score[:, None] * mix.sum(axis=1)[None, :, None], bend * mix[0].sum()

    def sums(self, seen: Seen, theta: Array, *, hessian: bool) -> Sums:
        """Return number, sum of scores, of their products and of Hessians."""
        if not self.expansion.is_quadratic:
            return sums_of(*self.weighted_scores(seen, theta, hessian=hessian))
        score, bend = self.score_line(seen, theta)
        score_products(seen.columns, self._powers(theta), outer := np.zeros_like(bend))
        return seen.records.rows, score[None], whole(outer), bend

    def score_line(self, seen: Seen, theta: Array) -> tuple[Array, Array]:
        """Return the sum of scores of powers, and of Hessians: no record is looked at again."""
        model, products, own = self.model, seen.products, self.noisy
        powers, (*_, block) = self._powers(theta), self.inverse
        score = powers.turn @ products @ powers.level
        apart = (products[own, own] * (block[:, None] == block)) @ powers.one_coin + products[0, 0] * powers.shift
        score[model.noisy] += apart[model.columns[model.noisy]]
        return score, self.expansion.quadratic * seen.squares

    def _powers(self, theta: Array) -> Powers:
        """Return the score of powers, by all columns."""
        model, own, (centre, weight, _, _), turn = self.model, self.expansion, self.inverse, self._turn
        level, at = own.quadratic * (theta @ turn), model.response
        level[0] += own.linear
        if at < 0:
            level[-1] += own.cross
        else:
            level[0] += own.cross * (model.coding[0] + model.coding[1] * centre[at])
            level[self.noisy.start + at] += own.cross * model.coding[1] * weight[at]
        return Powers(turn, level, model.places, *self._one_coin(theta))

    def _one_coin(self, theta: Array) -> tuple[Array, Array]:
        """Return what products with L have more inside a block: by its columns, and the same for all records."""
        model, (_, weight, shift, _) = self.model, self.inverse
        slope = self.expansion.quadratic * self.slope(theta)
        if model.response >= 0:
            slope[model.response] += self.expansion.cross * model.coding[1]
        return slope * (weight - weight**2), shift @ slope

    def weighted_scores(self, seen: Seen, theta: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return the scores of powers and waves, corrected and weighted, and the Hessian."""
        model, quadratic = self.model, self.expansion.quadratic
        level = seen.m @ (quadratic * theta)
        level += self.expansion.linear
        level += self.expansion.cross * self.held(seen.y)
        score = np.empty_like(seen.m)
        power_scores(seen.m.T, seen.e, self.inverse[3], model.columns, level, *self._one_coin(theta), score.T)
        if seen.weight is not None:
            score *= seen.weight[:, None]
        bend = quadratic * seen.squares
        for weights, train in self._trains(theta):
            bend += self._add_waves(seen, theta, (weights, train), score, hessian=hessian)
        if model.tilt is not None:
            value, by_theta = self.aside(seen, theta, slope=hessian)
            score -= value[:, None] * model.tilt
            bend -= np.outer(model.tilt, by_theta)
        return score, bend

    def aside(self, seen: Seen, theta: Array, *, slope: bool) -> tuple[Array, Array]:
        """Return the scale's score of each record, corrected and weighted, and the sum of its derivative in theta."""
        level, *weights = self.expansion.aside
        train, rate = self.train(theta, self.expansion.along), np.array([0.0, complex(self.expansion.base).real])
        gain, steady, twist = self.factors(train, rate[1] * np.arange(1.0, len(weights) + 1))
        value, index = np.full(len(seen.m), complex(level).real), self._public(seen, theta, train)[0]
        pairs = np.array(weights, dtype=complex).view(float).reshape(-1, 2)
        wave_values(seen.e, self.inverse[3], index, train.alpha, rate, pairs, gain[0], steady[0], twist[0], value)
        if seen.weight is not None:
            value *= seen.weight
        if not slope:
            return value, np.zeros(self.model.size)
        moved = np.zeros_like(seen.m)
        self._add_waves(seen, theta, (tuple(weights), train), moved, hessian=False)
        return value, np.ones(len(moved)) @ moved

    def held(self, y: Array) -> Array:
        """Return a public response where it matters to the loss; beyond, its distance counts by its logarithm.

        All at one place would be an atom, of which a series that is near a blurred loss knows nothing.
        """
        low, high = self.expansion.held
        if self.model.response >= 0 or low == -np.inf:
            return y
        inside, blur = np.clip(y, low, high), self.expansion.blur
        if not blur:
            return inside
        return np.asarray(inside + np.sign(y - inside) * blur * np.log1p(np.abs(y - inside) / blur))

    def _trains(self, theta: Array) -> list[tuple[tuple[complex, ...], Train]]:
        """Return the waves of an expansion that turn alike, and how they do."""
        own = self.expansion
        every = (own.weights, self.train(theta, own.along)), (own.odd, self.train(theta, 0.0, QUARTER))
        return [(weights, train) for weights, train in every if weights]

    def train(self, theta: Array, along: float = 0.0, ahead: float = 0.0) -> Train:
        """Return how waves `e^{i (τ (u + along y) + ahead y)}` turn with the noisy columns."""
        alpha, fixed = self.slope(theta), np.zeros(self.units.dim)
        if self.model.response >= 0:
            alpha[self.model.response] += along * self.model.coding[1]
            fixed[self.model.response] += ahead * self.model.coding[1]
        return Train(alpha, fixed, along, ahead)

    def _public(self, seen: Seen, theta: Array, train: Train) -> tuple[Array, Array]:
        """Return what is public of `u + along y`, centres included, and of `ahead y`."""
        centre, model = self.inverse[0], self.model
        y = self.held(seen.y) if model.response < 0 else model.coding[0]
        index = theta[model.open] @ seen.public + train.alpha @ centre + train.along * y
        return index, np.broadcast_to(train.ahead * y + train.fixed @ centre, index.shape)

    def _add_waves(
        self, seen: Seen, theta: Array, waves: tuple[tuple[complex, ...], Train], score: Array, *, hessian: bool
    ) -> Array:
        """Add the scores of waves, corrected and weighted; return their Hessian."""
        model, (centre, _, _, block) = self.model, self.inverse
        (given, train), base = waves, complex(self.expansion.base)
        if np.abs(base.imag * train.alpha).sum() > LARGEST:
            raise ParameterError("an exponential of the index has left every reasonable model")
        gain, level, twist = self.factors(train, base * np.arange(1, len(given) + 1))
        rate, weights = np.array([-base.imag, base.real]), np.array(given, dtype=complex)
        share = np.ones(len(score)) if seen.weight is None else seen.weight
        index, turned = self._public(seen, theta, train)
        ahead = np.zeros((len(self.blocks) + 1, len(score) if train.ahead else 0))
        if train.ahead:
            np.add.at(ahead, block, train.fixed[:, None] * seen.e)
            ahead[-1] = turned
        add_waves(
            seen.e,
            block,
            model.places,
            seen.public,
            index,
            train.alpha,
            centre,
            rate,
            ahead,
            np.stack([weights.real, weights.imag], axis=1),
            gain,
            level,
            twist,
            share,
            score,
            bend := np.zeros((model.size, model.size)),
            hessian,
        )
        return bend + np.tril(bend, -1).T

    def waves(self, seen: Seen, theta: Array, tau: Array, some: NDArray[np.int64], train: Train) -> Complex:
        """Return the corrected waves of some records at frequencies, (records, M)."""
        block = self.inverse[3]
        (gain, _, _), (level, _, _), (twist, _, _) = self.factors(train, tau)
        index, turned = self._public(seen, theta, train)
        out = turning(index[some], tau) * np.exp(1j * turned[some, None])
        for number in range(len(self.blocks)):
            own = np.flatnonzero(block == number)
            e = seen.e[np.ix_(own, some)]
            turn = turning(train.alpha[own] @ e, tau)
            if train.fixed[own].any():
                turn = turn * np.exp(1j * (train.fixed[own] @ e))[:, None]
            out *= gain[:, number] * turn + (level + 1j * twist)[:, number]
        return np.asarray(out)

    def ends(self, seen: Seen, theta: Array) -> tuple[float, float]:
        """Return between what the index lies, by the bounds of the noisy columns and the public ones."""
        alpha, public = self.slope(theta), theta[self.model.open] @ seen.public
        low, high = np.sort(np.stack([alpha * self.units.lower, alpha * self.units.upper]), axis=0).sum(axis=1)
        return float(low + public.min()), float(high + public.max())

    def gains(self, seen: Seen, theta: Array, tau: Array, *, together: bool = False) -> Array:  # noqa: ARG002 - the same for all records
        """Return by how much waves of the index are magnified at each frequency: at most by a block, or by all."""
        gain = np.abs(self.factors(self.train(theta), tau)[0][0])
        return np.asarray(gain.prod(axis=1) if together else gain.max(axis=1, initial=0.0))

    @property
    def public_response(self) -> bool:
        """True if the response is a public column."""
        return self.model.response < 0

    def slope(self, theta: Array) -> Array:
        """Return the derivative of the index by the noisy columns."""
        alpha = np.zeros(self.units.dim)
        alpha[self.model.columns[self.model.noisy]] = theta[self.model.noisy]
        return alpha

    def factors(self, train: Train, tau: NDArray[Any]) -> list[tuple[Array, ...]]:
        """Return gain, and level by its real and imaginary part, of each block; with derivatives in the slope.

        Values are (M, blocks); derivatives (M, columns) and (M, columns, columns) have the columns of all blocks. Gains
        are real, whatever the frequency: noise is even around the centre.
        """
        size, count = self.units.dim, len(tau)
        shapes = (count, len(self.blocks)), (count, size), (count, size, size)
        out = [tuple(np.zeros(shape) for shape in shapes) for _ in range(3)]
        at = 0
        for number, each in enumerate(self.blocks):
            own = slice(at, at + len(each.columns))
            # a frequency in a column's own units, by the slope
            by_alpha = np.asarray(tau[:, None] / self.units.unit[own], dtype=np.complex128)
            found = each.waves(by_alpha * train.alpha[own] + train.fixed[own] / self.units.unit[own])
            assert found is not None
            gain, level = (
                (factor.value, factor.first * by_alpha, factor.second * by_alpha[:, :, None] * by_alpha[:, None, :])
                for factor in found
            )
            parts = [term.real for term in gain], [term.real for term in level], [term.imag for term in level]
            for (value, first, second), into in zip(parts, out, strict=True):
                into[0][:, number], into[1][:, own], into[2][:, own, own] = value, first, second
            at = own.stop
        return out


def _to_read(array: Array) -> Array:
    """Return an array that is only to be read: compiled loops are made for one kind of arrays, whoever owns them."""
    out = np.ascontiguousarray(array, dtype=float).view()
    out.flags.writeable = False
    return out


def whole(below: Array) -> Array:
    """Return a symmetric matrix, of which what is above the diagonal was not written."""
    return below + np.tril(below, -1).T


def sums_of(score: Array, bend: Array) -> Sums:
    """Return number, sum of scores, of their products and of Hessians."""
    return len(score), np.ones((1, len(score))) @ score, score.T @ score, bend


def as_linear(model: IndexModel, units: Units) -> tuple[LinearModel, Units] | None:
    """Return a model as a linear one, and its units, if it is: the mean of a column has an intercept alone."""
    if isinstance(model, LinearModel):
        return model, units
    if isinstance(model, RecordModel) and isinstance(model.of, str):
        own = replace(units, centre=np.zeros(units.dim), unit=np.ones(units.dim))
        return LinearModel(model.loss, np.array([-1]), units.names.index(model.of)), own
    return None
