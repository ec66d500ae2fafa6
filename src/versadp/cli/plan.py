"""`versadp plan`: what a target costs and what it protects, before anything is released."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np

import versadp as vdp
from versadp.cli.options import style_option, unit_option
from versadp.display.tables import render
from versadp.release.target.plan import compare, cost_of_columns


@click.command()
@click.argument("schema", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--epsilon", type=float, multiple=True, help="Target; several give several candidates.")
@click.option("--delta", type=float, multiple=True, help="Target; several give several candidates.")
@click.option("--advantage", type=float, help="Target as attack risk, in place of epsilon and delta.")
@click.option("--alpha", type=float, help="Target as attack risk: false alarms ...")
@click.option("--beta", type=float, help="... and the least share of misses there.")
@click.option("--exact-rate", type=float, multiple=True, help="Share of records released unchanged; default: by rule.")
@click.option("--rows", type=click.IntRange(1), help="Number of records, to say how many come out unchanged.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Write the trade-off curves to a file.")
@unit_option
@style_option
def plan(schema: Path, unit: str, style: str, rows: int | None, plot: Path | None, **options: Any) -> None:
    """Show what noise a privacy target needs, what it protects, and what it costs an analyst."""
    columns = vdp.Schema.from_toml(schema)
    candidates = _candidates(columns, unit, options)
    facts = compare(candidates, rows)
    costs = _costs(columns, unit, options)
    if style == "text":
        click.echo(f"Candidates for protecting one {unit}:\n\n{render(facts)}")
        if len(costs) > 1:
            click.echo(f"\nWhat each numeric column more costs at the first target:\n\n{render(costs)}")
        click.echo("\n'records needed' is for the plain mean or share; method 'efficient' needs fewer.")
    elif style == "json":
        click.echo(json.dumps({"unit": unit, "candidates": facts, "columns": costs}))
    else:
        click.echo(render(facts, style), nl=False)
    if plot is not None:
        _plot(candidates, unit, plot)


def _targets(options: dict[str, Any]) -> list[dict[str, Any]]:
    risk = {name: options[name] for name in ("advantage", "alpha", "beta") if options[name] is not None}
    pairs = [{"epsilon": e, "delta": d} for e, d in product(options["epsilon"], options["delta"])]
    if risk and (options["epsilon"] or options["delta"]):
        raise vdp.errors.ParameterError("give one kind of target: epsilon with delta, or advantage, or alpha with beta")
    if not risk and not pairs:
        raise vdp.errors.ParameterError("give a target", hint="e.g. --epsilon 4 --delta 0.05")
    return [risk] if risk else pairs


def _candidates(schema: vdp.Schema, unit: str, options: dict[str, Any]) -> dict[str, vdp.Mechanism]:
    """Return the candidates by name; without an exact rate the rule's choice stands beside a smaller one."""
    out = {}
    for target in _targets(options):
        label = ", ".join(f"{name} {value:g}" for name, value in target.items())
        rates = options["exact_rate"]
        if not rates:
            first = vdp.calibrate(schema, **target, unit=unit)
            out[f"{label}, exact {first.exact_rate:.3g}"] = first
            rates = [first.exact_rate / 4] if schema.numeric else []
        for rate in rates:
            out[f"{label}, exact {rate:.3g}"] = vdp.calibrate(schema, **target, unit=unit, exact_rate=rate)
    return out


def _costs(schema: vdp.Schema, unit: str, options: dict[str, Any]) -> list[dict[str, Any]]:
    target = _targets(options)[0]
    rate = {"exact_rate": options["exact_rate"][0]} if options["exact_rate"] else {}
    return cost_of_columns(schema, target | rate, unit=unit) if schema.numeric else []


def _plot(candidates: dict[str, vdp.Mechanism], unit: str, path: Path) -> None:
    from versadp.display.pictures import curves

    alpha = np.linspace(0, 1, 201)
    lines = {label: (alpha, mech.privacy(unit).beta(alpha)) for label, mech in candidates.items()}
    title = f"What the best attacker misses, one {unit}"
    curves({"nothing to learn": (alpha, 1 - alpha)} | lines, x="false alarms", y="misses", title=title, path=path)
    click.echo(f"picture written to {path}", err=True)
