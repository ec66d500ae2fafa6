"""The audit of windows: right ones pass, and each way to get one wrong fails, with the number of releases it takes.

What is wrong is drawn by numpy, outside of the release path.
"""

import numpy as np
import pyarrow as pa
import pytest

import versadp as vdp
from versadp.auditing.neighbours import all_pairs

N = 100_000
CERTAIN = 1 - 1e-7  # of right windows: a false alarm once in a hundred thousand runs of this file
SCHEMA = vdp.Schema(
    {
        "age": vdp.Bounded(18, 90, step=1),
        "income": vdp.Bounded(0, 5e5),
        "region": vdp.Categorical(["n", "e", "s"]),
        "y": vdp.Public(),
    }
)
PRIVATE = ("age", "income", "region")
SEPARATE = vdp.Mechanism(SCHEMA, noise={name: vdp.noise.Window(epsilon=2) for name in PRIVATE})
JOINT = vdp.Mechanism(SCHEMA, noise={PRIVATE: vdp.noise.Window(epsilon=6)})
MIXED = vdp.Mechanism(
    SCHEMA,
    noise={
        ("age", "region"): vdp.noise.Window(epsilon=3),
        "income": vdp.noise.ZeroInflated(scale=1.0, exact_rate=0.02),
    },
)
ONE = vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(0, 1)}), noise={"x": vdp.noise.Window(epsilon=4)})
FINER = vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(0, 1)}), noise={"x": vdp.noise.Window(4, cells=340, window=64)})
COARSE = vdp.Mechanism(vdp.Schema({"x": vdp.Bounded(0, 60, step=1)}), noise={"x": vdp.noise.Window(epsilon=2)})


@pytest.mark.thinned(3)
@pytest.mark.parametrize("unit", ["record", "attribute"])
@pytest.mark.parametrize("mech", [SEPARATE, JOINT, MIXED, ONE, COARSE], ids=["each", "joint", "mixed", "one", "coarse"])
def test_right_windows_pass(mech, unit):
    result = vdp.audit(mech, n=N, unit=unit, confidence=CERTAIN)
    assert result.passed, str(result)


@pytest.mark.parametrize("mech", [SEPARATE, JOINT, MIXED], ids=["each", "joint", "mixed"])
@pytest.mark.parametrize("unit", ["record", "attribute"])
def test_pairs_of_all_kinds_pass(mech, unit):
    result = vdp.audit(mech, n=10_000, unit=unit, confidence=CERTAIN, thorough=True)
    assert result.passed, str(result)


def test_every_attribute_is_tried_in_turn_and_in_the_interior():
    names = [pair.name for pair in all_pairs(JOINT, "attribute")]
    for column in PRIVATE:
        assert sum(name.startswith(f"{column}:") for name in names) >= 2 - (column == "region")
    for pair in all_pairs(JOINT, "attribute"):
        assert sum(pair.null[name] != pair.other[name] for name in PRIVATE) == 1
    assert len({tuple(pair.null.values()) for pair in all_pairs(JOINT, "record")}) >= 4


def path(mech, *, kept=1.0, wider=0, residue=False, seed=0):
    """Windows drawn by numpy: kept so many times as often, with windows wider by so many points, or with a residue."""
    rng = np.random.default_rng(seed)

    def release(table):
        out = {name: table[name] for name in table.column_names}
        for block in mech.blocks:
            places = mech.schema.columns
            columns = [table[name].to_pylist() for name in block.columns]
            for j, name in enumerate(block.columns):
                if block.category[j]:
                    columns[j] = [places[name].levels.index(level) for level in columns[j]]
            content = np.array(columns, dtype=float)
            block.to_content(content)
            keep = rng.random(table.num_rows) < block.keep * kept
            for j, (w, n) in enumerate(zip(block.window, block.outputs, strict=True)):
                near = content[j] + rng.integers(0, w + wider * (not block.category[j]), table.num_rows)
                drawn = np.where(keep, near, rng.integers(0, n, table.num_rows))
                if residue and w > 1:  # the window moves in steps of 2: parity stays that of the record
                    drawn -= (drawn - content[j]) % 2
                    drawn[drawn < 0] += 2
                content[j] = drawn
            block.to_values(content)
            for j, name in enumerate(block.columns):
                levels = np.array(places[name].levels) if block.category[j] else None
                out[name] = pa.array(content[j] if levels is None else levels[content[j].astype(int)])
        return pa.table(out)

    return release


def test_the_same_windows_drawn_by_numpy_pass():
    """The law is what the block says: so what fails below fails for what is wrong with it."""
    for mech in (SEPARATE, JOINT, ONE, COARSE):
        assert vdp.audit(mech, n=N, path=path(mech), confidence=CERTAIN).passed


@pytest.mark.parametrize(
    ("mech", "n"),
    [(ONE, 60_000), pytest.param(COARSE, 400_000, marks=pytest.mark.slow), (JOINT, 60_000)],
    ids=["one", "coarse", "joint"],
)
def test_windows_kept_too_often_fail(mech, n):
    """2% more often: q, the share of records in their window, is too large by 0.02 keep.

    A verdict needs about `0.02 keep > 2 * 3.7 sqrt(q (1 - q) / (n/2))`; n is chosen for a power near 1.
    """
    failed = [not vdp.audit(mech, n=n, path=path(mech, kept=1.02, seed=seed)).passed for seed in range(3)]
    assert all(failed)


@pytest.mark.parametrize(("mech", "n"), [(COARSE, 20_000), (FINER, 100_000)], ids=["22 points", "65 points"])
def test_a_window_one_point_too_wide_fails(mech, n):
    """Its last point is an output of one record only; a redraw never gives it.

    It shows in `keep n/2w` of n/2 releases, against at most 8.3 (at 99.98% confidence) that may have been missed: with
    n = 17 w e^epsilon / keep, and half as much again for a power near 1; five million for a window of 4096 points.
    """
    result = vdp.audit(mech, n=n, path=path(mech, wider=1))
    assert not result.passed
    assert "never gives" in result.oddest


def people(n):
    rng = np.random.default_rng(5)
    columns = {"age": rng.integers(18, 91, n), "income": np.sort(rng.uniform(0, 5e5, n))}
    return pa.table(columns | {"region": rng.choice(["n", "e", "s"], n), "y": rng.integers(0, 2, n)})


def test_a_file_that_is_not_sorted_fails(tmp_path):
    """The check is exact: another order of n rows passes once in n! times."""
    release = SEPARATE.release(people(500))
    assert vdp.audit(release, n=2000, confidence=CERTAIN).order is True
    release.save(tmp_path / "sorted")
    assert vdp.audit(vdp.load(tmp_path / "sorted"), n=2000, confidence=CERTAIN).passed
    swapped = np.arange(500)
    swapped[[100, 300]] = swapped[[300, 100]]
    unsorted = vdp.Release(release.frame.take(swapped), SEPARATE, order=release.order)
    result = vdp.audit(unsorted, n=2000, confidence=CERTAIN)
    assert not result.passed
    assert "NOT by their public hash" in str(result)
    assert vdp.audit(SEPARATE.release(people(500), shuffle=False), n=2000, confidence=CERTAIN).order is None


@pytest.mark.parametrize("mech", [COARSE, ONE, JOINT], ids=["coarse", "one", "joint"])
def test_outputs_that_keep_a_residue_of_the_record_fail(mech):
    """No likelihood ratio knows of it, and corners of the same parity hide it; other pairs do not."""
    result = vdp.audit(mech, n=4000, path=path(mech, residue=True), thorough=True)
    assert not result.passed
    assert "parity" in result.event or "residue" in result.event
