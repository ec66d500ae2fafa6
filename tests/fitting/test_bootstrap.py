"""The bootstrap agrees with the sandwich, and would not with one twice as large."""

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import ParameterError
from versadp.fitting import Bootstrap

KEY = bytes(range(7, 39))
SCHEMA = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Public()})


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 3000)
    frame = pd.DataFrame({"x": x, "y": 1 + x + rng.normal(size=3000)})
    return vdp.Mechanism(SCHEMA, scale=0.2, exact_rate=0.2).release(frame, key=KEY)


@pytest.mark.parametrize("method", ["analytic", pytest.param("efficient", marks=pytest.mark.slow)])
def test_standard_errors_agree_with_the_sandwich(release, method):
    """60 replications know a standard error to 1/sqrt(120) = 9 percent: four of those."""
    found = vdp.bootstrap(release, "y ~ x", reps=60, method=method)
    sandwich = vdp.fit(release, "y ~ x", method=method)
    for name in ("Intercept", "x"):
        assert found.bse[name] == pytest.approx(float(sandwich.bse[name]), rel=0.37)
        low, high = found.conf_int()[name]
        assert low < sandwich.params[name] < high
    assert found.failed == 0
    assert found.bse["x"] != pytest.approx(2 * float(sandwich.bse["x"]), rel=0.37)


def test_deterministic_and_from_a_folder(release, tmp_path):
    release.save(tmp_path / "r")
    one = vdp.bootstrap(release, "y ~ x", reps=3, method="analytic", random_state=1)
    two = vdp.bootstrap(tmp_path / "r", "y ~ x", reps=3, method="analytic", random_state=1)
    assert one.estimates == pytest.approx(two.estimates)


@pytest.mark.parametrize("reps", [0, 1, True, 2.5])
def test_bad_reps(release, reps):
    with pytest.raises(ParameterError, match="reps"):
        vdp.bootstrap(release, "y ~ x", reps=reps)


@pytest.mark.parametrize("seed", [-1, 0.5, None, "a"])
def test_bad_seeds(release, seed):
    with pytest.raises(ParameterError, match="random_state"):
        vdp.bootstrap(release, "y ~ x", reps=2, random_state=seed)


@pytest.mark.parametrize("level", [0, 1, 95, np.nan, True, "0.95"])
def test_bad_levels(level):
    found = Bootstrap(("x",), np.arange(20.0)[:, None], 0)
    assert found.conf_int(0.9)["x"] == pytest.approx((0.95, 18.05))
    with pytest.raises(ParameterError, match="level"):
        found.conf_int(level)
