"""Unbiased estimates of features, with their covariance: what a release says about a list of separable terms.

    t = mean over records of psi(Z_i),        E psi(Z) = phi(x),        cov t = cov(psi)/n

It needs nothing but the terms, so that estimates from other sources of the same people are combined with it here.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.engine import at_work, local_engine
from versadp.engine.base import add_up
from versadp.release.path.table import read_table

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from versadp.engine import Engine
    from versadp.inputs import Array
    from versadp.noise import Block
    from versadp.people.features import Features
    from versadp.release.folder.folder import Handle
    from versadp.release.release import Release

LARGEST = 2**22  # numbers in an array of records and features: 32 MB


class Targets(NamedTuple):
    """Estimated means of features, (features,), their covariance, and the estimates from weighted records."""

    mean: Array
    cov: Array
    repeated: Array | None = None


def estimate(
    release: Release,
    features: Features,
    engine: str | Engine = "auto",
    repeated: NDArray[np.uint8] | None = None,
) -> Targets:
    """Return unbiased estimates of the means of features, and their covariance.

    Parameters
    ----------
    release : Release
    features : Features
    engine : str or Engine
    repeated : array of int (records, replicates), optional
        Weights of records, for estimates of each replicate.
    """
    blocks = used_blocks(release, [axis.name for axis in features.axes])
    with at_work(engine) as given:
        runner = given if release.on_disk else local_engine(given)
        found = runner.sum(partial(_sums, release, features, blocks, repeated), list(release.handles()))
    assert found is not None
    rows, first, second, again = found
    mean = first / rows
    persons = float(release.mechanism.schema.rows_per_person)
    cov = (second / rows - np.outer(mean, mean)) / rows * persons
    return Targets(mean, cov, None if repeated is None else again / repeated.sum(axis=0, dtype=float)[:, None])


def used_blocks(release: Release, names: list[str]) -> tuple[Block, ...]:
    """Return the blocks of some columns, as they are without the others."""
    found = [block for block in release.mechanism.blocks if set(names) & set(block.columns)]
    return tuple(block.part(set(names) & set(block.columns)) for block in found)


def _sums(
    release: Release,
    features: Features,
    blocks: tuple[Block, ...],
    repeated: NDArray[np.uint8] | None,
    handle: Handle,
) -> tuple[Any, ...]:
    table = read_table(release.read(handle), release.mechanism.schema, released=True)
    terms, lot = features.terms(), max(64, LARGEST // features.size)
    parts = []
    for start in range(0, max(table.rows, 1), lot):
        own = slice(start, start + lot)
        private = {name: values[own] for name, values in table.private.items()}
        public = {name: column[own] for name, column in table.public.items()}
        psi = np.ones((len(range(table.rows)[own]), features.size))
        for block in blocks:
            block.undo(terms, np.stack([private[name] for name in block.columns]).astype(float), psi)
        for j, axis in enumerate(features.axes):
            if axis.lattice is None:
                psi *= features.functions[j].table[axis.code(public[axis.name])][:, features.at[:, j]]
        first = handle.first + start
        weights = np.zeros((len(psi), 0)) if repeated is None else repeated[first : first + len(psi)].astype(float)
        parts.append((len(psi), psi.sum(axis=0), psi.T @ psi, weights.T @ psi))
    found = add_up(iter(parts))
    assert found is not None
    return found
