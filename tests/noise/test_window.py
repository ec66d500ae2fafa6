"""Windows: the law in whole numbers by enumeration, the law that is sampled, the inverse, and what is said."""

import itertools
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import versadp as vdp
from versadp.errors import DataError, ParameterError
from versadp.noise import How, Window, as_extension
from versadp.noise.window_design import (
    Size,
    best_share,
    best_window,
    cost_with_missing,
    keep_probability,
    mean_variance,
    second_variance,
)
from versadp.noise.window_inverse import window_points
from versadp.noise.window_law import WORDS, kept_words, odds, worst_ratio
from versadp.schema import Bounded, Categorical

KEY = bytes(range(50, 82))


# the law, exactly ----------------------------------------------------------------------------------------------------


def exact_law(record, windows, outputs, kept, words):
    """Probabilities of all outputs of one record, as fractions, by counting words: nothing of the sampler's code."""
    draws = [
        (
            [sum(u * w // words == k for u in range(words)) for k in range(w)],
            [sum(u * n // words == k for u in range(words)) for k in range(n)],
        )
        for w, n in zip(windows, outputs, strict=True)
    ]
    law = {}
    for z in itertools.product(*map(range, outputs)):
        near, far = Fraction(kept, words), Fraction(words - kept, words)
        for j, (w, _) in enumerate(zip(windows, outputs, strict=True)):
            offset = z[j] - record[j]
            near *= Fraction(draws[j][0][offset], words) if 0 <= offset < w else 0
            far *= Fraction(draws[j][1][z[j]], words)
        law[z] = near + far
    return law


LATTICES = [((4,), (1,)), ((6,), (3,)), ((2, 3), (1, 1)), ((4, 2), (2, 1)), ((1,), (5,)), ((2, 1, 2), (2, 1, 1))]


@pytest.mark.parametrize(("last", "windows"), LATTICES, ids=str)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("words", [64, 101])
def test_pure_epsilon_by_counting_every_word(last, windows, epsilon, words):
    """All records, all outputs, exact fractions; words that no lattice divides. One word more would be too many."""
    outputs = tuple(m + w for m, w in zip(last, windows, strict=True))
    kept = kept_words(windows, outputs, epsilon, words=words)
    limit = 1 + odds(epsilon)
    laws = [exact_law(x, windows, outputs, kept, words) for x in itertools.product(*(range(m + 1) for m in last))]
    ratios = [max(a[z] / b[z] for z in a) for a in laws for b in laws]
    assert all(sum(law.values()) == 1 for law in laws)
    assert max(ratios) <= worst_ratio(windows, outputs, kept, words=words) <= limit
    assert worst_ratio(windows, outputs, kept + 1, words=words) > limit


@pytest.mark.parametrize("delta", [0.01, 0.2])
@pytest.mark.parametrize(("last", "windows"), [((4,), (1,)), ((6,), (2,)), ((2, 3), (1, 1))], ids=str)
def test_delta_by_counting_every_word(last, windows, delta):
    """With whole words to give away, up to a few of them."""
    words, epsilon = 1009, 1.0
    outputs = tuple(m + w for m, w in zip(last, windows, strict=True))
    kept = kept_words(windows, outputs, epsilon, delta, words=words)
    assert kept > kept_words(windows, outputs, epsilon, words=words)
    laws = [exact_law(x, windows, outputs, kept, words) for x in itertools.product(*(range(m + 1) for m in last))]
    limit = 1 + odds(epsilon)
    worst = max(sum(max(a[z] - limit * b[z], 0) for z in a) for a in laws for b in laws)
    assert Fraction(delta) - Fraction(8, words) < worst <= Fraction(delta)


def test_the_coin_is_the_one_of_theory():
    windows, outputs = (3, 1), (9, 4)
    share = 3 / 9 / 4
    kappa = kept_words(windows, outputs, 2.0) / WORDS
    assert kappa == pytest.approx(share * math.expm1(2.0) / (1 + share * math.expm1(2.0)), rel=1e-12)
    assert math.log(worst_ratio(windows, outputs, kept_words(windows, outputs, 2.0))) <= 2.0


# the law that is sampled ---------------------------------------------------------------------------------------------


SCHEMA = vdp.Schema({"x": Bounded(0, 6), "c": Categorical(["a", "b", "c"])})
MECH = vdp.Mechanism(SCHEMA, noise={("x", "c"): Window(epsilon=2.0, cells=6, window=3)})


def counted(n=400_000):
    """How often each joint output of both columns comes of a record in the middle."""
    out = MECH.release(pd.DataFrame({"x": np.full(n, 2.0), "c": ["b"] * n}), key=KEY).frame
    places = np.rint(out["x"] + 1).astype(int) * 3 + out["c"].map({"a": 0, "b": 1, "c": 2})
    return np.bincount(places, minlength=27), n


def test_the_release_has_the_law_of_the_window():
    """χ² with 26 degrees of freedom at 1e-6; of a coin that keeps 2% more the share in the window is 5 errors off."""
    counts, n = counted()
    keep, window = MECH.blocks[0].keep, [3 * k + 1 for k in (2, 3, 4)]
    expected = np.full(27, (1 - keep) / 27)
    expected[window] += keep / 3
    assert ((counts - n * expected) ** 2 / (n * expected)).sum() < chi2.ppf(1 - 1e-6, 26)
    for factor, holds in ((1.0, True), (1.02, False)):
        share = factor * keep + (1 - factor * keep) / 9
        errors = abs(counts[window].sum() / n - share) / np.sqrt(share * (1 - share) / n)
        assert (errors < 5) == holds


def test_released_values_lie_around_the_truth():
    out = MECH.release(pd.DataFrame({"x": np.arange(7.0), "c": ["a"] * 7}), key=KEY).frame
    assert out["x"].between(-1, 7).all()
    assert (out["x"] == np.rint(out["x"])).all()
    again = vdp.Mechanism.from_json(MECH.to_json())
    assert again == MECH
    assert again.blocks == MECH.blocks
    assert MECH.privatize({"x": 3.0, "c": "b"}, key=KEY) == MECH.privatize({"x": 3.0, "c": "b"}, key=KEY)


def test_values_that_no_window_gives_are_refused():
    out = MECH.release(pd.DataFrame({"x": np.arange(7.0), "c": ["a"] * 7}), key=KEY).frame
    vdp.Release.from_frame(out, MECH)
    for spoilt in (out.assign(x=out["x"] * 0.9), out.assign(x=out["x"] + 9), out.assign(x=out["x"] + 0.25)):
        with pytest.raises(DataError, match="never gives"):
            vdp.Release.from_frame(spoilt, MECH)


# the guarantee -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_pure_epsilon_is_claimed_and_nothing_beyond(epsilon):
    mech = vdp.Mechanism(SCHEMA, noise={("x", "c"): Window(epsilon=epsilon)})
    for unit in ("record", "attribute"):
        profile = mech.privacy(unit)
        assert profile.delta(epsilon) == 0
        assert profile.delta(0.9 * epsilon) > 0
        assert profile.pure_epsilon <= epsilon
    assert mech.sampler_error == 0


def test_several_windows_compose():
    apart = vdp.Mechanism(SCHEMA, noise={"x": Window(epsilon=1.0), "c": Window(epsilon=1.0)})
    assert apart.privacy("attribute").pure_epsilon <= 1
    assert 1.9 < apart.privacy("record").pure_epsilon <= 2


@pytest.mark.parametrize("unit", ["record", "attribute"])
def test_an_audit_passes_and_notices(unit):
    """A coin that keeps more, and a window one point too wide, against what is claimed of the right ones."""
    assert vdp.audit(MECH, n=100_000, unit=unit).passed
    more = vdp.Mechanism(SCHEMA, noise={("x", "c"): Window(epsilon=2.3, cells=6, window=3)})
    assert not vdp.audit(more, n=100_000, unit=unit, claim=MECH.privacy(unit)).passed


# the inverse ---------------------------------------------------------------------------------------------------------


FUNCTIONS = {
    "linear": lambda x: x,
    "square": lambda x: x**2,
    "kink": lambda x: np.abs(x - 2.0),
    "jump": lambda x: (x > 3).astype(float),
}


@pytest.mark.parametrize(("cells", "window"), [(6, 1), (6, 2), (6, 3), (6, 5), (3, 6), (7, 4)])
def test_the_inverse_is_exact_on_the_lattice(cells, window):
    """The expectation over every output, by the exact law; only the mean of the first window is drawn, and averaged."""
    block = Window(epsilon=1.5, cells=cells, window=window).on({"x": Bounded(0, cells)})
    outputs, kappa = cells + window, block.keep
    rng, repeats = np.random.default_rng(0), 4000
    z = np.tile(np.arange(float(outputs)), repeats)
    points = window_points(block, 0, z, rng)
    for name, v in FUNCTIONS.items():
        g = np.bincount(points.record, points.weight * v(points.columns["x"])).reshape(repeats, outputs)
        error = 5 * g.std(axis=0).max() / np.sqrt(repeats) + 1e-9
        g = g.mean(axis=0)
        for x in range(cells + 1):
            decoded = g / kappa + (1 - 1 / kappa) * g.mean()
            law = np.full(outputs, (1 - kappa) / outputs)
            law[x : x + window] += kappa / window
            assert law @ decoded == pytest.approx(v(np.array([float(x)]))[0], abs=3 * error / kappa), (name, x)


def test_a_joint_window_is_undone():
    """Products of a number and a category in one block: one coin, one 1/κ. Twice the weight of the coin is rejected."""
    n, rng = 60_000, np.random.default_rng(1)
    people = pd.DataFrame({"x": rng.integers(0, 7, n).astype(float), "c": rng.choice(["a", "b", "c"], n)})
    frame, weight, record = MECH.release(people).augment(draws=4, return_record=True, random_state=0)
    for g in (lambda t: t["x"], lambda t: t["x"] ** 2, lambda t: t["x"] * (t["c"] == "a"), lambda t: t["c"] == "b"):
        difference = np.bincount(record, weight * g(frame).to_numpy(), minlength=n) - g(people).to_numpy()
        assert abs(difference.mean()) < 5 * difference.std() / np.sqrt(n)
    wrong = np.bincount(record, weight * (frame["c"] == "b").to_numpy(), minlength=n) * MECH.blocks[0].keep
    difference = wrong - (people["c"] == "b").to_numpy()
    assert abs(difference.mean()) > 5 * difference.std() / np.sqrt(n)


def test_a_slope_is_learnt_from_a_window():
    n, rng = 60_000, np.random.default_rng(2)
    x = rng.uniform(-1, 1, n)
    people = pd.DataFrame({"x": x, "y": 1 + 2 * x + rng.normal(0, 0.5, n)})
    schema = vdp.Schema({"x": Bounded(-1, 1), "y": vdp.Public()})
    release = vdp.Mechanism(schema, noise={"x": Window(epsilon=4.0)}).release(people)
    result = vdp.fit(release, "y ~ x")
    assert abs(result.params["x"] - 2) < 5 * result.bse["x"]
    assert result.bse["x"] < 0.03
    naive = vdp.fit(release, "y ~ x", method="naive")
    assert abs(naive.params["x"] - 2) > 5 * naive.bse["x"]


# the rule ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "mean", "square"), [(1, 1.28, 0.175), (2, 0.235, 0.032), (4, 0.033, 0.0038)])
def test_decoder_variances_by_rule(epsilon, mean, square):
    """In widths², values spread evenly: what is required, by formula and by simulation of the block."""
    c = best_window(Size(1), epsilon)
    keep = keep_probability(c, Size(1), epsilon)
    assert mean_variance(c, keep) <= mean
    assert second_variance(c, keep, 1) <= square
    n, rng = 400_000, np.random.default_rng(3)
    block = Window(epsilon=float(epsilon)).on({"x": Bounded(-0.5, 0.5)})
    assert block.keep == pytest.approx(keep, rel=2e-3)
    mech = vdp.Mechanism(vdp.Schema({"x": Bounded(-0.5, 0.5)}), noise={"x": Window(epsilon=float(epsilon))})
    x = rng.uniform(-0.5, 0.5, n)
    z = mech.release(pd.DataFrame({"x": x})).frame["x"].to_numpy()
    decoded = z / block.keep
    assert decoded.var() - 1 / 12 == pytest.approx(mean_variance(c, keep), rel=0.02)
    assert abs((decoded - x).mean()) < 5 * (decoded - x).std() / np.sqrt(n)
    squares = (z**2 - (1 - block.keep) * (1 + c) ** 2 / 12) / block.keep - c**2 / 12
    # beside the variance of x² itself
    assert squares.var() - 1 / 180 == pytest.approx(second_variance(c, keep, 1), rel=0.03)


def test_the_table_in_the_docs_is_what_the_rule_predicts():
    text = (Path(__file__).parents[2] / "docs" / "theory" / "calibration.md").read_text()
    rows = re.findall(r"^\| (\d+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", text, re.MULTILINE)
    assert len(rows) >= 7
    for dim, epsilon, *shown in rows:
        c = best_window(Size(int(dim)), float(epsilon))
        keep = keep_probability(c, Size(int(dim)), float(epsilon))
        found = c, keep, mean_variance(c, keep), second_variance(c, keep, int(dim))
        assert [float(value) for value in shown] == pytest.approx(found, rel=2e-3)


def test_a_step_is_the_lattice():
    years = Window(epsilon=4.0).on({"age": Bounded(18, 90, step=1), "score": Bounded(0, 1)})
    assert years.last[0] == 72
    assert years.last[1] > 1000
    # the same width, as near as whole years allow
    assert abs(years.window[0] / 72 - years.window[1] / years.last[1]) < 1 / 72
    few = Window(epsilon=8.0).on({"stars": Bounded(1, 5, step=1)})
    assert (few.last, few.window) == ((4,), (1,))
    mech = vdp.Mechanism(vdp.Schema({"stars": Bounded(1, 5, step=1)}), noise={"stars": Window(epsilon=8.0)})
    out = mech.release(pd.DataFrame({"stars": [1, 2, 3, 4, 5] * 100})).frame["stars"]
    assert set(out) <= {1.0, 2.0, 3.0, 4.0, 5.0}


def test_a_record_of_six_numbers_at_epsilon_8():
    c = best_window(Size(6), 8.0)
    keep = keep_probability(c, Size(6), 8.0)
    assert 1 / 12 + mean_variance(c, keep) <= 0.155
    assert 1 / 144 + second_variance(c, keep, 6) <= 0.021


@pytest.mark.thinned(5)
@pytest.mark.parametrize("dim", range(1, 13))
@pytest.mark.parametrize("combinations", [1, 40])
def test_rule_costs_no_more_at_weaker_targets(dim, combinations):
    """A mechanism for (epsilon, 0) meets every weaker pair, so that a delta may never make it worse."""

    def cost(epsilon, delta, nullable):
        size = Size(dim, nullable, combinations)
        c = best_window(size, epsilon, delta)
        if nullable:
            return cost_with_missing(c, best_share(size, epsilon, delta, c), size, epsilon, delta)
        keep = keep_probability(c, size, epsilon, delta)
        return np.log(mean_variance(c, keep)) + np.log(second_variance(c, keep, dim))

    deltas = (0.0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 0.01, 0.1, 0.3)
    for nullable in {0, dim}:
        found = np.array([[cost(e, d, nullable) for d in deltas] for e in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)])
        assert np.diff(found, axis=0).max() < 1e-5
        assert np.diff(found, axis=1).max() < 1e-5


# words and bad input -------------------------------------------------------------------------------------------------


def test_the_statement_says_what_a_kept_record_shows():
    text = MECH.statement()
    assert "shows the truth up to a window: x within ±1, c as it is" in text
    assert f"{100 * MECH.blocks[0].keep:.3g}%" in text
    assert "who does not know the record cannot tell which" in text


@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": 0},
        {"epsilon": -1.0},
        {"epsilon": np.nan},
        {"epsilon": 1e3},
        {"epsilon": "1"},
        {"epsilon": 1.0, "cells": 0},
        {"epsilon": 1.0, "window": 2.5},
        {"epsilon": 1.0, "cells": {"y": 3}},
        {"epsilon": 1.0, "cells": 2**31},
        {"epsilon": 1.0, "delta": 1.0},
    ],
)
def test_bad_input(options):
    with pytest.raises(ParameterError):
        Window(**options).on({"x": Bounded(0, 1)})


def test_too_many_points_are_refused():
    schema = vdp.Schema({f"x{j}": Bounded(0, 1) for j in range(6)} | {"y": vdp.Public()})
    mech = vdp.Mechanism(schema, noise={tuple(f"x{j}" for j in range(6)): Window(epsilon=8.0)})
    people = pd.DataFrame(np.random.default_rng(0).random((100, 7)), columns=[*(f"x{j}" for j in range(6)), "y"])
    release = mech.release(people)
    with pytest.raises(ParameterError, match="too many"):
        release.augment(draws=3)
    with pytest.raises(ParameterError, match="too many"):
        vdp.fit(release, "y ~ x0 + x1 + x2 + x3 + x4 + x5", method="drcl")
    assert How(3, as_extension("zero")).draws == 3


@pytest.mark.thinned(2)
@pytest.mark.parametrize("dim", [30, 100, 900])
@pytest.mark.parametrize("unit", ["record", "attribute"])
def test_very_many_columns_have_windows(dim, unit):
    """Wide ones that are seldom kept, or never; but no accident of arithmetic."""
    schema = vdp.Schema({f"x{j}": vdp.Bounded(0, 1) for j in range(dim)})
    for target in ({"epsilon": 4.0}, {"epsilon": 4.0, "delta": 1e-5}):
        mech = vdp.calibrate(schema, **target, unit=unit)
        assert mech.privacy(unit).delta(4.0) <= target.get("delta", 0.0)
        assert all(value >= 1 for block in mech.blocks for value in block.inflation().values())


@pytest.mark.full
def test_more_columns_than_a_window_can_keep_are_refused():
    schema = vdp.Schema({f"x{j}": vdp.Bounded(0, 1) for j in range(3000)})
    with pytest.raises(ParameterError, match="never be kept"):
        vdp.calibrate(schema, epsilon=4, groups=[schema.private])
    assert vdp.calibrate(schema, epsilon=4, unit="attribute").privacy("attribute").delta(4.0) == 0
