"""Points that noisy columns may have come from: as fine as can be worked with, and as the records can tell."""

import numpy as np
import pytest

import versadp as vdp
from versadp.likelihood.support import make_support
from versadp.noise import Response, Window, ZeroInflated

COLUMNS = {
    "a": vdp.Bounded(-1, 1),
    "b": vdp.Bounded(-1, 1),
    "few": vdp.Bounded(0, 12, step=1),
    "kind": vdp.Categorical(["s", "t", "u"]),
}
NOISE = {
    "laplace": {("a", "b", "few"): ZeroInflated(0.3, 0.1), "kind": Response(0.5)},
    "windows": {name: Window(epsilon=3.0) for name in COLUMNS},
}


@pytest.mark.parametrize("noise", list(NOISE))
@pytest.mark.parametrize(
    ("names", "strata", "records", "size"),
    [
        (("a",), 1, np.inf, 64),
        (("a",), 1, 1280, 64),
        (("a",), 1, 1000, 50),
        (("a",), 2, 1000, 25),
        (("a",), 1, 30, 6),
        (("a", "b"), 1, np.inf, 18**2),
        (("a", "b"), 1, 2000, 10**2),
        (("a", "kind"), 1, 1200, 20 * 3),
        (("few",), 1, 100, 13),  # values that are told apart keep a point each
        (("a", "few"), 1, 100, 6 * 13),
    ],
)
def test_there_are_twenty_records_for_a_point(noise, names, strata, records, size):
    schema = vdp.Schema(COLUMNS)
    blocks = vdp.Mechanism(schema, noise=NOISE[noise]).blocks
    found = make_support(names, schema, blocks, strata, records)
    assert found.size == size
    assert found.columns == names
    assert (found.low < found.high).all()
