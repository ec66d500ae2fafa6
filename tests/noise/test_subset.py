"""A random subset of columns per record: its law by counting words, its inverse by enumeration, what it refuses."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import chi2

import versadp as vdp
from versadp.errors import DataError, ParameterError
from versadp.fitting.methods import closed_now
from versadp.fitting.models import make_problem
from versadp.losses import as_loss
from versadp.noise import How, Subset, Window
from versadp.noise.subset import drawn_subset
from versadp.noise.terms import SeparableTerms
from versadp.noise.window_law import kept_words, odds, worst_ratio
from versadp.schema import Bounded, Categorical, Dates

KEY = bytes(range(50, 82))
SIZES = {"a": (2, 2), "b": (3, 1), "c": (1, 3), "d": (2, 1)}  # last lattice point and window


def block_on(names, given, epsilon=2.0):
    columns = {name: Bounded(0, SIZES[name][0], step=1) for name in names}
    return Subset(epsilon, given, *({name: SIZES[name][k] for name in names} for k in (0, 1))).on(columns)


# the law, exactly ----------------------------------------------------------------------------------------------------


def subset_law(among, count, words):
    """Probability of each set of columns, by counting all words."""
    law = {}
    for us in itertools.product(range(words), repeat=count):
        given = set()
        for i, u in enumerate(us):
            place = u * (among - count + i + 1) // words
            given.add(among - count + i if place in given else place)
        law[frozenset(given)] = law.get(frozenset(given), 0) + Fraction(1, words**count)
    return law


def record_law(block, record, kept, words):
    """Probability of each subset with its outputs."""
    law = {}
    for given, chance in subset_law(block.among, block.given, words).items():
        places = sorted(given)
        near, far = [], []
        for j in places:
            (m, w), n = SIZES[block.columns[j]], block.outputs[j]
            assert n == m + w
            near.append({})
            far.append({})
            for u in range(words):
                z, y = record[j] + u * w // words, u * n // words
                near[-1][z] = near[-1].get(z, 0) + Fraction(1, words)
                far[-1][y] = far[-1].get(y, 0) + Fraction(1, words)
        for z in itertools.product(*far):
            one = math.prod(law_of.get(at, 0) for law_of, at in zip(near, z, strict=True))
            two = math.prod(law_of[at] for law_of, at in zip(far, z, strict=True))
            seen = tuple(zip(places, z, strict=True))
            law[seen] = chance * (Fraction(kept, words) * one + Fraction(words - kept, words) * two)
    return law


@pytest.mark.parametrize(("names", "given"), [("abc", 2), ("abc", 1), ("bcd", 2)])
@pytest.mark.parametrize("words", [24, 19])
def test_pure_epsilon_by_counting_every_word(names, given, words):
    """All records, subsets and outputs, in fractions; one word more that keeps would be too many."""
    block, epsilon = block_on(names, given), 1.0
    kept = kept_words(*block.hardest, epsilon, words=words)
    records = list(itertools.product(*(range(SIZES[name][0] + 1) for name in names)))
    laws = [record_law(block, record, kept, words) for record in records]
    assert all(sum(law.values()) == 1 for law in laws)
    worst = max(one[z] / two[z] for one in laws for two in laws for z in one)
    assert worst <= worst_ratio(*block.hardest, kept, words=words) <= 1 + odds(epsilon)
    assert worst_ratio(*block.hardest, kept + 1, words=words) > 1 + odds(epsilon)


def test_the_coin_of_the_columns_that_hide_most_would_keep_too_many():
    """The negative control: all subsets have one coin, and that of the easiest breaks the guarantee of the hardest."""
    block, epsilon, words = block_on("acd", 2), 1.0, 19
    shares = sorted(range(3), key=lambda j: block.window[j] / block.outputs[j])[-2:]
    easiest = [tuple(sizes[j] for j in shares) for sizes in (block.window, block.outputs)]
    kept = kept_words(*easiest, epsilon, words=words)
    records = itertools.product(*(range(SIZES[name][0] + 1) for name in "acd"))
    laws = [record_law(block, record, kept, words) for record in records]
    assert max(one[z] / two[z] for one in laws for two in laws for z in one) > 1 + odds(epsilon)


@pytest.mark.parametrize(("among", "count"), [(3, 1), (4, 2), (5, 3)])
def test_every_subset_is_drawn_equally_often(among, count):
    """Words in the middle of 60 equal parts: each subset has its share exactly."""
    parts = (np.arange(60, dtype=float) + 0.5) / 60 * 2.0**64
    words = np.array(list(itertools.product(parts.astype(np.uint64), repeat=count)), np.uint64).T
    found, often = np.unique(drawn_subset(words, among), axis=1, return_counts=True)
    assert found.shape[1] == math.comb(among, count)
    assert (found.sum(axis=0) == count).all()
    assert (often == words.shape[1] / math.comb(among, count)).all()


def test_the_release_has_this_law():
    """χ² over all subsets and outputs at 1e-6; a coin that keeps 5% more is rejected."""
    n, schema = 60_000, vdp.Schema({name: Bounded(0, SIZES[name][0], step=1) for name in "abc"})
    block = block_on("abc", 2)
    mechanism = vdp.Mechanism(schema, noise={tuple("abc"): block.spec})
    frame = pd.DataFrame({"a": np.full(n, 1.0), "b": np.full(n, 3.0), "c": np.full(n, 0.0)})
    out = mechanism.release(frame, key=KEY, shuffle=False).frame
    places = block.places(out.to_numpy(dtype=float).T)
    codes = np.where(np.isnan(places), 9, places).T.astype(int)
    found, often = np.unique(codes, axis=0, return_counts=True)

    def statistic(keep):
        expected = {}
        for given in itertools.combinations(range(3), 2):
            for z in itertools.product(*(range(block.outputs[j]) for j in given)):
                inside = all(
                    (1, 3, 0)[j] <= at < (1, 3, 0)[j] + block.window[j] for j, at in zip(given, z, strict=True)
                )
                likely = inside / math.prod(block.window[j] for j in given)
                even = 1 / math.prod(block.outputs[j] for j in given)
                key = [9, 9, 9]
                for j, at in zip(given, z, strict=True):
                    key[j] = at
                expected[tuple(key)] = n / 3 * (keep * likely + (1 - keep) * even)
        assert {tuple(each) for each in found} <= set(expected)
        seen = dict(zip(map(tuple, found), often, strict=True))
        return sum((seen.get(key, 0) - mean) ** 2 / mean for key, mean in expected.items()), len(expected) - 1

    value, freedom = statistic(block.keep)
    assert value < chi2.isf(1e-6, freedom)
    assert statistic(1.05 * block.keep)[0] > chi2.isf(1e-6, freedom)


def test_words_of_a_record_stay_what_they_are():
    """A known answer: the words, the draw of the subset and the order of its columns belong to the format."""
    mechanism = vdp.Mechanism(
        vdp.Schema({name: Bounded(0, SIZES[name][0], step=1) for name in "abc"}),
        noise={tuple("abc"): block_on("abc", 2).spec},
    )
    table = pa.table({"a": [0.0, 1.0, 2.0], "b": [3.0, 0.0, 1.0], "c": [0.0, 1.0, 1.0]})
    out = mechanism.release(table, key=KEY, shuffle=False).frame
    assert [tuple(row.values()) for row in out.to_pylist()] == KNOWN
    assert mechanism.privatize({"a": 1.0, "b": 2.0, "c": 0.0}, key=KEY) == KNOWN_RECORD


KNOWN = [(2.5, 3.0, None), (0.5, None, 1.0), (1.5, None, 0.0)]
KNOWN_RECORD = {"a": -0.5, "b": None, "c": 0.0}


# the inverse ---------------------------------------------------------------------------------------------------------


def outputs(block, record, keep):
    """All that a record may become, in the columns' own units, with probabilities."""
    released, chance = [], []
    subsets = list(itertools.combinations(range(block.among), block.given))
    for given in subsets:
        for z in itertools.product(*(range(block.outputs[j]) for j in given)):
            row = np.full(block.among, np.nan)
            row[list(given)] = z
            inside = all(record[j] <= at < record[j] + block.window[j] for j, at in zip(given, z, strict=True))
            likely = inside / math.prod(block.window[j] for j in given)
            even = 1 / math.prod(block.outputs[j] for j in given)
            released.append(row)
            chance.append((keep * likely + (1 - keep) * even) / len(subsets))
    released = np.array(released).T
    block.to_values(released)
    return released, np.array(chance)


