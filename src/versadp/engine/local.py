"""Engines on one machine: in this thread, on threads, or on processes."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from versadp import inputs
from versadp.engine.base import add_up
from versadp.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor, Future

    from versadp.engine.base import Item, Result


@dataclass(frozen=True)
class Serial:
    """All work in the calling thread.

    Examples
    --------
    >>> Serial().sum(lambda item: (len(item), sum(item)), [[1, 2], [3]])
    (3, 6)
    """

    name: str = "serial"

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield `function(item)` for each item."""
        return map(function, items)

    def sum(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Result | None:
        """Return the sum of `function(item)` over the items, added in order; None if there are none."""
        return add_up(self.map(function, items))


@dataclass(frozen=True)
class Pool:
    """Threads, or processes that start afresh and share nothing.

    Compiled kernels, the cipher and numpy let go of Python's lock, so threads scale and copy nothing; processes pay
    for sending every item, and serve functions that hold the lock. `docs/decisions/0003-engine.md` has the figures.

    Parameters
    ----------
    name : {"threads", "processes"}
    workers : int
    ahead : int
        Items a worker that may be under way, or done and waiting for an earlier one: it bounds what is in memory.

    Examples
    --------
    >>> list(Pool("threads", workers=2).map(abs, [-1, -2, -3]))
    [1, 2, 3]
    """

    name: Literal["threads", "processes"]
    workers: int
    ahead: int = field(default=2, repr=False)

    def __post_init__(self) -> None:
        if self.name not in {"threads", "processes"}:
            raise ParameterError("a pool is of threads or of processes")
        inputs.whole("workers", self.workers, 1)
        inputs.whole("ahead", self.ahead, 1)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield `function(item)` for each item, in order, with a few items a worker under way."""
        if isinstance(items, list) and len(items) == 1:  # nothing to share out
            yield function(items[0])
            return
        waiting: deque[Future[Result]] = deque()
        executor = self._executor()
        try:
            for item in items:
                waiting.append(executor.submit(function, item))
                if len(waiting) >= self.ahead * self.workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # also when the caller stops early or an item fails: nothing keeps running behind its back
            executor.shutdown(wait=True, cancel_futures=True)

    def sum(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Result | None:
        """Return the sum of `function(item)` over the items, added in order; None if there are none."""
        return add_up(self.map(function, items))

    def _executor(self) -> Executor:
        from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

        if self.name == "threads":
            return ThreadPoolExecutor(self.workers)
        import multiprocessing

        # never fork: a copy of the parent's state, secrets and locks included, is nobody's to have
        return ProcessPoolExecutor(self.workers, mp_context=multiprocessing.get_context("spawn"))


def here() -> Serial | Pool:
    """Return all cores of this machine: threads, which were measured to be fastest for compiled work."""
    return Pool("threads", cores()) if cores() > 1 else Serial()


def cores() -> int:
    """Return the number of cores that this process may use.

    Examples
    --------
    >>> cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
