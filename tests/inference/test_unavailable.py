"""What other libraries give and a release cannot is refused with the reason."""

import copy
import pickle

import pytest

import versadp as vdp
from versadp.errors import UnavailableError, VersadpError
from versadp.inference import Results
from versadp.inference.unavailable import OF_RESULTS

RESULT = Results([1.0], [[0.1]], ("x",), "converged", 99, loss="squared", method="efficient")


@pytest.mark.parametrize("name", OF_RESULTS)
def test_attributes_of_statsmodels_are_refused_with_the_reason(name):
    with pytest.raises(UnavailableError) as caught:
        getattr(RESULT, name)
    assert caught.value.hint
    assert not hasattr(RESULT, name)  # as Python asks


@pytest.mark.parametrize("name", ["RandomForestRegressor", "DecisionTreeClassifier", "KMeans", "SVC", "XGBClassifier"])
def test_trees_forests_and_clusters_name_people(name):
    with pytest.raises(UnavailableError, match="no correction of means"):
        getattr(vdp, name)


def test_other_names_are_not_there():
    with pytest.raises(AttributeError, match="no 'frobnicate'") as caught:
        RESULT.frobnicate  # noqa: B018
    assert not isinstance(caught.value, VersadpError)
    with pytest.raises(AttributeError, match="did you mean"):
        vdp.fitt  # noqa: B018
    assert copy.copy(RESULT) == RESULT == pickle.loads(pickle.dumps(RESULT))
