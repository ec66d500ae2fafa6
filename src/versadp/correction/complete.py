"""Closed forms where values may be missing: a score of the records in which none is.

What is seen of a block is complete or not, and in each case its noise is undone like that of a block without missing
values, with another weight and times a factor (`noise/complete.py`). So records with the same cases in all blocks are
corrected together, and their factors are record weights:

    score  =  Π_B factor_B · score of `expanded.py` with the blocks of these cases
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.correction.expanded import Expanded, Seen, sums_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.expanded import Sums, Train
    from versadp.correction.model import LinearModel, Records
    from versadp.losses.expansion import Expansion
    from versadp.noise import Block
    from versadp.noise.block import Inverse
    from versadp.noise.closed import Complex
    from versadp.noise.units import Units

    Array = NDArray[np.float64]


def as_expanded(
    linear: tuple[LinearModel, Units], blocks: tuple[Block, ...], expansion: Expansion, *, waves: bool = False
) -> Expanded | None:
    """Return the closed form of a loss that is expanded, over complete records; None if a block has no such inverse.

    `waves` asks for inverses of waves, too.
    """
    form: Expanded | None = Expanded(*linear, blocks, expansion)
    if any(block.nullable for block in blocks):
        form = Complete.of(*linear, blocks, expansion)
    if form is None or any(block.products() is None for block in form.blocks):
        return None
    if waves and any(block.waves(np.zeros((1, len(block.columns)), complex)) is None for block in form.blocks):
        return None
    return form


class Alike(NamedTuple):
    """Records with the same cases in all blocks."""

    rows: NDArray[np.int64]
    form: Expanded
    seen: Seen


class SeenCases(NamedTuple):
    """Some records as `Seen` has them, in their order, and how they are corrected."""

    e: Array
    public: Array
    m: Array
    y: Array
    weight: Array
    squares: Array
    total: float
    alike: tuple[Alike, ...]


@dataclass(frozen=True)
class Complete(Expanded):
    """Closed forms over the records in which no column of the model is missing.

    Attributes
    ----------
    blocks : tuple of Block
        What undoes the noise of complete records.
    hiding : tuple of Block
        The blocks themselves.
    """

    hiding: tuple[Block, ...] = ()
    names: tuple[str, ...] = ("closed form",)

    @property
    def points(self) -> int:
        """Numbers that are kept for a record: all arrays are made at once."""
        return self.units.dim + self.model.size + 2

    @classmethod
    def of(cls, model: LinearModel, units: Units, blocks: tuple[Block, ...], expansion: Expansion) -> Complete | None:
        """Return a form over complete records, if all blocks have such an inverse."""
        found = [block.cases(np.empty((len(block.columns), 0))) for block in blocks]
        whole = tuple(each[1][0].block for each in found if each is not None)
        return cls(model, units, whole, expansion, hiding=blocks) if len(whole) == len(blocks) else None

    def prepare(self, records: Records, rng: np.random.Generator) -> SeenCases:  # type: ignore[override] # read by its own
        """Return what is seen of records, those with the same cases together."""
        assert records.released is not None
        centre, _, _, _ = self.inverse
        middle = (centre * self.units.unit + self.units.centre)[:, None]
        known = replace(records, released=np.where(np.isnan(records.released), middle, records.released))
        alike = tuple(self._alike(rows, factor, blocks, known, rng) for rows, factor, blocks in self._cases(records))
        n, size = records.rows, self.model.size
        e, m, y = np.zeros((self.units.dim, n)), np.zeros((n, size)), np.zeros(n)
        public, weight = np.zeros((len(self.model.open), n)), np.zeros(n)
        for rows, _, seen in alike:
            e[:, rows], m[rows], y[rows], public[:, rows] = seen.e, seen.m, seen.y, seen.public
            assert seen.weight is not None
            weight[rows] = seen.weight
        squares = sum((seen.squares for _, _, seen in alike), np.zeros((size, size)))
        return SeenCases(e, public, m, y, weight, squares, float(weight.sum()), alike)

    def _cases(self, records: Records) -> list[tuple[NDArray[np.int64], float, tuple[Inverse, ...]]]:
        """Return the rows, the factor and the blocks of each combination of cases that counts."""
        assert records.released is not None
        code, every, at = np.zeros(records.rows, np.int64), [], 0
        for block in self.hiding:
            found = block.cases(records.released[at : at + len(block.columns)])
            assert found is not None
            which, cases = found
            code = code * len(cases) + which
            every.append(cases)
            at += len(block.columns)
        out = []
        for one in np.unique(code):
            chosen = [cases[k] for cases, k in zip(every, np.unravel_index(one, list(map(len, every))), strict=True)]
            factor = float(np.prod([case.factor for case in chosen]))
            if factor:
                out.append((np.flatnonzero(code == one), factor, tuple(case.block for case in chosen)))
        return out

    def _alike(
        self,
        rows: NDArray[np.int64],
        factor: float,
        blocks: tuple[Inverse, ...],
        records: Records,
        rng: np.random.Generator,
    ) -> Alike:
        some, form = records.take(rows), Expanded(self.model, self.units, blocks, self.expansion)
        weight = np.full(len(rows), factor) if some.weight is None else factor * some.weight
        return Alike(rows, form, form.prepare(replace(some, weight=weight), rng))

    def sums(self, seen: SeenCases, theta: Array, *, hessian: bool) -> Sums:  # type: ignore[override] # what prepare gave
        """Return number, sum of scores, of their products and of Hessians; who is left out counts."""
        return sums_of(*self.weighted_scores(seen, theta, hessian=hessian))

    def score_line(self, seen: SeenCases, theta: Array) -> tuple[Array, Array]:  # type: ignore[override] # what prepare gave
        """Return the sum of scores of powers, and of Hessians."""
        score, bend = self.weighted_scores(seen, theta, hessian=True)
        return score.sum(axis=0), bend

    def weighted_scores(self, seen: SeenCases, theta: Array, *, hessian: bool) -> tuple[Array, Array]:  # type: ignore[override] # what prepare gave
        """Return scores and Hessian; what is left out has a score of 0."""
        score, bend = np.zeros_like(seen.m), np.zeros((self.model.size, self.model.size))
        for rows, form, part in self._now(seen):
            score[rows], own = form.weighted_scores(part, theta, hessian=hessian)
            bend += own
        return score, bend

    def _now(self, seen: SeenCases) -> tuple[Alike, ...]:
        """Return records that are alike with the loss as it is now: they may have been prepared for another."""
        return tuple(
            one._replace(form=replace(one.form, model=self.model, expansion=self.expansion)) for one in seen.alike
        )

    def aside(self, seen: SeenCases, theta: Array, *, slope: bool) -> tuple[Array, Array]:  # type: ignore[override] # what prepare gave
        """Return the scale's score of each record, and the sum of its derivative; of those that are left out 0."""
        value, moved = np.zeros(len(seen.m)), np.zeros(self.model.size)
        for rows, form, part in self._now(seen):
            value[rows], own = form.aside(part, theta, slope=slope)
            moved += own
        return value, moved

    def waves(  # type: ignore[override] # what prepare gave
        self, seen: SeenCases, theta: Array, tau: Array, some: NDArray[np.int64], train: Train
    ) -> Complex:
        """Return the corrected waves of some records, (records, M); of those that are left out 0."""
        out = np.zeros((len(some), len(tau)), complex)
        for rows, form, part in self._now(seen):
            where = np.flatnonzero(np.isin(some, rows))
            out[where] = form.waves(part, theta, tau, np.searchsorted(rows, some[where]), train)
        return out
