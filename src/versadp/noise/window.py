"""Keep up to a window, or redraw: pure epsilon, on numbers and categories, one by one or jointly.

Each column has a lattice 0..m and a window of w points (a category: its levels, and w = 1). One coin for the block:

    kept       each z_j uniform on {x_j, ..., x_j + w_j - 1}
    redrawn    each z_j uniform on {0, ..., m_j + w_j - 1}

The probability of an output takes two values, so that the guarantee is pure, for the whole block at once, and no more
noise is needed for many columns than their windows ask for. It is exact in whole numbers (`window_law.py`). Released is
the middle of the window that z begins, so that a kept number is off by at most half a window, evenly. A category, and
any column with w = 1, is randomised response.

**Missing**, where it is private, is one more lattice point, m + w, and s <= w more outputs, m + w to m + w + s - 1, all
of them released as missing. A kept missing value is even on w outputs as all others are: these s, and the `w - s` in
the middle of those of numbers. So a column has `m + w + s` outputs, and the fewer they are, the more records are kept
(`docs/decisions/0008-missing-values.md`). For a category s = w = 1: missing is one more level.

**What it is not**: noise that makes near values look alike. A kept record shows the truth up to its window.

**Inverse.** Let g have window averages v: `mean g(x..x+w-1) = v(x)`, columns multiplied. Then

    psi(z) = g(z)/kappa + (1 - 1/kappa) * mean of g over all outputs,        E psi(Z) = v(x), exactly:

the doubly random correction once more. On a lattice, with z = r + q w,

    g(z) = v(r) - D + w Σ_{i<q} (v(r + i w + 1) - v(r + i w)),      D = mean_{r<w} v(r) - v(0),

has these averages (differences telescope), and is v itself shifted by half a window where v is linear. Where a value is
shown as missing,

    g(missing) = (w v(missing) - Σ of g over the w - s outputs in the middle)/s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from versadp import inputs
from versadp.display.numbers import brief
from versadp.errors import ParameterError
from versadp.noise import window_attack as attack
from versadp.noise import window_inverse as inverse
from versadp.noise.block import Blanket, Block, Spec
from versadp.noise.cost import EVEN, missing_inflation, window_decoders, window_median, window_states
from versadp.noise.lattice import Lattice
from versadp.noise.scale import Scale
from versadp.noise.window_design import mean_variance
from versadp.noise.window_law import WORDS, kept_words, worst_ratio
from versadp.noise.window_sizes import WHOLE_WINDOW, window_sizes
from versadp.schema import Bounded, Categorical
from versadp.schema.spacing import LINEAR

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from versadp.noise.cost import Decoders, State
    from versadp.noise.distribution_function import Bins
    from versadp.noise.points import How, Points
    from versadp.privacy import PrivacyProfile
    from versadp.schema import Column, Nullable

    Array = NDArray[np.float64]

MOST = 2**31 - 1  # outputs of a column: places are products of words of 32 bits
EPSILONS = (1e-4, 30.0)  # of a guarantee: below, next to nothing is kept; above, next to nothing is redrawn


@dataclass(frozen=True)
class Window(Spec):
    """Keep a record up to a window, or redraw it: pure epsilon for all columns that it is put on, together.

    Parameters
    ----------
    epsilon : float
        Of the guarantee, for any two values of all its columns at once.
    cells : int or mapping of column to int, optional
        Into how many cells a number's lattice cuts its bounds; by rule: its step, or fine.
    window : int or mapping of column to int, optional
        How many lattice points the window of a number has; by rule (`window_design.py`).
    delta : float
        0 is pure epsilon; a larger one keeps more records.
    missing : int or mapping of column to int, or "window", optional
        Places of a missing value of each number whose values may be missing, at most its window; "window" is as many
        as its window has; by rule, what costs least (`window_design.py`).

    Examples
    --------
    >>> block = Window(epsilon=4).on({"age": Bounded(18, 90), "region": Categorical(["n", "e", "s", "w"])})
    >>> block.columns, round(block.keep, 3), round(block.reach()["age"], 1)
    (('age', 'region'), 0.75, 10.4)
    >>> Window(epsilon=4).on({"age": Bounded(18, 90, nullable=True)}).nullable
    ('age',)
    """

    epsilon: float
    cells: int | Mapping[str, int] | None = None
    window: int | Mapping[str, int] | None = None
    delta: float = 0.0
    missing: int | Mapping[str, int] | str | None = None
    name: ClassVar[str] = "window"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers; without the places of missing values where these are as many as their windows have."""
        out = super().to_dict()
        return out if hasattr(self.missing, "keys") else {name: out[name] for name in out if name != "missing"}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        return super().from_dict({"missing": WHOLE_WINDOW} | dict(data))

    def telling(self) -> tuple[str, ...]:
        """Return what says how much is kept: lattices and windows are many numbers."""
        return ("epsilon", "delta") if self.delta else ("epsilon",)

    def on(self, columns: Mapping[str, Column]) -> WindowBlock:
        """Return the block on these columns."""
        epsilon = inputs.number("epsilon", self.epsilon, *EPSILONS)
        delta = inputs.number("delta", self.delta, 0, 1, open_high=True)
        numbers = {name: column for name, column in columns.items() if isinstance(column, Bounded)}
        levels = {name: column for name, column in columns.items() if isinstance(column, Categorical)}
        if len(numbers) + len(levels) < len(columns):
            raise ParameterError("a window serves numbers and categories", hint="leave public columns out")
        combinations = math.prod(column.outcomes for column in levels.values())
        cells, window, missing = window_sizes(self, numbers, combinations, epsilon, delta)
        bounds = {name: (column.lower, column.upper) for name, column in numbers.items()}
        bounds |= {name: (0.0, len(column.levels) - 1.0) for name, column in levels.items()}
        last = cells | {name: len(column.levels) - 1 for name, column in levels.items()}
        wide = window | dict.fromkeys(levels, 1)
        nulls = {name: column.nullable for name, column in (numbers | levels).items()}
        return WindowBlock(
            tuple(columns),
            tuple(bounds[name] for name in columns),
            tuple(last[name] for name in columns),
            tuple(wide[name] for name in columns),
            tuple(name in levels for name in columns),
            epsilon,
            delta,
            nulls=tuple(nulls[name] for name in columns),
            unseen=tuple(missing.get(name, int(nulls[name] is True)) for name in columns),
            spacing=tuple(getattr(column, "spacing", LINEAR) for column in columns.values()),
        )


