"""The corrected distribution function of one column from counts of its outputs, and quantiles by inverting it.

    score(t) = Σ_z n_z (psi_t(z) - tau psi_∞(z)) / n,        E psi_t(Z) = 1{x <= t}, and 0 where x is missing

is a mean over records, so its standard error is that of a mean; psi_∞ tells whether there is a value. Functions c of an
output whose mean is 0 whatever the record (psi outside the domain, where the distribution function is 0 or 1) are
control variates: `score - B c`, B by least squares, has the same expectation and less variance.

**Windows** undo no step, which would take a function as fine as their lattice, but they undo a ramp: from 1 at t down
to 0 at t + R, for values anywhere (`noise/lattice.py`). With `S(t) = P(X + R U <= t + R)` its mean, U uniform,

    F(t) <= S(t) <= F(t + R),    so that S(t) < tau says x_tau >= t, and S(t) > tau says x_tau <= t + R

whatever the law of the column: an atom, a heap, rounded values. Intervals by S are longer by R for it.

**Other noise without such a psi** (exact_rate 0) says how likely its outputs are, P(z | cell), and with the mean M of
it over the likeliest histogram

    psi = M⁻¹ P (P' M⁻¹ P)⁻¹ v,        P' psi = v, so that E psi(Z) = v(cell)

is the inverse of least variance on the cells. Inside a cell values are taken to lie evenly, which leaves a bias of the
order of the squared width of a cell, below the standard error where densities are smooth (`docs/theory/describe.md`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from versadp.estimation.distribution import Curve
from versadp.likelihood.histogram import binned_kernel, hides_missing, likeliest, with_missing
from versadp.noise.cases import whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise import Block
    from versadp.noise.lattice import Lattice
    from versadp.schema import Column

    Array = NDArray[np.float64]

COARSE = 64  # nodes of the first grid
FINE = 2**11 + 1  # nodes at which a distribution function can be asked: steps of 0.05% of the width
PASSES = 4  # refinements of the grid at most: it ends where all nodes were looked at
CELLS, MORE, MANY = 64, 128, 100_000  # cells of a number, and how many for many records
NODES = 4  # values per ramp at which a distribution function is asked
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
    ramp : Ramp, optional
        In place of steps; nodes are in the middle of ramps.
    """

    block: Block
    column: str
    counts: Array
    nodes: Array
    cells: tuple[Array, Array] | None = None
    ramp: Ramp | None = None

    @property
    def room(self) -> float:
        """Largest distance of the column's quantile from that of the distribution that is inverted."""
        if self.ramp is not None:
            return self.ramp.width / 2
        if self.cells is None or self.is_single:
            return 0.0
        (low, high), _ = self.cells
        return float((high[-1] - low[0]) / low.size / 2)

    def steps(self, t: Array) -> Array:
        """Return what undoes the noise in `1{x <= t}`, or in a ramp around t, (bins, t)."""
        if self.ramp is not None:
            return self.ramp.psi(t, self.counts)
        if self.cells is None:
            found = self.block.steps(self.column, t)
            assert found is not None
            return found
        (low, high), inverse = self.cells
        return np.asarray(inverse @ np.clip((t - low[:, None]) / (high - low)[:, None], 0.0, 1.0))

    @property
    def values(self) -> Array | None:
        """All values of the column, where its noise tells them apart."""
        single = self.ramp is not None and self.is_single
        return self.ramp.lattice.values if single and self.ramp is not None else None

    def psi(self, t: Array, width: float) -> Array:
        """Return what undoes the noise in ramps of a width around t, or in `1{x < t}` where steps are told."""
        if self.ramp is None:
            bins = self.block.bins(self.column)
            assert bins is not None
            return self.steps(t - bins.width / 2)  # what lies on t is in a bin whose middle is not below
        return replace(self.ramp, width=width).psi(np.nextafter(t, -np.inf), self.counts)

    def means(self, psi: Array) -> tuple[Array, Array]:
        """Return the means of what is undone, of those who have a value, and their covariance."""
        there = self._share @ self._beside
        mean = self._share @ psi / there[0]
        each = (psi - self._beside[:, :1] * mean) / there[0]
        controls = self.controls - there[1:]
        metric = np.linalg.pinv(controls.T @ (self._share[:, None] * controls), rcond=1e-10, hermitian=True)
        slope = metric @ (controls.T @ (self._share[:, None] * each))
        each = each - controls @ slope
        free = max(self.counts.sum() - 1 - len(slope), 1.0)
        return mean - there[1:] @ slope, each.T @ (self._share[:, None] * each) / free

    @property
    def is_single(self) -> bool:
        """True if each cell is one value, so that nothing is assumed."""
        if self.ramp is not None:
            return not self.ramp.width
        return self.cells is not None and self.nodes.size == len(self.cells[0].T)

    @cached_property
    def controls(self) -> Array:
        """Functions of an output whose mean is known to be 0, (bins, controls)."""
        bins = self.block.bins(self.column)
        exact = self.cells is None and self.ramp is None
        if not exact or bins is None or self.counts.sum() < FEWEST * (1 + len(bins.outside)):
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

    def piled(self, tau: float) -> float | None:
        """Return the bound at which values pile up so that it is the quantile; None if neither is.

        An even density has half as much under the first ramp as between it and the next; a pile has more.
        """
        if self.ramp is None or not self.ramp.width:
            return None
        low, high, width = self.ramp.lattice.values[0], self.ramp.lattice.values[-1], self.ramp.width
        t = np.array([low, low + width, high - 2 * width, high - width]) + width / 2
        share = self._share @ self.steps(t) / (self._share @ self._beside[:, 0])
        if share[0] > max(tau, share[1] - share[0]):
            return float(low)
        return float(high) if 1 - share[3] > max(1 - tau, share[3] - share[2]) else None

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


