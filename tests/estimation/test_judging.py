"""What can be trusted: strengths against a closed form, score sets against Fieller's and against simulation."""

import numpy as np
import pyarrow as pa
import pytest

import versadp as vdp
from versadp.correction.form import Form
from versadp.estimation.criterion import Affine, ByPasses, Combined, Followed, criterion, distance, places
from versadp.estimation.diagnostic_statistics import contrast_test, directions, following, strength
from versadp.estimation.moments import Family
from versadp.estimation.profile_scores import Expansion, profile_scores
from versadp.estimation.score_sets import ScoreSet, Space, quantile, scanned, score_set
from versadp_tests.nowhere import Nowhere

pytestmark = pytest.mark.filterwarnings("ignore::versadp.errors.InsecureWarning")  # seeds make runs repeatable


class Affinely(Form):
    """A form of one member: scores `b_i + A_i theta`."""

    names = ("one",)
    points = 1

    def __init__(self, b, a, power=1.0):
        self.b, self.a, self.power = b, a, power

    def prepare(self, records, rng):
        return None

    def evaluate(self, prepared, theta, mix, *, hessian):
        inner = self.a @ theta
        scores = self.b + np.sign(inner) * np.abs(inner) ** self.power
        return scores[:, None] * mix.sum(axis=1)[None, :, None], self.a.sum(axis=0)


def family_of(b, a, power=1.0):
    return Family((Affinely(b, a, power),), Nowhere(len(b)), b.shape[1], vdp.engine.Serial(), 0)


def combined(b, a, power=1.0):
    return Combined(family_of(b, a, power), np.ones((1, 1)), (np.arange(b.shape[1]),))


def instrumented(rng, n, strong, beta=1.0):
    """One coefficient: `mean(b) + theta mean(a) = 0`, with a of mean `strong / √n`; so t is about `strong`."""
    a = strong / n**0.5 + rng.normal(size=n)
    b = -beta * a + 0.8 * rng.normal(size=n) + 0.8 * (a - a.mean())
    return b[:, None], a[:, None, None]


def test_strength_is_the_t_of_the_slopes():
    rng = np.random.default_rng(0)
    b, a = instrumented(rng, 500, 5.0)
    t = strength(family_of(b, a), np.zeros(1), np.ones(1), np.ones((1, 1)), 500)
    assert t[0] == pytest.approx(a.mean() / (a.std(ddof=0) / 499**0.5))
    more = strength(family_of(b, a), np.zeros(1), np.ones(1), np.ones((1, 1)), 2000)
    assert more[0] == pytest.approx(2 * t[0], rel=1e-2)


def test_a_direction_without_information_is_seen_in_every_coefficient_that_has_a_part_in_it():
    rng = np.random.default_rng(1)
    n = 2000
    m = rng.normal(size=(n, 2))
    m[:, 1] = m[:, 0] + 0.001 * m[:, 1]
    noise = rng.normal(size=(n, 2, 2))
    a = np.einsum("ip,iq->ipq", m, m) + noise + noise.swapaxes(1, 2)
    hessian = a.mean(axis=0) + 0.2 * np.eye(2)
    along = following(hessian, np.eye(2), np.ones(2))
    t = strength(family_of(np.zeros((n, 2)), a), np.zeros(2), np.ones(1), along, n)
    assert (t < 7).all()
    alone = strength(family_of(np.zeros((n, 2)), a), np.zeros(2), np.ones(1), np.eye(2), n)
    assert (alone > 7).all()  # the control: each by itself stands out


def fieller(b, a, level=0.95):
    """Values of theta with n mean(b + a theta)^2 <= q var(b + a theta): a quadratic inequality."""
    n, q = len(b), quantile(level)
    ma, mb = a.mean(), b.mean()
    caa, cab, cbb = a.var(), ((a - ma) * (b - mb)).mean(), b.var()
    p2, p1, p0 = n * ma**2 - q * caa, 2 * (n * ma * mb - q * cab), n * mb**2 - q * cbb
    if p2 <= 0:
        return -np.inf, np.inf
    root = (p1**2 - 4 * p2 * p0) ** 0.5
    return (-p1 - root) / (2 * p2), (-p1 + root) / (2 * p2)


