"""`versadp schema`: the file that says what the columns are."""

from __future__ import annotations

from pathlib import Path

import click

import versadp as vdp
from versadp.cli.options import Place
from versadp.release.files.draft import draft_schema


@click.group(epilog="Example: versadp schema init people.parquet --out schema.toml")
def schema() -> None:
    """Make a schema file."""


@schema.command("init", epilog="Example: versadp schema init people.parquet --out schema.toml")
@click.argument("data", type=Place(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Write to a file; default: print.")
@click.option(
    "--header",
    type=click.Choice(["auto", "yes", "no"]),
    default="auto",
    show_default=True,
    help="Whether the first line of a CSV file has the names of its columns; no: column_1, column_2, ...",
)
def init(data: Path | str, out: Path | None, header: str) -> None:
    """Write a schema with the columns of DATA and their bounds left to fill in.

    Bounds and levels are never read off the data, which would leak them: fill in what the columns can hold.
    """
    text = draft_schema(data, header=header)
    if out is None:
        click.echo(text, nl=False)
        return
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise vdp.errors.SchemaError(f"{str(out)!r} exists already", hint="choose a new name") from None
    except OSError as problem:
        raise vdp.errors.SchemaError(f"{str(out)!r} cannot be written ({type(problem).__name__})") from None
    click.echo(f"{out} written: fill in the bounds and levels, then `versadp release`", err=True)
