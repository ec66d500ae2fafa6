"""The inverse of a block in closed form: powers and waves of its columns, for records that are undone alike.

A block whose columns have lattices (`lattice.py`) undoes a product of functions f_c of single columns by

    Π_c g_c(z_c) / κ + (1 - 1/κ) Π_c mean of g_c,

and of powers and waves g is known. With e = released - centre, m + 1 lattice points, windows of w of them, s outputs
for a missing value, v_n the variance of a draw from n points around the centre, and D_n(t) the mean of waves over them,

    f                g at a value            s g(missing)                mean of g, times the outputs m + w + s
    1                1                       -(w - s)                    m + s
    x - c            e                       0                           0
    (x - c)²         e² - v_w                -(w - s)(v_{w-s} - v_w)     (m + w)(v_{m+w} - v_w) - (w - s)(v_{w-s} - v_w)
    e^{it(x - c)}    e^{ite}/D_w             -(w - s) D_{w-s}/D_w        ((m + w) D_{m+w} - (w - s) D_{w-s})/D_w
    1{x = l}         1{z = l}                0                           1                                 (w = 1)

all f being 0 where a value is missing. A category can be **coded**, seen through columns of numbers per level that are
exact when kept; or **held** at one level, by its indicator, so that sums over levels make any interaction. The records
that agree in what is missing, and in whether they show the level held, are a *case*: there the inverse is

    factor · ( weight (...) of a kept record + (1 - weight) (...) of a redrawn one ),

with ρ = Π -(w - s)/s over missing values, h the indicator that all levels held are shown, S the mean of g for f = 1,

    factor = ρh/κ + (1 - 1/κ) S,      weight = ρh/(κ factor).

Where it is public what is missing, incomplete records are left out and the others are as they are. A block without
lattices has a `gain`, which multiplies all waves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from versadp.noise.closed import Factor, Products, Waves, joined, product_of, spread_ratio
from versadp.noise.points import MAX_POINTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from versadp.noise.block import Block
    from versadp.noise.closed import Complex
    from versadp.noise.lattice import Lattice
    from versadp.noise.points import How

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Coding = tuple[tuple[float, ...], ...]

TINY = 1e-12  # of a factor beside its parts: one that is exactly 0 has no weight, and this shifts nothing


class Inverse(Protocol):
    """The inverse of a block in the records of one case."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the numbers."""

    def products(self) -> Products:
        """Return the inverse of columns and of products of two."""

    def waves(self, t: Complex) -> Waves:
        """Return the inverse of waves `e^{i t'x}`, t (M, columns), around the centre of `products`."""


class Case(NamedTuple):
    """Some records of a block: the inverse is `factor` times that of `inverse`; a factor of 0 leaves them out."""

    factor: float
    inverse: Inverse


@dataclass(frozen=True)
class Numbers:
    """Numbers on lattices, and which of them a record does not show.

    Examples
    --------
    >>> from versadp.noise.lattice import Lattice
    >>> Numbers((Lattice(0.0, 1.0, 4, 3, keep=0.5),), (False,)).seconds
    (array([-0.66666667]), array([3.33333333]))
    """

    lattices: tuple[Lattice, ...]
    gone: tuple[bool, ...]

    @property
    def centre(self) -> Array:
        """Middles of the domains."""
        return np.array([each.low + each.step * each.last / 2 for each in self.lattices])

    @property
    def _sizes(self) -> tuple[Array, Array, Array, Array]:
        """Steps; points of a window, of all outputs of numbers, and of those that missing values share."""
        step, last, window, unseen = (
            np.array([getattr(each, name) for each in self.lattices], dtype=float)
            for name in ("step", "last", "window", "unseen")
        )
        return step, window, last + window, np.where(unseen > 0, window - unseen, 0)

    @property
    def seconds(self) -> tuple[Array, Array]:
        """Terms beside e² in the second power of each number, of a kept and of a redrawn record."""
        step, window, outputs, shared = self._sizes
        near, drawn, middle = ((n**2 - 1) * step**2 / 12 for n in (window, outputs, shared))
        redrawn = (outputs * (drawn - near) - shared * (middle - near)) / (outputs - shared)
        return np.where(self.gone, middle - near, -near), redrawn

    def factors(self, t: Complex) -> tuple[Factor, Factor]:
        """Return what waves of a kept record are multiplied by, and those of a redrawn one."""
        step, window, outputs, shared = self._sizes
        half, one = step / 2, np.where(self.gone, shared, 1)
        kept, drawn = (spread_ratio(t, above * half, window * half) for above in (one, outputs))
        if shared.any():
            middle = spread_ratio(t, shared * half, window * half)
            first, second, third = (
                (outputs * d - shared * m) / (outputs - shared) for d, m in zip(drawn, middle, strict=True)
            )
            drawn = first, second, third
        return product_of(kept, 1.0), product_of(drawn, 1.0)


