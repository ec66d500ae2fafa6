"""The natural histogram of a noisy column: the law on its cells under which what was released is likeliest.

    maximise Σ_z n_z log Σ_s f_s P(z | cell s)      over f >= 0, Σ f = 1;    n_z records show z

It is the likelihood of `mixture.py` without a response. Where the noise is randomised response and no share comes out
negative, it is the inverted table of shares. Standard errors are from the information about f, under Σ f = 1; cells
finer than the noise lets anyone see have wide ones, however smooth the histogram looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.errors import DataError, ParameterError
from versadp.estimation.sizes import NUMBERS_AT_ONCE
from versadp.likelihood.mixture import Sums, maximise
from versadp.noise.cases import cases, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise import Block
    from versadp.noise.distribution_function import Bins
    from versadp.schema import Column

    Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Histogram:
    """Shares of the cells of a column.

    Attributes
    ----------
    low, high : array (cells,)
        Ends of the cells.
    share : array (cells,)
    cov : array (cells, cells)
        Of the shares.
    room : array (cells,), optional
        How much further than its error a share may lie, as values heap on the ends of its cell.

    Examples
    --------
    >>> found = Histogram(np.array([0.0, 5.0]), np.array([5.0, 10.0]), np.array([0.3, 0.7]), np.full((2, 2), 1e-4))
    >>> found
    <Histogram: 2 cells from 0 to 10>
    >>> found.to_pandas()  # doctest: +NORMALIZE_WHITESPACE
       low  high  share   lower   upper
    0  0.0   5.0    0.3  0.2804  0.3196
    1  5.0  10.0    0.7  0.6804  0.7196
    """

    low: Array
    high: Array
    share: Array
    cov: Array
    room: Array | None = None

    def __repr__(self) -> str:
        return f"<Histogram: {self.share.size} cells from {self.low[0]:.6g} to {self.high[-1]:.6g}>"

    def to_pandas(self, level: float = 0.95) -> Any:
        """Return ends, shares and bands of the cells as a pandas DataFrame."""
        import pandas as pd

        lower, upper = self.band(level).T
        return pd.DataFrame({"low": self.low, "high": self.high, "share": self.share, "lower": lower, "upper": upper})

    @property
    def middle(self) -> Array:
        """The middle of each cell."""
        return (self.low + self.high) / 2

    @property
    def density(self) -> Array:
        """Shares over the widths of their cells."""
        return self.share / (self.high - self.low)

    @property
    def error(self) -> Array:
        """Standard errors of the shares."""
        return np.sqrt(np.diag(self.cov))

    def band(self, level: float = 0.95) -> Array:
        """Return confidence intervals of the shares, cut to what a share can be, (cells, 2)."""
        from scipy.special import ndtri

        reach = ndtri((1 + inputs.number("level", level, 0, 1)) / 2) * self.error
        reach = reach if self.room is None else reach + self.room
        return np.clip(np.stack([self.share - reach, self.share + reach], axis=1), 0.0, 1.0)

    def without_last(self) -> Histogram:
        """Return the shares of the others without the last cell: of those who are not missing."""
        rest = 1 - self.share[-1]
        slope = np.eye(self.share.size)[:-1] / rest
        slope[:, -1] += self.share[:-1] / rest**2
        return Histogram(self.low[:-1], self.high[:-1], self.share[:-1] / rest, slope @ self.cov @ slope.T)

    def joined(self, count: int) -> Histogram:
        """Return neighbouring cells together, `count` at a time: coarser, and better known."""
        starts = np.arange(0, self.share.size, inputs.whole("count", count, 1))
        cov = np.add.reduceat(np.add.reduceat(self.cov, starts, axis=0), starts, axis=1)
        ends = np.append(starts[1:], self.share.size) - 1
        return Histogram(self.low[starts], self.high[ends], np.add.reduceat(self.share, starts), cov)

    def told(self, fewest: int, error: float) -> Histogram:
        """Return it in cells so wide that shares are told: neighbours are joined in pairs while errors are large.

        Parameters
        ----------
        fewest : int
            How many cells there are at least.
        error : float
            What the root mean square of the standard errors may be, of the mean share.
        """
        found = self
        while found.share.size >= 2 * fewest and np.sqrt(np.mean(found.error**2)) > error * found.share.mean():
            found = found.joined(2)
        return found


def natural_histogram(block: Block, column: str, declared: Column, seen: Array, cells: int = 64) -> Histogram:
    """Return the shares of the cells of one column under which its released values are likeliest.

    Parameters
    ----------
    block : Block
        The noise of the column.
    column : str
    declared : Column
        What the schema says of it.
    seen : array (n,)
        Released values, numbers of levels for a category; none is missing.
    cells : int
        How many cells at most; a lattice or a category of fewer values has a cell for each.

    Examples
    --------
    >>> from versadp import Categorical
    >>> from versadp.noise import Response
    >>> block = Response(keep=0.5).on({"member": Categorical([False, True])})
    >>> found = natural_histogram(block, "member", Categorical([False, True]), np.repeat([0.0, 1.0], [60, 40]))
    >>> found.share.round(3), found.error.round(3)
    (array([0.7, 0.3]), array([0.098, 0.098]))
    """
    ends = block.cells(column, declared, inputs.whole("cells", cells, 1))
    if ends is None:
        raise ParameterError(f"the noise of {column!r} does not say how likely its outputs are")
    if np.isnan(seen).any():
        raise DataError(f"column {column!r} has missing values, of which a histogram knows nothing")
    outputs, counts = np.unique(seen, return_counts=True)
    return likeliest(_kernel(block, column, outputs, ends), counts.astype(float), ends)


def histogram_of_counts(
    block: Block, column: str, declared: Column, counts: Array, cells: int = 64
) -> Histogram | None:
    """Return the natural histogram of a number from counts in the bins of its block, which has one more for missing.

    None where the block has no bins, or does not say how likely its outputs are; missing values are left out, which is
    right where it is public what is missing.
    """
    bins, ends = block.bins(column), block.cells(column, declared, cells)
    if bins is None or ends is None or not counts[:-1].sum():
        return None
    private = hides_missing(block, column, declared)
    if private and whole(block) is None:
        return None
    if (np.diff(ends, axis=0) < bins.width).any():  # cells of single values: as far as half way to the next
        between = (ends[1, :-1] + ends[0, 1:]) / 2
        ends = np.stack([np.append(ends[0, 0], between), np.append(between, ends[1, -1])])
    kernel = binned_kernel(block, column, bins, ends)
    if not private:
        return likeliest(kernel, counts[:-1], ends)
    beyond = np.array([[ends[1, -1]], [np.inf]])
    return likeliest(with_missing(block, column, bins, kernel), counts, np.append(ends, beyond, axis=1)).without_last()


def hides_missing(block: Block, column: str, declared: Column) -> bool:
    """Return True if it is private whose value is missing, in a column alone in its block."""
    return column in block.nullable and getattr(declared, "nullable", False) is True


def with_missing(block: Block, column: str, bins: Bins, kernel: Array) -> Array:
    """Return how likely bins, and to be shown as missing, are, given cells, and given that the value is missing.

    The factor of a record that shows a value, and of one that does not, has the mean 1 where there is a value and 0
    where there is none (`noise/cases.py`): that tells how often either is shown. Which values are shown in place of
    missing ones, the block says of a cell whose ends are NaN.
    """
    low, high = bins.low, bins.high
    found = cases(block, np.array([[(low + high) / 2, np.nan]]))
    assert found is not None
    which, every = found
    shown, hidden = (every[k].factor for k in which)
    there, gone = (1 - hidden) / (shown - hidden), -hidden / (shown - hidden)
    drawn = binned_kernel(block, column, bins, np.full((2, 1), np.nan))
    out = np.empty((len(kernel) + 1, kernel.shape[1] + 1))
    out[:-1, :-1], out[-1, :-1] = there * kernel / kernel.sum(axis=0), 1 - there
    out[:-1, -1], out[-1, -1] = gone * drawn[:, 0] / drawn.sum(), 1 - gone
    return out


def binned_kernel(block: Block, column: str, bins: Bins, ends: Array) -> Array:
    """Return how likely the bins of a column's values are, given its cells, (bins, cells), up to a factor a bin."""
    kernel = _kernel(block, column, bins.middles, ends)
    return np.asarray(kernel * (np.diff(bins.edges) / bins.width)[:, None])


