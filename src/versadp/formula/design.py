"""Designs: a formula such as `y ~ age + np.log1p(income)` read against a schema, evaluated at any records.

Terms are functions of one record, evaluated at the released record and at all of its signed points, so that
transformations and interactions of noisy columns stay unbiased:

    E sum_k w_k g(x + Z + S_k) = g(x)    for every function g of one record
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.errors import ParameterError, near
from versadp.formula.contrasts import spread
from versadp.formula.expression import Expression, parse_expression, quote, unquote
from versadp.formula.parsing import EXAMPLE, parse_formula
from versadp.formula.terms import Terms, read_columns
from versadp.schema import Bounded, Categorical, Schema
from versadp.schema.spacing import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from versadp.inputs import Array

# codes in `Design.columns`, where 0 and more is the index of a noisy column; saved nowhere
PUBLIC, MIXED, CODED = -1, -2, -3


class Part(NamedTuple):
    """A factor that depends on one category only: one number per level."""

    column: str
    values: tuple[float, ...]
    text: str


class Split(NamedTuple):
    """A term as a product: numbers by level, times a noisy column, times functions of public columns."""

    parts: tuple[Part, ...]
    number: str | None
    rest: tuple[str, ...]


@dataclass(frozen=True)
class Design:
    """A formula read against a schema, made by `make_design`.

    Attributes
    ----------
    formula : str
        As it was written.
    names : tuple of str
        Names of the coefficients, "Intercept" first.
    columns : tuple of int
        For each coefficient the index (into `schema.numeric`) if its term is one noisy column, or the function of it in
        which its lattice is even (`schema/spacing.py`), -1 if it uses public columns only, -2 if it is another function
        of noisy columns, -3 if it depends on one private category only.
    response : int
        The same of the left side.
    response_name : str
        The left side.
    used : tuple of str
        The columns of the formula, in the order of the schema.
    terms : Terms
        The right side.
    levels : mapping of str to tuple
        The levels of the categories of the formula, private or public; None stands for missing if that is a level.
    private : tuple of str
        The private ones among them.
    splits : tuple of Split or None
        For each coefficient its term as a product; None if it is another function of noisy columns.
    outcome : Part or None
        The left side by level, if it depends on one private category only.
    classes : str or None
        The category that is the response, if it is modelled level by level.
    """

    formula: str
    names: tuple[str, ...]
    columns: tuple[int, ...]
    response: int
    response_name: str
    used: tuple[str, ...]
    terms: Terms = field(repr=False)
    left: Expression = field(repr=False)
    levels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    private: tuple[str, ...] = ()
    splits: tuple[Split | None, ...] = ()
    outcome: Part | None = None
    classes: str | None = None

    @property
    def with_missing(self) -> frozenset[str]:
        """The categories with missing as a level."""
        return frozenset(name for name, levels in self.levels.items() if None in levels)

    @property
    def linear(self) -> bool:
        """True if no term, nor the response, is a function of noisy columns other than one such column."""
        return MIXED not in (*self.columns, self.response)

    def degree(self, columns: Collection[str]) -> int | None:
        """Return the highest degree of a term or the response as a polynomial of some columns, or None."""
        sides = ((self.left,), *self.terms.expressions)
        found = [[factor.degree(columns) for factor in factors] for factors in sides]
        if any(None in degrees for degrees in found):
            return None
        return max(sum(degree or 0 for degree in degrees) for degrees in found)

    def matrix(self, columns: Mapping[str, Any]) -> Array:
        """Return the model matrix (rows, coefficients) at arbitrary points, which need no response."""
        return self._terms.matrix(columns)

    @cached_property
    def _terms(self) -> Terms:
        """The terms without a check of levels."""
        return self.terms.take(range(len(self.names)))

    def evaluate(self, columns: Mapping[str, Any]) -> tuple[Array, Array]:
        """Return model matrix and response at arbitrary points.

        No row is dropped; values that are not finite become NaN.

        Examples
        --------
        >>> import numpy as np
        >>> from versadp import Bounded, Public, Schema
        >>> design = make_design("y ~ np.log1p(age)", Schema({"age": Bounded(18, 90), "y": Public()}))
        >>> matrix, response = design.evaluate({"age": np.array([0.0, -3.0]), "y": np.array([1, 0])})
        >>> matrix
        array([[ 1.,  0.],
               [ 1., nan]])
        >>> response
        array([1., 0.])
        """
        return self.terms.matrix(columns), self.response_at(columns)

    def response_at(self, columns: Mapping[str, Any]) -> Array:
        """Return the left side at arbitrary points."""
        read = read_columns(columns, self.left.columns, {*self.left.texts, *self.left.missing})
        return read[self.left.bare].copy() if self.left.bare is not None else self.left.evaluate(read)


def make_design(
    formula: str,
    schema: Schema,
    public_levels: Callable[[str], Sequence[Any] | None] = lambda _: None,
    public_values: Callable[[str], Sequence[Any] | None] = lambda _: None,
    *,
    by_level: bool = False,
) -> Design:
    """Return the design of a formula, read against a schema.

    Parameters
    ----------
    formula : str
        Left side an expression of columns; right side terms of them.
    schema : Schema
    public_levels : callable
        Returns the levels of a public column of text, which are not in the schema.
    public_values : callable
        Returns the values of a public column of whole numbers, which are levels in `C(year)`.
    by_level : bool
        True for a categorical response with any number of levels. Otherwise a category of two levels is coded 0 and 1
        in the order of its levels, and others need a comparison: `I(region == "n") ~ age`.

    Raises
    ------
    ParameterError
        The formula cannot be read, names an unknown column, or uses a transform that learns from the data.

    Examples
    --------
    >>> from versadp import Bounded, Categorical, Public, Schema
    >>> schema = Schema({"age": Bounded(18, 90), "region": Categorical(["n", "e", "s"]), "y": Public()})
    >>> design = make_design("y ~ np.log1p(age) + C(region)", schema)
    >>> design.names, design.columns, design.linear
    (('Intercept', 'np.log1p(age)', 'C(region)[T.e]', 'C(region)[T.s]'), (-1, -2, -3, -3), False)
    """
    if not isinstance(schema, Schema):
        raise ParameterError("a formula is read against a Schema", hint="make_design(formula, schema)")
    left, right = parse_formula(formula)
    if len(left) != 1 or not left[0]:
        raise ParameterError("the left side of the formula must be one response", hint=EXAMPLE)
    levels = _Levels(schema, public_levels, public_values)
    response, shown, classes = _read_response(left[0], levels, by_level=by_level)
    each = spread(right, levels.of, levels.of_numbers, partial(_bounds, schema))
    terms = Terms(tuple(one.name for one in each), tuple(one.factors for one in each))
    used = _check_names({*response.columns, *terms.columns}, schema)
    _check_repeats(terms, response)
    levels.check((response, *(factor for term in terms.expressions for factor in term)))
    known = levels.seen | levels.numbers
    return Design(
        formula=formula,
        names=terms.names,
        columns=tuple(_kind(term, schema) for term in terms.expressions),
        response=CODED if classes in schema.categorical else _response(response, schema),
        response_name=shown,
        used=used,
        terms=Terms(terms.names, terms.factors, {name: known[name] for name in known if name in terms.columns}),
        left=response,
        levels=known,
        private=tuple(name for name in schema.categorical if name in used),
        splits=tuple(_split_up(term, schema, known) for term in terms.expressions),
        outcome=None if classes is not None else _private_part(response, known, schema),
        classes=classes,
    )


class _Levels:
    """The levels of categories: those of private ones are in the schema, those of public ones are looked up once."""

    def __init__(
        self,
        schema: Schema,
        public_levels: Callable[[str], Sequence[Any] | None],
        public_values: Callable[[str], Sequence[Any] | None],
    ) -> None:
        self.schema, self._public, self._values = schema, public_levels, public_values
        self.seen: dict[str, tuple[Any, ...]] = {}
        self.numbers: dict[str, tuple[Any, ...]] = {}

    def of(self, name: str) -> tuple[Any, ...] | None:
        """Return the levels of a column, None if it is not a category."""
        if name not in self.seen:
            column = self.schema.columns.get(name)
            found = column.levels if isinstance(column, Categorical) else self._public(name)
            if found is None:
                return None
            self.seen[name] = tuple(found)
        return self.seen[name]

    def of_numbers(self, name: str) -> tuple[Any, ...] | None:
        """Return the values of a public column of whole numbers, which are its levels in C()."""
        if name not in self.numbers and name in self.schema.public:
            found = self._values(name)
            if found is None:
                return None
            self.numbers[name] = tuple(found)
        return self.numbers.get(name)

    def check(self, factors: Sequence[Expression]) -> None:
        """Raise if a factor compares a category with a text that is not a level; add None where missing is a level."""
        levels = self.seen
        for factor, name in [(each, name) for each in factors for name in each.columns if self.of(name) is not None]:
            if unknown := sorted(factor.compared.get(name, set()) - set(map(str, levels[name]))):
                shown = ", ".join(map(str, levels[name]))
                raise ParameterError(f"{unknown[0]!r} is no level of {name!r}", hint=f"its levels: {shown}")
            if name in factor.missing and None not in levels[name]:
                levels[name] = (*levels[name], None)


def _read_response(factors: tuple[str, ...], levels: _Levels, *, by_level: bool) -> tuple[Expression, str, str | None]:
    """Return the left side, its text, and the name of the category if it is one that is modelled level by level."""
    response = parse_expression(" * ".join(f"({factor})" for factor in factors) if len(factors) > 1 else factors[0])
    shown = unquote(response.text)
    _check_names({*response.columns}, levels.schema)
    if response.bare is None or (found := levels.of(response.bare)) is None:
        if by_level:
            raise ParameterError(f"the response {shown} is no category", hint="use a column of levels: region ~ age")
        return response, shown, None
    return (response, shown, response.bare) if by_level else (_second_level(response.bare, found), shown, None)


def _second_level(name: str, levels: tuple[Any, ...]) -> Expression:
    """Return the indicator of the second of two levels."""
    if len(levels) < 2:
        raise ParameterError(f"the response {name} has one level only", hint="use records of two levels")
    if len(levels) > 2:
        raise ParameterError(
            f"the response {name} has {len(levels)} levels",
            hint=f'compare with one, as in I({quote(name)} == {levels[0]!r}) ~ age, or take loss="multinomial"',
        )
    return parse_expression(f"{quote(name)} == {levels[-1]!r}")


def _bounds(schema: Schema, name: str) -> tuple[float, float] | None:
    """Return the declared bounds of a number, None if it has none."""
    column = schema.columns.get(name)
    return (column.lower, column.upper) if isinstance(column, Bounded) else None


def _part(factor: Expression, levels: Mapping[str, tuple[Any, ...]]) -> Part | None:
    """Return a factor by level if it depends on one category only, else None."""
    if len(factor.columns) != 1 or factor.columns[0] not in levels:
        return None
    (name,) = factor.columns
    values = np.empty(len(levels[name]), dtype=object)
    values[:] = levels[name]
    each = np.broadcast_to(factor.evaluate({name: values}), values.shape)
    return Part(name, tuple(each.tolist()), factor.text)


def _private_part(factor: Expression, levels: Mapping[str, tuple[Any, ...]], schema: Schema) -> Part | None:
    """Return a factor by level if it depends on one private category only, else None."""
    part = _part(factor, levels)
    return part if part is not None and part.column in schema.categorical else None


def _split_up(term: tuple[Expression, ...], schema: Schema, levels: Mapping[str, tuple[Any, ...]]) -> Split | None:
    """Return a term as a product, None if it is another function of noisy columns."""
    parts, numbers, rest = [], [], []
    for factor in term:
        part = _part(factor, levels)
        if part is not None:
            parts.append(part)
        elif factor.bare in schema.numeric and not _spacing(factor.bare, schema):
            numbers.append(factor.bare)
        elif set(factor.columns) & {*schema.numeric, *schema.categorical}:
            return None
        else:
            rest.append(factor.text)
    if len(numbers) > 1:
        return None
    return Split(tuple(parts), numbers[0] if numbers else None, tuple(rest))


def _check_names(found: set[str], schema: Schema) -> tuple[str, ...]:
    """Return column names in the order of the schema; raise for names that are not there, or not released."""
    there = ", ".join((*schema.numeric, *schema.categorical, *schema.public))
    if schema.id is not None and schema.id in found:
        raise ParameterError(f"{schema.id!r} is the id column, which is never released", hint=f"columns: {there}")
    if missing := sorted(found - set(schema.columns)):
        words = ", ".join(map(repr, missing))
        hint = near(missing[0], (*schema.numeric, *schema.categorical, *schema.public))
        raise ParameterError(f"the formula names a column that is not there: {words}", hint=hint)
    return tuple(name for name in schema.columns if name in found)


def _check_repeats(terms: Terms, response: Expression) -> None:
    """Raise if two terms, or a term and the response, are the same function, or a term uses no column."""
    seen: list[tuple[str, ...]] = [(response.key,)]
    for name, factors in zip(terms.names, terms.expressions, strict=True):
        key = tuple(sorted(factor.key for factor in factors))
        if factors and not any(factor.columns for factor in factors):
            raise ParameterError(f"the term {name} uses no column", hint="leave it out; the intercept is there already")
        if key in seen:
            what = "is the response" if key == seen[0] else "stands in the formula already"
            raise ParameterError(f"the term {name} {what}", hint="write each term once")
        seen.append(key)


def _kind(factors: tuple[Expression, ...], schema: Schema) -> int:
    columns = {name for factor in factors for name in factor.columns}
    if not columns & {*schema.numeric, *schema.categorical}:
        return PUBLIC
    if len(columns) == 1 and columns <= set(schema.categorical):
        return CODED
    if len(factors) > 1 or len(columns) > 1:
        return MIXED
    (name,) = columns
    own = _spacing(name, schema)
    shown = factors[0].key == parse_expression(f"{own}({quote(name)})").key if own else factors[0].bare == name
    return schema.numeric.index(name) if shown else MIXED


def _spacing(name: str, schema: Schema) -> str:
    """Return the function in which a noisy number is worked on, as formulas name it; nothing for the number itself."""
    return FUNCTIONS.get(getattr(schema.columns[name], "spacing", ""), "")


def _response(left: Expression, schema: Schema) -> int:
    if not left.columns:
        raise ParameterError("the left side of the formula must be one response", hint=EXAMPLE)
    return _kind((left,), schema)
