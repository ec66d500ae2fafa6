"""Engines by name: a new one is a file of its own and one line here, or `register` from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from versadp.engine.base import Engine
from versadp.engine.local import Local, Pool, cores
from versadp.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    Factory = Callable[[], Engine]


def _fastest() -> Engine:
    """Return threads where there is more than one core, since that was measured to be fastest for compiled work."""
    return Pool("threads", cores()) if cores() > 1 else Local()


ENGINES: dict[str, Factory] = {
    "auto": _fastest,
    "local": Local,
    "threads": lambda: Pool("threads", cores()),
    "processes": lambda: Pool("processes", cores()),
}


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


def as_engine(engine: str | Engine) -> Engine:
    """Return an engine from its name, or as it is.

    Examples
    --------
    >>> as_engine("local")
    Local(name='local')
    >>> as_engine("cloud")
    Traceback (most recent call last):
    ...
    versadp.errors.ParameterError: there is no engine 'cloud'
      hint: choose from auto, local, threads, processes, or give an engine of your own
    """
    found: object = engine
    if isinstance(engine, str):
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
