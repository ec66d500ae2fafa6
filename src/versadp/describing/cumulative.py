"""The corrected distribution function of one column from counts of its outputs, and quantiles by inverting it.

    score(t) = Σ_z n_z (psi_t(z) - tau psi_∞(z)) / n,        E psi_t(Z) = 1{x <= t}, and 0 where x is missing

is a mean over records, so its standard error is that of a mean; psi_∞ tells whether there is a value. Functions c of an
output whose mean is 0 whatever the record (psi outside the domain, where the distribution function is 0 or 1) are
control variates: `score - B c`, B by least squares, has the same expectation and less variance.

**Without such a psi** the block says how likely its outputs are, P(z | cell), and with the mean M of it over the
likeliest histogram

    psi = M⁻¹ P (P' M⁻¹ P)⁻¹ v,        P' psi = v, so that E psi(Z) = v(cell)

is the inverse of least variance on the cells. Inside a cell values are taken to lie evenly, which leaves a bias of the
order of the squared width of a cell, below the standard error where densities are smooth (`docs/theory/describe.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from versadp.estimation.distribution import Curve
from versadp.likelihood.histogram import binned_kernel, hides_missing, likeliest, with_missing
from versadp.noise.cases import whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise import Block
    from versadp.schema import Column

    Array = NDArray[np.float64]

COARSE = 64  # nodes of the first grid
FINE = 2**11 + 1  # nodes at which a distribution function can be asked: steps of 0.05% of the width
PASSES = 4  # refinements of the grid at most: it ends where all nodes were looked at
CELLS, MORE, MANY = 64, 128, 100_000  # cells of a number, and how many for many records
VALUES = 128  # single values that are told apart, if they are no more
FEWEST = 50  # records per control variate: its estimated slope then adds 2% to the variance


@dataclass(frozen=True, eq=False)
class Cumulative:
    """The corrected distribution function of a column.

    Attributes
    ----------
    block : Block
    column : str
    counts : array (bins,)
        Of released records in the bins of the block, missing last.
    nodes : array
        Values at which it can be asked, rising.
    cells : pair of arrays, optional
        Ends of cells, and their inverse (bins, cells); for blocks that have no inverse of their own.
    """

    block: Block
    column: str
    counts: Array
    nodes: Array
    cells: tuple[Array, Array] | None = None

    def steps(self, t: Array) -> Array:
        """Return what undoes the noise in `1{x <= t}`, (bins, t)."""
        if self.cells is None:
            found = self.block.steps(self.column, t)
            assert found is not None
            return found
        (low, high), inverse = self.cells
        return np.asarray(inverse @ np.clip((t - low[:, None]) / (high - low)[:, None], 0.0, 1.0))

    @property
    def is_single(self) -> bool:
        """True if each cell is one value, so that nothing is assumed."""
        return self.cells is not None and self.nodes.size == len(self.cells[0].T)

    @cached_property
    def controls(self) -> Array:
        """Functions of an output whose mean is known to be 0, (bins, controls)."""
        bins = self.block.bins(self.column)
        if self.cells is not None or bins is None or self.counts.sum() < FEWEST * (1 + len(bins.outside)):
            return np.zeros((len(self.counts), 0))
        at = np.array(bins.outside)
        return self.steps(at) - (at >= bins.high)

    def curve(self, tau: float) -> Curve:
        """Return score and standard error of the tau quantile, finer where it matters."""
        seen = self._curve(tau, self._coarse)
        for _ in range(PASSES):
            # to the nearest nodes, of which none is looked at twice
            at = np.searchsorted(self.nodes, seen.finer())
            more = np.setdiff1d(self.nodes[np.unique(np.clip(at, 0, self.nodes.size - 1))], seen.at)
            if not more.size:
                break
            seen = seen.joined(self._curve(tau, self._look(more)))
        return seen

    @cached_property
    def _coarse(self) -> tuple[Array, Array, Array, Array]:
        at = np.unique(np.rint(np.linspace(0, self.nodes.size - 1, COARSE)).astype(np.int64))
        return self._look(self.nodes[at])

    @cached_property
    def _share(self) -> Array:
        return np.asarray(self.counts / self.counts.sum())

    @cached_property
    def _beside(self) -> Array:
        """Columns that do not depend on t: psi_∞, and the control variates, (bins, 1 + controls)."""
        return np.append(self.steps(np.array([np.inf])), self.controls, axis=1)

    def _look(self, t: Array) -> tuple[Array, Array, Array, Array]:
        """Return t, and the means of psi_t, of its square, and of its products with what is the same for all t."""
        psi = self.steps(t)
        return t, self._share @ psi, self._share @ psi**2, psi.T @ (self._share[:, None] * self._beside)

    def _curve(self, tau: float, seen: tuple[Array, Array, Array, Array]) -> Curve:
        """Return the score of a quantile and its error, less what the controls explain."""
        t, mean, square, cross = seen
        n, beside = self.counts.sum(), self._share @ self._beside
        around = self._beside.T @ (self._share[:, None] * self._beside) - np.outer(beside, beside)
        score = mean - tau * beside[0]
        cov = cross - np.outer(mean, beside) - tau * around[0]  # of psi_t - tau psi_∞ with what is beside it
        variance = square - mean**2 - tau * (cov[:, 0] + cross[:, 0] - mean * beside[0])
        slope = cov[:, 1:] @ np.linalg.pinv(around[1:, 1:], rcond=1e-10, hermitian=True)
        left = np.maximum(variance - (slope * cov[:, 1:]).sum(axis=1), 0.0)
        free = max(n - 1 - slope.shape[1], 1.0)
        there = beside[0] if beside[0] > 0 else 1.0
        return Curve(t, (score - slope @ beside[1:]) / there, np.sqrt(left / free) / there)


def cumulative(block: Block, column: str, declared: Column, counts: Array) -> Cumulative | None:
    """Return the corrected distribution function of a column, if its block has or tells one.

    Parameters
    ----------
    block : Block
        The noise of the column.
    column : str
    declared : Column
        What the schema says of it.
    counts : array (bins,)
        Of released records in the bins of the block, missing last.
    """
    bins = block.bins(column)
    if bins is None or not counts.sum():
        return None
    if block.steps(column, np.zeros(1)) is not None:
        nodes = bins.middles if not bins.beyond else bins.edges[bins.beyond : bins.beyond + bins.inside + 1]
        return Cumulative(block, column, counts, nodes)
    private = hides_missing(block, column, declared)
    if private and whole(block) is None:
        return None
    steps = getattr(declared, "steps", None)
    single = steps is not None and steps < VALUES
    cells = CELLS if counts.sum() <= MANY else MORE
    ends = block.cells(column, declared, VALUES if single else cells)
    if ends is None:
        return None
    kernel = binned_kernel(block, column, bins, ends)
    if private:
        kernel = with_missing(block, column, bins, kernel)
        beyond = np.array([[ends[1, -1]], [np.inf]])
        share = likeliest(kernel, counts, np.append(ends, beyond, axis=1)).share
    else:
        share = likeliest(kernel, counts[:-1], ends).share
    weighed = kernel / (kernel @ share)[:, None]
    inverse = weighed @ np.linalg.pinv(kernel.T @ weighed, rcond=1e-12, hermitian=True)
    # nobody whose value is missing is below anything
    inverse = inverse[:, :-1] if private else np.append(inverse, np.zeros((1, len(ends.T))), axis=0)
    if not single:
        return Cumulative(block, column, counts, np.linspace(ends[0, 0], ends[1, -1], FINE), (ends, inverse))
    nodes = ends.mean(axis=0)  # at which the distribution function jumps
    jumps = np.stack([nodes - 1e-6 * (ends[1] - ends[0]), nodes])
    return Cumulative(block, column, counts, nodes, (jumps, inverse))
