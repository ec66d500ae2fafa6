"""Correction of smooth losses by the Laplacian on each level of the categories beside zero-inflated numbers.

    score  <-  sum over strata of weight_s T_s' score_s(T_s theta),      score_s by `laplacian.py`

with T_s and the strata of `strata.py`. Strata differ in coefficients, weights and, if it is a category, the response;
they share the draws, so that where the levels of a category differ little its weights add no variance to them. The
value at a released record is taken on all strata. A draw is on two of them: the heaviest, which is that of the released
levels, and one of the others, drawn by the size of its weight (`points.Some`); so levels cost hardly more than none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from versadp.correction.form import Form
from versadp.correction.laplacian import Laplacian
from versadp.correction.model import FormulaModel
from versadp.correction.points import Some
from versadp.correction.random import Streams
from versadp.correction.strata import Strata
from versadp.formula.design import CODED, PUBLIC
from versadp.noise.cases import whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from versadp.correction.laplacian import Places
    from versadp.correction.points import Pace
    from versadp.correction.records import Records
    from versadp.noise import Block
    from versadp.noise.extension import Extension
    from versadp.noise.units import Units

    Array = NDArray[np.float64]
    Part = tuple[Places, NDArray[np.int64] | slice]

MOST = 32  # strata: each costs what a model without categories costs


class Level(NamedTuple):
    """A stratum: T, its places, and which records they are of."""

    change: Array
    places: list[Places]
    records: list[NDArray[np.int64] | slice]


class Leveled(NamedTuple):
    """Some records, as far as they do not depend on the parameters."""

    rows: int
    levels: list[Level]


class NoiseStrata(Strata):
    """Strata whose numbers are those of one zero-inflated block, in units of its noise."""

    @cached_property
    def numbers(self) -> Units:
        """The noisy numbers."""
        private = self.model.design.private
        (block,) = (block for block in self.blocks if not set(private) & set(block.columns))
        at = [self.units.names.index(name) for name in block.columns]
        own = block.units(self.units.middle[at])
        assert own is not None
        return own


@dataclass(frozen=True)
class ByLevel(Form):
    """Members that share one set of draws, on all strata.

    Attributes
    ----------
    strata : NoiseStrata
    inner : Laplacian
        The correction on one stratum.
    """

    evaluator: ClassVar[str] = "Laplacian by level"
    placed: ClassVar[bool] = True
    strata: NoiseStrata
    inner: Laplacian

    @property
    def names(self) -> tuple[str, ...]:
        """The members."""
        return self.inner.names

    @property
    def model(self) -> FormulaModel:
        """The model of all strata."""
        return self.strata.model

    @property
    def points(self) -> int:
        """Numbers that are kept for a record."""
        return self.inner.points + self.strata.count

    def prepare(self, records: Records, rng: np.random.Generator) -> Leveled:
        """Draw for some records, once for all strata, and weigh every stratum."""
        strata, names = self.strata, self.strata.units.names
        n, design, coding = records.rows, self.model.design, self.model.coding
        assert records.released is not None
        z = strata.numbers.from_columns([records.released[names.index(name)] for name in strata.numbers.names])
        public = records.public_products(strata.keys)
        response = np.zeros(n) if records.response is None else records.response
        base = replace(records, scaled=z, design=public, response=response, weight=None, public={}, released=None)
        own = np.ones(n) if records.weight is None else records.weight
        found = [(stratum.levels, stratum.weight * own) for stratum in strata.strata(records)]
        some = None
        if len(found) > 2:
            share = Streams.of(records, rng).uniform(np.arange(n))
            some = Some.of_all(np.stack([weight for _, weight in found], axis=1), share)
        places, levels = self.inner.prepare(base, rng), []
        for k, (here, weight) in enumerate(found):
            y = None
            if design.outcome is not None:
                y = coding[0] + coding[1] * design.outcome.values[here[design.outcome.column]]
            parts = list(_whole(places, weight) if some is None else self._some(places, weight, some, k))
            parts = [
                (part if y is None else replace(part, response=np.full(len(part.weight), y)), at) for part, at in parts
            ]
            levels.append(Level(strata.change(here), [part for part, _ in parts], [at for _, at in parts]))
        return Leveled(n, levels)

    def _some(self, places: list[Places], weight: Array, some: Some, level: int) -> Iterator[Part]:
        """Yield the records on a stratum: all as they were released, and around draws those that chose it."""
        first, size = 0, 2 if self.inner.paired else 1
        for each in places:
            n = len(each.weight)
            at = slice(first, first + n)
            yield replace(each, second=(), weight=weight[at]), at
            turns = range(0, len(each.second), size)
            for turn, k in enumerate(turns):
                record = np.arange(first, first + n)
                chosen, other = some.drawn(record, np.full(n, turn))
                heavy = np.flatnonzero(some.top[record] == level)
                light = np.flatnonzero((chosen == level) & (other != 0))
                own = np.concatenate([heavy, light])
                if own.size:
                    now = np.concatenate([weight[first + heavy], other[light]]) / len(turns)
                    second = tuple(z[own] for z in each.second[k : k + size])
                    yield (
                        replace(
                            each,
                            first=(),
                            second=second,
                            design=each.design[own],
                            response=each.response[own],
                            weight=now,
                        ),
                        first + own,
                    )
            first += n

    def evaluate(self, seen: Leveled, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p) of the G combinations in mix (G, members), and the Hessian of the first."""
        size = self.model.size
        score, total = np.zeros((seen.rows, len(mix), size)), np.zeros((size, size))
        for change, places, records in seen.levels:
            found, bend = self.inner.evaluate(places, change @ theta, mix, hessian=hessian)
            found, start = found @ change, 0
            for each, at in zip(places, records, strict=True):
                score[at] += found[start : start + len(each.weight)]
                start += len(each.weight)
            total += change.T @ bend @ change
        return score, total


def _whole(places: list[Places], weight: Array) -> Iterator[Part]:
    """Yield all records on a stratum."""
    first = 0
    for each in places:
        at = slice(first, first + len(each.weight))
        yield replace(each, weight=weight[at]), at
        first = at.stop


def as_by_level(
    model: Any,
    units: Units,
    blocks: tuple[Block, ...],
    extensions: tuple[Extension, ...],
    *,
    count: int = 1,
    paired: bool = True,
    pace: Pace | None = None,
) -> ByLevel | None:
    """Return the correction by the Laplacian level by level, if a model has one; None otherwise.

    It needs a smooth loss, terms taken apart, a public response or a category's, categories beside one zero-inflated
    block, and few levels.
    """
    if not isinstance(model, FormulaModel) or not model.loss.smooth or model.design.response not in {PUBLIC, CODED}:
        return None
    design = model.design
    if any(split is None or (split.number is not None and split.rest) for split in design.splits):
        return None
    numbers = [block for block in blocks if not set(block.columns) <= set(design.private)]
    if len(numbers) != 1 or numbers[0].units(np.zeros(len(numbers[0].columns))) is None:
        return None
    if any(whole(block) is None for block in blocks):
        return None
    strata = NoiseStrata(model, units, blocks)
    if strata.count > MOST:
        return None
    inner = Laplacian(strata.linear, strata.numbers, extensions, count=count, paired=paired, pace=pace)
    return ByLevel(strata, inner)
