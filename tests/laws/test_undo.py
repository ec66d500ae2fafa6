"""Every block that has `undo` undoes products of functions of its columns exactly, missing values and all.

    sum over outputs z of P(z | x) undo(terms)(z)_k  =  Π_c f_kc(x_c)        for random functions and every x

by enumeration: nothing is drawn but the functions, at a fixed seed.
"""

import itertools
import math

import numpy as np
import pytest

from versadp.errors import DataError
from versadp.noise import REGISTRY, Response, Subset, Window, ZeroInflated
from versadp.noise.terms import SeparableTerms
from versadp.schema import Bounded, Categorical
from versadp_tests.outputs import kept_outputs

A, B = Bounded(0, 4, step=1), Bounded(-1, 1)
G = Categorical(["u", "v", "w"])


def nullable(column, null):
    if isinstance(column, Bounded):
        return Bounded(column.lower, column.upper, step=column.step, nullable=null)
    return Categorical(column.levels, nullable=null)


def window(columns, missing="window", **windows):
    cells = {name: column.steps or 4 for name, column in columns.items() if isinstance(column, Bounded)}
    wide = {name: windows[name] for name in cells} or None
    return Window(2.0, cells=cells or None, window=wide, missing=missing).on(columns)


BLOCKS = {
    "one number": window({"a": A}, a=3),
    "without a window": window({"b": B}, b=1),
    "numbers": window({"a": A, "b": B}, a=3, b=2),
    "number and category": window({"a": A, "g": G}, a=7),
    "part of a window": window({"a": A, "b": B, "g": G}, a=3, b=2).part({"a", "g"}),
    "privately missing": window({"a": nullable(A, True), "b": B, "g": nullable(G, True)}, a=3, b=2),
    "shared places": window({"a": nullable(A, True), "b": B, "g": nullable(G, True)}, 2, a=3, b=2),
    "shared places of two": window({"a": nullable(A, True), "b": nullable(B, True)}, 2, a=6, b=3),
    "publicly missing": window({"a": nullable(A, "public"), "b": B}, a=3, b=2),
    "missing both ways": window({"a": nullable(A, True), "g": nullable(G, "public")}, a=2),
    "response": Response(0.4).on({"g": G}),
    "response, privately missing": Response(0.4).on({"g": nullable(G, True)}),
    "response, publicly missing": Response(0.4).on({"g": nullable(G, "public")}),
}
TERMS = 7


def columns_of(block):
    """Return of each column its lattice, and whether a value may be missing privately or publicly."""
    nulls = block.nulls if isinstance(block.nulls, tuple) else (block.nulls,)
    return [(block.lattice(name), null) for name, null in zip(block.columns, nulls, strict=True)]


def records(block):
    """Return every record as places on the lattices; None is missing."""
    return itertools.product(
        *([*range(lattice.values.size), *([None] if null else [])] for lattice, null in columns_of(block))
    )


def outputs(block, record, keep):
    """Return everything that a record may become, in the columns' own units, and the probabilities."""
    sizes, windows = [], []
    for place, (lattice, null) in zip(record, columns_of(block), strict=True):
        if place is None and null == "public":  # whatever is drawn
            sizes.append(1)
            windows.append({0})
            continue
        sizes.append(lattice.last + lattice.window + lattice.unseen)
        windows.append(kept_outputs(lattice.last, lattice.window, lattice.unseen, place))
    content = np.array(list(itertools.product(*map(range, sizes))), dtype=float).T
    kept = np.array([all(k in window for k, window in zip(z, windows, strict=True)) for z in content.T.astype(int)])
    released = content.copy()
    for j, (place, (_, null)) in enumerate(zip(record, columns_of(block), strict=True)):
        released[j] = np.nan if place is None and null == "public" else released[j]
    block.to_values(released)
    return released, keep * kept / math.prod(map(len, windows)) + (1 - keep) / content.shape[1]


def random_terms(block, *, missing):
    """Return random products; with a value of their own where one is missing, if it is not 0."""
    rng, functions, at = np.random.default_rng(34), {}, {}
    for name, (lattice, _) in zip(block.columns, columns_of(block), strict=True):
        functions[name] = rng.normal(size=(lattice.values.size + missing, 3))
        at[name] = rng.integers(0, 3, TERMS)
    return SeparableTerms(functions, at)


def truth(terms, block, record):
    out = np.ones(TERMS)
    for name, place, (lattice, _) in zip(block.columns, record, columns_of(block), strict=True):
        v = terms.functions[name]
        row = lattice.values.size if place is None else place
        out *= v[row, terms.at[name]] if row < len(v) else 0.0
    return out


def worst(block, keep, *, missing):
    """Return the largest difference of an expectation from the truth."""
    terms, off = random_terms(block, missing=missing), 0.0
    for record in records(block):
        released, chance = outputs(block, record, keep)
        off = max(off, float(np.abs(chance @ block.undo(terms, released) - truth(terms, block, record)).max()))
    return off


@pytest.mark.parametrize("missing", [False, True], ids=["0 where missing", "any value where missing"])
@pytest.mark.parametrize("name", BLOCKS)
def test_undo_has_the_right_expectation(name, missing):
    block = BLOCKS[name]
    keep = block.lattice(block.columns[0]).keep
    assert worst(block, keep, missing=missing) < 1e-10
    assert worst(block, 0.9 * keep, missing=missing) > 1e-3


def test_a_column_that_is_not_named_has_the_function_1():
    block = BLOCKS["missing both ways"]
    named = random_terms(block, missing=True)
    terms = SeparableTerms({"a": named.functions["a"]}, {"a": named.at["a"]})
    ones = np.ones((4, 1))
    whole = SeparableTerms(named.functions | {"g": ones}, named.at | {"g": np.zeros(TERMS, int)})
    for record in records(block):
        released, _ = outputs(block, record, 0.5)
        assert np.allclose(block.undo(terms, released), block.undo(whole, released), atol=1e-14)


def test_terms_are_multiplied_into_what_is_given():
    one, other = BLOCKS["one number"], BLOCKS["response"]
    first, second = random_terms(one, missing=False), random_terms(other, missing=False)
    terms = SeparableTerms(first.functions | second.functions, first.at | second.at)
    a, g = np.array([[0.0, 3.0, 5.0]]), np.array([[0.0, 1.0, 2.0]])
    out = one.undo(terms, a)
    assert other.undo(terms, g, out) is out
    assert np.allclose(out, one.undo(first, a) * other.undo(second, g), atol=1e-14)


@pytest.mark.parametrize("value", [-2.0, 7.0, 1e300])
def test_values_off_the_lattice_are_refused(value):
    terms = random_terms(BLOCKS["one number"], missing=False)
    with pytest.raises(DataError, match="1 values of a are none"):
        BLOCKS["one number"].undo(terms, np.array([[0.0, value]]))


def test_every_noise_of_ours_is_here():
    own = {kind for name, kind in REGISTRY.items() if kind.__module__.startswith("versadp.")}
    of_subsets = {Subset}  # whose outputs have columns that are not given: `tests/noise/test_subset.py`
    assert own == {type(block.spec) for block in BLOCKS.values()} | of_subsets | {ZeroInflated}


def test_noise_without_a_lattice_has_no_undo():
    block = ZeroInflated(scale=0.5, exact_rate=0.1).on({"b": B})
    assert block.undo(SeparableTerms({}, {}), np.zeros((1, 2))) is None
    assert Response(0.0).on({"g": G}).undo(SeparableTerms({}, {}), np.zeros((1, 2))) is None