def records_of(block):
    return itertools.product(*(range(last + 1) for last in block.last))


def worst_bias(block, terms, truth, keep):
    off = 0.0
    for record in records_of(block):
        released, chance = outputs(block, record, keep)
        off = max(off, float(np.abs(chance @ block.undo(terms, released) - truth(record)).max()))
    return off


def test_products_of_as_many_columns_as_are_given_are_undone():
    """Exactly, by enumeration: of one, two and three of four columns; the control has another coin."""
    block, rng = block_on("abcd", 3), np.random.default_rng(5)
    functions = {
        name: np.column_stack([np.ones(SIZES[name][0] + 1), rng.normal(size=(SIZES[name][0] + 1, 2))])
        for name in "abcd"
    }
    at = np.array([[1, 0, 0, 0], [0, 2, 0, 0], [1, 2, 0, 0], [0, 1, 0, 2], [2, 1, 1, 0], [0, 2, 1, 1], [0, 0, 0, 0]])
    terms = SeparableTerms(functions, {name: at[:, j] for j, name in enumerate("abcd")})

    def truth(record):
        return [math.prod(functions[n][x, k] for n, x, k in zip("abcd", record, row, strict=True)) for row in at]

    assert worst_bias(block, terms, truth, block.keep) < 1e-10
    assert worst_bias(block, terms, truth, 0.9 * block.keep) > 1e-3
    too_many = SeparableTerms(functions, {name: np.array([1]) for name in "abcd"})
    with pytest.raises(ParameterError, match="a term here needs 4"):
        block.undo(too_many, outputs(block, (0, 0, 0, 0), block.keep)[0])


