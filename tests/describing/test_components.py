"""Covariances, principal components and factors of a description, against numpy and statsmodels on raw data."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.multivariate.factor import Factor
from statsmodels.multivariate.pca import PCA

import versadp as vdp
from versadp.describing.components import components_of, factors_of, positive
from versadp.errors import EstimationError, IndefiniteWarning, ParameterError
from versadp.inference.arrays import NamedArray

NAMES = ("a", "b", "c", "d", "e")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(20_000, 2))
    load = np.array([[0.8, 0.1], [0.7, 0.2], [0.2, 0.8], [0.1, 0.7], [0.5, 0.5]])
    x = common @ load.T + 0.5 * rng.normal(size=(20_000, 5))
    return pd.DataFrame(np.clip(x, -3, 3) * [1, 2, 1, 1, 3], columns=NAMES)


def release_of(people, epsilon=6.0):
    schema = vdp.Schema({name: vdp.Bounded(-9, 9) for name in NAMES})
    noise = {name: vdp.noise.Window(epsilon=epsilon) for name in NAMES}
    return vdp.Mechanism(schema, noise=noise).release(people)


def described(people, epsilon=6.0):
    return vdp.describe(release_of(people, epsilon))


def test_covariance_covers_that_of_raw_records(people):
    found, raw = described(people), people.cov().to_numpy()
    errors = found.covariance_errors
    assert (np.abs(found.covariance - raw) < 4.5 * errors).all()  # of 15: once in 10,000
    scale = np.sqrt(np.diag(found.covariance))
    np.testing.assert_allclose(found.covariance / np.outer(scale, scale), found.correlations, atol=2e-4)


def test_public_numbers_have_the_covariance_of_pandas(people):
    schema = vdp.Schema({name: vdp.Public() for name in NAMES} | {"z": vdp.Bounded(0, 1)})
    release = vdp.Mechanism(schema, scale=0.1, exact_rate=0.2).release(people.assign(z=0.5))
    found = vdp.describe(release, columns=list(NAMES))
    np.testing.assert_allclose(found.covariance, people.cov(), rtol=1e-6)


def test_components_of_a_matrix_are_those_of_statsmodels(people):
    raw = NamedArray(people.corr(), NAMES)
    ours, theirs = components_of(raw), PCA(people, standardize=True, method="eig")
    np.testing.assert_allclose(ours.explained, theirs.eigenvals / theirs.eigenvals.sum(), rtol=1e-6)
    np.testing.assert_allclose(np.abs(ours.vectors), np.abs(theirs.loadings), atol=1e-6)
    np.testing.assert_allclose(ours.loadings @ ours.loadings.T, raw, atol=1e-12)
    for k in (1, 2):
        factor = Factor(corr=np.asarray(raw), n_factor=k, method="pa", nobs=len(people)).fit(maxiter=2000, tol=1e-12)
        np.testing.assert_allclose(np.abs(factors_of(raw, k)), np.abs(factor.loadings), atol=1e-5)


def test_components_of_a_release_are_near_those_of_raw_records(people):
    release, raw = release_of(people, 4.0), components_of(NamedArray(people.corr(), NAMES))
    ours, naive = vdp.describe(release).principal_components(), components_of(NamedArray(release.frame.corr(), NAMES))
    np.testing.assert_allclose(ours.explained, raw.explained, atol=0.03)
    assert abs(ours.vectors[:, 0] @ raw.vectors[:, 0]) > 0.98
    assert naive.explained[0] < raw.explained[0] - 0.1  # noise spreads over all directions
    assert abs(ours.vectors[:, 0] @ raw.vectors[:, 0]) > 0.99


def test_a_matrix_that_is_not_positive_definite_is_told_and_mended():
    wrong = NamedArray([[4.0, 3.9, -3.0], [3.9, 4.0, 3.0], [-3.0, 3.0, 4.0]], ("a", "b", "c"))
    with pytest.warns(IndefiniteWarning, match="1 of its 3"):
        mended = positive(wrong)
    assert np.linalg.eigvalsh(mended).min() > -1e-12
    np.testing.assert_allclose(np.diag(mended), 4.0)
    right = NamedArray([[1.0, 0.5], [0.5, 1.0]], ("a", "b"))
    assert positive(right) is right


def test_what_has_no_components_is_refused(people):
    found = described(people[:500], epsilon=1.0)
    with pytest.raises(ParameterError, match="correlation, covariance"):
        found.principal_components(of=["data"])
    with pytest.raises(EstimationError, match="no estimate"):
        positive(NamedArray([[1.0, np.nan], [np.nan, 1.0]], ("a", "b")))
    with pytest.raises(EstimationError, match="common factors"):
        factors_of(NamedArray(np.eye(2), ("a", "b")), 2)
