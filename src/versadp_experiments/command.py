"""`versadp reproduce`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from versadp.display.tables import FORMATS, render
from versadp.errors import ParameterError
from versadp_experiments.cells import READINGS, TABLES

if TYPE_CHECKING:
    from versadp_experiments.running import Plan

NAMES = (
    *TABLES,
    "figure1",
    "figure2",
    "proposition",
    "claims",
    "settings",
    "network",
    "baselines",
    "versatility",
    "realdata",
    "births",
)
FULL = 5000
THIN = {
    "table1": 500,
    "table2": 100,
    "table3": 100,
    "figure2": 500,
    "settings": 60,
    "network": 50,
    "baselines": 10,
    "versatility": 40,
    "realdata": 6,
}
THIN_OURS = {"table1": 100, "table2": 100, "table3": 100, "figure2": 100}
DRAWS = {"figure1": 100_000, "proposition": 1_000_000, "claims": 400_000}


@click.command(epilog="Example: versadp reproduce table1 --reps 100")
@click.argument("what", type=click.Choice(NAMES))
@click.option("--reps", type=click.IntRange(2), help="Replications in each cell (draws, where nothing is fitted).")
@click.option("--ours", type=click.IntRange(0), help="How many of them are fitted by ours too.")
@click.option("--n", "sizes", type=int, multiple=True, help="Sample size; may be given more than once. Default: all.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Everything follows from it.")
@click.option("--setting", type=click.Choice(READINGS), default="found", show_default=True, help="Which settings.")
@click.option("--format", "style", type=click.Choice(FORMATS), default="text", show_default=True, help="How to print.")
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw a picture into this file.")
@click.option("--out", type=click.Path(file_okay=False), help="Keep replications here; a rerun continues.")
@click.option("--data", "path", type=click.Path(dir_okay=False), help="births: the file of births.")
@click.option("--epsilon", type=float, default=1.0, show_default=True, help="births: the guarantee of a record.")
@click.option("--delta", type=float, default=1e-6, show_default=True, help="births: the guarantee of a record.")
@click.option("--totals/--no-totals", default=False, help="births: noisy totals beside the records, same guarantee.")
@click.option("--people/--no-people", default=True, help="births: criteria of made-up people, too.")
@click.option("--releases", type=click.IntRange(1), default=8, show_default=True, help="births: how many releases.")
@click.option(
    "--engine",
    default="processes",
    show_default=True,
    help="Where to run: processes, serial, dask or dask://host:port.",
)
def reproduce(what: str, reps: int | None, seed: int, style: str, plot: str | None, **options: Any) -> None:
    """Make a table or figure of the paper again: published figure, ours, Monte Carlo error, and whether they agree."""
    if what == "births":
        from versadp_experiments.births import report

        target = options["epsilon"], options["delta"], options["releases"], seed
        found = report.parts(options["path"], *target, totals=options["totals"], people=options["people"])
        _show(found, style)
        return
    if what in TABLES or what == "figure2":
        from versadp_experiments.running import Plan

        count = reps or THIN[what]
        most = THIN_OURS[what] if reps is None else reps
        given = options["ours"]
        table = "table1" if what == "figure2" else what
        plan = Plan(table, count, most if given is None else given, options["sizes"], seed, options["setting"])
        _say_thinned(plan)
        _table(what, plan, style, plot, options)
        return
    if what in {"baselines", "versatility", "realdata"}:
        _compared(what, reps or THIN[what], seed, style, (options["out"], plot))
        return
    _other(what, reps or DRAWS.get(what) or THIN[what], seed, style, plot)


def _table(what: str, plan: Plan, style: str, plot: str | None, options: dict[str, Any]) -> None:
    from versadp_experiments.comparing import against_drcl, table_rows, verdict
    from versadp_experiments.running import run
    from versadp_experiments.summaries import quartiles

    store = run(plan, options["out"], options["engine"])
    rows = quartiles(store, plan) if what == "figure2" else table_rows(store, plan)
    click.echo(render(rows, style).rstrip("\n"))
    if what != "figure2":
        click.echo(verdict(rows), err=True)
        shares = against_drcl(store, plan)
        if shares and style == "text":
            click.echo("\nefficient's RMSE as a share of DRCL's:\n" + render(shares))
    if plot:
        from versadp_experiments.pictures import figure2

        figure2(store, plan, plot)


def _compared(what: str, reps: int, seed: int, style: str, files: tuple[str | None, str | None]) -> None:
    from versadp_experiments.baselines import reporting

    _show(reporting.parts(what, reps, seed, *files), style)


def _show(parts: dict[str, list[dict[str, Any]]], style: str) -> None:
    if style == "json":
        click.echo(json.dumps(parts))
    else:
        click.echo("\n\n".join(render(rows, style).rstrip("\n") for rows in parts.values()))


def _other(what: str, count: int, seed: int, style: str, plot: str | None) -> None:
    from versadp_experiments import pictures

    if plot and what not in {"figure1", "proposition"}:
        raise ParameterError(f"{what!r} has no picture", hint="figure1, figure2, proposition and the tables have")
    _show(_parts(what, count, seed), style)
    if plot and what == "figure1":
        pictures.figure1(plot, seed, count)
    elif plot:
        pictures.variances(plot)


def _parts(what: str, count: int, seed: int) -> dict[str, list[dict[str, Any]]]:
    if what == "network":
        from versadp_experiments.network import comparing

        return {"network": comparing.rows_of(count, seed), "care": comparing.care_rows(max(count // 5, 2), seed)}
    from versadp_experiments import bound, claims, counterexample, proposition, smoothing, suspicions, tradeoffs

    if what == "figure1":
        return {"a": tradeoffs.panel_a(count, seed), "b": tradeoffs.panel_b()}
    if what == "proposition":
        return {"variances": proposition.rows(count, seed)}
    if what == "claims":
        exact = [*claims.tradeoff_rows(), *claims.guarantee_rows(), *claims.oracle_rows()]
        drawn = [*claims.correction_rows(count, seed), *counterexample.rows(count, seed)]
        return {"claims": [*exact, *drawn, *bound.rows()]}
    return {
        "settings": suspicions.settings_rows(count, seed),
        "boxes": suspicions.box_rows(count, seed),
        "starts": suspicions.start_rows(count, seed),
        "sine": suspicions.sine_rows(seed),
        "smoothing": smoothing.rows(count, seed),
    }


def _say_thinned(plan: Plan) -> None:
    if plan.reps < FULL:
        click.echo(f"thinned: {plan.reps} replications, {plan.ours} of ours; the paper has {FULL} (--reps)", err=True)
