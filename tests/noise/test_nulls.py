"""Missing values under noise: the law in whole numbers by enumeration, the law that is sampled, the inverse."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, kstest

import versadp as vdp
from versadp.errors import ParameterError
from versadp.noise import How, Response, Window, ZeroInflated
from versadp.noise.cost import missing_inflation
from versadp.noise.window_inverse import window_points
from versadp.noise.window_law import WORDS, kept_words, odds, worst_ratio
from versadp.schema import Bounded, Categorical, Dates
from versadp_tests.outputs import kept_outputs
from versadp_tests.strangers import Lottery

KEY = bytes(range(50, 82))
MISSING = "missing"


# the law, exactly ----------------------------------------------------------------------------------------------------


def column_law(x, last, window, unseen, words):
    """What a kept and a redrawn value are released as: shares of words, by counting them all."""
    outputs, middle = last + window + unseen, (last + unseen) // 2
    kept, drawn = {}, {}
    for u in range(words):
        at = u * window // words
        near = (MISSING if at < unseen else middle + at - unseen) if x == MISSING else x + at
        far = u * outputs // words
        far = MISSING if far >= last + window else far
        kept[near] = kept.get(near, 0) + Fraction(1, words)
        drawn[far] = drawn.get(far, 0) + Fraction(1, words)
    return kept, drawn


def record_law(record, lattice, kept, words):
    """Probabilities of all released records of one record."""
    columns = [column_law(x, *sizes, words) for x, sizes in zip(record, lattice, strict=True)]
    law = {}
    for coin, side in ((Fraction(kept, words), 0), (Fraction(words - kept, words), 1)):
        for z in itertools.product(*(column[side] for column in columns)):
            share = coin * math.prod(column[side][value] for column, value in zip(columns, z, strict=True))
            law[z] = law.get(z, 0) + share
    return law


def all_laws(lattice, kept, words):
    every = itertools.product(*([*range(m + 1), *([MISSING] if unseen else [])] for m, _, unseen in lattice))
    return [record_law(x, lattice, kept, words) for x in every]


def block_on(lattice, epsilon):
    names = [f"x{j}" for j in range(len(lattice))]
    columns = {n: Bounded(0, m, nullable=unseen > 0) for n, (m, _, unseen) in zip(names, lattice, strict=True)}
    cells, window, unseen = ({n: each[k] for n, each in zip(names, lattice, strict=True)} for k in (0, 1, 2))
    missing = {name: places for name, places in unseen.items() if places}
    return Window(epsilon=epsilon, cells=cells, window=window, missing=missing).on(columns)


LATTICES = [  # last lattice point, window, outputs that show a missing value
    [(4, 1, 1)],
    [(6, 3, 3)],
    [(6, 3, 2)],
    [(1, 5, 5)],
    [(1, 5, 1)],
    [(6, 5, 2)],
    [(2, 2, 2), (3, 1, 0)],
    [(2, 3, 2), (2, 1, 1)],
    [(2, 3, 2), (3, 2, 1)],
]


@pytest.mark.parametrize("lattice", LATTICES, ids=str)
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
@pytest.mark.parametrize("words", [64, 101])
def test_pure_epsilon_by_counting_every_word(lattice, epsilon, words):
    """All records, missing ones too, and all that is released; exact fractions. One word more would be too many."""
    block = block_on(lattice, epsilon)
    kept = kept_words(block.window, block.outputs, epsilon, words=words)
    limit = 1 + odds(epsilon)
    laws = all_laws(lattice, kept, words)
    assert all(sum(law.values()) == 1 for law in laws)
    assert {frozenset(law) for law in laws} == {frozenset(laws[0])}
    worst = max(a[z] / b[z] for a in laws for b in laws for z in a)
    assert worst <= worst_ratio(block.window, block.outputs, kept, words=words) <= limit
    assert worst_ratio(block.window, block.outputs, kept + 1, words=words) > limit


def test_the_coin_of_a_column_without_missing_values_would_keep_too_many():
    """The negative control: a missing value with the weight of one output, or none, breaks the guarantee."""
    epsilon, words, (m, w) = 2.0, 1009, (6, 3)
    kept = kept_words((w,), (m + w,), epsilon, words=words)
    laws = all_laws([(m, w, w)], kept, words)
    assert max(a[z] / b[z] for a in laws for b in laws for z in a) > 1 + odds(epsilon)


def test_delta_by_counting_every_word():
    words, epsilon, delta, lattice = 1009, 1.0, 0.1, [(4, 3, 2)]
    block = block_on(lattice, epsilon)
    kept = kept_words(block.window, block.outputs, epsilon, delta, words=words)
    limit, laws = 1 + odds(epsilon), all_laws(lattice, kept, words)
    worst = max(sum(max(a[z] - limit * b[z], 0) for z in a) for a in laws for b in laws)
    assert Fraction(delta) - Fraction(8, words) < worst <= Fraction(delta)


def test_the_coin_is_the_one_of_theory():
    """κ = (E - 1) Π w / ((E - 1) Π w + Π n), n = m + w, and s more where a value may be missing."""
    block = Window(epsilon=3.0, cells=6, window=3, missing=2).on(
        {"x": Bounded(0, 6, nullable=True), "c": Categorical(["a", "b"], nullable=True), "d": Categorical([1, 2])}
    )
    assert block.outputs == (11, 3, 2)
    more = math.expm1(3.0) * 3
    assert block.kept / WORDS == pytest.approx(more / (more + 11 * 3 * 2), rel=1e-12)
    assert block.words == 4
    assert block.sampler_error == 0


# the law that is sampled ---------------------------------------------------------------------------------------------


SCHEMA = vdp.Schema({"x": Bounded(0, 6, nullable=True), "c": Categorical(["a", "b"], nullable=True)})
JOINT = vdp.Mechanism(SCHEMA, noise={("x", "c"): Window(epsilon=2.5, cells=6, window=3, missing="window")})
SHARED = vdp.Mechanism(SCHEMA, noise={("x", "c"): Window(epsilon=2.5, cells=6, window=3, missing=2)})
APART = vdp.Mechanism(SCHEMA, noise={"x": Window(epsilon=2.0, cells=6, window=3, missing=2), "c": Response(0.4)})


@pytest.mark.parametrize("mech", [JOINT, SHARED], ids=["a window of places", "shared places"])
@pytest.mark.parametrize("record", [(2.0, "b"), (None, "b"), (2.0, None), (None, None)], ids=str)
def test_the_release_has_the_law_of_the_window(record, mech):
    """χ² over the 30 outcomes of both columns at 1e-6; a coin that keeps 3% more is rejected by 5 errors."""
    n = 200_000
    x, c = (pd.Series([value] * n, dtype=kind) for value, kind in zip(record, (float, str), strict=True))
    out = mech.release(pd.DataFrame({"x": x, "c": c}), key=KEY, shuffle=False).frame
    rows = (out["x"] + 1).fillna(9).astype(int) * 3 + out["c"].map({"a": 0, "b": 1}).fillna(2).astype(int)
    counts, keep, unseen = np.bincount(rows, minlength=30).reshape(10, 3), mech.blocks[0].keep, mech.blocks[0].unseen[0]
    drawn = np.outer([*[1 / (9 + unseen)] * 9, unseen / (9 + unseen)], [1 / 3] * 3)
    near = np.zeros((10, 3))
    shown = (
        {2: 1 / 3, 3: 1 / 3, 4: 1 / 3} if record[0] is not None else {9: 1.0} if unseen == 3 else {9: 2 / 3, 4: 1 / 3}
    )
    near[list(shown), 2 if record[1] is None else 1] = list(shown.values())
    expected = n * (keep * near + (1 - keep) * drawn)
    assert ((counts - expected) ** 2 / expected).sum() < chi2.ppf(1 - 1e-6, 29)
    inside = near > 0
    for factor, holds in ((1.0, True), (1.03, False)):
        share = factor * keep + (1 - factor * keep) * drawn[inside].sum()
        errors = abs(counts[inside].sum() / n - share) / np.sqrt(share * (1 - share) / n)
        assert (errors < 5) == holds


def test_response_has_one_level_more():
    n = 200_000
    out = APART.release(pd.DataFrame({"x": [1.0] * n, "c": pd.Series([None] * n, dtype=str)}), key=KEY).frame["c"]
    share = 0.4 + 0.6 / 3
    assert abs(out.isna().mean() - share) < 5 * np.sqrt(share * (1 - share) / n)
    assert abs((out == "a").mean() - 0.2) < 5 * np.sqrt(0.16 / n)
    assert APART.blocks[1].profile("record").delta(math.log(1 + 3 * 0.4 / 0.6)) < 1e-12


@pytest.mark.thinned(2)
@pytest.mark.parametrize("mech", [JOINT, SHARED, APART], ids=["joint", "shared", "apart"])
@pytest.mark.parametrize("unit", ["record", "attribute"])
def test_an_audit_tells_missing_from_a_value(mech, unit):
    """The two records of the audit differ in what is missing; noise that keeps more is noticed."""
    null, other = (dict(zip(mech.layout.columns, [*ends], strict=True)) for ends in _worst(mech, unit))
    assert any(np.isnan(value) for value in other.values())
    assert not any(np.isnan(value) for value in null.values())
    assert vdp.audit(mech, n=100_000, unit=unit).passed
    more = vdp.Mechanism(SCHEMA, noise={("x", "c"): Window(epsilon=2.9, cells=6, window=3)})
    less = SHARED.privacy(unit)
    assert not vdp.audit(more, n=100_000, unit=unit, claim=less).passed


def _worst(mech, unit):
    from versadp.auditing.neighbours import worst_pair

    pair = worst_pair(mech, unit)
    return [[record[name] for name in mech.layout.columns] for record in (pair.null, pair.other)]


def test_ranks_and_ratios_know_shared_places():
    """A missing value that is shown as a number in the middle is likely; ranks are even (Kolmogorov-Smirnov, 1e-6)."""
    (block,) = SHARED.blocks
    n, rng = 100_000, np.random.default_rng(7)
    truth = np.tile([[np.nan], [1.0]], n)
    content = truth.copy()
    block.to_content(content)
    block.add_noise(content, rng.integers(0, 2**64, (block.words, n), dtype=np.uint64))
    block.to_values(content)
    middle, far = (np.array([[place], [1.0]]) for place in (4.0 - 1.0, 0.0))  # outputs 4 and 1, less half a window
    null, other = np.array([0.0, 0.0]), np.array([np.nan, 1.0])
    step = math.log(block.ratio)
    assert block.log_ratio(middle, null, other) == pytest.approx(step)
    assert block.log_ratio(far, null, other) == pytest.approx(0.0)
    for name, rank in block.ranks(content, truth, rng).items():
        assert kstest(rank, "uniform").pvalue > 1e-6, name


@pytest.mark.parametrize("unit", ["record", "attribute"])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_missing_is_one_attribute_and_all_in_epsilon(unit, epsilon):
    mech = vdp.Mechanism(SCHEMA, noise={("x", "c"): Window(epsilon=epsilon)})
    assert mech.privacy(unit).delta(epsilon) == 0
    assert mech.privacy(unit).delta(0.9 * epsilon) > 0
    one = vdp.Schema({"c": SCHEMA.columns["c"]})
    for noise, delta in (("window", 0.0), ("zil", 1e-6)):
        found = vdp.calibrate(one, epsilon=epsilon, delta=delta, unit=unit, noise=noise)
        assert found.privacy(unit).delta(epsilon) <= delta


# the inverse ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cells", "window", "unseen"), [(6, 1, 1), (6, 3, 3), (3, 6, 3), (7, 4, 1), (7, 4, 4)])
def test_the_inverse_is_exact_on_the_lattice_and_beside_it(cells, window, unseen):
    """The expectation over every output by the exact law, for functions of values and of missing ones."""
    spec = Window(epsilon=1.5, cells=cells, window=window, missing=unseen)
    block = spec.on({"x": Bounded(0, cells, nullable=True)})
    outputs, kappa, repeats = cells + window + unseen, block.keep, 3000
    points = window_points(block, 0, np.tile(np.arange(float(outputs)), repeats), np.random.default_rng(0))
    for at_missing, v in itertools.product((0.0, 3.0), (lambda x: x**2, lambda x: (x > 2) + 1.0)):
        value = np.where(np.isnan(points.columns["x"]), at_missing, v(points.columns["x"]))
        g = np.bincount(points.record, points.weight * value).reshape(repeats, outputs)
        error = 15 * g.std(axis=0).max() / np.sqrt(repeats) / kappa + 1e-9
        g = g.mean(axis=0)
        decoded = g / kappa + (1 - 1 / kappa) * g.mean()
        for x in [*range(cells + 1), None]:
            law = np.full(outputs, (1 - kappa) / outputs)
            law[list(kept_outputs(cells, window, unseen, x))] += kappa / window
            truth = at_missing if x is None else float(v(np.array(float(x))))
            assert law @ decoded == pytest.approx(truth, abs=error)


def test_points_of_what_is_missing_are_missing():
    for block in (JOINT.blocks[0], APART.blocks[1], APART.blocks[0]):
        released = np.full((len(block.columns), 4), np.nan)
        points = block.points(released, np.random.default_rng(0), How(draws=3))
        total = np.bincount(points.record, points.weight)
        assert np.allclose(total, 1)
        assert all(np.isnan(column).any() and not np.isnan(column).all() for column in points.columns.values())


# who is missing may be public ----------------------------------------------------------------------------------------


OPEN = vdp.Schema({"x": Bounded(0, 6, nullable="public"), "c": Categorical(["a", "b"], nullable="public")})


@pytest.mark.parametrize("noise", [{("x", "c"): Window(epsilon=2.0)}, {"x": Window(epsilon=2.0), "c": Response(0.5)}])
def test_a_public_pattern_is_released_as_it_is_and_costs_nothing(noise):
    mech = vdp.Mechanism(OPEN, noise=noise)
    shut = vdp.Mechanism(vdp.Schema({"x": Bounded(0, 6), "c": Categorical(["a", "b"])}), noise=noise)
    rng, n = np.random.default_rng(0), 4000
    people = pd.DataFrame({"x": rng.uniform(0, 6, n), "c": rng.choice(["a", "b"], n)}).mask(rng.random((n, 2)) < 0.3)
    release = mech.release(people, shuffle=False)
    pd.testing.assert_frame_equal(release.frame.isna(), people.isna())
    assert [block.profile("record").delta(1.0) for block in mech.blocks] == [
        block.profile("record").delta(1.0) for block in shut.blocks
    ]
    frame, weight, record = release.augment(draws=3, return_record=True, random_state=0)
    for name in people:
        assert (frame[name].isna().to_numpy() == people[name].isna().to_numpy()[record]).all()
    for g in (
        lambda t: t["x"].fillna(0),
        lambda t: (t["c"] == "a") * 1.0,
        lambda t: t["x"].fillna(9) * (t["c"] == "b"),
    ):
        difference = np.bincount(record, weight * g(frame).to_numpy(), minlength=n) - g(people).to_numpy()
        assert abs(difference.mean()) < 5 * difference.std() / np.sqrt(n)
    assert "where x is missing, where c is missing" in mech.statement()
    assert OPEN.public_patterns == ("x", "c")


# content and refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nullable", [True, "public"])
@pytest.mark.parametrize("spec", [Window(epsilon=2.0, cells=6, window=3), Response(0.5)], ids=["window", "response"])
def test_content_tells_what_is_missing_from_every_value(spec, nullable):
    column = (
        Categorical(["a", "b", "c"], nullable=nullable) if spec.name == "response" else Bounded(0, 6, nullable=nullable)
    )
    block = spec.on({"x": column})
    odd = np.frombuffer(np.uint64(0x7FF8DEADBEEF0001).tobytes(), np.float64)[0]
    values = np.array([[*range(3 if spec.name == "response" else 7), np.nan, odd, -np.nan]], dtype=float)
    block.to_content(values)
    first, *_ = tags = [value.tobytes() for value in values[0]]
    assert len(set(tags)) == len(tags) - 2
    assert tags[-1] == tags[-2] == tags[-3]
    assert np.isnan(values[0, -1]) == (nullable == "public")
    assert first == np.float64(0).tobytes()


@pytest.mark.parametrize("nullable", [True, "public"])
def test_noise_that_does_not_know_of_missing_values_is_refused(nullable):
    """Ours and strangers': it would let them pass."""
    schema = vdp.Schema({"x": Bounded(0, 1, nullable=nullable)})
    for spec in (ZeroInflated(0.5, 0.1), Lottery(5, 0.5)):
        with pytest.raises(ParameterError, match=r"may be missing\n.*noise\.Window"):
            vdp.Mechanism(schema, noise={"x": spec})
    with pytest.raises(ParameterError, match="may be missing"):
        vdp.Mechanism(schema, scale=0.5, exact_rate=0.1)


