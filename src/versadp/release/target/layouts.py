"""Which columns share a window: candidate layouts, and the criterion by which `calibrate` chooses among them.

For numbers with the standard deviation `TYPICAL` and even categories, with kappa the probability that a block is kept,
and a_j and b_j the second moments of a released column (centred, over that of the data) when it is kept and when it is
redrawn, noise multiplies the variance of

    a mean, or a level's share      (kappa a_j + (1 - kappa) b_j)/kappa²
    a second moment                 var(psi2)/(0.8 s⁴), numbers only (`noise/cost.py`)
    a slope of two private columns  (kappa a_j a_l + (1 - kappa) b_j b_l)/kappa² in one block, or the product of the two
                                    means' factors in different blocks; for independent columns

and a slope of a public response is `noise/cost.py`'s. Where each record gives some of the columns, the factors of one
column are divided by the probability that it is given, those of two in one block by that of both. The criterion is the
geometric mean of the factors in standard errors of three families, which count alike: means and shares of all columns,
second moments of the numbers, and slopes (of each column the mean over those on all other columns). So numbers, of
which analysts ask more, count more than categories. It depends on schema and target alone. The number of records
multiplies raw and noisy variances alike and cancels, except for a shuffle, where it decides the local epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from versadp.noise.cost import EVEN
from versadp.noise.subset import MOST_COLUMNS
from versadp.noise.window import WindowBlock
from versadp.schema import Categorical

if TYPE_CHECKING:
    from versadp.release.mechanism import Mechanism
    from versadp.schema import Schema

EACH, JOINT, APART = "one window a column", "one joint window", "numbers and categories apart"
MOST_GROUPS = 4  # layouts of 2, 3 and 4 windows are compared, and one of about two columns a window
MORE_GIVEN = (2, 4)  # beside as many columns per record as were asked for, so many more are tried
TYPICAL = 0.2  # standard deviation of numbers, in widths: the median of 14 of four public tables is 0.195
SUBSET_GAIN = 1.1  # less gain than this does not buy a limit on models: the tenth, docs/decisions/0009
NUMBER, NULLABLE_NUMBER = 5.0, 6.0  # windows in a number's outputs, (1 + c)/c and (1 + 2c)/c at c = 1/4


@dataclass(frozen=True)
class Layout:
    """One of the layouts that were compared.

    Attributes
    ----------
    name : str
    groups : list, mapping or Given
        As `calibrate(groups=)` takes it.
    cost : float
        The criterion: by how much noise multiplies standard errors, as a geometric mean; infinite if there is none.
    mechanism : Mechanism, optional
    refused : str
        Why there is no mechanism of this layout.
    """

    name: str
    groups: Any
    cost: float
    mechanism: Mechanism | None = None
    refused: str = ""

    @property
    def needed(self) -> float:
        """Cost that other layouts must exceed for this one to be taken."""
        return self.cost * (SUBSET_GAIN if isinstance(self.groups, Given) else 1.0)


@dataclass(frozen=True)
class Given:
    """All columns in one window, of which each record gives `count`, drawn at random: in the place of groups."""

    columns: tuple[str, ...]
    count: int


def layouts(schema: Schema, unit: str, columns_per_term: int | None = None) -> dict[str, Any]:
    """Return the layouts that are compared, by name, as `calibrate(groups=)` takes them.

    With `columns_per_term` also those in which each record gives so many columns or more, if none may be missing.

    Columns are dealt out, the most expensive first, to the group with the least sum of log outputs; epsilon is shared
    out in proportion to that sum.

    Examples
    --------
    >>> from versadp import Bounded, Categorical, Schema
    >>> schema = Schema({"a": Bounded(0, 1), "b": Bounded(0, 1), "c": Categorical(["x", "y"])})
    >>> for name, groups in layouts(schema, "record").items():
    ...     print(name, list(groups))
    one joint window [('a', 'b', 'c')]
    one window a column ['a', 'b', 'c']
    numbers and categories apart [('a', 'b'), ('c',)]
    2 windows [('a', 'c'), ('b',)]
    """
    names = schema.private
    out: dict[str, Any] = {JOINT: [names]} if len(names) > 1 else {}
    out[EACH] = list(names)
    if columns_per_term and unit != "attribute":
        out |= _subsets(schema, columns_per_term)
    burden = {name: _burden(schema.columns[name]) for name in names}
    grouped = _grouped(schema, burden)
    if unit != "attribute":  # an attribute's windows have all of epsilon each
        return out | {name: {g: sum(burden[n] for n in g) for g in groups} for name, groups in grouped.items()}
    return out | grouped


def _subsets(schema: Schema, columns_per_term: int) -> dict[str, Given]:
    """Return layouts in which each record gives some of the columns; none if a column may be missing."""
    names = schema.private
    if len(names) > MOST_COLUMNS or any(schema.columns[name].nullable for name in names):  # type: ignore[union-attr] # private ones have it
        return {}
    counts = (columns_per_term + more for more in (0, *MORE_GIVEN))
    return {f"{count} columns per record": Given(names, count) for count in counts if count < len(names)}


def _grouped(schema: Schema, burden: dict[str, float]) -> dict[str, list[tuple[str, ...]]]:
    """Return numbers and categories apart, and columns dealt out to few windows of equal burden."""
    names, out = schema.private, {}
    kinds = [tuple(n for n in names if (n in schema.categorical) is flag) for flag in (False, True)]
    if all(kinds) and len(names) > 2:
        out[APART] = kinds
    for count in sorted({2, 3, MOST_GROUPS, math.ceil(len(names) / 2)}):
        if 1 < count < len(names):
            groups: list[list[str]] = [[] for _ in range(count)]
            for name in sorted(names, key=lambda n: -burden[n]):
                min(groups, key=lambda g: sum(burden[n] for n in g)).append(name)
            out[f"{count} windows"] = [tuple(n for n in names if n in group) for group in groups]
    return out


def _burden(column: Any) -> float:
    """Return the log of the number of windows among a column's outputs."""
    if isinstance(column, Categorical):
        return math.log(column.outcomes)
    return math.log(NULLABLE_NUMBER if column.nullable is True else NUMBER)


