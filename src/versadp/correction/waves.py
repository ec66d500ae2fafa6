"""Waves of an index, corrected in records that are undone alike: a layer of `terms.py`.

A wave of the index is a product over blocks, `e^{iτu} <- e^{iτ public} Π_B (gain_B e^{iτ alpha_B'e_B} + level_B)`, with
alpha the slope of the index; gain and level depend on the slope, so that their derivatives are part of the score. A
response that turns waves too is one more column with a slope of its own, or one more thing that is public.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.correction.form import sums_of
from versadp.correction.member_kernel import add_members
from versadp.correction.powers import IndexPowers
from versadp.correction.wave_kernel import add_waves, wave_values
from versadp.errors import ParameterError
from versadp.losses.expansion import QUARTER
from versadp.noise.closed import turning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from versadp.correction.powers import Seen, Sums
    from versadp.losses.expansion import Expansion
    from versadp.noise.closed import Complex

    Array = NDArray[np.float64]

LARGEST = 50.0  # exponent of a real exponential of the index beyond which no model is meant


class Train(NamedTuple):
    """Frequencies `τ alpha + fixed` of waves `e^{i (τ (u + along y) + ahead y)}` in the noisy columns."""

    alpha: Array
    fixed: Array
    along: float
    ahead: float

    @classmethod
    def of_response(cls, along: float, ahead: float) -> Train:
        """Return those of waves of which only the response is known."""
        return cls(np.zeros(0), np.zeros(0), along, ahead)


@dataclass(frozen=True)
class IndexTerms(IndexPowers):
    """The closed inverse of each power and wave of an expanded loss, the same for all records."""

    def sums(self, seen: Seen, theta: Array, *, hessian: bool) -> Sums:
        """Return number, sum of scores, of their products and of Hessians."""
        if self.expansion.is_quadratic:
            return super().sums(seen, theta, hessian=hessian)
        score, bend = self.weighted_scores(seen, theta, hessian=hessian)
        return sums_of(score[:, None], bend)

    def weighted_scores(self, seen: Seen, theta: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return the scores of powers and waves, corrected and weighted, and the Hessian."""
        score, bend = self.scores_of_powers(seen, theta)
        for weights, train in self._trains(theta):
            bend += self._add_waves(seen, theta, (weights, train), score, hessian=hessian)
        if self.model.tilt is not None:
            value, by_theta = self.aside(seen, theta, slope=hessian)
            score -= value[:, None] * self.model.tilt
            bend -= np.outer(self.model.tilt, by_theta)
        return score, bend

    def aside(self, seen: Seen, theta: Array, *, slope: bool) -> tuple[Array, Array]:
        """Return the scale's score of each record, corrected and weighted, and the sum of its derivative in theta."""
        level, *weights = self.expansion.aside
        train, rate = self.train(theta, self.expansion.along), np.array([0.0, complex(self.expansion.base).real])
        gain, steady, twist = self.factors(train, rate[1] * np.arange(1.0, len(weights) + 1))
        value, index = np.full(len(seen.m), complex(level).real), self.index(seen, theta, train)[0]
        pairs = np.array(weights, dtype=complex).view(float).reshape(-1, 2)
        wave_values(seen.e, self.inverse[3], index, train.alpha, rate, pairs, gain[0], steady[0], twist[0], value)
        if seen.weight is not None:
            value *= seen.weight
        if not slope:
            return value, np.zeros(self.model.size)
        moved = np.zeros_like(seen.m)
        self._add_waves(seen, theta, (tuple(weights), train), moved, hessian=False)
        return value, np.ones(len(moved)) @ moved

    def _trains(self, theta: Array) -> list[tuple[tuple[complex, ...], Train]]:
        """Return the waves of an expansion that turn alike, and how they do."""
        own = self.expansion
        every = (own.weights, self.train(theta, own.along)), (own.odd, self.train(theta, 0.0, QUARTER))
        return [(weights, train) for weights, train in every if weights]

    def train(self, theta: Array, along: float = 0.0, ahead: float = 0.0) -> Train:
        """Return the frequencies of waves `e^{i (τ (u + along y) + ahead y)}` in the noisy columns."""
        alpha, fixed = self.slope(theta), np.zeros(self.units.dim)
        if self.model.response >= 0:
            alpha[self.model.response] += along * self.model.coding[1]
            fixed[self.model.response] += ahead * self.model.coding[1]
        return Train(alpha, fixed, along, ahead)

    def index(self, seen: Seen, theta: Array, train: Train) -> tuple[Array, Array]:
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
        index, turned = self.index(seen, theta, train)
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
        index, turned = self.index(seen, theta, train)
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

    def gains(self, theta: Array, tau: Array, *, together: bool = False) -> Array:
        """Return by how much waves of the index are magnified at each frequency: at most by a block, or by all."""
        gain = np.abs(self.factors(self.train(theta), tau)[0][0])
        return np.asarray(gain.prod(axis=1) if together else gain.max(axis=1, initial=0.0))

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


def member_scores(form: IndexTerms, expansions: tuple[Expansion, ...], seen: Seen, theta: Array) -> Sequence[Array]:
    """Return the scores by each of several series of a residual, corrected and weighted, (n, p) each.

    Series at multiples of one frequency share a pass over the records.
    """
    members = [replace(form, expansion=each) for each in expansions]
    if not _turn_alike(form, expansions):
        return [member.weighted_scores(seen, theta, hessian=False)[0] for member in members]
    out = np.empty((len(members), theta.size, len(seen.m)))
    count, base = max(len(each.weights) for each in expansions), complex(expansions[0].base).real
    weights, public = np.zeros((len(members), count, 2)), np.empty((len(members), len(seen.m)))
    train = form.train(theta, expansions[0].along)
    for k, (member, each) in enumerate(zip(members, expansions, strict=True)):
        powers = replace(member, expansion=replace(each, weights=()))
        out[k] = powers.weighted_scores(seen, theta, hessian=False)[0].T
        own = np.array(each.weights)
        weights[k, : own.size] = np.column_stack([own.real, own.imag])
        public[k] = member.index(seen, theta, train)[0]
    centre, _, _, block = form.inverse
    share = np.ones(len(seen.m)) if seen.weight is None else seen.weight
    factors = form.factors(train, base * np.arange(1.0, count + 1))
    design, places = seen.public, form.model.places
    add_members(seen.e, block, places, design, public, train.alpha, centre, base, weights, *factors, share, out)
    return [each.T for each in out]


def _turn_alike(form: IndexTerms, expansions: tuple[Expansion, ...]) -> bool:
    """Return True if series have waves at the same frequencies."""
    first = expansions[0] if expansions else None
    return (
        first is not None
        and form.model.tilt is None
        and all(each.weights and not each.odd for each in expansions)
        and all((each.base, each.along) == (first.base, first.along) for each in expansions)
    )
