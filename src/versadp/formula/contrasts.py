"""Categories in formulas: `C(region)` becomes an indicator for each level but the first, which the others stand beside.

    y ~ C(region)                        Intercept, C(region)[T.e], C(region)[T.s], ...
    y ~ C(region, treatment("s"))        the same beside another level
    y ~ C(region) - 1                    every level, since nothing else stands for the first

As everywhere, a category has all of its levels where what is left of a term without it is not in the formula itself.
Levels of a private category come from the schema, in its order.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from versadp.errors import ParameterError
from versadp.formula.expression import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_HINT = 'write C(region), or C(region, treatment("n")) for another reference'


class Indicator(NamedTuple):
    """A level of a column, by its number."""

    column: str
    level: int


class Coefficient(NamedTuple):
    """What a coefficient belongs to: its name, its factors, and the levels among them."""

    name: str
    factors: tuple[str, ...]
    indicators: tuple[Indicator, ...]


@dataclass(frozen=True)
class _Category:
    """A factor that is a category."""

    shown: str
    column: str
    levels: tuple[Any, ...]
    reference: int

    def coefficients(self, *, reduced: bool) -> list[Coefficient]:
        """Return its levels, the reference left out if they are to be reduced."""
        out = []
        for number, level in enumerate(self.levels):
            if not (reduced and number == self.reference):
                name = f"{self.shown}[{'T.' if reduced else ''}{level}]"
                out.append(
                    Coefficient(name, (f"{quote(self.column)} == {level!r}",), (Indicator(self.column, number),))
                )
        return out


def spread(terms: list[tuple[str, ...]], levels_of: Callable[[str], Sequence[Any] | None]) -> list[Coefficient]:
    """Return the coefficients of terms, one for each level of their categories.

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
    """
    there, out = [frozenset(term) for term in terms], []
    for term in terms:
        each = []
        for factor in term:
            category = _category(factor, levels_of)
            if category is None:
                each.append([Coefficient(_plain(factor), (factor,), ())])
            else:
                each.append(category.coefficients(reduced=frozenset(term) - {factor} in there))
        for chosen in product(*each):
            name = ":".join(part.name for part in chosen) or "Intercept"
            factors = tuple(factor for part in chosen for factor in part.factors)
            out.append(Coefficient(name, factors, tuple(level for part in chosen for level in part.indicators)))
    return out


def _category(factor: str, levels_of: Callable[[str], Sequence[Any] | None]) -> _Category | None:
    """Return the category that a factor is, if it is one: C() of a column, or such a column as it is."""
    name, reference = _read(factor)
    if name is None:
        return None
    levels = levels_of(name)
    if levels is None:
        if not factor.startswith("C("):
            return None
        raise ParameterError(f"{name!r} in C() is no category", hint="numbers stand in a formula as they are")
    if len(levels) < 2:
        raise ParameterError(f"{name!r} has one level only, which tells nothing", hint="leave it out")
    if any("`" in str(level) for level in levels):
        raise ParameterError(f"a level of {name!r} holds a backtick, which formulas use for other things")
    if reference is not None and reference not in levels:
        raise ParameterError(f"the reference of C({name}) is none of its levels", hint=_HINT)
    shown = f"C({name})" if factor.startswith("C(") else name
    return _Category(shown, name, tuple(levels), 0 if reference is None else list(levels).index(reference))


def _read(factor: str) -> tuple[str | None, Any]:
    """Return the column of `C(column)` or `C(column, treatment(level))`, or of a bare name; and the level."""
    if factor.startswith("`") and factor.endswith("`"):
        return factor[1:-1], None
    quoted = factor.replace("`", "")  # of a name in C() that is none of Python's
    try:
        tree = ast.parse(factor, mode="eval").body
    except SyntaxError:
        inner = quoted.removeprefix("C(").removesuffix(")")
        return (inner, None) if factor == f"C(`{inner}`)" else (None, None)
    if isinstance(tree, ast.Name):
        return tree.id, None
    if not (isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "C"):
        return None, None
    match tree.args:
        case [ast.Name(id=name)] if not tree.keywords:
            return name, None
        case [ast.Name(id=name), ast.Call(func=coding, args=[ast.Constant(value=level)])] if not tree.keywords:
            called = coding.id if isinstance(coding, ast.Name) else getattr(coding, "attr", "")
            if called.lower() == "treatment":
                return name, level
    raise ParameterError(f"{factor} is not served: treatment coding is", hint=_HINT)


def _plain(factor: str) -> str:
    """Return a factor as it is shown: a quoted name without its backticks."""
    return factor[1:-1] if factor.startswith("`") and factor.endswith("`") and factor.count("`") == 2 else factor