@dataclass(frozen=True)
class Category:
    """Columns of numbers for the levels of a category that is drawn evenly if it is not kept.

    Attributes
    ----------
    column : str
    coding : tuple of tuples
        One row per level, one number per column.

    Examples
    --------
    >>> category = Category("region", ((0, 0), (1, 0), (0, 0), (0, 1)))
    >>> category.names, category.covariance
    (('region[0]', 'region[1]'), array([[ 0.1875, -0.0625],
           [-0.0625,  0.1875]]))
    """

    column: str
    coding: Coding

    @property
    def levels(self) -> int:
        """Number of levels."""
        return len(self.coding)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of numbers."""
        return tuple(code(self.column, number) for number in range(len(self.coding[0])))

    @property
    def centre(self) -> Array:
        """Means over levels."""
        return np.asarray(np.mean(self.coding, axis=0), dtype=float)

    @property
    def around(self) -> Array:
        """Columns around their means, (levels, columns)."""
        return np.array(self.coding, dtype=float) - self.centre

    @property
    def covariance(self) -> Array:
        """Covariance of the columns of an even draw."""
        return np.asarray(self.around.T @ self.around / self.levels)

    def wave(self, t: Complex) -> Factor:
        """Return the mean of waves over all levels, and its derivatives."""
        around = self.around
        each = np.exp(1j * t @ around.T) / self.levels
        second = -np.einsum("ml,la,lb->mab", each, around, around)
        return Factor(each.sum(axis=1), 1j * each @ around, second)


def code(column: str, number: int) -> str:
    """Return the name of one of the columns of numbers that a category is seen through.

    Examples
    --------
    >>> code("region", 2)
    'region[2]'
    """
    return f"{column}[{number}]"


@dataclass(frozen=True)
class Mixture:
    """The inverse on lattices: numbers, then coded categories, of a record that is kept with some weight."""

    names: tuple[str, ...]
    numbers: Numbers
    categories: tuple[Category, ...]
    weight: float

    @property
    def columns(self) -> tuple[str, ...]:
        """Numbers, then those of categories."""
        return (*self.names, *(name for category in self.categories for name in category.names))

    def products(self) -> Products:
        """Return the inverse of columns and of products of two."""
        from scipy.linalg import block_diag

        kept, drawn = self.numbers.seconds
        centre = np.concatenate([self.numbers.centre, *(each.centre for each in self.categories)])
        own = np.diag(self.weight * kept + (1 - self.weight) * drawn)
        rest = [(1 - self.weight) * each.covariance for each in self.categories]
        return Products(centre, self.weight, block_diag(own, *rest) if rest else own)

    def waves(self, t: Complex) -> Waves:
        """Return the inverse of waves: those of the numbers, and of redrawn categories the mean over all levels."""
        count = len(self.names)
        gain, level = (
            Factor(*(times * each for each in factor))
            for times, factor in zip((self.weight, 1 - self.weight), self.numbers.factors(t[:, :count]), strict=True)
        )
        if not self.categories:
            return Waves(gain, level)
        drawn, at = [], count
        for category in self.categories:
            drawn.append(category.wave(t[:, at : at + len(category.names)]))
            at += len(category.names)
        shapes = len(t), (len(t), at - count), (len(t), at - count, at - count)
        still = Factor(np.ones(shapes[0], complex), np.zeros(shapes[1], complex), np.zeros(shapes[2], complex))
        return Waves(joined(gain, still), joined(level, *drawn))


@dataclass(frozen=True)
class Gain:
    """The inverse of a block that multiplies all waves, `e^{it'x} <- gain(t) e^{it'z}`: powers are its derivatives."""

    block: Block

    @property
    def columns(self) -> tuple[str, ...]:
        """All of the block's."""
        return self.block.columns

    def products(self) -> Products:
        """Return the inverse of columns and of products of two: z, and `z z' - gain''(0)`."""
        size = len(self.columns)
        gain, units = self.block.gain(np.zeros((1, size), complex)), self.block.units(np.zeros(size))
        assert gain is not None
        return Products(np.zeros(size) if units is None else units.middle, 1.0, -gain.second[0].real)

    def waves(self, t: Complex) -> Waves:
        """Return the inverse of waves."""
        gain = self.block.gain(t)
        assert gain is not None
        return Waves(gain, Factor(*(0 * each for each in gain)))


