"""Arguments of a wrong type are refused by our errors: never a bare TypeError or ValueError."""

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.errors import VersadpError

ODD = [
    3,
    -1.5,
    b"x",
    [1, 2],
    {"nobody": object()},
    object(),
    np.array([1.0, np.nan]),
    pd.DataFrame({"a": [1]}),
    {1},
    [[1]],
]


@pytest.fixture(scope="module")
def release():
    people = pd.DataFrame({"age": np.linspace(18, 90, 600), "year": np.arange(600) % 3})
    schema = vdp.Schema({"age": vdp.Bounded(18, 90), "year": vdp.Public()})
    return vdp.Mechanism(schema, noise={"age": vdp.noise.Window(epsilon=9)}).release(people)


def share(release, odd):
    return vdp.fit(release, loss=vdp.losses.Share(odd))


def columns_of_a_learner(release, odd):
    return vdp.LinearRegression(columns=odd).fit(release, y="year")


def correlation(release, odd):
    return vdp.describe(release).correlation(odd, "age")


def components(release, odd):
    return vdp.describe(release).principal_components(of=odd)


def side_by_side(release, odd):
    return vdp.summary_col(odd) if release else None


def bootstrap(release, odd):
    return vdp.bootstrap(odd, "year ~ age") if release else None


def option(name):
    """Return a fit with an option of a wrong type."""
    return lambda release, odd: vdp.fit(release, "year ~ age", **{name: odd})


CALLS = [share, columns_of_a_learner, correlation, components, side_by_side, bootstrap, vdp.fit, vdp.table]
CALLS += [option(name) for name in ("loss", "method", "cov_type", "groups", "absorb")]


@pytest.mark.parametrize("call", CALLS)
def test_wrong_types_are_refused(release, call):
    for odd in ODD:
        with pytest.raises(VersadpError) as caught:
            call(release, odd)
        assert str(caught.value)


@pytest.mark.parametrize("method", ["conf_int", "anova", "compare", "wald_test", "t_test", "summary", "lr_test"])
def test_wrong_types_are_refused_by_results(release, method):
    result = vdp.fit(release, "year ~ age")
    for odd in ([1, [2]], {"a": 1}, object(), b"x", {1}):
        with pytest.raises(VersadpError):
            getattr(result, method)(odd)
    for keyword, name in (("kind", "conf_int"), ("test", "anova"), ("style", "summary")):
        with pytest.raises(VersadpError):
            getattr(result, name)(**{keyword: ["wald"]})


def test_a_random_state_that_is_none_is_refused(release):
    for odd in ("nonsense", {}, 1j, -1.5):
        with pytest.raises(VersadpError, match="random_state"):
            release.second(odd)
