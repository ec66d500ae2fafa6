"""`versadp report`: a release folder as one page."""

from __future__ import annotations

from pathlib import Path

import click

import versadp as vdp
from versadp.cli.fit import LOSSES, as_loss
from versadp.cli.options import edition_option, release_folder
from versadp.inference.checks import check_level
from versadp.release.files.account import notes_for


@click.command(epilog='Example: versadp report released --out report.html --fit "income ~ age + C(region)"')
@click.argument("folder", metavar="DIR", type=release_folder)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default="report.html", show_default=True)
@click.option("--fit", "formula", metavar="FORMULA", help='A model to show, such as "y ~ age + income".')
@click.option("--loss", type=click.Choice(LOSSES), default="squared", show_default=True, help="Of the model.")
@click.option("--tau", type=float, help="Quantile of the check loss; default: the median.")
@click.option("--k", type=float, help="Where Huber loss turns straight, in multiples of the residuals' scale.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Level of the confidence intervals.")
@click.option(
    "--raw",
    type=click.Path(exists=True, path_type=Path),
    help="The original data, to compare with. For the provider alone: the page then holds figures without noise.",
)
@edition_option
def report(
    folder: Path | str,
    out: Path,
    formula: str | None,
    loss: str,
    tau: float | None,
    k: float | None,
    level: float,
    raw: Path | None,
    edition: int | None,
) -> None:
    """Write one page about the release in DIR, for provider and analyst: guarantee, noise, columns, a model, code.

    It is a single file that needs no network.
    """
    check_level(level, "--level")  # before the work
    vdp.report(vdp.load(folder, edition), out, fit=formula, loss=as_loss(loss, tau, k), raw=raw, level=level)
    for note in notes_for(folder) if isinstance(folder, Path) else ():
        click.echo(f"versadp: {note}", err=True)
    if raw is not None:
        click.echo("versadp: the page holds figures of the original data, without noise: keep it to yourself", err=True)
    click.echo(f"report written to {out}")
