"""An engine on a Dask cluster: one that it starts on this machine, one that it joins, or one of a client.

What travels is a function and items: small names of records that whoever works on them reads. Results come back in
the order of the items and are added here, so they are those of this machine. A few tasks a core are under way at a
time. What a lost worker was doing is done again by another: every function that we send is pure, or writes the same
bytes under the same name.

A task costs scheduler, driver and worker some milliseconds, whatever it does. So items that take less than `WORTH` are
sent several together, as many as the first ones say, and fewer towards the end, so that nobody waits for the last.

Functions and items are sealed: what they hold shows neither in the cluster's logs nor on its dashboard.
"""

from __future__ import annotations

import logging
import pickle
import secrets
import time
import weakref
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from operator import length_hint
from typing import TYPE_CHECKING, Any, NamedTuple

from versadp.engine.base import add_up
from versadp.engine.code import code_here, differing
from versadp.engine.local import cores, here
from versadp.errors import EngineError, MissingExtraError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from versadp.engine.base import Engine, Item, Result

    Code = tuple[tuple[str, str], ...]

PATIENCE = 60.0  # seconds without any worker, or without an answer of the scheduler, after which all is lost
UNDER_WAY = 2  # tasks a core
WORTH = 0.2  # seconds of work that are worth a task of their own
LEAST = 0.5  # of it that a task has even if others wait
WHOLE = UNDER_WAY  # fair shares, and times what is worth a task, that it may have to keep a file together
TOGETHER = 16  # items in a task, at most: their results are held together, too
HERE: dict[str, Any] = {  # a cluster that nobody else sees
    "threads_per_worker": 1,
    "host": "127.0.0.1",
    "scheduler_kwargs": {"dashboard": False, "dashboard_address": "127.0.0.1:0"},
    "silence_logs": logging.CRITICAL,
}
JOINING = 30.0  # seconds in which a scheduler must answer
_LOOK = 2.0  # seconds after which it is asked whether there is still somebody at work


