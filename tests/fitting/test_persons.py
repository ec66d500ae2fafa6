"""Standard errors where a person has several rows: coverage, and what is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import ParameterError

K = 4
SCHEMA = vdp.Schema(
    {"x": vdp.Bounded(0, 1), "y": vdp.Bounded(-1, 3), "town": vdp.Public()}, id="pid", rows_per_person=K
)
MECH = vdp.Mechanism(SCHEMA, noise={"x": vdp.noise.Window(epsilon=5), "y": vdp.noise.Window(epsilon=5)})
KEY = bytes(range(32))


def panel(seed, people=500, *, rows=K, equal=False, towns=40):
    """Return people with correlated rows, or equal ones; everybody lives in one town, which matters."""
    rng = np.random.default_rng([seed, people])
    town = rng.integers(0, towns, people)
    shared = rng.uniform(0, 0.8, people), rng.normal(0, 0.2, people)
    pid = np.repeat(np.arange(people), rows)
    own = (0, 0) if equal else (rng.uniform(0, 0.2, people * rows), rng.normal(0, 0.05, people * rows))
    x, noise = (part[pid] + one for part, one in zip(shared, own, strict=True))
    y = np.clip(0.5 + x + noise, -1, 3)
    return pd.DataFrame({"pid": pid, "x": x, "y": y, "town": town[pid]})


def release(seed, **options):
    return MECH.release(panel(seed, **options), key=bytes([*KEY[:-2], *seed.to_bytes(2, "little")]))


def test_the_sampling_part_is_multiplied_and_the_noise_is_not():
    made = release(1, people=2000)
    raw = panel(1, people=2000).x.std(ddof=1) / (2000 * K) ** 0.5
    mean = vdp.losses.Mean("x")
    person, rows = (vdp.fit(made, loss=mean, cov_type=kind) for kind in ("robust", "rows"))
    assert np.allclose(person.params, rows.params)
    found = ((float(person.bse[0]) ** 2 - float(rows.bse[0]) ** 2) / (K - 1)) ** 0.5
    assert raw < found < min(1.1 * raw, float(rows.bse[0]))  # two standard errors are added
    assert "sampling part" in str(person.summary())
    assert "rows taken for independent" in str(rows.summary())
    assert "records without noise" not in str(person.summary())


def test_slopes_and_averages_are_wider_and_never_beyond_the_root_of_the_rows():
    made = release(1)
    person, rows = vdp.fit(made, "y ~ x"), vdp.fit(made, "y ~ x", cov_type="rows")
    ratio = np.asarray(person.bse) / np.asarray(rows.bse)
    assert np.all((ratio > 1.1) & (ratio < K**0.5))
    one, two = (fit.avg_slopes() for fit in (person, rows))
    assert next(iter(one))["std_error"] == pytest.approx(K**0.5 * next(iter(two))["std_error"])


def test_where_the_sampling_part_cannot_be_had_everything_is_multiplied():
    made = release(1)
    weights = np.ones(len(made))
    fits = [vdp.fit(made, "y ~ x", weights=weights, cov_type=kind) for kind in ("robust", "rows")]
    assert np.allclose(np.asarray(fits[0].bse), K**0.5 * np.asarray(fits[1].bse))
    assert "4 times that of independent rows" in str(fits[0].summary())


def test_one_row_per_person_changes_nothing():
    frame = panel(1, rows=1)
    schema = vdp.Schema(dict(SCHEMA.columns), id="pid")
    mech = vdp.Mechanism(schema, noise={"x": vdp.noise.Window(epsilon=5), "y": vdp.noise.Window(epsilon=5)})
    made = mech.release(frame, key=KEY)
    plain, rows = vdp.fit(made, "y ~ x"), vdp.fit(made, "y ~ x", cov_type="rows")
    assert np.array_equal(np.asarray(plain.bse), np.asarray(rows.bse))
    assert "covariance" not in plain.header
    assert "covariance" not in rows.header


def test_groups_in_which_people_are_nested_need_no_factor():
    made = release(2)
    towns = vdp.fit(made, "y ~ x", groups="town")
    assert np.allclose(towns.bse, vdp.fit(made, "y ~ x", cov_type="cluster", groups="town").bse)
    assert "40 clusters of town" in towns.header["covariance"]
    assert "a person may have 4" in towns.header["covariance"]
    assert np.all(np.asarray(towns.bse) < np.asarray(vdp.fit(made, "y ~ x").bse))


def test_quantiles_and_descriptions_are_wider_too():
    made = release(3)
    middle = vdp.losses.Quantile("x", 0.5)
    person, rows = (vdp.fit(made, loss=middle, cov_type=kind) for kind in ("robust", "rows"))
    assert np.ptp(np.asarray(person.conf_int())) > 1.5 * np.ptp(np.asarray(rows.conf_int()))
    described = vdp.describe(made)
    found, mean = described["x"].mean, vdp.fit(made, loss=vdp.losses.Mean("x"), cov_type="rows")
    assert found.error == pytest.approx(K**0.5 * float(mean.bse[0]), rel=0.02)
    assert found.high - found.low == pytest.approx(2 * 1.959964 * found.error, rel=1e-6)
    assert "rows per person" in str(described)


def test_what_takes_rows_for_independent_is_refused():
    made = release(4)
    with pytest.raises(ParameterError, match="up to 4"):
        vdp.bootstrap(made, "y ~ x", reps=2)
    with pytest.raises(ParameterError, match="up to 4"):
        vdp.fit(made, "y ~ x", method="likelihood")
    with pytest.raises(ParameterError, match="cov_type"):
        vdp.fit(made, "y ~ x", cov_type="persons")


def covered(seeds, *, cov_type, equal):
    """Return the share of 95% intervals of mean and slope that cover what they estimate."""
    inside = []
    for seed in seeds:
        made = release(seed, people=400, equal=equal)
        mean = vdp.fit(made, loss=vdp.losses.Mean("x"), cov_type=cov_type)
        slope = vdp.fit(made, "y ~ x", cov_type=cov_type)
        truth = (0.4 if equal else 0.5, 1.0)
        ends = np.asarray(mean.conf_int())[0], np.asarray(slope.conf_int())[1]
        inside += [low <= value <= high for value, (low, high) in zip(truth, ends, strict=True)]
    return float(np.mean(inside))


@pytest.mark.full
def test_intervals_cover_where_rows_of_a_person_are_equal():
    assert covered(range(30), cov_type="robust", equal=True) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("equal", [True, False])
def test_coverage_needs_the_factor(equal):
    seeds = range(1000, 1100)
    error = (0.95 * 0.05 / (2 * len(seeds))) ** 0.5
    assert covered(seeds, cov_type="robust", equal=equal) >= 0.95 - 3 * error
    assert covered(seeds, cov_type="rows", equal=equal) < 0.95 - 5 * error
