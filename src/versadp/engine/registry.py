"""Engines by name: a new one is a file of its own and one line here, or `register` from outside."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from versadp.engine.base import Engine
from versadp.engine.dask import Dask
from versadp.engine.local import Pool, Serial, cores, here
from versadp.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Factory = Callable[[], Engine]


ENGINES: dict[str, Factory] = {
    "auto": here,
    "local": here,
    "serial": Serial,
    "threads": lambda: Pool("threads", cores()),
    "processes": lambda: Pool("processes", cores()),
    "dask": Dask,
}
ADDRESSED: dict[str, Callable[[str], Engine]] = {"dask": Dask}  # what stands before :// and the address of a cluster


def register(name: str, factory: Factory) -> None:
    """Make an engine known under a name, so that `fit(engine=name)` and `release(engine=name)` find it.

    Parameters
    ----------
    name : str
        One that no engine has yet.
    factory : callable
        Returns the engine; it is called each time that the engine is asked for.

    Examples
    --------
    >>> register("two threads", lambda: Pool("threads", 2))
    >>> as_engine("two threads")
    Pool(name='threads', workers=2)
    >>> del ENGINES["two threads"]
    """
    if not isinstance(name, str) or not name:
        raise ParameterError("an engine needs a name")
    if name in ENGINES:
        raise ParameterError(f"there is an engine {name!r} already", hint="choose another name")
    if not callable(factory):
        raise ParameterError(f"engine {name!r} needs a function that makes it", hint="e.g. its class")
    ENGINES[name] = factory


def as_engine(engine: str | Engine | Any) -> Engine:
    """Return an engine from its name, its address or a client of a cluster; or as it is.

    Examples
    --------
    >>> as_engine("serial")
    Serial(name='serial')
    >>> as_engine("cloud")
    Traceback (most recent call last):
    ...
    versadp.errors.ParameterError: there is no engine 'cloud'
      hint: choose from auto, local, serial, threads, processes, dask, or give an engine of your own
    >>> as_engine("dask://127.0.0.1:8786")
    Dask('127.0.0.1:8786')
    """
    found: object = Dask(engine) if _is_client(engine) else engine
    if isinstance(engine, str):
        kind, mark, address = engine.partition("://")
        if mark and kind in ADDRESSED:
            return ADDRESSED[kind](address)
        if engine not in ENGINES:
            known = ", ".join(ENGINES)
            raise ParameterError(
                f"there is no engine {engine!r}", hint=f"choose from {known}, or give an engine of your own"
            )
        found = ENGINES[engine]()
    if not isinstance(found, Engine) or isinstance(found, type):
        what = found.__name__ if isinstance(found, type) else type(found).__name__
        raise ParameterError(
            f"{what} is no engine: it needs a name, `map` and `sum`", hint="see versadp.engine.Engine for an example"
        )
    return found


def _is_client(engine: object) -> bool:
    """Tell a client of Dask, without importing what may not be there."""
    return any((kind.__module__, kind.__name__) == ("distributed.client", "Client") for kind in type(engine).__mro__)


@contextmanager
def at_work(engine: str | Engine | Any) -> Iterator[Engine]:
    """Give an engine for the length of some work; what was opened for it is closed after it.

    Examples
    --------
    >>> with at_work("local") as engine:
    ...     engine.sum(abs, [-1, 2])
    3
    """
    found = as_engine(engine)
    try:
        yield found
    finally:
        if found is not engine and hasattr(found, "close"):
            found.close()
