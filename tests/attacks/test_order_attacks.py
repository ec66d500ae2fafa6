"""The order of rows tells nothing of what they hold, in memory and in files of many parts."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.release.files.append import append_file
from versadp.release.files.release import release_file
from versadp.release.folder import parts

INCOME = vdp.Bounded(0, 5e5)
MECH = vdp.calibrate(vdp.Schema({"income": INCOME}), epsilon=1)


def read_off(seen, incomes, keep):
    """Return the error of a moving average over places, in standard deviations of the incomes."""
    decoded = (np.asarray(seen) - 2.5e5) / keep + 2.5e5
    average = np.convolve(decoded, np.ones(501) / 501, mode="valid")
    return np.sqrt(np.mean((average - incomes[250:-250]) ** 2)) / incomes.std()


def sorted_incomes(n=20_000):
    return np.sort(np.random.default_rng(0).uniform(0, 5e5, n))


def test_sorted_incomes_are_not_read_off_any_more():
    """A moving average over positions reads sorted values off; in the order of a hash it finds their mean."""
    incomes, keep = sorted_incomes(), MECH.blocks[0].keep
    frame = pd.DataFrame({"income": incomes})
    kept, hashed = (MECH.release(frame, shuffle=shuffle).frame["income"] for shuffle in (False, True))
    assert read_off(kept, incomes, keep) < 0.4
    assert read_off(hashed, incomes, keep) > 1


@pytest.mark.parametrize("shuffle", [False, True])
def test_sorted_files_are_not_read_off_part_by_part(tmp_path, monkeypatch, shuffle):
    """Which part a row is in tells nothing either, and neither does the number of a part that was appended to."""
    monkeypatch.setattr(parts, "PART_CELLS", 1)
    people = pd.DataFrame({"pid": range(20_000), "income": sorted_incomes()})
    people.iloc[:16_000].to_parquet(tmp_path / "first.parquet", index=False)
    people.iloc[16_000:].sort_values("income", ascending=False).to_parquet(tmp_path / "more.parquet", index=False)
    mech = vdp.calibrate(vdp.Schema({"income": INCOME}, id="pid"), epsilon=1)
    release_file(tmp_path / "first.parquet", tmp_path / "out", mech, shuffle=shuffle)
    append_file(tmp_path / "out", tmp_path / "more.parquet")
    seen = vdp.load(tmp_path / "out").frame["income"].to_numpy()
    halves = [seen[:8000].mean() - seen[8000:16_000].mean(), seen[16_000:18_000].mean() - seen[18_000:].mean()]
    errors = [seen.std() * np.sqrt(2 / n) for n in (8000, 2000)]
    if shuffle:
        assert all(abs(half) < 5 * error for half, error in zip(halves, errors, strict=True))
    else:  # the control: halves of what came in order
        assert abs(halves[0]) > 10 * errors[0]


def test_where_a_row_stands_depends_on_no_other_record():
    """Replacing one person's record moves no other row past another: their order is that of their own hashes."""
    schema = vdp.Schema({"income": INCOME}, id="pid")
    mech, key = vdp.calibrate(schema, epsilon=1), bytes(range(32))
    people = pd.DataFrame({"pid": range(5000), "income": sorted_incomes(5000)})
    one = mech.release(people, key=key).frame["income"].tolist()
    people.loc[77, "income"] = 4.9e5
    two = mech.release(people, key=key).frame["income"].tolist()
    (before,), (after,) = Counter(one) - Counter(two), Counter(two) - Counter(one)
    one.remove(before)
    two.remove(after)
    assert one == two