@pytest.mark.parametrize("strong", [1.0, 2.5, 4.0, 10.0])
def test_sets_of_one_affine_score_are_fiellers(strong):
    rng = np.random.default_rng(int(10 * strong))
    b, a = instrumented(rng, 400, strong)
    q = criterion(combined(b, a), np.zeros(1), np.eye(1), 1000)
    assert isinstance(q, Affine)
    estimate = -b.mean() / a.mean()
    error = (b[:, 0] + a[:, 0, 0] * estimate).std() / 400**0.5 / abs(a.mean())
    found = score_set(q, Space(np.array([estimate]), np.array([[error]])), np.ones(1), seen=False)
    expected = fieller(b[:, 0], a[:, 0, 0])
    assert np.isfinite(found.interval(0.95)).all() == np.isfinite(expected).all()
    if np.isfinite(expected).all():
        assert found.interval(0.95) == pytest.approx(expected, abs=0.01 * (expected[1] - expected[0]))


def profiled(b, a, power=1.0, start=None):
    """Estimate, standard errors and profile scores of `b_i + A_i theta`, its zero by Newton."""
    n, p = b.shape
    theta = -np.linalg.solve(a.mean(axis=0), b.mean(axis=0)) if start is None else start
    inner = a @ theta
    scores = b + np.sign(inner) * np.abs(inner) ** power
    v = (power * np.abs(inner) ** (power - 1))[:, :, None] * a if power != 1 else a
    inverse = np.linalg.inv(v.mean(axis=0))
    errors = np.sqrt(np.diag(inverse @ np.cov(scores.T, bias=True).reshape(p, p) @ inverse.T) / n)
    at = Expansion(theta, v.mean(axis=0))
    return errors, profile_scores(combined(b, a, power), at, np.eye(p), errors, n, mean=None)


@pytest.mark.parametrize("strong", [1.0, 2.2, 4.0, 10.0])
def test_closed_sets_of_one_affine_score_are_fiellers(strong):
    rng = np.random.default_rng(int(10 * strong))
    b, a = instrumented(rng, 400, strong)
    errors, found = profiled(b, a)
    assert found.affine.all()
    t = a.mean() / (a.std() / 399**0.5)
    assert found.strength[0] == pytest.approx(t)
    ends, expected = found.sets(errors)[0].interval(0.95), fieller(b[:, 0], a[:, 0, 0])
    assert np.isinf(ends).any() == np.isinf(expected).any() == (abs(t) < 1.96)
    if np.isfinite(expected).all():
        assert ends == pytest.approx(expected, abs=0.005 * (expected[1] - expected[0]))
        assert found.sets(errors)[0].pvalue(ends[0]) == pytest.approx(0.05, abs=0.001)


def weak_nuisance(rng, n):
    """Two coefficients, both 1, of strengths about 40 and 1.5; the second's errors go with its curvature."""
    x, a = rng.normal(size=n), np.zeros((n, 2, 2))
    a[:, 0, 0], a[:, 0, 1] = 1 + 0.5 * rng.normal(size=n), 0.7 * x
    a[:, 1, 0] = a[:, 0, 1]
    wild = rng.normal(size=n)
    a[:, 1, 1] = 1.5 / n**0.5 + wild
    return -a @ np.ones(2) + np.stack([rng.normal(size=n), 0.1 * rng.normal(size=n) - 0.9 * wild], axis=1), a


def test_closed_sets_hold_with_a_weak_nuisance_and_wald_does_not():
    """400 samples, so that 95% is known to 1.1%; sets of the strong coefficient mostly have ends."""
    rng = np.random.default_rng(14)
    covered, ends, wald = [], [], []
    for _ in range(400):
        errors, found = profiled(*weak_nuisance(rng, 400))
        intervals = np.array([each.interval(0.95) for each in found.sets(errors)])
        covered.append((intervals[:, 0] <= 1) & (intervals[:, 1] >= 1))
        ends.append(np.isfinite(intervals).all(axis=1))
        wald.append(abs(found.centre[1] - 1) <= 1.96 * errors[1])
    assert (np.mean(covered, axis=0) > 0.95 - 4 * 0.011).all()
    assert np.mean(ends, axis=0)[0] > 0.75
    assert np.mean(wald) < 0.91  # the control


