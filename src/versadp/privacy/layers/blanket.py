r"""A shuffled release of records that are reported in independent blocks: what is known of the blocks protects more.

`shuffled` knows only how far two reports can be apart. Here a report consists of independent blocks, and each keeps or
redraws: the probability of what block j shows takes two values, a factor `e_j = e^ε_j` apart, the larger on a share
f_j of all that it can show (randomised response on k levels: 1/k; a window: its size over the number of outputs). The
smaller value everywhere is a measure that every report contains, with mass ``γ = Π 1/(1 + f_j (e_j - 1))``, and

    delta(ε) <= (1/n) E(Σ L_i)₊,   L = Π g_j - e^ε Π g'_j with probability γ, else 0,

g_j, g'_j being e_j where the block shows what the one record, and the other, makes likely, and 1 elsewhere. The worst
pair of records overlaps as little as it can in every block, whatever ε (`docs/theory/shuffle.md`); `2 f_j - 1`, or 0,
is less than any two overlap. It is never worse than `shuffled` of the sum of the ε_j, and often much better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from versadp import inputs
from versadp.errors import ParameterError
from versadp.privacy.curves.contour import Terms
from versadp.privacy.curves.discrete import identity
from versadp.privacy.layers.inflation import zero_inflated
from versadp.privacy.layers.shuffle import LARGEST
from versadp.privacy.layers.worst import worst
from versadp.privacy.profile import ULP, PrivacyProfile

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = NDArray[np.float64]
Block = tuple[float, float]

_MANY, _CELLS = 400, 18  # kinds of terms beyond which they are moved to a grid, and its cells either way
_COMMON = 40  # cells of the grid of what two records have in common
_SMEAR = 0.01  # more than for two kinds of terms, which are quicker: 0.3% of delta where it is 1e-12


@lru_cache(maxsize=32)
def _terms(differ: tuple[Block, ...], same: tuple[Block, ...], n: int, rate: float) -> Terms:
    x0, x1, mass = np.ones((3, 1))
    for block in differ:
        x0, x1, mass = _times(x0, x1, mass, _kinds(*block, differs=True))
    common, weight = _common(same)
    x0, x1 = (np.multiply.outer(x, common).ravel() for x in (x0, x1))
    mass = np.multiply.outer(mass, weight).ravel() * (1 - rate) * (1 - 4 * ULP)
    total = float(mass @ x0)  # what the rate and rounding took from the blanket, they did not take from the two laws
    return Terms(x0 / total, x1 / total, mass, n, sum(epsilon for epsilon, _ in differ), _SMEAR)


@lru_cache(maxsize=256)
def _common(same: tuple[Block, ...]) -> tuple[Array, Array]:
    """Return what blocks that both records have in common contribute to both, and its mass.

    A term is linear in it: spread over the ends of the cells of a grid, keeping means, it is larger in convex order.
    """
    common, weight = np.ones((2, 1))
    for block in same:
        kinds = _kinds(*block, differs=False)
        values = np.multiply.outer(common, kinds[:, 0]).ravel()
        common, which = np.unique(values, return_inverse=True)
        weight = np.bincount(which.ravel(), np.multiply.outer(weight, kinds[:, 2]).ravel()).astype(np.float64)
        if len(common) > _COMMON:
            grid = _grid(float(common[-1]), _COMMON)
            cell, part = _cells(common, grid)
            common, spread = grid, np.append(weight * (1 - part), weight * part)
            weight = np.bincount(np.append(cell, cell + 1), spread).astype(np.float64)
    return common, weight


def _kinds(epsilon: float, share: float, *, differs: bool) -> Array:
    """Return what a block contributes, g, g' and their mass: rounded down, as fewer that hide a record are worse."""
    high = math.exp(epsilon)
    both = max(2 * share - 1, 0.0) if differs else share
    kinds = np.array(
        [(high, 1, share - both), (1, high, share - both), (high, high, both), (1, 1, 1 - 2 * share + both)]
    )
    kinds[:, 2] *= (1 - 4 * ULP) / (1 + share * math.expm1(epsilon))
    return kinds[kinds[:, 2] > 0]


def _times(x0: Array, x1: Array, mass: Array, kinds: Array) -> tuple[Array, Array, Array]:
    """Multiply by what an independent block contributes; what coincides is one."""
    products = [np.multiply.outer(x, factor).ravel() for x, factor in zip((x0, x1, mass), kinds.T, strict=True)]
    pairs, which = np.unique(np.stack(products[:2]), axis=1, return_inverse=True)
    law = pairs[0], pairs[1], np.bincount(which.ravel(), products[2]).astype(np.float64)
    return _on_grid(*law) if len(law[0]) > _MANY else law


def _on_grid(x0: Array, x1: Array, mass: Array) -> tuple[Array, Array, Array]:
    """Spread terms over the corners of the cells of a grid, keeping means: to larger ones in convex order."""
    grid = _grid(float(max(x0.max(), x1.max())), _CELLS)
    total = np.zeros((_CELLS + 1, _CELLS + 1))
    (one, first), (two, second) = (_cells(x, grid) for x in (x0, x1))
    for i in (0, 1):
        for j in (0, 1):
            weight = np.abs(1 - i - first) * np.abs(1 - j - second)
            np.add.at(total, (one + i, two + j), mass * weight)
    at = np.nonzero(total)
    return grid[at[0]], grid[at[1]], total[at]


