"""Model matrices: terms of a formula, each a product of factors, evaluated at any records.

    X[i, j] = factor_1(x_i) * factor_2(x_i) * ...,    no factor: the intercept

It needs no formula parser and no dataframe, so that results read from a file can predict.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import ParameterError
from versadp.formula.expression import Expression, parse_expression

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from numpy.typing import NDArray

    from versadp.inputs import Array


@dataclass(frozen=True)
class Terms:
    """Terms with their names.

    Parameters
    ----------
    names : tuple of str
        Names of the coefficients.
    factors : tuple of tuples of str
        Factors of each term, as `parse_expression` reads them; an empty tuple is the intercept.
    levels : mapping of str to tuple
        Levels of each category, with None for missing if that is a level; other values are refused.

    Examples
    --------
    >>> terms = Terms(("Intercept", "age", "age:female"), ((), ("age",), ("age", "female")))
    >>> terms.matrix({"age": np.array([30.0, 50.0]), "female": np.array([0, 1])})
    array([[ 1., 30.,  0.],
           [ 1., 50., 50.]])
    >>> Terms(("east",), (("region == 'e'",),), {"region": ("n", "e")}).matrix({"region": ["e", "x"]})
    Traceback (most recent call last):
        ...
    versadp.errors.ParameterError: column 'region' has values in 1 of 2 rows that are none of its levels
      hint: its levels: n, e
    """

    names: tuple[str, ...]
    factors: tuple[tuple[str, ...], ...]
    levels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.names) != len(self.factors):
            raise ParameterError("names and terms differ in number", hint="give one term per coefficient")
        _ = self.expressions

    @cached_property
    def expressions(self) -> tuple[tuple[Expression, ...], ...]:
        """The parsed factors."""
        return tuple(tuple(parse_expression(factor) for factor in term) for term in self.factors)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the terms, in order of appearance."""
        return tuple(dict.fromkeys(c for term in self.expressions for factor in term for c in factor.columns))

    @cached_property
    def texts(self) -> frozenset[str]:
        """The columns that are compared with text, or used in `missing()`."""
        factors = [factor for term in self.expressions for factor in term]
        return frozenset(c for factor in factors for c in (*factor.texts, *factor.missing))

    def take(self, index: Iterable[int]) -> Terms:
        """Return some of the terms, without a check of levels."""
        chosen = list(index)
        return Terms(tuple(self.names[j] for j in chosen), tuple(self.factors[j] for j in chosen))

    def matrix(self, columns: Mapping[str, Any]) -> Array:
        """Return the model matrix (rows, terms); no row is dropped, and values that are not finite become NaN."""
        read = read_columns(columns, self.columns, self.texts)
        for name, levels in self.levels.items():
            if name in read:
                _check_levels(name, read[name], levels)
        # without columns in the terms, any given column has the number of rows
        rows = len(np.atleast_1d(next(iter((read or columns).values()), 0.0)))
        out = np.ones((rows, len(self.names)))
        for j, term in enumerate(self.expressions):
            for k, factor in enumerate(term):
                value = read[factor.bare] if factor.bare is not None else factor.evaluate(read)
                out[:, j] = value if k == 0 else out[:, j] * value
        return out


def product_matrix(factors: Iterable[tuple[str, ...]], columns: Mapping[str, Any], rows: int) -> Array:
    """Return products of factors at some rows, (rows, products); a product without a factor is 1.

    Examples
    --------
    >>> product_matrix([(), ("age", "age")], {"age": np.array([3.0, 5.0])}, 2)
    array([[ 1.,  9.],
           [ 1., 25.]])
    """
    every = tuple(factors)
    return Terms(tuple(map(str, every)), every).matrix({**columns, "": np.zeros(rows)})


def split_by_columns(
    term: Iterable[Expression], names: Collection[str]
) -> tuple[tuple[Expression, ...], tuple[str, ...]] | None:
    """Return the factors of a term that are of some columns, and the texts of the others; None if one is of both.

    Examples
    --------
    >>> term = Terms(("t",), (("np.log(age)", "year"),)).expressions[0]
    >>> [factor.text for factor in split_by_columns(term, {"age"})[0]], split_by_columns(term, {"age"})[1]
    (['np.log(age)'], ('year',))
    """
    own: tuple[Expression, ...] = ()
    others: tuple[str, ...] = ()
    for factor in term:
        inside = set(factor.columns) & set(names)
        if inside and inside != set(factor.columns):
            return None
        own, others = ((*own, factor), others) if inside else (own, (*others, factor.text))
    return own, others


def _check_levels(name: str, values: NDArray[Any], levels: tuple[Any, ...]) -> None:
    """Raise for values that are not levels."""
    known = set(levels)
    if values.dtype.kind == "f":
        wrong = ~np.isin(values, [level for level in levels if level is not None])
        wrong &= ~(np.isnan(values) & (None in known))
    else:
        gone = parse_expression("missing(x)").evaluate({"x": values}) > 0
        wrong = np.array(
            [None not in known if lost else value not in known for value, lost in zip(values, gone, strict=True)], bool
        )
    if count := int(wrong.sum()):
        shown = ", ".join("missing" if level is None else str(level) for level in levels)
        raise ParameterError(
            f"column {name!r} has values in {count} of {len(values)} rows that are none of its levels",
            hint=f"its levels: {shown}",
        )


def read_columns(
    columns: Mapping[str, Any], names: Iterable[str], texts: Collection[str] = ()
) -> dict[str, NDArray[Any]]:
    """Return the named columns as numbers, or as `texts`, all of one length; a single value stands for a whole column.

    Examples
    --------
    >>> read_columns({"age": [30, 50], "income": 0, "other": ["a", "b"]}, ["age", "income"])
    {'age': array([30., 50.]), 'income': array([0., 0.])}
    """
    names = list(names)
    if missing := [name for name in names if name not in columns]:
        raise ParameterError(f"missing columns: {', '.join(map(repr, missing))}", hint="the formula needs them")
    out = {name: _read_column(name, columns[name], text=name in texts) for name in names}
    lengths = {len(values) for values in out.values() if values.ndim} or {1}
    if len(lengths) > 1:
        raise ParameterError("the columns differ in length", hint="one value for each row, or one for all rows")
    rows = lengths.pop()
    return {name: values if values.ndim else np.full(rows, values) for name, values in out.items()}


def _read_column(name: str, column: Any, *, text: bool) -> NDArray[Any]:
    values = np.asarray(column)
    if text and values.ndim < 2:
        return values.astype(object)
    if values.ndim > 1 or values.dtype.kind not in "fiub":
        raise ParameterError(f"column {name!r} does not hold plain numbers", hint="write a category as C(column)")
    return values.astype(np.float64, copy=False)
