"""Engines on one machine: in this thread, on threads, or on processes."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from versadp.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor, Future

Batch = TypeVar("Batch")
Result = TypeVar("Result")


class Engine(Protocol):
    """What releasing and fitting ask of whoever does the work."""

    @property
    def name(self) -> str:
        """What the engine is called."""
        ...

    def map(self, function: Callable[[Batch], Result], batches: Iterable[Batch]) -> Iterator[Result]:
        """Yield `function(batch)` for each batch, in order, holding only a few batches at a time."""
        ...

    def sum(self, function: Callable[[Batch], Result], batches: Iterable[Batch]) -> Result | None:
        """Return the sum of `function(batch)` over the batches, added in order; None if there are none."""
        ...


class _Summing(ABC):
    """The sum of a map, added in the order of the batches: the same rounding on every engine."""

    @abstractmethod
    def map(self, function: Callable[[Batch], Result], batches: Iterable[Batch]) -> Iterator[Result]:
        """Yield `function(batch)` for each batch."""

    def sum(self, function: Callable[[Batch], Result], batches: Iterable[Batch]) -> Result | None:
        """Return the sum of `function(batch)` over the batches, added in order; None if there are none."""
        total: Any = None
        for part in self.map(function, batches):
            total = part if total is None else _add(total, part)
        return total  # type: ignore[no-any-return] # sums of tuples


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, tuple):
        return tuple(_add(a, b) for a, b in zip(left, right, strict=True))
    return left + right


@dataclass(frozen=True)
class Local(_Summing):
    """All work in the calling thread.

    Examples
    --------
    >>> Local().sum(lambda batch: (len(batch), sum(batch)), [[1, 2], [3]])
    (3, 6)
    """

    name: str = "local"

    def map(self, function: Callable[[Batch], Result], batches: Iterable[Batch]) -> Iterator[Result]:
        """Yield `function(batch)` for each batch."""
        return map(function, batches)


@dataclass(frozen=True)
class Pool(_Summing):
    """Threads, or processes that start afresh and share nothing.

    Compiled kernels, the cipher and numpy let go of Python's lock, so threads scale and copy nothing; processes pay
    for sending every batch, and serve functions that hold the lock. `docs/decisions/0003-engine.md` has the figures.

    Examples
    --------
    >>> list(Pool("threads", workers=2).map(abs, [-1, -2, -3]))
    [1, 2, 3]
    """

    name: str
    workers: int

    def map(self, function: Callable[[Batch], Result], batches: Iterable[Batch]) -> Iterator[Result]:
        """Yield `function(batch)` for each batch, in order, with at most two batches a worker under way."""
        if isinstance(batches, list) and len(batches) == 1:  # nothing to share out
            yield function(batches[0])
            return
        waiting: deque[Future[Result]] = deque()
        executor = self._executor()
        try:
            for batch in batches:
                waiting.append(executor.submit(function, batch))
                if len(waiting) >= 2 * self.workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # also when the caller stops early or a batch fails: nothing keeps running behind its back
            executor.shutdown(wait=True, cancel_futures=True)

    def _executor(self) -> Executor:
        from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

        if self.name == "threads":
            return ThreadPoolExecutor(self.workers)
        import multiprocessing

        # never fork: a copy of the parent's state, secrets and locks included, is nobody's to have
        return ProcessPoolExecutor(self.workers, mp_context=multiprocessing.get_context("spawn"))


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def as_engine(engine: str | Engine) -> Engine:
    """Return an engine from its name, or as it is.

    "auto" is threads where there is more than one core, since that was measured to be fastest for compiled work.

    Examples
    --------
    >>> as_engine("local")
    Local(name='local')
    >>> as_engine("cloud")
    Traceback (most recent call last):
    ...
    versadp.errors.ParameterError: there is no engine 'cloud'
      hint: choose from auto, local, threads, processes
    """
    if not isinstance(engine, str):
        return engine
    if engine == "auto":
        engine = "threads" if cores() > 1 else "local"
    if engine == "local":
        return Local()
    if engine in {"threads", "processes"}:
        return Pool(engine, cores())
    raise ParameterError(f"there is no engine {engine!r}", hint="choose from auto, local, threads, processes")