def layout_cost(mechanism: Mechanism, spread: float = TYPICAL) -> float:
    """Return the criterion for a mechanism of windows; infinite where a block keeps nothing.

    Parameters
    ----------
    mechanism : Mechanism
    spread : float
        Standard deviation of the numbers, in widths.

    Examples
    --------
    >>> from versadp import Bounded, Schema, calibrate
    >>> schema = Schema({"age": Bounded(18, 90), "income": Bounded(0, 5e5)})
    >>> [round(layout_cost(calibrate(schema, epsilon=4, groups=g)), 2) for g in ([schema.private], schema.private)]
    [2.41, 4.01]
    """
    state: dict[str, tuple[WindowBlock, float, float, float, float, float]] = {}
    mean: dict[str, float] = {}
    for block in mechanism.blocks:
        assert isinstance(block, WindowBlock)
        if not block.kept:
            return math.inf
        costs, noise = block.decoders(spread), (EVEN / spread) ** 2
        one, two = (block.part(block.columns[:count]).complete_rate for count in (1, 2))
        for name, factor in block.inflation().items():  # of a number that is evenly spread: data, and the noise
            data = 1 / (block.keep * one)
            mean[name] = data + noise * (factor - data) if name in costs else factor
        for name in block.columns:
            kept, drawn = _moments(block, name, spread)
            second = costs[name].second / (0.8 * spread**4) if name in costs else 0.0
            slope = costs[name].slope ** 2 if name in costs else mean[name]
            state[name] = (block, kept, drawn, second, slope, two)
    steep, seconds = [], [math.log(second) for _, _, _, second, _, _ in state.values() if second]
    for name, (block, kept, drawn, _, public, both) in state.items():
        slopes = [math.log(public)] if mechanism.schema.public or len(state) == 1 else []
        for other, (beside, its_kept, its_drawn, *_) in state.items():
            if other == name:
                continue
            k = block.keep
            joint = (k * kept * its_kept + (1 - k) * drawn * its_drawn) / k**2 / both
            slopes.append(math.log(joint if beside is block else mean[name] * mean[other]))
        steep.append(sum(slopes) / len(slopes))
    families = [each for each in (list(map(math.log, mean.values())), seconds, steep) if each]
    return math.exp(sum(sum(each) / len(each) for each in families) / len(families) / 2)


def _moments(block: WindowBlock, name: str, spread: float) -> tuple[float, float]:
    """Return a and b of a column: second moments when it is kept and when it is redrawn, over that of the data."""
    j = block.columns.index(name)
    if block.category[j]:
        return 1.0, 1.0
    m, w = block.last[j], block.window[j]
    noise = (EVEN / spread) ** 2
    return 1 + noise * (w**2 - 1) / m**2, noise * ((m + w) ** 2 - 1) / m**2
