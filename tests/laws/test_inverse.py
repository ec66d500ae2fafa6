"""The law behind every estimate: weighted sums over signed points have expectation g(x), for every channel and
extension, and fail to when the inverse is spoilt.
"""

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.noise import (
    Clip,
    Damped,
    Extension,
    How,
    Response,
    SymmetricLaplace,
    Window,
    Zero,
    ZeroInflatedBlock,
)

EXTENSIONS = [Extension(), Zero(), Clip(), Damped(1.5), Damped(4.0)]
RATE = 0.2


class Lattice:
    """Stands for a generator: equally likely (exponential, normal) pairs from a rank-one lattice."""

    def __init__(self, count):
        from scipy.stats import expon, norm

        k = np.arange(count)
        self.exponential = iter(expon.ppf((k + 0.5) / count))
        self.normal = iter(norm.ppf((k * 0.6180339887498949 + 0.5 / count) % 1))

    def standard_exponential(self, shape):
        return np.full(shape, next(self.exponential))

    def standard_normal(self, shape):
        return np.full(shape, next(self.normal))


FUNCTIONS = {
    "identity": lambda x: x,
    "square": lambda x: x**2,
    "kink": lambda x: np.maximum(x - 0.4, 0),
    "jump": lambda x: (x > 0.6).astype(float),
    "sine": lambda x: np.abs(np.sin(2 * np.pi * x)),
}


def expectations(x, extension, rate=RATE, scale=0.7, draws=3000):
    """E of the weighted sums over the noise of one record at x, by quadrature over X1."""
    block = ZeroInflatedBlock(("x",), (0.0,), (1.0,), (scale,), RATE)
    z = np.linspace(-12, 12, 4001)
    mass = SymmetricLaplace(scale**2).pdf(z[:, None]) * (z[1] - z[0])
    mass *= (1 - rate) / mass.sum()
    mass[2000] += rate
    points = block.points((x + z)[None], Lattice(draws), How(draws, extension))
    weights = points.weight * mass[points.record]
    return {name: float((weights * g(points.columns["x"])).sum()) for name, g in FUNCTIONS.items()}


@pytest.mark.thinned(4)
@pytest.mark.parametrize("extension", EXTENSIONS, ids=repr)
@pytest.mark.parametrize("x", [0.0, 0.3, 0.95])
def test_unbiased_in_one_dimension_by_quadrature(extension, x):
    """Tolerance: the lattice's error at 3000 draws, below 4e-3 for these functions, times the weight 4."""
    for name, value in expectations(x, extension).items():
        assert value == pytest.approx(float(FUNCTIONS[name](np.array(x))), abs=1.6e-2), name


def test_quadrature_rejects_a_wrong_rate():
    assert abs(expectations(0.95, Extension(), rate=0.25)["square"] - 0.95**2) > 0.03
    assert abs(expectations(0.95, Zero(), rate=0.25)["jump"] - 1.0) > 0.1


# six dimensions, and a category, by simulation ------------------------------------------------------------------

DIM, N = 6, 60_000
LEVELS = ["n", "e", "s"]


def many(x, c=None):
    """Functions of a whole record, smooth and not; x is (rows, 6)."""
    out = {
        "linear": x @ np.arange(1, 7),
        "quadratic": x[:, 0] * x[:, 1] + (x**2).sum(axis=1),
        "logistic": np.logaddexp(0, x.sum(axis=1)),
        "check": np.abs(x.sum(axis=1) - 0.3),
        "corner": (x > -0.1).all(axis=1).astype(float),
    }
    if c is not None:
        out["category"] = (c == "n").astype(float)
        out["product"] = (c == "e") * x[:, 0] - (c == "n") * np.abs(x[:, 1])
    return out


@pytest.fixture(scope="module")
def truth():
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.uniform(-0.5, 0.5, (N, DIM)), columns=[f"x{j}" for j in range(DIM)])
    frame["c"] = rng.choice(LEVELS, N, p=[0.7, 0.2, 0.1])
    return frame


@pytest.fixture(scope="module")
def release(truth):
    columns = {f"x{j}": vdp.Bounded(-0.5, 0.5) for j in range(DIM)} | {"c": vdp.Categorical(LEVELS)}
    return vdp.Mechanism(vdp.Schema(columns), scale=0.6, exact_rate=RATE, keep=0.4).release(truth)


