"""The audit passes on the real mechanism and fails on every broken one."""

import numpy as np
import pyarrow as pa
import pytest

import versadp as vdp
from versadp.errors import ParameterError
from versadp.privacy import symmetric_laplace, with_slack, zero_inflated

N = 100_000


def mechanism(dim=1, scale=1.4, exact_rate=0.05, **others):
    columns = {f"x{j}": vdp.Bounded(-1, 1) for j in range(dim)} | others
    return vdp.Mechanism(vdp.Schema(columns), scale=scale, exact_rate=exact_rate, keep=0.3 if others else None)


MIXED = mechanism(2, 2.0, region=vdp.Categorical(["n", "e", "s"]), y=vdp.Public())


@pytest.mark.thinned(3)
@pytest.mark.parametrize("unit", ["record", "attribute"])
@pytest.mark.parametrize(
    "mech", [mechanism(), mechanism(4, 2.0), mechanism(3, 1.0, 0.0), MIXED], ids=["d1", "d4", "d3 SL", "mixed"]
)
def test_the_real_mechanism_passes(mech, unit):
    """At the default 99.9% a false alarm would come once in 125 runs of these eight; 1e-6 each keeps it away."""
    result = vdp.audit(mech, n=N, unit=unit, confidence=1 - 1e-6)
    assert result.passed, str(result)
    assert "passed" in str(result)


def test_the_audit_is_sharp():
    """A true epsilon of 1 at dim 1 is found to within a few percent."""
    mech = mechanism(1, np.sqrt(2), 0.0)
    result = vdp.audit(mech, n=1_000_000, delta=1e-3)
    assert 0.93 * result.epsilon_claimed < result.epsilon_found <= result.epsilon_claimed


def broken(mech, **changes):
    """A release path whose mechanism is not what is claimed."""
    parameters = {"scale": mech.scale, "exact_rate": mech.exact_rate, "keep": mech.keep or None} | changes
    other = vdp.Mechanism(mech.schema, **parameters)
    return lambda table: other.release(table, shuffle=False).frame


@pytest.mark.parametrize("dim", [1, 4])
def test_too_little_noise_fails(dim):
    mech = mechanism(dim, 1.4)
    scale = {name: 0.9 * value for name, value in mech.scale.items()}
    assert not vdp.audit(mech, n=N, path=broken(mech, scale=scale)).passed


def test_too_many_exact_records_fail():
    mech = mechanism(2, 2.0, 0.02)
    assert not vdp.audit(mech, n=N, path=broken(mech, exact_rate=0.04)).passed


def test_categories_kept_too_often_fail():
    schema = vdp.Schema({"c": vdp.Categorical(["a", "b"])})
    mech = vdp.Mechanism(schema, keep=0.3)
    assert vdp.audit(mech, n=N, confidence=1 - 1e-6).passed
    assert not vdp.audit(mech, n=N, path=broken(mech, keep=0.32)).passed


def test_naive_floats_fail():
    """Noise in floating point: low bits give records away at epsilon far above the claimed 1."""
    schema = vdp.Schema({"x": vdp.Bounded(0, 1)})
    mech = vdp.Mechanism(schema, scale=np.sqrt(2), exact_rate=0.0)

    def naive(table):
        rng = np.random.default_rng(0)
        return pa.table({"x": table["x"].to_numpy() + rng.laplace(scale=1.0, size=table.num_rows)})

    result = vdp.audit(mech, n=N, path=naive, delta=1e-3)
    assert not result.passed
    assert result.epsilon_found > 3 * result.epsilon_claimed
    assert "whole number" in result.event or "grid" in result.event


@pytest.mark.full
def test_the_formula_of_one_dimension_fails_in_four():
    """'epsilon = sqrt(2) c' does not hold from dimension 2 on: the other columns tell the attacker W."""
    mech = mechanism(4, 1.0, 0.0)
    claim = with_slack(zero_inflated(symmetric_laplace(1, 1.0), 0.0), 1e-12)
    assert not vdp.audit(mech, n=4 * N, unit="attribute", claim=claim, delta=1e-6).passed
    assert vdp.audit(mech, n=N, unit="attribute", confidence=1 - 1e-6).passed


def test_reusing_noise_fails():
    """Noise that does not depend on the key gives the record away."""
    mech = mechanism(1, 2.0, 0.0)

    def shared(table):
        n = table.num_rows
        noise = np.random.default_rng(0).laplace(scale=np.sqrt(2), size=n // 1000)
        step = mech.blocks[0].step[0]
        return pa.table({"x0": table["x0"].to_numpy() + np.rint(np.repeat(noise[:1], n) * 2 / step) * step})

    assert not vdp.audit(mech, n=N, path=shared).passed


@pytest.mark.parametrize(
    "options",
    [
        {"n": 10},
        {"n": True},
        {"n": 1e6},
        {"unit": "household"},
        {"confidence": 1.0},
        {"confidence": "0.9"},
        {"delta": True},
        {"delta": "0.1"},
        {"delta": 2.0},
    ],
)
def test_bad_input(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        vdp.audit(mechanism(), **({"n": 2000} | options))


def test_an_id_is_no_obstacle():
    schema = vdp.Schema({"x": vdp.Bounded(0, 1)}, id="pid")
    assert vdp.audit(vdp.Mechanism(schema, scale=1.0, exact_rate=0.1), n=5000, confidence=1 - 1e-6).passed
