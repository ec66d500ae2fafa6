"""Estimates from reports that JavaScript made: what was estimated lies in the intervals as often as they say."""

import json

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.devices import make_report
from versadp_tests import typescript

SCHEMA = vdp.Schema(
    {
        "age": vdp.Bounded(18, 90, step=1),
        "income": vdp.Bounded(0, 12),
        "member": vdp.Categorical([False, True]),
        "y": vdp.Bounded(-10, 15),
    }
)
NOISE = {"age": vdp.noise.Window(3.0), ("income", "member"): vdp.noise.Window(3.0), "y": vdp.noise.Window(3.0)}
MECHANISM = vdp.Mechanism(SCHEMA, noise=NOISE)
TRUTH = np.array([1.0, 0.04, 0.5, -1.0])  # of the constant, age - 50, income - 5, member


@pytest.fixture(scope="module", autouse=True)
def built():
    typescript.need_build()


def people(n, seed):
    rng = np.random.default_rng(seed)
    age, income, member = rng.integers(18, 91, n), rng.uniform(0, 12, n), rng.random(n) < 0.4
    y = TRUTH[0] + TRUTH[1] * (age - 50) + TRUTH[2] * (income - 5) + TRUTH[3] * member + rng.normal(0, 1, n)
    return {"age": age.tolist(), "income": income.tolist(), "member": member.tolist(), "y": y.tolist()}


def reported(records, seed):
    """Return the places of all reports, column by column."""
    given = json.dumps({"mechanism": MECHANISM.to_json(), "records": records})
    done = typescript.run("node", "test/crowd.mjs", str(seed), input=given)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def released(outputs):
    columns = {}
    for block in MECHANISM.blocks:
        content = np.array([outputs[name] for name in block.columns], dtype=float)
        block.to_values(content)
        columns |= dict(zip(block.columns, content, strict=True))
    columns["member"] = columns["member"] == 1
    return vdp.Release.from_frame(
        pd.DataFrame({name: columns[name] for name in SCHEMA.columns}), MECHANISM, on_grid=True
    )


def estimates(n, seed):
    fit = vdp.fit(released(reported(people(n, seed), seed)), "y ~ I(age - 50) + I(income - 5) + C(member)")
    return np.asarray(fit.params), np.asarray(fit.bse)


@pytest.mark.full
def test_crowd_reports_what_python_devices_report():
    from hashlib import sha256

    records = people(30, 0)
    outputs = reported(records, 5)
    for r in range(30):
        key = sha256(f"5 {r}".encode()).digest()
        record = {name: values[r] for name, values in records.items()}
        assert make_report(MECHANISM, record, key=key, round="a")["values"] == {
            name: values[r] for name, values in outputs.items()
        }


def test_estimates_from_reports_are_near_the_truth():
    params, errors = estimates(4000, 1)
    assert (np.abs(params - TRUTH) < 4.5 * errors).all()


@pytest.mark.slow
def test_intervals_from_reports_cover():
    """60 crowds of 20,000: 57 intervals of each coefficient hold the truth, with a standard deviation of 1.7."""
    found = [estimates(20_000, seed) for seed in range(100, 160)]
    z = np.array([(params - TRUTH) / errors for params, errors in found])
    held = (np.abs(z) < 1.96).sum(axis=0)
    assert (held >= 57 - 4.3 * 1.7).all(), held
    assert (np.abs(z.mean(axis=0)) < 4.5 / np.sqrt(60)).all()  # no bias in units of the standard error
