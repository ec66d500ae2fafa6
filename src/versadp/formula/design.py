"""Formulas: `y ~ age + np.log1p(income)` against a schema, to a design that can be evaluated anywhere.

formulaic reads the formula; the terms are then evaluated one record at a time, at the released record and at every
second randomisation of it, so that transformations and interactions of noisy columns stay unbiased:

    E sum_k w_k g(x + Z + S_k) = g(x)    for every function g of one record
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.errors import ParameterError, near
from versadp.formula.contrasts import spread
from versadp.formula.expression import Expression, parse_expression, quote
from versadp.formula.growth import check_terms
from versadp.formula.terms import Terms, read_columns
from versadp.schema import Categorical, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from versadp.inputs import Array

PUBLIC = -1
MIXED = -2
CODED = -3
_EXAMPLE = 'e.g. "y ~ age + np.log1p(income)"'


class Part(NamedTuple):
    """A factor that depends on one category alone: a number for each of its levels."""

    column: str
    values: tuple[float, ...]
    text: str


class Split(NamedTuple):
    """A term taken apart: numbers by level, times a noisy column as it is, times functions of public columns."""

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
        For each coefficient the index of the noisy column (into `schema.numeric`) if the term is just that column, -1
        if it uses public columns only, -2 if it is any other function of noisy columns, -3 if it depends on one private
        category alone.
    response : int
        Index of the noisy column on the left, -1 for an expression of public columns, -2 for any other function of
        noisy columns, -3 if it depends on one private category alone.
    response_name : str
        The left side.
    used : tuple of str
        The columns that the formula uses, in the schema's order.
    terms : Terms
        The right side.
    levels : mapping of str to tuple
        The levels of the categories that the formula uses, private or public, None for what is missing if that is one.
    private : tuple of str
        The private ones among them.
    splits : tuple of Split or None
        For each coefficient its term taken apart; None for one that is any other function of noisy columns.
    outcome : Part or None
        The left side by level, if it depends on one private category alone.
    classes : str or None
        The category that is the response, level by level.
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
        """The categories of which missing is a level."""
        return frozenset(name for name, levels in self.levels.items() if None in levels)

    @property
    def linear(self) -> bool:
        """True if neither side has a function of noisy columns other than such a column itself."""
        return MIXED not in (*self.columns, self.response)

    def degree(self, columns: Collection[str]) -> int | None:
        """Return the highest degree of a term or the response as a polynomial of some columns; None if one is none."""
        sides = ((self.left,), *self.terms.expressions)
        found = [[factor.degree(columns) for factor in factors] for factors in sides]
        if any(None in degrees for degrees in found):
            return None
        return max(sum(degree or 0 for degree in degrees) for degrees in found)

    def matrix(self, columns: Mapping[str, Any]) -> Array:
        """Return the model matrix (rows, coefficients) at arbitrary points; the response is not needed."""
        return self._terms.matrix(columns)

    @cached_property
    def _terms(self) -> Terms:
        """The terms, of columns whose levels were checked before."""
        return self.terms.take(range(len(self.names)))

    def evaluate(self, columns: Mapping[str, Any]) -> tuple[Array, Array]:
        """Return model matrix and response at arbitrary points.

        No row is dropped; what is not finite is NaN, and the caller masks it.

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
    *,
    by_level: bool = False,
) -> Design:
    """Read a formula against a schema.

    Parameters
    ----------
    formula : str
        Left side an expression of columns; right side terms of them.
    schema : Schema
    public_levels : callable
        The levels of a public column if it holds text; they are not in the schema.
    by_level : bool
        True if the response is a category of any number of levels. Otherwise one of two levels is 0 and 1 in the order
        of its levels, and of others one level is compared: `I(region == "n") ~ age`.

    Raises
    ------
    ParameterError
        The formula cannot be read, names a column that is not there or that models do not serve, or uses a transform
        that learns from the data.

    Examples
    --------
    >>> from versadp import Bounded, Categorical, Public, Schema
    >>> schema = Schema({"age": Bounded(18, 90), "region": Categorical(["n", "e", "s"]), "y": Public()})
    >>> design = make_design("y ~ np.log1p(age) + C(region)", schema)
    >>> design.names, design.columns, design.linear
    (('Intercept', 'np.log1p(age)', 'C(region)[T.e]', 'C(region)[T.s]'), (-1, -2, -3, -3), False)
    """
    if not isinstance(schema, Schema):
        raise ParameterError("a formula is read against a Schema")
    left, right = _parse(formula)
    if len(left) != 1 or not left[0]:
        raise ParameterError("the left side of the formula must be one response", hint=_EXAMPLE)
    levels: dict[str, tuple[Any, ...]] = {}

    def levels_of(name: str) -> Sequence[Any] | None:
        if name not in levels:
            column = schema.columns.get(name)
            found = column.levels if isinstance(column, Categorical) else public_levels(name)
            if found is None:
                return None
            levels[name] = tuple(found)
        return levels[name]

    response = parse_expression(" * ".join(f"({factor})" for factor in left[0]) if len(left[0]) > 1 else left[0][0])
    shown, classes = _plain(response.text), None
    _check_names({*response.columns}, schema)
    if response.bare is not None and levels_of(response.bare) is not None:
        classes = response.bare if by_level else None
        response = response if by_level else _second_level(response.bare, levels[response.bare])
    elif by_level:
        raise ParameterError(f"the response {shown} is no category", hint="e.g. region ~ age, with a column of levels")
    each = spread(right, levels_of)
    names = tuple(one.name for one in each)
    terms = Terms(names, tuple(one.factors for one in each))
    found = {*response.columns, *terms.columns}
    _check_names(found, schema)
    _check_repeats(terms, response)
    _check_levels((response, *(factor for term in terms.expressions for factor in term)), levels, levels_of)
    splits = tuple(_split_up(term, schema, levels) for term in terms.expressions)
    outcome = None if classes is not None else _part(response, levels)
    return Design(
        formula=formula,
        names=names,
        columns=tuple(_kind(term, schema) for term in terms.expressions),
        response=CODED if classes in schema.categorical else _response(response, schema),
        response_name=shown,
        used=tuple(name for name in schema.columns if name in found),
        terms=Terms(names, terms.factors, {name: levels[name] for name in levels if name in terms.columns}),
        left=response,
        levels=levels,
        private=tuple(name for name in schema.categorical if name in found),
        splits=splits,
        outcome=outcome if outcome is not None and outcome.column in schema.categorical else None,
        classes=classes,
    )


