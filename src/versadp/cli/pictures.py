"""Writing a picture that a command was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from versadp.errors import ParameterError, VersadpError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def write_picture(draw: Callable[[Path], Any], path: Path) -> None:
    """Draw to a file and say so; raise if it cannot be written."""
    try:
        draw(path)
    except (OSError, ValueError) as problem:
        if isinstance(problem, VersadpError):
            raise
        why = type(problem).__name__ if isinstance(problem, OSError) else f"no picture is written as {path.suffix}"
        raise ParameterError(
            f"cannot write {str(path)!r}: {why}", hint="choose a folder that is there, and .png, .svg or .pdf"
        ) from None
    click.echo(f"picture written to {path}", err=True)
