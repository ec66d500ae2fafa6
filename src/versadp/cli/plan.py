"""`versadp plan`: what a target costs and what it protects, before anything is released."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import versadp as vdp
from versadp.cli.options import columns_per_term, model_options, stated, style_option, term_option, unit_option
from versadp.display.progress import bar
from versadp.display.tables import render
from versadp.release.target.person import unit_of
from versadp.reporting.stops import RECORDS, around

if TYPE_CHECKING:
    from versadp.release.target.plan import Plan


@click.command(epilog="Example: versadp plan schema.toml --epsilon 4 --rows 100000")
@click.argument("schema", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--epsilon", type=float, multiple=True, help="Target; several give several plans.")
@click.option("--delta", type=float, multiple=True, help="Target; several give several plans. None is 0: pure.")
@click.option("--advantage", type=float, help="Target as attack risk, in place of epsilon and delta.")
@click.option("--alpha", type=float, help="Target as attack risk: false alarms ...")
@click.option("--beta", type=float, help="... and the least share of misses there.")
@click.option("--exact-rate", type=float, multiple=True, help="Share of records released unchanged; default: by rule.")
@click.option("--shuffled", type=click.IntRange(1), help="For a shuffled release of at least so many records.")
@click.option("--totals", is_flag=True, help="With --shuffled and --delta: also with noisy totals beside the records.")
@term_option
@click.option("--rows", type=click.IntRange(1), help="Number of records, to say how many come out unchanged.")
@click.option(
    "--target-se", multiple=True, metavar="NAME=SE", help="Wanted standard error of a coefficient; with --formula."
)
@click.option(
    "--records", type=click.IntRange(2), help="How many records will be released; with --formula or --report."
)
@click.option("--noise", type=click.Choice(["auto", "window", "zil"]), default="auto", help="With --target-se.")
@model_options(required=False)
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Write the trade-off curves to a file.")
@click.option("--report", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with sliders to a file.")
@unit_option
@style_option
def plan(schema: Path, unit: str | None, style: str, plot: Path | None, report: Path | None, **options: Any) -> None:
    """Show what meets a privacy target, side by side; or, with --formula, what a model's precision costs in privacy.

    With --formula and --target-se: the least epsilon. With --formula and --epsilon: standard errors and widths. With
    --report: a page on which privacy, noise and precision move together; it needs no target, opens at --records, and
    shows the model of --formula.
    """
    columns = vdp.Schema.from_toml(schema)
    if report is not None:
        _planner(columns, report, options)
        if not any(options[name] for name in ("epsilon", "advantage", "alpha", "beta", "target_se")):
            return
    if options["formula"] is not None:
        _model(columns, unit, style, options)
        return
    if options["target_se"]:
        raise vdp.errors.ParameterError("--target-se is about a model", hint='give --formula "y ~ age"')
    unit = unit_of(columns, unit)
    common = {name: options[name] for name in ("shuffled", "rows") if options[name] is not None}
    common |= {"totals": True} if options["totals"] else {}
    common["columns_per_term"] = columns_per_term(options["columns_per_term"])
    plans = {label: vdp.plan(columns, unit=unit, **target, **common) for label, target in _targets(options).items()}
    _show(plans, unit, style)
    if plot is not None:
        _plot(plans, unit, plot)


def _planner(schema: vdp.Schema, report: Path, options: dict[str, Any]) -> None:
    """Write the page with sliders."""
    with bar("planning") as tell:
        model = {name: options[name] for name in ("formula", "loss", "assume")}
        given = options["records"] or options["rows"] or options["shuffled"]
        stops = RECORDS if given is None else around(given)
        vdp.planner(schema, report, **model, records=stops, progress=tell)
    click.echo(f"report written to {report}", err=True)


def _show(plans: dict[str, Plan], unit: str, style: str) -> None:
    """Print plans side by side."""
    if style == "text":
        click.echo("\n\n".join(f"{label}\n\n{each}" for label, each in plans.items()))
    elif style == "json":
        click.echo(json.dumps({"unit": unit, "plans": [each.to_dict() for each in plans.values()]}))
    else:
        click.echo(render(_table(plans), style), nl=False)


def _model(schema: vdp.Schema, unit: str | None, style: str, options: dict[str, Any]) -> None:
    """Plan for a model."""
    if any(len(options[name]) > 1 for name in ("epsilon", "delta", "exact_rate")):
        raise vdp.errors.ParameterError("a plan for a model has one target")
    target = {name: options[name][0] for name in ("epsilon", "delta", "exact_rate") if options[name]}
    given = {name: options[name] for name in ("advantage", "alpha", "beta", "shuffled", "rows", "records", "noise")}
    wanted = dict(_pair(text) for text in options["target_se"]) or None
    with bar("planning"):
        found = vdp.plan(schema, unit=unit, target_se=wanted, **target, **given, **stated(options))
    if style == "text":
        click.echo(str(found))
    else:
        click.echo(json.dumps(found.to_dict()) if style == "json" else render(found.table(), style).rstrip("\n"))


def _pair(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        raise vdp.errors.ParameterError(f"{text!r} is no standard error", hint="e.g. --target-se age=0.01") from None


def _targets(options: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the targets by label, each with its exact rate if one is given."""
    risk = {name: options[name] for name in ("advantage", "alpha", "beta") if options[name] is not None}
    if risk and (options["epsilon"] or options["delta"]):
        raise vdp.errors.ParameterError("give one kind of target: epsilon with delta, or advantage, or alpha with beta")
    if not risk and not options["epsilon"]:
        raise vdp.errors.ParameterError("give a target", hint="e.g. --epsilon 4, or --epsilon 4 --delta 0.05")
    targets = [risk] if risk else _crossed(options, "epsilon", "delta")
    both = [target | rate for target, rate in product(targets, _crossed(options, "exact_rate"))]
    return {", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in each.items()): each for each in both}


def _crossed(options: dict[str, Any], *names: str) -> list[dict[str, float]]:
    """Return all combinations of the values of some options; one without values is left out."""
    given = [name for name in names if options[name]]
    return [dict(zip(given, values, strict=True)) for values in product(*(options[name] for name in given))]


def _names(plans: dict[str, Plan]) -> list[tuple[str, str, vdp.Mechanism]]:
    """Return plan, name and mechanism of every candidate."""
    found = [(label, each) for label, one in plans.items() for each in one.candidates]
    return [(label, each.name, each.mechanism) for label, each in found if each.mechanism is not None]


def _called(label: str, name: str, plans: dict[str, Plan]) -> str:
    return name if len(plans) == 1 else f"{label}: {name}"


def _table(plans: dict[str, Plan]) -> list[dict[str, Any]]:
    """Return the facts of all plans in one table."""
    facts = {label: {row["fact"]: row for row in one.table()} for label, one in plans.items()}
    every = dict.fromkeys(fact for rows in facts.values() for fact in rows)
    names = _names(plans)
    return [
        {
            "fact": fact,
            **{_called(label, name, plans): facts[label].get(fact, {}).get(name, "") for label, name, _ in names},
        }
        for fact in every
    ]


def _plot(plans: dict[str, Plan], unit: str, path: Path) -> None:
    from versadp.display.pictures import curves

    alpha = np.linspace(0, 1, 201)
    lines = {
        _called(label, name, plans): (alpha, mech.privacy(unit).beta(alpha)) for label, name, mech in _names(plans)
    }
    title = f"What the best attacker misses, one {unit}"
    curves({"nothing to learn": (alpha, 1 - alpha)} | lines, x="false alarms", y="misses", title=title, path=path)
    click.echo(f"picture written to {path}", err=True)