def _also_missing(unseen: int, window: int) -> str:
    """Return what a kept record shows of a missing value, in words."""
    if not unseen:
        return ""
    return " or that it is missing" + (f" ({100 * unseen / window:.2g}% of the time)" if unseen < window else "")


@dataclass(frozen=True)
class WindowBlock(Block):
    """A window on columns; made by `Window`.

    Parameters
    ----------
    columns : tuple of str
    bounds : tuple of pairs
        Of each column; a category's are its first and last level.
    last, window : tuple of int
        The lattice of each column is 0 to `last`, and its window has so many points.
    category : tuple of bool
    epsilon, delta : float
    nulls : tuple of bool or "public"
        Whether each column's values may be missing, and who sees it; by default none may.
    coin : int, optional
        How many of 2^64 words keep a record; of a part of a window that is the whole's, else it follows from epsilon.
    unseen : tuple of int
        How many outputs show a missing value of each column; by default as many as its window has.
    spacing : tuple of str
        On which scale each column's lattice is even (`scale.py`); by default in its values. What of a block asks for an
        even lattice, its tables above all, is that of `even`.

    Examples
    --------
    >>> block = Window(epsilon=2).on({"age": Bounded(18, 90, step=1)})
    >>> 0 < block.keep < 1, list(block.reach())
    (True, ['age'])
    """

    columns: tuple[str, ...]
    bounds: tuple[tuple[float, float], ...]
    last: tuple[int, ...]
    window: tuple[int, ...]
    category: tuple[bool, ...]
    epsilon: float
    delta: float = 0.0
    nulls: tuple[Nullable, ...] = ()
    coin: int | None = None
    unseen: tuple[int, ...] = ()
    spacing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "spacing", self.spacing or (LINEAR,) * len(self.columns))
        object.__setattr__(self, "nulls", self.nulls or (False,) * len(self.columns))
        hidden = zip(self.window, self.nulls, strict=True)
        object.__setattr__(self, "unseen", self.unseen or tuple(w if null is True else 0 for w, null in hidden))
        if max(self.outputs) > MOST:
            raise ParameterError("a lattice has at most 2^31 - 1 outputs", hint="fewer cells, or a narrower window")
        assert self.scales is not None  # which refuses what cannot be spaced
        with np.errstate(over="ignore"):
            ends = np.abs(np.array(self.bounds)).sum(axis=1) + 2 * np.array(self.outputs) * self.step
        if not np.isfinite(ends).all():
            raise ParameterError(
                "a column is so wide that what is released may be infinite",
                hint="divide it by a constant, with its bounds",
            )

    @property
    def spec(self) -> Window:
        """The spec it was made from, with lattice and window."""
        numbers = [j for j, flag in enumerate(self.category) if not flag]
        cells, window = ({self.columns[j]: each[j] for j in numbers} for each in (self.last, self.window))
        missing = {self.columns[j]: self.unseen[j] for j in numbers if self.nulls[j] is True}
        shared = any(places < window[name] for name, places in missing.items())
        return Window(self.epsilon, cells or None, window or None, self.delta, missing if shared else WHOLE_WINDOW)

    def rule(self, cells: Mapping[str, int] | None = None, window: Mapping[str, int] | None = None) -> Spec:
        """Return the spec with other lattices and windows; by rule where they are left open."""
        return Window(self.epsilon, cells, window, self.delta)

    @cached_property
    def scales(self) -> dict[int, Scale]:
        """The scales of columns whose lattice is not even in their values, by the number of the column."""
        every = enumerate(zip(self.spacing, self.bounds, self.last, self.window, strict=True))
        return {j: Scale(spacing, *ends, m, w) for j, (spacing, ends, m, w) in every if spacing != LINEAR}

    @property
    def spaced(self) -> tuple[str, ...]:
        """Columns whose lattice is not even in their values."""
        return tuple(self.columns[j] for j in self.scales)

    @cached_property
    def even(self) -> WindowBlock:
        """The block with each column on the scale on which its lattice is even."""
        if not self.scales:
            return self
        every = enumerate(self.bounds)
        return replace(self, bounds=tuple(self.scales[j].ends if j in self.scales else b for j, b in every), spacing=())

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        """Possible outputs of each column, those that show a missing value included."""
        return tuple(m + w + s for m, w, s in zip(self.last, self.window, self.unseen, strict=True))

    @cached_property
    def central(self) -> tuple[tuple[int, int], ...]:
        """First of the outputs of numbers that a kept missing value may have, and the one behind them, per column."""
        sizes = zip(self.last, self.window, self.unseen, strict=True)
        return tuple(((m + s) // 2, (m + s) // 2 + (w - s)) if s else (0, 0) for m, w, s in sizes)

    def holds(self, places: Array, first: Array) -> NDArray[np.bool_]:
        """Return whether outputs are among those of a kept record whose content is `first`; NaN is in none."""
        low, high = (np.array(ends)[:, None] for ends in zip(*self.central, strict=True))
        beyond = (first == self.missing_place) & (places >= low) & (places < high)
        return np.asarray(((places >= first) & (places < first + np.array(self.window)[:, None])) | beyond)

    @property
    def share(self) -> float:
        """The share of all outputs that a record makes likely."""
        return math.prod(w / n for w, n in zip(self.window, self.outputs, strict=True))

    @property
    def nullable(self) -> tuple[str, ...]:
        """Columns whose values may be missing."""
        return tuple(name for name, null in zip(self.columns, self.nulls, strict=True) if null)

    @cached_property
    def missing_place(self) -> Array:
        """Lattice point of a missing value in each column, (columns, 1); NaN where missing is public, or never is."""
        points = zip(self.last, self.window, self.nulls, strict=True)
        return np.array([float(m + w) if null is True else np.nan for m, w, null in points])[:, None]

    @property
    def whole(self) -> tuple[str, ...]:
        """Columns whose lattice and middles of windows are whole numbers."""
        return tuple(
            name
            for name, (low, _), step, w in zip(self.columns, self.bounds, self.step, self.window, strict=True)
            if low % 1 == step % 1 == (w - 1) * step / 2 % 1 == 0 and self.spacing[self.columns.index(name)] == LINEAR
        )

    @cached_property
    def kept(self) -> int:
        """Number of the 2^64 words that keep a record."""
        if self.coin is not None:
            return self.coin
        # a hair less than asked for, so that what is printed in floating point never contradicts it
        return kept_words(self.window, self.outputs, self.epsilon * (1 - 1e-14), self.delta * (1 - 1e-12))

    @property
    def keep(self) -> float:
        """Probability that a record is kept up to its window."""
        return self.kept / WORDS

    @cached_property
    def step(self) -> Array:
        """Distance of lattice points in each column's own units; 1 where that is not the same everywhere."""
        out = np.array([(high - low) / max(m, 1) for (low, high), m in zip(self.bounds, self.last, strict=True)])
        out[list(self.scales)] = 1.0
        return out

    @property
    def words(self) -> int:
        """Words a record: the coin, and one a column."""
        return 1 + len(self.columns)

    @property
    def sampler_error(self) -> float:
        """None: the guarantee is that of the law that is sampled, in whole numbers."""
        return 0.0

    def reach(self) -> dict[str, float]:
        """Return how far from the truth a kept number may be: half its window, in its own units."""
        half = (np.array(self.window) - 1) / 2 * self.step
        every = enumerate(zip(self.columns, half, self.category, strict=True))
        return {name: float(h) for j, (name, h, flag) in every if not flag and j not in self.scales}

    def factors(self) -> dict[str, float]:
        """Return by how many times a kept number, plus one, may be off, where its lattice is even in logarithms."""
        return {self.columns[j]: scale.factor for j, scale in self.scales.items()}

    # release --------------------------------------------------------------------------------------------------------

    @cached_property
    def lower(self) -> Array:
        """The first lattice point of each column, (columns, 1): its lower bound, or 0 where points are counted."""
        return np.array([0.0 if j in self.scales else low for j, (low, _) in enumerate(self.bounds)])[:, None]

    def to_content(self, values: Array) -> None:
        """Clamp values to their bounds and count lattice steps from the lower one, in place."""
        unknown = np.isnan(values) if self.nullable else None
        low, high = (np.array(ends)[:, None] for ends in zip(*self.bounds, strict=True))
        np.clip(values, low, high, out=values)
        for j, scale in self.scales.items():
            values[j] = scale.points(values[j])
        values -= self.lower
        values /= self.step[:, None]
        np.rint(values, out=values)
        values += 0.0  # -0.0 and 0.0 are one number
        if unknown is not None:
            np.copyto(values, self.missing_place, where=unknown)  # which makes one NaN of all

    def add_noise(self, content: Array, words: NDArray[np.uint64]) -> None:
        """Move records to a place in their window, or anywhere."""
        from versadp.noise.kernel import keep_or_redraw

        unseen = np.isnan(content) if self.nullable else None  # publicly missing, whatever is drawn
        keep_or_redraw(words, np.uint64(self.threshold), np.array(self.window), np.array(self.outputs), content)
        for z, (first, behind), n in zip(content, self.central, self.outputs, strict=True):
            if first < behind:  # a kept missing value beyond its own outputs
                np.subtract(z, n - first, out=z, where=z >= n)
        if unseen is not None:
            content[unseen] = np.nan

    @property
    def threshold(self) -> int:
        """Words below it keep a record."""
        return min(self.kept, WORDS - 1)

    def derived(self) -> dict[str, Any]:
        """Return the coin's threshold and the lattice sizes, one per column."""
        sizes = {"last": list(self.last), "window": list(self.window), "outputs": list(self.outputs)}
        return {"threshold": str(self.threshold), **sizes}

    def law_numbers(self) -> list[str | float]:
        """Return the coin's threshold, and last, window and outputs of each column."""
        sizes = zip(self.last, self.window, self.outputs, strict=True)
        return [self.threshold, *(size for column in sizes for size in column)]

    def to_values(self, content: Array) -> None:
        """Turn outputs into the middle of the windows that they begin, in place."""
        unknown = content >= self.missing_place if self.nullable else None
        content -= (np.array(self.window)[:, None] - 1) / 2
        content *= self.step[:, None]
        content += self.lower
        for j, scale in self.scales.items():
            content[j] = scale.values(np.clip(content[j], -scale.window / 2, scale.last + scale.window / 2))
        if unknown is not None:
            content[unknown] = np.nan

    def exact_places(self, values: Array) -> Array:
        """Return where values stand on the lattice of outputs; whole numbers, of values that were released."""
        points = (values - self.lower) / self.step[:, None]
        for j, scale in self.scales.items():
            points[j] = scale.places(values[j])
        return np.asarray(points + (np.array(self.window)[:, None] - 1) / 2)

    def places(self, values: Array) -> Array:
        """Return the outputs that released values stand for; NaN for what is missing."""
        return np.rint(self.exact_places(values))

    def seen_places(self, values: Array) -> Array:
        """Return the same with an output for what is missing; NaN is left where that is public."""
        places = self.places(values)
        return np.where(np.isnan(places), self.missing_place, places) if self.nullable else places

    def refuse_changed(self, released: Array, *, strict: bool) -> None:  # noqa: ARG002 - a lattice is exact
        """Raise if a column holds values that are no outputs: it was changed after release."""
        from versadp.errors import DataError
        from versadp.noise.selection_check import refuse_unnoised

        places, ends = self.places(released), np.add(self.last, self.window)
        again = places.copy()
        self.to_values(again)
        slack = 1e-6 * self.step[:, None] + 4 * np.spacing(np.abs(released))
        slack[list(self.scales)] = 0.0  # which are looked up
        wrong = (np.abs(again - released) > slack) | (places < 0) | (places >= ends[:, None])
        for name, count in zip(self.columns, wrong.sum(axis=1), strict=True):
            if count:
                raise DataError(
                    f"column {name!r} has {count} of {released.shape[1]} values that its window never gives",
                    hint="undo what was done to the column after release",
                )
        seen = self.seen_places(released)
        for j, name in enumerate(self.columns):
            last = max(self.unseen[j], 1)
            known = seen[j][~np.isnan(seen[j])]
            refuse_unnoised(name, known, self.outputs[j], self.keep, last=last, tests=len(self.columns))

    # guarantee ------------------------------------------------------------------------------------------------------

    @cached_property
    def ratio(self) -> Fraction:
        """The largest ratio of the probabilities of an output under two records."""
        return worst_ratio(self.window, self.outputs, self.kept)

    def profile(self, unit: str) -> PrivacyProfile:  # noqa: ARG002 - one attribute outside its window is outside the block's
        """Return the guarantee of the law that is sampled, for any two records of the block."""
        from versadp.privacy import keep_or_redraw

        return keep_or_redraw(self.keep, self.share, self.ratio)

    def guarantee_on_any(self, columns: Mapping[str, Column], unit: str) -> PrivacyProfile:  # noqa: ARG002 - see below
        """Return its epsilon and delta: lattices, and with them how much is kept, follow from the bounds."""
        from versadp.privacy import approx_dp

        return approx_dp(self.epsilon, self.delta)

    def blanket(self) -> Blanket | None:
        """Return the two probabilities: each draw of one of n outputs is off by at most n in 2^64."""
        from versadp.privacy.curves.discrete import log_up

        return Blanket(log_up(self.ratio), self.share, sum(self.outputs) / WORDS)

    def extremes(self, unit: str) -> tuple[dict[str, float], dict[str, float]]:
        """Return opposite corners, or corners that differ in one column; what is missing is opposite to all values."""
        null = {name: low for name, (low, _) in zip(self.columns, self.bounds, strict=True)}
        ends = zip(self.columns, self.bounds, self.nulls, strict=True)
        other = {name: np.nan if hidden is True else high for name, (_, high), hidden in ends}
        if unit == "attribute":
            # the column whose windows are furthest apart
            apart = zip(self.last, self.window, self.nulls, strict=True)
            j = int(np.argmax([np.inf if hidden is True else m / w for m, w, hidden in apart]))
            other = null | {self.columns[j]: other[self.columns[j]]}
        return null, other

    def log_ratio(self, seen: Array, null: Array, other: Array) -> Array:
        """Return the log likelihood ratio: whose window an output lies in."""
        return attack.log_ratio(self, seen, null, other)

    def events(self, seen: Array, null: Array, other: Array) -> dict[str, NDArray[np.bool_]]:  # noqa: ARG002 - both have one lattice
        """Return what a window never does: outputs that are off its lattice, or beyond it."""
        return attack.events(self, seen)

    def labels(self, seen: Array) -> dict[str, NDArray[np.int64]]:
        """Return where outputs stand: on their lattice, in a window, on even or odd points, between two points."""
        return attack.labels(self, seen)

    def ranks(self, seen: Array, truth: Array, rng: np.random.Generator) -> dict[str, Array]:
        """Return the ranks of the coin and of each column's place; NaN for what no window gives."""
        return attack.ranks(self, seen, truth, rng)

    # words ----------------------------------------------------------------------------------------------------------

    def sentences(self, rows: int | None) -> list[str]:
        """Return what the statement says: above all, that a kept record shows the truth up to its window."""
        count = "" if rows is None else f" (about {self.keep * rows:,.0f} of {rows:,})"
        within = {name: f"within ±{brief(far, 3)}" for name, far in self.reach().items() if far}
        within |= {name: f"within a factor of {brief(far, 3)}" for name, far in self.factors().items()}
        shown = [
            f"{name} {within.get(name, 'as it is')}" + _also_missing(s, w)
            for name, s, w in zip(self.columns, self.unseen, self.window, strict=True)
        ]
        kept = f"With probability {100 * self.keep:.3g}%{count} a record shows the truth up to a window"
        return [
            f"{kept}: {', '.join(shown)}.",
            "Otherwise they are drawn at random and say nothing; who does not know the record cannot tell which.",
        ]

    def facts(self, rows: int | None) -> dict[str, str]:
        """Return what a plan shows."""
        together = " + ".join(self.columns)
        facts = {f"{together}: shown up to a window": f"{100 * self.keep:.3g}%"}
        if rows is not None:
            facts[f"{together}: ... of {rows:,}"] = f"about {self.keep * rows:,.0f}"
        facts |= {f"{name}: window": f"±{brief(reach)}" for name, reach in self.reach().items()}
        return facts | {f"{name}: window": f"a factor of {brief(far)}" for name, far in self.factors().items()}

    def inflation(self) -> dict[str, float]:
        """Return the variance inflation of each mean, or of a level's share, values spread evenly."""
        out = {}
        sizes = zip(self.columns, self.last, self.window, self.unseen, self.category, strict=True)
        for name, m, w, unseen, flag in sizes:
            if flag:
                out[name] = self.keep**-2
            elif unseen and self.kept:
                out[name] = missing_inflation(self.keep, m, w, unseen)
            else:
                out[name] = 1 + 12 * mean_variance(w / m, self.keep)
        return out

    def decoders(self, spread: float = EVEN) -> dict[str, Decoders]:
        """Return what the noise costs in means and slopes of the numbers."""
        return {name: window_decoders(spread, self.keep, m, w) for name, m, w in self._numbers()}

    def states(self) -> tuple[State, ...] | None:
        """Return the two states of its coin, where no category shares it and nothing may be missing."""
        if not self._is_even or any(self.category) or self.scales:
            return None
        last, window = (np.array(each, dtype=float) for each in (self.last, self.window))
        return window_states(self.keep, last, window, self.step * last)

    def median_costs(self) -> dict[str, float | None]:
        """Return what it costs in medians of the numbers."""
        return {name: window_median(self.keep, m, w) for name, m, w in self._numbers()}

    def _numbers(self) -> list[tuple[str, int, int]]:
        every = zip(self.columns, self.last, self.window, self.category, strict=True)
        return [(name, m, w) for name, m, w, flag in every if not flag]

    def serves(self) -> str:
        """Return what an analyst can do with it."""
        if all(w == 1 for w in self.window):
            return "shares, quantiles, means, any loss"
        return "means, variances, shares of levels, linear and other smooth models; quantiles coarsely"

    def figures(self) -> dict[str, Any]:
        """Return the probability that a record shows the truth up to its window, and half the window."""
        figures = {"kept": self.keep, "epsilon": self.epsilon, "shown within": self.reach()}
        return figures | ({"shown within a factor of": self.factors()} if self.scales else {})

    # inverse --------------------------------------------------------------------------------------------------------

    def part(self, columns: Collection[str]) -> WindowBlock:
        """Return some of the columns, with the coin of them all: given the coin, columns are independent."""
        at = [j for j, name in enumerate(self.columns) if name in columns]
        if len(at) == len(self.columns):
            return self
        facts = {field.name: getattr(self, field.name) for field in fields(self)}
        some: dict[str, Any] = {
            name: tuple(fact[j] for j in at) for name, fact in facts.items() if isinstance(fact, tuple)
        }
        return replace(self, **some, coin=self.kept)

    @property
    def _is_even(self) -> bool:
        """True if something is kept, and every output is the middle of a window: none stands for anything else."""
        return self.kept > 0 and not self.nullable

    def lattice(self, column: str) -> Lattice | None:
        """Return the column's lattice and window, with the coin of the block; None if it is not even in values."""
        j = self.columns.index(column)
        if not self.kept or j in self.scales:
            return None
        m, w = self.last[j], self.window[j]
        return Lattice(self.bounds[j][0], float(self.step[j]), m, w, self.keep, self.unseen[j])

    def point_count(self, how: How) -> int:
        """Return the points of the released record and of its draws; or all outputs, if they are few."""
        return inverse.point_count(self, how)

    def points(self, released: Array, rng: np.random.Generator, how: How) -> Points:
        """Return g at the released record, over kappa, and at outputs drawn at random, which share `1 - 1/kappa`."""
        if not self.kept:
            raise ParameterError("a window that keeps nothing tells nothing and cannot be corrected")
        return inverse.points(self, released, rng, how)

    def bins(self, column: str) -> Bins | None:
        """Return a bin for each output, or for several where they are very many; None if they are not even."""
        from versadp.noise.distribution_function import MOST, WINDOWED, Bins

        j = self.columns.index(column)
        if j in self.scales:
            return None
        window = self.window[j]
        outputs, step = self.last[j] + window, float(self.step[j])
        low = self.bounds[j][0] - window / 2 * step
        merged = -(-outputs // (MOST if window == 1 else WINDOWED))
        if window > 1:  # a window is a whole number of bins, so that functions of bins undo its noise exactly
            merged = next((q for q in range(merged, window) if window % q == 0), window)
        return Bins(low, low + outputs * step, merged * step)

    def steps(self, column: str, t: Array) -> Array | None:
        """Return the inverse of `1{x <= t}` on a lattice without windows."""
        from versadp.noise.distribution_function import MOST

        lattice = self.lattice(column)
        if lattice is None or lattice.window > 1 or lattice.shown + lattice.unseen > MOST:
            return None
        bins = self.bins(column)
        assert bins is not None
        below = (bins.middles[:, None] <= t).astype(float)
        psi = lattice.corrected(below, lattice.even)
        return psi if lattice.unseen else np.append(psi, np.zeros((1, t.size)), axis=0)

    # likelihood -----------------------------------------------------------------------------------------------------

    def cells(self, column: str, declared: Column, most: int) -> Array | None:  # noqa: ARG002 - the lattice says it
        """Return the lattice, neighbouring points together where they are too many; ends lie between points."""
        j = self.columns.index(column)
        if j in self.scales:
            return None
        count = self.last[j] + 1
        ends = np.rint(np.linspace(0, count, min(most, count) + 1)) - 0.5
        ends = self.bounds[j][0] + self.step[j] * ends
        return np.stack([ends[:-1], ends[1:]])

    def law(self, columns: tuple[str, ...], seen: Array, low: Array, high: Array) -> Array:
        """Return `keep Π overlap/(cell * w) + (1 - keep) Π 1/outputs`.

        An output stands for the w values around it, each from half a step below to half a step above, so that the share
        of a cell that may have led to it is the overlap of two intervals, exactly. A cell whose ends are NaN is a
        missing value.
        """
        kept, drawn = np.ones((seen.shape[1], low.shape[1])), 1.0
        for j, z, start, end in zip(map(self.columns.index, columns), seen, low, high, strict=True):
            half = self.window[j] * self.step[j] / 2
            overlap = np.minimum(z[:, None] + half, end) - np.maximum(z[:, None] - half, start)
            share = np.clip(overlap, 0.0, None) / (end - start)
            if np.isnan(start).any():
                first, behind = self.central[j]
                place = np.rint((z - self.bounds[j][0]) / self.step[j] + (self.window[j] - 1) / 2)
                share[:, np.isnan(start)] = ((place >= first) & (place < behind))[:, None]
            kept *= share / self.window[j]
            drawn /= self.outputs[j]
        kept *= self.keep
        kept += (1 - self.keep) * drawn
        return kept
