"""Categories in formulas: `C(region)` becomes columns of numbers, one number a level.

    y ~ C(region)                              Intercept, C(region)[T.e], C(region)[T.s], ...: beside the first level
    y ~ C(region, contr.treatment("s"))        the same beside another level; treatment("s") will do
    y ~ C(region, contr.sum)                   beside the mean of all levels; so helmert, diff, poly, SAS
    y ~ C(region, {"coast": [1, 0, -1, 0]})    columns of your own, or a matrix [[1], [0], [-1], [0]], a row a level
    y ~ C(region, missing=True)                missing values are one more level, the last
    y ~ C(region) - 1                          every level, since nothing else stands for the first

The matrices are formulaic's; what stands in C() is read here and never evaluated. A term stands for all products of its
categories' levels that terms before it do not span: where what is left of `C(a):age` without C(a) is in the formula,
C(a) is reduced, and otherwise it has all of its levels. Levels of a private category come from the schema, in order.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.errors import ParameterError
from versadp.formula.expression import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from versadp.inputs import Array

_HINT = 'write C(region), C(region, contr.treatment("n")), C(region, contr.sum), or C(region, {"name": [1, 0, -1]})'
_ONES = {"treatment": "T.", "SAS": "T.", "sum": "S.", "helmert": "H.", "diff": "D.", "poly": ""}
MISSING = "missing"


class Coefficient(NamedTuple):
    """What a coefficient belongs to: its name and its factors."""

    name: str
    factors: tuple[str, ...]


@dataclass(frozen=True)
class _Category:
    """A factor that is a category."""

    shown: str
    column: str
    levels: tuple[Any, ...]  # None, at the end, is what is missing
    coding: str
    options: tuple[Any, ...]

    def columns(self, *, reduced: bool) -> list[Coefficient]:
        """Return its columns, one less than there are levels if they are to be reduced."""
        names, matrix = self._matrix(reduced=reduced)
        mark = _ONES.get(self.coding, "") if reduced else ""
        return [
            Coefficient(f"{self.shown}[{mark}{name}]", (self._expression(values),))
            for name, values in zip(names, matrix.T, strict=True)
        ]

    def _matrix(self, *, reduced: bool) -> tuple[list[Any], Array]:
        """Return names and values of the columns, (levels, columns), as formulaic has them."""
        from formulaic.transforms.contrasts import ContrastsRegistry, CustomContrasts

        shown = [MISSING if level is None else level for level in self.levels]
        known = {name.lower(): kind for name, kind in vars(ContrastsRegistry).items() if not name.startswith("_")}
        if self.coding == "custom":
            coding = CustomContrasts(*self.options)
            if coding.contrasts.shape[0] != len(shown):
                raise ParameterError(
                    f"the contrasts of C({self.column}) need a number for each of its {len(shown)} levels", hint=_HINT
                )
        else:
            try:
                coding = known[self.coding.lower()](*self.options)
            except (TypeError, KeyError):
                raise ParameterError(f"C({self.column}, {self.coding}) cannot be read", hint=_HINT) from None
        if getattr(coding, "base", None) is not None and self.options and self.options[0] not in shown:
            raise ParameterError(f"the reference of C({self.column}) is none of its levels", hint=_HINT)
        matrix = np.asarray(coding.get_coding_matrix(shown, reduced_rank=reduced), dtype=float)
        if not np.isfinite(matrix).all() or (matrix == matrix[0]).all(axis=0).any():
            raise ParameterError(f"a contrast of C({self.column}) does not tell its levels apart", hint=_HINT)
        return list(coding.get_coding_column_names(shown, reduced_rank=reduced)), matrix

    def _expression(self, values: Array) -> str:
        """Return a column of numbers as arithmetic of levels."""
        name, parts = quote(self.column), []
        for level, value in zip(self.levels, values.tolist(), strict=True):
            here = f"{MISSING}({name})" if level is None else f"{name} == {level!r}"
            if value:
                parts.append((value, here))
        if [value for value, _ in parts] == [1.0]:
            return parts[0][1]
        return " + ".join(f"{value!r} * ({here})" for value, here in parts)


def spread(terms: list[tuple[str, ...]], levels_of: Callable[[str], Sequence[Any] | None]) -> list[Coefficient]:
    """Return the coefficients of terms, several for a category.

    Parameters
    ----------
    terms : list of tuples of str
        The factors of each term.
    levels_of : callable
        The levels of a column if it is a category, None if it is none.

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
        categories = {factor: found for factor in term if (found := _category(factor, levels_of)) is not None}
        plain = frozenset(term) - set(categories)
        for full in _subterms(tuple(categories), plain, spanned):
            each = []
            for factor in term:
                if factor not in categories:
                    each.append([Coefficient(_plain(factor), (factor,))])
                elif factor in full:
                    each.append(categories[factor].columns(reduced=not full[factor]))
            for chosen in product(*each):
                name = ":".join(part.name for part in chosen) or "Intercept"
                out.append(Coefficient(name, tuple(factor for part in chosen for factor in part.factors)))
    return out


