"""An estimation problem: a model, the blocks that it touches, its records, and the way back to the user's units."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction import CustomModel, FormulaModel, LinearModel, RecordModel, Records
from versadp.engine import Serial, is_remote, local_engine
from versadp.fitting.source import MemorySource, ReleaseSource, SampleRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from versadp.correction import Blurs
    from versadp.engine import Engine
    from versadp.estimation import Question
    from versadp.fitting.totals import Totals
    from versadp.formula.design import Design
    from versadp.losses import IndexLoss
    from versadp.losses.expansion import Expansion
    from versadp.noise import Block
    from versadp.noise.units import Units

    Array = NDArray[np.float64]
    AnyModel = LinearModel | FormulaModel | RecordModel | CustomModel


@dataclass(frozen=True)
class Approximation:
    """Functions near the score of a problem that its noise can be undone of; the default is the score itself.

    Attributes
    ----------
    expansion : Expansion, optional
        The loss as a series, where its index lies.
    blurs : Blurs, optional
        Of a loss with kinks: the series of each coefficient, and a bound on its shift.
    degrees : tuple of int, optional
        Of the polynomials of each noisy column on which the score is projected.
    off : float
        Bound on the shift of coefficients by a projection, in standard errors.
    taken : str
        Which of two approximations was taken, and what was predicted of the other; empty if there was one only.
    """

    expansion: Expansion | None = None
    blurs: Blurs | None = None
    degrees: tuple[int, ...] | None = None
    off: float = 0.0
    taken: str = ""

    def widened(self, cov: Array) -> Array:
        """Return a covariance with the bound on the shift added: an error like any other."""
        if self.blurs is not None:
            return cov + np.diag(self.blurs.off**2)
        own = self.expansion
        shift = own.shift if own is not None and own.blur else self.off
        return cov * (1 + shift**2)


@dataclass(frozen=True)
class Problem:
    """An estimation problem, the way back to the user's units, and the approximation of its score.

    Attributes
    ----------
    blocks : tuple of Block
        The blocks that the model touches.
    groups : tuple of index arrays
        Coefficients that share weights.
    scale, shift : array
        `theta_user = scale @ theta + shift`.
    quantile : Question, optional
        The quantile of a function of a record, if that is the parameter.
    nullable : tuple of str
        Columns of the model whose values may be missing: it is fitted to the records in which none is.
    rounded : mapping of str to float
        Numbers that may lie between the points of their lattice, and the step of the lattice.
    extended : bool
        True where several blocks are touched and one of them is zero-inflated: the score may be extended beyond the
        domain, so that there are members to combine.
    approximation : Approximation
        The only field that fitting changes, beside the smoothing of the model.
    totals : Totals or str
        The totals of the release, or why they cannot be used; "" where it has none.
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
    rounded: Mapping[str, float] = field(default_factory=dict)
    extended: bool = False
    approximation: Approximation = Approximation()
    totals: Totals | str = ""

    @property
    def expansion(self) -> Expansion | None:
        """The series of the loss, if there is one."""
        return self.approximation.expansion

    @property
    def blurs(self) -> Blurs | None:
        """The series of each coefficient, if a loss with kinks has them."""
        return self.approximation.blurs

    @property
    def degrees(self) -> tuple[int, ...] | None:
        """The degrees of a projection, if there is one."""
        return self.approximation.degrees

    @property
    def has_points(self) -> bool:
        """True if signed points undo the noise: of each block some records give all columns of the model."""
        return all(getattr(block, "block", block).complete_rate > 0 for block in self.blocks)

    def approximated(self, **changes: Any) -> Problem:
        """Return the problem with changes of its approximation."""
        return replace(self, approximation=replace(self.approximation, **changes))

    def to_user(self, theta: Array, cov: Array) -> tuple[Array, Array]:
        """Return coefficients and covariance in the user's units."""
        return self.scale @ theta + self.shift, self.scale @ cov @ self.scale.T

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
        if (
            engine is not None and is_remote(engine) and self.source.travels
        ):  # remote workers keep them for the next pass
            taken = engine.map(self.source.take_and_keep, asked)
        else:
            taken = local_engine(engine or Serial()).map(self.source.take, asked)
        return Records.joined([lot for lots in taken for lot in lots])

    def smoothed(self, bandwidth: float, window: float) -> Problem:
        """Return the problem with its kinked loss smoothed by a bandwidth, and its curvature by a window."""
        assert not isinstance(self.model, CustomModel)  # whose kinks are the user's business
        return replace(self, model=replace(self.model, bandwidth=bandwidth, window=window))

    def minimising(self, loss: IndexLoss, tilt: Array | None = None) -> Problem:
        """Return the problem of another loss, with a tilt if its scale is from the data."""
        assert not isinstance(self.model, CustomModel)
        return replace(self, model=replace(self.model, loss=loss, bandwidth=0.0, window=0.0, tilt=tilt))
