"""The contract of scikit-learn, without a single expected failure."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import versadp as vdp

KINDS = (
    vdp.LinearRegression,
    vdp.LogisticRegression,
    vdp.QuantileRegressor,
    vdp.LinearSVC,
    vdp.HuberRegressor,
    vdp.PoissonRegressor,
    vdp.MEstimator,
)


@pytest.mark.thinned(3)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # their data are separable
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([kind() for kind in KINDS])
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [vdp.LogisticRegression, vdp.LinearSVC])
def test_separable_classes_are_warned_of_and_have_finite_coefficients(kind):
    x = np.array([[-2.0, 1.0], [-1.0, 3.0], [1.0, 2.0], [2.0, -1.0]])
    with pytest.warns(ConvergenceWarning, match="separates"):
        model = kind().fit(x, [0, 0, 1, 1])
    assert np.isfinite(model.coef_).all()
    assert model.predict(x).tolist() == [0, 0, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind(alpha=0.1).fit(x, [0, 0, 1, 1])  # a penalty is a cure
        kind().fit(np.array([[-1.0], [1.0], [-0.5], [0.5]]), [0, 0, 1, 1])


def test_every_learner_has_the_same_options():
    for kind in KINDS:
        assert {"mechanism", "response", "columns", "method", "draws", "random_state"} <= set(kind().get_params())
        assert "epsilon" not in kind().get_params()
