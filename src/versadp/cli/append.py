"""`versadp append`: more people into a release."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import versadp as vdp
from versadp.cli.options import Place, engine_option, missing_people_option, style_option
from versadp.display.progress import bar
from versadp.display.tables import render
from versadp.release.files.append import append_file


@click.command(epilog="Example: versadp append released more.parquet")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("more", type=Place(path_type=Path))
@click.option("--state", type=click.Path(path_type=Path), help="Keys and ledger; default: your own.")
@click.option(
    "--again",
    type=click.Choice(["refuse", "charge"]),
    default="refuse",
    show_default=True,
    help="People released before with another record; charge: MORE, with everybody in it, is the next edition.",
)
@click.option("--accept-weaker", is_flag=True, help="Add people although they guarantee less than the others.")
@missing_people_option
@click.option("--keep-rows", type=int, help="Keep at most so many rows of each person; the key chooses which.")
@click.option("--restart", is_flag=True, help="Give up an unfinished append and begin anew.")
@engine_option
@style_option
def append(folder: Path, more: Path | str, engine: str, style: str, **options: Any) -> None:
    """Add the people in MORE to the newest edition of a release; its schema must have an id.

    People who are in it already with the same record are skipped. If the command is interrupted, run it again.
    """
    with warnings.catch_warnings(record=True) as caught, bar("appending") as tell:
        warnings.simplefilter("always", vdp.errors.VersadpWarning)
        result = append_file(folder, more, engine=engine, progress=tell, **options)
    several = vdp.load(folder).mechanism.schema.rows_per_person > 1
    for said in (*(warning.message for warning in caught), *result.notes):
        click.echo(f"versadp: {said}", err=True)
    if style != "text":
        shown = {name: value for name, value in asdict(result).items() if name != "notes"}
        click.echo(render([shown], style), nl=style == "json")
        return
    click.echo(
        f"{result.new:,} {'rows' if several else 'people'} added, {result.skipped:,} were there already"
        + (f", {result.charged:,} released once more and charged" if result.charged else "")
    )
    if result.after == result.before:
        click.echo(f"before and now: {result.after}")
    else:
        click.echo(f"before: {result.before}\nnow:    {result.after}")
