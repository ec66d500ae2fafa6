"""Losses with kinks are blurred less where densities are sharper than the scale of all residuals tells."""

import warnings

import numpy as np
import pyarrow as pa
import pytest

import versadp as vdp
from versadp.errors import InsecureWarning
from versadp.models import sharpening
from versadp.noise import Window

MEDIAN = 1.6783469900166605  # of a gamma law of shape 2


def median_line(skewed, n=60_000, seed=0):
    """Return median regression of a response whose errors are skewed, and sharp on one side; or normal everywhere."""
    rng = np.random.default_rng([seed, 14])
    x = rng.uniform(-1, 1, n)
    errors = (0.5 + 0.45 * x) * (rng.gamma(2.0, 1.0, n) - MEDIAN) if skewed else 0.5 * rng.standard_normal(n)
    schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Public()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureWarning)
        release = vdp.Mechanism(schema, noise={"x": Window(4.0)}).release(
            pa.table({"x": x, "y": x + errors}), insecure_seed=seed
        )
    return vdp.fit(release, "y ~ x", loss="check")


def blur(found):
    return float(found.header["kinks smoothed over"].removeprefix("±"))


@pytest.mark.parametrize("skewed", [True, False], ids=["sharp on one side", "normal"])
def test_only_sharp_densities_are_blurred_less(skewed, monkeypatch):
    sharp = median_line(skewed)
    monkeypatch.setattr(sharpening, "TELLING", np.inf)
    rule = median_line(skewed)
    assert (blur(sharp) < 0.7 * blur(rule)) if skewed else blur(sharp) == blur(rule)


def test_it_takes_the_bias(monkeypatch):
    """Over a few releases the slope is right on average; by the rule alone it is flat by several standard errors."""
    by = {}
    for name, telling in (("sharpened", sharpening.TELLING), ("rule", np.inf)):
        monkeypatch.setattr(sharpening, "TELLING", telling)
        fits = [median_line(skewed=True, seed=seed) for seed in range(6)]
        wrong = np.array([found.params["x"] - 1 for found in fits])
        by[name] = wrong.mean() / (np.mean([found.bse["x"] for found in fits]) / np.sqrt(len(fits)))
    assert abs(by["sharpened"]) < 4
    assert abs(by["rule"]) > 4
    assert abs(by["sharpened"]) < abs(by["rule"]) / 2
