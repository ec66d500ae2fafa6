"""Objects in a store that others run, S3 first: read in pieces, put whole, and given up in bounded time.

    s3://bucket/folder/part-00000.parquet

pyarrow's filesystems do the talking. They try a request three times; an answer that comes too slowly to end, or never,
is not waited for longer than `PATIENCE`. Who may read is the environment's affair (`AWS_ACCESS_KEY_ID` and its kin, or
what the AWS tools have written down): an address has no credentials, so messages, tasks and manifests have none.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from versadp import inputs
from versadp.errors import ParameterError, StoreError, VersadpError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    Result = TypeVar("Result")

PATIENCE = 60.0  # seconds for one answer, all attempts and at most `PIECE` bytes of it
PIECE = 2**23
ATTEMPTS = 3
_SILENCE = 10.0  # seconds without a byte after which an attempt has failed
_CONNECTING = 5.0
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_SAID = re.compile(r"AWS Error ([A-Z_0-9]{1,40})")


@dataclass(frozen=True)
class Stored:
    """An object in a store, or a folder of objects; it answers to what of a path is needed here.

    Attributes
    ----------
    bucket : str
    key : str
        Names with slashes between them; a store has no folders but these.

    Examples
    --------
    >>> place = Stored.at("s3://surveys/2026/released/")
    >>> place / "manifest.json"
    Stored(bucket='surveys', key='2026/released/manifest.json')
    >>> str(place), place.name
    ('s3://surveys/2026/released', 'released')
    """

    bucket: str
    key: str

    @classmethod
    def at(cls, address: str) -> Stored:
        """Return what an address names; one with credentials is refused, and not shown."""
        bucket, _, key = address.removeprefix("s3://").partition("/")
        if "@" in bucket or ":" in bucket:
            raise ParameterError(
                "the address of a store has no user, password or port in it",
                hint="credentials come from the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                "~/.aws/credentials; another server's address in AWS_ENDPOINT_URL",
            )
        key = key.rstrip("/")
        if not _BUCKET.fullmatch(bucket) or any(each in {"", ".", ".."} for each in key.split("/")):
            raise ParameterError("this is no address in a store", hint="s3://bucket/folder")
        return cls(bucket, key)

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"

    def __truediv__(self, name: str) -> Stored:
        return Stored(self.bucket, f"{self.key}/{name}")

    @property
    def name(self) -> str:
        """The last of its names."""
        return self.key.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The ending of its name, with the dot."""
        return Path(self.name).suffix

    def is_dir(self) -> bool:
        """Return whether there are objects below this name."""
        return bool(_answer(self, lambda fs, path: fs.get_file_info(path)).type.name == "Directory")

    def size(self) -> int | None:
        """Return how many bytes the object has; None if there is none."""
        found = _answer(self, lambda fs, path: fs.get_file_info(path))
        return None if found.size is None else int(found.size)

    def files(self, ending: str) -> list[Stored]:
        """Return the objects below this name whose names end so, sorted; hidden ones are left out."""
        from pyarrow.fs import FileSelector

        found = _answer(self, lambda fs, path: fs.get_file_info(FileSelector(path, recursive=True)))
        keys = (info.path.partition("/")[2] for info in found if info.is_file and info.path.endswith(ending))
        own = len(self.key) + 1
        kept = [key for key in keys if not any(each.startswith(".") for each in key[own:].split("/"))]
        return [Stored(self.bucket, key) for key in sorted(kept)]

    def open(self) -> pa.NativeFile:
        """Open the object for reading anywhere in it; every read is given up in bounded time."""
        import pyarrow as pa

        return pa.PythonFile(_Pieces(self), mode="r")

    def read(self, most: int) -> bytes:
        """Return the whole object; more bytes than `most`, or no object, is an OSError."""
        with self.open() as file:
            if file.size() > most:
                raise OSError(f"more than {most} bytes")
            return bytes(file.read())

    def put(self, data: bytes) -> None:
        """Put an object under its name in one step, in place of one that may be there."""

        def write(fs: Any, path: str) -> None:
            with fs.open_output_stream(path) as out:  # it appears when it is closed, whole
                out.write(data)

        _answer(self, write, patience=PATIENCE * (1 + len(data) // PIECE))


class _Pieces:
    """An object as Python sees a file: read in pieces, each within `PATIENCE`."""

    def __init__(self, stored: Stored) -> None:
        self._stored, self._at, self.closed = stored, 0, False
        self._file = _answer(stored, lambda fs, path: fs.open_input_file(path))
        self._size = int(self._file.size())

    def read(self, count: int = -1) -> bytes:
        """Return `count` bytes from where it stands, or what is left."""
        left = self._size - self._at
        wanted = left if count is None or count < 0 else min(count, left)
        pieces = []
        while wanted > 0:
            some = min(wanted, PIECE)
            data = _answer(self._stored, partial(self._at_once, some))
            if len(data) != some:
                raise StoreError(f"{self._stored} was cut short while it was read", hint="run the same again")
            pieces.append(data)
            self._at, wanted = self._at + some, wanted - some
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _at_once(self, count: int, _: Any, __: str) -> bytes:
        return bytes(self._file.read_at(count, self._at))

    def seek(self, offset: int, whence: int = 0) -> int:
        """Stand elsewhere."""
        self._at = max(offset + (0, self._at, self._size)[whence], 0)
        return self._at

    def tell(self) -> int:
        """Return where it stands."""
        return self._at

    def close(self) -> None:
        """Let go of the object."""
        self.closed = True
        self._file.close()


def is_stored(given: object) -> bool:
    """Tell an address in a store from a path.

    Examples
    --------
    >>> is_stored("s3://bucket/released"), is_stored("released")
    (True, False)
    """
    return isinstance(given, Stored) or (isinstance(given, str) and given.startswith("s3://"))


def place_of(given: Any, what: str) -> Path | Stored:
    """Return a path of this machine, or an address in a store."""
    if isinstance(given, Stored):
        return given
    return Stored.at(given) if is_stored(given) else inputs.path(given, what)


def _answer(stored: Stored, ask: Callable[[Any, str], Result], patience: float | None = None) -> Result:
    """Return what a store answers; what it does not, or not in time, is our error. Its own words are not repeated."""
    box: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def run() -> None:
        try:
            box.put((ask(_filesystem(_endpoint()), f"{stored.bucket}/{stored.key}"), None))
        except BaseException as problem:  # noqa: BLE001 - it is raised where it is waited for
            box.put((None, problem))

    Thread(target=run, daemon=True).start()  # who waits for a byte a second cannot be stopped, only left
    try:
        found, problem = box.get(timeout=patience or PATIENCE)
    except Empty:
        raise StoreError(
            f"{stored} did not answer in {patience or PATIENCE:.0f} s",
            hint="the store or the way to it is too slow: run the same again later",
        ) from None
    if problem is None:
        return found  # type: ignore[no-any-return] # what was asked for
    if isinstance(problem, VersadpError | FileNotFoundError):
        raise problem
    said = _SAID.search(str(problem))
    raise StoreError(
        f"{stored} cannot be reached ({said[1] if said else type(problem).__name__}, {ATTEMPTS} attempts)",
        hint="check address, network and credentials (AWS_ACCESS_KEY_ID, AWS_REGION, AWS_ENDPOINT_URL); "
        "then run the same again",
    ) from None


def _endpoint() -> str:
    """Return another server than Amazon's, as the AWS tools are told of it."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""


@lru_cache(maxsize=4)
def _filesystem(endpoint: str) -> Any:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

    given = urlsplit(endpoint)
    if endpoint and (given.scheme not in {"http", "https"} or not given.hostname or "@" in given.netloc):
        raise ParameterError("AWS_ENDPOINT_URL is no address of a server", hint="https://host:port")
    return S3FileSystem(
        region=os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"),
        connect_timeout=_CONNECTING,
        request_timeout=_SILENCE,
        retry_strategy=AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
        **({"endpoint_override": given.netloc, "scheme": given.scheme} if endpoint else {}),
    )
