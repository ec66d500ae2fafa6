"""A family of unbiased scores for one model, and their moments over all records.

Members share one population: each has expectation the true score, so a combination with weights that sum to 1 has it
too. What fitting needs are sums over records: of scores, of their outer products, and of Hessians. They are taken batch
by batch through the engine, so a release larger than memory is fitted in passes. The draws of a record depend on the
seed and on its place alone: every pass sees the same objective.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from versadp.correction.form import Form, sums_of
from versadp.engine import add_up, is_remote, local_engine
from versadp.estimation.sizes import KEPT_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from versadp.correction import Records
    from versadp.correction.form import Sums
    from versadp.engine import Engine

    Array = NDArray[np.float64]

PLACED = 0x91ACE  # tells a generator for all lots from those of a lot


class Source(Protocol):
    """A source of records; it can be read as often as needed, on any machine."""

    @property
    def rows(self) -> int:
        """Number of records."""
        ...

    @property
    def travels(self) -> bool:
        """True if handles can be read by other processes; those of records in memory cannot."""
        ...

    def handles(self) -> Sequence[Any]:
        """Return small handles that can be sent elsewhere, in the same order each time."""
        ...

    def read(self, handle: Any) -> Iterable[tuple[int, Records]]:
        """Yield the records of a handle, lot by lot, each with its number."""
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
        self._kept: list[Prepared] | None = None
        self._name = secrets.token_hex(8)

    @property
    def names(self) -> tuple[str, ...]:
        """The members."""
        return tuple(name for form in self.forms for name in form.names)

    def moments(self, theta: Array, mix: Array, *, hessian: bool = True) -> Moments:
        """Return the moments of the combinations in the rows of `mix` (G, members)."""
        mix = np.atleast_2d(np.asarray(mix, dtype=float))
        n, score, outer, total = self.total(Task(self.forms, self.size, theta, mix, hessian))
        shape = (len(mix), self.size, len(mix), self.size)
        return Moments(n, score / n, (outer / n).reshape(shape), (total + total.T) / (2 * n))

    def total(self, task: Summing) -> Any:
        """Return the sums that a task takes, over all records: lot by lot, in the same order wherever they are."""
        totals = self._runner.sum(task.sums, self._prepared()) if self._few() else add_up(self._read(task.sums))
        assert totals is not None
        return totals

    def each(self, function: Callable[[Prepared], Array]) -> list[Array]:
        """Return what a function makes of each lot of records, prepared."""
        return list(self._runner.map(function, self._prepared()) if self._few() else self._read(function))

    def _read(self, function: Callable[[Prepared], Any]) -> Iterator[Any]:
        """Yield what a function makes of each lot of records, read where it is worked on."""
        work: Callable[[Any], list[Any]] = partial(of_lots, function, self.forms, self.seed, self.source)
        if is_remote(self._runner):  # whoever is there keeps as much as we would
            work = Kept(self._name, self._points, function, self.forms, self.seed, self.source)
        return (each for several in self._runner.map(work, self.source.handles()) for each in several)

    @property
    def _runner(self) -> Engine:
        """The engine that does the work: records that are in memory are worked on by this process."""
        return self.engine if is_remote(self.engine) and self.source.travels else local_engine(self.engine)

    def _few(self) -> bool:
        """Return True if draws are few enough to be kept here between passes; if not, they are drawn again in each."""
        return self.source.rows * self._points <= KEPT_NUMBERS and not is_remote(self._runner)

    @property
    def _points(self) -> int:
        """Numbers that are prepared of a record."""
        return sum(form.points for form in self.forms)

    def _prepared(self) -> list[Prepared]:
        if self._kept is None:
            self._kept = [
                draw(self.forms, self.seed, number, records)
                for handle in self.source.handles()
                for number, records in self.source.read(handle)
            ]
        return self._kept


Prepared = list[Any]
"""What each form prepared of some records."""


class Summing(Protocol):
    """Sums of one pass over records. It holds no data, and travels to the worker that has them."""

    def sums(self, prepared: Prepared) -> tuple[Any, ...]:
        """Return the sums over some records."""
        ...


def draw(forms: tuple[Form, ...], seed: int, number: int, records: Records) -> Prepared:
    """Return all that does not depend on theta."""
    return [form.prepare(records, generator(form, records, seed, number, k)) for k, form in enumerate(forms)]


def generator(form: Form, records: Records, seed: int, number: int, *own: int) -> np.random.Generator:
    """Return what a form draws from for some records.

    It is the same for all lots if records have places and the form draws for each by its own (`placed`); otherwise each
    lot, by its number, has one of its own.
    """
    by_place = form.placed and records.before is not None
    return np.random.default_rng([seed, *own, PLACED] if by_place else [seed, number, *own])


def of_lots(
    function: Callable[[Prepared], Any], forms: tuple[Form, ...], seed: int, source: Source, handle: Any
) -> list[Any]:
    """Return what a function makes of each lot of a handle, read here."""
    return [function(draw(forms, seed, number, records)) for number, records in source.read(handle)]


class Keeper:
    """Cache of what this process has read or prepared, by name and handle, for workers of many passes."""

    def __init__(self) -> None:
        self._lock, self._lots, self._numbers = Lock(), dict[tuple[str, int], tuple[list[Any], int]](), 0

    def find(self, name: str, number: int) -> list[Any] | None:
        """Return the lots of a handle, if they were kept."""
        with self._lock:
            return self._lots.get((name, number), (None, 0))[0]

    def pop(self, name: str, number: int) -> list[Any] | None:
        """Return the lots of a handle, if they were kept, and keep them no longer."""
        with self._lock:
            lots, numbers = self._lots.pop((name, number), (None, 0))
            self._numbers -= numbers
            return lots

    def keep(self, name: str, number: int, lots: list[Any], numbers: int) -> None:
        """Keep some lots in place of those of older names; what is too much is made again in each pass."""
        with self._lock:
            others = [key for key in self._lots if key[0] != name]
            while others and self._numbers + numbers > KEPT_NUMBERS:
                oldest = [key for key in others if key[0] == others[0][0]]
                others.remove(oldest[-1])  # of the oldest name the last lot: the first are asked for next
                self._numbers -= self._lots.pop(oldest[-1])[1]
            if (name, number) not in self._lots and self._numbers + numbers <= KEPT_NUMBERS:
                self._lots[name, number] = lots, numbers
                self._numbers += numbers


KEEPER = Keeper()


@dataclass(frozen=True)
class Kept:
    """`of_lots` for a family with a name: what this process prepared of a handle is taken from the cache."""

    name: str
    points: int
    function: Callable[[Prepared], Any]
    forms: tuple[Form, ...]
    seed: int
    source: Source

    def __call__(self, handle: Any) -> list[Any]:
        """Return what the function makes of each lot of a handle."""
        lots = KEEPER.find(self.name, handle.number)
        if lots is None:
            read = list(self.source.read(handle))
            lots = [draw(self.forms, self.seed, number, records) for number, records in read]
            KEEPER.keep(self.name, handle.number, lots, self.points * sum(records.rows for _, records in read))
        return [self.function(lot) for lot in lots]


@dataclass(frozen=True)
class Task:
    """Sums of scores at a theta."""

    forms: tuple[Form, ...]
    size: int
    theta: Array
    mix: Array
    hessian: bool

    def sums(self, prepared: Prepared) -> Sums:
        """Return number, sum of scores, of their products and of Hessians."""
        if len(self.forms) == 1:
            return self.forms[0].sums(prepared[0], self.theta, self.mix, hessian=self.hessian)
        return sums_of(*evaluated(self.forms, prepared, self.theta, self.mix, hessian=self.hessian))


@dataclass(frozen=True)
class Quietly:
    """A task at parameters far from any estimate: overflows there are infinite, without a warning."""

    task: Summing

    def sums(self, prepared: Prepared) -> tuple[Any, ...]:
        """Return the sums over some records."""
        with np.errstate(all="ignore"):  # here, for each thread has its own
            return self.task.sums(prepared)


def evaluated(
    forms: tuple[Form, ...], prepared: Prepared, theta: Array, mix: Array, *, hessian: bool
) -> tuple[Array, Array]:
    """Return scores (n, G, p) of combinations of the members of all forms, and the sum of Hessians of the first."""
    parts, at = [], 0
    for form, points in zip(forms, prepared, strict=True):
        columns = mix[:, at : at + len(form.names)]
        at += len(form.names)
        parts.append(form.evaluate(points, theta, columns, hessian=hessian))
    score, total = parts[0]
    for each, bend in parts[1:]:
        score, total = score + each, total + bend
    return score, total
