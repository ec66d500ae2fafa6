"""Engines: a name and two verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")
Result = TypeVar("Result")


@runtime_checkable
class Engine(Protocol):
    """Interface that releasing and fitting use to run work.

    An engine of your own is any object with a name and these two verbs; `add_up` helps with the second.

    Examples
    --------
    >>> class Backwards:
    ...     name = "backwards"
    ...     def map(self, function, items):
    ...         return reversed([function(item) for item in reversed(list(items))])
    ...     def sum(self, function, items):
    ...         return add_up(self.map(function, items))
    >>> isinstance(Backwards(), Engine)
    True
    >>> list(Backwards().map(abs, [-1, 2]))
    [1, 2]
    """

    @property
    def name(self) -> str:
        """Name of the engine."""
        ...

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield `function(item)` for each item, in order, holding only a few items at a time.

        Items with an equal `origin` are about the same records: who worked on one may have kept something for the next.
        """
        ...

    def sum(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Result | None:
        """Return the sum of `function(item)` over the items, added in order as `add_up` does; None without items."""
        ...


def local_engine(engine: Engine) -> Engine:
    """Return the engine for what is in this process's memory: itself, unless what it works on is sent elsewhere.

    An engine that sends items elsewhere says so by an attribute `local_engine`, an engine that does not.

    Examples
    --------
    >>> from versadp.engine import Serial
    >>> local_engine(Serial())
    Serial(name='serial')
    """
    found: Engine = getattr(engine, "local_engine", engine)
    return found


def is_remote(engine: Engine) -> bool:
    """Tell whether an engine sends items elsewhere, so that names of records go to it and never records.

    Examples
    --------
    >>> from versadp.engine import Serial
    >>> is_remote(Serial())
    False
    """
    return local_engine(engine) is not engine


def add_up(results: Iterable[Result]) -> Result | None:
    """Return the sum of results, added in the order in which they come: the same rounding on every engine.

    Parameters
    ----------
    results : iterable of numbers, arrays, or tuples of them
        Tuples are added entry by entry.

    Returns
    -------
    The sum, or None if there are no results.

    Examples
    --------
    >>> add_up([(1, 0.5), (2, 0.25)])
    (3, 0.75)
    """
    total: Any = None
    for result in results:
        total = result if total is None else _add(total, result)
    return total  # type: ignore[no-any-return] # sums of tuples


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, tuple):
        return tuple(_add(a, b) for a, b in zip(left, right, strict=True))
    return left + right
