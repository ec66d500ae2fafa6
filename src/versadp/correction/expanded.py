"""Correction of losses that are sums of powers and waves of an index, by the blocks' inverses in closed form.

A design that is linear in the noisy columns, any number of blocks, nothing drawn. In the units of the fit let c be the
centres of the blocks, e = released - c, and f = weight e, which has expectation x - c (`noise/closed.py`). A record's
corrected design is `m = (public, c + f)`. For any linear function `L = k + b'x` of the noisy columns

    m_j L  <-  m_j (k + b'(c + f)) + f_j (1/weight - 1) b_B'f_B + (shift b)_j,        B the block of column j:

inside a block there is one coin and so one weight, between blocks corrected columns multiply. Powers need no more: the
score of `(quadratic/2) u² + linear u - y u` is `m L` with `L = quadratic u + linear - y`, whether y is public or noisy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.correction.model import LinearModel, RecordModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.model import IndexModel, Records
    from versadp.losses.expansion import Expansion
    from versadp.noise import Block
    from versadp.noise.units import Units

    Array = NDArray[np.float64]


class Seen(NamedTuple):
    """Some records, as far as they do not depend on the parameters."""

    f: Array  # (n, dim): corrected columns around the blocks' centres
    m: Array  # (n, p): corrected design
    y: Array  # (n,): corrected response
    weight: Array | None
    squares: Array  # (p, p): sum of corrected products of the design


@dataclass(frozen=True)
class Expanded:
    """One member: the closed inverse of each power and wave of an expanded loss.

    Attributes
    ----------
    model : LinearModel
    units : Units
    blocks : tuple of Block
        All with `products` in closed form; their columns in the order of the units.
    expansion : Expansion
        Of the model's loss.
    """

    model: LinearModel
    units: Units
    blocks: tuple[Block, ...]
    expansion: Expansion
    names: tuple[str, ...] = ("closed form",)

    @property
    def points(self) -> int:
        """Numbers that are kept for a record."""
        return self.units.dim + self.model.size + 2

    @cached_property
    def _columns(self) -> tuple[Array, Array, Array, NDArray[np.int64]]:
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

    def prepare(self, records: Records, rng: np.random.Generator) -> Seen:  # noqa: ARG002 - there is nothing to draw
        """Return corrected columns, design and response."""
        assert records.released is not None
        centre, weight, shift, block = self._columns
        model, middle = self.model, centre * self.units.unit + self.units.centre
        f = (records.released.T - middle) * (weight / self.units.unit)
        m = np.empty((records.rows, model.size))
        m[:, model.open] = 1.0 if records.design is None else records.design
        m[:, model.noisy] = (f + centre)[:, model.columns[model.noisy]]
        y = model.target(records) if model.response < 0 else f[:, model.response] + centre[model.response]
        share = records.weight
        total = float(records.rows) if share is None else share.sum()
        squares = m.T @ (m if share is None else m * share[:, None])
        apart = f.T @ (f if share is None else f * share[:, None]) * (1 / weight - 1) + total * shift
        at = model.columns[model.noisy]
        squares[np.ix_(model.noisy, model.noisy)] += (apart * (block[:, None] == block))[np.ix_(at, at)]
        return Seen(f, m, y, share, squares)

    def evaluate(self, seen: Seen, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:  # noqa: ARG002 - it costs nothing
        """Return scores (n, G, p), and the Hessian."""
        score, bend = self._powers(seen, theta)
        if seen.weight is not None:
            score *= seen.weight[:, None]
        return score[:, None] * mix.sum(axis=1)[None, :, None], bend

    def _powers(self, seen: Seen, theta: Array) -> tuple[Array, Array]:
        """Return the scores `m L` of the powers, corrected, and their Hessian."""
        model, (_, weight, shift, block) = self.model, self._columns
        quadratic, noisy = self.expansion.quadratic, self.model.noisy
        level = seen.m @ (quadratic * theta) + self.expansion.linear - seen.y
        score = seen.m * level[:, None]
        slope = np.zeros(self.units.dim)
        slope[model.columns[noisy]] = quadratic * theta[noisy]
        if model.response >= 0:
            slope[model.response] -= 1.0
        for number in range(len(self.blocks)):
            own = np.flatnonzero(block == number)
            here = noisy[np.isin(model.columns[noisy], own)]
            at = model.columns[here]
            along = seen.f[:, own] @ (slope[own] * (1 / weight[own] - 1))
            score[:, here] += seen.f[:, at] * along[:, None] + (shift @ slope)[at]
        return score, quadratic * seen.squares


def as_linear(model: IndexModel, units: Units) -> tuple[LinearModel, Units] | None:
    """Return a model as a linear one, and its units, if it is: the mean of a column has an intercept alone."""
    if isinstance(model, LinearModel):
        return model, units
    if isinstance(model, RecordModel) and isinstance(model.of, str):
        from dataclasses import replace

        own = replace(units, centre=np.zeros(units.dim), unit=np.ones(units.dim))
        return LinearModel(model.loss, np.array([-1]), units.names.index(model.of)), own
    return None
