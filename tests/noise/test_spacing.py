"""Windows on lattices that are even in log(1 + x): values, guarantee, inverses, and what is refused."""

import itertools
from decimal import Decimal, localcontext

import numpy as np
import pyarrow as pa
import pytest

import versadp as vdp
from versadp.noise import Window
from versadp.noise.points import How
from versadp.noise.scale import Scale
from versadp.schema.spacing import even_number, from_even, half_steps, to_even

WIDE = vdp.Bounded(0, 500_000, spacing="log1p")


def incomes(n, rng):
    return np.clip(np.exp(rng.normal(10, 0.8, n)), 0, 500_000)


def test_values_of_lattice_points_are_exact_to_the_last_bit():
    table = half_steps(0.0, 500_000.0, 5000, 700)
    with localcontext() as context:
        context.prec = 60
        step = (1 + Decimal(500_000)).ln() / 10_000
        for k in (-700, -3, 1, 4999, 9999, 10_700):
            t = k * step
            exact = t.exp() - 1 if k >= 0 else 1 - (-t).exp()
            assert table[k + 700] == float(exact)
    assert table[700] == 0.0
    assert table[700 + 10_000] == 500_000.0
    assert (np.diff(table) > 0).all()


def test_a_value_goes_to_the_nearest_point_on_its_scale():
    scale, rng = Scale("log1p", -1000.0, 500_000.0, 3000, 801), np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-1000, 500_000, 500), [-1000, 0, 500_000]])
    nearest = np.argmin(
        np.abs(to_even("log1p", x) - to_even("log1p", scale.values(np.arange(3001.0)))[:, None]), axis=0
    )
    assert (scale.points(x) == nearest).all()


def test_every_output_is_read_back_and_nothing_else():
    block = Window(epsilon=2, cells=1024, window=300).on({"x": WIDE})
    (outputs,) = block.outputs
    every = np.arange(float(outputs))[None]
    values = every.copy()
    block.to_values(values)
    assert (block.places(values) == every).all()
    block.refuse_changed(values, strict=True)
    with pytest.raises(vdp.errors.DataError, match="never gives"):
        block.refuse_changed(values * (1 + 1e-9), strict=True)


def test_guarantee_is_that_of_the_lattice_and_not_of_its_spacing():
    linear, spaced = (
        Window(epsilon=3, cells=2000).on({"x": vdp.Bounded(0, 9e5, spacing=s)}) for s in ("linear", "log1p")
    )
    assert (linear.kept, linear.outputs, linear.ratio) == (spaced.kept, spaced.outputs, spaced.ratio)
    truth = np.array([[0.0, 17.0, 5e4, 9e5]])
    content = truth.copy()
    spaced.to_content(content)
    assert ((content >= 0) & (content <= 2000)).all()
    assert (np.diff(content[0]) > 0).all()


@pytest.mark.parametrize("function", [np.log1p, np.sqrt, lambda x: x, lambda x: (x > 20_000) * 1.0])
def test_any_function_is_undone_exactly_on_every_output(function):
    block = Window(epsilon=2, cells=1024, window=300).on({"x": WIDE})
    lattice = block.even.lattice("x")
    at = from_even("log1p", lattice.values)
    psi = lattice.corrected(function(at)[:, None], lattice.even)[:, 0]
    kept = np.convolve(psi, np.ones(300) / 300, mode="valid")
    mean = block.keep * kept + (1 - block.keep) * psi.mean()
    assert np.allclose(mean, function(at), rtol=1e-9, atol=1e-9 * np.abs(function(at)).max())


def test_signed_points_are_in_the_units_of_the_column():
    block, n, rng = Window(epsilon=4).on({"x": WIDE, "a": vdp.Bounded(0, 1)}), 2000, np.random.default_rng(1)
    content = np.tile(np.array([[30_000.0], [0.25]]), n)
    block.to_content(content)
    block.add_noise(content, rng.integers(0, 2**64, (block.words, n), dtype=np.uint64))
    block.to_values(content)
    points = block.points(content, rng, How(4))
    each = np.bincount(points.record, points.weight * np.log1p(points.columns["x"]), n)
    assert abs(each.mean() - np.log1p(30_000)) < 4 * each.std() / n**0.5


def test_bounds_may_lie_on_both_sides_of_nought():
    scale = Scale("log1p", -5e5, 5e5, 2048, 401)
    assert scale.values(np.array([1024.0]))[0] == pytest.approx(0, abs=1e-9)
    assert (scale.values(np.arange(2049.0)) == -scale.values(np.arange(2049.0))[::-1]).mean() > 0.5
    assert even_number("log1p", -5e5) == -even_number("log1p", 5e5)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: vdp.Bounded(0, 9, spacing="sqrt"), "no spacing"),
        (lambda: vdp.Bounded(0, 9, step=1, spacing="log1p"), "not both"),
        (lambda: vdp.Mechanism(vdp.Schema({"x": WIDE}), scale=0.5, exact_rate=0.1), "which has a spacing"),
        (lambda: Window(2.0, cells=50).on({"x": WIDE}), "1,024 cells"),
        (lambda: Window(2.0, cells=2000, window=900_000).on({"x": WIDE}), "may be infinite"),
    ],
)
def test_what_cannot_be_spaced_is_refused(make, what):
    with pytest.raises(vdp.errors.VersadpError, match=what):
        make()


