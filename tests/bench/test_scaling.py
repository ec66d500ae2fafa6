"""How cost grows: the line through two sizes, what a cluster waits for, and a table at its smallest."""

import pytest

from versadp_bench.scaling import Line, cluster, scaling_table


def test_a_line_says_what_it_was_made_of():
    line = Line.through((1e5, 0.9), (1e6, 2.7))
    assert line(1e6) == pytest.approx(2.7)
    assert line(1e7) == pytest.approx(0.7 + 20.0)


def test_a_cluster_waits_for_cores_or_for_reading():
    few = {"size": 30.0, "passes": 4, "workers": 10, "cores": 8}
    slow, fast = (cluster(1e10, Line(1.0, 2e-6), rate=rate, **few) for rate in (1e7, 1e10))
    assert slow["waits for"] == "reading"
    assert slow["minutes"] == pytest.approx(30 * 1e10 * 4 / (10 * 1e7) / 60, rel=0.01)
    assert fast["waits for"] == "cores"
    assert fast["minutes"] == pytest.approx(2e-6 * 1e10 / 80 / 60, rel=0.02)
    assert fast["bytes on the network"] == slow["bytes on the network"] == "6,400"


@pytest.mark.slow
def test_the_table_measures_release_and_fit():
    rows = list(scaling_table(1e5))
    assert [row["step"] for row in rows] == [
        "rows alone",
        "release",
        "fit",
        "release of a file",
        "release with an id",
    ]
    assert all(0 < row["CPU seconds"] < 600 and 0 < row["peak GiB"] < 4 for row in rows)
