"""`versadp fit`: fit a model to a release folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import versadp as vdp
from versadp.cli.options import style_option
from versadp.inference.checks import check_level

if TYPE_CHECKING:
    from versadp.inference import Results

LOSSES = ("squared", "logistic", "check", "hinge", "huber", "poisson", "multinomial")
METHODS = ("efficient", "likelihood", "analytic", "drcl", "sdrcl", "sl", "naive")
EXTENSIONS = ("none", "zero", "clip", "damped")


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("formula")
@click.option("--loss", type=click.Choice(LOSSES), default="squared", show_default=True, help="What is minimised.")
@click.option("--tau", type=float, help="Quantile of the check loss; default: the median.")
@click.option("--method", type=click.Choice(METHODS), default="efficient", show_default=True, help="Which correction.")
@click.option("--extension", type=click.Choice(EXTENSIONS), help="What the loss is taken to be outside the domain.")
@click.option("--draws", type=click.IntRange(1), default=20, show_default=True, help="Second randomisations.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Level of the confidence intervals.")
@click.option("--random-state", type=int, default=0, show_default=True, help="Seed of the second randomisations.")
@click.option("--save", type=click.Path(dir_okay=False, path_type=Path), help="Write the results to a JSON file too.")
@style_option
def fit(
    folder: Path,
    formula: str,
    loss: str,
    tau: float | None,
    level: float,
    save: Path | None,
    style: str,
    **options: Any,
) -> None:
    """Fit a FORMULA such as "y ~ age + income" to the release in DIR.

    Exits with 1 if there is no estimate.
    """
    check_level(level, "--level")  # before the work
    results: Results = vdp.fit(vdp.load(folder), formula, loss=_loss(loss, tau), **options)
    if save is not None:
        results.save(save)
    if style == "json":
        click.echo(json.dumps(_facts(results, level)))
    elif style == "text" or not results.answered:
        # a spreadsheet that reads standard output must not take the explanation for coefficients
        click.echo(str(results.summary(level)), err=style == "csv")
    else:
        click.echo(results.coef_table(level).to_csv(), nl=False)
    if not results.answered:
        raise SystemExit(1)


def _loss(name: str, tau: float | None) -> Any:
    """Return the loss as `fit` takes it."""
    if tau is None:
        return name
    if name != "check":
        raise vdp.errors.ParameterError("--tau belongs to the check loss", hint="add --loss check")
    from versadp.losses import Check

    return Check(tau=tau)


def _facts(results: Results, level: float) -> dict[str, Any]:
    """Return what the summary says, for programs."""
    table = results.coef_table(level).for_json() if results.answered else None
    kept = {key: getattr(results, key) for key in ("formula", "loss", "method", "outcome", "advice", "effective_n")}
    weights = None if results.weights is None else dict(results.weights)
    about = {"header": dict(results.header), "records": results.nobs, "weights": weights}
    return kept | about | {"level": level, "coefficients": table}
