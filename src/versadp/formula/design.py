"""Formulas: `y ~ age + np.log1p(income)` against a schema, to a design that can be evaluated anywhere.

formulaic reads the formula; the terms are then evaluated one record at a time, at the released record and at every
second randomisation of it, so that transformations and interactions of noisy columns stay unbiased:

    E sum_k w_k g(x + Z + S_k) = g(x)    for every function g of one record
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from versadp.errors import ParameterError
from versadp.formula.contrasts import spread
from versadp.formula.expression import Expression, parse_expression, quote
from versadp.formula.growth import check_terms
from versadp.formula.terms import Terms, read_columns
from versadp.schema import Categorical, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from versadp.formula.contrasts import Coefficient, Indicator

    Array = NDArray[np.float64]

PUBLIC = -1
MIXED = -2
CODED = -3
_EXAMPLE = 'e.g. "y ~ age + np.log1p(income)"'


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
        if it uses public columns only, -2 if it is any other function of noisy columns, -3 if it is the indicator of a
        level of a private category.
    response : int
        Index of the noisy column on the left, -1 for an expression of public columns, -2 for any other function of
        noisy columns.
    response_name : str
        The left side.
    used : tuple of str
        The columns that the formula uses, in the schema's order.
    terms : Terms
        The right side.
    indicators : tuple of Indicator or None
        For each coefficient the level of a private category that it belongs to, if it does.
    """

    formula: str
    names: tuple[str, ...]
    columns: tuple[int, ...]
    response: int
    response_name: str
    used: tuple[str, ...]
    terms: Terms = field(repr=False)
    left: Expression = field(repr=False)
    indicators: tuple[Indicator | None, ...] = ()

    @property
    def coded(self) -> bool:
        """True if private categories are among the terms."""
        return CODED in self.columns

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
        return self.terms.matrix(columns)

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
        read = read_columns(columns, self.left.columns)
        return read[self.left.bare].copy() if self.left.bare is not None else self.left.evaluate(read)


def make_design(
    formula: str, schema: Schema, public_levels: Callable[[str], Sequence[Any] | None] = lambda _: None
) -> Design:
    """Read a formula against a schema.

    Parameters
    ----------
    formula : str
        Left side an expression of numeric columns; right side terms of them.
    schema : Schema
    public_levels : callable
        The levels of a public column if it holds text; they are not in the schema.

    Raises
    ------
    ParameterError
        The formula cannot be read, names a column that is not there or that models do not serve, or uses a transform
        that learns from the data.

    Examples
    --------
    >>> from versadp import Bounded, Public, Schema
    >>> schema = Schema({"age": Bounded(18, 90), "income": Bounded(0, 5e5), "y": Public()})
    >>> design = make_design("y ~ age + np.log1p(income)", schema)
    >>> design.names, design.columns, design.linear
    (('Intercept', 'age', 'np.log1p(income)'), (-1, 0, -2), False)
    """
    if not isinstance(schema, Schema):
        raise ParameterError("a formula is read against a Schema")
    left, right = _parse(formula)
    if len(left) != 1 or not left[0]:
        raise ParameterError("the left side of the formula must be one response", hint=_EXAMPLE)
    response = parse_expression(" * ".join(f"({factor})" for factor in left[0]) if len(left[0]) > 1 else left[0][0])
    _check_names({*response.columns}, schema)

    def levels_of(name: str) -> Sequence[Any] | None:
        column = schema.columns.get(name)
        return column.levels if isinstance(column, Categorical) else public_levels(name)

    each = spread(right, levels_of)
    names = tuple(one.name for one in each)
    terms = Terms(names, tuple(one.factors for one in each))
    found = {*response.columns, *terms.columns}
    indicators = tuple(_private(one, schema) for one in each)
    _check_names(found - {one.column for one in indicators if one is not None}, schema)
    _check_repeats(terms, response)
    return Design(
        formula=formula,
        names=names,
        columns=tuple(
            CODED if one is not None else _kind(term, schema)
            for term, one in zip(terms.expressions, indicators, strict=True)
        ),
        response=_response(response, schema),
        response_name=_plain(response.text),
        used=tuple(name for name in schema.columns if name in found),
        terms=terms,
        left=response,
        indicators=indicators,
    )


def _private(coefficient: Coefficient, schema: Schema) -> Indicator | None:
    """Return the level of a private category that a coefficient belongs to, if it does."""
    private = [level for level in coefficient.indicators if level.column in schema.categorical]
    if private and len(coefficient.factors) > 1:
        raise ParameterError(
            f"interactions of the private category {private[0].column!r} are to come", hint="each on its own"
        )
    return private[0] if private else None


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
    there = ", ".join((*schema.numeric, *schema.public))
    if schema.id is not None and schema.id in found:
        raise ParameterError(f"{schema.id!r} is the id column, which is never released", hint=f"columns: {there}")
    if missing := sorted(found - set(schema.columns)):
        words = ", ".join(map(repr, missing))
        raise ParameterError(f"the formula names a column that is not there: {words}", hint=f"columns: {there}")
    if private := sorted(found & set(schema.categorical)):
        raise ParameterError(
            f"a private category stands on the right side as it is, and nowhere else: {', '.join(map(repr, private))}",
            hint="e.g. y ~ age + C(region); Release.augment serves any use of it",
        )


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
    if not columns & set(schema.numeric):
        return PUBLIC
    bare = factors[0].bare
    return schema.numeric.index(bare) if len(factors) == 1 and bare is not None else MIXED


def _response(left: Expression, schema: Schema) -> int:
    if not left.columns:
        raise ParameterError("the left side of the formula must be one response", hint=_EXAMPLE)
    return _kind((left,), schema)
