"""Calibration to totals against enumeration of every record and every output, whatever the blocks."""

import itertools

import numpy as np
import pytest

from versadp import Bounded, Categorical
from versadp.correction.calibration import Calibration, Uniform
from versadp.correction.features import Features
from versadp.correction.lattice_laws import LatticeLaw, merged_for
from versadp.noise import Window
from versadp.noise.lattice import Lattice
from versadp.noise.terms import SeparableTerms

NUMBERS = {"a": Bounded(0, 3, step=1), "b": Bounded(0, 2, step=1)}
BOTH = {"cells": {"a": 3, "b": 2}, "window": {"a": 3, "b": 2}}


def blocks_of(layout):
    """Return blocks on a 4 x 3 x 2 domain, with a missing value more per nullable column."""
    flag = {"c": Categorical([0, 1])}
    if layout == "one":
        return [Window(2.0, **BOTH).on(NUMBERS | flag)]
    if layout == "nullable":
        maybe = {"a": Bounded(0, 3, step=1, nullable=True), "c": Categorical([0, 1], nullable=True)}
        return [Window(2.0, **BOTH).on({"a": maybe["a"], "b": NUMBERS["b"], "c": maybe["c"]})]
    if layout == "two":
        return [Window(2.0, **BOTH).on(NUMBERS), Window(1.0).on(flag)]
    own = {name: {key: {name: size[name]} for key, size in BOTH.items()} for name in NUMBERS}
    numbers = [Window(epsilon, **own[name]).on({name: NUMBERS[name]}) for name, epsilon in (("a", 2.0), ("b", 1.5))]
    return [*numbers, Window(1.0).on(flag)]


class World:
    """All records and outputs of some blocks, with what every function is undone to."""

    def __init__(self, layout, rng):
        self.blocks = blocks_of(layout)
        self.laws = {name: LatticeLaw(block.lattice(name)) for block in self.blocks for name in block.columns}
        self.points = {name: law.size for name, law in self.laws.items()}
        self.grid = np.array(list(itertools.product(*map(range, self.points.values()))))
        self.law, self.undo = np.ones((1, 1)), np.ones((1, 1))
        for block in self.blocks:
            seen, inverse, drawn = np.ones((1, 1)), np.ones((1, 1)), np.ones(1)
            for name in block.columns:
                own = self.laws[name]
                seen, inverse = np.kron(seen, own.seen), np.kron(inverse, own.inverse)
                drawn = np.kron(drawn, own.lattice.drawn)
            self.law = np.kron(self.law, block.keep * seen + (1 - block.keep) * drawn)
            self.undo = np.kron(self.undo, inverse / block.keep + (1 - 1 / block.keep) * (drawn @ inverse))
        self.functions = {
            name: np.concatenate([np.ones((size, 1)), np.eye(size), rng.normal(size=(size, 2))], axis=1)
            for name, size in self.points.items()
        }
        each = {name: range(1, f.shape[1]) for name, f in self.functions.items()}
        chosen = [{name: k} for name in each for k in each[name]]
        chosen += [
            {one: k, two: j} for one, two in itertools.combinations(each, 2) for k in each[one] for j in each[two]
        ]
        self.terms = SeparableTerms(
            self.functions, {name: np.array([own.get(name, 0) for own in chosen]) for name in each}
        )
        self.phi = np.prod(
            [f[self.grid[:, j]][:, self.terms.at[name]] for j, (name, f) in enumerate(self.functions.items())], axis=0
        )
        self.features = Features.of(self.blocks, self.terms)

    def covariance(self, one, two):
        """Return the mean covariance of what two sets of functions are undone to, records uniform."""
        left, right = self.undo @ one, self.undo @ two
        share = np.full(len(self.grid), 1 / len(self.grid))
        return (left * (share @ self.law)[:, None]).T @ right - one.T @ two / len(self.grid)

    def nearest_pairs(self, v):
        """Return the nearest sums of functions of two columns, by least squares over all records."""
        pairs = itertools.combinations(range(self.grid.shape[1]), 2)
        cells = [
            np.ravel_multi_index(self.grid[:, own].T, self.grid[:, own].max(axis=0) + 1) for own in map(list, pairs)
        ]
        design = np.concatenate([np.eye(cell.max() + 1)[cell] for cell in cells], axis=1)
        return design @ np.linalg.lstsq(design, v, rcond=None)[0]

    def calibration(self, rng, rows=400):
        """Return calibration of some drawn records, with their outputs."""
        x = rng.integers(0, len(self.grid), rows)
        z = np.array([rng.choice(self.law.shape[1], p=own / own.sum()) for own in self.law[x]])
        outputs = [law.outputs for law in self.laws.values()]
        seen = dict(zip(self.laws, np.unravel_index(z, outputs), strict=True))
        sd = rng.uniform(0.01, 0.02, self.features.size)
        counts = {}
        for support in self.features.groups:
            shape = tuple(self.laws[name].outputs for name in support)
            counts[support] = np.zeros(shape)
            np.add.at(counts[support], tuple(seen[name] for name in support), 1 / rows)
        means = self.phi[x].mean(axis=0) + sd * rng.normal(size=sd.size)
        return Calibration(self.features, rows, sd, counts, means), x, z

    def uniform(self, columns):
        """Return all points of some columns."""
        every = np.array(list(itertools.product(*(range(self.points[name]) for name in columns))))
        codes = {name: every[:, j] for j, name in enumerate(columns)}
        return Uniform(codes, np.full(len(every), 1 / len(every)))


