"""Serve an endpoint on this machine: uvicorn, with bounds on connections and their lives, and without any log.

A connection that sends its head byte by byte would be kept for ever, and addresses are not told apart. So one that is
not being answered is closed when it is `LIFE_SECONDS` old, or when it is the oldest such and there are more than
`MOST_CONNECTIONS`: whoever holds many idle ones keeps nobody out.
"""

from __future__ import annotations

import signal
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from versadp import inputs
from versadp.devices.web_endpoint import Limits, endpoint
from versadp.errors import MissingExtraError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from versadp.devices.collector import Collector

HOST, PORT = "127.0.0.1", 8000
MOST_CONNECTIONS = 512
LIFE_SECONDS = 30.0
AGAIN_SECONDS = 5.0  # after which a connection that was busy then is looked at again
STOP_SECONDS = 10  # for requests that are being answered when the server is told to stop
HEAD_BYTES = 2**14


def serve(
    collector: Collector,
    limits: Limits | None = None,
    *,
    host: str = HOST,
    port: int = PORT,
    origins: Sequence[str] = (),
    ready: Callable[[str], None] | None = None,
) -> None:
    """Take reports over HTTP until the process is told to stop (Ctrl-C, SIGTERM).

    Parameters
    ----------
    collector : Collector
    limits : Limits, optional
    host : str
        By default this machine alone can reach it.
    port : int
        0 takes one that is free.
    origins : sequence of str
        Pages of these origins may send reports from a browser.
    ready : callable, optional
        Is told the address when it can be reached.

    Examples
    --------
    >>> import tempfile, versadp as vdp
    >>> mech = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90)}), noise={"age": vdp.noise.Window(2)})
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with vdp.devices.Collector(place + "/round", mech, round="1", least=10) as collector:
    ...         serve(collector, port=0, ready=lambda address: signal.raise_signal(signal.SIGINT))
    """
    app = endpoint(collector, limits, origins=origins)
    uvicorn, connection = _uvicorn()
    if inputs.whole("port", port, 0) >= 2**16:
        raise ParameterError(f"there is no port {port}", hint="choose another with --port; 0 takes a free one")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=MOST_CONNECTIONS)
    except OSError as problem:
        raise ParameterError(
            f"cannot listen at {host}, port {port} ({problem.strerror})",
            hint="choose another with --port, or stop what listens there",
        ) from None
    config = uvicorn.Config(
        app,
        http=connection,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    shown = f"[{host}]" if ":" in host else host
    with listening:
        server = _Told(uvicorn.Server(config))
        with server.told_by_signals():
            if ready is not None:
                ready(f"http://{shown}:{listening.getsockname()[1]}/reports")
            server.server.run(sockets=[listening])


class _Told:
    """A server that stops when it is told to, and whose process goes on."""

    def __init__(self, server: Any) -> None:
        self.server = server
        server.capture_signals = self._untouched  # which would end the process once the server has stopped

    @contextmanager
    def _untouched(self) -> Iterator[None]:
        yield

    @contextmanager
    def told_by_signals(self) -> Iterator[None]:
        """Stop the server by a signal, in the main thread; others set `should_exit`."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: int, frame: object) -> None:  # noqa: ARG002 - of signal handlers
        self.server.should_exit = True


def _uvicorn() -> tuple[Any, type[Any]]:
    """Return uvicorn, and its connections with bounds."""
    try:
        import uvicorn
        from uvicorn.protocols.http.h11_impl import H11Protocol
    except ImportError:
        raise MissingExtraError(
            "the endpoint needs Starlette and uvicorn", hint="pip install versadp[collect]"
        ) from None

    class Connection(H11Protocol):
        """One connection: not one too many, and not for ever."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.client = None  # nobody needs to know
            self.began = self.loop.time()
            self._end = self.loop.call_later(LIFE_SECONDS, self._look)
            others: set[Any] = self.connections  # this one among them
            if len(others) > MOST_CONNECTIONS:
                oldest = min((each for each in others if each.is_idle), key=lambda each: each.began)
                others.discard(oldest)  # at once: more may come before it is lost
                oldest.transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            self._end.cancel()
            super().connection_lost(exc)

        @property
        def is_idle(self) -> bool:
            """True if no request is being answered: one that is has bounds of its own."""
            return self.cycle is None or self.cycle.response_complete

        def _look(self) -> None:
            """Close it if it is idle, or look again later."""
            if self.is_idle:
                self.transport.abort()
            else:
                self._end = self.loop.call_later(AGAIN_SECONDS, self._look)

    return uvicorn, Connection
