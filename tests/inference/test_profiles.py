"""Intervals of a fit by likelihood: which kind is shown, what files keep, and ends that there are not."""

import json

import numpy as np
import pytest

from versadp.errors import EstimationError, ParameterError
from versadp.inference import Results
from versadp.inference.saved_results import SavedResults

AT = {"Intercept": ([-1.0, 1.0, 4.0], [-4.0, 0.0, 4.0]), "age": ([-2.0, 0.5, 3.0], [-4.0, 0.0, 2.5])}


def results(**options):
    common = {"loss": "logistic", "method": "likelihood"} | options
    return Results([1.0, 0.5], [[0.25, 0.0], [0.0, 0.36]], ("Intercept", "age"), "converged", 1000, **common)


def test_profiles_are_shown_unless_standard_errors_are_asked_for():
    ours = results(profiles=AT)
    np.testing.assert_array_equal(ours.conf_int(), ours.conf_int(kind="profile"))
    np.testing.assert_allclose(ours.conf_int(kind="wald")["Intercept"], [1 - 0.98, 1 + 0.98], atol=1e-3)
    low, high = ours.conf_int()["Intercept"]
    assert low < 1 < high
    assert high - 1 > 1 - low  # as its likelihood bends
    assert np.isfinite(ours.conf_int(0.95)["age"]).all()
    assert "Wald intervals would differ by up to" in str(ours.summary())
    assert ours.conf_int(0.99)["age"][1] == np.inf
    text = str(ours.summary(0.99))
    assert "inf" in text
    assert "no value on that side can be rejected" in text


def test_summary_notes_an_unbounded_profile_interval():
    ours = results(profiles=AT | {"age": ([-2.0, 0.5, 3.0], [-4.0, 0.0, 1.0])})
    assert "Wald intervals would be bounded where these are not" in str(ours.summary())


def test_profiles_are_computed_once_on_demand():
    asked = []

    def profiles():
        asked.append(1)
        return AT

    ours = results(profiles=profiles)
    assert ours.conf_int(kind="wald").shape == (2, 2)
    assert not asked
    assert ours.conf_int().shape == ours.conf_int(0.9).shape == (2, 2)
    assert str(ours.summary()) == str(results(profiles=AT).summary())
    assert ours == results(profiles=AT)
    assert len(asked) == 1


def test_files_keep_profiles_and_say_where_there_are_none(tmp_path):
    ours = results(profiles=lambda: AT)
    ours.save(tmp_path / "fit.json")
    assert json.loads((tmp_path / "fit.json").read_text())["version"] == 8
    again = Results.load(tmp_path / "fit.json")
    assert again == ours
    np.testing.assert_array_equal(again.conf_int(0.9), ours.conf_int(0.9))
    without = results()
    assert without.to_dict()["version"] == 1
    assert "by standard errors, and may be short" in str(Results.from_dict(without.to_dict()).summary())
    with pytest.raises(EstimationError, match="no likelihood to profile"):
        without.conf_int(kind="profile")
    with pytest.raises(ParameterError, match="no kind of interval"):
        without.conf_int(kind="profil")


@pytest.mark.parametrize(
    "spoiled",
    [
        {"age": AT["age"]},  # of all coefficients or none
        AT | {"w": AT["age"]},
        AT | {"age": (*AT["age"], [0.0])},
        AT | {"age": ([0.0, "1"], [-1.0, 1.0])},
        AT | {"age": ([1.0, 0.0], [-1.0, 1.0])},
        [],
    ],
)
def test_file_with_invalid_profiles_is_refused(spoiled):
    data = json.loads(json.dumps(results(profiles=AT).to_dict() | {"profiles": spoiled}))
    with pytest.raises(ParameterError):
        Results(**SavedResults.from_dict(data).arguments())
