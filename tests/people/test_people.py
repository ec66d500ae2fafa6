"""Made-up people of all kinds of columns: the table, its weights, what is refused, and the command."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from scipy.optimize import minimize
from scipy.stats import chi2

import versadp as vdp
from versadp.cli import main
from versadp.errors import NoSuchName, ParameterError
from versadp.people.axes import make_axis
from versadp.people.features import make_features
from versadp.people.law import estimate_law
from versadp.people.people import read_axes
from versadp.people.rows import draw_points, record_weights, replicate_weights
from versadp.people.targets import Targets, estimate
from versadp.people.tilt import Points, systematic, tilted

N = 20_000
SCHEMA = vdp.Schema(
    {
        "age": vdp.Bounded(18, 90, step=1),
        "income": vdp.Bounded(0, 100, nullable=True),
        "region": vdp.Categorical(["north", "south", "west"]),
        "born": vdp.Dates("2000-01-01", "2000-01-15"),
    }
)


def raw(n=N):
    rng = np.random.default_rng(0)
    age = rng.integers(18, 91, n)
    income = np.clip(0.6 * age + rng.normal(0, 12, n), 0, 100)
    income[rng.random(n) < 0.1] = np.nan
    region = np.array(["north", "south", "west"])[np.digitize(age + rng.normal(0, 20, n), [45, 70])]
    born = pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 15, n), unit="D")
    return pd.DataFrame({"age": age, "income": income, "region": region, "born": born.date})


@pytest.fixture(scope="module")
def release():
    return vdp.calibrate(SCHEMA, epsilon=9).release(raw())


@pytest.fixture(scope="module")
def people(release):
    return release.people(replicates=4)


def test_columns_look_like_the_data(people):
    frame, true = people.frame, raw()
    assert list(frame.columns) == [*SCHEMA.columns, "weight", *(f"rep_{b}" for b in range(1, 5))]
    assert frame["age"].dtype == np.int64
    assert frame["age"].between(18, 90).all()
    assert frame["income"].between(0, 100)[frame["income"].notna()].all()
    assert len(np.unique(frame["income"].dropna())) > 10_000  # spread, not in the points of the law
    assert set(frame["region"]) == {"north", "south", "west"}
    assert pa.types.is_date32(people.to_arrow().schema.field("born").type)
    born = pd.to_datetime(frame["born"])
    assert born.between("2000-01-01", "2000-01-15").all()
    assert abs(frame["age"].mean() - true["age"].mean()) < 1
    assert abs(frame["income"].isna().mean() - 0.1) < 0.02
    assert abs(frame["income"].mean() - true["income"].mean()) < 1.5
    assert (
        np.abs(frame["region"].value_counts(normalize=True) - true["region"].value_counts(normalize=True)).max() < 0.02
    )
    assert abs(frame["age"].corr(frame["income"]) - true["age"].corr(true["income"])) < 0.06
    assert (frame["weight"] == 1).all()


def test_same_draws_same_people_and_others_by_another_seed(release):
    first, again = (release.people(replicates=2, columns=["age", "region"]).frame for _ in range(2))
    pd.testing.assert_frame_equal(again, first)
    assert not release.people(replicates=0, columns=["age", "region"], random_state=1).frame["age"].equals(first["age"])


@pytest.mark.parametrize("kind", ["polars", "arrow"])
def test_table_is_of_the_kind_of_the_release(kind):
    frame = raw(3000)[["age", "region"]]
    schema = vdp.Schema({name: SCHEMA.columns[name] for name in ("age", "region")})
    given = pl.from_pandas(frame) if kind == "polars" else pa.Table.from_pandas(frame)
    made = vdp.calibrate(schema, epsilon=8).release(given).people(100, replicates=0)
    assert isinstance(made.frame, pl.DataFrame if kind == "polars" else pa.Table)
    assert len(made.frame) == 100
    assert made.per_row == 30
    assert made.to_polars().columns == ["age", "region"]
    assert "no replicate weights" in made.description


def test_two_copies_leave_no_row_unique(release):
    frame = release.people(1001, replicates=2, copies=2, columns=["age", "income"]).frame
    assert len(frame) == 1002
    assert frame.groupby(["age", "income"], dropna=False).size().min() >= 2
    assert frame["weight"].sum() == pytest.approx(N)


def test_public_columns_are_levels_and_keep_their_counts():
    frame = raw(6000)[["age"]].assign(year=np.repeat([2001, 2002, 2003], [1000, 2000, 3000]))
    frame["age"] = np.clip(frame["age"] + 5 * (frame["year"] - 2002), 18, 90)
    schema = vdp.Schema({"age": SCHEMA.columns["age"], "year": vdp.Public()})
    made = vdp.calibrate(schema, epsilon=8).release(frame).people(replicates=2).frame
    assert np.abs(made["year"].value_counts().to_numpy() - [3000, 2000, 1000]).max() < 30
    means = made.groupby("year")["age"].mean() - frame.groupby("year")["age"].mean()
    assert means.abs().max() < 2


def test_publicly_missing_values_are_as_many_as_in_the_release():
    frame = raw(6000)[["income", "region"]]
    schema = vdp.Schema({"income": vdp.Bounded(0, 100, nullable="public"), "region": SCHEMA.columns["region"]})
    release = vdp.calibrate(schema, epsilon=8).release(frame)
    made = release.people(replicates=0).frame
    assert abs(made["income"].isna().sum() - frame["income"].isna().sum()) < 30
    assert abs(made["income"].mean() - frame["income"].mean()) < 2


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_hold_the_table_and_a_description(people, tmp_path, ending):
    path = tmp_path / f"people.{ending}"
    people.save(path)
    found = pq.read_table(path).to_pandas() if ending == "parquet" else pd.read_csv(path)
    assert len(found) == N
    assert found["rep_4"].mean() == pytest.approx(1)
    text = (tmp_path / "people.txt").read_text()
    for words in ("No row is a person", "Not promised", "svrepdesign", "epsilon"):
        assert words in text
    with pytest.raises(ParameterError, match="exists already"):
        people.save(path)
    with pytest.raises(ParameterError, match="not written"):
        people.save(tmp_path / "people.xlsx")


def test_check_tells_what_the_table_smooths_away(people):
    found = people.check("income ~ age")
    assert found.smoothed == ()
    assert "as the release does" in str(found)
    assert found.rows[1]["their std error"] == pytest.approx(found.rows[1]["std error"], rel=1)
    shuffled = people.columns["income"].take(pa.array(np.random.default_rng(0).permutation(N)))
    lost = replace(people, columns=people.columns | {"income": shuffled}).check("income ~ age")
    assert lost.smoothed == ("Intercept", "age")
    assert "fit income ~ age to the release itself" in lost.verdict
    with pytest.raises(ParameterError, match="has no column"):
        replace(people, columns={"age": people.columns["age"]}).check("income ~ age")


def test_what_is_not_served_is_refused_with_a_hint(release):
    noisy = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90)}), scale=0.2, exact_rate=0.2)
    with pytest.raises(ParameterError, match="has no lattice"):
        noisy.release(raw(500)[["age"]]).people()
    frame = raw(500)[["age"]].assign(number=np.arange(500.0))
    many = vdp.Schema({"age": SCHEMA.columns["age"], "number": vdp.Public()})
    public = vdp.calibrate(many, epsilon=8).release(frame)
    with pytest.raises(ParameterError, match="more than 64 values"):
        public.people()
    assert list(public.people(replicates=0, columns=["age"]).frame.columns) == ["age"]
    with pytest.raises(NoSuchName):
        release.people(columns=["agee"])
    weight = vdp.Schema({"weight": vdp.Bounded(0, 200, step=1)})
    with pytest.raises(ParameterError, match="name of a weight"):
        vdp.calibrate(weight, epsilon=8).release(pd.DataFrame({"weight": [70] * 500})).people()


def test_command_writes_a_file(release, tmp_path):
    release.save(tmp_path / "released")
    out = tmp_path / "people.csv"
    result = CliRunner().invoke(
        main,
        [
            "people",
            str(tmp_path / "released"),
            "--out",
            str(out),
            "--rows",
            "50",
            "--column",
            "age",
            "--replicates",
            "2",
        ],
    )
    assert result.exit_code == 0, result.output
    assert "Made-up people: 50 rows" in result.output
    assert pd.read_csv(out).columns.tolist() == ["age", "weight", "rep_1", "rep_2"]


# the law --------------------------------------------------------------------------------------------------------------


def small_law():
    """Return axes, features and points of a law of two columns."""
    block = vdp.noise.Window(epsilon=3).on({"a": vdp.Bounded(0, 5, step=1), "c": vdp.Categorical(["x", "y"])})
    columns = {"a": vdp.Bounded(0, 5, step=1), "c": vdp.Categorical(["x", "y"])}
    axes = [make_axis(name, column, block.lattice(name), 64) for name, column in columns.items()]
    law = np.random.default_rng(1).dirichlet(np.ones(12)).reshape(6, 2)
    features = make_features(axes, [law.sum(axis=1), law.sum(axis=0)])
    at = np.stack(np.unravel_index(np.arange(12), (6, 2)), axis=1).astype(np.int32)
    return axes, features, Points(at, law.ravel())


def test_tilt_is_the_minimum_of_distance_and_penalty():
    _, features, points = small_law()
    rng, k = np.random.default_rng(2), features.size
    phi = features.values(points.at)
    root = rng.normal(size=(k, k)) * 0.05
    cov, goal = root @ root.T + 1e-4 * np.eye(k), phi.T @ points.weight + 0.1 * rng.normal(size=k)
    tilt, weight = tilted(points, features, Targets(goal, cov), prior=0.5)

    def value(logit):
        q = np.exp(logit - np.logaddexp.reduce(logit))
        off = q @ phi - goal
        return q @ np.log(q / points.weight) + off @ np.linalg.solve(cov, off) / (2 / 0.5**2)

    best = minimize(value, np.log(points.weight), method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    expected = np.exp(best.x - np.logaddexp.reduce(best.x))
    assert np.abs(weight - expected).max() < 1e-3 < np.abs(points.weight - expected).max()
    assert np.allclose(tilt.means(weight), phi.T @ weight)


def test_exact_estimates_are_met_exactly():
    _, features, points = small_law()
    other = np.random.default_rng(3).dirichlet(np.ones(12))
    goal = features.values(points.at).T @ other
    tilt, weight = tilted(points, features, Targets(goal, 1e-10 * np.eye(features.size)))
    assert np.abs(tilt.means(weight) - goal).max() < 1e-5


def test_estimates_are_unbiased_and_their_covariance_is_theirs(release):
    axes, _ = read_axes(release, ["age", "income", "region"], "serial")
    frame = raw()
    margins = [np.full(axis.size, 1 / axis.size) for axis in axes]
    features = make_features(axes, margins)
    found = estimate(release, features, "serial")
    true = _features_of(frame, axes, features)
    off = found.mean - true
    noise = found.cov - _features_of(frame, axes, features, cov=True)
    value = float(off @ np.linalg.solve(noise, off))
    assert chi2(features.size).ppf(1e-4) < value < chi2(features.size).ppf(1 - 1e-4)
    assert 4 * value > chi2(features.size).ppf(1 - 1e-4)  # noise of half the size would be noticed


def _features_of(frame, axes, features, cov=False):
    """Return the means of features over raw records, on the lattice of the noise, or their covariance."""
    out, chosen = np.ones((len(frame), features.size)), features.at
    for j, axis in enumerate(axes):
        own = features.functions[j].lattice
        if axis.ordered:
            values = frame[axis.name].to_numpy(float)
            place = np.rint((values - axis.lattice.low) / axis.lattice.step)
            place = np.where(np.isnan(values), len(own) - 1, place).astype(int)
        else:
            place = frame[axis.name].map({level: k for k, level in enumerate(axis.levels)}).to_numpy()
        out *= own[place][:, chosen[:, j]]
    return np.cov(out.T) / len(out) if cov else out.mean(axis=0)


def test_rows_are_drawn_as_often_as_the_law_says():
    weight = np.random.default_rng(4).dirichlet(np.ones(50))
    count = np.bincount(systematic(weight, 1000, 0.3), minlength=50)
    assert np.abs(count - 1000 * weight).max() < 1
    assert count.sum() == 1000


def test_replicates_are_tilted_to_the_estimates_from_weighted_records(release):
    axes, _ = read_axes(release, ["age", "region"], "serial")
    rng = np.random.default_rng(5)
    repeated = record_weights(N, 3, rng)
    repeated[:, 2] = 1  # every record as it is
    law = estimate_law(release, axes, rng, "serial", repeated=repeated)
    at = draw_points(law, N, rng)
    weights = replicate_weights(law, at, repeated)
    assert np.allclose(weights.mean(axis=0), 1)
    assert (weights > 0).all()
    assert np.allclose(weights[:, 2], 1, atol=1e-3)
    phi = law.features.values(at)
    moved = weights.T @ phi / N - phi.mean(axis=0)
    wanted = law.targets.repeated - law.targets.mean
    errors = np.sqrt(np.diag(law.targets.cov))
    near = np.abs(moved - wanted)[:2] / errors
    assert np.median(near) < 0.3 < np.median(np.abs(wanted[:2]) / errors)
    again = law.likeliest.again(repeated[:, 2])
    assert np.allclose(again, law.likeliest.law)


@pytest.mark.full
def test_twelve_columns():
    rng = np.random.default_rng(6)
    n = 20_000
    z = rng.normal(size=(n, 2))
    names = [f"c{j:02d}" for j in range(12)]
    values = {
        name: np.clip(np.rint(10 + 3 * (z[:, j % 2] + rng.normal(size=n))), 0, 20) for j, name in enumerate(names)
    }
    schema = vdp.Schema(dict.fromkeys(names, vdp.Bounded(0, 20, step=1)))
    mechanism = vdp.Mechanism(schema, noise={name: vdp.noise.Window(epsilon=4) for name in names})
    made = mechanism.release(pd.DataFrame(values)).people(5000).frame
    assert list(made.columns) == names  # without replicate weights
    true = pd.DataFrame(values)
    assert (made[names].mean() - true.mean()).abs().max() < 0.3
    off = (made[names].corr() - true.corr()).to_numpy()
    assert np.abs(off).max() < 0.12
    assert true.corr().to_numpy()[0, 2] > 0.4  # which independent columns would miss
