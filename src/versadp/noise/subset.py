r"""Each record gives a random subset of its columns, in one window with all of epsilon; terms of few columns cost less.

Of d columns a record gives k, drawn from its own secret words whatever its values are:

    S            each set of k columns with probability 1/C(d, k)
    z_j, j in S  as in a window on the columns of S (`window.py`), with one coin for them all
    others       not given: null in what is released

The coin keeps with one probability kappa, whatever S is: that of the k columns whose windows have the smallest share
f_S = Π w_j/n_j of their outputs.

**Guarantee.** S depends on no value. Given S the report is kept or redrawn: of two records the ratio of probabilities
is at most `1 + kappa/((1 - kappa) f_S)`, which the least f_S decides, and a larger f_S is a post-processing of a
smaller one (`docs/theory/subsets.md`, with what a shuffle makes of it).

**Inverse.** With T the columns of a term, and psi_T its inverse in a window with the coin kappa,

    1{T is in S}/p_T psi_T(z),      p_T = C(d - |T|, k - |T|)/C(d, k),

is unbiased. Terms of more than k columns have no inverse. Records that do not give all of T are to a term what records
with a publicly missing value are to a window's: `undo`, `cases` and `points` leave them out, and divide by p_T.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from versadp import inputs
from versadp.errors import ParameterError
from versadp.noise import window_attack as attack
from versadp.noise.block import Blanket, Spec
from versadp.noise.cost import EVEN
from versadp.noise.terms import undo_on_lattices
from versadp.noise.window import EPSILONS, Window, WindowBlock
from versadp.noise.window_design import Size
from versadp.noise.window_law import WORDS, kept_words, worst_ratio
from versadp.noise.window_sizes import window_sizes
from versadp.schema import Bounded, Categorical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from versadp.noise.cost import Decoders
    from versadp.noise.points import How, Points
    from versadp.noise.terms import SeparableTerms
    from versadp.schema import Column

    Array = NDArray[np.float64]

MOST_COLUMNS = 64  # of a block: a page of names, and far more than any subset of a few serves
HONEST_REFUSED = 1e-9  # probability, at most, that a table with the stated noise is refused, per block
_LOW = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True)
class Subset(Spec):
    """Each record gives a random subset of the columns, in one window: for models of few of many columns.

    Parameters
    ----------
    epsilon : float
        Of the guarantee, for any two values of all its columns at once.
    given : int
        How many of the columns each record gives. Analysts can ask for terms of at most so many columns: means, tables
        and other models of so many, and linear models of any columns, whose terms are products of two.
    cells, window : int or mapping of column to int, optional
        Of the lattice and the window of each number, as in `Window`; by rule.

    Examples
    --------
    >>> columns = {name: Bounded(0, 1) for name in "abcdefgh"}
    >>> block = Subset(epsilon=4, given=3).on(columns)
    >>> round(block.keep, 2), round(Window(epsilon=4).on(columns).keep, 2)
    (0.79, 0.69)
    """

    epsilon: float
    given: int
    cells: int | Mapping[str, int] | None = None
    window: int | Mapping[str, int] | None = None
    name: ClassVar[str] = "subset"

    def telling(self) -> tuple[str, ...]:
        """Return what says how much is kept: lattices and windows are many numbers."""
        return "epsilon", "given"

    def on(self, columns: Mapping[str, Column]) -> SubsetBlock:
        """Return the block on these columns."""
        epsilon, given = inputs.number("epsilon", self.epsilon, *EPSILONS), inputs.whole("given", self.given, 1)
        if not given < len(columns) <= MOST_COLUMNS:
            raise ParameterError(
                f"a record cannot give {given} of {len(columns)} columns",
                hint=f"fewer than all, of at most {MOST_COLUMNS}; Window(epsilon) gives all of them",
            )
        if nullable := [name for name, column in columns.items() if getattr(column, "nullable", False)]:
            raise ParameterError(
                f"a subset does not serve columns whose values may be missing: {', '.join(map(repr, nullable))}",
                hint="give these noise.Window, or noise.Response for a category",
            )
        numbers = {name: column for name, column in columns.items() if isinstance(column, Bounded)}
        plain = Window(epsilon, self.cells, self.window)
        size = _typical(given, numbers, columns)
        cells, window, _ = window_sizes(plain, numbers, 1, epsilon, 0.0, size=size)
        every = Window(epsilon, cells or None, window or None).on(columns)
        facts = {field.name: getattr(every, field.name) for field in fields(every)}
        return SubsetBlock(**facts | {"nulls": ("public",) * len(columns), "given": given, "among": len(columns)})


def _typical(given: int, numbers: Mapping[str, Bounded], columns: Mapping[str, Column]) -> Size:
    """Return what the rule for windows is told: numbers, and combinations of levels, of a typical subset."""
    levels = [column.outcomes for column in columns.values() if isinstance(column, Categorical)]
    shown = max(1, round(given * len(numbers) / len(columns)))
    typical = math.exp(math.fsum(map(math.log, levels)) / len(levels)) if levels else 1.0
    return Size(shown, 0, typical ** (given - shown))


@dataclass(frozen=True)
class SubsetBlock(WindowBlock):
    """A window on a random subset of columns; made by `Subset`.

    Parameters
    ----------
    columns, bounds, last, window, category, epsilon
        As in `WindowBlock`. Columns that a record does not give are to it what publicly missing ones are to a window.
    given, among : int
        How many columns a record gives, and of how many; of a part of the block these are the whole's.

    Examples
    --------
    >>> block = Subset(epsilon=2, given=2).on({name: Bounded(0, 1) for name in "abcd"})
    >>> [round(block.chance(terms), 3) for terms in (1, 2, 3)]
    [0.5, 0.167, 0.0]
    """

    given: int = 0
    among: int = 0

    @property
    def spec(self) -> Subset:  # type: ignore[override] # a window's, with one number more
        """The spec it was made from, with lattice and window."""
        plain = super().spec
        return Subset(self.epsilon, self.given, plain.cells, plain.window)

    def rule(self, cells: Mapping[str, int] | None = None, window: Mapping[str, int] | None = None) -> Spec:
        """Return the spec with other lattices and windows; by rule where they are left open."""
        return Subset(self.epsilon, self.given, cells, window)

    def chance(self, columns: int) -> float:
        """Return the probability that a record gives certain columns, by their number."""
        if columns > self.given:
            return 0.0
        return math.comb(self.among - columns, self.given - columns) / math.comb(self.among, self.given)

    @property
    def complete_rate(self) -> float:
        """Probability that a record gives all columns of the block, or of this part of one."""
        return self.chance(len(self.columns))

    @property
    def words(self) -> int:
        """Words a record: the coin, one a column, and one a column that is given."""
        return super().words + self.given

    # release --------------------------------------------------------------------------------------------------------

    def add_noise(self, content: Array, words: NDArray[np.uint64]) -> None:
        """Leave out the columns that are not given, and move the others to a place in their window, or anywhere."""
        count = super().words
        content[~drawn_subset(words[count:], self.among)] = np.nan
        super().add_noise(content, words[:count])

    def law_numbers(self) -> list[str | float]:
        """Return how many columns are given, and the numbers of a window."""
        return [self.given, *super().law_numbers()]

    def refuse_changed(self, released: Array, *, strict: bool) -> None:
        """Raise if records give more or fewer columns, or some columns more often, than the block has them do."""
        from scipy.special import bdtr, bdtrc

        from versadp.errors import DataError

        super().refuse_changed(released, strict=strict)
        shown, n = ~np.isnan(released), released.shape[1]
        if wrong := int((shown.sum(axis=0) != self.given).sum()):
            raise DataError(
                f"{wrong} of {n} records do not give {self.given} of the columns {', '.join(self.columns)}",
                hint="undo what was done to the columns after release: what is not given stays null",
            )
        often = shown.sum(axis=1)
        tails = bdtr(often, n, self.chance(1)), bdtrc(often - 1, n, self.chance(1))
        if n and 2 * often.size * float(np.minimum(*tails).min()) < HONEST_REFUSED:
            name = self.columns[int(np.argmin(np.minimum(*tails)))]
            raise DataError(
                f"column {name!r} is given by {often[self.columns.index(name)]} of {n} records, which chance excludes",
                hint="rows must not be selected by what they give",
            )

    # guarantee ------------------------------------------------------------------------------------------------------

    @cached_property
    def _by_share(self) -> list[int]:
        """Columns in the order of what their windows are of their outputs, the least first."""
        sizes = list(zip(self.window, self.outputs, strict=True))
        return sorted(range(len(sizes)), key=lambda j: Fraction(WORDS // sizes[j][1], -(-WORDS // sizes[j][0])))

    @cached_property
    def hardest(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Windows and outputs of the columns that are hardest to hide, as many as a record gives."""
        some = self._by_share[: self.given]
        return tuple(self.window[j] for j in some), tuple(self.outputs[j] for j in some)

    @cached_property
    def kept(self) -> int:
        """Number of the 2^64 words that keep a record, whichever columns it gives."""
        if self.coin is not None:
            return self.coin
        return kept_words(*self.hardest, self.epsilon * (1 - 1e-14))

    @property
    def share(self) -> float:
        """The least share of all outputs that a record makes likely, of all subsets."""
        return math.prod(w / n for w, n in zip(*self.hardest, strict=True))

    @cached_property
    def ratio(self) -> Fraction:
        """The largest ratio of the probabilities of an output under two records."""
        return worst_ratio(*self.hardest, self.kept)

    def blanket(self) -> Blanket | None:
        """Return that of the worst subset, where windows of no subset have more than half of their outputs."""
        easiest = self._by_share[-self.given :]
        if math.prod(self.window[j] / self.outputs[j] for j in easiest) > 1 / 2:
            return None
        return super().blanket()

    def holds(self, places: Array, first: Array) -> NDArray[np.bool_]:
        """Return whether outputs are among those of a kept record; a column that is not given excludes nothing."""
        return np.asarray(super().holds(places, first) | np.isnan(places))

    def log_ratio(self, seen: Array, null: Array, other: Array) -> Array:
        """Return the log likelihood ratio: in whose window the columns lie that are given."""
        shown = ~np.isnan(seen)
        times = np.divide(self.outputs, self.window)[:, None]
        step = np.log1p(self.keep / (1 - self.keep) * np.where(shown, times, 1.0).prod(axis=0))
        return np.asarray(step * np.sign(attack.log_ratio(self, seen, null, other)))

    def labels(self, seen: Array) -> dict[str, NDArray[np.int64]]:
        """Return where outputs stand, and which columns are given."""
        shown = {f"whether {name} is given": (~np.isnan(z)).astype(np.int64) for name, z in _named(self, seen)}
        return super().labels(seen) | shown

    def ranks(self, seen: Array, truth: Array, rng: np.random.Generator) -> dict[str, Array]:
        """Return the ranks of the coin and of the places of columns that are given."""
        return super().ranks(seen, np.where(np.isnan(seen), np.nan, truth), rng)

    # words ----------------------------------------------------------------------------------------------------------

    def sentences(self, rows: int | None) -> list[str]:
        """Return what the statement says: above all, how many columns a record shows anything of."""
        first, second = super().sentences(rows)
        given = (
            f"Each record gives {self.given} of {self.among} columns, drawn from its secret words whatever its values"
        )
        return [
            f"{given} are, and nothing of the others, which are null.",
            first.replace("a record shows the truth", "it shows the truth of these"),
            second.replace("they are", "these are"),
        ]

    def facts(self, rows: int | None) -> dict[str, str]:
        """Return what a plan shows."""
        given = {f"{' + '.join(self.columns)}: given by a record": f"{self.given} of {self.among}"}
        return given | super().facts(rows)

    def inflation(self) -> dict[str, float]:
        """Return the variance inflation of each mean, or of a level's share, values spread evenly."""
        return {name: factor / self.chance(1) for name, factor in super().inflation().items()}

    def decoders(self, spread: float = EVEN) -> dict[str, Decoders]:
        """Return what the noise costs in means and slopes of the numbers."""
        found = super().decoders(spread).items()
        return {name: _sparse(each, self.keep, self.chance(1)) for name, each in found}

    def median_costs(self) -> dict[str, float | None]:
        """Return what it costs in medians of the numbers."""
        root = math.sqrt(self.chance(1))
        return {name: None if cost is None else cost / root for name, cost in super().median_costs().items()}

    def serves(self) -> str:
        """Return what an analyst can do with it."""
        return f"linear models of any columns; means, tables, quantiles and other models of at most {self.given}"

    def figures(self) -> dict[str, Any]:
        """Return how many columns are given, the probability of the truth up to a window, and half the window."""
        return {"given": self.given, "among": self.among, **super().figures()}

    # inverse --------------------------------------------------------------------------------------------------------

    def points(self, released: Array, rng: np.random.Generator, how: How) -> Points:
        """Return the points of a window, with weights over p_T; of records that do not give all they are missing."""
        if not self.complete_rate:
            raise too_many(self, len(self.columns))
        found = super().points(released, rng, how)
        return found._replace(weight=found.weight / self.complete_rate)

    def undo(self, terms: SeparableTerms, released: Array, out: Array | None = None) -> Array | None:
        """Return unbiased values of products of functions; 0 where a record does not give all columns of a product."""
        own, size = terms.where_given(self)
        chance = np.array([self.chance(int(each)) for each in size])
        if not chance.all():
            raise too_many(self, int(size.max()))
        found = undo_on_lattices(self, own, released, out)
        if found is not None:
            found /= chance
        return found


