"""A model at every pair of a record and a point that it may have come from: what a likelihood sums over.

Noisy columns usually go with public ones, and a likelihood that took them for independent would be biased. Records
with equal public values are a stratum with a law of its own, about which nothing is assumed, if there are few strata.
Where there are many, as with public numbers, all records have one law up to a factor that is estimated too,

    q(x | w) = f(x) e^{w'Γx} / ∫ f(t) e^{w'Γt} dt,

which holds if x is linear in w with normal errors, if it has two values and a logistic model of w, and if it is
independent of w.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction.model import finite
from versadp.errors import DataError, ParameterError
from versadp.estimation.sizes import NUMBERS_AT_ONCE
from versadp.fitting.public_facts import public_columns, public_levels, response_coding
from versadp.fitting.source import numbers_of, values_of
from versadp.formula.design import PUBLIC
from versadp.likelihood import Likelihood, Lot
from versadp.likelihood.support import Support, cells_of, make_support
from versadp.release.path.dates import from_dates
from versadp.schema import Bounded, Categorical, Dates
from versadp.schema.spacing import LINEAR, from_even, to_even

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from versadp.formula.design import Design
    from versadp.losses import IndexLoss
    from versadp.losses.response_law import ResponseLaw
    from versadp.noise import Block
    from versadp.release.folder.folder import Handle
    from versadp.release.release import Release

    Array = NDArray[np.float64]

RESPONSES = 64  # cells of a private response at most: each is 1.6% of its width
MOST_STRATA = 6  # strata with a law each; more would leave each law few records (docs/theory/likelihood.md)


@dataclass(frozen=True)
class Pairs:
    """A formula against a release, evaluated at points."""

    release: Release
    design: Design
    law: ResponseLaw
    blocks: tuple[Block, ...]
    support: Support
    groups: PublicStrata
    public: tuple[str, ...]
    private: tuple[str, ...]
    response: str | None
    ends: Array
    coding: Callable[[Array], Array] | None
    moments: tuple[float, float]

    @classmethod
    def of(cls, release: Release, design: Design, loss: IndexLoss, law: ResponseLaw) -> Pairs:
        """Return a model of a release, or an error that says what is not served."""
        schema = release.mechanism.schema
        hidden = {*schema.numeric, *schema.categorical}
        right = tuple(name for name in schema.columns if name in design.terms.columns and name in hidden)
        left = tuple(name for name in design.left.columns if name in hidden)
        used = {*right, *left}
        blocks = tuple(block.even for block in release.mechanism.blocks if used & set(block.columns))
        if not used:
            raise ParameterError("no noisy column is in the model", hint="method 'efficient' fits it plainly")
        if missing := [name for block in blocks for name in block.nullable if name in used]:
            raise ParameterError(
                f"a likelihood does not serve columns that may be missing: {', '.join(missing)}",
                hint="use method 'efficient'",
            )
        if len(release) <= len(design.names):
            raise DataError(f"{len(design.names)} coefficients need more than {len(release)} records")
        response = _private_response(design, left, right, release)
        public = public_columns(release, design)
        groups = make_strata(release, tuple(name for name in public if name in design.terms.columns))
        model = cls(
            release,
            design,
            law,
            blocks,
            make_support(right, schema, blocks, groups.strata, len(release)),
            groups,
            public,
            tuple(name for name in schema.columns if name in used),
            response,
            np.zeros(0) if response is None else _response_ends(response, release, blocks, law),
            response_coding(release, design, loss) if response is None else None,
            (0.0, 1.0),
        )
        return replace(model, moments=model._moments())

    @property
    def cells(self) -> int:
        """Cells of the response."""
        return max(self.ends.size - 1, 1)

    @cached_property
    def kinds(self) -> tuple[NDArray[np.int64], ...]:
        """Numbers of the terms of public columns, of noisy ones, and of both."""
        kinds = []
        for factors in self.design.terms.expressions:
            columns = {name for factor in factors for name in factor.columns}
            noisy = bool(columns & set(self.support.columns))
            kinds.append(0 if not noisy else 2 if columns - set(self.support.columns) else 1)
        return tuple(np.flatnonzero(np.array(kinds) == kind) for kind in range(3))

    @cached_property
    def values(self) -> dict[str, NDArray[Any]]:
        """The noisy columns at the points."""
        return self.support.values(self.release.mechanism.schema, self.design.terms.texts)

    @property
    def likelihood(self) -> Likelihood:
        """The likelihood, without records."""
        terms = self.design.terms.take(self.kinds[1])
        at = finite(terms.matrix(self.values or {"": np.zeros(self.support.size)}))
        tilted = len(self.groups.centre) if self.groups.rows is None else 0
        points = self.support.features(self.release.mechanism.schema)
        return Likelihood(self.law, self.kinds, at, points, self.ends, self.groups.strata, tilted)  # type: ignore[arg-type] # three

    def start(self) -> Array:
        """Return where to start: all slopes 0."""
        eta = np.zeros(self.likelihood.size)
        index, log_scale = self.law.start(*self.moments)
        if "Intercept" in self.design.names:
            eta[self.design.names.index("Intercept")] = index
        if self.law.scaled:
            eta[len(self.design.names)] = log_scale
        return eta

    def kept(self) -> list[Lot]:
        """Return all lots."""
        return [lot for handle in self.release.handles() for lot in self.read(handle)]

    def read(self, handle: Handle) -> Iterator[Lot]:
        """Yield the lots of a handle."""
        table = self.release.read(handle, [*self.private, *self.public])
        rows = max(NUMBERS_AT_ONCE // (self.support.size * self.cells), 64)
        for start in range(0, handle.rows, rows):
            yield self._lot(table.slice(start, rows).combine_chunks())

    def _lot(self, table: Any) -> Lot:
        n, public = table.num_rows, {name: values_of(table.column(name)) for name in self.public}
        seen = {name: self._noisy(table, name) for name in self.private}
        by_record = finite(self.design.terms.take(self.kinds[0]).matrix(public or {"": np.zeros(n)}))
        stratum, numbers = self.groups.of(self.groups.numbers(public, n))
        y = None if self.coding is None else self.coding(finite(self.design.response_at(public)))
        if y is not None:
            self.law.check(y)
        return Lot(self._kernel(seen, n), y, by_record, self._mixed(public, n), stratum, numbers).kinds()

    def _mixed(self, public: dict[str, NDArray[Any]], n: int) -> Array:
        """Return terms with public and with noisy columns, at every record and every point."""
        both, m = self.kinds[2], self.support.size
        if not both.size:
            return np.zeros((0, n, m))
        columns = {name: np.tile(at, n) for name, at in self.values.items()}
        columns |= {name: np.repeat(values, m) for name, values in public.items()}
        return np.ascontiguousarray(finite(self.design.terms.take(both).matrix(columns)).T).reshape(-1, n, m)

    def _kernel(self, seen: dict[str, Array], n: int) -> Array:
        """Return how likely what is released is at every point, for every cell of the response."""
        out = np.ones((self.cells, n, self.support.size))
        for block in self.blocks:
            names = tuple(name for name in block.columns if name in self.private)
            z = np.stack([seen[name] for name in names])
            if self.response not in names:
                out *= block.law(names, z, *self._ends_of(names, 0))
                continue
            for q in range(self.cells):
                out[q] *= block.law(names, z, *self._ends_of(names, q))
        return out

    def _ends_of(self, names: tuple[str, ...], q: int) -> tuple[Array, Array]:
        """Return ends of the points' cells in some columns, of the response its cell q."""
        schema, m = self.release.mechanism.schema, self.support.size
        low, high = np.empty((2, len(names), m))
        for j, name in enumerate(names):
            if name == self.response:
                low[j], high[j] = cells_of(name, schema, self.blocks, RESPONSES)[:, q]
            else:
                at = self.support.columns.index(name)
                low[j], high[j] = self.support.low[at], self.support.high[at]
        return low, high

    def _noisy(self, table: Any, name: str) -> Array:
        column = self.release.mechanism.schema.columns[name]
        if isinstance(column, Dates):
            return from_dates(table.column(name), column)
        if isinstance(column, Categorical):
            import pyarrow as pa
            import pyarrow.compute as pc

            return numbers_of(pc.index_in(table.column(name), pa.array(list(column.levels))))
        return to_even(getattr(column, "spacing", LINEAR), numbers_of(table.column(name)))

    def _moments(self) -> tuple[float, float]:
        """Return mean and standard deviation of the response, to start from; a private one's are its bounds'."""
        if self.coding is None:
            inner = self.ends[1:-1]
            return float(inner.mean()), float(max(np.ptp(self.ends[np.isfinite(self.ends)]) / 4, 1e-12))
        count = first = second = 0.0
        for handle in self.release.handles():
            table = self.release.read(handle, list(self.design.left.columns))
            y = self.coding(
                finite(self.design.response_at({n: numbers_of(table.column(n)) for n in table.column_names}))
            )
            count, first, second = count + y.size, first + y.sum(), second + (y**2).sum()
        mean = first / count
        return mean, float(np.sqrt(max(second / count - mean**2, 1e-300)))


