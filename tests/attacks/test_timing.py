"""Does time tell a record that was released unchanged, or kept, from one that was not? Measured, with what it resolves.

Two kinds of work are timed in random order, one pair after the other. If time does not depend on the kind, either of a
pair is as likely to be the slower one, whatever else the machine does: the count is binomial, and the median of the
differences has an interval from order statistics. Both are free of assumptions about the times.
"""

import gc
import time
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import binom, binomtest

import versadp as vdp

ERROR = 1e-6


class Difference(NamedTuple):
    """Of two kinds of work: the median of the differences with its interval, and the usual time, all in seconds."""

    p_value: float
    median: float
    low: float
    high: float
    usual: float


def difference(pairs):
    """Time pairs of calls, in random order within a pair; return by how much the first are slower."""
    rng, found = np.random.default_rng(), []
    gc.disable()
    try:
        for pair in pairs:
            took = [0, 0]
            for at in rng.permutation(2):
                start = time.perf_counter_ns()
                pair[at]()
                took[at] = time.perf_counter_ns() - start
            found.append(took)
    finally:
        gc.enable()
    first, second = np.array(found).T * 1e-9
    apart = np.sort(first - second)
    n, slower = apart.size, int(np.sum(apart > 0))
    edge = int(binom.ppf(ERROR / 2, n, 0.5))
    p_value = binomtest(slower, slower + int(np.sum(apart < 0))).pvalue
    return Difference(p_value, float(np.median(apart)), apart[edge], apart[n - 1 - edge], float(np.median(second)))


def record_pairs(mech, record, told, n, slower=lambda: None):
    """Pairs of records on devices of their own keys: one that `told` is true of, and one that it is not."""
    kinds = {True: [], False: []}
    while min(map(len, kinds.values())) < n:
        key = vdp.fresh_key()
        kinds[bool(told(mech.privatize(record, key=key)))].append(key)

    def work(key, *, extra):
        def call():
            mech.privatize(record, key=key)
            if extra:
                slower()

        return call

    return [(work(a, extra=True), work(b, extra=False)) for a, b in zip(kinds[True], kinds[False], strict=False)][:n]


SCHEMA = vdp.Schema({"x": vdp.Bounded(0, 1), "z": vdp.Bounded(0, 1), "c": vdp.Categorical(["a", "b", "d"])})
RECORD = {"x": 0.5, "z": 0.25, "c": "a"}
ZIL = vdp.Mechanism(SCHEMA, scale=0.5, exact_rate=0.5, keep=0.5)
WINDOW = vdp.Mechanism(
    SCHEMA, noise={("x", "z"): vdp.noise.Window(epsilon=4, cells=4, window=1), "c": vdp.noise.Response(0.3)}
)
DEVICES = {
    "unchanged": (ZIL, lambda out: out["x"] == 0.5 and out["z"] == 0.25),
    "kept": (WINDOW, lambda out: out["x"] == 0.5 and out["z"] == 0.25),
    "level": (ZIL, lambda out: out["c"] == "a"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", DEVICES)
def test_time_on_a_device_does_not_tell(kind):
    """4000 pairs; a false alarm once in a million."""
    mech, told = DEVICES[kind]
    found = difference(record_pairs(mech, RECORD, told, 4000))
    assert found.p_value > ERROR, found
    assert found.high - found.low < 0.2 * found.usual, found  # what it resolves


@pytest.mark.slow
def test_time_on_a_device_would_tell():
    """The same with one part in twenty more work for one kind of records."""
    mech, told = DEVICES["unchanged"]

    def slower():
        end = time.perf_counter_ns() + usual / 20
        while time.perf_counter_ns() < end:
            pass

    usual = 1e9 * difference(record_pairs(mech, RECORD, told, 200)).usual
    assert difference(record_pairs(mech, RECORD, told, 4000, slower)).p_value < ERROR


BLOCKS = [block for mech in (ZIL, WINDOW) for block in mech.blocks]


def slab_pairs(block, n, rows=8192):
    """Noise of whole slabs of rows whose coins all say the same: unchanged or kept, and not; other words are equal."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**64, (block.words, rows), dtype=np.uint64)
    content = np.full((len(block.columns), rows), 1.0)

    def work(coin):
        mine, values = words.copy(), content.copy()
        mine[0] = coin
        return lambda: block.add_noise(values.copy(), mine)

    yes, no = work(0), work(2**64 - 1)
    yes(), no()
    return [(yes, no)] * n


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.spec.name} {'+'.join(block.columns)}")
def test_time_of_a_slab_does_not_tell_how_many_are_unchanged(block):
    """All of 8192 against none: a share of them tells less. What is found is stated as a share of the time."""
    found = difference(slab_pairs(block, 4000))
    assert abs(found.median) < 0.02 * found.usual, found
