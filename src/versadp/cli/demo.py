"""`versadp demo`: the whole story on built-in data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import numpy as np

import versadp as vdp
from versadp.display.tables import render

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

PEOPLE = 100_000
REGIONS = ["north", "east", "south", "west"]


def people(rows: int = PEOPLE) -> Any:
    """Return the built-in data: made-up people with age, income, region and yearly visits to a doctor."""
    import pyarrow as pa

    rng = np.random.default_rng(20)
    age = np.clip(rng.gamma(9.0, 5.2, rows), 18, 90)
    income = np.clip(rng.lognormal(10.4 + 0.004 * age, 0.5), 0, 200_000)
    visits = 1.0 + 0.06 * age - 0.00001 * income + rng.normal(0, 1.5, rows)
    return pa.table(
        {
            "age": age,
            "income": income,
            "region": rng.choice(REGIONS, rows, p=[0.4, 0.3, 0.2, 0.1]),
            "visits": visits,
        }
    )


SCHEMA = vdp.Schema(
    {
        "age": vdp.Bounded(18, 90),
        "income": vdp.Bounded(0, 200_000),
        "region": vdp.Categorical(REGIONS),
        "visits": vdp.Public(),
    }
)


@click.command()
def demo() -> None:
    """Tell the whole story on built-in data, in under a minute."""
    data = people()
    _chapter(1, "The provider declares what the columns can hold")
    click.echo(SCHEMA.to_toml())

    _chapter(2, "... adds noise to every record once, at a stated level of privacy")
    mechanism = vdp.Mechanism(SCHEMA, scale=0.5, exact_rate=0.05, keep=0.4)
    click.echo(mechanism.statement() + "\n")
    release = mechanism.release(data)
    click.echo("Five true records:\n" + _head(data) + "\n\nThe same five as released:\n" + _head(release.frame))

    _chapter(3, "... and from then on anyone learns from the release, as often as they like")
    click.echo(render(_estimates(data, release)))
    click.echo(
        "\n'naive' uses the noisy records as if they were true, and is wrong; 'corrected' undoes the noise in "
        "expectation,\nwith a standard error that tells how far to trust it. The raw data were needed only once."
    )


def _chapter(number: int, title: str) -> None:
    click.echo(f"\n{number}. {title}\n")


def _head(table: Any) -> str:
    return render(table.slice(0, 5).to_pylist())


QUANTITIES: dict[str, tuple[list[str], Callable[[Any], Array]]] = {
    "mean age": (["age"], lambda f: f["age"]),
    "share older than 65": (["age"], lambda f: f["age"] > 65),
    "mean income": (["income"], lambda f: f["income"]),
    "share in the north": (["region"], lambda f: f["region"] == "north"),
    "mean income in the north": (["income", "region"], lambda f: f["income"] * (f["region"] == "north") / 0.4),
}


def _estimates(data: Any, release: vdp.Release) -> list[dict[str, Any]]:
    rows = []
    for name, (columns, function) in QUANTITIES.items():
        raw = function(_numpy(data)).mean()
        naive = function(_numpy(release.frame)).mean()
        frame, weight, record = release.augment(draws=5, columns=columns, return_record=True, random_state=0)
        each = np.bincount(record, weight * function(_numpy(frame)), minlength=len(release))
        error = each.std() / np.sqrt(len(release))
        rows.append({"quantity": name, "raw": raw, "naive": naive, "corrected": each.mean(), "std error": error})
    return rows + _regression(data, release)


def _regression(data: Any, release: vdp.Release) -> list[dict[str, Any]]:
    """Least squares of visits on age and income, from signed second moments."""
    columns = ["age", "income", "visits"]

    def solve(table: Any, weight: Array | None = None, record: Array | None = None) -> tuple[Array, Array]:
        f = _numpy(table)
        x = np.stack([np.ones(len(f["age"])), f["age"], f["income"] / 10_000], axis=1)
        w = np.ones(len(x)) if weight is None else weight
        inverse = np.linalg.inv(x.T @ (x * w[:, None]))
        slopes = inverse @ (x.T @ (w * f["visits"]))
        score = x * (w * (f["visits"] - x @ slopes))[:, None]
        each = score if record is None else np.stack([np.bincount(record, column) for column in score.T], axis=1)
        return slopes, np.sqrt(np.diag(inverse @ (each.T @ each) @ inverse))

    raw, naive = solve(data)[0], solve(release.frame)[0]
    slopes, errors = solve(*release.augment(draws=5, columns=columns, return_record=True, random_state=0))
    return [
        {"quantity": name, "raw": raw[j], "naive": naive[j], "corrected": slopes[j], "std error": errors[j]}
        for j, name in ((1, "visits per year of age"), (2, "visits per 10,000 of income"))
    ]


def _numpy(table: Any) -> dict[str, Any]:
    return {name: table[name].to_numpy() for name in table.column_names}