@dataclass(frozen=True)
class Ramp:
    """Inverse of a window's noise for ramps.

    Attributes
    ----------
    lattice : Lattice
        Of the column, outputs merged.
    width : float
        Of a ramp; 0 where each lattice point is told apart, and ramps are steps.
    """

    lattice: Lattice
    width: float

    def psi(self, t: Array, counts: Array) -> Array:
        """Return what undoes the noise in `1` below `t - width/2`, `0` above `t + width/2`, straight between."""
        x = self.lattice.values[:, None]
        if self.width:
            near = np.clip(t, x[0] - self.width, x[-1] + self.width)  # further off it is all the same, but may overflow
            v = np.clip((near + self.width / 2 - x) / self.width, 0.0, 1.0)
        else:
            v = (x <= t).astype(float)
        psi = self.lattice.corrected(v, self.lattice.smooth(counts if self.lattice.unseen else counts[:-1]))
        return psi if self.lattice.unseen else np.append(psi, np.zeros((1, t.size)), axis=0)


def _ramped(block: Block, column: str, declared: Column, counts: Array) -> Cumulative | None:
    """Return the distribution function of a column in windows, by ramps; None where its lattice tells none."""
    lattice, bins = block.lattice(column), block.bins(column)
    if lattice is None or bins is None or lattice.window == 1:
        return None
    each = round(bins.width / lattice.step)  # outputs per bin
    width = (lattice.last * lattice.step) / (CELLS if counts.sum() <= MANY else MORE)
    fits = [q for q in range(each, lattice.window + 1, each) if lattice.window % q == 0]
    steps = getattr(declared, "steps", None)
    single = (steps is not None and steps < VALUES) or lattice.last < VALUES
    near = [q for q in fits if q * lattice.step <= (lattice.step if single else width / NODES)]
    if not fits or (single and not near):
        return None
    lattice = replace(lattice, merged=near[-1] if near else fits[0])
    seen = np.add.reduceat(counts[:-1], np.arange(0, counts.size - 1, lattice.merged // each))
    ramp = Ramp(lattice, 0.0 if single else max(width, lattice.merged * lattice.step))
    nodes = lattice.values + ramp.width / 2
    return Cumulative(block, column, np.append(seen, counts[-1]), nodes, ramp=ramp)


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
    return _ramped(block, column, declared, counts) or _in_cells(block, column, declared, counts)


def _in_cells(block: Block, column: str, declared: Column, counts: Array) -> Cumulative | None:
    """Return the distribution function of a column by how likely its outputs are; None where that is not known."""
    bins = block.bins(column)
    assert bins is not None
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
