"""The law of people with more columns than a lattice of all of them can hold.

    1  pairs of columns: EM on the lattice of two, stopped as for all columns (`law.py`)
    2  a tree of the pairs with most mutual information (Chow and Liu): the law of most entropy with these pairs
    3  points drawn from the tree, tilted to the unbiased estimates of all features, so that pairs outside of the tree
       have the associations that the release says they have

What three columns do together follows from the tree alone.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from versadp.people.features import make_features
from versadp.people.law import Counted, Law, columns_of, even, likeliest
from versadp.people.likelihood import make_channel
from versadp.people.targets import estimate
from versadp.people.tilt import Points, systematic, tilted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.inputs import Array
    from versadp.people.axes import Axis
    from versadp.release.release import Release

DRAWN = 200_000  # points of the tree: their own error is 1/√DRAWN, below that of a feature up to as many records


def estimate_wide_law(
    release: Release,
    axes: Sequence[Axis],
    rng: np.random.Generator,
    engine: str | Engine = "auto",
    *,
    tell: Callable[[float], None] = lambda _: None,
) -> Law:
    """Return the law of the people of a release with many columns."""
    blocks = [block.columns for block in release.mechanism.blocks]
    columns = columns_of(release, axes, engine)
    margins = [
        likeliest(make_channel([axis], blocks), Counted.of(columns[:, [j]]), even(axis), rng)[0]
        for j, axis in enumerate(axes)
    ]
    pairs = list(combinations(range(len(axes)), 2))
    laws: dict[tuple[int, int], Array] = {}
    for k, (i, j) in enumerate(pairs):
        channel = make_channel([axes[i], axes[j]], blocks)
        start = margins[i][:, None] * margins[j]
        laws[i, j], _ = likeliest(channel, Counted.of(columns[:, [i, j]]), start, rng)
        tell(0.1 + 0.6 * (k + 1) / len(pairs))
    at = _drawn_from_tree(laws, margins, rng)
    points = Points(at, np.full(len(at), 1 / len(at)))
    features = make_features(axes, margins)
    targets = estimate(release, features, engine)
    tilt, weight = tilted(points, features, targets)
    tell(1.0)
    return Law(tuple(axes), Points(at, weight), features, targets, tilt)


def tree(laws: dict[tuple[int, int], Array], columns: int) -> list[tuple[int, int]]:
    """Return the edges of the tree of most mutual information, each from a column that is reached before.

    Examples
    --------
    >>> far, near = np.full((2, 2), 0.25), np.array([[0.4, 0.1], [0.1, 0.4]])
    >>> tree({(0, 1): far, (0, 2): near, (1, 2): near}, 3)
    [(0, 2), (2, 1)]
    """
    told = np.zeros((columns, columns))
    for (i, j), law in laws.items():
        alone = np.outer(law.sum(axis=1), law.sum(axis=0))
        there = law > 0
        told[i, j] = told[j, i] = float(law[there] @ np.log(law[there] / alone[there]))
    reached, edges = [0], []
    while len(reached) < columns:
        rest = [j for j in range(columns) if j not in reached]
        best = max(((i, j) for i in reached for j in rest), key=lambda pair: told[pair])
        edges.append(best)
        reached.append(best[1])
    return edges


def _drawn_from_tree(
    laws: dict[tuple[int, int], Array], margins: Sequence[Array], rng: np.random.Generator
) -> NDArray[np.int32]:
    """Return points drawn from the tree: the first column evenly, the others given what they hang on."""
    at = np.zeros((DRAWN, len(margins)), np.int32)
    at[:, 0] = systematic(margins[0], DRAWN, float(rng.random()))
    for parent, child in tree(laws, len(margins)):
        law = laws[parent, child] if parent < child else laws[child, parent].T
        given = np.cumsum(law, axis=1)
        given /= np.maximum(given[:, -1:], np.finfo(float).tiny)
        # one search in all rows at once: row k of the cumulative laws is moved up by k
        place = np.searchsorted((given + np.arange(len(law))[:, None]).ravel(), at[:, parent] + rng.random(DRAWN))
        at[:, child] = np.minimum(place - at[:, parent] * law.shape[1], law.shape[1] - 1)
    return at