def _grid(most: float, cells: int) -> Array:
    """Return a grid from 1 on, even in logarithms."""
    grid = np.exp(np.linspace(0.0, math.log(most), cells + 1))
    grid[[0, -1]] = 1.0, most
    return grid


def _cells(x: Array, grid: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the cell in which each x lies, and how far on."""
    cell = np.clip(np.searchsorted(grid, x, side="right") - 1, 0, len(grid) - 2)
    return cell, (x - grid[cell]) / (grid[cell + 1] - grid[cell])


@dataclass(frozen=True)
class ShuffledBlocks(PrivacyProfile):
    """`n` reports in an order that tells nothing, each of blocks that `differ` and of others; see `shuffled_blocks`."""

    differ: tuple[Block, ...]
    same: tuple[Block, ...]
    n: int
    rate: float = 0.0

    @property
    def delta_floor(self) -> float:
        """Zero: every report is possible whatever the record."""
        return 0.0

    @property
    def pure_epsilon(self) -> float:
        """That of a report by itself."""
        return self._law.last

    @property
    def notes(self) -> tuple[str, ...]:
        """Conditions under which the others hide a record."""
        return (
            f"holds if the order tells nothing, and of people with equal public values there are at least {self.n:,}",
        )

    @property
    def _kinks(self) -> Array:
        return self._law.kinks

    @property
    def _law(self) -> Terms:
        return _terms(self.differ, self.same, self.n, self.rate)

    def _title(self) -> str:
        epsilons = ", ".join(f"{epsilon:.6g}" for epsilon, _ in self.differ)
        among = f" beside {len(self.same)} more" if self.same else ""
        return f"{self.n:,} shuffled reports, blocks of local epsilon {epsilons}{among}"

    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        value, alarms = np.zeros((2, len(epsilon)))
        inside = epsilon < self.pure_epsilon
        if inside.any():
            value[inside], alarms[inside] = self._law.curve(epsilon[inside])
        return np.minimum(value, 1.0), alarms


def shuffled_blocks(
    blocks: Sequence[Block], n: int, *, unit: str = "record", exact_rate: float = 0.0
) -> PrivacyProfile:
    """Return what n reports of independent keep-or-redraw blocks guarantee in an order that tells nothing.

    The conditions are those of `shuffled`.

    Parameters
    ----------
    blocks : sequence of (local_epsilon, share)
        What each block of a report is: the probabilities of what it shows take two values, `e^local_epsilon` apart,
        and the larger holds for a `share` in (0, 1) of all that it can show: the same share whatever the record.
        Randomised response on k levels has 1/k, a window its number of outputs over all.
    n : int
        Number of reports, at least 1; with public columns, of the smallest group of people with equal public values.
    unit : str
        "record" if neighbours may differ in all blocks; "attribute" if in any one.
    exact_rate : float
        In [0, 1): the probability with which a report may be anything, and is as described only otherwise; others then
        hide a record less often, and delta is at least so much. A sampler that draws everything with at least `1 - r`
        times the probability that it should have has a rate of r.

    Returns
    -------
    PrivacyProfile
        Pure at the sum of the epsilons, or at the largest, if the rate is 0.

    Examples
    --------
    Four answers of five levels each, against what holds for any report of epsilon 8:

    >>> from versadp.privacy import shuffled
    >>> p = shuffled_blocks([(2.0, 0.2)] * 4, 100_000)
    >>> round(p.epsilon(1e-6), 3), round(shuffled(8.0, 100_000).epsilon(1e-6), 3)
    (0.465, 1.177)
    >>> round(shuffled_blocks([(2.0, 0.2)] * 4, 100_000, unit="attribute").epsilon(1e-6), 3)
    0.381
    """
    n = inputs.whole("n", n, 1)
    rate = inputs.number("exact_rate", exact_rate, 0.0, 1.0, open_high=True)
    if unit not in {"record", "attribute"}:
        raise ParameterError(f"unit must be 'record' or 'attribute', not {unit!r}")
    checked = []
    for block in blocks:
        if not isinstance(block, tuple | list) or len(block) != 2:
            raise ParameterError("a block is a pair (local_epsilon, share)", hint="such as (2.0, 0.25) for four levels")
        epsilon = inputs.number("local_epsilon", block[0], 0.0, LARGEST)
        share = inputs.number("share", block[1], 0.0, 1.0, open_low=True, open_high=True)
        if epsilon:  # a block that is always redrawn tells nothing
            checked.append((epsilon, share))
    if sum(epsilon for epsilon, _ in checked) > LARGEST:
        raise ParameterError(f"the local epsilons of all blocks must not sum to more than {LARGEST:g}")
    kinds = sorted(checked)
    if not kinds:
        return zero_inflated(identity(), rate)
    if unit == "record":
        return zero_inflated(ShuffledBlocks(tuple(kinds), (), n, rate), rate)
    alike = {kind: i for i, kind in enumerate(kinds)}  # blocks that are the same are as bad as one another
    each = [ShuffledBlocks((kind,), tuple(kinds[:i] + kinds[i + 1 :]), n, rate) for kind, i in alike.items()]
    return zero_inflated(worst(*each), rate)
