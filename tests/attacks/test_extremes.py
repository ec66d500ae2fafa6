"""Widths and bounds at the end of what a number can be: refused before anything is spent, or released as numbers."""

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import ParameterError, SchemaError

BOUNDS = [(0, 1e308), (-8e307, 8e307), (1e308, 1.5e308), (-1.7e308, -1e308), (0, 1e306), (0, 1e300), (-1e150, 1e150)]
NOISE = {
    "laplace": vdp.noise.ZeroInflated(2.0, 0.1),
    "faint": vdp.noise.ZeroInflated(0.01, 0.1),
    "window": vdp.noise.Window(0.05),
    "narrow": vdp.noise.Window(8.0),
}


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("noise", NOISE)
def test_what_is_released_is_a_number_or_refused_at_once(bounds, noise):
    try:
        mech = vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(*bounds)}), noise={"x": NOISE[noise]})
    except (ParameterError, SchemaError) as refused:
        assert max(map(abs, bounds)) > 1e305, refused  # noqa: PT017 - and nothing smaller is refused
        return
    lower, upper = bounds
    x = lower + np.linspace(0, 1, 5000) * (upper - lower)
    seen = mech.release(pd.DataFrame({"x": x})).frame["x"].to_numpy()
    assert np.isfinite(seen).all()


@pytest.mark.parametrize("noise", ["laplace", "window"])
def test_a_width_of_1e308_costs_nothing(tmp_path, noise):
    """It released inf before."""
    with pytest.raises(ParameterError, match="infinite"):
        vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(-8e307, 8e307)}), noise={"x": NOISE[noise]})
    assert not (tmp_path / "home").exists()
