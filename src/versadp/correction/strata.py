"""Correction level by level: signed points over the levels of categories, closed forms for the numbers inside each.

On one level of every category an interaction `C(region):age` is a slope, so the index is linear in the noisy numbers:

    theta_s = T_s theta,      u = public'beta_s + numbers'alpha_s,      T_s from the codings at these levels

and with weight_s the blocks' inverse on that stratum (`noise/block.py`)

    score  <-  sum over strata of weight_s T_s' score_s(T_s theta),      Hessian  <-  sum of T_s' H_s T_s

where score_s is that of powers and waves in closed form (`expanded.py`). Levels of public text that multiply a noisy
number are strata too, with weights 0 and 1. Strata in which a level is missing are left out, unless missing is a level.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.correction.expanded import Expanded, Train
from versadp.correction.model import FormulaModel, LinearModel
from versadp.formula.design import CODED, MIXED, PUBLIC
from versadp.formula.terms import Terms
from versadp.noise.block import Stratum

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from versadp.correction.expanded import Seen
    from versadp.correction.model import Records
    from versadp.losses.expansion import Expansion
    from versadp.noise import Block
    from versadp.noise.closed import Complex
    from versadp.noise.units import Units

    Array = NDArray[np.float64]

MOST = 300  # strata that anybody would work with


class Layer(NamedTuple):
    """Records of one stratum, as far as they do not depend on the parameters.

    The redrawn part of an inverse is the same for records that are alike in public: those are worked on once.
    """

    rows: NDArray[np.int64]
    weight: Array  # of the stratum alone
    change: Array  # T, (q, p)
    form: Expanded
    seen: Seen  # of all kinds of records
    kind: NDArray[np.int64] | slice  # of each record
    times: Array  # how often its kind is there


class Layers(NamedTuple):
    """All strata of some records, and what they come to together."""

    layers: list[Layer]
    m: Array  # (n, p): corrected design
    y: Array  # (n,): corrected response
    weight: Array | None
    squares: Array
    total: float


@dataclass(frozen=True)
class Strata:
    """The levels of the categories of a model, and the linear model of the numbers on each of them.

    Attributes
    ----------
    model : FormulaModel
        Whose terms are all taken apart (`Design.splits`).
    units : Units
        Of the noisy columns, categories as the numbers of their levels.
    blocks : tuple of Block
        All with `strata`.
    """

    model: FormulaModel
    units: Units
    blocks: tuple[Block, ...]

    @property
    def count(self) -> int:
        """Strata of a record: of categories, and the kept and the redrawn part of numbers under one coin with them."""
        sets = [set(block.columns) for block in self.blocks]
        both = sum(bool(each & {*self.model.design.private, *_nullable(self.blocks)}) for each in sets)
        return int(prod(len(self.model.design.levels[name]) for name in self.model.design.private) * 2**both)

    @cached_property
    def crossed(self) -> tuple[str, ...]:
        """The public categories that multiply noisy numbers."""
        design = self.model.design
        with_number = [split for split in design.splits if split is not None and split.number is not None]
        found = dict.fromkeys(part.column for split in with_number for part in split.parts)
        return tuple(name for name in found if name not in design.private)

    @cached_property
    def numbers(self) -> Units:
        """The noisy numbers alone."""
        at = [j for j, name in enumerate(self.units.names) if name not in self.model.design.private]
        arrays = {name: getattr(self.units, name)[at] for name in ("centre", "unit", "lower", "upper", "step")}
        low, high = self.units.bounds
        return replace(self.units, names=tuple(self.units.names[j] for j in at), bounds=(low[at], high[at]), **arrays)

    @cached_property
    def keys(self) -> list[tuple[str, ...]]:
        """The public factors of each public column of the strata; the first is the constant."""
        return list(dict.fromkeys([(), *(self._rest(j) for j in range(self.model.size))]))

    def _rest(self, j: int) -> tuple[str, ...]:
        """Return the public factors of a coefficient that are the same on all strata."""
        split = self.model.design.splits[j]
        assert split is not None
        strata = {*self.model.design.private, *self.crossed}
        return (*split.rest, *(part.text for part in split.parts if part.column not in strata))

    @cached_property
    def linear(self) -> LinearModel:
        """The model on one stratum: public columns, and all noisy numbers."""
        columns = np.append(np.full(len(self.keys), -1), np.arange(self.numbers.dim)).astype(np.int64)
        design = self.model.design
        if design.response in {PUBLIC, CODED}:
            return LinearModel(self.model.loss, columns)
        at = self.numbers.names.index(design.response_name)
        coding = float(self.numbers.centre[at]), float(self.numbers.unit[at])
        return LinearModel(self.model.loss, columns, at, coding=coding)

    def change(self, levels: Mapping[str, int]) -> Array:
        """Return T on some levels: from the coefficients of the model to those of its stratum."""
        numbers, first = self.numbers, len(self.keys)
        out = np.zeros((self.linear.size, self.model.size))
        for j, split in enumerate(self.model.design.splits):
            assert split is not None
            value = prod(part.values[levels[part.column]] for part in split.parts if part.column in levels)
            if split.number is None:
                out[self.keys.index(self._rest(j)), j] = value
            else:
                k = numbers.names.index(split.number)
                out[0, j], out[first + k, j] = value * numbers.centre[k], value * numbers.unit[k]
        return self.model.moved(out)

    def strata(self, records: Records) -> Iterator[tuple[dict[str, int], Array, tuple[Any, ...]]]:
        """Yield levels, weights and the blocks of the numbers, of each stratum that counts."""
        assert records.released is not None
        design, at, each = self.model.design, 0, []
        for block in self.blocks:
            own = block.strata(records.released[at : at + len(block.columns)])
            assert own is not None
            at += len(block.columns)
            # a level beyond those of the design is what is missing
            each.append([s for s in own if all(level < len(design.levels[name]) for name, level in s.levels.items())])
        for name in self.crossed:
            column = records.public[name]
            each.append(
                [Stratum({name: k}, np.asarray(column == level, float)) for k, level in enumerate(design.levels[name])]
            )
        for chosen in product(*each):
            levels = {name: level for stratum in chosen for name, level in stratum.levels.items()}
            weight = prod((stratum.weight for stratum in chosen), start=np.ones(records.rows))
            yield levels, weight, tuple(stratum.numbers for stratum in chosen if stratum.numbers is not None)


@dataclass(frozen=True)
class Stratified(Strata):
    """One member: closed forms of the numbers on each level of the categories.

    Attributes
    ----------
    expansion : Expansion
        Of the model's loss.
    """

    expansion: Expansion
    names: tuple[str, ...] = ("closed form by level",)

    @property
    def points(self) -> int:
        """Numbers that are kept for a record."""
        return self.count * (self.numbers.dim + self.model.size + 2)

    def prepare(self, records: Records, rng: np.random.Generator) -> Layers:
        """Return the records of every stratum, with corrected columns, design and response."""
        design, n, size = self.model.design, records.rows, self.model.size
        public = Terms(tuple(map(str, self.keys)), tuple(self.keys)).matrix(records.public | {"": np.zeros(n)})
        assert records.released is not None
        numbers = records.released[[name not in design.private for name in self.units.names]]
        # what is missing counts where nothing of what was released matters, and there it may be any number
        numbers = np.where(np.isnan(numbers), self.numbers.middle[:, None], numbers)
        base = replace(records, design=public, released=numbers, public={})
        layers, m, y, squares, total = [], np.zeros((n, size)), np.zeros(n), np.zeros((size, size)), 0.0
        first, alike, count = _kinds(base)
        for levels, weight, blocks in self.strata(records):
            rows = np.flatnonzero(weight)
            if not rows.size:
                continue
            own, times = weight[rows], np.ones(1)
            kind: NDArray[np.int64] | slice = slice(None)
            # nothing of what was released matters, and all weigh the same
            if (
                2 * first.size < n == rows.size
                and (own == own[0]).all()
                and not any(b.products().weight for b in blocks)
            ):
                some, kind, times = base.take(first), alike, count[alike]
                some = replace(some, weight=own[0] * count * (1.0 if some.weight is None else some.weight))
            else:
                some = base.take(rows)
                some = replace(some, weight=own if some.weight is None else own * some.weight)
            if design.outcome is not None:
                some = replace(some, response=np.full(some.rows, design.outcome.values[levels[design.outcome.column]]))
            form, change = Expanded(self.linear, self.numbers, blocks, self.expansion), self.change(levels)
            seen = form.prepare(some, rng)
            layers.append(Layer(rows, own, change, form, seen, kind, times))
            m[rows] += own[:, None] * (seen.m @ change)[kind]
            y[rows] += own * seen.y[kind]
            squares += change.T @ seen.squares @ change
            total += seen.total
        return Layers(layers, m, y, records.weight, squares, total)

    def evaluate(self, seen: Layers, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p), and the Hessian."""
        score, bend = np.zeros_like(seen.m), np.zeros_like(seen.squares)
        for rows, _, change, form, own, kind, times in seen.layers:
            now = replace(form, expansion=self.expansion)
            each, total = now.evaluate(own, change @ theta, np.ones((1, 1)), hessian=hessian)
            score[rows] += (each[:, 0] @ change)[kind] / times[:, None]
            bend += change.T @ total @ change
        return score[:, None] * mix.sum(axis=1)[None, :, None], bend * mix[0].sum()

    def ends(self, seen: Layers, theta: Array) -> tuple[float, float]:
        """Return between what the index lies on any stratum."""
        ends = [layer.form.ends(layer.seen, layer.change @ theta) for layer in seen.layers]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def gains(self, seen: Layers, theta: Array, tau: Array, *, together: bool = False) -> Array:
        """Return by how much waves of the index are magnified at most, at each frequency."""
        each = [layer.form.gains(layer.seen, layer.change @ theta, tau, together=together) for layer in seen.layers]
        return np.asarray(np.max(each, axis=0))

    @property
    def public_response(self) -> bool:
        """True if the response is a public column."""
        return self.model.design.response == PUBLIC

    def train(self, theta: Array, along: float = 0.0, ahead: float = 0.0) -> Train:  # noqa: ARG002 - as that of a stratum
        """Return how waves turn with the response; with the noisy columns they do so on each stratum for itself."""
        return Train(np.zeros(0), np.zeros(0), along, ahead)

    def waves(self, seen: Layers, theta: Array, tau: Array, some: NDArray[np.int64], train: Train) -> Complex:
        """Return the corrected waves of the index of some records at frequencies, (records, M)."""
        place = np.full(len(seen.m), -1)
        place[some] = np.arange(len(some))
        out = np.zeros((len(some), len(tau)), complex)
        for rows, weight, change, form, own, kind, _ in seen.layers:
            inside = np.flatnonzero(place[rows] >= 0)
            at = inside if isinstance(kind, slice) else kind[inside]
            here = change @ theta
            turned = form.waves(own, here, tau, at, form.train(here, train.along, train.ahead))
            out[place[rows[inside]]] += weight[inside, None] * turned
        return out


def _kinds(records: Records) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Return one record of each kind that is alike in public, the kind of each record, and how often each is there."""
    known = [each for each in (records.design, records.response, records.weight) if each is not None]
    _, first, kind, count = np.unique(
        np.column_stack(known), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    return first, kind.ravel(), count.astype(float)


def _nullable(blocks: tuple[Block, ...]) -> set[str]:
    return {name for block in blocks for name in block.nullable}


def as_stratified(model: Any, units: Units, blocks: tuple[Block, ...], expansion: Expansion) -> Stratified | None:
    """Return the correction level by level, if a model has one: terms taken apart, blocks with strata, few levels."""
    if not isinstance(model, FormulaModel) or model.design.response == MIXED or units.exact_rate is not None:
        return None
    for split in model.design.splits:
        if split is None or (split.number is not None and split.rest):
            return None
    if any(block.strata(np.zeros((len(block.columns), 1))) is None for block in blocks):
        return None
    form = Stratified(model, units, blocks, expansion)
    # without numbers points are exact, and a loss need not be expanded
    return form if form.count <= MOST and form.numbers.dim else None
