"""Checks of numbers: what is refused, with which error and which hint."""

import numpy as np
import pytest

from versadp import inputs
from versadp.errors import EstimationError, ParameterError

NOT_NUMBERS = [float("nan"), True, np.True_, "0.5", None, 1j, object(), 10**400]


@pytest.mark.parametrize("value", [0, 0.5, 1, np.float32(0.5), np.int8(1), np.array(0.25)])
def test_numbers_become_floats(value):
    found = inputs.number("rate", value, 0, 1)
    assert type(found) is float
    assert found == value


@pytest.mark.parametrize("value", [-0.1, 1.1, *NOT_NUMBERS])
def test_what_is_no_number_of_the_interval(value):
    with pytest.raises(ParameterError, match=r"rate must be a number in \[0, 1\]"):
        inputs.number("rate", value, 0, 1)


@pytest.mark.parametrize(("value", "words"), [([0.5], "single number"), ([[0.5], [0.1, 0.2]], "several lengths")])
def test_lists_are_no_numbers(value, words):
    with pytest.raises(ParameterError, match=words):
        inputs.number("rate", value, 0, 1)


def test_open_ends():
    for ends, value in (({"open_low": True}, 0), ({"open_high": True}, 1)):
        assert inputs.number("rate", value, 0, 1) == value
        with pytest.raises(ParameterError, match="rate"):
            inputs.number("rate", value, 0, 1, **ends)


@pytest.mark.parametrize(
    "check", [lambda **o: inputs.number("x", "a", 0, 1, **o), lambda **o: inputs.whole("x", 0.5, 0, **o)]
)
def test_the_error_and_the_hint_are_the_callers(check):
    with pytest.raises(EstimationError) as caught:
        check(error=EstimationError, hint="e.g. 1")
    assert caught.value.hint == "e.g. 1"
    with pytest.raises(ParameterError) as caught:
        check()
    assert caught.value.hint is None


@pytest.mark.parametrize("value", [1, 1.0, 2.5, True, np.True_, "3", None, float("nan"), [3]])
def test_what_is_no_whole_number_of_at_least_two(value):
    assert inputs.whole("reps", np.int64(2), 2) == 2
    with pytest.raises(ParameterError, match="reps must be a whole number of at least 2"):
        inputs.whole("reps", value, 2)
