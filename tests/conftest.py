"""What tests of several rooms share: a small cluster."""

import pytest


@pytest.fixture(scope="module")  # no longer: its threads draw random numbers, which hypothesis takes for the tests' own
def client():
    """A client of a cluster of one worker with two threads, all in this process."""
    distributed = pytest.importorskip("distributed")
    from versadp.engine.dask import HERE

    options = HERE | {"n_workers": 1, "threads_per_worker": 2, "processes": False, "protocol": "tcp://"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster, set_as_default=False) as opened:
        yield opened
