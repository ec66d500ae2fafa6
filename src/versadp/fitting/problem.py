"""An estimation problem: a model, the blocks that it touches, its records, and the way back to the user's units."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction import CustomModel, FormulaModel, LinearModel, RecordModel, Records
from versadp.engine import Serial, is_far, nearby
from versadp.fitting.source import MemorySource, ReleaseSource, SampleRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from versadp.correction import Blurs
    from versadp.engine import Engine
    from versadp.estimation import Question
    from versadp.formula.design import Design
    from versadp.losses import IndexLoss
    from versadp.losses.expansion import Expansion
    from versadp.noise import Block
    from versadp.noise.units import Units

    Array = NDArray[np.float64]
    AnyModel = LinearModel | FormulaModel | RecordModel | CustomModel


@dataclass(frozen=True)
class Problem:
    """An estimation problem, and the way back to the user's units.

    Attributes
    ----------
    blocks : tuple of Block
        The blocks that the model touches.
    groups : tuple of index arrays
        Coefficients that share weights.
    scale, shift : array
        `theta_user = scale @ theta + shift`.
    quantile : Question, optional
        The quantile of a function of a record that is asked for, if it is that.
    nullable : tuple of str
        Columns of the model whose values may be missing: it is fitted to the records in which none is.
    expansion : Expansion, optional
        The loss as a series, where its index lies.
    rounded : mapping of str to float
        Numbers that may lie between the points of their lattice, and how far apart these are.
    taken : str
        Which of two corrections was taken, and what was predicted of the other; nothing where there was one only.
    degrees : tuple of int, optional
        Of the polynomials of each noisy column on which the score is projected.
    off : float
        By how many standard errors that may move coefficients, at most.
    blurs : Blurs, optional
        Of a loss with kinks: the series of each coefficient, and what it may be off by.
    extended : bool
        True where several blocks are touched and one of them is zero-inflated: the score may be extended beyond the
        domain, so that there are members to combine.
    """

    model: AnyModel
    units: Units
    blocks: tuple[Block, ...]
    source: ReleaseSource | MemorySource
    names: tuple[str, ...]
    groups: tuple[NDArray[np.int64], ...]
    scale: Array
    shift: Array
    design: Design | None = None
    quantile: Question | None = None
    nullable: tuple[str, ...] = ()
    expansion: Expansion | None = None
    rounded: Mapping[str, float] = field(default_factory=dict)
    taken: str = ""
    degrees: tuple[int, ...] | None = None
    off: float = 0.0
    blurs: Blurs | None = None
    extended: bool = False

    def to_user(self, theta: Array, cov: Array) -> tuple[Array, Array]:
        """Return coefficients and covariance in the user's units."""
        return self.scale @ theta + self.shift, self.scale @ cov @ self.scale.T

    def widened(self, cov: Array) -> Array:
        """Return a covariance with what blurring or projecting a loss may be off by: an error like any other."""
        if self.blurs is not None:
            return cov + np.diag(self.blurs.off**2)
        shift = self.off if self.expansion is None else self.expansion.shift
        return cov * (1 + shift**2)

    def to_fit(self, theta: Array) -> Array:
        """Return the user's coefficients in the units of the fit."""
        return np.asarray(np.linalg.solve(self.scale, theta - self.shift), dtype=float)

    def sample(self, rows: int, seed: int, engine: Engine | None = None) -> Records:
        """Return a random part of the records, in memory, in the order in which they are."""
        rng, left, total, asked = np.random.default_rng([seed, 0xFEED]), rows, self.source.rows, []
        for item in self.source.handles():
            chosen = []
            for size in self.source.sizes(item):  # type: ignore[arg-type] # an item of its own
                take = min(left, int(rng.hypergeometric(size, max(total - size, 0), min(left, total))))
                chosen.append(np.sort(rng.choice(size, take, replace=False)))
                left, total = left - take, total - size
            asked.append(SampleRequest(item, chosen))
        if engine is not None and is_far(engine) and self.source.travels:  # remote workers keep them for the next pass
            taken = engine.map(self.source.take_and_keep, asked)
        else:
            taken = nearby(engine or Serial()).map(self.source.take, asked)
        return Records.joined([lot for lots in taken for lot in lots])

    def smoothed(self, bandwidth: float, window: float) -> Problem:
        """Return the problem with its kinked loss smoothed by a bandwidth, and its curvature by a window."""
        assert not isinstance(self.model, CustomModel)  # whose kinks are the user's business
        return replace(self, model=replace(self.model, bandwidth=bandwidth, window=window))

    def minimising(self, loss: IndexLoss, tilt: Array | None = None) -> Problem:
        """Return the problem of another loss, with a tilt if its scale is from the data."""
        assert not isinstance(self.model, CustomModel)
        return replace(self, model=replace(self.model, loss=loss, bandwidth=0.0, window=0.0, tilt=tilt))
