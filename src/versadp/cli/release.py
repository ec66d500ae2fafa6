"""`versadp release`: a file of any size into a release folder."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import click

import versadp as vdp
from versadp.cli.options import (
    Place,
    columns_per_term,
    engine_option,
    metadata_options,
    missing_people_option,
    numbers,
    said,
    style_option,
    term_option,
    unit_option,
)
from versadp.display.progress import bar
from versadp.display.tables import render
from versadp.release.files.account import account, public_key
from versadp.release.files.edition import check_place
from versadp.release.files.release import AGAIN, release_file
from versadp.release.files.sources import open_fitting
from versadp.release.target.person import unit_of
from versadp.release.target.usefulness import ADVICE, records_needed, useless

_ASSUMED = (
    "versadp: the schema has no id: each row is protected as another person (--one-row-per-person says that it is so)"
)


@click.command(epilog="Example: versadp release people.csv --schema schema.toml --out released --epsilon 4")
@click.argument("data", type=Place(path_type=Path), required=False)
@click.option("--query", metavar="SQL", help="In place of DATA: what to ask a database for.")
@click.option(
    "--database",
    envvar="VERSADP_DATABASE",
    help="A DuckDB file, or postgresql://user@host/name; default: none, for queries that name files.",
)
@click.option(
    "--schema", type=click.Path(path_type=Path), required=True, help="Schema file; see `versadp schema init`."
)
@click.option("--out", type=Place(path_type=Path), help="The release folder.")
@click.option(
    "--edition-of",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="In place of --out: DATA, with everybody in it, is the next edition of this release.",
)
@missing_people_option
@click.option("--epsilon", type=float, help="Target: epsilon ...")
@click.option("--delta", type=float, help="... and delta; without one it is pure.")
@click.option("--scale", type=numbers, metavar="NUMBERS", help="Noise by hand: scale, or column=scale,...")
@click.option("--exact-rate", type=float, help="Share of records released unchanged, by Laplace noise; 0 by hand.")
@click.option("--keep", type=numbers, metavar="NUMBERS", help="Noise by hand: probability that a category is kept.")
@click.option(
    "--noise",
    type=click.Choice(["auto", "window", "zil"]),
    default="auto",
    show_default=True,
    help="For a target: windows, or the zero-inflated Laplace noise that serves every loss.",
)
@click.option(
    "--fit-bounds", is_flag=True, help="Learn bounds and rare levels from DATA with noise, for a share of the target."
)
@click.option("--coverage", type=float, help="With --fit-bounds: share of values inside the bounds. [default: 0.99]")
@click.option("--share", type=float, help="With --fit-bounds: share of the target that is spent on it. [default: 0.05]")
@click.option("--spacing", is_flag=True, help="With --fit-bounds: noise that is even in log(1 + x), where it serves.")
@click.option("--shuffled", type=int, help="Meet the target by a shuffled release of at least so many records.")
@click.option(
    "--totals/--no-totals",
    default=False,
    show_default=True,
    help="With --shuffled and --delta: release noisy totals beside the records, by half of the target's squared mu.",
)
@click.option("--totals-share", type=float, help="With --totals: another share of it. [default: 0.5]")
@term_option
@click.option("--keep-order", is_flag=True, help="Leave records where they are: their places must tell nothing.")
@click.option("--keep-rows", type=int, help="Keep at most so many rows of each person; the key chooses which.")
@click.option("--one-row-per-person", is_flag=True, help="Without an id: everybody has one row; do not ask.")
@click.option("--state", type=click.Path(path_type=Path), help="Keys and ledger; default: your own, by population.")
@click.option("--population", help="Who these people are: one ledger each. [default: the schema's, or `default`]")
@click.option(
    "--again", type=click.Choice(AGAIN), default="refuse", show_default=True, help="People known from before."
)
@click.option("--budget-epsilon", type=float, help="What one person may be charged in all ...")
@click.option("--budget-delta", type=float, help="... said when the state folder is first used.")
@click.option("--accept-useless", is_flag=True, help="Release although no mean of any column would be known.")
@click.option("--sign", is_flag=True, help="Sign the manifest; `versadp ledger --public-key` prints the key.")
@click.option("--restart", is_flag=True, help="Give up an unfinished release and begin anew.")
@metadata_options
@unit_option
@engine_option
@style_option
def release(data: Path | None, schema: Path, out: Path | None, style: str, **options: Any) -> None:
    """Add noise to every record of DATA, once, and write the release to a new folder.

    DATA is a Parquet, CSV or Arrow file of any size, or a folder of Parquet files, here or in a store
    (s3://bucket/people.parquet); or --query says which records of a
    database. If the command is interrupted, run it again: it goes on where it stopped.
    """
    edition_of = options["edition_of"]
    check_place(out, edition_of)
    place, known = out or edition_of, isinstance(out, Path) and out.exists()
    before = None if edition_of is None else vdp.load(edition_of).edition
    columns = vdp.Schema.from_toml(schema)
    if not known and columns.id is None and not options["one_row_per_person"]:
        _ask_for_one_row()
    mechanism, target = _mechanism(columns, options)
    source = _source(data, options["query"], options["database"])
    if not known and not options["accept_useless"]:
        _refuse_useless(source, mechanism)
    with warnings.catch_warnings(record=True) as caught, bar("releasing") as tell:
        warnings.simplefilter("always", vdp.errors.VersadpWarning)
        made = release_file(
            source,
            out,
            mechanism,
            shuffle=not options["keep_order"],
            edition_of=edition_of,
            without_missing_people=options["without_missing_people"],
            keep_rows=options["keep_rows"],
            fit_bounds=options["fit_bounds"] and mechanism.schema.bounds is not None,
            state=options["state"],
            population=options["population"],
            again=options["again"],
            target=target,
            budget=_pair("budget-epsilon", "budget-delta", options["budget_epsilon"], options["budget_delta"]),
            metadata=said(options),
            sign=options["sign"],
            restart=options["restart"],
            engine=options["engine"],
            progress=tell,
        )
    for warning in caught:
        click.echo(f"versadp: {warning.message}", err=True)
    if style != "text":
        click.echo(render([{"release": str(place), "rows": len(made)}], style), nl=style == "json")
        return
    _tell(made, place, options, is_new=not known and made.edition != before)


def _tell(made: vdp.Release, place: Path, options: dict[str, Any], *, is_new: bool) -> None:
    """Print what was released and where, and what readers and people are to know of it."""
    if is_new:
        where = place if options["edition_of"] is None else f"{place}, edition {made.edition}"
        click.echo(f"{len(made):,} records released to {where}\n\n{made.statement()}")
    else:
        click.echo(f"{place} holds these {len(made):,} records already: nothing was released\n\n{made.statement()}")
    if options["sign"]:
        click.echo(f"\nsigned; readers check it by the public key {public_key(place, state=options['state'])}")
    if options["again"] == "charge" or options["edition_of"] is not None:
        click.echo(f"\n{account(place, state=options['state']).sentence()}")


def has_terminal() -> bool:
    """Return True if somebody can be asked."""
    return sys.stdin.isatty()


def _ask_for_one_row() -> None:
    """Ask whether one person can have several rows, which no id tells; without a terminal say what is assumed."""
    if not has_terminal():
        click.echo(_ASSUMED, err=True)
    elif click.confirm("The schema has no id. Can one person have several rows in these data?", err=True):
        raise vdp.errors.SchemaError(
            "one person can have several rows, and without an id each would be protected as another person",
            hint='name the column that identifies people in the schema, and how many rows: id = "...", '
            "rows_per_person = ...",
        )


def _refuse_useless(source: Any, mechanism: vdp.Mechanism) -> None:
    """Refuse a calibrated release that would tell no mean of any column; count records no further than matters."""
    if mechanism.target is None:  # noise by hand
        return
    opened = open_fitting(source, mechanism.schema)
    rows, needed = opened.rows, records_needed(mechanism)
    if rows is None:
        rows = 0
        for batch, _ in opened.batches():
            rows += batch.num_rows
            if rows >= needed:
                return
    if why := useless(mechanism, rows):
        raise vdp.errors.ParameterError(why, hint=f"{ADVICE}; or --accept-useless")


def _source(data: Path | None, query: str | None, database: str | None) -> Any:
    """Return the file, or the query, that is to be released."""
    if (data is None) == (query is None):
        raise vdp.errors.ParameterError("give DATA or --query, one of them", hint='e.g. --query "SELECT * FROM people"')
    return data if query is None else vdp.sql(query, database or ":memory:")


def _pair(first: str, second: str, one: float | None, other: float | None) -> tuple[float, float] | None:
    if (one is None) != (other is None):
        raise vdp.errors.ParameterError(f"--{first} and --{second} belong together")
    return None if one is None or other is None else (one, other)


def _planned(schema: vdp.Schema, options: dict[str, Any]) -> vdp.Schema:
    """Return the schema with what learning its bounds will cost; windows without a shuffle have epsilon only."""
    laplace = options["noise"] == "zil" or options["exact_rate"] is not None
    given = {name: options[name] for name in ("share", "coverage") if options[name] is not None}
    target = {name: options[name] for name in ("epsilon", "delta", "unit")}
    pure = not laplace and options["shuffled"] is None
    given["spacing"] = options["spacing"] and not laplace
    planned: vdp.Schema = vdp.fit_bounds(None, schema, **target, **given, pure=pure)
    return planned


def _mechanism(schema: vdp.Schema, options: dict[str, Any]) -> tuple[vdp.Mechanism, tuple[float, float] | None]:
    """Return the mechanism, and the pair that a whole record is charged with if the target is one."""
    epsilon, delta = options["epsilon"], options["delta"]
    by_hand = options["scale"] is not None or options["keep"] is not None
    if by_hand == (epsilon is not None) or (epsilon is None and delta is not None):
        raise vdp.errors.ParameterError(
            "give a target or the noise, one of them",
            hint="--epsilon 4, perhaps with --delta 0.05, or --scale 0.5 --exact-rate 0.05",
        )
    if not options["fit_bounds"] and (options["coverage"], options["share"], options["spacing"]) != (None, None, False):
        raise vdp.errors.ParameterError(
            "--coverage, --share and --spacing are about --fit-bounds", hint="give --fit-bounds too"
        )
    if epsilon is None:
        if options["fit_bounds"]:
            raise vdp.errors.ParameterError("--fit-bounds spends a share of a target", hint="give --epsilon")
        if options["noise"] != "auto":
            raise vdp.errors.ParameterError("--noise is about a target", hint="leave it out, or give --epsilon")
        return vdp.Mechanism(schema, options["scale"], options["exact_rate"] or 0.0, options["keep"]), None
    if options["totals_share"] is not None and not options["totals"]:
        raise vdp.errors.ParameterError("--totals-share is about --totals", hint="give --totals too")
    rate, unit = options["exact_rate"], options["unit"]
    if options["fit_bounds"]:
        schema = _planned(schema, options)
    mechanism = vdp.calibrate(
        schema,
        epsilon=epsilon,
        delta=delta,
        unit=unit,
        exact_rate=rate,
        shuffled=options["shuffled"],
        noise=options["noise"],
        totals=options["totals"] if options["totals_share"] is None else options["totals_share"],
        columns_per_term=columns_per_term(options["columns_per_term"]),
    )
    # what is charged is the default unit's, so of another one a pair says nothing about it
    return mechanism, (epsilon, delta or 0.0) if unit_of(schema, unit) == unit_of(schema, None) else None
