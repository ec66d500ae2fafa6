"""Zero-inflated symmetric Laplace noise on a block of numbers: the paper's mechanism.

One coin and one W a record, shared by all columns of the block (Algorithm 1):

    X1 = X + Z,   Z = 0 with probability exact_rate, else sqrt(W) N(0, Sigma),   Sigma = diag(sigma^2),
    sigma_j = scale_j * width_j,   W ~ Exp(1),   each column on its own grid (`grid.py`).

**Guarantee.** Two records differ by at most the width in every column, so in units of the noise scale by at most
`1/scale_j` in column j: one attribute shifts by the largest of these, a whole record by their root sum of squares. The
other columns tell an attacker W, so one attribute has the block's full dimension too.

**Inverse.** `E (T^-1 v)(X1) = v(X)` with `T^-1 v = v / r + (1 - 1/r) E_S v(. + S)`, r the exact rate and S symmetric
Laplace with covariance `r Sigma`, independent across records (the paper's doubly random correction).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from versadp import inputs
from versadp.errors import ParameterError
from versadp.noise import laplace_attack as attack
from versadp.noise.block import Block, Spec
from versadp.noise.cost import EVEN, laplace_decoders, laplace_median
from versadp.noise.extension import Box
from versadp.noise.grid import SCALE_RANGE, grid_bits, sampler_error
from versadp.noise.missing import as_sampled
from versadp.noise.points import How, Points
from versadp.noise.settings import check_rate, each_column
from versadp.noise.zil_check import refuse_changed
from versadp.schema import Bounded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from versadp.noise.closed import Complex, Factor
    from versadp.noise.cost import Decoders
    from versadp.noise.distribution_function import Bins
    from versadp.noise.units import Units
    from versadp.privacy import PrivacyProfile
    from versadp.schema import Column

    Array = NDArray[np.float64]

_NEAR = {1: 0.25, 2: 0.342, 3: 0.414}  # of a cell's size: E r, exp(E log r), 1/E(1/r) around the middle of a ball


@dataclass(frozen=True)
class ZeroInflated(Spec):
    """Zero-inflated symmetric Laplace noise, shared by the numbers that it is put on.

    Parameters
    ----------
    scale : float or mapping of column to float
        Noise scale relative to each column's width.
    exact_rate : float
        Probability that a record's numbers are released unchanged; 0 is the symmetric Laplace mechanism.

    Examples
    --------
    >>> block = ZeroInflated(scale=0.25, exact_rate=0.2).on({"age": Bounded(18, 90), "score": Bounded(0, 1)})
    >>> block.columns, block.sigma
    (('age', 'score'), array([18.  ,  0.25]))
    """

    scale: float | Mapping[str, float]
    exact_rate: float = 0.0
    name: ClassVar[str] = "zero-inflated"

    def on(self, columns: Mapping[str, Column]) -> ZeroInflatedBlock:
        """Return the block on these columns."""
        bounded = {name: column for name, column in columns.items() if isinstance(column, Bounded)}
        if len(bounded) < len(columns):
            wrong = ", ".join(repr(name) for name in columns if name not in bounded)
            raise ParameterError(f"zero-inflated Laplace noise serves numbers, not {wrong}", hint="use noise.Response")
        scale = each_column("scale", self.scale, tuple(columns))
        lower, upper = zip(*((column.lower, column.upper) for column in bounded.values()), strict=True)
        return ZeroInflatedBlock(tuple(columns), lower, upper, tuple(scale.values()), self.exact_rate)


@dataclass(frozen=True)
class ZeroInflatedBlock(Block):
    """Zero-inflated symmetric Laplace noise on bounded columns; made by `ZeroInflated`.

    Parameters
    ----------
    columns : tuple of str
    lower, upper : tuple of float
        Bounds of each column.
    scale : tuple of float
        Noise scale of each column relative to its width.
    exact_rate : float

    Examples
    --------
    >>> block = ZeroInflatedBlock(("x", "age"), (0.0, 18.0), (1.0, 90.0), (0.25, 0.25), 0.2)
    >>> block.grid()
    {'x': 16, 'age': 16}
    >>> block.sampler_error < 1e-12
    True
    """

    columns: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    scale: tuple[float, ...]
    exact_rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "exact_rate", check_rate("exact_rate", self.exact_rate))
        for scale in self.scale:
            if not 0 < inputs.number("scale", scale, -np.inf, np.inf) < math.inf:
                raise ParameterError("scale must be positive and finite", hint="it is relative to a column's width")
            if not SCALE_RANGE[0] <= scale <= SCALE_RANGE[1]:
                raise ParameterError(f"scale must lie between {SCALE_RANGE[0]:g} and {SCALE_RANGE[1]:g} widths")
        with np.errstate(over="ignore"):
            reach = np.maximum(np.abs(self.lower), np.abs(self.upper)) + 64 * self.sigma + self.width
        if not np.isfinite(reach).all():
            raise ParameterError(
                "a column is so wide that what is released may be infinite: 64 times its noise is no number",
                hint="divide the column and its bounds by a constant",
            )
        if (np.spacing(reach) * 8 > self.step).any():
            raise ParameterError(
                "the bounds of a column lie too far from 0 for their width: its grid has no room in floating point",
                hint="subtract a constant from the column and from its bounds",
            )

    @property
    def spec(self) -> ZeroInflated:
        """The spec it was made from."""
        return ZeroInflated(dict(zip(self.columns, self.scale, strict=True)), self.exact_rate)

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
        with np.errstate(over="ignore"):  # and is then refused
            return np.multiply(self.scale, self.width)

    @cached_property
    def bits(self) -> tuple[int, ...]:
        """The m of each column's grid, `lower + k * width / 2^m`."""
        return tuple(grid_bits(scale) for scale in self.scale)

    def grid(self) -> dict[str, int]:
        """Return the m of each column's grid."""
        return dict(zip(self.columns, self.bits, strict=True))

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

    # release --------------------------------------------------------------------------------------------------------

    def to_content(self, values: Array) -> None:
        """Clamp values (dim, rows) to the bounds and count whole grid steps from the lower one, in place."""
        from versadp.noise.kernel import to_steps

        to_steps(values, *self._grid)

    def to_values(self, content: Array) -> None:
        """Turn whole grid steps (dim, rows) into the columns' own units, in place."""
        from versadp.noise.kernel import to_exact_values

        to_exact_values(content, *self._grid)

    def to_fused_values(self, content: Array) -> None:
        """Turn whole grid steps into what versions 1 to 3 release, whose last bits may depend on the CPU."""
        from versadp.noise.kernel import to_values

        to_values(content, *self._grid)

    @property
    def threshold(self) -> int:
        """Words below it leave a record unchanged: rounded down, so with at most the stated probability."""
        return int(self.exact_rate * 2.0**64)

    def derived(self) -> dict[str, Any]:
        """Return the coin's threshold and the grid bits, one per column."""
        return {"threshold": str(self.threshold), "bits": list(self.bits)}

    def law_numbers(self) -> list[str | float]:
        """Return the coin's threshold, and grid bits and scale of each column."""
        return [self.threshold, *(value for pair in zip(self.bits, self.scale, strict=True) for value in pair)]

    @cached_property
    def _grid(self) -> tuple[Array, Array, Array, Array]:
        return np.array(self.lower), np.array(self.upper), self.step, np.ldexp(1.0, self.bits)

    def add_noise(self, content: Array, words: NDArray[np.uint64]) -> None:
        """Add noise to whole grid steps (dim, rows) in place; words are the coin, W, and a normal each column."""
        from versadp.noise.kernel import add_noise, spread
        from versadp.noise.quantile import exact_noise, quantile_table

        root, doubt, noisy = np.empty((3, content.shape[1]))
        spread(words[0], words[1], np.uint64(self.threshold), root, doubt, noisy)
        unsure = np.empty(content.shape, np.bool_)
        add_noise(words[2:], root, doubt, noisy, quantile_table(), self.sigma_steps, content, unsure)
        for j, i in np.argwhere(unsure) if unsure.any() else ():  # about once in a billion cells
            content[j, i] += noisy[i] * exact_noise(int(words[1, i]), int(words[2 + j, i]), float(self.sigma_steps[j]))

    def off_grid(self, released: Array) -> NDArray[np.int64]:
        """Count in each column of (dim, rows) what is not on its grid (as after scaling a released column)."""
        nearest = np.rint((released - np.array(self.lower)[:, None]) / self.step[:, None])
        self.to_values(nearest)
        slack = 1e-3 * self.step[:, None] + 4 * np.spacing(np.abs(released))
        return np.asarray((~(np.abs(released - nearest) <= slack)).sum(axis=1))

    def refuse_changed(self, released: Array, *, strict: bool) -> None:
        """Raise if a column was scaled, rounded or clamped after release."""
        refuse_changed(self, released, strict=strict)

    # guarantee ------------------------------------------------------------------------------------------------------

    def profile(self, unit: str) -> PrivacyProfile:
        """Return what ideal noise guarantees."""
        from versadp import privacy

        return privacy.zero_inflated(privacy.symmetric_laplace(self.dim, self.shift(unit)), self.exact_rate)

    def guarantee(self, unit: str) -> PrivacyProfile:
        """Return what the noise guarantees as it is sampled; the coin errs to the safe side."""
        from versadp import privacy

        shift = self.shift(unit)
        return privacy.zero_inflated(
            as_sampled(privacy.symmetric_laplace(self.dim, shift), self.scale, shift), self.exact_rate
        )

    def shift(self, unit: str) -> float:
        """Return the largest distance of two records in units of the noise scale."""
        shifts = [1 / scale for scale in self.scale]
        return math.nextafter(math.hypot(*shifts) if unit == "record" else max(shifts), math.inf)

    def extremes(self, unit: str) -> tuple[dict[str, float], dict[str, float]]:
        """Return opposite corners, or corners that differ in the column with the least noise."""
        null = dict(zip(self.columns, self.lower, strict=True))
        other = dict(zip(self.columns, self.upper, strict=True))
        if unit == "attribute":
            weakest = self.columns[int(np.argmin(self.scale))]
            other = null | {weakest: other[weakest]}
        return null, other

    def log_ratio(self, seen: Array, null: Array, other: Array) -> Array:
        """Return the log likelihood ratio; beyond all others where a record is hit exactly."""
        return attack.log_ratio(self, seen, null, other)

    def events(self, seen: Array, null: Array, other: Array) -> dict[str, NDArray[np.bool_]]:
        """Return what no density knows of: values off the grid, low bits, values that hit a record."""
        return attack.events(self, seen, null, other)

    def labels(self, seen: Array) -> dict[str, NDArray[np.int64]]:
        """Return where values lie between two points of the grid."""
        return attack.labels(self, seen)

    def ranks(self, seen: Array, truth: Array, rng: np.random.Generator) -> dict[str, Array]:
        """Return the ranks of the noise's radius and direction."""
        return attack.ranks(self, seen, truth, rng)

    # words ----------------------------------------------------------------------------------------------------------

    def sentences(self, rows: int | None) -> list[str]:
        """Return what the statement says."""
        rate = self.exact_rate
        count = "" if rows is None or not rate else f" (about {rate * rows:,.0f} of {rows:,})"
        kept = (
            f"Expect {100 * rate:.3g}% of the records{count} to be released with their numeric columns unchanged, and "
            "assume that they can be recognised."
            if rate
            else "No record is released with its numeric columns unchanged."
        )
        noise = ", ".join(f"{name} ±{sigma:.3g}" for name, sigma in zip(self.columns, self.sigma, strict=True))
        return [kept, f"The others carry Laplace noise with these standard deviations: {noise}."]

    def facts(self, rows: int | None) -> dict[str, str]:
        """Return what a plan shows."""
        noise = zip(self.columns, self.sigma, strict=True)
        facts = {f"noise in {name} (standard deviation)": f"±{sigma:,.4g}" for name, sigma in noise}
        facts["records released unchanged"] = f"{100 * self.exact_rate:.3g}%"
        if rows is not None:
            facts[f"... of {rows:,}"] = f"about {self.exact_rate * rows:,.0f}"
        return facts

    def inflation(self) -> dict[str, float]:
        """Return the variance inflation of each mean, values spread evenly over their bounds."""
        left = 1 - self.exact_rate
        return {name: 1 + 12 * left * scale**2 for name, scale in zip(self.columns, self.scale, strict=True)}

    def decoders(self, spread: float = EVEN) -> dict[str, Decoders]:
        """Return what the noise costs in means and slopes."""
        return {n: laplace_decoders(spread, s, self.exact_rate) for n, s in zip(self.columns, self.scale, strict=True)}

    def median_costs(self) -> dict[str, float | None]:
        """Return what it costs in medians."""
        return {n: laplace_median(s, self.exact_rate) for n, s in zip(self.columns, self.scale, strict=True)}

    def serves(self) -> str:
        """Return what an analyst can do with it."""
        return "any loss; rough ones live on the unchanged records" if self.exact_rate else "smooth losses only"

    def figures(self) -> dict[str, Any]:
        """Return the share of unchanged records, and the noise of each column."""
        noise = dict(zip(self.columns, self.sigma.tolist(), strict=True))
        return {"unchanged": self.exact_rate, "noise": noise, "noise in widths": dict(self.parameter("scale"))}

    # inverse --------------------------------------------------------------------------------------------------------

    def units(self, centre: Array) -> Units:
        """Return noise units around a centre."""
        from versadp.noise.units import Units

        lower, upper = (self.box.lower - centre) / self.sigma, (self.box.upper - centre) / self.sigma
        bounds = (np.array(self.lower), np.array(self.upper))
        return Units(self.columns, centre, self.sigma, lower, upper, bounds, self.step, self.exact_rate)

    def gain(self, t: Complex) -> Factor:
        """Return `1/(r + (1 - r)/(1 + q))`, `q = t'Sigma t/2`: what noise divides waves by."""
        from versadp.noise.closed import Factor

        rate, slope, bend = self.exact_rate, t * self.sigma**2, np.diag(self.sigma**2)
        q = (t * slope).sum(axis=1) / 2
        if (q.real <= -1 / 4).any():
            raise ParameterError(
                "an exponential of these columns has no finite variance at this much Laplace noise",
                hint="use method 'drcl', whose extension 'zero' has no such limit",
            )
        low = 1 + rate * q
        first, second = (1 - rate) / low**2, -2 * rate * (1 - rate) / low**3
        outer = slope[:, :, None] * slope[:, None, :]
        by_t = second[:, None, None] * outer + first[:, None, None] * bend
        return Factor((1 + q) / low, first[:, None] * slope, by_t)

    def second(self, released: Array, rng: np.random.Generator) -> Array:
        """Return the second randomisation `X1 + S`, S symmetric Laplace with covariance `exact_rate * Sigma`.

        Post-processing: an analyst may draw it as often as wanted. The draws are independent across records; sharing
        them ruins every standard error.
        """
        return np.ascontiguousarray(self._second(released.T, rng).T)

    def _second(self, x1: Array, rng: np.random.Generator) -> Array:
        root = np.sqrt(self.exact_rate * rng.standard_exponential(x1.shape[:-1]))
        noise = rng.standard_normal(x1.shape)
        noise *= root[..., None]
        noise *= self.sigma
        noise += x1
        return noise

    def point_count(self, how: How) -> int:
        """Return the released record and its draws."""
        return 1 + how.draws

    def points(self, released: Array, rng: np.random.Generator, how: How) -> Points:
        """Return the released record with weight `1/r` and draws around it that share `1 - 1/r`."""
        if self.exact_rate == 0:
            raise ParameterError(
                "signed draws need an exact_rate above 0, and this mechanism has 0",
                hint="use a smooth loss with method 'analytic', 'sdrcl' or 'sl', or release with an exact_rate",
            )
        x1 = released.T
        points = np.empty((1 + how.draws, *x1.shape))
        points[0] = x1
        for k in range(how.draws):
            points[1 + k] = self._second(x1, rng)
        weight = how.extension.phi(points, self.box)
        weight[0] /= self.exact_rate
        weight[1:] *= (1 - 1 / self.exact_rate) / how.draws
        places = how.extension.points(points, self.box)
        record, draw = np.nonzero(weight.T)
        columns = {name: places[draw, record, j] for j, name in enumerate(self.columns)}
        return Points(record, columns, weight[draw, record])

    def bins(self, column: str) -> Bins:
        """Return bins finer than the second randomisation, and some outside the domain."""
        from versadp.noise.distribution_function import laplace_bins

        j = self.columns.index(column)
        bounds, grid = (self.lower[j], self.upper[j]), (float(self.step[j]), 2 ** self.bits[j])
        return laplace_bins(bounds, float(self.sigma[j]), self.exact_rate, grid)

    def steps(self, column: str, t: Array) -> Array | None:
        """Return the doubly random correction of `1{x <= t}`; noise of one column is symmetric Laplace noise again."""
        from versadp.noise.distribution_function import laplace_steps

        if not self.exact_rate:
            return None
        return laplace_steps(self.bins(column), t, float(self.sigma[self.columns.index(column)]), self.exact_rate)

    # likelihood -----------------------------------------------------------------------------------------------------

    def cells(self, column: str, declared: Column, most: int) -> Array:
        """Return equal cells of the domain; where values are known to be few, each of them, as wide as a grid step."""
        j = self.columns.index(column)
        lower, upper, half = self.lower[j], self.upper[j], self.step[j] / 2
        steps = declared.steps if isinstance(declared, Bounded) else None
        if steps is not None and steps < most:
            values = np.linspace(lower, upper, steps + 1)
            return np.stack([values - half, values + half])
        ends = np.linspace(lower - half, upper + half, most + 1)
        return np.stack([ends[:-1], ends[1:]])

    def law(self, columns: tuple[str, ...], seen: Array, low: Array, high: Array) -> Array:
        """Return `r 1{z in the cell}/cell + (1 - r) SL(z - middle)`, times a grid step in every column.

        Symmetric Laplace noise with fewer columns is symmetric Laplace noise, and an unchanged record tells the cell
        that it lies in. Away from its pole the density has `Δg = 2g`, so that spreading a value over a cell multiplies
        it by the same number everywhere; near it the radius is at least what the cell's mean radius is (`_NEAR`).
        """
        from versadp.privacy.curves.radial import log_density

        at = [self.columns.index(name) for name in columns]
        sigma, dim = self.sigma[at], len(at)
        square, inside, size = 0.0, True, 1.0
        for z, start, end, scale in zip(seen, low, high, sigma, strict=True):
            square = square + ((z[:, None] - (start + end) / 2) / scale) ** 2
            inside = inside & (z[:, None] >= start) & (z[:, None] < end)
            size = size * (end - start) / scale
        radius = np.sqrt(np.maximum(square, (_NEAR[min(dim, 3)] * size ** (1 / dim)) ** 2))
        out = np.exp(log_density(dim, radius))
        out *= 1 - self.exact_rate
        if self.exact_rate:
            out += self.exact_rate * inside / size
        return np.asarray(out * np.prod(self.step[at] / sigma))
