"""Blocks: noise on some columns of a record, with its guarantee and its inverse.

A mechanism is a product of independent blocks, each an invertible channel on its own columns. A block knows everything
about its noise, so that nothing outside this room asks what kind it is:

    values -> content -> noise -> values        how records are released, on whole numbers
    profile, guarantee, log_ratio, extremes     what that guarantees, ideally and as sampled, and how to attack it
    sentences, facts, inflation                 the same in words, and what it costs an analyst
    points                                      how to undo it in expectation: E sum_p weight_p g(point_p) = g(x)
    lattice, undo                               the same for products of functions of single columns, output by output
    gain                                        the same for waves of noise that has no lattice
    cells, law                                  how likely every output is, for likelihoods

**Missing values** are NaN, coming and going. As content a missing value is a whole number that no value has, if it is
private who is missing, so that noise hides it like any other; if that is public it stays NaN, and noise leaves it so.
Either way content tells it from every value, and so do all tags and digests of content.

A *spec* is what a provider writes: noise that knows no columns yet. Put on columns it becomes a block. Both are frozen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from versadp.errors import ParameterError
from versadp.noise.cost import EVEN

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from versadp.noise.closed import Complex, Factor
    from versadp.noise.cost import Decoders, State
    from versadp.noise.distribution_function import Bins
    from versadp.noise.lattice import Lattice
    from versadp.noise.points import How, Points
    from versadp.noise.terms import SeparableTerms
    from versadp.noise.units import Units
    from versadp.privacy import PrivacyProfile
    from versadp.schema import Column

    Array = NDArray[np.float64]
    Words = NDArray[np.uint64]

UNITS = ("record", "attribute")
FORMER = frozenset({"products", "waves", "cases", "coded", "strata"})  # inverses that `lattice` and `gain` replace


def check_unit(unit: str) -> str:
    """Return the unit if it is one: what a guarantee protects.

    Examples
    --------
    >>> check_unit("attribute")
    'attribute'
    """
    if unit not in UNITS:
        raise ParameterError(f"there is no unit {unit!r}", hint=f"choose from {', '.join(UNITS)}")
    return unit


class Blanket(NamedTuple):
    """The law of a block that keeps or redraws, as a shuffle relies on it: how well other people's records hide one.

    The probabilities of what it shows take two values, `e^epsilon` apart, and the larger holds for a `share` of all
    that it can show, whatever the record. What is sampled has at least `1 - off` times these probabilities.
    """

    epsilon: float
    share: float
    off: float


class Spec(ABC):
    """Noise as a provider asks for it, before it is put on columns: a frozen dataclass of plain numbers.

    Attributes
    ----------
    name : str
        What files call it.

    Examples
    --------
    >>> from versadp import Bounded
    >>> from versadp.noise import Window
    >>> Window(epsilon=2).name, Window(epsilon=2).on({"age": Bounded(18, 90)}).columns
    ('window', ('age',))
    """

    name: ClassVar[str]

    @abstractmethod
    def on(self, columns: Mapping[str, Column]) -> Block:
        """Return the block on these columns, which are all private; raise if it does not serve them."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, as they stand in files."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type] # a dataclass

    def telling(self) -> tuple[str, ...]:
        """Return the names of the numbers that tell most about it, for a line of text; all, unless a spec says so."""
        return tuple(self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        names = {field.name for field in fields(cls)}  # type: ignore[arg-type] # a dataclass
        if set(data) != names:
            raise ParameterError(f"{cls.name} noise has just: {', '.join(sorted(names))}")
        return cls(**data)


class Block(ABC):
    """Noise on some columns; made by a spec. Frozen.

    Columns come and go as arrays (columns, rows) of float64 in the order of `columns`: numbers in their own units,
    categories as the numbers of their levels, what is missing as NaN.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns.

    Examples
    --------
    >>> from versadp import Bounded, Schema, calibrate
    >>> (block,) = calibrate(Schema({"age": Bounded(18, 90)}), epsilon=2).blocks
    >>> block.columns, round(float(block.profile("record").epsilon(0)), 6) <= 2
    (('age',), True)
    """

    columns: tuple[str, ...]

    def __init_subclass__(cls, **facts: Any) -> None:
        """Refuse a block that states its inverse by methods of former versions."""
        super().__init_subclass__(**facts)
        if former := sorted(FORMER & set(vars(cls))):
            raise ParameterError(
                f"{cls.__name__} states its inverse by {', '.join(former)}, which blocks no longer have",
                hint="state lattice(column), or gain(t) if the noise multiplies waves; CHANGELOG.md shows how",
            )

    @property
    @abstractmethod
    def spec(self) -> Spec:
        """The spec it was made from, with every choice made: put on the same columns it gives the same block."""

    @property
    @abstractmethod
    def words(self) -> int:
        """Random words a record, the same for all records."""

    @property
    @abstractmethod
    def sampler_error(self) -> float:
        """Bound on the total-variation distance between a record's noise and what `profile` takes it to be."""

    @property
    def nullable(self) -> tuple[str, ...]:
        """Columns in which missing values are served; none unless a block says so."""
        return ()

    @property
    def complete_rate(self) -> float:
        """Probability that a record shows all columns of the block; 1 unless each record gives some of them only."""
        return 1.0

    @property
    def whole(self) -> tuple[str, ...]:
        """Columns of which whole numbers are released, as dates need; none unless a block says so."""
        return ()

    @property
    def spaced(self) -> tuple[str, ...]:
        """Columns whose spacing is not linear and is served; none unless a block says so."""
        return ()

    # release --------------------------------------------------------------------------------------------------------

    @abstractmethod
    def to_content(self, values: Array) -> None:
        """Turn private values into the whole numbers that noise is added to, in place; clamp to bounds."""

    @abstractmethod
    def add_noise(self, content: Array, words: Words) -> None:
        """Add noise to whole numbers in place; `words` is (words, rows). Every record takes the same steps."""

    @abstractmethod
    def to_values(self, content: Array) -> None:
        """Turn noisy whole numbers into what is released, in place."""

    def to_fused_values(self, content: Array) -> None:
        """Turn noisy whole numbers into what versions 1 to 3 release, whose last bits may depend on the CPU."""
        self.to_values(content)

    # guarantee ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def profile(self, unit: str) -> PrivacyProfile:
        """Return what ideal noise guarantees if all columns differ ("record"), or any one ("attribute")."""

    def blanket(self) -> Blanket | None:
        """Return what a shuffle may rely on, if the block keeps or redraws."""
        return None

    def guarantee(self, unit: str) -> PrivacyProfile:
        """Return what the noise guarantees as it is sampled: its sampler's error is charged."""
        from versadp.privacy import with_slack

        return with_slack(self.profile(unit), self.sampler_error)

    def guarantee_on_any(self, columns: Mapping[str, Column], unit: str) -> PrivacyProfile:
        """Return what its spec guarantees on whatever bounds and levels are learnt inside the declared columns.

        By default that on the declared columns: of noise relative to a column's width, or with fewer levels.
        """
        return self.spec.on(columns).guarantee(unit)

    @abstractmethod
    def extremes(self, unit: str) -> tuple[dict[str, float], dict[str, float]]:
        """Return two records of this block that are hardest to tell apart safely."""

    @abstractmethod
    def log_ratio(self, seen: Array, null: Array, other: Array) -> Array:
        """Return the log likelihood ratio of `other` against `null` for released records `seen`, (rows,)."""

    def events(self, seen: Array, null: Array, other: Array) -> dict[str, NDArray[np.bool_]]:  # noqa: ARG002 - for blocks to override
        """Return what an attacker can look for beside the likelihood ratio, by name."""
        return {}

    def labels(self, seen: Array) -> dict[str, NDArray[np.int64]]:  # noqa: ARG002 - for blocks to override
        """Return small whole numbers from 0 on that an attacker can read off released records, by name."""
        return {}

    def ranks(self, seen: Array, truth: Array, rng: np.random.Generator) -> dict[str, Array]:  # noqa: ARG002 - as above
        """Return where released records stand in the law of the noise, given the true ones, by name (`ranks.py`).

        Both are (columns, rows). If the law holds, ranks are even on (0, 1) and independent; NaN is what it never
        gives. A block without ranks is audited by pairs of records only.
        """
        return {}

    # words ----------------------------------------------------------------------------------------------------------

    @abstractmethod
    def sentences(self, rows: int | None) -> list[str]:
        """Return what the privacy statement says about this block; `rows` is the number of records if it is known."""

    @abstractmethod
    def facts(self, rows: int | None) -> dict[str, str]:
        """Return what a plan shows about this block, by label."""

    @abstractmethod
    def inflation(self) -> dict[str, float]:
        """Return by how much the noise multiplies the variance of each column's mean (or of a level's share)."""

    def decoders(self, spread: float = EVEN) -> dict[str, Decoders]:  # noqa: ARG002 - for blocks to override
        """Return what the noise costs in means and slopes of numbers with this standard deviation in widths."""
        return {}

    def states(self) -> tuple[State, ...] | None:
        """Return the noise of numbers as a mixture of states in which columns are independent; None if it is none."""
        return None

    def median_costs(self) -> dict[str, float | None]:
        """Return by how much the noise multiplies the standard error of each number's median; None without one."""
        return {}

    def serves(self) -> str:
        """Return what an analyst can do with it, in words."""
        return "any loss, by signed points"

    def figures(self) -> dict[str, Any]:
        """Return what is kept and how wide, as numbers."""
        return self.spec.to_dict()

    # inverse --------------------------------------------------------------------------------------------------------

    @abstractmethod
    def points(self, released: Array, rng: np.random.Generator, how: How) -> Points:
        """Return signed points whose weighted sums undo the noise in expectation, in the order of records.

        A missing value is a point too: `sum of weight * g(point)` has expectation g(x) also where x is missing, for
        any g(NaN). Left out (g = 0), the other points stand for the complete records. How much is drawn from `rng`
        depends on the number of records and not on their values: a record has draws of its own, whoever is beside it.
        """

    @abstractmethod
    def point_count(self, how: How) -> int:
        """Return how many points a record has at most."""

    @property
    def even(self) -> Block:
        """The block on the scale on which its lattices are even, as an analysis undoes it; values are on it too."""
        return self

    def part(self, columns: Collection[str]) -> Block:  # noqa: ARG002 - for blocks to override
        """Return the noise of some of the columns alone, for models of no others, if those tell nothing of it."""
        return self

    def gain(self, t: Complex) -> Factor | None:  # noqa: ARG002 - for blocks to override
        """Return what multiplies waves, `e^{i t'x} <- gain(t) e^{i t'z}`, t (M, columns); None if that is not all."""
        return None

    def lattice(self, column: str) -> Lattice | None:  # noqa: ARG002 - for blocks to override
        """Return the inverse of any function of one column, output by output; None where outputs are not few.

        The columns of a block share one coin, `Lattice.keep`: `undo` has one weight for all of them.
        """
        return None

    def undo(self, terms: SeparableTerms, released: Array, out: Array | None = None) -> Array | None:
        """Return unbiased values of products of functions of single columns, (n, K), at released records (columns, n).

        `E undo(terms, Z)_k = Π_c f_kc(x_c)`. With `out` they are multiplied into it. None without such an inverse.
        """
        from versadp.noise.terms import undo_on_lattices

        return undo_on_lattices(self, terms, released, out)

    def second(self, released: Array, rng: np.random.Generator) -> Array | None:  # noqa: ARG002 - for blocks to override
        """Return a second randomisation (the paper's Algorithm 1, step 2) if this noise has one."""
        return None

    def units(self, centre: Array) -> Units | None:  # noqa: ARG002 - for blocks to override
        """Return units in which the noise is ZIL(r, I), if there are such: the shortcuts of `correction/` need them."""
        return None

    def bins(self, column: str) -> Bins | None:  # noqa: ARG002 - for blocks to override
        """Return how the outputs of a number are counted, if counts of them tell all that one column tells."""
        return None

    def steps(self, column: str, t: Array) -> Array | None:  # noqa: ARG002 - for blocks to override
        """Return what undoes the noise in `1{x <= t}`, in each of `bins`, (bins, t); 0 where x is missing.

        It may be infinite: then it is what undoes the noise in whether there is a value. None without such an inverse.
        """
        return None

    # likelihood -----------------------------------------------------------------------------------------------------

    def cells(self, column: str, declared: Column, most: int) -> Array | None:  # noqa: ARG002 - for blocks to override
        """Return ends of at most `most` cells of a column's domain, whose values are not distinguished, (2, cells)."""
        return None

    def law(self, columns: tuple[str, ...], seen: Array, low: Array, high: Array) -> Array:  # noqa: ARG002 - as above
        """Return the probability of outputs of some columns, given values that lie anywhere in a cell, (rows, cells).

        Parameters
        ----------
        columns : tuple of str
            Some of the block's, in its order; the law is theirs alone.
        seen : array (columns, rows)
            Released, as `points` takes them; none is missing.
        low, high : array (columns, cells)
            Ends of the cells, as `cells` gives them; values are spread evenly in between. NaN: the value is missing.
        """
        raise ParameterError(
            f"{self.spec.name} noise does not say how likely its outputs are", hint="use method 'efficient'"
        )

    # files, and how they were changed ---------------------------------------------------------------------------------

    def grid(self) -> dict[str, int]:
        """Return the m of each column's grid, `lower + k * width / 2^m`, for columns that have one."""
        return {}

    def derived(self) -> dict[str, Any]:
        """Return the integers that follow from the block's law, as a mechanism of version 4 states them."""
        return {}

    def law_numbers(self) -> list[str | float]:
        """Return the numbers of the law on which words on devices depend, beside the columns' declarations."""
        import json

        return [json.dumps(self.spec.to_dict(), sort_keys=True, ensure_ascii=False)]

    def refuse_changed(self, released: Array, *, strict: bool) -> None:  # noqa: B027 - nothing to refuse by default
        """Raise if released values cannot be this block's output (changed after release); `strict` looks closer."""

    def parameter(self, name: str) -> dict[str, float]:
        """Return a number of the spec for each column, if it has such a one."""
        value = self.spec.to_dict().get(name)
        if isinstance(value, Mapping):
            return dict(value)
        return dict.fromkeys(self.columns, value) if isinstance(value, int | float) else {}

    def to_dict(self) -> dict[str, Any]:
        """Return the block as it stands in files."""
        return {"noise": self.spec.name, "columns": list(self.columns), **self.spec.to_dict()}
