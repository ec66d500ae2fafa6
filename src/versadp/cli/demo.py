"""`versadp demo`: the whole story on built-in data."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np

import versadp as vdp
from versadp.display.tables import render
from versadp.fitting import example

PEOPLE = 100_000
REGIONS = list(example.REGIONS)


SCHEMA = vdp.Schema({name: column for name, column in example.SCHEMA.columns.items() if name != "year"})


def people(rows: int = PEOPLE) -> Any:
    """Return the built-in data, all of it private."""
    return example.people(rows).drop_columns(["year"])


@click.command(epilog="Example: versadp demo --csv people.csv")
@click.option(
    "--csv",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Only write the made-up people to a CSV file, to try commands on.",
)
@click.option("--rows", type=click.IntRange(1, PEOPLE), default=20_000, show_default=True, help="People in that file.")
def demo(file: Path | None, rows: int) -> None:
    """Tell the whole story on built-in data, in under a minute."""
    if file is not None:
        _write(file, rows)
        return
    data = people()
    _chapter(1, "The provider declares what the columns can hold")
    click.echo(SCHEMA.to_toml())

    _chapter(2, "... asks for a level of privacy, and gets the least noise that gives it")
    mechanism = vdp.calibrate(SCHEMA, epsilon=1, delta=1e-6, shuffled=PEOPLE)
    release = mechanism.release(data)
    click.echo(
        "Epsilon 1 and delta 1e-6 for everything about a person, in a shuffled release of a hundred thousand:\n\n"
        + release.statement()
    )
    noise = vdp.Mechanism(SCHEMA, noise={block.columns: block.spec for block in mechanism.blocks})
    shown = noise.release(data.slice(0, 5), shuffle=False).frame
    click.echo(f"\nFive true records:\n{_head(data)}\n\nWhat the noise makes of such records:\n{_head(shown)}")
    click.echo("\nReleased rows are in an order that tells nothing, so nobody knows whose is whose.")

    _chapter(3, "... may have the release path attacked, to see that the claim holds")
    click.echo(str(vdp.audit(mechanism, n=100_000)))

    _chapter(4, "From then on anyone learns from the release, as often as they like")
    click.echo(render(_estimates(data, release)))
    click.echo(
        "\n'naive' uses the noisy records as if they were true, and is wrong; 'corrected' undoes the noise in "
        "expectation,\nwith a standard error that tells how far to trust it. The raw data were needed only once."
    )
    _chapter(5, "... with any model, and everything that belongs to one")
    click.echo(str(vdp.fit(release, "vaccinated ~ age + income", loss="logistic").summary()))

    _chapter(6, "The paper's own noise, at a more generous level, serves rough questions too")
    noise = vdp.calibrate(SCHEMA, epsilon=4, delta=0.1, unit="attribute", noise="zil")
    click.echo(
        f"It releases {noise.exact_rate:.0%} of the records unchanged, which delta allows; they can be recognised.\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", vdp.errors.DeltaWarning)  # said in the line above
        generous = noise.release(data)
    income = np.asarray(data["income"])
    found = vdp.fit(generous, loss=vdp.losses.Quantile("income"))
    naive = float(np.median(np.asarray(generous.frame["income"])))
    click.echo(render([_row("median income", float(np.median(income)), naive, found.params[0], found.bse[0])]))


def _write(file: Path, rows: int) -> None:
    from pyarrow import csv

    try:
        with file.open("xb") as out:
            csv.write_csv(people(rows), out)
    except FileExistsError:
        raise vdp.errors.ParameterError(f"{str(file)!r} exists already", hint="choose a new name") from None
    except OSError as problem:
        raise vdp.errors.ParameterError(f"{str(file)!r} cannot be written ({type(problem).__name__})") from None
    click.echo(f"{rows:,} made-up people written to {file}", err=True)


def _chapter(number: int, title: str) -> None:
    click.echo(f"\n{number}. {title}\n")


def _head(table: Any) -> str:
    return render(table.slice(0, 5).to_pylist())


def _estimates(data: Any, release: vdp.Release) -> list[dict[str, Any]]:
    """Return means and slopes: raw, naive and corrected."""
    out = []
    for name in ("age", "income", "visits"):
        found = vdp.fit(release, loss=vdp.losses.Mean(name))
        raw, naive = (float(np.asarray(table[name]).mean()) for table in (data, release.frame))
        out.append(_row(f"mean {name}", raw, naive, found.params[0], found.bse[0]))
    return [*out, *_slopes(data, release)]


def _slopes(data: Any, release: vdp.Release) -> list[dict[str, Any]]:
    found = vdp.fit(release, "visits ~ age + income + C(region)")
    raw, naive = (_plain(table) for table in (data, release.frame))
    asked = (
        ("age", 1, "visits per year of age"),
        ("income", 10_000, "visits per 10,000 of income"),
        ("C(region)[T.west]", 1, "visits, west against north"),
    )
    names = list(found.params.names)
    rows = []
    for name, unit, what in asked:
        j = names.index(name)
        rows.append(_row(what, unit * raw[j], unit * naive[j], unit * found.params[j], unit * found.bse[j]))
    return rows


def _plain(table: Any) -> Any:
    """Return coefficients by least squares, in the order of the formula."""
    region = np.asarray(table["region"])
    dummies = [(region == level).astype(float) for level in REGIONS[1:]]
    numbers = [np.asarray(table[name]) for name in ("age", "income")]
    matrix = np.column_stack([np.ones(len(region)), *numbers, *dummies])
    return np.linalg.lstsq(matrix, np.asarray(table["visits"]), rcond=None)[0]


def _row(name: str, raw: float, naive: float, corrected: float, error: float) -> dict[str, Any]:
    numbers = {"raw": raw, "naive": naive, "corrected": corrected, "std error": error}
    return {"quantity": name} | {key: float(value) for key, value in numbers.items()}
