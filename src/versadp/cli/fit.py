"""`versadp fit`: fit a model to a release folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import versadp as vdp
from versadp.cli.options import edition_option, engine_option, release_folder, style_option
from versadp.inference.checks import check_level

if TYPE_CHECKING:
    from versadp.inference import Results

LOSSES = ("squared", "logistic", "check", "hinge", "huber", "poisson", "multinomial")
METHODS = ("efficient", "likelihood", "analytic", "drcl", "sdrcl", "sl", "naive")
_STUDY = ("weights", "weight_type", "offset", "groups", "subset")
EXTENSIONS = ("none", "zero", "clip", "damped")


@click.command(epilog='Example: versadp fit released "bought ~ age + C(region)" --loss logistic')
@click.argument("folder", metavar="DIR", type=release_folder)
@click.argument("formula", required=False)
@click.option("--loss", type=click.Choice(LOSSES), default="squared", show_default=True, help="What is minimised.")
@click.option("--tau", type=float, help="Quantile of the check loss; default: the median.")
@click.option("--k", type=float, help="Where Huber loss turns straight, in multiples of the residuals' scale.")
@click.option("--weights", metavar="COLUMN", help="Public column of weights.")
@click.option(
    "--weight-type",
    type=click.Choice(("survey", "frequency")),
    default="survey",
    show_default=True,
    help="People that a record stands for, or records that are the same.",
)
@click.option("--offset", metavar="COLUMN", help="Public column that is added to the index: the log of an exposure.")
@click.option("--cluster", "groups", metavar="COLUMN", help="Public column whose equal values belong together.")
@click.option("--subset", metavar="CONDITION", help='On public columns, such as "year > 2000".')
@click.option("--method", type=click.Choice(METHODS), default="efficient", show_default=True, help="Which correction.")
@click.option("--extension", type=click.Choice(EXTENSIONS), help="What the loss is taken to be outside the domain.")
@click.option("--draws", type=click.IntRange(1), default=20, show_default=True, help="Second randomisations.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Level of the confidence intervals.")
@click.option("--random-state", type=int, default=0, show_default=True, help="Seed of the second randomisations.")
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write what a later --update needs: sums of the size of the parameters, no record.",
)
@click.option(
    "--update",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Go on from a state with the parts of DIR that it has not seen; the state is written anew.",
)
@click.option("--save", type=click.Path(dir_okay=False, path_type=Path), help="Write the results to a JSON file too.")
@edition_option
@engine_option
@style_option
def fit(
    folder: Path | str,
    formula: str | None,
    loss: str,
    tau: float | None,
    k: float | None,
    level: float,
    save: Path | None,
    state: Path | None,
    update: Path | None,
    style: str,
    **options: Any,
) -> None:
    """Fit a FORMULA such as "y ~ age + income" to the release in DIR.

    With --update the model is that of the state, and no FORMULA or option of it is given. Exits with 1 if there is no
    estimate.
    """
    check_level(level, "--level")  # before the work
    given = {name: value for name, value in options.items() if name not in _STUDY or value not in {None, "survey"}}
    if "groups" in given:
        given["cov_type"] = "cluster"
    results = (
        _updated(folder, options["edition"], update)
        if update is not None
        else _fitted(folder, formula, as_loss(loss, tau, k), given)
    )
    if (state or update) is not None and results.converged:
        results.save_state(state or update)  # type: ignore[arg-type] # one of them is there
    if save is not None:
        results.save(save)
    if style == "json":
        click.echo(json.dumps(_facts(results, level)))
    elif style == "text" or not results.answered:
        # a spreadsheet that reads standard output must not take the explanation for coefficients
        click.echo(str(results.summary(level)), err=style == "csv")
    else:
        click.echo(results.coef_table(level).to_csv(), nl=False)
    if not results.answered or np.isnan(results.params.values).all():
        raise SystemExit(1)


def _fitted(folder: Path | str, formula: str | None, loss: Any, given: dict[str, Any]) -> Results:
    if formula is None:
        raise vdp.errors.ParameterError("a formula is needed", hint='e.g. versadp fit released "y ~ age"')
    return vdp.fit(vdp.load(folder, given.pop("edition")), formula, loss=loss, **given)


def _updated(folder: Path | str, edition: int | None, state: Path) -> Results:
    """Go on from a state: which model it is stands there, and nothing that is said beside it may differ."""
    context = click.get_current_context()
    beside = {"folder", "edition", "update", "state", "save", "level", "style"}
    said = [name for name in context.params if name not in beside and _is_given(context, name)]
    if said:
        raise vdp.errors.ParameterError(
            f"the model of an update is that of its state: {', '.join(sorted(said))} cannot be said again",
            hint=f"versadp fit {folder} --update {state}",
        )
    return vdp.update(state, vdp.load(folder, edition))


def _is_given(context: click.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE" and context.params[name] is not None


def as_loss(name: str, tau: float | None, k: float | None) -> Any:
    """Return the loss as `fit` takes it."""
    for option, value, owner in (("--tau", tau, "check"), ("--k", k, "huber")):
        if value is not None and name != owner:
            raise vdp.errors.ParameterError(f"{option} belongs to the {owner} loss", hint=f"add --loss {owner}")
    from versadp.losses import Check, Huber

    if tau is not None:
        return Check(tau=tau)
    return name if k is None else Huber(k=k)


def _facts(results: Results, level: float) -> dict[str, Any]:
    """Return what the summary says, for programs."""
    table = results.coef_table(level).for_json() if results.answered else None
    kept = {key: getattr(results, key) for key in ("formula", "loss", "method", "outcome", "advice", "effective_n")}
    weights = None if results.weights is None else dict(results.weights)
    about = {"header": dict(results.header), "records": results.nobs, "weights": weights}
    return kept | about | {"level": level, "coefficients": table}