def _private_response(design: Design, left: tuple[str, ...], right: tuple[str, ...], release: Release) -> str | None:
    """Return the noisy column that is the response, if it is one."""
    if design.response == PUBLIC:
        return None
    column = release.mechanism.schema.columns[left[0]]
    if design.left.bare is None or left[0] in right or not isinstance(column, Bounded):
        raise ParameterError(
            "a likelihood serves a noisy response as it is, and not a function of it", hint="use method 'efficient'"
        )
    return left[0]


def _response_ends(name: str, release: Release, blocks: tuple[Block, ...], law: ResponseLaw) -> Array:
    """Return the ends of a private response's cells, as its law counts them."""
    schema = release.mechanism.schema
    low, high = cells_of(name, schema, blocks, RESPONSES)
    ends = np.concatenate([low[:1], (low[1:] + high[:-1]) / 2, high[-1:]])
    column = schema.columns[name]
    assert isinstance(column, Bounded)
    return law.cells(from_even(column.spacing, ends), column.lower, column.step)


# public columns and the law of noisy ones -----------------------------------------------------------------------------


@dataclass(frozen=True)
class PublicStrata:
    """Public columns of the model, on which the law of the noisy ones depends.

    Attributes
    ----------
    columns : tuple of str
    rows : array (groups, columns) or None
        Public values that have a law each; None if they are too many.
    centre, spread : array
        Of the numbers that densities go with.
    levels : dict of str to list
        Of columns that hold text.
    """

    columns: tuple[str, ...]
    rows: Array | None
    centre: Array
    spread: Array
    levels: dict[str, list[str]]

    def numbers(self, public: dict[str, NDArray[Any]], n: int) -> Array:
        """Return the columns as numbers, text by the numbers of its levels, (n, columns)."""
        out = np.zeros((n, len(self.columns)))
        for j, name in enumerate(self.columns):
            out[:, j] = (
                np.searchsorted(self.levels[name], public[name].astype(str)) if name in self.levels else public[name]
            )
        return out

    def spread_out(self, numbers: Array) -> Array:
        """Return columns of numbers, and indicators of all levels but the first, (n, q)."""
        out = []
        for j, name in enumerate(self.columns):
            if name in self.levels:
                out += [(numbers[:, j] == level).astype(float) for level in range(1, len(self.levels[name]))]
            else:
                out.append(numbers[:, j])
        return np.stack(out, axis=1) if out else np.zeros((len(numbers), 0))

    @property
    def strata(self) -> int:
        """Number of laws."""
        return 1 if self.rows is None else max(len(self.rows), 1)

    def of(self, numbers: Array) -> tuple[NDArray[np.int64], Array]:
        """Return the stratum of each record, and the numbers that its density goes with."""
        if self.rows is None:
            return np.zeros(len(numbers), np.int64), (self.spread_out(numbers) - self.centre) / self.spread
        same = (numbers[:, None, :] == self.rows[None]).all(axis=2)
        return np.argmax(same, axis=1), np.zeros((len(numbers), 0))


def make_strata(release: Release, names: tuple[str, ...]) -> PublicStrata:
    """Look at the public columns of a model: how many groups of equal values there are."""
    levels = {name: found for name in names if (found := public_levels(release, name)) is not None}
    groups = PublicStrata(names, np.zeros((1, 0)), np.zeros(0), np.ones(0), levels)
    if not names:
        return groups
    rows: Array | None = np.zeros((0, len(names)))
    count, width = 0, groups.spread_out(np.zeros((1, len(names)))).shape[1]
    first, second = np.zeros((2, width))
    for handle in release.handles():
        table = release.read(handle, list(names))
        numbers = groups.numbers({name: values_of(table.column(name)) for name in names}, table.num_rows)
        if rows is not None:
            rows = np.unique(np.concatenate([rows, finite(numbers)]), axis=0)
            rows = rows if len(rows) <= MOST_STRATA else None
        each = groups.spread_out(numbers)
        count, first, second = count + len(each), first + each.sum(axis=0), second + (each**2).sum(axis=0)
    centre = first / count
    spread = np.sqrt(np.maximum(second / count - centre**2, 1e-300))
    return replace(groups, rows=rows, centre=centre, spread=np.where(spread > 1e-12 * np.abs(centre), spread, 1.0))
