"""Attacks on the noise: each fails, and the naive build beside it shows that the attack is real."""

import ast
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.noise import ZeroInflatedBlock
from versadp.noise.kernel import add_noise
from versadp.noise.words import keystream
from versadp_tests.engine_work import released_alike

SCHEMA = vdp.Schema({"x": vdp.Bounded(0, 1)})
KEY = vdp.fresh_key()


def mechanism(scale=1.0, exact_rate=0.1, **columns):
    return vdp.Mechanism(vdp.Schema(columns) if columns else SCHEMA, scale=scale, exact_rate=exact_rate)


def released(values, mech=None, **options):
    return (mech or mechanism()).release(pd.DataFrame({"x": values}), shuffle=False, **options).frame["x"].to_numpy()


# low bits of floating point ------------------------------------------------------------------------------------


def off_integers(y):
    """The event that gives naive noise away: y * 2^53 is no whole number."""
    scaled = y * 2.0**53
    return np.mean(scaled != np.rint(scaled))


def test_low_bits_tell_nothing():
    """Every output that one record can give, its neighbour can give: both live on the same grid."""
    n = 50_000
    step = mechanism().blocks[0].step[0]
    for x in (0.0, 1.0, 0.1, 1 / 3):
        y = released(np.full(n, x))
        assert (y / step == np.rint(y / step)).all()


def test_low_bits_would_tell_with_naive_floats():
    rng = np.random.default_rng(0)
    noise = rng.laplace(scale=0.7, size=50_000)
    assert off_integers(0.0 + noise) > 0.1  # small noise keeps bits below 2^-53
    assert off_integers(1.0 + noise) < 0.05  # which adding 1 rounds away: the event tells 0 from 1


# predictable generators ----------------------------------------------------------------------------------------

RELEASE_PATH = [
    "noise/words.py",
    "noise/quantile.py",
    "noise/kernel.py",
    "release/path/noised.py",
    "release/path/record.py",
]


@pytest.mark.parametrize("name", RELEASE_PATH)
def test_no_ordinary_generator_in_the_release_path(name):
    source = (Path(vdp.__file__).parent / name).read_text()
    for node in ast.walk(ast.parse(source)):
        assert not (isinstance(node, ast.Attribute) and node.attr == "random"), name
        assert not (isinstance(node, ast.Import | ast.ImportFrom) and "random" in ast.unparse(node)), name


def test_a_release_draws_nothing_from_ordinary_generators(monkeypatch):
    import random

    def caught(*_, **__):
        raise AssertionError("the release path used a predictable generator")

    for name in ("default_rng", "rand", "randn", "normal", "laplace", "exponential", "seed", "random", "uniform"):
        monkeypatch.setattr(np.random, name, caught)
    for name in ("random", "gauss", "getrandbits", "seed"):
        monkeypatch.setattr(random, name, caught)
    assert len(released(np.full(10, 0.5))) == 10
    mechanism().privatize({"x": 0.5}, key=KEY)


def test_seeding_numpy_changes_nothing():
    np.random.seed(1)
    one = released(np.full(100, 0.5))
    np.random.seed(1)
    assert (one != released(np.full(100, 0.5))).any()


# retries, versions, scales -------------------------------------------------------------------------------------


def test_averaging_retries_gains_nothing():
    """Twenty tries with one key are one answer; with fresh noise their mean would come close to the truth."""
    x, mech = np.full(500, 0.5), mechanism(exact_rate=0.0)
    tries = np.array([released(x, mech, key=KEY) for _ in range(20)])
    assert np.ptp(tries, axis=0).max() == 0
    fresh = np.array([released(x, mech) for _ in range(20)])
    assert np.abs(fresh.mean(axis=0) - 0.5).mean() < 0.35 * np.abs(tries.mean(axis=0) - 0.5).mean()
    device = {mech.privatize({"x": 0.5}, key=KEY)["x"] for _ in range(20)}
    assert len(device) == 1


def correlated(a, b):
    """Two noises that share a source are strongly correlated; independent ones are not (5 standard errors)."""
    a, b = np.sign(a), np.sign(b)  # signs: heavy tails do not matter
    return abs(np.mean(a * b)) > 5 / np.sqrt(a.size)