def test_closed_sets_of_scores_that_bend_are_near_those_by_passes():
    rng = np.random.default_rng(15)
    a = (1 + rng.normal(size=400))[:, None, None]
    b = -np.sign(a[:, 0]) * np.abs(a[:, 0]) ** 1.5 + rng.normal(size=(400, 1))
    theta = np.ones(1)
    for _ in range(20):
        inner = a[:, 0] @ theta
        score, slope = b[:, 0] + np.sign(inner) * np.abs(inner) ** 1.5, 1.5 * np.abs(inner) ** 0.5 * a[:, 0, 0]
        theta = theta - score.mean() / slope.mean()
    errors, found = profiled(b, a, 1.5, theta)
    assert not found.affine.any()
    q = ByPasses(combined(b, a, 1.5), 1000)
    by_passes = score_set(q, Space(theta, np.diag(errors)), np.ones(1), seen=True).interval(0.95)
    assert found.sets(errors)[0].interval(0.95) == pytest.approx(by_passes, abs=0.03 * errors[0])


def test_scores_that_bend_are_had_by_passes_and_agree_where_they_do_not():
    rng = np.random.default_rng(5)
    b, a = instrumented(rng, 400, 5.0)
    bent = criterion(combined(b, a, 1.5), np.ones(1), np.eye(1), 1000)
    assert isinstance(bent, ByPasses)
    affine = criterion(combined(b, a), np.zeros(1), np.eye(1), 1000)
    passes = ByPasses(combined(b, a), 1000)
    for theta in ([0.3], [-4.0]):
        assert affine(np.array(theta)) == pytest.approx(passes(np.array(theta)), rel=1e-9)


def test_sets_that_others_follow_are_wald_intervals_of_a_strong_fit_and_wider_of_a_weak_one():
    """Two coefficients, affine scores: by a closed form the set of the first is Fieller's once the second follows."""
    rng = np.random.default_rng(10)
    n = 2000
    a = np.array([[2.0, 0.8], [0.8, 1.0]]) + 0.5 * rng.normal(size=(n, 1, 1)) * np.eye(2)
    b = rng.normal(size=(n, 2))
    v = a.mean(axis=0)
    theta = -np.linalg.solve(v, b.mean(axis=0))
    scores = b + a @ theta
    cov = np.linalg.inv(v) @ np.cov(scores.T) @ np.linalg.inv(v).T / n
    space = Space(theta, np.linalg.cholesky(cov))
    first = np.array([1.0, 0.0])
    profile = Followed(ByPasses(combined(b, a), 1000), v, *space.across(first), theta)
    low, high = scanned(profile, first, seen=True).interval(0.95)
    half = 1.96 * cov[0, 0] ** 0.5
    assert (low, high) == pytest.approx((theta[0] - half, theta[0] + half), abs=0.1 * half)
    wrong = Followed(ByPasses(combined(b, a), 1000), np.diag(np.diag(v)), *space.across(first), theta)
    assert scanned(wrong, first, seen=True).interval(0.95)[1] - theta[0] != pytest.approx(half, rel=0.1)


def test_a_budget_that_runs_out_leaves_the_whole_line():
    rng = np.random.default_rng(6)
    b, a = instrumented(rng, 400, 5.0)
    few = ByPasses(combined(b, a), 3)
    assert score_set(few, Space(np.zeros(1), np.eye(1)), np.ones(1), seen=True).interval(0.95) == (-np.inf, np.inf)


def test_sets_cover_with_a_weak_nuisance_and_wald_does_not():
    """Two coefficients of which one is hardly identified: 300 samples, so that 95% is known to 1.3%.

    Their errors are correlated with the curvature, which is what spoils Wald's.
    """
    rng = np.random.default_rng(7)
    reps, n, covered, wald = 300, 400, 0, 0
    for _ in range(reps):
        b, a = weak_nuisance(rng, n)
        truth = np.ones(2)
        hessian = a.mean(axis=0)
        estimate = -np.linalg.solve(hessian, b.mean(axis=0))
        inverse = np.linalg.inv(hessian)
        cov = inverse @ np.cov((b + a @ estimate).T) @ inverse.T / n
        values, vectors = np.linalg.eigh(cov)
        q = criterion(combined(b, a), estimate, np.diag(np.sqrt(np.diag(cov))), 0)
        space = Space(estimate, vectors * np.sqrt(values))
        low, high = score_set(q, space, np.array([0.0, 1.0]), seen=False).interval(0.95)
        covered += low <= truth[1] <= high
        wald += abs(estimate[1] - truth[1]) <= 1.96 * cov[1, 1] ** 0.5
    assert covered / reps > 0.95 - 4 * 0.013
    assert wald / reps < 0.91  # the control: 0.865 over 2000 samples


