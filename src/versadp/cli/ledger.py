"""`versadp ledger`: what was released of a population, and what it has cost one person."""

from __future__ import annotations

from pathlib import Path

import click

from versadp.cli.options import style_option
from versadp.display.tables import render
from versadp.errors import ParameterError
from versadp.release.files.account import account, public_key


@click.command(epilog="Example: versadp ledger released")
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("--state", type=click.Path(path_type=Path), help="Keys and ledger; default: your own, by population.")
@click.option("--population", help="Without FOLDER: whose ledger. [default: default]")
@click.option("--public-key", "key", is_flag=True, help="Print the public key of its signatures, and nothing else.")
@style_option
def ledger(folder: Path | None, state: Path | None, population: str | None, key: bool, style: str) -> None:
    """Show what was released of the people in FOLDER, and what one person was charged by all of it.

    Charges add up, which is an upper bound; `compose` of a privacy profile has the exact figure for equal releases.
    """
    if population is not None and (folder is not None or state is not None):
        raise ParameterError("a release, or a state folder, has one ledger", hint="leave out --population")
    if key:
        click.echo(public_key(folder, state=state, population=population))
        return
    found = account(folder, state=state, population=population)
    click.echo(render(found.releases, style), nl=style != "csv")
    if style == "text":
        click.echo(f"\n{found.sentence()}" if found.releases else "nothing was released yet")
    for note in found.notes:
        click.echo(f"versadp: {note}", err=True)
