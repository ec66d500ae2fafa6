"""The interface of corrections to estimation: members that are evaluated together on some records.

    E of each member's score at a released record  =  score of the true record

Signed points, Laplacians and separable terms have one interface: a form prepares what does not depend on the
parameters, once, and evaluates G combinations of its members at any parameters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from versadp.correction.records import Records

Array = NDArray[np.float64]
Sums = tuple[int, Array, Array, Array]
"""Number of records, and sums of scores (G, p), of their products (Gp, Gp) and of Hessians (p, p)."""


class Form(ABC):
    """Unbiased scores of a model under noise.

    Attributes
    ----------
    evaluator : str
        How scores are evaluated, in the words of `result.correction`.
    placed : bool
        True if draws belong to a record's place, whatever lots it is read in.
    """

    evaluator: ClassVar[str] = "closed form"
    placed: ClassVar[bool] = False

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The members."""

    @property
    def points(self) -> int:
        """Numbers that are kept for a record."""
        return 1

    @property
    def evaluations(self) -> int:
        """Points per record at which a function of records is evaluated."""
        return self.points

    @property
    def said(self) -> str:
        """The correction in words, with the number of its terms and what they may shift; empty of several members."""
        return ""

    def only(self, members: tuple[str, ...]) -> Form:  # noqa: ARG002 - for others to override
        """Return the form with those of its members that are among some, if it can leave others out."""
        return self

    @abstractmethod
    def prepare(self, records: Records, rng: np.random.Generator) -> Any:
        """Return all that does not depend on theta."""

    @abstractmethod
    def evaluate(self, prepared: Any, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p) of the combinations in mix (G, members), and the Hessian of the first."""

    def sums(self, prepared: Any, theta: Array, mix: Array, *, hessian: bool) -> Sums:
        """Return number of records, and sums of scores, of their products and of Hessians."""
        return sums_of(*self.evaluate(prepared, theta, mix, hessian=hessian))

    def score_line(self, prepared: Any, theta: Array) -> tuple[Array, Array]:
        """Return the sum of the scores of the sum of all members, and of Hessians."""
        score, bend = self.evaluate(prepared, theta, np.ones((1, len(self.names))), hessian=True)
        return score.sum(axis=(0, 1)), bend


class SingleForm(Form):
    """A form with one member."""

    @abstractmethod
    def weighted_scores(self, prepared: Any, theta: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, p), times the records' weights, and the sum of Hessians."""

    def evaluate(self, prepared: Any, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p) of multiples of the member, and the Hessian of the first."""
        score, bend = self.weighted_scores(prepared, theta, hessian=hessian)
        weight = mix.sum(axis=1)
        return score[:, None] * weight[None, :, None], bend * weight[0]


def sums_of(score: Array, bend: Array) -> Sums:
    """Return number of records, and sums of their scores (n, G, p), of products of these, and of Hessians."""
    flat = score.reshape(len(score), -1)
    return len(score), score.sum(axis=0), flat.T @ flat, bend


def is_whole(mix: Array) -> bool:
    """Return True if one combination is asked for, and that is the one member itself."""
    return mix.shape == (1, 1) and mix[0, 0] == 1