def _second_level(name: str, levels: tuple[Any, ...]) -> Expression:
    """Return a category of two levels as 0 and 1."""
    if len(levels) < 2:
        raise ParameterError(f"the response {name} has one level only", hint="there is nothing to explain")
    if len(levels) > 2:
        raise ParameterError(
            f"the response {name} has {len(levels)} levels",
            hint=f'compare with one, as in I({quote(name)} == {levels[0]!r}) ~ age, or take loss="multinomial"',
        )
    return parse_expression(f"{quote(name)} == {levels[-1]!r}")


def _check_levels(
    factors: Sequence[Expression],
    levels: dict[str, tuple[Any, ...]],
    levels_of: Callable[[str], Sequence[Any] | None],
) -> None:
    """Refuse comparisons with what is no level; note where missing is one."""
    for factor, name in [(each, name) for each in factors for name in each.columns if levels_of(name) is not None]:
        if unknown := sorted(factor.compared.get(name, set()) - set(map(str, levels[name]))):
            shown = ", ".join(map(str, levels[name]))
            raise ParameterError(f"{unknown[0]!r} is no level of {name!r}", hint=f"its levels: {shown}")
        if name in factor.missing and None not in levels[name]:
            levels[name] = (*levels[name], None)


def _part(factor: Expression, levels: Mapping[str, tuple[Any, ...]]) -> Part | None:
    """Return a factor level by level, if it depends on one category alone."""
    if len(factor.columns) != 1 or factor.columns[0] not in levels:
        return None
    (name,) = factor.columns
    values = np.empty(len(levels[name]), dtype=object)
    values[:] = levels[name]
    each = np.broadcast_to(factor.evaluate({name: values}), values.shape)
    return Part(name, tuple(each.tolist()), factor.text)


def _split_up(term: tuple[Expression, ...], schema: Schema, levels: Mapping[str, tuple[Any, ...]]) -> Split | None:
    """Return a term taken apart, if it is a product of such parts."""
    parts, numbers, rest = [], [], []
    for factor in term:
        part = _part(factor, levels)
        if part is not None:
            parts.append(part)
        elif factor.bare in schema.numeric:
            numbers.append(factor.bare)
        elif set(factor.columns) & {*schema.numeric, *schema.categorical}:
            return None
        else:
            rest.append(factor.text)
    if len(numbers) > 1:
        return None
    return Split(tuple(parts), numbers[0] if numbers else None, tuple(rest))


