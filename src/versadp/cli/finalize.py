"""`versadp finalize`: destroy the key of a release."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from versadp.errors import ParameterError
from versadp.release.files.finalize import finalize as destroy_key


@click.command(epilog="Example: versadp finalize released --yes")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--state", type=click.Path(path_type=Path), help="Keys and ledger; default: your own.")
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
def finalize(folder: Path, state: Path | None, yes: bool) -> None:
    """Destroy the key of a release: nothing can be appended, and its noise cannot be drawn again."""
    if not yes:
        _ask(folder)
    destroy_key(folder, state=state)
    click.echo(f"the key of {folder} is destroyed: nothing can be appended to it any more")


def _ask(folder: Path) -> None:
    """Ask whether a key is to be destroyed; refuse without a terminal."""
    if not _is_terminal():
        raise ParameterError(
            "finalize destroys the key of a release for good, and there is no terminal to ask on",
            hint="give --yes if that is meant",
        )
    click.confirm(f"Destroy the key of {folder} for good? Nothing can be appended to it then", abort=True)


def _is_terminal() -> bool:
    return sys.stdin.isatty()
