"""Likelihood of joint outputs under a law, and the EM step: by sums over sliding windows.

Per block with the coin κ, and over blocks by products,

    P(z | f) = Σ_modes weight · f(box of the mode),      box masses from cumulative sums, 2^d of them for d columns

so that a step costs the size of the lattice and, per joint code, the corners of its boxes, however wide windows are:

    f'(x) = f(x) Σ_z (n_z/n) P(z | x)/P(z | f).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from versadp.people.kernel import add_up_along, mass_in_boxes, spread_to_corners

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from versadp.inputs import Array
    from versadp.people.axes import Axis, Boxes


@dataclass(frozen=True, eq=False)
class Channel:
    """The noise of some columns, as sums of box masses.

    Attributes
    ----------
    axes : tuple of Axis
    groups : tuple of tuples of int
        The columns that share a coin; public ones have a group each.
    """

    axes: tuple[Axis, ...]
    groups: tuple[tuple[int, ...], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Points of each column."""
        return tuple(axis.size for axis in self.axes)

    @property
    def _keep(self) -> list[float]:
        lattices = [self.axes[group[0]].lattice for group in self.groups]
        return [1.0 if lattice is None else lattice.keep for lattice in lattices]

    def __post_init__(self) -> None:
        object.__setattr__(self, "_tables", self._make())

    def _make(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Array, NDArray[np.int64], int]:
        """Return first codes, and of each mode places, weights and numbers of corners; the most corners of a box."""
        several = [k for k, group in enumerate(self.groups) if len(group) > 1]
        strides = np.append(np.cumprod(self.shape[:0:-1])[::-1], 1).astype(np.int64)
        first = np.cumsum([0, *(axis.codes for axis in self.axes)])[:-1].astype(np.int64)
        modes = []
        for chosen in product((True, False), repeat=len(several)):
            coin = dict(zip(several, chosen, strict=True))
            boxes: dict[int, Boxes] = {}
            for k, (group, keep) in enumerate(zip(self.groups, self._keep, strict=True)):
                for position, j in enumerate(group):
                    axis = self.axes[j]
                    if k in coin:  # one coin for all columns of the group, paid in its first one
                        share = (keep if coin[k] else 1 - keep) if position == 0 else 1.0
                        boxes[j] = (axis.kept if coin[k] else axis.redrawn).scaled(share)
                    elif axis.lattice is None:
                        boxes[j] = axis.kept
                    else:
                        boxes[j] = axis.kept.scaled(keep).beside(axis.redrawn.scaled(1 - keep))
            modes.append([_packed(boxes[j], strides[j]) for j in range(len(self.axes))])
        corners = max(place.shape[1] for mode in modes for place, _, _ in mode)
        rows = sum(axis.codes for axis in self.axes)
        place, weight = np.zeros((len(modes), rows, corners), np.int64), np.zeros((len(modes), rows, corners))
        number = np.zeros((len(modes), rows), np.int64)
        most = 1
        for m, mode in enumerate(modes):
            for j, (p, w, count) in enumerate(mode):
                own = slice(first[j], first[j] + len(p))
                place[m, own, : p.shape[1]], weight[m, own, : p.shape[1]], number[m, own] = p, w, count
            most = max(most, int(np.prod([count.max() for _, _, count in mode[:-1]], dtype=object)))
        return first, place, weight, number, most

    def likelihood(self, law: Array, codes: NDArray[np.int32]) -> Array:
        """Return how likely joint codes are, (rows,), under a law of the shape of the points."""
        total = np.array(law, float)
        self._add_up(total, backwards=False)
        out = np.empty(len(codes))
        mass_in_boxes(total.reshape(-1), codes, *self._tables, out)  # type: ignore[attr-defined] # made once
        return np.maximum(out, np.finfo(float).tiny)

    def responsibility(self, weights: Array, codes: NDArray[np.int32]) -> Array:
        """Return Σ_z weight_z P(z | x) at all points x."""
        out = np.zeros(int(np.prod(self.shape)))
        spread_to_corners(weights, codes, *self._tables, out)  # type: ignore[attr-defined] # made once
        law = out.reshape(self.shape)
        self._add_up(law, backwards=True)
        return law

    def step(self, law: Array, codes: NDArray[np.int32], counts: Array) -> tuple[Array, float]:
        """Return the law after an EM step, and the log likelihood before it, per record."""
        seen, n = self.likelihood(law, codes), counts.sum()
        new = law * self.responsibility(counts / (n * seen), codes)
        np.maximum(new, 0.0, out=new)  # differences of sums that should be nothing
        return new / new.sum(), float(counts @ np.log(seen) / n)

    def _add_up(self, law: Array, *, backwards: bool) -> None:
        for j, points in enumerate(self.shape):
            inner = int(np.prod(self.shape[j + 1 :]))
            add_up_along(law.reshape(-1, points, inner), backwards)


def _packed(boxes: Boxes, stride: int) -> tuple[NDArray[np.int64], Array, NDArray[np.int64]]:
    """Return corners with weights other than 0 first, in strides of the flat law, and how many they are."""
    order = np.argsort(boxes.weight == 0, axis=1, kind="stable")
    place, weight = (np.take_along_axis(each, order, axis=1) for each in boxes)
    count = (weight != 0).sum(axis=1)
    most = int(count.max())
    return place[:, :most].astype(np.int64) * stride, weight[:, :most].astype(float), count


def make_channel(axes: Sequence[Axis], blocks: Sequence[tuple[str, ...]]) -> Channel:
    """Return the noise of columns, some of which share a block."""
    home = {name: k for k, names in enumerate(blocks) for name in names}
    groups: dict[object, list[int]] = {}
    for j, axis in enumerate(axes):
        groups.setdefault(home.get(axis.name, axis.name) if axis.lattice is not None else axis.name, []).append(j)
    return Channel(tuple(axes), tuple(tuple(group) for group in groups.values()))
