"""Which code runs here: what every process that shares in some work must have in common.

Sums are the same to the last bit, and parts to the last byte, only where the same sources do the work.
"""

from __future__ import annotations

import sys
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path


@cache
def code_digest() -> str:
    """Return a digest of the library's sources: the answers are theirs.

    Examples
    --------
    >>> len(code_digest())
    16
    """
    digest = sha256()
    root = Path(__file__).parents[1]
    for file in sorted(root.rglob("*.py")):
        digest.update(f"{file.relative_to(root).as_posix()}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@cache
def code_here() -> tuple[tuple[str, str], ...]:
    """Return what this process runs, by name: our sources, and what makes numbers and files for them.

    Examples
    --------
    >>> [name for name, _ in code_here()]
    ['versadp', 'python', 'numpy', 'pyarrow']
    """
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (
        ("versadp", code_digest()),
        ("python", python),
        *((name, version(name)) for name in ("numpy", "pyarrow")),
    )


def differing(here: tuple[tuple[str, str], ...], there: tuple[tuple[str, str], ...] | None) -> list[str]:
    """Return what two processes do not have in common; there is no versadp at all in one that says None.

    Examples
    --------
    >>> differing((("versadp", "a"), ("numpy", "2")), (("versadp", "a"), ("numpy", "1")))
    ['numpy']
    """
    other = dict(there or ())
    return [name for name, what in here if other.get(name) != what]
