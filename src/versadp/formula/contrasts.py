"""Contrasts of categories in formulas: `C(region)` becomes columns with one number per level.

    y ~ C(region)                              Intercept, C(region)[T.e], C(region)[T.s], ...: against the first level
    y ~ C(region, contr.treatment("s"))        against another level; also treatment("s")
    y ~ C(region, contr.sum)                   against the mean of all levels; also helmert, diff, poly, SAS
    y ~ C(region, {"coast": [1, 0, -1, 0]})    custom columns, or a matrix [[1], [0], [-1], [0]], a row per level
    y ~ C(region, missing=True)                missing values are one more level, the last
    y ~ C(region) - 1                          every level, as there is no intercept
    y ~ C(year)                                a public column of whole numbers: a level per value, [T.2016], ...

The contrast matrices are formulaic's; the arguments of C() are parsed here and never evaluated. A term spans the
products of the levels of its categories that earlier terms do not span: in `C(a):age` the category is reduced by one
column if `age` is in the formula, and has all of its levels otherwise. Levels of a private category come from the
schema, in order.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import combinations, product, starmap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.errors import ParameterError
from versadp.formula.expression import quote, unquote
from versadp.formula.splines import read_spline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from versadp.inputs import Array

_HINT = 'write C(region), C(region, contr.treatment("n")), C(region, contr.sum), or C(region, {"name": [1, 0, -1]})'
_ONES = {"treatment": "T.", "SAS": "T.", "sum": "S.", "helmert": "H.", "diff": "D.", "poly": ""}
MISSING = "missing"
MOST_LEVELS = 1000  # of a category in a formula: chosen, as many as a formula may have terms


class Coefficient(NamedTuple):
    """The name of a coefficient, the factors of its column, and the factors of the term that it belongs to."""

    name: str
    factors: tuple[str, ...]
    term: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Category:
    """A factor that is a category."""

    shown: str
    column: str
    levels: tuple[Any, ...]  # None, at the end, stands for missing
    coding: str
    options: tuple[Any, ...]

    def columns(self, *, reduced: bool) -> list[Coefficient]:
        """Return the columns, one fewer than levels if `reduced`."""
        names, matrix = self._matrix(reduced=reduced)
        mark = _ONES.get(self.coding, "") if reduced else ""
        return [
            Coefficient(f"{self.shown}[{mark}{name}]", (self._expression(values),))
            for name, values in zip(names, matrix.T, strict=True)
        ]

    def _matrix(self, *, reduced: bool) -> tuple[list[Any], Array]:
        """Return names and values (levels, columns) of the columns from formulaic."""
        from formulaic.transforms.contrasts import ContrastsRegistry, CustomContrasts

        shown = [MISSING if level is None else level for level in self.levels]
        known: dict[str, Any] = {name.lower(): kind for name, kind in vars(ContrastsRegistry).items()}
        try:
            coding = (CustomContrasts if self.coding == "custom" else known[self.coding.lower()])(*self.options)
        except (TypeError, KeyError):
            raise ParameterError(f"C({self.column}, {self.coding}) cannot be read", hint=_HINT) from None
        if self.coding == "custom" and coding.contrasts.shape[0] != len(shown):
            raise ParameterError(
                f"the contrasts of C({self.column}) need one number for each of its {len(shown)} levels", hint=_HINT
            )
        if getattr(coding, "base", None) is not None and self.options and self.options[0] not in shown:
            raise ParameterError(f"the reference of C({self.column}) is none of its levels", hint=_HINT)
        matrix = np.asarray(coding.get_coding_matrix(shown, reduced_rank=reduced), dtype=float)
        if not np.isfinite(matrix).all() or (matrix == matrix[0]).all(axis=0).any():
            raise ParameterError(f"a contrast of C({self.column}) is the same for all levels", hint=_HINT)
        return list(coding.get_coding_column_names(shown, reduced_rank=reduced)), matrix

    def _expression(self, values: Array) -> str:
        """Return the expression of a column: a linear combination of indicators of levels."""
        name, parts = quote(self.column), []
        for level, value in zip(self.levels, values.tolist(), strict=True):
            here = f"{MISSING}({name})" if level is None else f"{name} == {level!r}"
            if value:
                parts.append((value, here))
        if [value for value, _ in parts] == [1.0]:
            return parts[0][1]
        return " + ".join(f"{value!r} * ({here})" for value, here in parts)


def spread(
    terms: list[tuple[str, ...]],
    levels_of: Callable[[str], Sequence[Any] | None],
    values_of: Callable[[str], Sequence[Any] | None] = lambda _: None,
    bounds_of: Callable[[str], tuple[float, float] | None] = lambda _: None,
) -> list[Coefficient]:
    """Return the coefficients of terms, with one or more per category.

    Parameters
    ----------
    terms : list of tuples of str
        The factors of each term.
    levels_of : callable
        Returns the levels of a column, None if it is not a category.
    values_of : callable
        Returns the values of a column of whole numbers, which are levels inside C(), None if it has none.
    bounds_of : callable
        Returns the bounds of a column, between which its splines lie, None if it has none.

    Examples
    --------
    >>> found = spread([(), ("age",), ("C(region)",)], {"region": ("n", "e", "s")}.get)
    >>> [each.name for each in found]
    ['Intercept', 'age', 'C(region)[T.e]', 'C(region)[T.s]']
    >>> found[-1].factors
    ("region == 's'",)
    >>> found = spread([(), ("C(region, contr.sum)",)], {"region": ("n", "e", "s")}.get)
    >>> found[-1].name, found[-1].factors
    ('C(region)[S.e]', ("1.0 * (region == 'e') + -1.0 * (region == 's')",))
    """
    spanned: set[tuple[frozenset[str], frozenset[str]]] = set()
    out = []
    for term in terms:
        read = {factor: _category(factor, levels_of, values_of) for factor in term}
        categories = {factor: found for factor, found in read.items() if found is not None}
        plain = frozenset(term) - set(categories)
        for full in _subterms(tuple(categories), plain, spanned):
            each = []
            for factor in term:
                if factor not in categories:
                    columns = read_spline(factor, bounds_of) or [(unquote(factor), factor)]
                    each.append([Coefficient(name, (expression,)) for name, expression in columns])
                elif factor in full:
                    each.append(categories[factor].columns(reduced=not full[factor]))
            shown = tuple(categories[factor].shown if factor in categories else unquote(factor) for factor in term)
            for chosen in product(*each):
                name = ":".join(part.name for part in chosen) or "Intercept"
                factors = tuple(factor for part in chosen for factor in part.factors)
                out.append(Coefficient(name, factors, shown or ("Intercept",)))
    return out


def _subterms(
    categories: tuple[str, ...], plain: frozenset[str], spanned: set[tuple[frozenset[str], frozenset[str]]]
) -> list[dict[str, bool]]:
    """Return the categories of each part of a term, with True for those with all of their levels.

    All levels of a category span a constant and the reduced columns, so that a term spans the products of reduced
    columns over subsets of its categories. Subsets that are spanned already are left out; two that differ by one
    category are merged into one in which it has all of its levels.
    """
    left: list[dict[str, bool]] = []
    for size in range(len(categories) + 1):
        for some in combinations(categories, size):
            if (plain, frozenset(some)) not in spanned:
                spanned.add((plain, frozenset(some)))
                left.append(dict.fromkeys(some, False))
    while (found := next(filter(None, starmap(_merged, product(left, left))), None)) is not None:
        small, large, both = found
        left = [each for each in left if each is not small and each is not large]
        left.append(both)
    return sorted(left, key=len)


def _merged(
    small: dict[str, bool], large: dict[str, bool]
) -> tuple[dict[str, bool], dict[str, bool], dict[str, bool]] | None:
    """Return two parts of a term and their sum, if they differ by one reduced category, else None."""
    more = set(large) - set(small)
    if len(more) != 1 or not small.items() <= large.items() or any(large[factor] for factor in more):
        return None
    return small, large, {factor: full or factor in more for factor, full in large.items()}


def _category(
    factor: str, levels_of: Callable[[str], Sequence[Any] | None], values_of: Callable[[str], Sequence[Any] | None]
) -> _Category | None:
    """Return the category of a factor, C(column) or a bare column with levels; None for other factors."""
    found = _read(factor)
    if found is None:
        return None
    name, coding, options, missing = found
    levels = levels_of(name)
    if levels is None and not factor.startswith("C("):
        return None
    if levels is None:
        levels = values_of(name)
    if levels is None:
        raise ParameterError(
            f"{name!r} in C() is not a category",
            hint="write noisy numbers without C(); public whole numbers have a level per value",
        )
    if len(levels) > MOST_LEVELS:
        raise ParameterError(
            f"C({name}) has {len(levels):,} levels, and a coefficient for each of so many takes too long",
            hint=f'least squares absorbs them: fit(..., absorb="{name}")',
        )
    if len(levels) < 2:
        raise ParameterError(f"{name!r} has one level only", hint="leave it out of the formula")
    if any("`" in str(level) for level in levels):
        raise ParameterError(f"a level of {name!r} has a backtick, the quotation mark of formulas", hint="rename it")
    if missing and MISSING in map(str, levels):
        raise ParameterError(f"{name!r} has a level {MISSING!r} already", hint="leave missing=True out")
    shown = f"C({name})" if factor.startswith("C(") else name
    return _Category(shown, name, (*levels, None) if missing else tuple(levels), coding, options)


def _read(factor: str) -> tuple[str, str, tuple[Any, ...], bool] | None:
    """Return column, coding, its options and whether missing is a level, of C(...) or of a bare name; else None."""
    name = unquote(factor)
    if name != factor:
        return name, "treatment", (), False
    quoted, text = None, factor
    if factor.startswith("C(`"):  # a name that is not a Python name
        quoted, rest = factor.removeprefix("C(`").split("`", 1)
        text = f"C(_{rest}"
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if isinstance(tree, ast.Name):
        return tree.id, "treatment", (), False
    if not (isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "C"):
        return None
    try:
        found, coding, options, missing = _arguments(tree)
    except (ValueError, TypeError, SyntaxError):
        raise ParameterError(f"{factor} cannot be read", hint=_HINT) from None
    return quoted or found, coding, options, missing


def _arguments(call: ast.Call) -> tuple[str, str, tuple[Any, ...], bool]:
    """Return column, coding, its options and `missing` of C(...); raise ValueError for other arguments."""
    (column, *codings), missing = call.args, False
    for keyword in call.keywords:
        if keyword.arg == MISSING:
            missing = bool(ast.literal_eval(keyword.value))
        elif keyword.arg == "contrasts":
            codings.append(keyword.value)
        else:
            raise ValueError(keyword.arg)
    if not isinstance(column, ast.Name) or len(codings) > 1:
        raise ValueError(call)
    return column.id, *(_coding(codings[0]) if codings else ("treatment", ())), missing


def _coding(node: ast.expr) -> tuple[str, tuple[Any, ...]]:
    """Return the name of a coding and its options: contr.sum, treatment("s"), a matrix, or columns by name."""
    called, options = (node.func, _options(node)) if isinstance(node, ast.Call) else (node, [])
    match called:
        case ast.Attribute(value=ast.Name(id="contr"), attr=name) | ast.Name(id=name):
            known = {each.lower(): each for each in _ONES}
            if name.lower() not in known or len(options) > (name.lower() in {"treatment", "sas"}):
                raise ValueError(name)
            return known[name.lower()], tuple(ast.literal_eval(each) for each in options)
    given = ast.literal_eval(node)
    if isinstance(given, dict):
        return "custom", ({str(key): [float(each) for each in column] for key, column in given.items()},)
    return "custom", (np.array(given, dtype=float),)


def _options(call: ast.Call) -> list[ast.expr]:
    """Return the arguments of a coding; `base=` is the first of them."""
    if not call.keywords:
        return call.args
    if call.args or [keyword.arg for keyword in call.keywords] != ["base"]:
        raise ValueError(call)
    return [call.keywords[0].value]
