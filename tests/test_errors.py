"""Warnings point at the line of whoever called, however deep the package gave them."""

import warnings

import pandas as pd

import versadp as vdp
from versadp.errors import ClampedWarning, InsecureWarning, find_stacklevel

SCHEMA = vdp.Schema({"age": vdp.Bounded(18, 90)})
MECHANISM = vdp.Mechanism(SCHEMA, scale=0.25, exact_rate=0.2)
PEOPLE = pd.DataFrame({"age": [30.0, 41.0, 700.0]})


def files(call):
    """The warnings of a call, by kind and by the file that they point at."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return {(warning.category, warning.filename) for warning in caught}


def test_a_release_in_memory():
    found = files(lambda: MECHANISM.release(PEOPLE, insecure_seed=3))
    assert found == {(ClampedWarning, __file__), (InsecureWarning, __file__)}


def test_a_release_of_a_file_the_first_time_and_again(tmp_path):
    """Running the command again takes another way to the same warning."""
    PEOPLE.to_parquet(tmp_path / "people.parquet")
    for _ in range(2):
        found = files(lambda: vdp.release_file(tmp_path / "people.parquet", tmp_path / "released", MECHANISM))
        assert found == {(ClampedWarning, __file__)}


def test_outside_the_package_the_caller_is_meant():
    def caller():
        return find_stacklevel()

    assert find_stacklevel() == caller() == 1
