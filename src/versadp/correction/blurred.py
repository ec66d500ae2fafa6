"""A loss with kinks as several series, each blurred by its own measure: for each coefficient the one that serves it.

Member k has scores `s_k` and the influence `V^-1 s_k`. With `P_k` the coefficients that member k serves,

    score = sum_k V P_k V^-1 s_k           so that           (V^-1 score)_j = (V^-1 s_k)_j   for j in P_k,

with one V for all: the curvature of the sharpest. Where the members agree it is the score of each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction.expanded import Expanded
from versadp.correction.member_kernel import add_members

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from versadp.correction.expanded import Seen
    from versadp.correction.model import Records
    from versadp.losses.expansion import Expansion

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Blurs:
    """Which series serve which coefficients.

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
class Blurred:
    """One member: the scores of several series, put together coefficient by coefficient.

    Attributes
    ----------
    form : Expanded
        With whatever expansion.
    blurs : Blurs
    """

    form: Expanded
    blurs: Blurs
    names: tuple[str, ...] = ("closed form",)

    @property
    def points(self) -> int:
        """Numbers that are kept for a record."""
        return self.form.points

    def prepare(self, records: Records, rng: np.random.Generator) -> Seen:
        """Return corrected columns, design and response: the same for all series."""
        return self.form.prepare(records, rng)

    def weighted_scores(self, seen: Seen, theta: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return the scores, corrected and weighted, and the Hessian of the sharpest series."""
        expansions, shares, bend = self.blurs.expansions, self.blurs.shares, np.zeros((theta.size, theta.size))
        score, rest = np.zeros_like(seen.m), slice(0, None)
        if hessian:
            sharpest, bend = replace(self.form, expansion=expansions[0]).weighted_scores(seen, theta, hessian=True)
            score, rest = sharpest @ shares[0].T, slice(1, None)
        for own, share in zip(member_scores(self.form, expansions[rest], seen, theta), shares[rest], strict=True):
            score += own @ share.T
        return score, bend

    def evaluate(self, seen: Seen, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p), and the Hessian."""
        score, bend = self.weighted_scores(seen, theta, hessian=hessian)
        return score[:, None] * mix.sum(axis=1)[None, :, None], bend


def member_scores(form: Expanded, expansions: tuple[Expansion, ...], seen: Seen, theta: Array) -> Sequence[Array]:
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
        public[k] = member._public(seen, theta, train)[0]  # noqa: SLF001 - of the same package
    centre, _, _, block = form.inverse
    share = np.ones(len(seen.m)) if seen.weight is None else seen.weight
    factors = form.factors(train, base * np.arange(1.0, count + 1))
    design, places = seen.public, form.model.places
    add_members(seen.e, block, places, design, public, train.alpha, centre, base, weights, *factors, share, out)
    return [each.T for each in out]


def _turn_alike(form: Expanded, expansions: tuple[Expansion, ...]) -> bool:
    """Tell whether series have waves at the same frequencies, in a form whose records are all alike."""
    first = expansions[0] if expansions else None
    return (
        first is not None
        and type(form) is Expanded
        and form.model.tilt is None
        and all(each.weights and not each.odd for each in expansions)
        and all((each.base, each.along) == (first.base, first.along) for each in expansions)
    )


def waves_of(form: Any) -> int:
    """Return how many waves one evaluation of a form takes per record; 0 of a form without a series.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from versadp.losses.expansion import Expansion
    >>> waves_of(SimpleNamespace(expansion=Expansion(weights=(1j, 2j), odd=(1j,))))
    3
    """
    several = form.blurs.expansions if isinstance(form, Blurred) else (getattr(form, "expansion", None),)
    return sum(len(each.weights) + len(each.odd) for each in several if each is not None)
