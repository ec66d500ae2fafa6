"""`versadp table`: a cross-table of a release folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

import versadp as vdp
from versadp.cli.options import edition_option, engine_option, read_bins, release_folder
from versadp.cli.pictures import write_picture
from versadp.display.tables import render
from versadp.inference.checks import check_level

if TYPE_CHECKING:
    from versadp.tabulating.result import Table

STYLES = ("text", "csv", "json", "html", "latex", "markdown")


@click.command(epilog="Example: versadp table released region age --bins age=18,30,50,90 --values income")
@click.argument("folder", metavar="DIR", type=release_folder)
@click.argument("columns", metavar="COLUMN...", nargs=-1, required=True)
@click.option("--bins", multiple=True, metavar="COLUMN=EDGE,EDGE,...", help="Edges of a number or of dates; several.")
@click.option("--values", metavar="COLUMN", help="A number whose means and sums are wanted in each cell.")
@click.option(
    "--quantile", type=float, multiple=True, help="A quantile of --values in each cell; several may be given."
)
@click.option("--spread", is_flag=True, help="Standard deviations of --values in each cell, too.")
@click.option("--missing", is_flag=True, help="Make what is missing a level of its own.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Level of the confidence intervals.")
@click.option("--simultaneous", is_flag=True, help="Intervals of all cells hold at once (Bonferroni).")
@click.option(
    "--show", multiple=True, metavar="STATISTIC", help='E.g. "count", "row share", "mean"; several may be given.'
)
@click.option("--test", is_flag=True, help="Test that two columns are independent, noise included.")
@click.option("--publish", is_flag=True, help="Whole numbers, none negative, that add up.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Write a picture to a file.")
@edition_option
@engine_option
@click.option("--format", "style", type=click.Choice(STYLES), default="text", show_default=True, help="How to print.")
def table(
    folder: Path | str,
    columns: tuple[str, ...],
    bins: tuple[str, ...],
    values: str | None,
    quantile: tuple[float, ...],
    spread: bool,
    missing: bool,
    level: float,
    simultaneous: bool,
    show: tuple[str, ...],
    test: bool,
    publish: bool,
    plot: Path | None,
    edition: int | None,
    engine: str,
    style: str,
) -> None:
    """Print a table of one to four COLUMNs of the release in DIR: counts, shares, means, corrected for the noise."""
    check_level(level, "--level")  # before the work
    found = vdp.table(
        vdp.load(folder, edition),
        *columns,
        bins=read_bins(bins),
        values=values,
        quantiles=quantile,
        spread=spread,
        missing=missing,
        level=level,
        simultaneous=simultaneous,
        engine=engine,
    )
    click.echo(_printed(found, style, show, publish=publish), nl=style != "csv")
    if test and style not in {"csv", "json"}:
        click.echo(f"\n{found.test()}")
    elif test:
        click.echo(str(found.test()), err=True)
    if plot is not None:
        write_picture(found.plot, plot)


def _printed(found: Table, style: str, show: tuple[str, ...], *, publish: bool) -> str:
    if publish:
        shown = found.publish()
        if style == "json":
            return json.dumps(shown.table.for_json())
        return shown.table.to_csv() if style == "csv" else shown.summary(style)
    if style == "json":
        return json.dumps(found.to_dict())
    if style == "csv":
        rows = [row for row in found.table if not show or row["statistic"] in show]
        return render(rows, "csv")
    return found.summary(style, show or None)