def _parse(formula: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return the factors of each term on the left and on the right."""
    from formulaic import Formula
    from formulaic.errors import FormulaicError

    if not isinstance(formula, str) or not formula.strip():
        raise ParameterError("the formula must be text", hint=_EXAMPLE)
    sides = _split(formula, "~")
    if len(sides) != 2 or not sides[0].strip():
        raise ParameterError("the formula needs a left and a right side", hint=_EXAMPLE)
    if not sides[1].strip():
        raise ParameterError("the right side of the formula is empty", hint='"y ~ 1" fits the intercept alone')
    _check_written(sides[1])
    check_terms(sides[1])
    try:
        parsed = Formula(formula)
        left, right = parsed.lhs, parsed.rhs
        if isinstance(left, tuple) or isinstance(right, tuple):
            raise ParameterError("a formula with | is not served", hint=_EXAMPLE)
        terms = [_factors(term) for term in left], [_factors(term) for term in right]
    except (FormulaicError, AttributeError, SyntaxError, RecursionError) as problem:
        # the first line says what is wrong, the others repeat the formula with colours of a terminal
        words = str(problem).split("\n", 1)[0] if isinstance(problem, FormulaicError) else type(problem).__name__
        raise ParameterError(f"the formula cannot be read: {words}", hint=_EXAMPLE) from None
    if not terms[1]:
        raise ParameterError("the right side of the formula is empty", hint='"y ~ 1" fits the intercept alone')
    return terms


def _factors(term: Any) -> tuple[str, ...]:
    """Return a term's factors as expressions; the intercept has none."""
    factors = []
    for factor in term.factors:
        method = factor.eval_method.value
        factors.append(quote(factor.expr) if method == "lookup" else str(factor.expr))
    return () if factors == ["1"] else tuple(factors)


def _plain(factor: str) -> str:
    """Return a factor as it is shown: a quoted name without its backticks."""
    return factor[1:-1] if re.fullmatch(r"`[^`]*`", factor) else factor


def _split(text: str, mark: str) -> list[str]:
    """Split at a mark that stands outside brackets and quotes."""
    parts, depth, quoted = [""], 0, ""
    for letter in text:
        if quoted or letter in "`'\"":
            quoted = "" if letter == quoted else quoted or letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        if letter == mark and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _check_written(right: str) -> None:
    """Refuse what formulaic drops without a word: a term that is written twice, and age ** 2, which it reads as age."""
    parts = ["".join(part.split()) for part in _split(right, "+")]
    if "." in parts:
        raise ParameterError("the formula must name its columns", hint="write the columns out in place of the dot")
    if squares := [part for part in parts if re.fullmatch(r"(\w+|`[^`]*`)(:\1|(\*\*|\^)\d+)", part)]:
        raise ParameterError(f"{squares[0]} in a formula is no power of a column", hint="a square is I(age ** 2)")
    if repeated := sorted({part for part in parts if part and parts.count(part) > 1}):
        raise ParameterError(f"the formula repeats {', '.join(repeated)}", hint="a square is I(age ** 2)")


def _check_names(found: set[str], schema: Schema) -> None:
    there = ", ".join((*schema.numeric, *schema.categorical, *schema.public))
    if schema.id is not None and schema.id in found:
        raise ParameterError(f"{schema.id!r} is the id column, which is never released", hint=f"columns: {there}")
    if missing := sorted(found - set(schema.columns)):
        words = ", ".join(map(repr, missing))
        hint = near(missing[0], (*schema.numeric, *schema.categorical, *schema.public))
        raise ParameterError(f"the formula names a column that is not there: {words}", hint=hint)


def _check_repeats(terms: Terms, response: Expression) -> None:
    """Refuse terms that are the same function, the response among them, and terms of no column."""
    seen: list[tuple[str, ...]] = [(response.key,)]
    for name, factors in zip(terms.names, terms.expressions, strict=True):
        key = tuple(sorted(factor.key for factor in factors))
        if factors and not any(factor.columns for factor in factors):
            raise ParameterError(f"the term {name} uses no column", hint="the intercept is there already")
        if key in seen:
            what = "is the response" if key == seen[0] else "stands in the formula already"
            raise ParameterError(f"the term {name} {what}", hint="each term once")
        seen.append(key)


def _kind(factors: tuple[Expression, ...], schema: Schema) -> int:
    columns = {name for factor in factors for name in factor.columns}
    if not columns & {*schema.numeric, *schema.categorical}:
        return PUBLIC
    if len(columns) == 1 and columns <= set(schema.categorical):
        return CODED
    bare = factors[0].bare
    return schema.numeric.index(bare) if len(factors) == 1 and bare is not None else MIXED


def _response(left: Expression, schema: Schema) -> int:
    if not left.columns:
        raise ParameterError("the left side of the formula must be one response", hint=_EXAMPLE)
    return _kind((left,), schema)