def test_signed_points_are_unbiased():
    """Of a part of two columns without windows, whose points are all outputs: nothing is drawn."""
    whole = block_on("abcd", 2)
    part, rng = whole.part({"b", "d"}), np.random.default_rng(0)
    g = rng.normal(size=(4, 3))
    for record in records_of(whole):
        released, chance = outputs(whole, record, whole.keep)
        points = part.points(released[[1, 3]], rng, How())
        b, d = (points.columns[name] for name in "bd")
        there = ~np.isnan(b) & ~np.isnan(d)
        value = points.weight[there] * g[b[there].astype(int), d[there].astype(int)]
        found = np.bincount(points.record[there], value, chance.size) @ chance
        assert found == pytest.approx(g[record[1], record[3]], abs=1e-10)
    with pytest.raises(ParameterError, match="at most 2"):
        whole.points(released, rng, How())


COLUMNS = {
    "a": Bounded(0, 2, step=1),
    "b": Bounded(0, 3, step=1),
    "g": Categorical(["u", "v", "w"]),
    "y": Bounded(0, 2, step=1),
}
TRUE = {"a": [0, 1, 2, 2, 0, 1, 1], "b": [3, 0, 1, 2, 2, 0, 3], "g": [0, 1, 2, 0, 1, 2, 2], "y": [0, 2, 1, 2, 0, 2, 1]}
PUBLIC = [0.3, -1.0, 2.0, 0.5, 1.0, 1.4, -0.6]


def every_output(keep=None, given=2):
    """A release of all that seven records may become, and weights: what is linear in probabilities is exact."""
    block = Subset(4.0, given, {"a": 2, "b": 3, "y": 2}, {"a": 2, "b": 1, "y": 3}).on(COLUMNS)
    mechanism = vdp.Mechanism(vdp.Schema(COLUMNS | {"p": vdp.Public()}), noise={tuple(COLUMNS): block.spec})
    rows, weights, public = [], [], []
    for record, p in zip(zip(*TRUE.values(), strict=True), PUBLIC, strict=True):
        released, chance = outputs(block, record, keep or block.keep)
        rows.append(released)
        weights.append(chance)
        public.append(np.full(chance.size, p))
    values = dict(zip(COLUMNS, np.concatenate(rows, axis=1), strict=True))
    table = {n: pa.array(v, mask=np.isnan(v)) for n, v in values.items() if n != "g"}
    codes = values["g"]
    levels = np.array(["u", "v", "w"])[np.nan_to_num(codes).astype(int)]
    table |= {"g": pa.array(levels, mask=np.isnan(codes)), "p": np.concatenate(public)}
    order = [*COLUMNS, "p"]
    release = vdp.Release.from_frame(pa.table({n: table[n] for n in order}), mechanism, on_grid=False)
    return release, np.concatenate(weights)


def least_squares(*columns, y):
    design = np.column_stack([np.ones(7), *columns])
    return np.linalg.lstsq(design, np.asarray(y, dtype=float), rcond=None)[0]


def true_model(formula):
    a, b, g, y, p = (np.array(each, dtype=float) for each in (*TRUE.values(), PUBLIC))
    v, w = (g == 1).astype(float), (g == 2).astype(float)
    return {
        "y ~ a + b": least_squares(a, b, y=y),
        "y ~ b + C(g)": least_squares(v, w, b, y=y),
        "p ~ a + b + C(g)": least_squares(v, w, a, b, y=p),
        "y ~ p + a": least_squares(p, a, y=y),
        "p ~ I(b**2) + a": least_squares(b**2, a, y=p),
    }[formula]


