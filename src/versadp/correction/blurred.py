"""A loss with kinks as several series, each blurred by its own measure: for each coefficient the one that serves it.

Member k has scores `s_k` and the influence `V^-1 s_k`. With `P_k` the coefficients that member k serves,

    score = sum_k V P_k V^-1 s_k           so that           (V^-1 score)_j = (V^-1 s_k)_j   for j in P_k,

with one V for all: the curvature of the sharpest. Where the members agree it is the score of each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.expanded import Expanded, Seen
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
        score, bend = np.zeros_like(seen.m), np.zeros((theta.size, theta.size))
        for number, (expansion, share) in enumerate(zip(self.blurs.expansions, self.blurs.shares, strict=True)):
            member, first = replace(self.form, expansion=expansion), number == 0
            own, curved = member.weighted_scores(seen, theta, hessian=hessian and first)
            score += own @ share.T
            bend = curved if first else bend
        return score, bend

    def evaluate(self, seen: Seen, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p), and the Hessian."""
        score, bend = self.weighted_scores(seen, theta, hessian=hessian)
        return score[:, None] * mix.sum(axis=1)[None, :, None], bend


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