def test_places_and_distance():
    assert places((np.array([0, 2]), np.array([1]))).tolist() == [0, 4, 2]
    assert distance(10, np.zeros(1), np.zeros((1, 1))) in {0.0, np.inf}
    assert distance(10, np.ones(2), np.ones((2, 2))) == np.inf


@pytest.mark.parametrize("wrong", [([1.0, 0.0], [1, 1]), ([0.0], [np.nan]), ([0.0], [-1.0]), ([np.inf], [1.0])])
def test_what_is_no_score_set(wrong):
    with pytest.raises(vdp.errors.ParameterError):
        ScoreSet.read(wrong)


class Members(Form):
    """A form of two members, one of whose scores are as given and the other's 0."""

    names = ("one", "other")
    points = 1

    def __init__(self, scores):
        self.scores = np.stack([scores, np.zeros_like(scores)], axis=1)

    def prepare(self, records, rng):
        return None

    def evaluate(self, prepared, theta, mix, *, hessian):
        return np.einsum("gm,nmp->ngp", mix, self.scores), np.zeros((self.scores.shape[2],) * 2)


def contrasted(scores):
    n, p = scores.shape
    return contrast_test(Family((Members(scores),), Nowhere(n), p, vdp.engine.Serial(), 0), np.zeros(p))


def test_the_statistic_of_contrasts_has_its_size():
    rng = np.random.default_rng(8)
    root = rng.normal(size=(4, 4))
    found = []
    for _ in range(500):
        g = rng.normal(size=(300, 4)) @ root
        g = np.column_stack([g, g[:, 0]])  # one contrast twice
        value, df = contrasted(g)
        assert df == 4
        assert len(directions(np.cov(g.T))) == 4
        found.append(value > 9.488)
    assert abs(np.mean(found) - 0.05) < 4 * (0.05 * 0.95 / 500) ** 0.5


def test_a_contrast_that_hangs_on_few_records_is_none():
    """What many records carry is tested by its t; what five of a thousand carry is not, however far it is from 0."""
    many, few = np.random.default_rng(8).normal(size=(1000, 1)), np.zeros((1000, 1))
    few[:5] = 100.0
    value, df = contrasted(many)
    assert df == 1
    assert value == pytest.approx(1000 * many.mean() ** 2 / many.var())
    assert contrasted(few) is None


def test_a_release_that_tells_nothing_is_weak_and_says_so():
    rng = np.random.default_rng(9)
    x = rng.uniform(-1, 1, 1000)
    table = pa.table({"x": x, "y": x + rng.normal(size=1000)})
    schema = vdp.Schema({"x": vdp.Bounded(-1, 1), "y": vdp.Public()})
    lost = vdp.Mechanism(schema, scale=5.0, exact_rate=0.01).release(table, insecure_seed=1)
    found = vdp.fit(lost, "y ~ x")
    assert (found.outcome, found.converged, found.answered) == ("weak", False, True)
    assert found.trust.strength["x"] < 7
    ends = found.conf_int()["x"]
    assert ends[0] <= 1 <= ends[1]
    assert np.isinf(ends).any() or ends[1] - ends[0] > 0.5
    assert "Weak" in str(found.summary())
    for ask in (lambda: found.predict({"x": 0.0}), lambda: found.wald_test("x"), lambda: found.conf_int(kind="wald")):
        with pytest.raises(vdp.errors.EstimationError, match="weak"):
            ask()
    good = vdp.Mechanism(schema, scale=0.1, exact_rate=0.2).release(table, insecure_seed=1)
    assert vdp.fit(good, "y ~ x").converged