LAYOUTS = ("one", "nullable", "two", "three")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_noise_covariance_is_that_of_every_record_and_output(layout):
    world = World(layout, np.random.default_rng(1))
    exact = world.covariance(world.phi, world.phi)
    assert np.abs(world.features.covariance() - exact).max() < 1e-11 * np.abs(exact).max()


def test_formula_of_one_block_is_wrong_for_two():
    world = World("two", np.random.default_rng(1))
    exact = world.covariance(world.phi, world.phi)
    own = world.features
    joined = Features(own.laws, own.functions, own.at, own.groups, (own.columns,), own.keep[:1])
    assert np.abs(joined.covariance() - exact).max() > 0.1 * np.abs(exact).max()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_measure_and_gain_are_those_of_the_formula(layout):
    rng = np.random.default_rng(2)
    world = World(layout, rng)
    calibration, _, z = world.calibration(rng)
    undone = world.undo @ world.phi
    assert np.allclose(calibration.by_records, undone[z].mean(axis=0), atol=1e-12)
    noise = world.covariance(world.phi, world.phi) + calibration.rows * np.diag(calibration.sd**2)
    weights = np.linalg.solve(noise, calibration.means - undone[z].mean(axis=0))
    for columns in (("a", "b", "c"), ("c", "a"), ("b",)):
        points = world.uniform(columns)
        v = rng.normal(size=(points.size, 3))
        names = list(world.points)
        place = np.zeros(len(world.grid), np.int64)
        for name in columns:
            place = place * world.points[name] + world.grid[:, names.index(name)]
        exact = world.covariance(world.nearest_pairs(v[place]), world.phi)
        assert np.allclose(calibration.covariances(calibration.projected(points, v)), exact, atol=1e-11)
        assert np.allclose((points.mass * calibration.density(points)) @ v, exact @ weights, atol=1e-11)
        if len(columns) < 3:
            assert np.allclose(exact, world.covariance(v[place], world.phi), atol=1e-11)
        gain = calibration.gain(calibration.projected(points, v))
        tables = world.features.tables(gain)
        seen = dict(zip(world.laws, np.unravel_index(z, [law.outputs for law in world.laws.values()]), strict=True))
        control = sum(
            world.features.undone(support, own)[(slice(None), *(seen[name] for name in support))]
            for support, own in tables.items()
        )
        assert np.allclose(control, gain @ undone[z].T, atol=1e-10)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_expectation_of_any_function_is_exact_for_any_gain(layout):
    """`E [psi_v + B (S - psi_phi)] = v` for 50 functions and any B: the part that the totals add has expectation 0."""
    rng = np.random.default_rng(3)
    world = World(layout, rng)
    v, gain = rng.normal(size=(len(world.grid), 50)), rng.normal(size=(50, world.features.size)) / 50
    records = world.law @ (world.undo @ v)
    added = (world.phi - world.law @ (world.undo @ world.phi)) @ gain.T
    assert np.abs(records + added - v).max() < 1e-12
    wrong = (world.phi - world.law @ world.phi[np.zeros(world.law.shape[1], int)]) @ gain.T
    assert np.abs(records + wrong - v).max() > 1e-2


def test_noise_covariance_is_that_of_simulated_noise():
    """The real blocks on uniform records: the variance of what features are undone to, within 2%."""
    rng = np.random.default_rng(4)
    world = World("two", rng)
    n, names = 400_000, list(world.points)
    x = np.array([rng.integers(0, size, n) for size in world.points.values()], dtype=float)
    undone = 0.0
    content, at = x.copy(), 0
    for block in world.blocks:
        own = content[at : at + len(block.columns)]
        block.add_noise(own, rng.integers(2**64, size=(block.words, n), dtype=np.uint64))
        at += len(block.columns)
    outputs = [law.outputs for law in world.laws.values()]
    z = np.ravel_multi_index(tuple(content.astype(int)), outputs)
    some = rng.choice(world.features.size, 12, replace=False)
    undone = (world.undo @ world.phi)[z][:, some]
    true = np.prod(
        [world.functions[name][x[j].astype(int)][:, world.terms.at[name][some]] for j, name in enumerate(names)], axis=0
    )
    found = ((undone - true) ** 2).mean(axis=0)
    exact = np.diag(world.features.covariance())[some]
    assert np.abs(found / exact - 1).max() < 0.02


@pytest.mark.parametrize("unseen", [0, 18])
def test_merged_lattice_undoes_functions_that_are_straight_between_points(unseen):
    lattice = Lattice(0.0, 1.0, 100, 36, keep=0.5, unseen=unseen)
    nodes = np.minimum(12 * np.arange(10), 100)
    hats = np.stack([np.interp(np.arange(101), nodes, own) for own in np.eye(10)], axis=1)
    law, straight = merged_for(lattice, np.append(hats, np.zeros((int(unseen > 0), 10)), axis=0))
    assert law.lattice.merged == 12
    assert np.allclose(law.seen @ law.inverse, np.eye(law.size), atol=1e-12)
    # what fine outputs show, merged: every fine point sees its hats
    outputs = np.arange(101)[:, None] + np.arange(36)
    undone = (law.inverse @ straight)[outputs // 12]
    assert np.allclose(undone.mean(axis=1), hats, atol=1e-12)
    assert (
        merged_for(lattice, np.arange(101.0)[:, None] ** 2) is None
        or merged_for(lattice, np.arange(101.0)[:, None] ** 2)[0].lattice.merged == 1
    )
