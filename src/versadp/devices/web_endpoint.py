"""Reports over HTTP: POST /reports takes lines of reports, and answers when they are on the disk.

Requests that wait together are written by one commit. What is bounded: bytes of a body, requests per second, requests
that wait, bytes that are held, seconds for which a body may take to arrive. Whoever comes beyond is told to come again
(429 with Retry-After), and has been told nothing else: the answer to a body that was read is the same whatever was in
it, and when.

    202  on the disk, or sorted out          413  longer than a body may be     415  compressed
    410  the round is closed                 429  too many                      503  the disk does not take it

No address, time or agent is kept. Needs the extra `versadp[collect]`.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from versadp import inputs
from versadp.devices.reports import LATE, whole_lines
from versadp.errors import MissingExtraError, ParameterError, VersadpError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from versadp.devices.collector import Collector

PATH = "/reports"
MOST_BODY = 2**20  # bytes; the largest limit that can be chosen
HELD_BYTES = 2**24  # of all bodies that are being read or wait
COMMIT_BYTES = 2**22  # of bodies that are written together
READ_SECONDS = 20.0  # for a body to arrive
AGAIN_SECONDS = 1  # after which whoever found the queue full may come again
MENDED_SECONDS = 30  # the same if the disk did not take it
_LOG = logging.getLogger("versadp.collect")


@dataclass(frozen=True)
class Limits:
    """Limits of an endpoint.

    Attributes
    ----------
    body : int
        Bytes of one request, at most 1 MiB.
    rate : float
        Requests per second, of everybody together: addresses are not told apart.
    queue : int
        Requests that may wait to be written.

    Examples
    --------
    >>> Limits(rate=10)
    Limits(body=65536, rate=10, queue=1000)
    """

    body: int = 2**16
    rate: float = 1000.0
    queue: int = 1000

    def __post_init__(self) -> None:
        inputs.whole("queue", self.queue, 1)
        inputs.number("rate", self.rate, 0, 1e6, open_low=True)
        if inputs.whole("body", self.body, 1024) > MOST_BODY:
            raise ParameterError(f"a body has at most {MOST_BODY:,} bytes", hint="send several, or use a file")


class Bucket:
    """Tokens that come back at a rate, a second's worth at most.

    Examples
    --------
    >>> bucket = Bucket(2.0)
    >>> bucket.wait(0.0), bucket.wait(0.0), bucket.wait(0.0), bucket.wait(0.5)
    (0.0, 0.0, 0.5, 0.0)
    """

    def __init__(self, rate: float) -> None:
        self._rate, self._most = rate, max(rate, 1.0)
        self._tokens, self._last = self._most, 0.0

    def wait(self, now: float) -> float:
        """Take a token and return 0, or return after how many seconds there is one."""
        self._tokens = min(self._most, self._tokens + (now - self._last) * self._rate)
        self._last = now
        if self._tokens >= 1:
            self._tokens -= 1
            return 0.0
        return (1 - self._tokens) / self._rate


class Waiting:
    """Bodies that wait to be written, and the one thread that writes them."""

    def __init__(self, collector: Collector, limits: Limits) -> None:
        self._collector, self._limits = collector, limits
        self._queue: deque[tuple[bytes, asyncio.Future[int]]] = deque()
        self._filled = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="versadp-collect")
        self.held = 0  # bytes of bodies that are being read or wait

    @property
    def is_full(self) -> bool:
        """True if no further request may wait."""
        return len(self._queue) >= self._limits.queue or self.held >= HELD_BYTES

    async def written(self, body: bytes) -> int:
        """Wait until a body is on the disk; return the status of the answer."""
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._queue.append((body, answer))
        self._filled.set()
        return await answer

    async def work(self) -> None:
        """Write what waits, again and again."""
        loop = asyncio.get_running_loop()
        while True:
            await self._filled.wait()
            some, size = list[tuple[bytes, asyncio.Future[int]]](), 0
            while self._queue and size < COMMIT_BYTES:
                some.append(self._queue.popleft())
                size += len(some[-1][0])
            if not self._queue:
                self._filled.clear()
            status = await loop.run_in_executor(self._thread, self._write, [body for body, _ in some])
            for _, answer in some:
                if not answer.done():  # whoever went away
                    answer.set_result(status)

    def _write(self, bodies: list[bytes]) -> int:
        try:
            counts = self._collector.take(whole_lines(b"\n".join(bodies)))
        except (VersadpError, OSError) as problem:
            _LOG.error(
                "reports were not taken: %s", problem.__class__.__name__ if isinstance(problem, OSError) else problem
            )
            return 503
        return 410 if LATE in counts or self._collector.is_closed else 202

    async def drain(self) -> None:
        """Wait until all that was queued is written."""
        while self._queue:
            await self._queue[-1][1]
        await asyncio.get_running_loop().run_in_executor(self._thread, int)


def endpoint(collector: Collector, limits: Limits | None = None, *, origins: Sequence[str] = ()) -> Starlette:
    """Return a web application (ASGI) that takes reports for a collector.

    Parameters
    ----------
    collector : Collector
    limits : Limits, optional
    origins : sequence of str
        Pages of these origins may send reports from a browser, such as "https://survey.example"; "null" is a page that
        was opened from a file.

    Examples
    --------
    >>> import tempfile, versadp as vdp
    >>> mech = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90)}), noise={"age": vdp.noise.Window(2)})
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with vdp.devices.Collector(place + "/round", mech, round="1", least=10) as collector:
    ...         [route.path for route in endpoint(collector).routes]
    ['/reports']
    """
    try:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.cors import CORSMiddleware
        from starlette.routing import Route
    except ImportError:
        raise MissingExtraError(
            "the endpoint needs Starlette and uvicorn", hint="pip install versadp[collect]"
        ) from None
    limits = limits or Limits()
    bucket = Bucket(limits.rate)
    waiting: list[Waiting] = []  # made where the loop runs

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:  # noqa: ARG001 - Starlette's signature
        waiting.append(Waiting(collector, limits))
        work = asyncio.create_task(waiting[-1].work())
        yield
        await waiting[-1].drain()
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work

    async def reports(request: Request) -> Response:
        if seconds := bucket.wait(monotonic()):
            return _answer(429, seconds)
        if waiting[-1].is_full:
            return _answer(429, AGAIN_SECONDS)
        if request.headers.get("content-encoding", "identity") != "identity":
            return _answer(415)
        return await _taken(request, waiting[-1], limits)

    crossing = Middleware(
        CORSMiddleware, allow_origins=list(origins), allow_methods=["POST"], allow_headers=["content-type"]
    )
    app = Starlette(
        routes=[Route(PATH, reports, methods=["POST"])], lifespan=lifespan, middleware=[crossing] if origins else []
    )
    app.router.redirect_slashes = False  # which would send whoever asks to the host that their own head names
    return app


async def _taken(request: Request, waiting: Waiting, limits: Limits) -> Response:
    """Read a body, wait until it is written, and answer."""
    from starlette.requests import ClientDisconnect

    length = request.headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit() or len(length) > 9 or int(length) > limits.body:
        return _answer(413)
    held = 0
    try:
        pieces = []
        async with asyncio.timeout(READ_SECONDS):
            async for piece in request.stream():
                held += len(piece)
                waiting.held += len(piece)
                if held > limits.body:
                    return _answer(413)
                if waiting.held > HELD_BYTES:
                    return _answer(429, AGAIN_SECONDS)
                pieces.append(piece)
        status = await waiting.written(b"".join(pieces))
        return _answer(status, MENDED_SECONDS if status == 503 else None)
    except TimeoutError:
        return _answer(408)
    except ClientDisconnect:
        return _answer(400)  # which nobody reads
    finally:
        waiting.held -= held


def _answer(status: int, seconds: float | None = None) -> Response:
    from starlette.responses import Response

    headers = {"Cache-Control": "no-store"}
    if seconds is not None:
        headers["Retry-After"] = str(max(1, math.ceil(seconds)))
    if status in (408, 413, 415, 429):  # what is left of the body is not read
        headers["Connection"] = "close"
    return Response(status_code=status, headers=headers)
