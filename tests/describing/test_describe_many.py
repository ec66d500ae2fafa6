"""describe of very many levels and columns: what is worked out is bounded, and what is left out is said."""

import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main
from versadp.describing.column import SHOWN
from versadp.describing.layout import MOST_CORRELATED, Layout
from versadp.describing.level_counts import MOST_DENSE, undo_levels
from versadp.noise import Response, Window
from versadp.schema import Bounded, Categorical, Public

KEY = bytes(range(32))
CATEGORIES = {
    "response": {"c": Response(0.4)},
    "window": {"c": Window(3)},
    "joint": {("c", "x"): Window(5)},
}


def released(columns, noise, table):
    return vdp.Mechanism(vdp.Schema(columns), noise=noise).release(pa.table(table), key=KEY)


@pytest.mark.parametrize("noise", CATEGORIES)
@pytest.mark.parametrize("nullable", [False, True, "public"])
def test_levels_without_a_matrix_are_those_with_one(monkeypatch, noise, nullable):
    columns = {"c": Categorical(["a", "b", "c", "d"], nullable=nullable)} | (
        {"x": Bounded(0, 1)} if noise == "joint" else {}
    )
    table = {"c": ["a", "b", "c", "d"] * 10, "x": np.linspace(0, 1, 40)}
    layout = Layout.of(released(columns, CATEGORIES[noise], {name: table[name] for name in columns}))
    if noise == "joint":  # its counts are undone by those of the category alone
        layout = Layout(layout.columns, {"c": layout.alone("c")}, {}, layout.rows)
    counts = np.array([7.0, 11.0, 2.0, 5.0, 3.0 if nullable else 0.0])
    found = undo_levels(layout, "c", counts)
    monkeypatch.setattr(type(layout.blocks["c"]), "lattice", lambda _block, _column: None)
    for one, other in zip(found, undo_levels(layout, "c", counts), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("nullable", [False, True])
def test_a_postcode_of_30_000_levels_is_described_in_little_memory(nullable):
    names = [f"{number:05d}" for number in range(30_000)]
    rng = np.random.default_rng(0)
    home = rng.choice(names[:20], 20_000)
    schema = {"post": Categorical(names, nullable=nullable), "age": Bounded(18, 90)}
    release = released(
        schema, {"post": Window(12), "age": Window(4)}, {"post": home, "age": rng.uniform(18, 90, 20_000)}
    )
    tracemalloc.start()
    try:
        described = vdp.describe(release, engine="serial")
        text = described.summary()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200e6  # 30,000 x 30,000 numbers take 7.2e9
    shares = described["post"].shares
    assert len(shares) == 30_000
    truth = pd.Series(home).value_counts(normalize=True)
    assert all(abs(shares[name].value - truth[name]) < 5 * shares[name].error for name in names[:20])
    assert set(names[:20]) < set(described["post"].often)
    assert text.count("share of") == SHOWN
    assert f"summaries show the {SHOWN} most frequent of its 30,000 levels" in text
    assert len([row for row in described.table if row["column"] == "post"]) == 30_000 + nullable


def test_the_picture_of_many_levels_shows_the_frequent_ones():
    names = [f"{number:03d}" for number in range(200)]
    home = np.random.default_rng(0).choice(names[:5], 5000)
    columns = {"post": Categorical(names, nullable=True)}
    described = vdp.describe(released(columns, {"post": Response(0.9)}, {"post": home}))
    (axes,) = described.plot().axes[:1]
    assert len(axes.patches) <= 2 * (SHOWN + 1) + 1
    assert "Traceback" not in vdp.report(released(columns, {"post": Response(0.9)}, {"post": home})).html


def test_own_noise_on_many_levels_is_not_undone_by_a_matrix(monkeypatch):
    names = [f"{number}" for number in range(MOST_DENSE + 1)]
    release = released({"post": Categorical(names)}, {"post": Response(0.9)}, {"post": names})
    monkeypatch.setattr(type(release.mechanism.blocks[0]), "lattice", lambda _block, _column: None)
    monkeypatch.setattr(type(release.mechanism.blocks[0]), "points", None)  # never asked
    described = vdp.describe(release)
    assert not any(each.told for each in described["post"].shares.values())
    assert "post: its noise hides its levels completely" in described.notes


def many(count):
    rng = np.random.default_rng(0)
    names = [f"x{number}" for number in range(count)]
    frame = pd.DataFrame({name: rng.uniform(0, 1, 300) for name in names})
    frame.loc[:5, "x4"] = np.nan
    columns = {name: Public() for name in names} | {"x1": Bounded(0, 1), "x2": Bounded(0, 1), "x3": Bounded(0, 1)}
    columns["x4"] = Bounded(0, 1, nullable=True)
    noise = {("x1", "x2"): vdp.noise.ZeroInflated(0.25, 0.5), ("x3", "x4"): Window(8)}
    return released(columns, noise, pa.Table.from_pandas(frame, preserve_index=False))


def test_correlations_of_too_many_numbers_are_left_out_with_a_sentence():
    release = many(MOST_CORRELATED + 1)
    described = vdp.describe(release)
    assert described.correlations.shape == (0, 0)
    sentence = f"no correlations of {MOST_CORRELATED + 1} numbers: choose at most {MOST_CORRELATED} columns"
    assert any(sentence in note for note in described.notes)
    with pytest.raises(vdp.errors.NoSuchName, match="choose at most") as problem:
        described.correlation("x1", "x9")
    assert "columns=['x1', 'x9']" in problem.value.hint
    fewer = vdp.describe(release, columns=[f"x{number}" for number in range(MOST_CORRELATED)])
    assert list(fewer) == list(described)[:-1]
    for name, column in fewer.items():
        mine = [each for _, each in described[name].rows()]
        np.testing.assert_allclose(mine, [each for _, each in column.rows()], rtol=1e-9, atol=1e-12)
    assert fewer.correlation("x1", "x9").told


def test_memory_of_a_description_does_not_grow_with_the_squares_of_columns():
    release = many(400)
    tracemalloc.start()
    try:
        vdp.describe(release, engine="serial", quantiles=())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6  # sums of products of products of 400 numbers take 52e9


def test_columns_can_be_chosen(tmp_path):
    release = many(6)
    with pytest.raises(vdp.errors.NoSuchName, match="there is no column 'x7'"):
        vdp.describe(release, columns=["x7"])
    release.save(tmp_path / "released")
    said = CliRunner().invoke(main, ["describe", str(tmp_path / "released"), "--column", "x1", "--column", "x5"])
    assert said.exit_code == 0, said.output
    assert "x1" in said.output
    assert "x2" not in said.output