@dataclass(frozen=True)
class Coded:
    """A block whose categories are seen as numbers. It has closed forms, and no points.

    Examples
    --------
    >>> from versadp import Categorical
    >>> from versadp.noise import Response
    >>> coded = Coded(Response(0.5).on({"member": Categorical([False, True])}), {"member": ((0.0,), (1.0,))})
    >>> coded.columns, whole(coded).products().shift
    (('member[0]',), array([[-0.25]]))
    """

    block: Block
    codings: Mapping[str, Coding]

    @property
    def categories(self) -> tuple[Category, ...]:
        """The categories, in the order of the block."""
        return tuple(Category(name, self.codings[name]) for name in self.block.columns if name in self.codings)

    @property
    def columns(self) -> tuple[str, ...]:
        """Numbers, then those of categories."""
        numbers = (name for name in self.block.columns if name not in self.codings)
        return (*numbers, *(name for category in self.categories for name in category.names))

    @property
    def nullable(self) -> tuple[str, ...]:
        """None: what may be missing is not seen so."""
        return ()

    def units(self, centre: Array) -> None:
        """Return none: its noise is not Laplace."""

    def point_count(self, how: How) -> int:  # noqa: ARG002 - as all blocks
        """Return more points than any fit works with: codes are undone in closed form."""
        return MAX_POINTS + 1


@dataclass
class _Seen:
    """Cases of some records: by column whether a value is gone, or whether a level held is shown."""

    names: tuple[str, ...]  # of numbers
    categories: tuple[Category, ...]
    lattices: Mapping[str, Lattice]
    flags: dict[str, Flags] = field(default_factory=dict)
    times: dict[str, tuple[float, float]] = field(default_factory=dict)  # of a kept record, without the flag and with
    share: float = 1.0  # S
    left_out: Flags | None = None

    def leave_out(self, which: Flags) -> None:
        """Leave records out, whatever else they show."""
        self.left_out = which if self.left_out is None else self.left_out | which

    def add_value(self, name: str, released: Array) -> None:
        """Add a number, or a coded category, which is 0 where it is missing."""
        lattice = self.lattices[name]
        if not lattice.unseen:
            if (gone := np.isnan(released)).any():
                self.leave_out(gone)
            return
        self.share *= 1 - lattice.window / (lattice.last + lattice.window + lattice.unseen)
        self.flags[name] = np.isnan(released)
        self.times[name] = 1.0, -(lattice.window - lattice.unseen) / lattice.unseen

    def add_level(self, name: str, released: Array, level: int) -> None:
        """Add a category held at a level; one beyond all levels is what is missing."""
        lattice = self.lattices[name]
        gone, beyond = np.isnan(released), level > lattice.last
        if not lattice.unseen:  # kept and redrawn records show what is missing
            self.leave_out(~gone if beyond else gone)
            if beyond:
                return
        self.share /= lattice.last + 1 + lattice.unseen
        self.flags[name] = gone if beyond else np.rint((released - lattice.low) / lattice.step) == level
        self.times[name] = 0.0, 1.0

    def cases(self, n: int) -> tuple[NDArray[np.int64], tuple[Case, ...]]:
        """Return which case each of n records is, and the cases: first that of a record that shows all there is."""
        if not self.flags and self.left_out is None:
            return np.zeros(n, np.int64), (self._case(0),)
        key = np.zeros(n, np.int64)
        for k, flag in enumerate(self.flags.values()):
            key |= flag.astype(np.int64) << k
        first = sum(1 << k for k, (without, _) in enumerate(self.times.values()) if not without)
        every = np.array([first, *(k for k in np.unique(key) if k != first)])
        order = np.argsort(every)
        which, out = order[np.searchsorted(every[order], key)], [self._case(int(each)) for each in every]
        if self.left_out is not None and self.left_out.any():
            which[self.left_out] = len(out)
            out.append(Case(0.0, self._inverse(set(), 0.0)))
        return which, tuple(out)

    def _case(self, key: int) -> Case:
        """Return the case of the records whose flags are the bits of a key."""
        flagged, keep = {name for k, name in enumerate(self.flags) if key >> k & 1}, self._keep
        kept = math.prod(times[name in flagged] for name, times in self.times.items()) / keep
        factor = kept + (1 - 1 / keep) * self.share
        if abs(factor) < TINY * abs(kept):
            factor = TINY * kept
        return Case(factor, self._inverse(flagged, kept / factor if factor else 0.0))

    def _inverse(self, gone: set[str], weight: float) -> Mixture:
        """Return the inverse where some values are gone, of a record that is kept with some weight."""
        numbers = Numbers(tuple(self.lattices[name] for name in self.names), tuple(name in gone for name in self.names))
        return Mixture(self.names, numbers, self.categories, weight)

    @property
    def _keep(self) -> float:
        return next(iter(self.lattices.values())).keep


