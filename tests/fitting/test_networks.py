"""A network of a user's own: kinks in the loss, no convexity, numerical or own gradients."""

import importlib

import numpy as np
import pandas as pd
import pytest

import versadp as vdp

fitting = importlib.import_module("versadp.fitting.estimate")
TRUTH = np.array([0.5, 2.0, 0.2])


def network(x, theta):
    """One rectified unit: squared error of `y - a - b max(x - c, 0)`."""
    return (x[:, 1] - theta[0] - theta[1] * np.maximum(x[:, 0] - theta[2], 0)) ** 2 / 2


def slopes(x, theta):
    unit = np.maximum(x[:, 0] - theta[2], 0)
    error = theta[0] + theta[1] * unit - x[:, 1]
    return error[:, None] * np.column_stack([np.ones(len(x)), unit, -theta[1] * (unit > 0)])


def released(scale, n=12_000, seed=3):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n)
    y = TRUTH[0] + TRUTH[1] * np.maximum(x - TRUTH[2], 0) + 0.3 * rng.normal(size=n)
    schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Public()})
    mechanism = vdp.Mechanism(schema, scale=scale, exact_rate=0.1)
    with pytest.warns(vdp.errors.InsecureWarning):
        return mechanism.release(pd.DataFrame({"x": x, "y": y}), insecure_seed=2)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("own", [True, False])
def test_a_rectified_unit_is_learnt_from_noisy_records(own):
    """From a start that is off, within 4 standard errors; ignoring the noise is off by more than that."""
    release = released(0.15)
    loss = network
    if own:

        def loss(x, theta):
            return network(x, theta)

        loss.gradient = slopes
    found = vdp.fit(release, loss=loss, start=[0.2, 1.0, 0.0])
    assert found.converged
    assert (np.abs(found.params - TRUTH) < 4 * np.asarray(found.bse)).all()
    assert max(found.bse) < 0.2
    naive = vdp.fit(release, loss=loss, start=[0.2, 1.0, 0.0], method="naive")
    assert (np.abs(naive.params - TRUTH) > 4 * np.asarray(naive.bse)).any()


def ratios(samples=6, n=12_000):
    """Standard errors with hardly any noise, over those of nonlinear least squares; none where there is no estimate."""
    x = np.random.default_rng(5).uniform(-1, 1, 400_000)
    on = x > TRUTH[2]
    j = np.column_stack([np.ones(x.size), np.where(on, x - TRUTH[2], 0), -TRUTH[1] * on])
    known = 0.3 * np.sqrt(np.diag(np.linalg.inv(j.T @ j / x.size)) / n)
    fits = [
        vdp.fit(released(0.002, n, seed), loss=network, start=[0.2, 1.0, 0.0], method="naive")
        for seed in range(samples)
    ]
    return [np.asarray(found.bse) / known for found in fits if found.converged]


def test_curvature_is_averaged_over_kinks():
    """One ratio has a mean of 1.05 and a spread of 0.09 (25 other samples); six are within three errors of that."""
    assert np.mean(ratios(), axis=0) == pytest.approx(1.0, abs=0.05 + 3 * 0.09 / 6**0.5)


def test_narrow_differences_would_spoil_it(monkeypatch):
    monkeypatch.setattr(fitting, "STEP", 1e-3)  # about the distance of two kinks
    found = ratios()
    assert len(found) < 6 or np.abs(np.array(found) - 1).max() > 0.5
