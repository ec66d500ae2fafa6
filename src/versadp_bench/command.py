"""`versadp bench`."""

from __future__ import annotations

import click

from versadp.display.tables import FORMATS, render
from versadp_bench.files import BENCHMARKS as FILES
from versadp_bench.foundation import BENCHMARKS

BENCHMARKS.update(FILES)


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(sorted(BENCHMARKS)))
@click.option("--format", "style", type=click.Choice(FORMATS), default="text", show_default=True)
def bench(names: tuple[str, ...], style: str) -> None:
    """Measure speed as ratios in one run; exit with 1 if a requirement is not met."""
    figures = [figure for name in names or sorted(BENCHMARKS) for figure in BENCHMARKS[name]()]
    click.echo(render([figure.row() for figure in figures], style))
    if not all(figure.met for figure in figures):
        raise SystemExit(1)
