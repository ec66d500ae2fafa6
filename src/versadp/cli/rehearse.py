"""`versadp rehearse`: made-up people through release, fit, coverage and audit, on one page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import versadp as vdp
from versadp.cli.options import model_options, stated, style_option, unit_option
from versadp.display.tables import render

_TARGET = ("epsilon", "delta", "exact_rate", "shuffled", "noise", "records", "reps", "seconds")


@click.command(epilog='Example: versadp rehearse schema.toml --formula "y ~ age" --epsilon 4')
@click.argument("schema", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@model_options(required=True)
@click.option("--epsilon", type=float, required=True, help="Target.")
@click.option("--delta", type=float, help="Target; none is 0: pure.")
@click.option("--exact-rate", type=float, help="Share of records released unchanged, of Laplace noise.")
@click.option("--shuffled", type=click.IntRange(1), help="For a shuffled release of at least so many records.")
@click.option("--noise", type=click.Choice(["auto", "window", "zil"]), default="auto", show_default=True)
@click.option("--records", type=click.IntRange(50), default=20_000, show_default=True, help="People in a release.")
@click.option("--reps", type=click.IntRange(2), default=40, show_default=True, help="Made-up releases.")
@click.option("--seconds", type=click.FloatRange(1), default=90.0, show_default=True, help="Begin none after so long.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write the page as HTML too.")
@unit_option
@style_option
def rehearse(schema: Path, unit: str, style: str, html: Path | None, **options: Any) -> None:
    """Rehearse a release on made-up people, before anything private is touched: what an office signs on.

    Exits with 1 if not all went well.
    """
    target = {name: options[name] for name in _TARGET}
    page = vdp.rehearse(vdp.Schema.from_toml(schema), unit=unit, **target, **stated(options))
    if html is not None:
        page.to_html(html)
    if style == "text":
        click.echo(str(page))
    else:
        click.echo(json.dumps(page.to_dict()) if style == "json" else render(page.table, style).rstrip("\n"))
    if not page.passed:
        raise SystemExit(1)