def t_scores(frame, weight, record, truth, *, category=True):
    """(sum over a record's rows - truth), averaged over records, by its standard error."""
    names = [f"x{j}" for j in range(DIM)]
    here = many(frame[names].to_numpy(), frame["c"].to_numpy() if category else None)
    there = many(truth[names].to_numpy(), truth["c"].to_numpy() if category else None)
    scores = {}
    for name, values in here.items():
        difference = np.bincount(record, weight * values, minlength=len(truth)) - there[name]
        scores[name] = difference.mean() / (difference.std() / np.sqrt(len(truth)))
    return scores


@pytest.mark.parametrize("extension", EXTENSIONS, ids=repr)
def test_unbiased_in_six_dimensions_with_a_category(extension, release, truth):
    """Seven functions, five extensions: chance of a false alarm 35 * 6e-7 at 5 standard errors."""
    sample = release.augment(draws=3, extension=extension, return_record=True, random_state=1)
    assert max(map(abs, t_scores(*sample, truth).values())) < 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("extension", EXTENSIONS, ids=repr)
def test_unbiased_again_and_again(extension, seed, truth):
    columns = {f"x{j}": vdp.Bounded(-0.5, 0.5) for j in range(DIM)} | {"c": vdp.Categorical(LEVELS)}
    mech = vdp.Mechanism(vdp.Schema(columns), scale=[0.2, 0.5, 1, 2, 4][seed], exact_rate=0.1, keep=0.3)
    sample = mech.release(truth).augment(draws=8, extension=extension, return_record=True, random_state=seed)
    assert max(map(abs, t_scores(*sample, truth).values())) < 5


def test_a_wrong_weight_is_rejected(release, truth):
    frame, weight, record = release.augment(draws=3, extension="zero", return_record=True, random_state=1)
    assert max(map(abs, t_scores(frame, np.where(weight > 0, weight * 1.1, weight), record, truth).values())) > 5


def test_draws_shared_by_records_are_rejected(release, truth):
    """Every record's S the same: still unbiased, but the standard error is far too small."""
    laplace = release.mechanism.blocks[0]
    names = [f"x{j}" for j in range(DIM)]
    x1 = release.frame[names].to_numpy()
    worst = []
    for seed in range(8):
        s = laplace.second(np.zeros((DIM, 1)), np.random.default_rng(seed)).T
        frame = pd.DataFrame(np.concatenate([x1, x1 + s]), columns=names)
        weight = np.repeat([1 / RATE, 1 - 1 / RATE], N)
        scores = t_scores(frame, weight, np.tile(np.arange(N), 2), truth, category=False)
        worst.append(max(map(abs, scores.values())))
    assert np.median(worst) > 5


def test_one_formula_across_two_blocks_is_rejected(release, truth):
    """The numeric block's inverse, with the category taken along as it was released."""
    plain = release.augment(draws=3, columns=[f"x{j}" for j in range(DIM)], return_record=True, random_state=1)
    frame, weight, record = plain
    frame = frame.assign(c=release.frame["c"].to_numpy()[record])
    scores = t_scores(frame, weight, record, truth)
    assert abs(scores["category"]) > 5
    assert abs(scores["product"]) > 5


def test_noise_on_a_coarse_lattice_is_rejected(truth):
    """Noise rounded to a quarter of the width is not symmetric Laplace; exact-looking records abound."""
    names = [f"x{j}" for j in range(DIM)]
    rng = np.random.default_rng(3)
    x = np.round(truth[names].to_numpy() * 4) / 4
    noise = np.sqrt(rng.standard_exponential((N, 1))) * rng.standard_normal((N, DIM)) * 0.6
    x1 = x + np.round(noise * 4) / 4 * (rng.random((N, 1)) >= RATE)
    schema = vdp.Schema({name: vdp.Bounded(-0.5, 0.5) for name in names})
    mech = vdp.Mechanism(schema, scale=0.6, exact_rate=RATE)
    rounded = vdp.Release.from_frame(pd.DataFrame(x1, columns=names), mech, on_grid=False)
    sample = rounded.augment(draws=3, extension="zero", return_record=True, random_state=1)
    scores = t_scores(*sample, pd.DataFrame(x, columns=names), category=False)
    assert max(map(abs, scores.values())) > 5


