"""Correction of losses that are sums of powers and waves of an index: every term undone block by block.

    score(x; theta)  =  Σ_k c_k(theta, public) Π_c f_kc(x_c)      <-      Σ_k c_k(theta, public) Π_B psi_B[f_k](z)

Terms are powers and waves of an index that is linear in noisy numbers and in the numbers that stand for levels of
categories; times 1 where no value is missing; times 1{category = level}, a sum over strata, where categories multiply
numbers (`strata.py`). In the records of a stratum with the same cases in all blocks (`noise/cases.py`) terms are undone
alike: these records are a layer, worked on together (`powers.py`, `waves.py`), and with the layers' factors

    score  =  Σ over layers of factor T' score(T theta),      Hessian  =  Σ of T' Hessian T.

A loss with kinks has several series, each blurred by its own measure (`Blurs`), and they share a pass over the records.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction.form import SingleForm, is_whole
from versadp.correction.layers import Layer, Layers
from versadp.correction.powers import as_linear
from versadp.correction.strata import Strata, Stratum, as_strata
from versadp.correction.waves import IndexTerms, Train, member_scores
from versadp.engine.once import once
from versadp.formula.design import PUBLIC
from versadp.noise.cases import Coded, Sparse, cases, whole
from versadp.noise.subset import SubsetBlock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from versadp.correction.model import IndexModel, LinearModel
    from versadp.correction.powers import Sums
    from versadp.correction.records import Kinds, Records
    from versadp.losses.expansion import Expansion
    from versadp.noise import Block
    from versadp.noise.cases import Inverse
    from versadp.noise.closed import Complex
    from versadp.noise.units import Units

    Array = NDArray[np.float64]
    Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Blurs:
    """Which series serve which coefficients of a loss with kinks.

    Member k has scores `s_k` and the influence `V^-1 s_k`. With `P_k` the coefficients that member k serves,

        score = sum_k V P_k V^-1 s_k           so that           (V^-1 score)_j = (V^-1 s_k)_j   for j in P_k,

    with one V for all: the curvature of the sharpest. Where the members agree it is the score of each of them.

    Attributes
    ----------
    expansions : tuple of Expansion
        The sharpest first.
    shares : tuple of array (p, p)
        `V P_k V^-1` of each; they add up to 1.
    off : array (p,)
        What blurring may shift each coefficient by.
    """

    expansions: tuple[Expansion, ...]
    shares: tuple[Array, ...]
    off: Array


@dataclass(frozen=True)
class Terms(SingleForm):
    """One member: powers and waves of an index, undone.

    Attributes
    ----------
    model : LinearModel or FormulaModel
        A design with functions of noisy columns has its terms taken apart.
    units : Units
    blocks : tuple of Block or Coded
        All with closed forms (`noise/cases.py`); their columns in the order of the units.
    expansion : Expansion
        Of the model's loss.
    strata : Strata, optional
        Of a design in which categories multiply numbers.
    blurs : Blurs, optional
        Of a loss with kinks.
    """

    model: Any
    units: Units
    blocks: tuple[Block | Coded, ...]
    expansion: Expansion
    strata: Strata | None = None
    blurs: Blurs | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The one member."""
        return ("closed form" if self.strata is None else "closed form by level",)

    @property
    def said(self) -> str:
        """The correction, the number of its terms, and what they may shift, in words."""
        several = (self.expansion,) if self.blurs is None else self.blurs.expansions
        waves = max(len(each.weights) + len(each.odd) for each in several)
        how = "closed form" if self.strata is None else f"closed form on {self.strata.levels} levels"
        if not waves:
            return f"{how}: powers of the index"
        shift = max(each.shift for each in several)
        off = f", off by at most {shift:.1g} standard errors" if shift else ""
        return f"{how}: powers and {waves} {'wave' if waves == 1 else 'waves'} of the index{off}"

    @property
    def linear(self) -> LinearModel:
        """The model of one stratum."""
        return self.model if self.strata is None else self.strata.linear

    @once
    def by_pairs(self) -> bool:
        """True if records count for all products of columns that they give."""
        return self.strata is None and by_pairs(self.model.loss, self.blocks)

    @once
    def first(self) -> IndexTerms:
        """The form of records that show all there is; or of all records, where those give some columns each."""
        inverse = _for_pairs if self.by_pairs else whole
        found = tuple(each for block in self.blocks if (each := inverse(block)) is not None)
        return IndexTerms(self.linear, self.units, found, self.expansion)

    @property
    def points(self) -> int:
        """Numbers that are kept for a record: of powers alone its own, unless a score is asked."""
        if self.strata is not None:
            return int(self.strata.count * (self.strata.numbers.dim + self.model.size + 2))
        return int(self.first.points if self._alike else self.units.dim + self.model.size + 2)

    @property
    def _alike(self) -> bool:
        """True if all records are one layer."""
        return self.by_pairs or (self.strata is None and not any(block.nullable for block in self.blocks))

    def prepare(self, records: Records, rng: np.random.Generator) -> Layers:  # noqa: ARG002 - there is nothing to draw
        """Return the layers of some records."""
        if self.by_pairs:
            assert records.released is not None
            middle = self.first.place[0][:, None]  # around which what is not given is 0
            records = replace(records, released=np.where(np.isnan(records.released), middle, records.released))
        if self._alike:
            only = Layer(slice(None), None, None, self.first, self.first.prepare(records), slice(None), 1.0)
            return Layers((only,), records.rows, self.model.size, records.weight)
        layers = self._by_case(records) if self.strata is None else self._by_level(records, self.strata)
        return Layers(tuple(layers), records.rows, self.model.size, records.weight)

    def _by_case(self, records: Records) -> Iterator[Layer]:
        """Yield the records of each combination of cases, their factors among their weights."""
        assert records.released is not None
        known, found, at = records.known(self.units), [], 0
        for block in self.blocks:
            own = cases(block, records.released[at : at + len(block.columns)])
            assert own is not None
            found.append(own)
            at += len(block.columns)
        for rows, factor, blocks in Stratum({}, np.ones(records.rows), found).together():
            form = IndexTerms(self.model, self.units, blocks, self.expansion)
            some = known.take(rows).weighted(factor[rows])
            yield Layer(rows, None, None, form, form.prepare(some), slice(None), 1.0)

    def _by_level(self, records: Records, strata: Strata) -> Iterator[Layer]:
        """Yield the records of each stratum and combination of cases."""
        design, public = self.model.design, records.public_products(strata.keys)
        assert records.released is not None
        numbers = records.released[[name not in design.private for name in self.units.names]]
        base = replace(records, design=public, released=numbers, public={}).known(strata.numbers)
        alike = base.kinds(base.weight)
        for stratum in strata.strata(records):
            change = strata.change(stratum.levels)
            for rows, factor, blocks in stratum.together():
                own = factor[rows]
                some, kind, times = self._alike_in_public(base, rows, own, blocks, alike)
                if design.outcome is not None:
                    shown = design.outcome.values[stratum.levels[design.outcome.column]]
                    some = replace(some, response=np.full(some.rows, shown))
                form = IndexTerms(strata.linear, strata.numbers, blocks, self.expansion)
                yield Layer(rows, own, change, form, form.prepare(some), kind, times)

    @staticmethod
    def _alike_in_public(
        base: Records, rows: Numbers, weight: Array, blocks: tuple[Inverse, ...], alike: Kinds
    ) -> tuple[Records, Numbers | slice, Array | float]:
        """Return the records of a layer, of each their kind, and how many that kind has.

        Where nothing of what was released matters, and all weigh the same, that is one record per kind.
        """
        first, kinds = alike
        many = 2 * first.size < rows.size and (weight == weight[0]).all()
        if not many or any(block.products().weight for block in blocks):
            return base.take(rows).weighted(weight), slice(None), 1.0
        there, kind, count = np.unique(kinds[rows], return_inverse=True, return_counts=True)
        several = count.astype(float)
        return base.take(first[there]).weighted(weight[0] * several), kind.ravel(), several[kind.ravel()]

    def sums(self, seen: Layers, theta: Array, mix: Array, *, hessian: bool) -> Sums:
        """Return number, sum of scores, of their products and of Hessians; records that are left out count."""
        if seen.alone is None or self.blurs is not None or not is_whole(mix):
            return super().sums(seen, theta, mix, hessian=hessian)
        return self._now(seen.alone).sums(seen.alone.seen, theta, hessian=hessian)

    def score_line(self, seen: Layers, theta: Array) -> tuple[Array, Array]:
        """Return the sum of scores of powers, and of Hessians: no record is looked at again."""
        score, bend = np.zeros(self.model.size), np.zeros((self.model.size, self.model.size))
        for layer in seen.layers:
            own, bending = self._now(layer).score_line(layer.seen, layer.there(theta))
            score += layer.back(own)
            bend += layer.bent(bending)
        return score, bend

    def weighted_scores(self, seen: Layers, theta: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores, corrected and weighted, and the Hessian: of several series that of the sharpest."""
        if self.blurs is not None:
            return self._blurred(self.blurs, seen, theta, hessian=hessian)
        if seen.alone is not None:
            return self._now(seen.alone).weighted_scores(seen.alone.seen, theta, hessian=hessian)
        score, bend = np.zeros((seen.rows, self.model.size)), np.zeros((self.model.size, self.model.size))
        for layer in seen.layers:
            own, bending = self._now(layer).weighted_scores(layer.seen, layer.there(theta), hessian=hessian)
            score[layer.rows] += layer.spread(own)
            bend += layer.bent(bending)
        return score, bend

    def _blurred(self, blurs: Blurs, seen: Layers, theta: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return the scores of several series, put together coefficient by coefficient."""
        bend, score = np.zeros((theta.size, theta.size)), np.zeros((seen.rows, theta.size))
        expansions, shares = blurs.expansions, blurs.shares
        if hessian:
            sharpest = replace(self, expansion=expansions[0], blurs=None)
            own, bend = sharpest.weighted_scores(seen, theta, hessian=True)
            score, expansions, shares = own @ shares[0].T, expansions[1:], shares[1:]
        for own, share in zip(self.member_scores(expansions, seen, theta), shares, strict=True):
            score += own @ share.T
        return score, bend

    def member_scores(self, expansions: tuple[Expansion, ...], seen: Layers, theta: Array) -> list[Array]:
        """Return the scores by each of several series, corrected and weighted, (n, p) each."""
        if seen.alone is not None:
            return list(member_scores(self._now(seen.alone), expansions, seen.alone.seen, theta))
        out = [np.zeros((seen.rows, self.model.size)) for _ in expansions]
        for layer in seen.layers:
            found = member_scores(self._now(layer), expansions, layer.seen, layer.there(theta))
            for own, into in zip(found, out, strict=True):
                into[layer.rows] += layer.spread(own)
        return out

    def _now(self, layer: Layer) -> IndexTerms:
        """Return a layer's form with the loss as it is now: it may have been prepared for another."""
        model = self.model if self.strata is None else layer.form.model
        if layer.form.expansion is self.expansion and layer.form.model is model:
            return layer.form
        return replace(layer.form, model=model, expansion=self.expansion)

    def aside(self, seen: Layers, theta: Array, *, slope: bool) -> tuple[Array, Array]:
        """Return the scale's score of each record, and the sum of its derivative; of those that are left out 0."""
        value, moved = np.zeros(seen.rows), np.zeros(self.model.size)
        for layer in seen.layers:
            own, by_theta = self._now(layer).aside(layer.seen, layer.there(theta), slope=slope)
            value[layer.rows] += own[layer.kind] / layer.times
            moved += layer.back(by_theta)
        return value, moved

    def waves(self, seen: Layers, theta: Array, tau: Array, some: Numbers, train: Train) -> Complex:
        """Return the corrected waves of the index of some records at frequencies, (records, M)."""
        if seen.alone is not None:
            return self._now(seen.alone).waves(seen.alone.seen, theta, tau, some, train)
        place, out = np.full(seen.rows, -1), np.zeros((len(some), len(tau)), complex)
        place[some] = np.arange(len(some))
        for layer in seen.layers:
            inside = np.flatnonzero(place[layer.rows] >= 0)
            at = inside if isinstance(layer.kind, slice) else layer.kind[inside]
            form, here = self._now(layer), layer.there(theta)
            own = form.waves(layer.seen, here, tau, at, form.train(here, train.along, train.ahead))
            weight = 1.0 if layer.weight is None else layer.weight[inside, None]
            out[place[layer.rows][inside]] += weight * own
        return out

    def train(self, theta: Array, along: float = 0.0, ahead: float = 0.0) -> Train:
        """Return how waves turn with the response; with the noisy columns they do so on each stratum for itself."""
        return self.first.train(theta, along, ahead) if self.strata is None else Train.of_response(along, ahead)

    def ends(self, seen: Layers, theta: Array) -> tuple[float, float]:
        """Return between what the index lies on any layer."""
        ends = [layer.form.ends(layer.seen, layer.there(theta)) for layer in seen.layers]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def gains(self, seen: Layers, theta: Array, tau: Array, *, together: bool = False) -> Array:
        """Return by how much waves of the index are magnified at most at each frequency: by a block, or by all."""
        if self.strata is None:  # of records that show all there is
            return self.first.gains(theta, tau, together=together)
        each = [layer.form.gains(layer.there(theta), tau, together=together) for layer in seen.layers]
        return np.asarray(np.max(each, axis=0))

    def held(self, y: Array) -> Array:
        """Return a public response where it matters to the loss."""
        return replace(self.first, expansion=self.expansion).held(y)

    @property
    def public_response(self) -> bool:
        """True if the response is a public column."""
        return self.model.response < 0 if self.strata is None else bool(self.model.design.response == PUBLIC)


def waves_of(form: Any) -> int:
    """Return how many waves one evaluation of a form takes per record; 0 of a form without a series.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from versadp.losses.expansion import Expansion
    >>> waves_of(SimpleNamespace(expansion=Expansion(weights=(1j, 2j), odd=(1j,))))
    3
    """
    blurs = getattr(form, "blurs", None)
    several = (getattr(form, "expansion", None),) if blurs is None else blurs.expansions
    return sum(len(each.weights) + len(each.odd) for each in several if each is not None)


def as_terms(model: IndexModel, units: Units, blocks: tuple[Block | Coded, ...], expansion: Expansion) -> Terms | None:
    """Return the correction term by term, if a model and its blocks have one; None otherwise."""
    linear = as_linear(model, units)
    if linear is None:
        strata = as_strata(model, units, blocks)
        return None if strata is None else Terms(model, units, blocks, expansion, strata)
    if not by_pairs(linear[0].loss, blocks) and any(whole(block) is None for block in blocks):
        return None
    return Terms(*linear, blocks, expansion)


def by_pairs(loss: Any, blocks: tuple[Block | Coded, ...]) -> bool:
    """Return True if products of two are all that a loss needs, and some blocks give two columns of many at a time.

    Then every record that gives two of the columns counts for their product, whichever others it gives.
    """
    own = [block.block if isinstance(block, Coded) else block for block in blocks]
    given = [isinstance(block, SubsetBlock) for block in own]
    series = loss.expansion() if hasattr(loss, "expansion") else None
    if series is None or not series.is_quadratic or not any(given):
        return False
    return all(block.chance(2) > 0 if isinstance(block, SubsetBlock) else not block.nullable for block in own)


def _for_pairs(block: Block | Coded) -> Inverse | None:
    """Return the inverse of powers of a block, whether records give all of its columns or some."""
    own = block.block if isinstance(block, Coded) else block
    return Sparse(block) if isinstance(own, SubsetBlock) else whole(block)
