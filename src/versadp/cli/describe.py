"""`versadp describe`: what a release folder tells of its columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

import versadp as vdp
from versadp.cli.options import edition_option, engine_option, release_folder, style_option
from versadp.cli.pictures import write_picture
from versadp.display.tables import render
from versadp.inference.checks import check_level

if TYPE_CHECKING:
    from versadp.describing.description import Description


@click.command(epilog="Example: versadp describe released --quantile 0.1 --quantile 0.9")
@click.argument("folder", metavar="DIR", type=release_folder)
@click.option("--level", type=float, default=0.95, show_default=True, help="Level of the confidence intervals.")
@click.option("--quantile", type=float, multiple=True, help="A quantile; several may be given. Default: quartiles.")
@click.option("--column", multiple=True, help="Describe this column only; several may be given.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Write histograms to a file.")
@edition_option
@engine_option
@style_option
def describe(
    folder: Path | str,
    level: float,
    quantile: tuple[float, ...],
    column: tuple[str, ...],
    plot: Path | None,
    edition: int | None,
    engine: str,
    style: str,
) -> None:
    """Describe the columns of the release in DIR: means, spreads, quantiles, shares, correlations, corrected."""
    check_level(level, "--level")  # before the work
    given = {"quantiles": quantile} if quantile else {}
    release = vdp.load(folder, edition)
    found: Description = vdp.describe(release, level=level, columns=column or None, engine=engine, **given)
    if style == "json":
        click.echo(json.dumps(found.to_dict()))
    elif style == "csv":
        click.echo(render([*found.table, *found.correlation_table], "csv"), nl=False)
    else:
        click.echo(found.summary())
    if plot is not None:
        write_picture(found.plot, plot)
