"""Test for outputs that are likely under noise and that a table lacks: rows selected by released values.

Laplace noise:

    f(y) >= f(x) e^(-√2 |x - y|)    for the density f of values with noise, in noise units

so that below the least value c there is at least 1/(e - 1) of the mass of [c, c + 1/√2), and r noisy values there, with
none below, have a chance of at most (1 - 1/e)^r. Values without noise may be anywhere: as many as there may be are left
out. Only ends inside the domain are looked at: outside it tails are exponential in any case, and attain the bound.

What is kept or redrawn: of n records at least `n (1 - keep)` times the share that an output has of redrawn ones are
there to be seen, whatever the truth is. So outputs are counted in groups, alone and from either end on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.cases import Coded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from versadp.noise.block import Block
    from versadp.noise.cases import Category
    from versadp.noise.lattice import Lattice
    from versadp.noise.units import Units

    Array = NDArray[np.float64]

WINDOW = 1 / np.sqrt(2)
UNLIKELY = 4.0  # standard deviations of the number of values without noise
SELDOM = 10  # times as seldom as it may does it reject, since another test is beside it
GROUPS = 16  # of outputs, at most
HONEST_REFUSED = 1e-9  # probability, at most, that a table with the stated noise is refused


def cut_chance(z: Array, units: Units) -> float:
    """Return ten times how likely it is, at most, that values of a column end as they do; 1 for other noise.

    Parameters
    ----------
    z : array (n, dim)
        Released values in the units of the fit.
    units : Units

    Examples
    --------
    >>> from versadp.noise import ZeroInflatedBlock
    >>> units = ZeroInflatedBlock(("x",), (-1.0,), (1.0,), (0.1,), 0.02).units(np.zeros(1))
    >>> rng = np.random.default_rng(0)
    >>> z = (rng.uniform(-1, 1, (5000, 1)) + rng.laplace(0, 0.2 / 2**0.5, (5000, 1))) / units.unit
    >>> cut_chance(z, units), cut_chance(z[z[:, 0] > 0], units) < 1e-6
    (1.0, True)
    """
    rate, n = units.exact_rate, len(z)
    if rate is None or not n:
        return 1.0
    exact = rate * n + UNLIKELY * np.sqrt(rate * (1 - rate) * n)
    sides = [(side * z[:, j], side) for j in range(units.dim) for side in (1.0, -1.0)]
    most = 0.0
    for j, (values, side) in enumerate(sides):
        end = float(values.min())
        if end > (units.lower if side > 0 else -units.upper)[j // 2]:
            most = max(most, float((values < end + WINDOW).sum()) - exact)
    return float(min(1.0, SELDOM * len(sides) * (1 - np.exp(-1.0)) ** most))


def redrawn_chance(lattice: Lattice, released: Array) -> float:
    """Return how likely it is, at most, that a column that is kept or redrawn has as few outputs somewhere.

    Parameters
    ----------
    lattice : Lattice
        Of a column that has a value in every record.
    released : array (n,)
        Its released values.

    Examples
    --------
    >>> from versadp.noise import Window
    >>> from versadp.schema import Bounded
    >>> block, rng = Window(epsilon=4).on({"x": Bounded(0, 1)}), np.random.default_rng(0)
    >>> lattice = block.lattice("x")
    >>> place = rng.integers(0, lattice.shown, 5000)  # all of them redrawn
    >>> z = lattice.low + lattice.step * (place - (lattice.window - 1) / 2)
    >>> redrawn_chance(lattice, z) > 0.01, redrawn_chance(lattice, z[z > 0.4]) < 1e-6
    (True, True)
    """
    count = np.bincount(np.clip(lattice.places(released), 0, lattice.shown), minlength=lattice.shown + 1)
    share = np.full(lattice.shown, 1 / (lattice.shown + lattice.unseen))
    return fewest_chance(count[: lattice.shown].astype(float), share, lattice.keep, released.size)


def coded_chance(category: Category, keep: float, codes: Array) -> float:
    """Return how likely it is, at most, that a level occurs as seldom; `codes` (n, columns) stand for the levels."""
    rows, times = np.unique(np.array(category.coding), axis=0, return_counts=True)
    nearest = np.argmin(((codes[:, None, :] - rows) ** 2).sum(axis=2), axis=1)
    return fewest_chance(
        np.bincount(nearest, minlength=len(rows)).astype(float), times / category.levels, keep, len(codes)
    )


def fewest_chance(count: Array, share: Array, keep: float, n: int) -> float:
    """Return how likely it is, at most, that outputs are as few as somewhere they are.

    Parameters
    ----------
    count, share : array (outputs,)
        How often each was seen, and its share of redrawn records.
    keep : float
        Probability that a record is kept.
    n : int
        Number of records.

    Examples
    --------
    >>> fewest_chance(np.array([60.0, 40.0]), np.array([0.5, 0.5]), 0.5, 100)
    1.0
    >>> fewest_chance(np.array([100.0, 0.0]), np.array([0.5, 0.5]), 0.5, 100) < 1e-11
    True
    """
    from scipy.special import bdtr

    groups = min(GROUPS, count.size)
    starts = np.arange(groups) * count.size // groups
    each = [np.add.reduceat(x, starts) for x in (count, share)]
    counts, shares = (np.concatenate([x, np.cumsum(x), np.cumsum(x[::-1])]) for x in each)
    chance = bdtr(counts, n, (1 - keep) * np.minimum(shares, 1.0))
    return float(min(1.0, chance.size * np.nanmin(chance, initial=1.0)))


def refuse_unnoised(name: str, places: Array, outputs: int, keep: float, *, last: int = 1, tests: int = 1) -> None:
    """Raise if outputs of a column that is kept or redrawn are rarer than its noise allows.

    Each record is redrawn with probability `1 - keep`, whatever it is, so a set with share s of the outputs is seen at
    least as often as a binomial variable with n trials and probability `(1 - keep) s` says. The smallest of all tail
    probabilities, times their number, is below `HONEST_REFUSED` with at most that probability. A few records, or ones
    without any output that raw data lack, cannot be told from a release.

    Parameters
    ----------
    name : str
    places : array (n,)
        Outputs that were seen, whole numbers from 0; none is missing.
    outputs : int
        How many there are.
    keep : float
        Probability that a record is kept.
    last : int
        How many of the outputs, the last ones, are seen as one: those of a missing value.
    tests : int
        How many columns are looked at, this one among them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> refuse_unnoised("x", rng.integers(0, 97, 5000), 97, 0.5)
    >>> try:
    ...     refuse_unnoised("x", rng.integers(12, 85, 5000), 97, 0.5)
    ... except Exception as problem:
    ...     print(problem.message)
    column 'x' shows no noise: outputs that its noise gives to anybody are too rare
    """
    from versadp.errors import DataError

    if outputs <= last:  # one output, which tells nothing
        return
    groups = min(GROUPS, outputs - last)
    edges = np.append(np.arange(groups + 1) * (outputs - last) // groups, outputs)
    count = np.histogram(places, np.append(edges[:-1], np.inf))[0].astype(float)
    chance = fewest_chance(count, np.diff(edges) / outputs, keep, places.size)
    if tests * chance < HONEST_REFUSED:
        raise DataError(
            f"column {name!r} shows no noise: outputs that its noise gives to anybody are too rare",
            hint="raw data are released with mechanism.release(table); rows must not be selected by released values",
        )


def lacking_chance(blocks: Iterable[Block | Coded], columns: Mapping[str, Array]) -> float | None:
    """Return ten times how likely it is, at most, that columns lack the outputs that they lack; None if none can tell.

    Parameters
    ----------
    blocks : iterable of Block or Coded
    columns : mapping of str to array
        Released values, and the numbers that stand for levels, by name.
    """
    chances = []
    for block in blocks:
        own = block.block if isinstance(block, Coded) else block
        for category in block.categories if isinstance(block, Coded) else ():
            lattice, codes = own.lattice(category.column), np.stack([columns[name] for name in category.names], axis=1)
            assert lattice is not None
            chances.append(coded_chance(category, lattice.keep, codes))
        told = [name for name in own.columns if name in columns and name not in own.nullable]
        found = [(own.lattice(name), columns[name]) for name in told]
        chances += [redrawn_chance(each, released) for each, released in found if each is not None and each.is_small]
    return min(1.0, SELDOM * len(chances) * min(chances)) if chances else None