def test_two_versions_of_a_record_do_not_share_noise():
    mech = mechanism(exact_rate=0.0)
    x = np.linspace(0, 1, 8000)
    edited = x.copy()
    edited[0] = 0.9
    one, two = released(x, mech, key=KEY), released(edited, mech, key=KEY)
    assert two[0] - one[0] != pytest.approx(0.9, abs=1e-3)
    assert not correlated(one - x, two - edited)
    assert correlated(one - x, one - x)


def test_two_scales_do_not_share_noise():
    """With shared noise 2 y(scale) - y(2 scale) would be x."""
    x = np.full(8000, 0.25)
    one = released(x, mechanism(scale=1.0, exact_rate=0.0), key=KEY)
    two = released(x, mechanism(scale=2.0, exact_rate=0.0), key=KEY)
    assert np.median(np.abs(2 * one - two - x)) > 0.3
    assert not correlated(one - x, two - x)


@pytest.mark.parametrize(
    "other",
    [
        mechanism(exact_rate=0.0, scale=1.0 + 1e-12),
        mechanism(exact_rate=1e-6),
        mechanism(exact_rate=0.0, x=vdp.Bounded(0, 1 + 1e-9)),
    ],
)
def test_any_other_parameter_gives_independent_noise(other):
    x = np.full(8000, 0.5)
    assert not correlated(released(x, mechanism(exact_rate=0.0), key=KEY) - x, released(x, other, key=KEY) - x)


def test_equal_records_do_not_share_noise():
    y = released(np.full(8192 * 3, 0.5), mechanism(exact_rate=0.0)) - 0.5
    assert len(np.unique(y)) > 0.8 * y.size
    assert not correlated(y[:8192], y[8192:16384])
    assert not correlated(y[:-1], y[1:])


def test_people_with_equal_records_do_not_share_noise():
    mech = vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(0, 1)}, id="pid"), scale=1.0)
    y = mech.release(pd.DataFrame({"pid": range(8000), "x": 0.5}), shuffle=False).frame["x"].to_numpy() - 0.5
    assert len(np.unique(y)) > 0.8 * y.size
    assert not correlated(y[:-1], y[1:])


def test_forked_workers_do_not_share_noise():
    """Noise has no state that a fork could copy: equal content gives equal noise, other content other noise."""
    values = (0.1, 0.1, 0.2, 0.3)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        first, same, second, third = pool.map(partial(released_alike, KEY), values)
    assert (first == same).all()
    assert not correlated(first - 0.1, second - 0.2)
    assert not correlated(second - 0.2, third - 0.3)


# timing --------------------------------------------------------------------------------------------------------


class Counted:
    """An array that counts what is read of it and written to it."""

    def __init__(self, values):
        self.values, self.shape, self.count = values, values.shape, 0

    def __getitem__(self, at):
        self.count += 1
        return self.values[at]

    def __setitem__(self, at, value):
        self.count += 1
        self.values[at] = value


def counts(exact_rate, monkeypatch):
    """Return how often each array of the noise is read or written, by the loop before it is compiled."""
    found = []

    def loop(*arrays):
        counted = [Counted(array) for array in arrays]
        add_noise.py_func(*counted)
        found.extend(each.count for each in counted)

    monkeypatch.setattr("versadp.noise.kernel.add_noise", loop)
    channel = ZeroInflatedBlock(tuple("abcde"), (0.0,) * 5, (1.0,) * 5, (1.0,) * 5, exact_rate)
    channel.add_noise(np.zeros((5, 64)), keystream(KEY, b"t").slab(0, np.zeros((5, 64)), 7))
    return found


def test_work_does_not_tell_exact_records(monkeypatch):
    """As many reads and writes at exact_rate 0 and 0.999; skipping exact records would save nearly all of them."""
    assert counts(0.999, monkeypatch) == counts(0.0, monkeypatch)


def test_the_same_words_whatever_the_record():
    assert mechanism(exact_rate=0.0).blocks[0].words == mechanism(exact_rate=0.999).blocks[0].words == 3


# the atom ------------------------------------------------------------------------------------------------------


def test_epsilon_below_the_floor_does_not_exist():
    profile = mechanism(exact_rate=0.1).privacy()
    assert profile.delta_floor >= 0.1
    with pytest.raises(vdp.errors.ParameterError, match=r"0\.1"):
        profile.epsilon(0.05)


def test_the_statement_says_that_unchanged_records_can_be_recognised():
    assert "10% of the records" in mechanism(exact_rate=0.1).statement()
    assert "assume that they can be recognised" in mechanism(exact_rate=0.1).statement()