def _kernel(block: Block, column: str, outputs: Array, ends: Array) -> Array:
    rows = max(NUMBERS_AT_ONCE // len(ends.T), 1)
    return np.concatenate(
        [block.law((column,), outputs[None, k : k + rows], *ends[:, None]) for k in range(0, outputs.size, rows)]
    )


def likeliest(kernel: Array, counts: Array, ends: Array) -> Histogram:
    """Return the shares of cells under which counts of outputs are likeliest.

    Parameters
    ----------
    kernel : array (outputs, cells)
        How likely each output is.
    counts : array (outputs,)
    ends : array (2, cells)
    """
    shown = counts > 0
    kernel, counts = kernel[shown], counts[shown]

    def sums(_: Array, f: Array) -> Sums:
        total = kernel @ f[0]
        seen = kernel / total[:, None]
        weighed = seen * counts[:, None]
        return Sums(float(counts @ np.log(total)), weighed.sum(axis=0), weighed.T @ seen, counts.sum(keepdims=True))

    found = maximise(sums, np.zeros(0), np.full((1, len(ends.T)), 1 / len(ends.T)))
    return Histogram(ends[0], ends[1], found.weights[0], _covariance(found.sums.products))


def _covariance(information: Array) -> Array:
    """Return the covariance of shares that add up to 1; what is not told at all has a variance without limit."""
    size = len(information)
    apart = np.linalg.svd(np.ones((1, size)))[2][1:]  # directions in which shares still add up to 1
    value, vector = np.linalg.eigh(apart @ information @ apart.T)
    root = apart.T @ vector / np.sqrt(np.maximum(value, 1e-12 * np.abs(value).max(initial=1e-300)))
    return np.asarray(root @ root.T)