def _named(block: WindowBlock, seen: Array) -> list[tuple[str, Array]]:
    return list(zip(block.columns, seen, strict=True))


def too_many(block: SubsetBlock, columns: int) -> ParameterError:
    """Return our error for a term of more columns than a record gives."""
    return ParameterError(
        f"each record gives {block.given} of {block.among} private columns, and a term here needs {columns} of them",
        hint=f"a model of at most {block.given} of them, or squared loss and a design that is linear in them",
    )


def drawn_subset(words: NDArray[np.uint64], among: int) -> NDArray[np.bool_]:
    """Return which columns are given, (among, rows), from one word per column that is: Floyd's draw of a subset.

    Of places 0 to `among - k + i` word i draws one, `floor(word * places/2^64)`; a place that is taken gives way to the
    last. Each subset has the same probability up to `among/2^64`, and none depends on anything but words.

    Examples
    --------
    >>> words = np.array([[0, 2**63, 2**64 - 1], [0, 2**63, 2**64 - 1]], np.uint64)
    >>> drawn_subset(words, 3).astype(int)
    array([[1, 0, 0],
           [0, 1, 1],
           [1, 1, 1]])
    """
    count, rows = words.shape
    given, every = np.zeros((among, rows), np.bool_), np.arange(rows)
    for i, word in enumerate(words):
        last = among - count + i
        places = np.uint64(last + 1)
        high, low = word >> np.uint64(32), word & _LOW
        place = ((high * places + ((low * places) >> np.uint64(32))) >> np.uint64(32)).astype(np.int64)
        given[np.where(given[place, every], last, place), every] = True
    return given


def _sparse(each: Decoders, keep: float, rate: float) -> Decoders:
    """Return decoders of which a record gives a share: 0, but for constants, where it is not given."""
    square = (each.first * keep) ** 2  # the mean of z²/keep, squared
    return each._replace(
        first=each.first / rate, cross=each.cross / rate, second=(each.second + square) / rate - square
    )