class Dask:
    """A Dask cluster at work.

    Parameters
    ----------
    cluster : str or distributed.Client, optional
        The address `host:port` of a scheduler, or a client, which stays its owner's. Without one a cluster of one
        process a core is started on this machine with the first work, and ended by `close`.

    Examples
    --------
    >>> Dask("127.0.0.1:8786")
    Dask('127.0.0.1:8786')
    """

    name = "dask"

    def __init__(self, cluster: Any = None) -> None:
        self._given = None if cluster is None or isinstance(cluster, str) else cluster
        self._address = cluster if isinstance(cluster, str) else None
        self._client: Any = None
        self._did: dict[int, str] = {}  # who worked last on an origin, and may have kept something
        self._end: Callable[[], object] = bool
        if getattr(self._given, "asynchronous", False):
            raise ParameterError("a client must not be asynchronous", hint="make one with Client(address)")

    def __repr__(self) -> str:
        shown = "" if self._given is None and self._address is None else repr(self._address or "a client")
        return f"Dask({shown})"

    @property
    def local_engine(self) -> Engine:
        """The engine for what is in this process's memory, and is not sent."""
        return here()

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield `function(item)` for each item, in order, with at most two tasks a core under way."""
        client = self._open()
        name, work, waiting = f"versadp-{secrets.token_hex(8)}", _sealed(function), deque[_Task]()
        with _Told():
            most = UNDER_WAY * max(sum(client.nthreads().values()), 1)
        bundles = _Bundles(items, self._did, most)
        try:
            for number, bundle in enumerate(bundles):
                where = {} if bundle.last is None else {"workers": bundle.last, "allow_other_workers": True}
                with _Told():
                    sent = client.submit(
                        _run, code_here(), work, bundle.sealed, key=f"{name}-{number}", pure=False, **where
                    )
                waiting.append(_Task(sent, bundle))
                if len(waiting) >= most:
                    yield from self._results(waiting.popleft(), bundles)
            while waiting:
                yield from self._results(waiting.popleft(), bundles)
        except KeyboardInterrupt:  # nobody wants to wait then
            waiting.clear()
            raise
        finally:  # also when the caller stops early or an item fails: nothing keeps running behind its back
            self._settle(waiting)

    def sum(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Result | None:
        """Return the sum of `function(item)` over the items, added in order; None if there are none."""
        return add_up(self.map(function, items))

    def close(self) -> None:
        """End the cluster that was started here, or leave the one that was joined; a client stays as it is."""
        self._client = None
        self._did.clear()
        end, self._end = self._end, bool
        end()

    def _open(self) -> Any:
        """Return a client of a cluster whose workers run what runs here."""
        if self._client is not None:
            return self._client
        distributed = _distributed()
        if self._given is not None:
            client = self._given
        elif self._address is not None:
            client = _join(distributed, self._address)
            self._end = weakref.finalize(self, _leave, client, None)
        else:
            cluster = distributed.LocalCluster(n_workers=cores(), **HERE)
            client = distributed.Client(cluster, set_as_default=False)
            self._end = weakref.finalize(self, _leave, client, cluster)
        try:
            _check(client)
        except BaseException:
            self.close()
            raise
        self._client = client
        return client

    def _results(self, task: _Task, bundles: _Bundles) -> list[Any]:
        """Return what a task came to, as long as there is somebody to work on it; remember who that was."""
        alone = 0.0
        while True:
            with _Told(task.sent):
                try:
                    worker, seconds, found = task.sent.result(timeout=_LOOK)
                except TimeoutError:
                    if task.sent.status == "error":  # the function's own
                        raise
                else:
                    self._did.update(dict.fromkeys(task.bundle.origins, worker))
                    bundles.took(seconds, len(found))
                    return found  # type: ignore[no-any-return] # Dask has no types
                alone = 0.0 if self._client.nthreads() else alone + _LOOK
            if alone >= PATIENCE:
                raise EngineError(
                    f"the cluster has had no worker for {PATIENCE:.0f} s", hint="start workers, and run the same again"
                )

    @staticmethod
    def _settle(waiting: deque[_Task]) -> None:
        """Wait until what is under way has ended, whatever it came to; what is lost is not waited for."""
        until = time.monotonic() + PATIENCE
        for task in waiting:
            with suppress(Exception):
                task.sent.exception(timeout=max(until - time.monotonic(), 0.1))


class _Bundle(NamedTuple):
    """Items of one task, sealed, with their origins, and who worked on them last."""

    sealed: tuple[Sealed, ...]
    origins: tuple[int, ...]
    last: str | None


class _Task(NamedTuple):
    """Pending futures."""

    sent: Any
    bundle: _Bundle


class _Item(NamedTuple):
    """An item, sealed; whose records it has, wherever they are asked for; and which file they are in, if in one."""

    sealed: Sealed
    origin: int
    file: Any


class _Bundles:
    """Items, as many together as are worth a task; all of one bundle were last with one worker.

    Items of one file go together if that is not far more than a fair share: whoever reads one takes the digest of all
    of it.
    """

    def __init__(self, items: Iterable[Any], did: Mapping[int, str], tasks: int) -> None:
        self._did, self._tasks = did, tasks
        self._left = length_hint(items, -1)
        self._items = iter(items)
        self._next: _Item | None = self._read()
        self._seconds = self._count = 0.0

    def took(self, seconds: float, items: int) -> None:
        """Remember how long some items took."""
        self._seconds, self._count = self._seconds + seconds, self._count + items

    def __iter__(self) -> Iterator[_Bundle]:
        while self._next is not None:
            (most, whole), first = self._most(), self._next
            bundle, last, of_file = [first], self._did.get(first.origin), 1
            self._next = self._read()
            while self._next is not None and self._goes_with(first, self._next):
                on = self._next.file is not None and self._next.file == bundle[-1].file
                # another file is begun if one as large as the last has room
                if len(bundle) >= (whole if on else most) or (not on and len(bundle) + of_file > whole):
                    break
                of_file = of_file + 1 if on else 1
                bundle.append(self._next)
                self._next = self._read()
            yield _Bundle(tuple(item.sealed for item in bundle), tuple(item.origin for item in bundle), last)

    def _goes_with(self, first: _Item, item: _Item) -> bool:
        known = self._count > 0 or (first.file is not None and first.file == item.file)
        return known and self._did.get(first.origin) == self._did.get(item.origin)

    def _most(self) -> tuple[int, int]:
        """Return how many items the next task may have, and how many if that keeps a file together."""
        worth = WORTH * self._count / max(self._seconds, 1e-9) if self._count else TOGETHER
        fair = worth if self._left < 0 else (self._left + 1) / self._tasks  # of what is left, for all who work
        least = worth * LEAST if self._count else 1  # to wait for the last costs less than many small tasks
        most = max(min(max(fair, least), worth, TOGETHER), 1)
        return int(most), int(max(min(WHOLE * fair, WHOLE * worth, TOGETHER), most))

    def _read(self) -> _Item | None:
        for item in self._items:
            self._left -= self._left > 0
            sealed = _sealed(item)
            return _Item(sealed, hash(getattr(item, "origin", sealed)), getattr(item, "file", None))
        return None


@dataclass(frozen=True)
class Sealed:
    """Bytes that are shown nowhere."""

    data: bytes

    def __repr__(self) -> str:
        return f"<{len(self.data)} bytes>"


def _sealed(thing: object) -> Sealed:
    import cloudpickle

    return Sealed(cloudpickle.dumps(thing))


@lru_cache(maxsize=2)
def _opened(data: bytes) -> Callable[[Any], Any]:
    return pickle.loads(data)  # type: ignore[no-any-return] # noqa: S301 - a function that the driver sent


def _run(code: Code, work: Sealed, items: tuple[Sealed, ...]) -> tuple[str, float, list[Any]]:
    """Do what was sent, where it was sent to, unless other code runs there; say where that is, and how long it took."""
    if wrong := differing(code, code_here()):
        raise _stranger("a worker", wrong)
    begun, function = time.perf_counter(), _opened(work.data)
    found = [function(pickle.loads(item.data)) for item in items]  # noqa: S301 - what the driver sent
    return _distributed().get_worker().address, time.perf_counter() - begun, found


def _stranger(who: str, wrong: list[str]) -> EngineError:
    return EngineError(
        f"{who} runs another version of {', '.join(wrong)} than the driver",
        hint="install the same versions everywhere: results would not be the same",
    )


def _check(client: Any) -> None:
    """Refuse workers that run other code than this process."""

    def asked() -> Any:  # sent by value: whoever is asked need not have versadp
        try:
            from versadp.engine.code import code_here
        except ImportError:
            return None
        return code_here()

    with _Told():
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise EngineError("the cluster has no worker", hint="start one: dask worker ADDRESS") from None
        answers = client.run(asked)
    for worker, code in sorted(answers.items()):
        if wrong := differing(code_here(), code):
            raise _stranger(f"the worker {worker}", wrong)


class _Told:
    """Turns what becomes of a cluster into our error; what a task's own function raised stays as it is."""

    def __init__(self, task: Any = None) -> None:
        self._task = task

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> None:
        if kind is None or issubclass(kind, EngineError | KeyboardInterrupt | GeneratorExit):
            return
        if kind.__name__ == "KilledWorker":
            raise EngineError(
                "several workers were lost while they worked on the same item",
                hint="it may need more memory than they have: give them more, or fewer threads each",
            ) from None
        if self._task is None or self._task.status != "error":
            raise EngineError(
                f"the cluster is lost ({kind.__name__})", hint="start it again and run the same: a release goes on"
            ) from None


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("dask is not installed", hint="pip install 'versadp[dask]'") from None
    return distributed


def _join(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(f"tcp://{address}", set_as_default=False, timeout=JOINING)
    except (OSError, TimeoutError, ValueError) as problem:
        raise EngineError(
            f"there is no scheduler at {address!r} ({type(problem).__name__})", hint="start one: dask scheduler"
        ) from None


def _leave(client: Any, cluster: Any) -> None:
    """Close what was opened; a cluster that is lost cannot be left otherwise than at once."""
    for each in (client, cluster):
        if each is not None:
            with suppress(Exception):
                each.close(timeout=10)
