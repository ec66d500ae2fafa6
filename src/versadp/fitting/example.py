"""A release to start with: made-up people, released with real noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp import inputs
from versadp.release.target.calibrate import calibrate
from versadp.schema import Bounded, Categorical, Public, Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from versadp.release.release import Release

REGIONS = ("north", "east", "south", "west")
SCHEMA = Schema(  # made-up columns with public bounds
    {
        "age": Bounded(18, 90),
        "income": Bounded(0, 120_000),
        "region": Categorical(REGIONS),
        "visits": Bounded(0, 10),
        "vaccinated": Bounded(0, 1, step=1),
        "year": Public(),
    }
)


def example(records: int = 100_000, *, epsilon: float = 1.0, delta: float = 1e-6, seed: int = 0) -> Release:
    """Return a shuffled release of made-up people, to try things on.

    People have an age, an income, a region, yearly visits to a doctor, whether they are vaccinated, and a public year.
    In truth visits rise by 0.06 with a year of age and fall by 0.1 with 10,000 of income; the odds of being vaccinated
    rise by 3% with a year of age.

    Parameters
    ----------
    records : int
    epsilon, delta : float
        Guarantee for a whole record, in the central model: shuffled among the people with the same public year. With
        delta = 0 the noise of each record gives epsilon by itself.
    seed : int
        Of the people; the noise is fresh each time.

    Examples
    --------
    >>> import versadp as vdp
    >>> release = vdp.example()
    >>> result = vdp.fit(release, "visits ~ age + income")
    >>> bool(abs(result.params["age"] - 0.06) < 5 * result.bse["age"])
    True
    """
    table = people(inputs.whole("records", records, 1), seed)
    smallest = min(count["counts"] for count in table["year"].value_counts().to_pylist())
    shuffled = smallest if inputs.number("delta", delta, 0, 1, open_high=True) > 0 else None
    return calibrate(SCHEMA, epsilon=epsilon, delta=delta, shuffled=shuffled).release(table)


def people(rows: int, seed: int = 20) -> pa.Table:
    """Return made-up people: their yearly visits to a doctor, and whether they are vaccinated."""
    import pyarrow as pa

    rng = np.random.default_rng(inputs.whole("seed", seed, 0))
    age = np.clip(rng.gamma(9.0, 5.2, rows), 18, 90)
    income = np.clip(rng.lognormal(10.4 + 0.004 * age, 0.5), 0, 120_000)
    region = rng.choice(REGIONS, rows, p=[0.4, 0.3, 0.2, 0.1])
    visits = np.clip(1.0 + 0.06 * age - 0.00001 * income + 0.5 * (region == "west") + rng.normal(0, 1.5, rows), 0, 10)
    log_odds = 0.03 * (age - 47) - 0.00001 * (income - 45_000)
    vaccinated = (rng.random(rows) < 1 / (1 + np.exp(-log_odds))).astype(float)
    year = rng.integers(2015, 2025, rows)
    columns = {"age": age, "income": income, "region": region, "visits": visits, "vaccinated": vaccinated}
    return pa.table(columns | {"year": year})
