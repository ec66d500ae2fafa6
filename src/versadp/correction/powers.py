"""Powers of an index, corrected in records that are undone alike: a layer of `terms.py`.

A design that is linear in the noisy columns, any number of blocks, nothing drawn. In the units of the fit let c be the
centres of the blocks, e = released - c, and f = weight e, which has expectation x - c (`noise/cases.py`). A record's
corrected design is `m = (public, c + f)`. For any linear function `L = k + b'x` of the noisy columns

    m_j L  <-  m_j (k + b'(c + f)) + f_j (1/weight - 1) b_B'f_B + (shift b)_j,        B the block of column j:

inside a block there is one coin and so one weight, between blocks corrected columns multiply. Powers need no more: the
score of `(quadratic/2) u² + linear u + cross y u` is `m L` with `L = quadratic u + linear + cross y`, for any y.

Where each record gives some columns of a block only, e is 0 for the others, and products of two columns have a weight
of their own in place of `weight`, which squares keep (`noise/cases.py`, `Sparse`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction.model import LinearModel, RecordModel
from versadp.correction.power_kernel import Columns, Powers, column_products, power_scores, score_products
from versadp.engine.once import once
from versadp.noise.cases import Sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.model import IndexModel
    from versadp.correction.records import Records
    from versadp.losses.expansion import Expansion
    from versadp.noise.cases import Inverse
    from versadp.noise.units import Units

    Array = NDArray[np.float64]
    Sums = tuple[int, Array, Array, Array]


@dataclass(frozen=True)
class Seen:
    """Some records, as far as they do not depend on the parameters; each array is made when it is first asked for.

    Sums of powers alone ask for none: of many records, to write them would take longer than to add them up.
    """

    form: IndexPowers
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
        public, response = form.public(records), form.model.target(records) if form.model.response < 0 else none
        share, (origin, unit) = none if self.weight is None else self.weight, form.place
        public, released, response, share = map(_to_read, (public, records.released, response, share))
        return Columns(public, released, response, share, form.inverse[3], form.coins[2], origin, 1 / unit)


@dataclass(frozen=True)
class IndexPowers:
    """The closed inverse of each power of an index, the same for all records.

    Attributes
    ----------
    model : LinearModel
    units : Units
    blocks : tuple of Inverse
        Their columns in the order of the units.
    expansion : Expansion
        Of the model's loss.
    """

    model: LinearModel
    units: Units
    blocks: tuple[Inverse, ...]
    expansion: Expansion

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

    @once
    def coins(self) -> tuple[Array, Array, NDArray[np.int64]]:
        """Products e e' beside those of corrected columns, per block and more per source; and the sources."""
        size, at = self.units.dim, 0
        one, own, source = np.empty(size), np.zeros(size), np.arange(size)
        for each in self.blocks:
            here, found = slice(at, at + len(each.columns)), each.products()
            across = found.weight
            if isinstance(each, Sparse):
                across, numbers = each.pairs()
                source[here] = at + numbers
            one[here], own[here] = across - found.weight**2, found.weight - across
            at = here.stop
        return one, own, source

    @property
    def apart(self) -> Array:
        """The same as one matrix, (dim, dim)."""
        (one, own, source), block = self.coins, self.inverse[3]
        return np.asarray(one * (block[:, None] == block) + own * (source[:, None] == source))

    @property
    def place(self) -> tuple[Array, Array]:
        """Centres of the blocks in the columns' own units, and these units."""
        return self.inverse[0] * self.units.unit + self.units.centre, self.units.unit

    def public(self, records: Records) -> Array:
        """Return the public columns of the design, (n, columns)."""
        return np.ones((records.rows, 1)) if records.design is None else self.model.public(records)

    def prepare(self, records: Records) -> Seen:
        """Return what corrected columns, design and response are made of."""
        return Seen(self, records)

    def squares(self, products: Array) -> Array:
        """Return the sum of corrected products of the design, by those of columns."""
        model, (_, _, shift, _), turn = self.model, self.inverse, self._turn
        at, noisy = model.columns[model.noisy], self.noisy
        apart = self.apart * products[noisy, noisy] + products[0, 0] * shift
        squares = turn @ products @ turn.T
        squares[np.ix_(model.noisy, model.noisy)] += apart[np.ix_(at, at)]
        return np.asarray(squares)

    @property
    def noisy(self) -> slice:
        """Which of all columns are noisy: before them are a constant and public ones, and a public response after."""
        first = 1 + self.model.open.size
        return slice(first, first + self.units.dim)

    @property
    def width(self) -> int:
        """Number of these columns, q."""
        return int(self.noisy.stop) + (self.model.response < 0)

    @once
    def _turn(self) -> Array:
        """The corrected design, as it is made of all columns, (p, q)."""
        model, (centre, weight, _, _) = self.model, self.inverse
        at, turn = model.columns[model.noisy], np.zeros((model.size, self.width))
        turn[model.open, 1 + np.arange(model.open.size)] = 1.0
        turn[model.noisy, 0], turn[model.noisy, self.noisy.start + at] = centre[at], weight[at]
        return turn

    def sums(self, seen: Seen, theta: Array, *, hessian: bool) -> Sums:  # noqa: ARG002 - it is there
        """Return number, sum of scores, of their products and of Hessians, without an array of scores."""
        score, bend = self.score_line(seen, theta)
        score_products(seen.columns, self._powers(theta), outer := np.zeros_like(bend))
        return seen.records.rows, score[None], whole(outer), bend

    def score_line(self, seen: Seen, theta: Array) -> tuple[Array, Array]:
        """Return the sum of scores of powers, and of Hessians: no record is looked at again."""
        model, products, own = self.model, seen.products, self.noisy
        powers, slope = self._powers(theta), self._noisy_slope(theta)
        score = powers.turn @ products @ powers.level
        apart = (self.apart * products[own, own]) @ slope + products[0, 0] * powers.shift
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

    def _noisy_slope(self, theta: Array) -> Array:
        """Return the derivative of L by the noisy columns."""
        slope = self.expansion.quadratic * self.slope(theta)
        if self.model.response >= 0:
            slope[self.model.response] += self.expansion.cross * self.model.coding[1]
        return slope

    def _one_coin(self, theta: Array) -> tuple[Array, Array, Array]:
        """Return what products with L have more: in a block and in a source, by columns, and for all records alike."""
        slope, (one, own, _) = self._noisy_slope(theta), self.coins
        return slope * one, slope * own if own.any() else np.empty(0), self.inverse[2] @ slope

    def scores_of_powers(self, seen: Seen, theta: Array) -> tuple[Array, Array]:
        """Return the scores of powers, corrected and weighted, and the Hessian."""
        model, quadratic = self.model, self.expansion.quadratic
        level = seen.m @ (quadratic * theta)
        level += self.expansion.linear
        level += self.expansion.cross * self.held(seen.y)
        score = np.empty_like(seen.m)
        one, own, shift = self._one_coin(theta)
        block, source = self.inverse[3], self.coins[2]
        power_scores(seen.m.T, seen.e, block, model.columns, level, one, own, source, shift, score.T)
        if seen.weight is not None:
            score *= seen.weight[:, None]
        return score, quadratic * seen.squares

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

    def slope(self, theta: Array) -> Array:
        """Return the derivative of the index by the noisy columns."""
        alpha = np.zeros(self.units.dim)
        alpha[self.model.columns[self.model.noisy]] = theta[self.model.noisy]
        return alpha


def _to_read(array: Array) -> Array:
    """Return a contiguous view that cannot be written: compiled loops are made for one kind of arrays."""
    out = np.ascontiguousarray(array, dtype=float).view()
    out.flags.writeable = False
    return out


def whole(below: Array) -> Array:
    """Return a symmetric matrix, of which what is above the diagonal was not written."""
    return below + np.tril(below, -1).T


def as_linear(model: IndexModel, units: Units) -> tuple[LinearModel, Units] | None:
    """Return a model as a linear one, and its units, if it is: the mean of a column has an intercept alone."""
    if isinstance(model, LinearModel):
        return model, units
    if isinstance(model, RecordModel) and isinstance(model.of, str) and model.of not in units.spaced:
        own = replace(units, centre=np.zeros(units.dim), unit=np.ones(units.dim))
        return LinearModel(model.loss, np.array([-1]), units.names.index(model.of)), own
    return None