def test_schema_and_mechanism_are_read_back(tmp_path):
    schema = vdp.Schema({"x": vdp.Bounded(2000, 90_000, declared=(0, 5e5), spacing="log1p", nullable=True)})
    assert vdp.Schema.from_dict(schema.to_dict()) == schema
    (tmp_path / "schema.toml").write_text(schema.to_toml())
    assert vdp.Schema.from_toml(tmp_path / "schema.toml") == schema
    mech = vdp.calibrate(schema, epsilon=4)
    assert vdp.Mechanism.from_json(mech.to_json()) == mech
    assert "within a factor of" in mech.statement()
    with pytest.raises(vdp.errors.VersadpError, match="before version 4"):
        vdp.Mechanism.from_json(mech.to_json().replace('"version": 4', '"version": 3'))


@pytest.mark.full
@pytest.mark.parametrize("nullable", [False, True, "public"])
def test_all_that_is_learnt_of_a_spaced_column_is_near_the_truth(nullable):
    rng, n = np.random.default_rng(2), 30_000
    x, g = incomes(n, rng), rng.choice(["a", "b"], n)
    y = 2 + 3e-5 * x + (g == "b") + rng.normal(0, 1, n)
    schema = vdp.Schema(
        {
            "x": vdp.Bounded(0, 500_000, spacing="log1p", nullable=nullable),
            "g": vdp.Categorical(["a", "b"]),
            "y": vdp.Public(),
        }
    )
    shown = np.where(rng.random(n) < 0.1, np.nan, x) if nullable else x
    mech = vdp.calibrate(schema, epsilon=12, groups=[("x", "g")])
    release = mech.release(pa.table({"x": pa.array(shown, from_pandas=True), "g": g, "y": y}))
    known = ~np.isnan(shown)
    truth = np.linalg.lstsq(np.stack([np.ones(n), x, g == "b"], axis=1)[known], y[known], rcond=None)[0]
    fit = vdp.fit(release, "y ~ x + C(g)")
    assert (np.abs(fit.params.values - truth) < 4.5 * fit.bse.values).all()
    logs = np.linalg.lstsq(np.stack([np.ones(n), np.log1p(x)], axis=1)[known], y[known], rcond=None)[0]
    fit = vdp.fit(release, "y ~ np.log1p(x)")
    assert (np.abs(fit.params.values - logs) < 4.5 * fit.bse.values).all()
    mean = vdp.fit(release, loss=vdp.losses.Mean("x"))
    assert abs(mean.params.values[0] - x[known].mean()) < 4.5 * mean.bse.values[0]
    assert "mean of x" in repr(mean.params)
    found = vdp.describe(release, columns=["x"])["x"]
    assert abs(found.mean.value - x[known].mean()) < 4.5 * found.mean.error
    assert found.mean.value == pytest.approx(mean.params.values[0], rel=1e-6)
    if nullable is False:
        low, high = np.quantile(x, 0.5) * np.array([0.9, 1.1])
        assert low < found.quantiles[0.5].value < high
        median = vdp.fit(release, loss=vdp.losses.Quantile("x", 0.5))
        (ends,) = np.asarray(median.conf_int(level=0.9999))
        assert ends[0] <= np.median(x) <= ends[1]


def test_table_counts_between_edges_of_a_spaced_column():
    rng, n = np.random.default_rng(3), 30_000
    x = incomes(n, rng)
    release = vdp.calibrate(vdp.Schema({"x": WIDE}), epsilon=6).release(pa.table({"x": x}))
    edges = [0, 10_000, 30_000, 500_000]
    found = vdp.table(release, "x", bins={"x": edges}).to_pandas()
    counts = found.xs("count", level="statistic").iloc[:3]
    truth = np.histogram(x, edges)[0]
    # soft edges: a few percent of the people near an edge are on its other side
    assert (np.abs(counts["estimate"].to_numpy() - truth) < 4.5 * counts["std_error"].to_numpy() + 0.02 * n).all()


def test_a_design_in_the_function_of_the_lattice_is_linear():
    from versadp.formula.design import make_design

    schema = vdp.Schema({"x": WIDE, "a": vdp.Bounded(0, 1), "y": vdp.Public()})
    for term, linear in (
        ("np.log1p(x)", True),
        ("x", False),
        ("np.sqrt(x)", False),
        ("np.log1p(a)", False),
        ("a", True),
    ):
        assert make_design(f"y ~ {term}", schema).linear is linear


def test_unchanged_columns_are_released_as_before():
    """Words, content and values of linear columns do not depend on a spaced one in another block."""
    rng = np.random.default_rng(4)
    table = pa.table({"a": rng.uniform(0, 1, 500), "x": incomes(500, rng)})
    key = rng.bytes(32)
    found = []
    for spacing in ("linear", "log1p"):
        schema = vdp.Schema({"a": vdp.Bounded(0, 1), "x": vdp.Bounded(0, 500_000, spacing=spacing)})
        mech = vdp.Mechanism(schema, noise={"a": Window(2), "x": Window(2, cells=4096, window=1500)})
        found.append(mech.release(table, key=key, shuffle=False))
    assert found[0].mechanism.blocks[0] == found[1].mechanism.blocks[0]


@pytest.mark.parametrize("epsilon", [4.0])
def test_outputs_of_a_small_spaced_window_follow_their_law(epsilon):
    """Frequencies over all outputs by quadrature over words: a window of the same lattice gives the same content."""
    spaced = Window(epsilon, cells=1024, window=200).on({"x": WIDE})
    words = np.array(list(itertools.product(range(0, 2**64, 2**57), repeat=2)), dtype=np.uint64).T
    content = np.full((1, words.shape[1]), 30_000.0)
    spaced.to_content(content)
    (start,) = np.unique(content)
    spaced.add_noise(content, np.ascontiguousarray(words))
    inside = ((content >= start) & (content < start + 200)).mean()
    expected = spaced.keep + (1 - spaced.keep) * 200 / spaced.outputs[0]
    assert inside == pytest.approx(expected, abs=0.03)
