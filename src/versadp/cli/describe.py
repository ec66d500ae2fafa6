"""`versadp describe`: what a release folder tells of its columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import versadp as vdp
from versadp.cli.options import edition_option, engine_option, read_bins, release_folder, style_option
from versadp.cli.pictures import write_picture
from versadp.describing.description import Description
from versadp.display.tables import render
from versadp.inference.checks import check_level

if TYPE_CHECKING:
    from versadp.describing.groups import GroupedDescription


@click.command(epilog="Example: versadp describe released --quantile 0.1 --quantile 0.9")
@click.argument("folder", metavar="DIR", type=release_folder)
@click.option("--level", type=float, default=0.95, show_default=True, help="Level of the confidence intervals.")
@click.option("--quantile", type=float, multiple=True, help="A quantile; several may be given. Default: quartiles.")
@click.option("--column", multiple=True, help="Describe this column only; several may be given.")
@click.option("--by", metavar="COLUMN", help="Describe each group of a category, a public column, or bins.")
@click.option("--bins", multiple=True, metavar="COLUMN=EDGE,EDGE,...", help="Edges of the number that groups.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Write histograms to a file.")
@edition_option
@engine_option
@style_option
def describe(
    folder: Path | str,
    level: float,
    quantile: tuple[float, ...],
    column: tuple[str, ...],
    by: str | None,
    bins: tuple[str, ...],
    plot: Path | None,
    edition: int | None,
    engine: str,
    style: str,
) -> None:
    """Describe the columns of the release in DIR: means, spreads, quantiles, shares, correlations, corrected."""
    check_level(level, "--level")  # before the work
    given = {"quantiles": quantile} if quantile else {}
    release = vdp.load(folder, edition)
    options: dict[str, Any] = {"level": level, "columns": column or None, "engine": engine} | given
    if by is not None:
        if plot is not None:
            raise vdp.errors.ParameterError("groups have no picture", hint="use versadp table DIR COLUMN --plot FILE")
        _print(vdp.describe(release, by=by, bins=read_bins(bins), **options), style)
        return
    found: Description = vdp.describe(release, **options)
    _print(found, style)
    if plot is not None:
        write_picture(found.plot, plot)


def _print(found: Description | GroupedDescription, style: str) -> None:
    if style == "json":
        click.echo(json.dumps(found.to_dict()))
    elif style == "csv":
        more = found.correlation_table if isinstance(found, Description) else []
        click.echo(render([*found.table, *more], "csv"), nl=False)
    else:
        click.echo(found.summary())
