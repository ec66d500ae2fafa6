"""`versadp bench`: speed as ratios, accuracy and coverage by simulation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from versadp.display.tables import FORMATS, render
from versadp_bench import categories, cluster, estimation, files, foundation, privacy, stopwatch, tables, windows
from versadp_bench.accuracy import ROWS, accuracy_table
from versadp_bench.alternatives import alternatives_rows
from versadp_bench.cells import CELLS
from versadp_bench.coverage.regimes import REGIMES
from versadp_bench.coverage.running import FULL
from versadp_bench.coverage.table import coverage_plan, coverage_table
from versadp_bench.scaling import scaling_table

if TYPE_CHECKING:
    from collections.abc import Collection

_ROOMS = (foundation, privacy, estimation, windows, categories, tables, files, cluster, stopwatch)
BENCHMARKS = {name: benchmark for room in _ROOMS for name, benchmark in room.BENCHMARKS.items()}
ACCURACY, COVERAGE, SCALING, ALTERNATIVES = "accuracy", "coverage", "scaling", "alternatives"
TABLES: dict[str, Collection[str]] = {ACCURACY: ROWS, COVERAGE: REGIMES, ALTERNATIVES: CELLS}
THINNED = 20
_ENGINES = "processes, serial, dask or dask://host:port"


@click.command(epilog="Example: versadp bench")
@click.argument("names", nargs=-1, type=click.Choice([*sorted(BENCHMARKS), *TABLES, SCALING]))
@click.option("--reps", type=click.IntRange(2), default=THINNED, show_default=True, help="Replications of a row.")
@click.option("--row", "rows", multiple=True, metavar="ROW", help="A row of the table; default: all.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep replications of 'accuracy' and 'coverage' here; a rerun continues.",
)
@click.option("--again", type=click.IntRange(0), help="Fresh replications of rows of 'coverage' outside their limits.")
@click.option("--each", is_flag=True, help="Every coefficient of 'coverage', every row of 'alternatives'.")
@click.option("--most", type=float, default=1e7, show_default=True, help="Rows of 'scaling', at most: 1e5 to 1e8.")
@click.option("--engine", default="processes", show_default=True, help=f"Where rows run: {_ENGINES}.")
@click.option("--format", "style", type=click.Choice(FORMATS), default="text", show_default=True)
def bench(
    names: tuple[str, ...],
    *,
    reps: int,
    rows: tuple[str, ...],
    out: Path | None,
    again: int | None,
    each: bool,
    most: float,
    engine: str,
    style: str,
) -> None:
    """Measure speed as ratios in one run; exit with 1 if a requirement is not met.

    `versadp bench accuracy` simulates the accuracy table instead: error, coverage, bias and failures.

    `versadp bench coverage` holds the intervals of many regimes against the truth; in full with --reps 200, when rows
    outside their limits are run again with 1,000 fresh replications.

    `versadp bench alternatives` fits sixty models by default and by public alternatives, and prints where the
    default is worse.

    `versadp bench scaling` releases and fits files of more and more rows: how cost grows.
    """
    met = True
    chosen = {name: [row for row in rows if row in table] for name, table in TABLES.items() if name in names}
    for row in rows:
        if not any(row in those for those in chosen.values()):
            raise click.UsageError(f"there is no row {row!r} in {' and '.join(chosen) or 'what is measured'}")
    if ACCURACY in names and (chosen[ACCURACY] or not rows):
        _say_thinned(reps, 1000, style)
        found = accuracy_table(chosen[ACCURACY] or list(ROWS), reps, engine, out=out)
        click.echo(render(list(found), style))
    if COVERAGE in names and (chosen[COVERAGE] or not rows):
        _say_thinned(reps, FULL, style)
        table = coverage_table(coverage_plan(chosen[COVERAGE], reps, again), out, engine)
        click.echo(render(table.coefficients if each else table.rows, style))
        met = table.met
    if ALTERNATIVES in names and (chosen[ALTERNATIVES] or not rows):
        cells = chosen[ALTERNATIVES] or list(CELLS)
        against = [row for cell in cells for row in alternatives_rows(cell, reps, engine)]
        worse = [row for row in against if row["violated"]]
        shown = against if each else worse
        click.echo(render(shown, style) if shown else "the default is nowhere worse than an alternative")
        met = met and not worse
    if SCALING in names:
        click.echo(render(list(map(_say_done, scaling_table(most))), style))
    speed = [name for name in names or sorted(BENCHMARKS) if name in BENCHMARKS]
    figures = [figure for name in speed for figure in BENCHMARKS[name]()]
    if figures:
        click.echo(render([figure.row() for figure in figures], style))
    if not met or not all(figure.met for figure in figures):
        raise SystemExit(1)


def _say_done(row: dict[str, Any]) -> dict[str, Any]:
    """Say what a size came to when it is known: the next may take an hour."""
    click.echo(f"{row['step']} {row['rows']}: {row['CPU seconds']} CPU s, {row['peak GiB']} GiB", err=True)
    return row


def _say_thinned(reps: int, full: int, style: str) -> None:
    if reps < full and style == "text":
        click.echo(f"thinned to {reps} replications: figures are rough; --reps {full} for the full table", err=True)
