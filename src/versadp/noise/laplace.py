"""The channel of the numeric block: zero-inflated symmetric Laplace noise on each column's grid.

One coin and one W a record, shared by all columns of the block (the paper's Algorithm 1):

    X1 = X + Z,   Z = 0 with probability exact_rate, else sqrt(W) N(0, Sigma),   Sigma = diag(sigma^2),
    sigma_j = scale_j * width_j,   W ~ Exp(1).

**Grid.** Column j lives on `lower + k * width / 2^m`, k whole. The step is at most `sigma / 2^10`, so that rounded
noise is symmetric Laplace for every purpose of estimation, and at most `width / 2^16` (coarser only under noise of
many widths), so that rounding the record itself does not matter either. Both bounds are on the grid, so rounding adds
nothing to the shift between two records, and rounding the noise of a record on the grid is post-processing.

**Inverse.** `E (T^-1 v)(X1) = v(X)` with `T^-1 v = v / r + (1 - 1/r) E_S v(. + S)`, r the exact rate and S symmetric
Laplace with covariance `r Sigma`, independent across records (the paper's doubly random correction).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.noise.extension import Box, Extension, as_extension

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

STEPS_PER_SIGMA = 2**10
MIN_BITS = 16
MAX_SIGMA_STEPS = 2**22
SCALE_RANGE = (1e-6, 1e6)
MIN_RATE = 1e-9


@dataclass(frozen=True)
class ZeroInflatedLaplace:
    """Zero-inflated symmetric Laplace noise on a block of bounded columns.

    Parameters
    ----------
    lower, upper : tuple of float
        Bounds of each column.
    scale : tuple of float
        Noise scale of each column relative to its width.
    exact_rate : float
        Probability that a record's block is released unchanged; 0 is the symmetric Laplace mechanism.

    Examples
    --------
    >>> channel = ZeroInflatedLaplace((0.0, 18.0), (1.0, 90.0), (0.25, 0.25), 0.2)
    >>> channel.sigma
    array([ 0.25, 18.  ])
    >>> channel.bits
    (16, 16)
    >>> channel.sampler_error < 1e-12
    True
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    scale: tuple[float, ...]
    exact_rate: float

    def __post_init__(self) -> None:
        check_rate("exact_rate", self.exact_rate)
        for scale in self.scale:
            if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale < math.inf:
                raise ParameterError("scale must be positive and finite", hint="it is relative to a column's width")
            if not SCALE_RANGE[0] <= scale <= SCALE_RANGE[1]:
                raise ParameterError(f"scale must lie between {SCALE_RANGE[0]:g} and {SCALE_RANGE[1]:g} widths")
        reach = np.maximum(np.abs(self.lower), np.abs(self.upper)) + 64 * self.sigma
        if (np.spacing(reach) * 8 > self.step).any():
            raise ParameterError(
                "the bounds of a column lie too far from 0 for their width: its grid has no room in floating point",
                hint="subtract a constant from the column and from its bounds",
            )

    @property
    def dim(self) -> int:
        """Number of columns."""
        return len(self.scale)

    @cached_property
    def width(self) -> Array:
        """Widths of the columns."""
        return np.subtract(self.upper, self.lower)

    @cached_property
    def sigma(self) -> Array:
        """Noise scale of each column in its own units."""
        return np.multiply(self.scale, self.width)

    @cached_property
    def bits(self) -> tuple[int, ...]:
        """The m of each column's grid, `lower + k * width / 2^m`."""
        return tuple(_bits(scale) for scale in self.scale)

    @cached_property
    def step(self) -> Array:
        """Width of a grid step in each column's own units."""
        return np.ldexp(self.width, [-bits for bits in self.bits])

    @cached_property
    def sigma_steps(self) -> Array:
        """Noise scale of each column in grid steps."""
        return np.ldexp(self.scale, self.bits)

    @cached_property
    def box(self) -> Box:
        """The domain, half a step larger than the bounds: what noise rounds into it is in it."""
        half = self.step / 2
        return Box(np.subtract(self.lower, half), np.add(self.upper, half), self.sigma)

    @property
    def words(self) -> int:
        """Words a record: coin, W, and one a column."""
        return self.dim + 2

    @property
    def sampler_error(self) -> float:
        """Bound on the total-variation distance between a record's noise and the ideal: the columns' summed."""
        return float(np.sum([sampler_error(scale) for scale in self.scale]))

    def to_steps(self, values: Array) -> None:
        """Clamp values (dim, rows) to the bounds and count whole grid steps from the lower one, in place."""
        from versadp.noise.kernel import to_steps

        to_steps(values, *self._grid)

    def to_values(self, steps: Array) -> None:
        """Turn whole grid steps (dim, rows) into the columns' own units, in place."""
        from versadp.noise.kernel import to_values

        to_values(steps, *self._grid)

    @cached_property
    def _grid(self) -> tuple[Array, Array, Array, Array]:
        return np.array(self.lower), np.array(self.upper), self.step, np.ldexp(1.0, self.bits)

    def off_grid(self, values: Array) -> NDArray[np.int64]:
        """Count in each column of (dim, rows) what is not on its grid (as after scaling a released column)."""
        nearest = np.rint((values - np.array(self.lower)[:, None]) / self.step[:, None])
        self.to_values(nearest)
        slack = 1e-3 * self.step[:, None] + 4 * np.spacing(np.abs(values))
        return np.asarray((~(np.abs(values - nearest) <= slack)).sum(axis=1))

    def add_noise(self, steps: Array, words: NDArray[np.uint64]) -> None:
        """Add noise in place.

        Parameters
        ----------
        steps : array (dim, rows)
            Whole grid steps.
        words : array (dim + 2, rows)
            Random words: the coin, W, and a normal each column.
        """
        from versadp.noise.kernel import add_noise, spread
        from versadp.noise.quantile import exact_noise, quantile_table

        root, doubt, noisy = np.empty((3, steps.shape[1]))
        # rounded down: a record is exact with at most the stated probability
        spread(words[0], words[1], np.uint64(int(self.exact_rate * 2.0**64)), root, doubt, noisy)
        unsure = np.empty(steps.shape, np.bool_)
        add_noise(words[2:], root, doubt, noisy, quantile_table(), self.sigma_steps, steps, unsure)
        for j, i in np.argwhere(unsure) if unsure.any() else ():  # about once in a billion cells
            steps[j, i] += noisy[i] * exact_noise(int(words[1, i]), int(words[2 + j, i]), float(self.sigma_steps[j]))

    def second(self, x1: Array, rng: np.random.Generator) -> Array:
        """Return the second randomisation `X1 + S`, S symmetric Laplace with covariance `exact_rate * Sigma`.

        Post-processing: an analyst may draw it as often as wanted. The draws are independent across records; sharing
        them ruins every standard error.
        """
        root = np.sqrt(self.exact_rate * rng.standard_exponential(x1.shape[:-1]))
        noise = rng.standard_normal(x1.shape)
        noise *= root[..., None]
        noise *= self.sigma
        noise += x1
        return noise

    def invert(
        self, x1: Array, *, draws: int, extension: str | Extension = "none", rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Return signed points whose weighted sum undoes the noise in expectation.

        `E sum_p weight_p g(point_p) = g(x)` for every g that is integrable under the noise, whatever the extension.

        Parameters
        ----------
        x1 : array (n, dim)
            Released blocks in the columns' own units.
        draws : int
            Second randomisations a record.
        extension : str or Extension
            What g is taken to be outside the domain.
        rng : numpy.random.Generator
            Source of the draws.

        Returns
        -------
        points : array (1 + draws, n, dim)
        weights : array (1 + draws, n)
        """
        if self.exact_rate == 0:
            raise ParameterError(
                "signed draws need an exact_rate above 0, and this mechanism has 0",
                hint="use a smooth loss with method 'analytic', 'sdrcl' or 'sl', or release with an exact_rate",
            )
        kind = as_extension(extension)
        points = np.empty((1 + draws, *x1.shape))
        points[0] = x1
        for k in range(draws):
            points[1 + k] = self.second(x1, rng)
        weights = kind.phi(points, self.box)
        weights[0] /= self.exact_rate
        weights[1:] *= (1 - 1 / self.exact_rate) / draws
        return kind.points(points, self.box), weights


def _bits(scale: float) -> int:
    """Return the m of a column's grid: fine for the noise first, then for the record, then short for the sampler."""
    for_noise = math.ceil(math.log2(STEPS_PER_SIGMA / scale))
    for_record = min(MIN_BITS, math.floor(math.log2(MAX_SIGMA_STEPS / scale)))
    return max(for_noise, for_record, 8)


def sampler_error(scale: float) -> float:
    """Bound on the total-variation distance between a column's noise and the ideal, rounded noise.

    Words are 64 bits long, and floating point plays no part (`quantile.exact_noise`). Let true uniforms fall
    into the cells whose middles the words name: 2^64 of W times 2^63 of a normal's size. Noise differs only if a
    rounding boundary `sigma sqrt(w) n = b` passes through the cell of (w, n). That curve is monotone, so it meets
    no more cells than it meets rows and columns. Words reach sqrt(w) < 6.72 and n < 9.2, so rows beyond
    `exp(-(b / 9.2 sigma)^2)` and columns beyond the tail of `b / 6.72 sigma` are out of its way. Summed over
    b = 1/2, 3/2, ... this is at most `(2 (1 + 8.2 sigma) + 1 + 5.4 sigma) / 2^64`, and the cells at the rim add
    `4 / 2^64`. The coin is rounded to the safe side.
    """
    return (22 * math.ldexp(scale, _bits(scale)) + 7) * 2.0**-64


def check_rate(name: str, rate: object) -> None:
    """Raise unless the rate is a probability in [0, 1), and not so small that it never happens."""
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate < 1:
        raise ParameterError(f"{name} must be a number in [0, 1)")
    if 0 < rate < MIN_RATE:
        raise ParameterError(f"{name} must be 0 or at least {MIN_RATE:g}: a smaller one never happens")
