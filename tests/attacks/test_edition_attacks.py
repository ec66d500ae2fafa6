"""What two editions tell beside one another: not whose record changed."""

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.release.files import edition
from versadp.release.files.release import release_file

N = 2000
COLUMNS = ("a", "b", "c", "d")
SCHEMA = vdp.Schema({name: vdp.Bounded(0, 1) for name in COLUMNS}, id="pid")
NOISES = {
    "laplace": vdp.Mechanism(SCHEMA, scale=0.5, exact_rate=0.0),
    "window": vdp.Mechanism(SCHEMA, noise={name: vdp.noise.Window(epsilon=2) for name in COLUMNS}),
}
KEYS = [bytes(range(start, start + 32)) for start in (0, 50, 100)]


@pytest.fixture
def months(tmp_path, monkeypatch):
    """Two months of the same people: the first half changed, the second did not."""
    monkeypatch.setenv("VERSADP_STATE", str(tmp_path / "states"))
    rng = np.random.default_rng(3)
    first = pd.DataFrame({"pid": np.arange(N)} | {name: rng.uniform(0, 1, N) for name in COLUMNS})
    second = first.copy()
    second.loc[: N // 2 - 1, list(COLUMNS)] = rng.uniform(0, 1, (N // 2, len(COLUMNS)))
    for name, frame in {"first": first, "second": second}.items():
        frame.to_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


def editions(folder, noise, keys, *, shuffle):
    """Release both months as editions; return the released rows of each."""
    options = {"shuffle": shuffle}
    release_file(folder / "first.parquet", folder / "out", NOISES[noise], key=keys[0], **options)
    release_file(folder / "second.parquet", None, NOISES[noise], edition_of=folder / "out", key=keys[1], **options)
    return [vdp.load(folder / "out", edition=k).to_pandas()[list(COLUMNS)].to_numpy() for k in (1, 2)]


def seen_again(one, two):
    """Return how many rows of an edition occur in another one."""
    rows = {row.tobytes() for row in one}
    return sum(row.tobytes() in rows for row in two)


@pytest.fixture
def carrying(monkeypatch):
    """Editions that carry rows over: the key is used again, so that who did not change gets the same noise."""
    monkeypatch.setattr(edition, "_refuse_before", lambda *_: None)


def test_no_row_of_an_edition_is_carried_over(months):
    one, two = editions(months, "laplace", KEYS[:2], shuffle=True)
    assert seen_again(one, two) == 0  # of 2,000 rows in about 4e12 that are near each


def test_rows_that_are_carried_over_are_noticed(months, carrying):
    one, two = editions(months, "laplace", [KEYS[0], KEYS[0]], shuffle=True)
    assert seen_again(one, two) == N // 2


@pytest.mark.parametrize("noise", NOISES)
def test_noise_of_who_did_not_change_is_independent(months, noise):
    """As often the same as in a release with a key of its own, and no more correlated."""
    one, two = editions(months, noise, KEYS[:2], shuffle=False)
    apart = NOISES[noise].release(pd.read_parquet(months / "first.parquet"), key=KEYS[2], shuffle=False)
    other = apart.frame[list(COLUMNS)].to_numpy()
    truth = pd.read_parquet(months / "first.parquet")[list(COLUMNS)].to_numpy()
    same = slice(N // 2, N)
    by_edition, by_chance = (int((one[same] == each[same]).sum()) for each in (two, other))
    assert abs(by_edition - by_chance) <= 4 * np.sqrt(by_chance + 1)
    if noise == "laplace":
        left, right = (one - truth)[same].ravel(), (two - truth)[same].ravel()
        assert abs(np.corrcoef(left, right)[0, 1]) < 4 / np.sqrt(len(left))


@pytest.mark.parametrize("noise", NOISES)
def test_noise_that_is_carried_over_is_noticed(months, carrying, noise):
    one, two = editions(months, noise, [KEYS[0], KEYS[0]], shuffle=False)
    same = slice(N // 2, N)
    assert (one[same] == two[same]).all()
    assert (one[: N // 2] == two[: N // 2]).mean() < 0.5
