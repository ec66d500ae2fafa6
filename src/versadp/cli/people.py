"""`versadp people`: a table of made-up people from a release folder."""

from __future__ import annotations

from pathlib import Path

import click

import versadp as vdp
from versadp.cli.options import edition_option, engine_option, release_folder


@click.command(epilog="Example: versadp people released --out people.parquet")
@click.argument("folder", metavar="DIR", type=release_folder)
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file: .parquet or .csv; a description is written beside it.",
)
@click.option("--rows", type=click.IntRange(1), help="How many rows. Default: as many as records, at most a million.")
@click.option("--replicates", type=click.IntRange(0), default=0, show_default=True, help="Replicate weights, e.g. 40.")
@click.option("--copies", type=click.IntRange(1), default=1, show_default=True, help="How often each row stands.")
@click.option("--column", multiple=True, help="Have this column only; several may be given. Default: all.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the draws.")
@edition_option
@engine_option
def people(
    folder: Path | str,
    out: Path,
    rows: int | None,
    replicates: int,
    copies: int,
    column: tuple[str, ...],
    seed: int,
    edition: int | None,
    engine: str,
) -> None:
    """Write a table of made-up people whose law is that of the release in DIR."""
    made = vdp.load(folder, edition).people(
        rows, replicates=replicates, copies=copies, columns=column or None, random_state=seed, engine=engine
    )
    made.save(out)
    click.echo(made.description)