@pytest.mark.parametrize("formula", ["y ~ a + b", "y ~ b + C(g)", "p ~ a + b + C(g)", "y ~ p + a", "p ~ I(b**2) + a"])
def test_least_squares_uses_every_pair_that_a_record_gives(formula):
    """All outputs with their probabilities give the fit of the true records, of more columns than a record gives."""
    want = true_model(formula)
    right, wrong = (solved(*every_output(keep), formula) for keep in (None, 0.6))
    assert np.sort(right) == pytest.approx(np.sort(want), abs=1e-8)
    assert np.abs(np.sort(wrong) - np.sort(want)).max() > 1e-3  # the control: another coin


def solved(release, weights, formula):
    """The root of the corrected score, which is linear in the coefficients."""
    problem = make_problem(release, formula, as_loss("squared"), weights, None)
    form = closed_now(problem)
    (records,) = problem.source.lots
    zero = np.zeros(problem.model.size)
    score, hessian = form.evaluate(form.prepare(records, np.random.default_rng(0)), zero, np.ones((1, 1)), hessian=True)
    return problem.to_user(-np.linalg.solve(hessian, score.sum(axis=(0, 1))), hessian)[0]


def test_a_model_of_more_columns_than_are_given_is_refused_before_anything_is_fitted():
    release, _ = every_output()
    for formula, loss in (("y ~ a + b", "huber"), ("y ~ a + C(g)", "check")):
        with pytest.raises(ParameterError, match="each record gives 2 of 4 private columns, and a term here needs 3"):
            vdp.fit(release, formula, loss=loss)
    with pytest.raises(ParameterError, match="needs 3"):
        vdp.table(release, "a", "b", "g")


def test_tables_count_all_people():
    """Of all outputs as often as they are likely: counts of all records, by records that give the columns."""
    schema = vdp.Schema({"g": Categorical(["u", "v"]), "h": Categorical(["x", "y", "z"]), "b": Bounded(0, 3, step=1)})
    mechanism = vdp.Mechanism(schema, noise={("g", "h", "b"): Subset(8.0, 2)})
    rng, n = np.random.default_rng(1), 30_000
    g, h = rng.integers(0, 2, n), rng.integers(0, 3, n)
    table = pa.table(
        {"g": np.array(["u", "v"])[g], "h": np.array(["x", "y", "z"])[h], "b": rng.integers(0, 4, n) / 1.0}
    )
    release = mechanism.release(table, key=KEY)
    found = vdp.table(release, "g", "h")
    for level, other in itertools.product("uv", "xyz"):
        cell = found.cell(level, other).count
        true = int(((g == "uv".index(level)) & (h == "xyz".index(other))).sum())
        assert abs(cell.value - true) < 5 * cell.error
        assert cell.error < true / 10
    described = vdp.describe(release)
    assert described["g"].shares["u"].value == pytest.approx((g == 0).mean(), abs=0.03)
    assert "missing" not in str(described)


# what it refuses, and says -------------------------------------------------------------------------------------------


def small_release(n=4000):
    schema = vdp.Schema({name: Bounded(0, SIZES[name][0], step=1) for name in "abc"})
    mechanism = vdp.Mechanism(schema, noise={tuple("abc"): block_on("abc", 2).spec})
    rng = np.random.default_rng(3)
    table = pa.table({name: rng.integers(0, SIZES[name][0] + 1, n).astype(float) for name in "abc"})
    return table, mechanism, mechanism.release(table, key=KEY).frame


def test_what_is_not_given_is_null_and_comes_back(tmp_path):
    _, mechanism, frame = small_release()
    assert all(sum(value is None for value in row.values()) == 1 for row in frame.to_pylist())
    release = vdp.Release.from_frame(frame, mechanism)
    release.save(tmp_path / "out")
    again = vdp.load(tmp_path / "out")
    assert again.mechanism == mechanism
    assert again.frame.to_pylist() == frame.to_pylist()
    assert vdp.Mechanism.from_json(mechanism.to_json()) == mechanism


def test_changed_and_raw_tables_are_refused():
    raw, mechanism, frame = small_release()
    first = [0.5 if value is None else value for value in frame["a"].to_pylist()]
    filled = frame.set_column(0, "a", pa.array(first))
    with pytest.raises(DataError, match="do not give 2 of"):
        vdp.Release.from_frame(filled, mechanism)
    with pytest.raises(DataError, match="never gives"):
        vdp.Release.from_frame(raw, mechanism)
    chosen = frame.filter(pa.array([a is not None or k % 3 == 0 for k, a in enumerate(frame["a"].to_pylist())]))
    with pytest.raises(DataError, match="which chance excludes"):
        vdp.Release.from_frame(chosen, mechanism)


