"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from versadp.display.tables import FORMATS
from versadp.errors import ParameterError
from versadp.release.target.person import ALL_UNITS

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.release.folder.metadata import Metadata


class Place(click.Path):
    """A path of this machine, or an address in a store, which stays as it is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a path, or the address."""
        return value if isinstance(value, str) and "://" in value else super().convert(value, param, ctx)


release_folder = Place(exists=True, file_okay=False, path_type=Path)  # to read
style_option = click.option(
    "--format", "style", type=click.Choice(FORMATS), default="text", show_default=True, help="How to print."
)
missing_people_option = click.option(
    "--without-missing-people",
    is_flag=True,
    help="Make an edition although people of the newest one are not in the file. How many people an edition has is "
    "public; those who are left out stay in the editions before.",
)
edition_option = click.option(
    "--edition",
    type=click.IntRange(1),
    help="Which edition, if the people were released several times. [default: newest]",
)
engine_option = click.option(
    "--engine",
    default="auto",
    show_default=True,
    metavar="WHERE",
    help="Where the work runs: auto, local (all cores here), serial (one thread), dask (a cluster of this machine), dask://host:port.",
)
unit_option = click.option(
    "--unit",
    type=click.Choice(ALL_UNITS),
    help="Protect a person with all rows, a whole record (one row), or one attribute of it. "
    "[default: record; person where the schema has rows_per_person above 1]",
)


_SAID = {
    "title": "Name of the release.",
    "curator": "Who is responsible for it.",
    "contact": "Where people can ask about it.",
    "purpose": "What it is for.",
    "covers": "Who the people are.",
    "rationale": "Why this level of privacy was chosen.",
}


def metadata_options(command: Any) -> Any:
    """Add what a publisher says about a release; it stands in the manifest."""
    for name, words in reversed(_SAID.items()):
        command = click.option(f"--{name}", metavar="TEXT", help=f"For the manifest: {words[0].lower()}{words[1:]}")(
            command
        )
    return command


def said(options: dict[str, Any]) -> Metadata | None:
    """Return what `metadata_options` read, if anything."""
    from versadp.release.folder.metadata import Metadata

    given = {name: options[name] for name in _SAID if options[name] is not None}
    return Metadata(**given) if given else None


def columns_per_term(text: str) -> int | Literal["auto"] | None:
    """Read how many private columns models may have: "auto", "all", or a number."""
    if text == "auto":
        return "auto"
    if text == "all":
        return None
    try:
        return int(text)
    except ValueError:
        raise ParameterError(f"{text!r} is no number of columns", hint="a number, all, or auto") from None


term_option = click.option(
    "--columns-per-term",
    default="auto",
    show_default=True,
    metavar="K|all|auto",
    help="Private columns that models other than linear ones will have at most: each record may then give some only.",
)


def numbers(text: str) -> dict[str, Any] | float:
    """Read a number, or `column=number,column=number`."""
    if "=" not in text:
        return float(text)
    return {name.strip(): float(value) for name, value in (part.split("=", 1) for part in text.split(","))}


def read_bins(given: tuple[str, ...]) -> dict[str, list[float | str]]:
    """Read `column=edge,edge,...` of each column; dates stay text."""
    out: dict[str, list[float | str]] = {}
    for text in given:
        name, sign, edges = text.partition("=")
        if not sign:
            raise ParameterError(
                f"bins are given as COLUMN=EDGE,EDGE,..., not {text!r}", hint="e.g. --bins age=18,30,50,90"
            )
        out[name.strip()] = [_edge(each.strip()) for each in edges.split(",")]
    return out


def _edge(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def model_options(*, required: bool) -> Callable[[Any], Any]:
    """Return a decorator: the model that a plan or a rehearsal is about, and what is assumed of made-up people."""
    options = (
        click.option("--formula", required=required, help='The model, e.g. "y ~ age + income".'),
        click.option("--loss", default="squared", show_default=True, help="As in fit."),
        click.option(
            "--assume",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="TOML: marginals, correlations, coefficients, residual of made-up people.",
        ),
        click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of made-up people."),
    )

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def stated(options: dict[str, Any]) -> dict[str, Any]:
    """Return what `model_options` read, as `plan` and `rehearse` take it."""
    return {**{name: options[name] for name in ("formula", "loss", "assume")}, "random_state": options["seed"]}
