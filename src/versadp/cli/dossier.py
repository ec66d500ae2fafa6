"""`versadp dossier`: papers about a release, for a registry, its people and those who answer for it."""

from __future__ import annotations

from pathlib import Path

import click

import versadp as vdp
from versadp.cli.options import release_folder


@click.command(epilog="Example: versadp dossier released --out dossier")
@click.argument("folder", metavar="DIR", type=release_folder)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder for the files.")
def dossier(folder: Path | str, out: Path) -> None:
    """Write a registry entry, a privacy label, a notice to the people and an annex about the release in DIR.

    Everything follows from the manifest: no record is read.
    """
    made = vdp.dossier(folder, out)
    click.echo(f"dossier written to {out}: {', '.join(made.files)}")
    if made.missing:
        click.echo(f"not stated by the publisher, and to be filled in: {', '.join(made.missing)}")
    click.echo(f"not known to any manifest, and to be filled in in registry.json: {', '.join(made.unknown)}")
