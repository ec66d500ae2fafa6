"""`versadp finalize`: destroy the key of a release."""

from __future__ import annotations

from pathlib import Path

import click

from versadp.release.files.finalize import finalize as destroy_key


@click.command(epilog="Example: versadp finalize released")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--state", type=click.Path(path_type=Path), help="Keys and ledger; default: your own.")
def finalize(folder: Path, state: Path | None) -> None:
    """Destroy the key of a release: nothing can be appended, and nobody can redo its noise."""
    destroy_key(folder, state=state)
    click.echo(f"the key of {folder} is destroyed: nothing can be appended to it any more")