def test_dates_need_whole_days():
    schema = vdp.Schema({"d": Dates("2000-01-01", "2010-12-31")})
    assert schema.columns["d"].steps == 4017
    for spec in (
        ZeroInflated(0.5, 0.1),
        Lottery(5, 0.5),
        Window(epsilon=1.0, window=4),
        Window(epsilon=1.0, cells=1000, window=5),
    ):
        with pytest.raises(ParameterError, match="whole days"):
            vdp.Mechanism(schema, noise={"d": spec})
    for spec in (Window(epsilon=1.0), Window(epsilon=1.0, window=5), Window(epsilon=4.0, cells=1339, window=3)):
        (block,) = vdp.Mechanism(schema, noise={"d": spec}).blocks
        assert block.whole == ("d",)
    assert block.reach() == {"d": 3.0}
    with pytest.raises(ParameterError, match="years 1 to 9999"):
        Window(epsilon=1.0).on({"d": Dates("0001-01-01", "2000-01-01")})


# what it costs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("last", "window", "unseen"), [(300, 90, 30), (300, 90, 90), (200, 380, 40)])
def test_the_price_of_a_mean_by_enumeration(last, window, unseen):
    """E psi² of (x - mean) 1{there}, its inverse written down from its definition, over all values and outputs."""
    keep, gone = 0.6, 0.1
    x = np.arange(last + 1)
    v = (x - last / 2) / last + 0.15
    g = np.zeros(last + window)  # window averages of g are v: v shifted by half a window, where v is linear
    g[:] = (np.arange(last + window) - (window - 1) / 2 - last / 2) / last + 0.15
    middle = slice((last + unseen) // 2, (last + unseen) // 2 + window - unseen)
    hidden = -g[middle].sum() / unseen
    kept = np.mean([np.mean(g[k : k + window] ** 2) for k in x])
    kept_missing = (unseen * hidden**2 + (g[middle] ** 2).sum()) / window
    drawn = ((g**2).sum() + unseen * hidden**2) / (last + window + unseen)
    assert np.allclose([g[k : k + window].mean() for k in x], v)
    square = (keep * ((1 - gone) * kept + gone * kept_missing) + (1 - keep) * drawn) / keep**2
    mean = np.mean((x / last - 0.5) ** 2)
    claimed = missing_inflation(keep, last, window, unseen)
    # values even around 0.15 off the middle of the bounds: the outputs' offset is v's, and kept values have none
    centred = square - (1 - gone) * 0.15**2 / keep
    assert claimed == pytest.approx(centred / ((1 - gone) * mean), rel=0.02)
    assert missing_inflation(keep * 0.95, last, window, unseen) > 1.03 * claimed
