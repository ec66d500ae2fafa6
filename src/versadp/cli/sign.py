"""`versadp sign`: sign a release."""

from __future__ import annotations

from pathlib import Path

import click

from versadp.release.files.sign import sign as sign_release


@click.command(epilog="Example: versadp sign released")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--state", type=click.Path(path_type=Path), help="Keys and ledger; default: your own.")
def sign(folder: Path, state: Path | None) -> None:
    """Sign the release in DIR with the key of its state folder, and print the public key.

    Readers check it: vdp.load(DIR, trusted="ed25519:...").
    """
    click.echo(sign_release(folder, state=state))
