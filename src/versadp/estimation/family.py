"""A family of unbiased scores for one model, and their moments over all records.

Members share one population: each has expectation the true score, so a combination with weights that sum to 1 has it
too. What fitting needs are sums over records: of scores, of their outer products, and of Hessians. They are taken batch
by batch through the engine, so a release larger than memory is fitted in passes. The draws of a batch depend on the
seed and on its number alone: every pass sees the same objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from versadp.correction import Batch
    from versadp.engine import Engine

    Array = NDArray[np.float64]

KEPT_NUMBERS = 30_000_000  # of draws that are kept between passes


class Form(Protocol):
    """A form of the correction: members that are evaluated together."""

    @property
    def names(self) -> tuple[str, ...]:
        """The members."""
        ...

    def prepare(self, batch: Batch, rng: np.random.Generator) -> Any:
        """Return all that does not depend on theta."""
        ...

    def evaluate(self, prepared: Any, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p) of G combinations, and the Hessian of the first."""
        ...


class Source(Protocol):
    """Where batches come from; it can be read as often as needed."""

    @property
    def rows(self) -> int:
        """Number of records."""
        ...

    def batches(self) -> Iterable[Batch]:
        """Yield the batches, in the same order each time."""
        ...


class Moments(NamedTuple):
    """Means over records, for G combinations of members."""

    n: int
    score: Array  # (G, p)
    outer: Array  # (G, p, G, p): mean of products of scores
    hessian: Array  # (p, p) of the first combination

    def covariance(self, g: int = 0) -> Array:
        """Return the sandwich covariance of the estimate that combination g gives."""
        p = self.score.shape[1]
        centred = self.outer[g, :, g] - np.outer(self.score[g], self.score[g])
        inverse = np.linalg.inv(self.hessian)
        return np.asarray(inverse @ centred @ inverse.T / max(self.n - p, 1))


@dataclass
class Family:
    """The members of some forms, over the records of a source.

    Attributes
    ----------
    forms : tuple of Form
    source : Source
    size : int
        Number of parameters.
    engine : Engine
    seed : int
        Of the draws.
    """

    forms: tuple[Form, ...]
    source: Source
    size: int
    engine: Engine
    seed: int

    def __post_init__(self) -> None:
        self._kept: list[list[Any]] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The members."""
        return tuple(name for form in self.forms for name in form.names)

    def moments(self, theta: Array, mix: Array, *, hessian: bool = True) -> Moments:
        """Return the moments of the combinations in the rows of `mix` (G, members)."""
        mix = np.atleast_2d(np.asarray(mix, dtype=float))
        work = partial(self._sums, theta=theta, mix=mix, hessian=hessian)
        totals = self.engine.sum(work, self._prepared())
        assert totals is not None
        n, score, outer, total = totals
        shape = (len(mix), self.size, len(mix), self.size)
        return Moments(n, score / n, (outer / n).reshape(shape), (total + total.T) / (2 * n))

    def _prepared(self) -> Iterable[Any]:
        """Yield batches with their draws: kept in memory if they are few, drawn again in each pass if not."""
        points = sum(getattr(form, "points", 1) for form in self.forms)
        if self.source.rows * points > KEPT_NUMBERS:
            return enumerate(self.source.batches())
        if self._kept is None:
            self._kept = [self._draw(item) for item in enumerate(self.source.batches())]
        return self._kept

    def _draw(self, item: tuple[int, Batch]) -> list[Any]:
        number, batch = item
        return [
            form.prepare(batch, np.random.default_rng([self.seed, number, index]))
            for index, form in enumerate(self.forms)
        ]

    def _sums(self, item: Any, theta: Array, mix: Array, *, hessian: bool) -> tuple[int, Array, Array, Array]:
        prepared = item if isinstance(item, list) else self._draw(item)
        if len(self.forms) == 1 and hasattr(self.forms[0], "sums"):
            return self.forms[0].sums(prepared[0], theta, hessian=hessian)  # type: ignore[no-any-return] # forms need not have it
        score: Array | None = None
        total = np.zeros((self.size, self.size))
        at = 0
        for form, points in zip(self.forms, prepared, strict=True):
            columns = mix[:, at : at + len(form.names)]
            at += len(form.names)
            each, bend = form.evaluate(points, theta, columns, hessian=hessian)
            score = each if score is None else score + each
            total += bend
        assert score is not None
        flat = score.reshape(len(score), -1)
        return len(score), score.sum(axis=0), flat.T @ flat, total