def _subterms(
    categories: tuple[str, ...], plain: frozenset[str], spanned: set[tuple[frozenset[str], frozenset[str]]]
) -> list[dict[str, bool]]:
    """Return which categories are in each part of a term, and whether with all of their levels.

    All levels of a category are a constant and its reduced columns, so a term is the sum of the products of reduced
    columns of its subsets. Those that are spanned already are left out; two that differ by one category are one in
    which it has all of its levels.
    """
    left: list[dict[str, bool]] = []
    for size in range(len(categories) + 1):
        for some in combinations(categories, size):
            if (plain, frozenset(some)) not in spanned:
                spanned.add((plain, frozenset(some)))
                left.append(dict.fromkeys(some, False))
    merged = True
    while merged:
        merged = False
        for small, large in product(left, left):
            more = set(large) - set(small)
            if (
                len(more) == 1
                and set(small) <= set(large)
                and not large[next(iter(more))]
                and all(large[factor] == full for factor, full in small.items())
            ):
                left = [each for each in left if each is not small and each is not large]
                left.append({factor: full or factor in more for factor, full in large.items()})
                merged = True
                break
    return sorted(left, key=len)


def _category(factor: str, levels_of: Callable[[str], Sequence[Any] | None]) -> _Category | None:
    """Return the category that a factor is, if it is one: C() of a column, or such a column as it is."""
    found = _read(factor)
    if found is None:
        return None
    name, coding, options, missing = found
    levels = levels_of(name)
    if levels is None:
        if not factor.startswith("C("):
            return None
        raise ParameterError(f"{name!r} in C() is no category", hint="numbers stand in a formula as they are")
    if len(levels) < 2:
        raise ParameterError(f"{name!r} has one level only, which tells nothing", hint="leave it out")
    if any("`" in str(level) for level in levels):
        raise ParameterError(f"a level of {name!r} holds a backtick, which formulas use for other things")
    if missing and MISSING in map(str, levels):
        raise ParameterError(f"{name!r} has a level {MISSING!r} already", hint="leave missing=True out")
    shown = f"C({name})" if factor.startswith("C(") else name
    return _Category(shown, name, (*levels, None) if missing else tuple(levels), coding, options)


def _read(factor: str) -> tuple[str, str, tuple[Any, ...], bool] | None:
    """Return column, coding, its options and whether missing is a level, of C(...) or of a bare name."""
    if factor.startswith("`") and factor.endswith("`") and factor.count("`") == 2:
        return factor[1:-1], "treatment", (), False
    name, text = None, factor
    if factor.startswith("C(`"):  # a name that is none of Python's
        name, rest = factor.removeprefix("C(`").split("`", 1)
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
    return name or found, coding, options, missing


def _arguments(call: ast.Call) -> tuple[str, str, tuple[Any, ...], bool]:
    """Return what stands in C(...); a ValueError is what cannot."""
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
    called, options = (node.func, node.args) if isinstance(node, ast.Call) else (node, [])
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "contr":
        name = called.attr
    elif isinstance(called, ast.Name):
        name = called.id
    else:
        given = ast.literal_eval(node)
        if isinstance(given, dict):
            return "custom", ({str(key): [float(each) for each in column] for key, column in given.items()},)
        return "custom", (np.array(given, dtype=float),)
    if isinstance(node, ast.Call):
        if [keyword.arg for keyword in node.keywords] == ["base"] and not options:
            options = [node.keywords[0].value]
        elif node.keywords:
            raise ValueError(node)
    known = {each.lower(): each for each in _ONES}
    if name.lower() not in known or (options and name.lower() not in {"treatment", "sas"}) or len(options) > 1:
        raise ValueError(name)
    return known[name.lower()], tuple(ast.literal_eval(each) for each in options)


def _plain(factor: str) -> str:
    """Return a factor as it is shown: a quoted name without its backticks."""
    return factor[1:-1] if factor.startswith("`") and factor.endswith("`") and factor.count("`") == 2 else factor
