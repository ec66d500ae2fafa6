"""Randomised response on one category.

    X1 = X with probability keep, else a level drawn uniformly.

Two different categories are told apart by pure `epsilon = log(1 + levels keep / (1 - keep))`. It is the doubly random
correction again: `T^-1 v = v / keep + (1 - 1/keep) E_V v(V)`, V uniform over the levels. The expectation over V is a
finite sum, so the inverse needs no draws: weight `1{v = x1}/keep + (1 - 1/keep)/levels` on each level v.

Missing is one more level, the last, where it is private who is missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from versadp import inputs
from versadp.errors import ParameterError
from versadp.noise.block import Blanket, Block, Spec
from versadp.noise.lattice import Lattice
from versadp.noise.points import How, Points
from versadp.noise.ranks import keep_or_redraw_ranks
from versadp.noise.settings import check_rate
from versadp.schema import Categorical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile
    from versadp.schema import Column, Nullable

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Response(Spec):
    """Randomised response: a category is kept with some probability and otherwise drawn at random.

    Parameters
    ----------
    keep : float
        Probability in [0, 1) that a category is not redrawn.

    Examples
    --------
    >>> Response(keep=0.5).on({"region": Categorical(["n", "e", "s", "w"])})
    ResponseBlock(columns=('region',), levels=4, keep=0.5, nulls=False)
    """

    keep: float
    name: ClassVar[str] = "response"

    def on(self, columns: Mapping[str, Column]) -> ResponseBlock:
        """Return the block on one category."""
        ((name, column), *others) = columns.items()
        if others or not isinstance(column, Categorical):
            raise ParameterError(
                f"randomised response serves one category, not {', '.join(map(repr, columns))}",
                hint="give each category noise of its own",
            )
        return ResponseBlock((name,), column.outcomes, self.keep, column.nullable)


@dataclass(frozen=True)
class ResponseBlock(Block):
    """Randomised response on one category; made by `Response`.

    Parameters
    ----------
    columns : tuple of str
    levels : int
        Of the category, missing among them if `nulls` is True.
    keep : float
    nulls : bool or "public"
        Whether values may be missing, and who sees it.

    Examples
    --------
    >>> block = ResponseBlock(("member",), levels=2, keep=0.5)
    >>> block.invert(np.array([0, 1]))
    array([[ 1.5, -0.5],
           [-0.5,  1.5]])
    """

    columns: tuple[str]
    levels: int
    keep: float
    nulls: Nullable = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", check_rate("keep", self.keep))
        if inputs.whole("levels", self.levels, 2) >= 2**31:
            raise ParameterError("levels must be a whole number below 2^31")

    @property
    def column(self) -> str:
        """The one column."""
        return self.columns[0]

    @property
    def spec(self) -> Response:
        """The spec it was made from."""
        return Response(self.keep)

    @property
    def words(self) -> int:
        """Words a record: the coin and the level."""
        return 2

    @property
    def sampler_error(self) -> float:
        """Bound on the total-variation distance to the ideal: each level's share is off by at most 2^-64."""
        return self.levels * 2.0**-64

    @property
    def nullable(self) -> tuple[str, ...]:
        """The column, if its values may be missing."""
        return self.columns if self.nulls else ()

    def to_content(self, values: Array) -> None:
        """Leave levels as they are, whole numbers from 0, and give what is missing the last."""
        if self.nulls:
            values[np.isnan(values)] = self.levels - 1 if self.nulls is True else np.nan

    def to_values(self, content: Array) -> None:
        """Leave levels as they are, the last being what is missing."""
        if self.nulls is True:
            content[content == self.levels - 1] = np.nan

    @property
    def threshold(self) -> int:
        """Words below it keep a category: rounded down, so that it is kept with at most the stated probability."""
        return int(self.keep * 2.0**64)

    def derived(self) -> dict[str, Any]:
        """Return the coin's threshold and the number of levels."""
        return {"threshold": str(self.threshold), "levels": self.levels}

    def law_numbers(self) -> list[str | float]:
        """Return the coin's threshold and the number of levels."""
        return [self.threshold, self.levels]

    def add_noise(self, content: Array, words: NDArray[np.uint64]) -> None:
        """Redraw levels in place: `content` (1, rows) holds whole numbers below `levels`, `words` is (2, rows)."""
        from versadp.noise.kernel import redraw

        unseen = np.isnan(content)  # publicly missing, whatever is drawn
        redraw(words[0], words[1], np.uint64(self.threshold), self.levels, content[0])
        content[unseen] = np.nan

    def refuse_changed(self, released: Array, *, strict: bool) -> None:  # noqa: ARG002 - levels are exact
        """Raise if a level is rarer than redrawn records make it."""
        from versadp.noise.selection_check import refuse_unnoised

        seen = released.copy()
        self.to_content(seen)
        refuse_unnoised(self.column, seen[0][~np.isnan(seen[0])], self.levels, self.keep)

    def profile(self, unit: str) -> PrivacyProfile:  # noqa: ARG002 - a category is one attribute
        """Return what ideal noise guarantees."""
        from versadp.privacy import randomized_response

        return randomized_response(self.levels, self.keep)

    def blanket(self) -> Blanket | None:
        """Return the two probabilities of a level; what keeps it is rounded down, which redraws the more."""
        epsilon = math.log1p(self.levels * self.keep / (1 - self.keep))
        return Blanket(epsilon * (1 + 2**-50), 1 / self.levels, self.levels * 2.0**-64)

    def guarantee(self, unit: str) -> PrivacyProfile:
        """Return what the noise guarantees as it is sampled: no level lacks more than its share of 2^-64."""
        from versadp.privacy import with_slack

        return with_slack(self.profile(unit), self.sampler_error, lost=self.levels * 2.0**-64)

    def extremes(self, unit: str) -> tuple[dict[str, float], dict[str, float]]:  # noqa: ARG002 - a category is one attribute
        """Return two levels, or one and what is missing: all pairs are alike."""
        return {self.column: 0.0}, {self.column: np.nan if self.nulls is True else 1.0}

    def log_ratio(self, seen: Array, null: Array, other: Array) -> Array:
        """Return the log likelihood ratio."""
        seen, pair = seen.copy(), np.array([[null[0], other[0]]])
        self.to_content(seen)
        self.to_content(pair)
        step = np.log1p(self.levels * self.keep / (1 - self.keep))
        return np.asarray(step * ((seen[0] == pair[0, 1]).astype(float) - (seen[0] == pair[0, 0]).astype(float)))

    def ranks(self, seen: Array, truth: Array, rng: np.random.Generator) -> dict[str, Array]:
        """Return the ranks of the coin and of the level; NaN for levels that there are not."""
        places, content = seen.copy(), truth.copy()
        self.to_content(places)
        self.to_content(content)
        found = keep_or_redraw_ranks(places, content, np.ones(1), np.array([self.levels]), keep=self.keep, rng=rng)
        possible = (places >= 0) & (places < self.levels) & (places == np.rint(places))
        found[:, ~(possible | (np.isnan(places) & np.isnan(content)))[0]] = np.nan
        return {f"whether {self.column} is kept": found[0], f"level of {self.column}": found[1]}

    def sentences(self, rows: int | None) -> list[str]:  # noqa: ARG002 - for blocks that count records
        """Return what the statement says."""
        kept = f"{self.column} is kept with probability {self.keep:.3g}"
        missing = ", of which missing is one" if self.nulls is True else ""
        return [f"{kept} and otherwise drawn at random from its levels{missing}."]

    def facts(self, rows: int | None) -> dict[str, str]:  # noqa: ARG002 - for blocks that count records
        """Return what a plan shows."""
        return {f"{self.column} kept": f"{100 * self.keep:.3g}%"}

    def inflation(self) -> dict[str, float]:
        """Return the variance inflation of a level's share, levels equally frequent."""
        return {self.column: np.inf if self.keep == 0 else self.keep**-2}

    def serves(self) -> str:
        """Return what an analyst can do with it."""
        return "shares of its levels, and any model with them" if self.keep else "nothing: it is always redrawn"

    def invert(self, codes: NDArray[np.integer]) -> Array:
        """Return the weight of each level, array (levels, n), that undoes the noise in expectation."""
        if self.keep == 0:
            raise ParameterError(
                "a category that is always redrawn (keep=0) tells nothing and cannot be corrected",
                hint="leave the column out of the analysis, or release with a keep above 0",
            )
        weights = np.full((self.levels, codes.shape[0]), (1 - 1 / self.keep) / self.levels)
        weights[codes, np.arange(codes.shape[0])] += 1 / self.keep
        return weights

    def lattice(self, column: str) -> Lattice | None:  # noqa: ARG002 - one column
        """Return the levels as a lattice without windows."""
        hidden = int(self.nulls is True)
        return Lattice(0.0, 1.0, self.levels - 1 - hidden, 1, self.keep, hidden) if self.keep else None

    def point_count(self, how: How) -> int:  # noqa: ARG002 - there is nothing to draw
        """Return the number of levels."""
        return self.levels

    def points(self, released: Array, rng: np.random.Generator, how: How) -> Points:  # noqa: ARG002 - there is nothing to draw
        """Return every level of every record."""
        codes = released.copy()
        self.to_content(codes)
        unseen = np.isnan(codes[0])
        weight = self.invert(np.where(unseen, 0, codes[0]).astype(np.int64))
        record, level = np.nonzero(weight.T)
        values = level.astype(float)[None]
        self.to_values(values)
        return Points(record, {self.column: np.where(unseen[record], np.nan, values[0])}, weight[level, record])

    def cells(self, column: str, declared: Column, most: int) -> Array:  # noqa: ARG002 - every level is a cell
        """Return the levels, half a step to each side."""
        levels = np.arange(self.levels, dtype=float)
        return np.stack([levels - 0.5, levels + 0.5])

    def law(self, columns: tuple[str, ...], seen: Array, low: Array, high: Array) -> Array:  # noqa: ARG002 - one column
        """Return `keep` for the same level, and an even share of the rest for all."""
        same = (seen[0][:, None] > low[0]) & (seen[0][:, None] < high[0])
        return np.asarray(self.keep * same + (1 - self.keep) / self.levels)