# missing values ---------------------------------------------------------------------------------------------------


NULLABLE = {
    "x": vdp.Bounded(-1, 1, nullable=True),
    "o": vdp.Bounded(-1, 1, nullable="public"),
    "c": vdp.Categorical(LEVELS, nullable=True),
    "d": vdp.Categorical(LEVELS, nullable=True),
}
WITH_NULLS = {
    "joint": {("x", "o", "c"): Window(epsilon=5.0, cells=12, window=3), "d": Response(0.5)},
    "apart": {
        "x": Window(epsilon=3.0, cells=12, window=2),
        "o": Window(epsilon=3.0, cells=12, window=1),
        "c": Window(epsilon=2.0),
        "d": Window(epsilon=2.0),
    },
    "fine": {"x": Window(epsilon=2.0), ("o", "c", "d"): Window(epsilon=5.0)},
}


@pytest.fixture(scope="module")
def incomplete():
    """High values of x are missing more often, and so is everything else where x is; values lie on all lattices."""
    rng, n = np.random.default_rng(8), 6000
    x, o = rng.integers(0, 13, (2, n)) / 6 - 1
    frame = pd.DataFrame({"x": x, "o": o, "c": rng.choice(LEVELS, n), "d": rng.choice(LEVELS, n)})
    return frame.mask(rng.random((n, 4)) < np.where(x > 0, 0.5, 0.1)[:, None])


def of_nulls(t):
    """Functions of complete records, and of who is missing."""
    x, o = t["x"].fillna(0).to_numpy(), t["o"].fillna(0).to_numpy()
    lost = {name: t[name].isna().to_numpy() for name in NULLABLE}
    return {
        "present": 1.0 - lost["x"],
        "linear": x,
        "jump": (x > 0.4) * (1.0 - lost["x"]),
        "square, if o is there": x**2 * (1.0 - lost["o"]),
        "product": x * o * (t["c"] == "e").to_numpy(),
        "both missing": 1.0 * (lost["c"] & lost["d"]),
        "level where x is missing": lost["x"] * (t["d"] == "n").to_numpy(),
    }


def null_scores(frame, weight, record, truth):
    differences = {
        name: np.bincount(record, weight * values, minlength=len(truth)) - of_nulls(truth)[name]
        for name, values in of_nulls(frame).items()
    }
    return {name: abs(d.mean()) / (d.std() / np.sqrt(len(d))) for name, d in differences.items()}


@pytest.mark.parametrize("noise", WITH_NULLS)
def test_unbiased_where_values_are_missing(noise, incomplete):
    """Seven functions, three mechanisms, at 5 standard errors: chance of a false alarm 20 * 6e-7.

    On a fine lattice the inverse of a jump is seldom anything, and then thousands: no standard error tells of it.
    """
    release = vdp.Mechanism(vdp.Schema(NULLABLE), noise=WITH_NULLS[noise]).release(incomplete)
    sample = release.augment(draws=1, return_record=True, random_state=2)
    scores = null_scores(*sample, incomplete)
    assert max(score for name, score in scores.items() if (noise, name) != ("fine", "jump")) < 5
    assert np.allclose(np.bincount(sample[2], sample[1]), 1)


def test_missing_values_that_are_taken_at_their_word_are_rejected(incomplete):
    """Released nulls left out beforehand, as if they were true: the inverse of what is left is biased."""
    release = vdp.Mechanism(vdp.Schema(NULLABLE), noise=WITH_NULLS["fine"]).release(incomplete)
    frame, weight, record = release.augment(draws=1, columns=["x"], return_record=True, random_state=2)
    shown = release.frame["x"].notna().to_numpy()[record]
    difference = np.bincount(record, weight * shown * frame["x"].notna(), minlength=len(incomplete))
    difference -= incomplete["x"].notna().to_numpy()
    assert abs(difference.mean()) > 5 * difference.std() / np.sqrt(len(incomplete))
