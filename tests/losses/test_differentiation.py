"""Derivatives of a user's loss: by JAX and by differences, against closed forms and against our own losses."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import versadp as vdp
from versadp.losses.differentiation import differences, is_jax
from versadp.losses.record_loss import Custom

rng = np.random.default_rng(0)
X = np.column_stack([rng.uniform(0, 2e5, 500), rng.uniform(-1, 1, 500), (rng.random(500) < 0.4).astype(float)])
THETA = np.array([0.3, 2e-5, -1.0])


def logistic(x, theta):
    u = theta[0] + theta[1] * x[:, 0] + theta[2] * x[:, 1]
    return np.logaddexp(0, u) - x[:, 2] * u


def slopes(x, theta):
    u = theta[0] + theta[1] * x[:, 0] + theta[2] * x[:, 1]
    return np.column_stack([np.ones(len(x)), x[:, :2]]) * (1 / (1 + np.exp(-u)) - x[:, 2])[:, None]


def in_jax():
    jax = pytest.importorskip("jax", reason="the extra versadp[jax] is not installed")
    jnp = jax.numpy

    def loss(x, theta):
        u = theta[0] + theta[1] * x[:, 0] + theta[2] * x[:, 1]
        return jnp.logaddexp(0, u) - x[:, 2] * u

    return jax, loss


def test_differences_of_coefficients_of_any_size():
    """An income of 2e5: a step of 6e-6 in its coefficient is one of 1.2 in the index, and a plain difference is off."""
    found, truth = Custom(logistic).gradient(X, THETA), slopes(X, THETA)
    scale = np.abs(truth).max(axis=0)
    assert (np.abs(found - truth).max(axis=0) < 1e-6 * scale).all()
    plain = differences(lambda t: logistic(X, t), THETA, 6e-6 * np.ones(3))
    assert np.abs(plain - truth).max(axis=0)[1] > 1e-3 * scale[1]


def test_jax_gives_gradient_and_laplacian_in_double_precision():
    jax, loss = in_jax()
    for written in (loss, jax.jit(loss)):
        own = Custom(written)
        assert own.in_jax
        truth = slopes(X, THETA)
        assert (np.abs(own.gradient(X, THETA) - truth).max(axis=0) < 1e-13 * np.abs(truth).max(axis=0)).all()
        assert np.abs(own.value(X, THETA) - logistic(X, THETA)).max() < 1e-13
        u = THETA[0] + THETA[1] * X[:, 0] + THETA[2] * X[:, 1]
        p = 1 / (1 + np.exp(-u))
        weighted = p * (1 - p) * ((THETA[1] * 5e4) ** 2 + (THETA[2] * 0.25) ** 2)
        assert np.abs(own.laplacian(X, THETA, (5e4, 0.25, 0.0)) - weighted).max() < 1e-12
    assert not is_jax(logistic)
    assert not Custom(logistic).has_laplacian


def test_core_does_not_import_jax():
    code = "import sys, numpy as np; from versadp.losses.record_loss import Custom; "
    code += (
        "Custom(lambda x, t: (x[:, 0] - t[0]) ** 2).gradient(np.ones((2, 1)), np.zeros(1)); print('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.thinned(2)
@pytest.mark.parametrize("method", ["drcl", "sdrcl"])
def test_a_loss_in_jax_is_fitted_as_our_own_is(method):
    """The same draws, the same equation: drcl to the solver's tolerance; sdrcl within a tenth of a standard error."""
    _, loss = in_jax()
    rng = np.random.default_rng(1)
    a, b = rng.uniform(0, 2e5, 6000), rng.uniform(-1, 1, 6000)
    y = (rng.random(6000) < 1 / (1 + np.exp(-(-1 + 1e-5 * a - b)))).astype(float)
    schema = vdp.Schema({"a": vdp.Bounded(0, 2e5), "b": vdp.Bounded(-1, 1), "y": vdp.Public()})
    release = vdp.Mechanism(schema, scale=0.15, exact_rate=0.3).release(
        pa.table({"a": a, "b": b, "y": y}), key=bytes(range(32))
    )
    ours = vdp.fit(release, "y ~ a + b", loss="logistic", method=method, draws=10)
    own = vdp.fit(release, loss=loss, start=[0.0, 0.0, 0.0], method=method, draws=10)
    assert own.converged
    assert (np.abs(own.params.values - ours.params.values) < 0.35 * np.array(ours.bse)).all()
    assert np.array(own.bse) == pytest.approx(np.array(ours.bse), rel=0.15)
    naive = vdp.fit(release, "y ~ a + b", loss="logistic", method="naive")
    assert (np.abs(naive.params.values - ours.params.values) > np.array(ours.bse)).any()
