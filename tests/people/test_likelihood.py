"""The likelihood of joint outputs by sliding windows, against the noise's own law, point by point."""

import itertools

import numpy as np
import pandas as pd
import pytest

import versadp as vdp
from versadp.people.axes import make_axis
from versadp.people.law import Counted, likeliest
from versadp.people.likelihood import make_channel

NUMBER = vdp.Bounded(0, 5, step=1)
SCHEMAS = {
    "joint": {"a": NUMBER, "b": vdp.Bounded(0, 3, step=1), "c": vdp.Categorical(["x", "y", "z"])},
    "private missing": {"a": vdp.Bounded(0, 5, step=1, nullable=True), "c": vdp.Categorical(["x", "y"], nullable=True)},
    "public missing": {"a": vdp.Bounded(0, 5, step=1, nullable="public"), "b": NUMBER},
}
NOISE = {
    "joint": lambda names: {tuple(names): vdp.noise.Window(epsilon=1.5, window=dict.fromkeys(set(names) - {"c"}, 3))},
    "apart": lambda names: {
        name: vdp.noise.Response(keep=0.6) if name == "c" else vdp.noise.Window(epsilon=1.5, window=3) for name in names
    },
}


def setting(columns, layout):
    mechanism = vdp.Mechanism(vdp.Schema(columns), noise=NOISE[layout](list(columns)))
    home = {name: block for block in mechanism.blocks for name in block.columns}
    axes = [make_axis(name, columns[name], home[name].lattice(name), 64) for name in columns]
    return mechanism, axes, make_channel(axes, [block.columns for block in mechanism.blocks])


def released(axis):
    """Return every value that a column's noise gives, NaN for a missing one."""
    lattice = axis.lattice
    values = lattice.low + lattice.step * (np.arange(lattice.shown) - (lattice.window - 1) / 2)
    return np.append(values, np.nan) if axis.size > axis.known else values


def law_by_counting(mechanism, axes, outputs, points):
    """Return the probability of outputs given points, from kept and redrawn outputs counted one by one."""
    total = 1.0
    for block in mechanism.blocks:
        names, kept, drawn = block.columns, 1.0, 1.0
        for name in names:
            j = next(k for k, axis in enumerate(axes) if axis.name == name)
            lattice, z, x = axes[j].lattice, outputs[j], points[j]
            w, last, s = lattice.window, lattice.last, lattice.unseen
            missing, unseen = np.isnan(axes[j].points[x]), np.isnan(z)
            if getattr(axes[j].declared, "nullable", False) == "public" and (missing or unseen):
                kept, drawn = kept * (missing == unseen), drawn * (missing == unseen)
                continue
            place = None if unseen else round((z - lattice.low) / lattice.step + (w - 1) / 2)
            first = (last + s) // 2
            if unseen:
                kept *= s / w if missing else 0.0
                drawn *= s / (last + w + s)
            else:
                middle = first <= place < first + w - s
                kept *= (1 / w) * (middle if missing else axes[j].place[x] <= place < axes[j].place[x] + w)
                drawn *= 1 / (last + w + s)
        total *= block.keep * kept + (1 - block.keep) * drawn
    return total


@pytest.mark.parametrize("layout", NOISE)
@pytest.mark.parametrize("columns", SCHEMAS.values(), ids=SCHEMAS)
def test_likelihood_is_that_of_the_noise(columns, layout):
    mechanism, axes, channel = setting(columns, layout)
    rng = np.random.default_rng(0)
    points = list(itertools.product(*(range(axis.size) for axis in axes)))
    every = list(itertools.product(*(released(axis) for axis in axes)))
    for outputs in [every[k] for k in rng.choice(len(every), 40)]:
        codes = np.array([[axis.code(np.array([z]))[0] for axis, z in zip(axes, outputs, strict=True)]], np.int32)
        found = channel.responsibility(np.ones(1), codes).ravel()
        true = np.array([law_by_counting(mechanism, axes, outputs, x) for x in points])
        scale = found.sum() / true.sum()  # outputs of what is missing are one, and weigh as each of them
        assert np.allclose(found, true * scale, rtol=1e-9, atol=1e-12)
        law = rng.dirichlet(np.ones(len(points))).reshape(channel.shape)
        assert channel.likelihood(law, codes)[0] == pytest.approx(scale * true @ law.ravel(), rel=1e-9)
    assert not np.allclose(found, np.roll(true, 1) * scale)  # the points are told apart


def test_laws_of_outputs_add_up_to_one():
    _, axes, channel = setting(SCHEMAS["joint"], "joint")
    codes = [[axis.code(released(axis)) for axis in axes]]
    every = np.array(list(itertools.product(*codes[0])), np.int32)
    law = np.random.default_rng(1).dirichlet(np.ones(72)).reshape(channel.shape)
    assert channel.likelihood(law, every).sum() == pytest.approx(1, abs=1e-9)


def test_steps_are_those_of_em_with_the_whole_kernel():
    _, axes, channel = setting(SCHEMAS["joint"], "apart")
    rng = np.random.default_rng(2)
    codes = np.stack([axis.code(rng.choice(released(axis), 30)) for axis in axes], axis=1).astype(np.int32)
    counted = Counted.of(codes)
    eye = np.eye(72).reshape(72, *channel.shape)
    kernel = np.stack([channel.likelihood(each, counted.codes) for each in eye], axis=1)
    law = np.full(72, 1 / 72)
    values = []
    for _ in range(5):
        seen = kernel @ law
        expected = law * (kernel.T @ (counted.counts / seen)) / counted.counts.sum()
        found, value = channel.step(law.reshape(channel.shape), counted.codes, counted.counts)
        assert np.allclose(found.ravel(), expected, atol=1e-12)
        law = found.ravel()
        values.append(value)
    assert np.all(np.diff(values) > 0)


def test_fine_lattices_have_few_points_and_few_codes():
    block = vdp.noise.Window(epsilon=4).on({"a": vdp.Bounded(0, 1)})
    axis = make_axis("a", vdp.Bounded(0, 1), block.lattice("a"), 64)
    assert axis.size == 64
    assert axis.codes < 200
    assert axis.gap > 0
    law, seen = np.full(64, 1 / 64), released(axis)
    channel = make_channel([axis], [("a",)])
    codes = axis.code(seen)[:, None].astype(np.int32)
    assert channel.likelihood(law, codes).sum() == pytest.approx(1, abs=0.02)  # windows end between points


def test_em_finds_the_law_and_stops_before_it_follows_noise():
    rng = np.random.default_rng(3)
    columns = {"a": NUMBER, "b": NUMBER}
    mechanism, axes, channel = setting(columns, "joint")
    a = rng.binomial(5, 0.4, 20_000)
    raw = {"a": a.astype(float), "b": np.clip(a + rng.integers(-1, 2, 20_000), 0, 5).astype(float)}
    release = mechanism.release(pd.DataFrame(raw))
    codes = np.stack([axis.code(release.frame[axis.name].to_numpy()) for axis in axes], axis=1)
    start = np.full(channel.shape, 1 / 36)
    law, steps = likeliest(channel, Counted.of(codes), start, np.random.default_rng(0))
    true = np.histogram2d(raw["a"], raw["b"], bins=[np.arange(-0.5, 6)] * 2)[0] / 20_000
    assert np.abs(law - true).max() < 0.05 < np.abs(start - true).max()
    assert 1 <= steps <= 150
