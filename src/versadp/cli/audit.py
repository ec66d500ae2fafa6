"""`versadp audit`: attack the release path of a mechanism and hold the result against its claim."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

import versadp as vdp
from versadp.auditing import through_files
from versadp.cli.options import edition_option, numbers, release_folder, style_option, unit_option
from versadp.display.tables import render


@click.command(epilog="Example: versadp audit released --unit attribute -n 200000")
@click.argument("folder", type=release_folder, required=False)
@click.option("--schema", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="In place of a release.")
@click.option("--scale", type=numbers, metavar="NUMBERS", help="Noise scale, or column=scale,...; with --schema.")
@click.option("--exact-rate", type=float, default=0.0, help="Share of unchanged records; with --schema.")
@click.option("--keep", type=numbers, metavar="NUMBERS", help="Probability that a category is kept; with --schema.")
@click.option("-n", "--releases", type=click.IntRange(1000), default=1_000_000, show_default=True)
@click.option("--delta", type=float, help="Where epsilon is bounded; default: at a few places.")
@click.option("--confidence", type=float, default=0.999, show_default=True)
@click.option("--thorough", is_flag=True, help="As many releases of every pair of records as of the worst.")
@click.option("--files", is_flag=True, help="Audit the path through files: release, append, keys and parts.")
@edition_option
@unit_option
@style_option
def audit(
    folder: Path | str | None,
    schema: Path | None,
    scale: float | dict[str, float] | None,
    exact_rate: float,
    keep: float | dict[str, float] | None,
    releases: int,
    delta: float | None,
    confidence: float,
    thorough: bool,
    files: bool,
    edition: int | None,
    unit: str | None,
    style: str,
) -> None:
    """Attack the mechanism of a release FOLDER (or of --schema) and report what it gives away.

    Exits with 1 if the claim does not hold.
    """
    if (folder is None) == (schema is None):
        raise vdp.errors.ParameterError("give a release folder or --schema, one of them")
    audited: vdp.Release | vdp.Mechanism
    if folder is not None:
        audited = vdp.load(folder, edition)
    else:
        assert schema is not None
        audited = vdp.Mechanism(vdp.Schema.from_toml(schema), scale, exact_rate, keep)
    mechanism = audited.mechanism if isinstance(audited, vdp.Release) else audited
    path = through_files(mechanism) if files else None
    result = vdp.audit(audited, releases, unit=unit, delta=delta, confidence=confidence, path=path, thorough=thorough)
    if style == "text":
        click.echo(str(result))
    else:
        row = {name: value for name, value in asdict(result).items() if name not in {"alpha", "beta"}}
        click.echo(render([row], style))
    if not result.passed:
        raise SystemExit(1)
