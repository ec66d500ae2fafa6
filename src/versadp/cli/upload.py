"""`versadp upload`: a release into a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import versadp as vdp
from versadp.cli.options import release_folder
from versadp.errors import ParameterError
from versadp.release.object_store import is_stored

if TYPE_CHECKING:
    from pathlib import Path


@click.command(epilog="Example: versadp upload released s3://bucket/released")
@click.argument("folder", metavar="DIR", type=release_folder)
@click.argument("address")
def upload(folder: Path | str, address: str) -> None:
    """Put the release in DIR into a store, at ADDRESS: parts first, the manifest last.

    Run it again if it was interrupted, and after records were appended: what is there already stays.
    """
    if not is_stored(address):
        raise ParameterError("a release is put at an address in a store", hint="s3://bucket/folder")
    release = vdp.load(folder)
    release.save(address)
    click.echo(f"{len(release):,} records at {address}")
