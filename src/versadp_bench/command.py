"""`versadp bench`: speed as ratios, and accuracy by simulation."""

from __future__ import annotations

import click

from versadp.display.tables import FORMATS, render
from versadp_bench import estimation, files, foundation, privacy
from versadp_bench.accuracy import ROWS, accuracy_table

BENCHMARKS = {**foundation.BENCHMARKS, **privacy.BENCHMARKS, **estimation.BENCHMARKS, **files.BENCHMARKS}
ACCURACY = "accuracy"
THINNED = 20


@click.command()
@click.argument("names", nargs=-1, type=click.Choice([*sorted(BENCHMARKS), ACCURACY]))
@click.option("--reps", type=click.IntRange(2), default=THINNED, show_default=True, help="Replications of 'accuracy'.")
@click.option("--row", "rows", multiple=True, type=click.Choice(list(ROWS)), help="Rows of 'accuracy'; default: all.")
@click.option("--format", "style", type=click.Choice(FORMATS), default="text", show_default=True)
def bench(names: tuple[str, ...], reps: int, rows: tuple[str, ...], style: str) -> None:
    """Measure speed as ratios in one run; exit with 1 if a requirement is not met.

    `versadp bench accuracy` simulates the accuracy table instead: error, coverage, bias and failures.
    """
    if ACCURACY in names:
        if reps == THINNED and style == "text":
            click.echo(f"thinned to {reps} replications: errors are rough; --reps 1000 for the full table", err=True)
        click.echo(render(list(accuracy_table(rows or list(ROWS), reps, engine="processes")), style))
    figures = [figure for name in names or sorted(BENCHMARKS) if name != ACCURACY for figure in BENCHMARKS[name]()]
    if figures:
        click.echo(render([figure.row() for figure in figures], style))
    if not all(figure.met for figure in figures):
        raise SystemExit(1)