def test_no_blanket_is_claimed_where_windows_are_wide():
    """The proof for a shuffle is of windows with at most half of the outputs: others have a report's epsilon alone."""
    wide = Subset(2.0, 1, 4, {"a": 9, "b": 1}).on({"a": Bounded(0, 4, step=1), "b": Bounded(0, 4, step=1)})
    assert wide.blanket() is None
    assert block_on("abc", 2).blanket() is not None
    schema = vdp.Schema({"a": Bounded(0, 4, step=1), "b": Bounded(0, 4, step=1)})
    mechanism = vdp.Mechanism(schema, noise={("a", "b"): wide.spec})
    assert 0 < mechanism.privacy("record", shuffled=1000).delta(0.5) < 0.01


def test_unserved_columns_are_refused():
    one = Bounded(0, 1)
    with pytest.raises(ParameterError, match="a record cannot give 2 of 2"):
        Subset(2.0, 2).on({"a": one, "b": one})
    with pytest.raises(ParameterError, match="whose values may be missing: 'b'"):
        Subset(2.0, 2).on({"a": one, "b": Bounded(0, 1, nullable=True), "c": one})
    days = {"d": Dates("2020-01-01", "2020-12-31"), "a": one, "b": one}
    assert "d" in Subset(2.0, 2).on(days).whole


def test_the_statement_and_the_plan_say_it():
    mechanism = small_release()[1]
    assert mechanism.statement().startswith("Each record gives 2 of 3 columns, drawn from its secret words")
    assert mechanism.blocks[0].facts(None)["a + b + c: given by a record"] == "2 of 3"


def test_the_audit_passes_and_finds_a_subset_that_depends_on_values(monkeypatch):
    mechanism = small_release()[1]
    assert vdp.audit(mechanism, n=20_000).passed
    block = type(mechanism.blocks[0])
    plain = block.add_noise

    def faulty(self, content, words):
        words = words.copy()
        words[-self.given :, content[0] == self.last[0]] //= 2  # early columns are given more often
        plain(self, content, words)

    monkeypatch.setattr(block, "add_noise", faulty)
    assert not vdp.audit(mechanism, n=20_000).passed


# how it is chosen ----------------------------------------------------------------------------------------------------


def columns(count):
    return vdp.Schema({f"x{j}": Bounded(0, 1) for j in range(count)})


def test_calibrate_takes_subsets_of_many_columns_under_a_shuffle():
    goal = {"epsilon": 1.0, "delta": 1e-6, "shuffled": 100_000}
    mechanism = vdp.calibrate(columns(16), **goal)
    (block,) = mechanism.blocks
    assert isinstance(block.spec, Subset)
    assert block.given >= 4
    assert 0.9e-6 < mechanism.privacy("record", shuffled=100_000).delta(1.0) <= 1e-6
    assert vdp.calibrate(columns(16), **goal, columns_per_term=None).blocks[0].spec.name == "window"
    assert vdp.calibrate(columns(6), **goal).blocks[0].spec.name == "window"  # gains less than a tenth


def test_devices_get_windows_unless_they_ask():
    assert vdp.calibrate(columns(16), epsilon=4).blocks[0].spec.name == "window"
    assert isinstance(vdp.calibrate(columns(16), epsilon=4, columns_per_term=3).blocks[0].spec, Subset)
    from versadp.devices.fingerprint import fingerprint

    with pytest.raises(ParameterError, match="columns_per_term"):
        fingerprint(vdp.calibrate(columns(16), epsilon=4, columns_per_term=3))


@pytest.mark.parametrize(
    ("epsilon", "count", "given", "figure"), [(4.0, 8, 4, 5.2), (4.0, 12, 4, 7.0), (8.0, 20, 6, 4.1)]
)
def test_the_criterion_is_that_of_the_decision(epsilon, count, given, figure):
    """`docs/decisions/0009-random-subsets.md`, within a twelfth: windows are by the general rule."""
    from versadp.release.target.layouts import Given, layout_cost

    mechanism = vdp.calibrate(columns(count), epsilon=epsilon, groups=Given(columns(count).private, given))
    even = 1 / math.sqrt(12)
    assert layout_cost(mechanism, even) == pytest.approx(figure, rel=1 / 12)
    joint = vdp.calibrate(columns(count), epsilon=epsilon, columns_per_term=None)
    assert layout_cost(joint, even) > 1.3 * layout_cost(mechanism, even)
    assert isinstance(joint.blocks[0].spec, Window)
