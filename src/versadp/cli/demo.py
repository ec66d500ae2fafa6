"""`versadp demo`: the whole story on built-in data."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

import versadp as vdp
from versadp.display.tables import render

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
            "often": (visits > 4).astype(float),
        }
    )


SCHEMA = vdp.Schema(
    {
        "age": vdp.Bounded(18, 90),
        "income": vdp.Bounded(0, 200_000),
        "region": vdp.Categorical(REGIONS),
        "visits": vdp.Public(),
        "often": vdp.Public(),
    }
)


@click.command()
def demo() -> None:
    """Tell the whole story on built-in data, in under a minute."""
    data = people()
    _chapter(1, "The provider declares what the columns can hold")
    click.echo(SCHEMA.to_toml())

    _chapter(2, "... asks for a level of privacy, and gets the least noise that gives it")
    mechanism = vdp.calibrate(SCHEMA, epsilon=4, delta=0.1, unit="attribute")
    click.echo(mechanism.statement() + "\n")
    release = mechanism.release(data)
    click.echo("Five true records:\n" + _head(data) + "\n\nThe same five as released:\n" + _head(release.frame))

    _chapter(3, "... may have the release path attacked, to see that the claim holds")
    click.echo(str(vdp.audit(mechanism, n=100_000, unit="attribute")))

    _chapter(4, "From then on anyone learns from the release, as often as they like")
    click.echo(render(_estimates(data, release)))
    click.echo(
        "\n'naive' uses the noisy records as if they were true, and is wrong; 'corrected' undoes the noise in "
        "expectation,\nwith a standard error that tells how far to trust it. The raw data were needed only once."
    )
    _chapter(5, "... with any model, and everything that belongs to one")
    click.echo(str(vdp.fit(release, "often ~ age + income", loss="logistic").summary()))


def _chapter(number: int, title: str) -> None:
    click.echo(f"\n{number}. {title}\n")


def _head(table: Any) -> str:
    return render(table.slice(0, 5).to_pylist())


def _estimates(data: Any, release: vdp.Release) -> list[dict[str, Any]]:
    """Return means, shares, quantiles and slopes: raw, naive and corrected."""
    age, income = np.asarray(data["age"]), np.asarray(data["income"])
    noisy = {name: np.asarray(release.frame[name]) for name in ("age", "income")}
    mean, quantile = vdp.losses.Mean, vdp.losses.Quantile
    rows = [
        ("mean age", age.mean(), noisy["age"].mean(), mean("age")),
        ("share older than 65", (age > 65).mean(), (noisy["age"] > 65).mean(), mean(lambda x: x[:, 0] > 65)),
        ("median income", np.median(income), np.median(noisy["income"]), quantile("income")),
    ]
    out = []
    for name, raw, naive, loss in rows:
        found = vdp.fit(release, loss=loss)
        out.append(_row(name, raw, naive, float(found.params[0]), float(found.bse[0])))
    return [*out, _share(data, release), *_slopes(data, release)]


def _share(data: Any, release: vdp.Release) -> dict[str, Any]:
    """Return the share of a region, from the signed sample that serves categories."""
    frame, weight, record = release.augment(columns=["region"], return_record=True)
    each = np.bincount(record, weight * (np.asarray(frame["region"]) == "north"), minlength=len(release))
    raw, naive = (float((np.asarray(table["region"]) == "north").mean()) for table in (data, release.frame))
    return _row("share in the north", raw, naive, each.mean(), each.std() / np.sqrt(len(release)))


def _slopes(data: Any, release: vdp.Release) -> list[dict[str, Any]]:
    formula = "visits ~ age + income"
    x = np.column_stack([np.ones(data.num_rows), np.asarray(data["age"]), np.asarray(data["income"])])
    raw = np.linalg.lstsq(x, np.asarray(data["visits"]), rcond=None)[0]
    naive, found = vdp.fit(release, formula, method="naive"), vdp.fit(release, formula)
    return [
        _row(f"visits per {what}", unit * raw[j], unit * naive.params[j], unit * found.params[j], unit * found.bse[j])
        for j, unit, what in ((1, 1, "year of age"), (2, 10_000, "10,000 of income"))
    ]


def _row(name: str, raw: float, naive: float, corrected: float, error: float) -> dict[str, Any]:
    numbers = {"raw": raw, "naive": naive, "corrected": corrected, "std error": error}
    return {"quantity": name} | {key: float(value) for key, value in numbers.items()}