def cases(
    block: Block | Coded, released: Array, held: Mapping[str, int] | None = None
) -> tuple[NDArray[np.int64], tuple[Case, ...]] | None:
    """Return which case each record is, and the cases; the first is that of a record that shows all there is.

    Parameters
    ----------
    block : Block or Coded
    released : array (columns, n)
    held : mapping of str to int
        The level at which categories are held; one beyond all levels is what is missing.

    Returns
    -------
    tuple or None
        None for a block that has neither lattices nor a gain, or keeps nothing; or no record gives all of its columns.
    """
    rate = (block.block if isinstance(block, Coded) else block).complete_rate
    found = _cases(block, released, held or {}) if rate else None
    if found is None or rate == 1:
        return found
    which, every = found  # records that do not give all columns are left out
    return which, tuple(each._replace(factor=each.factor / rate) for each in every)


def _cases(
    block: Block | Coded, released: Array, held: Mapping[str, int]
) -> tuple[NDArray[np.int64], tuple[Case, ...]] | None:
    """Return `cases`, as if the records that give all columns were all there are."""
    n = released.shape[1]
    own, categories = (block.block, block.categories) if isinstance(block, Coded) else (block, ())
    found = [own.lattice(name) for name in own.columns]
    lattices = {name: lattice for name, lattice in zip(own.columns, found, strict=True) if lattice is not None}
    if len(lattices) < len(found):
        has_gain = own.gain(np.zeros((1, len(own.columns)), complex)) is not None
        return (np.zeros(n, np.int64), (Case(1.0, Gain(own)),)) if has_gain else None
    coded = {category.column: category.names[0] for category in categories}
    names = tuple(name for name in own.columns if name not in coded and name not in held)
    seen = _Seen(names, categories, lattices)
    row = dict(zip(block.columns, released, strict=True))
    for name in lattices:
        if name in held:
            seen.add_level(name, row[name], held[name])
        else:
            seen.add_value(name, row[coded.get(name, name)])
    return seen.cases(n)


def whole(block: Block | Coded) -> Inverse | None:
    """Return the inverse in records of a block that show all there is; None without a closed form."""
    found = cases(block, np.empty((len(block.columns), 0)))
    return None if found is None else found[1][0].inverse


@dataclass(frozen=True)
class Sparse:
    """The inverse of a block of which each record gives some columns: 0 around the centre where one is not given.

    With e = released - centre, p_1 and p_2 the probabilities that one column and two are given, and `whole` the inverse
    of records that give all,

        weight/p_1 e_j  and  weight/p_1 e_j²,      weight/p_2 e_j e_l      beside the same shift.

    It has no waves, which take all columns at once.

    Attributes
    ----------
    block : Block or Coded
    """

    block: Block | Coded

    @property
    def columns(self) -> tuple[str, ...]:
        """Numbers, then those of categories."""
        return self.block.columns

    def products(self) -> Products:
        """Return the inverse of columns and of squares."""
        centre, weight, shift = self._whole
        return Products(centre, weight / self._chance(1), shift)

    def pairs(self) -> tuple[float, NDArray[np.int64]]:
        """Return the weight of products of two columns, and which columns are numbers for levels of one category."""
        categories = self.block.categories if isinstance(self.block, Coded) else ()
        numbers = len(self.columns) - sum(len(each.names) for each in categories)
        codes = [numbers + k for k, each in enumerate(categories) for _ in each.names]
        return self._whole.weight / self._chance(2), np.array([*range(numbers), *codes], np.int64)

    @property
    def _whole(self) -> Products:
        found = _cases(self.block, np.empty((len(self.columns), 0)), {})
        assert found is not None
        return found[1][0].inverse.products()

    def _chance(self, columns: int) -> float:
        own = self.block.block if isinstance(self.block, Coded) else self.block
        return float(own.chance(columns))  # type: ignore[attr-defined] # a block of which each record gives some has it

    def waves(self, t: Complex) -> Waves:
        """Raise: waves need all columns of a record."""
        raise NotImplementedError
