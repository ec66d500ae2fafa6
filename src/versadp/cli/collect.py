"""`versadp collect`: reports of people's own devices, from files or over HTTP, into a release folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

import versadp as vdp
from versadp import inputs
from versadp.cli.options import metadata_options, said, style_option
from versadp.devices.reports import LATE, REASONS
from versadp.devices.server import HOST, PORT
from versadp.devices.web_endpoint import PATH, Limits
from versadp.display.tables import render

MOST_MECHANISM = 2**26  # bytes of a mechanism's JSON
_DEFAULT = Limits()


@click.command(
    epilog="Example: versadp collect november reports.ndjson --mechanism m.json --round 2026-11 --least 8000 --close"
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("files", type=click.Path(allow_dash=True, path_type=str), nargs=-1)
@click.option("--mechanism", type=click.Path(path_type=Path), help="JSON of the mechanism that the devices use.")
@click.option("--round", "name", metavar="NAME", help="Name of the round, as the reports say it.")
@click.option("--least", type=int, help="Reports that the smallest group with equal public values must have.")
@click.option(
    "--honest",
    type=int,
    metavar="H",
    help="How many of these are assumed honest and unknown to readers, for the shuffled figure; 1 claims none. "
    "[default: half of the smallest group]",
)
@click.option(
    "--rounds", type=int, default=1, show_default=True, help="In how many rounds these people reported, with this one."
)
@click.option(
    "--public",
    multiple=True,
    metavar="COLUMN=KIND",
    help="What a public column holds: number, text, truth, or levels such as region=n|s. Once for each.",
)
@click.option("--context", default="", help="Name of the collector, if the devices' noise is for it alone.")
@click.option("--serve", is_flag=True, help=f"Take reports over HTTP (POST {PATH}) until stopped by Ctrl-C or SIGTERM.")
@click.option("--host", default=HOST, show_default=True, help="Where to listen; the default is this machine alone.")
@click.option("--port", type=int, default=PORT, show_default=True, help="0 takes a free one.")
@click.option("--body", type=int, default=_DEFAULT.body, show_default=True, help="Bytes of a request, 1 MiB at most.")
@click.option(
    "--rate", type=float, default=_DEFAULT.rate, show_default=True, help="Requests a second, of everybody together."
)
@click.option("--queue", type=int, default=_DEFAULT.queue, show_default=True, help="Requests that may wait.")
@click.option(
    "--origin",
    "origins",
    multiple=True,
    help="Pages of this origin may send reports from a browser (CORS). Repeatable.",
)
@click.option(
    "--close", is_flag=True, help="At the end release what was collected to DIR/release; then nothing is taken."
)
@click.option(
    "--without-small-groups",
    is_flag=True,
    help="At the close leave out groups with equal public values that are too small.",
)
@metadata_options
@style_option
def collect(folder: Path, files: tuple[str, ...], style: str, **options: Any) -> None:
    """Collect device reports of one round in DIR, and release them.

    FILES hold one JSON report per line; - is standard input, which is also read if there are neither FILES nor --serve
    nor --close. A report that was taken is on the disk: if the command is interrupted, run it again. Options of the
    round are given the first time, and may be left out later.
    """
    with _opened(folder, options) as collector:
        for file in files or (() if options["serve"] or options["close"] else ("-",)):
            _take(collector, sys.stdin.buffer if file == "-" else file)
        if options["serve"]:
            _serve(collector, options)
        if options["close"]:
            collector.close_round(without_small_groups=options["without_small_groups"], metadata=said(options))
        _show(collector, folder, style)


def _opened(folder: Path, options: dict[str, Any]) -> vdp.devices.Collector:
    """Open the collection of a folder, or begin one."""
    if options["mechanism"] is None:
        given = [name for name in ("least", "honest", "public", "context") if options[name]]
        if options["name"] is not None or given or options["rounds"] != 1:
            raise vdp.errors.ParameterError(
                "options of the round are given together with its mechanism",
                hint="add --mechanism m.json; or leave them all out to go on with the collection in DIR",
            )
        return vdp.devices.Collector(folder)
    return vdp.devices.Collector(
        folder,
        _mechanism(options["mechanism"]),
        round=options["name"],
        least=options["least"],
        honest=options["honest"],
        rounds=options["rounds"],
        public=dict(_kind(given) for given in options["public"]),
        context=options["context"],
    )


def _mechanism(path: Path) -> vdp.Mechanism:
    try:
        return vdp.Mechanism.from_json(inputs.file_bytes(path, MOST_MECHANISM).decode())
    except (OSError, UnicodeDecodeError):
        raise vdp.errors.ParameterError(
            f"{str(path)!r} cannot be read", hint="write it with Path('m.json').write_text(mechanism.to_json())"
        ) from None


def _kind(given: str) -> tuple[str, Any]:
    """Return a public column and its kind; levels that are all whole numbers or all true/false are taken as such.

    Examples
    --------
    >>> _kind("bought=0|1"), _kind("region=north|south"), _kind("note=text")
    (('bought', [0, 1]), ('region', ['north', 'south']), ('note', 'text'))
    """
    name, mark, kind = given.partition("=")
    if not mark:
        raise vdp.errors.ParameterError(
            "--public needs a column and what it holds", hint="--public bought=truth, or --public 'region=n|s'"
        )
    if "|" not in kind:
        return name, kind
    levels = kind.split("|")
    try:
        values = [json.loads(level) for level in levels]
    except ValueError:
        return name, levels
    plain = {type(value) for value in values} in ({int}, {bool})
    return name, values if plain else levels


def _take(collector: vdp.devices.Collector, file: Any) -> None:
    """Take the reports of a file; say it if they came too late."""
    if late := collector.take_file(file).get(LATE):
        raise vdp.errors.ReleaseError(
            f"the round {collector.settings.round!r} was closed: {late:,} reports were counted and not taken",
            hint="collect them as another round, in another folder",
        )


def _serve(collector: vdp.devices.Collector, options: dict[str, Any]) -> None:
    """Serve until stopped, and say where."""
    limits = Limits(body=options["body"], rate=options["rate"], queue=options["queue"])
    if options["host"] not in (HOST, "::1", "localhost"):
        click.echo(
            "versadp: other machines can reach this endpoint, and nothing is encrypted: put a proxy with TLS before it",
            err=True,
        )

    def tell(address: str) -> None:
        click.echo(f"versadp: taking reports at {address}; stop with Ctrl-C", err=True)

    vdp.devices.serve(
        collector, limits, host=options["host"], port=options["port"], origins=options["origins"], ready=tell
    )


def _show(collector: vdp.devices.Collector, folder: Path, style: str) -> None:
    """Show what became of all lines so far; of a round that was closed where its release is and what it guarantees."""
    counts = [(reason, collector.counts[reason]) for reason in REASONS if collector.counts.get(reason)]
    rows: list[dict[str, Any]] = [{"lines": reason, "count": count} for reason, count in counts]
    if style != "text":
        click.echo(render(rows, style), nl=style == "json")
        return
    click.echo(render(rows) if rows else "no reports so far")
    if collector.is_closed:
        click.echo(f"\nclosed: the release is in {folder / 'release'}\n\n{collector.statement()}")
    else:
        click.echo("\nopen: --close releases what was collected")
