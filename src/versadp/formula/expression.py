"""Expressions: arithmetic of the columns of one record, such as `np.log1p(income)`, `age ** 2`, `age > 65`.

A formula is evaluated at the released record and at its signed points. That is unbiased only if a term is a function of
one record, so only such arithmetic is allowed; a mean or a scaling is a function of all records. Expressions are
interpreted and never passed to `eval`, since formulas also come from saved files.
"""

from __future__ import annotations

import ast
import operator
import re
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from versadp.inputs import Array

LEARNING = frozenset(
    {"bs", "cc", "center", "cr", "cs", "hashed", "lag", "ns", "poly", "rank", "scale", "standardize", "te"}
)
"""Transforms that learn from the data, under all of their names."""


def _missing(values: Any) -> Any:
    """Return True for missing values: NaN or None."""
    return values != values if values.dtype.kind in "fiub" else np.array([x is None or x != x for x in values], bool)  # noqa: PLR0124 - NaN differs from itself


def _spline(values: Any, number: Any, degree: Any, lower: Any, upper: Any, *knots: Any) -> Any:
    """Return one function of a B-spline basis between two bounds, and its polynomials beyond them."""
    from scipy.interpolate import BSpline

    k = int(degree)
    basis = np.zeros(len(knots) + k + 1)
    basis[int(number)] = 1.0
    return BSpline(np.r_[[lower] * (k + 1), knots, [upper] * (k + 1)], basis, k)(values)


_SHORT: dict[str, Callable[..., Any]] = {
    "I": lambda x: x,
    "abs": np.abs,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "exp": np.exp,
    "exp2": np.exp2,
    "missing": _missing,
    "spline": _spline,
}
_PLAIN: dict[str, Callable[..., Any]] = {"where": np.where, "clip": np.clip, "round": np.round}
# bounds on the time and memory of an expression from an untrusted file, which a fuzz test runs against
# (tests/attacks/test_untrusted.py): characters, nodes of the syntax tree, exponents
MOST_TEXT, MOST_PARTS, MOST_POWER = 10_000, 1000, 20
_ARITY: dict[Callable[..., Any], int] = {np.where: 3, np.clip: 3}  # arguments that are read; the next is written to
_CONSTANTS = {"pi": np.pi, "e": np.e}
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: np.logical_and,
    ast.BitOr: np.logical_or,
    ast.Invert: np.logical_not,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_HINT = "use arithmetic, comparisons, log, exp, abs, and numpy functions of one record: np.log1p, np.where, ..."
_SPLINES = "write bs(age, knots=(30, 50), degree=3)"
_QUOTED = re.compile(r"`([^`]*)`")
_ALIAS = "_quoted_column_"


@dataclass(frozen=True)
class Expression:
    """A function of the columns of one record, made by `parse_expression`.

    Attributes
    ----------
    text : str
        As written; column names that are not Python names are in backticks.
    columns : tuple of str
        The columns that it uses, in order of appearance.
    """

    text: str
    columns: tuple[str, ...]
    _tree: ast.expr = field(compare=False, repr=False)
    _aliases: tuple[str, ...] = field(compare=False, repr=False)

    @property
    def bare(self) -> str | None:
        """The name of the column if the expression is one column, else None."""
        tree = _without_identity(self._tree)
        return _unalias(tree.id, self._aliases) if isinstance(tree, ast.Name) else None

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns that are compared with text."""
        found = (_with_text(node) for node in ast.walk(self._tree))
        return tuple(dict.fromkeys(_unalias(name, self._aliases) for name in found if name is not None))

    @property
    def compared(self) -> dict[str, set[str]]:
        """The texts that each column is compared with."""
        out: dict[str, set[str]] = {}
        for node in ast.walk(self._tree):
            if (name := _with_text(node)) is not None:
                out.setdefault(_unalias(name, self._aliases), set()).add(node.comparators[0].value)  # type: ignore[attr-defined] # it is a comparison
        return out

    @property
    def missing(self) -> tuple[str, ...]:
        """The arguments of `missing()`."""
        calls = (
            node for node in ast.walk(self._tree) if isinstance(node, ast.Call) and _name_of(node.func) == "missing"
        )
        return tuple(_unalias(_name_of(node.args[0]), self._aliases) for node in calls)

    @property
    def key(self) -> str:
        """A text that is the same for expressions that differ only in spaces, brackets and I()."""
        return self.bare or ast.dump(_without_identity(self._tree)) + str(self._aliases)

    def degree(self, columns: Collection[str]) -> int | None:
        """Return the degree as a polynomial of some columns, None if it is not one; other columns count as constants.

        Examples
        --------
        >>> [parse_expression(text).degree({"age"}) for text in ("(age - w) ** 2 / 2", "np.log(w)", "np.log(age)")]
        [2, 0, None]
        """
        found = _degree(self._tree, {name for name in columns if name in self.columns}, self._aliases)
        return None if found is None or found > MOST_POWER else found

    def evaluate(self, columns: Mapping[str, Array]) -> Any:
        """Return the values; those that are not finite (a logarithm of a negative number) become NaN."""
        with np.errstate(all="ignore"):
            try:
                value = np.asarray(_value(self._tree, columns, self._aliases), dtype=np.float64)
            except (TypeError, ValueError, ArithmeticError) as problem:  # their messages could show a value
                raise ParameterError(
                    f"the term {self.text} cannot be evaluated: {type(problem).__name__}", hint=_HINT
                ) from None
        return np.where(np.isfinite(value), value, np.nan)


def quote(name: str) -> str:
    """Return the name of a column as written in an expression, in backticks if needed."""
    return name if name.isidentifier() and not iskeyword(name) else f"`{name}`"


def unquote(text: str) -> str:
    """Return a quoted name without its backticks, other text unchanged."""
    return text[1:-1] if re.fullmatch(r"`[^`]*`", text) else text


def parse_expression(text: str) -> Expression:
    """Return an expression parsed from text.

    Examples
    --------
    >>> growth = parse_expression("np.log1p(income) - `last year`")
    >>> growth.columns
    ('income', 'last year')
    >>> growth.evaluate({"income": np.array([0.0, -2.0]), "last year": np.array([1.0, 1.0])})
    array([-1., nan])
    >>> parse_expression("np.mean(income)")
    Traceback (most recent call last):
        ...
    versadp.errors.ParameterError: np.mean in the formula does not look at one record at a time
      hint: use arithmetic, comparisons, log, exp, abs, and numpy functions of one record: np.log1p, np.where, ...
    """
    if len(text) > MOST_TEXT:
        raise ParameterError(f"a term has more than {MOST_TEXT} characters", hint=_HINT)
    aliases = tuple(dict.fromkeys(_QUOTED.findall(text)))
    plain = _QUOTED.sub(lambda match: f"{_ALIAS}{aliases.index(match[1])}", text)
    try:
        tree = ast.parse(plain.strip(), mode="eval").body
        found: dict[str, None] = {}
        _check_size(tree)
        _check(tree, found)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        if isinstance(problem, ParameterError):
            raise
        raise ParameterError(f"the term {text} is not an expression", hint=_HINT) from None
    return Expression(text, tuple(dict.fromkeys(_unalias(name, aliases) for name in found)), tree, aliases)


def _check_size(tree: ast.expr) -> None:
    """Raise if evaluation could take too long; formulas also come from saved files."""
    powers = [node.right for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)]
    bare = (power.operand if isinstance(power, ast.UnaryOp) else power for power in powers)
    large = (power.value for power in bare if isinstance(power, ast.Constant))
    if any(isinstance(power, int | float) and abs(power) > MOST_POWER for power in large):
        raise ParameterError(f"a power in a formula is at most {MOST_POWER}", hint="np.exp grows faster")
    if sum(1 for _ in ast.walk(tree)) > MOST_PARTS:
        raise ParameterError(f"a term has more than {MOST_PARTS} parts", hint="write it as several terms")


def _check(node: ast.expr, found: dict[str, None]) -> None:
    """Raise for anything but arithmetic of the columns of one record; add the columns to `found`."""
    column = node.id if isinstance(node, ast.Name) else _with_text(node)
    if column is not None:
        found[column] = None
        return
    if isinstance(node, ast.Call):
        _check_call(node)
    for part in _parts(node):
        _check(part, found)


def _parts(node: ast.expr) -> list[ast.expr]:
    """Return the operands of arithmetic, or the arguments of a call; raise for anything else."""
    match node:
        case ast.Call(args=arguments):
            return arguments
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _OPERATORS:
            return [operand]
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return [left, right]
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in _OPERATORS:
            return [left, right]
        case ast.Constant(value=bool() | int() | float()):
            return []
    if _numpy_name(node) not in _CONSTANTS:
        raise ParameterError(f"a formula cannot hold a {_words(node)}", hint=_HINT)
    return []


def _check_call(node: ast.Call) -> None:
    """Raise for arguments that a function of one record does not take."""
    if _name_of(node.func) == "bs":
        raise ParameterError("bs() stands on its own in a term", hint="e.g. y ~ bs(age, knots=(30, 50)) + region")
    if _name_of(node.func) == "spline" and not node.keywords:
        _check_spline(node.args)
        return
    if node.keywords or len(node.args) != _arity(_function(node.func)):  # one more would be written to
        raise ParameterError(f"{ast.unparse(node.func)} takes plain arguments in a formula", hint=_HINT)
    if _name_of(node.func) == "missing" and not isinstance(node.args[0], ast.Name):
        raise ParameterError("missing() in a formula takes one column", hint="e.g. I(missing(region))")


def _check_spline(arguments: list[ast.expr]) -> None:
    """Raise for anything but a function of a B-spline basis, as `bs()` writes it: formulas also come from files."""
    column, *rest = arguments or [ast.Constant(0)]
    numbers: list[Any] = [each.value if isinstance(each, ast.Constant) else _signed(each) for each in rest]
    if not isinstance(column, ast.Name) or len(numbers) < 4 or not all(isinstance(x, int | float) for x in numbers):
        raise ParameterError("spline() takes a column and numbers", hint=_SPLINES)
    number, degree, *ends = numbers
    lower, upper, *knots = ends
    whole = isinstance(number, int) and isinstance(degree, int) and 1 <= degree <= MOST_POWER
    if not whole or not 0 <= number <= degree + len(knots) or not lower < upper:
        raise ParameterError("spline() takes a column and numbers", hint=_SPLINES)
    if sorted(knots) != knots or not all(lower < knot < upper for knot in knots):
        raise ParameterError("knots must rise between the bounds", hint=_SPLINES)


def _signed(node: ast.expr) -> Any:
    """Return the number of `-3`, None for other nodes."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
    return None


def _arity(function: Callable[..., Any]) -> int:
    """Return the number of arguments of a function in a formula: those that it reads."""
    return function.nin if isinstance(function, np.ufunc) else _ARITY.get(function, 1)


def _with_text(node: ast.AST) -> str | None:
    """Return the name in `name == "text"` or `name != "text"`, None for other nodes."""
    match node:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant(value=str())]):
            return name
    return None


def _function(node: ast.expr) -> Callable[..., Any]:
    """Return the function of one record that a call names, or raise."""
    name, of_numpy = _name_of(node), _numpy_name(node)
    if name in LEARNING:
        raise ParameterError(
            f"{name}() learns from the data, so that it differs between noisy and true records",
            hint="scale by constants that you choose, e.g. I((age - 50) / 10) or I(age ** 2); "
            "declare the knots of splines: bs(age, knots=(30, 50))",
        )
    if name == "C":
        raise ParameterError("C() stands on its own in a term", hint="e.g. y ~ age + C(region), or age:C(region)")
    if name in _SHORT:
        return _SHORT[name]
    if of_numpy in _PLAIN:
        return _PLAIN[of_numpy]
    ufunc = getattr(np, of_numpy, None) if of_numpy else None
    if isinstance(ufunc, np.ufunc) and ufunc.nout == 1 and ufunc.signature is None:
        return ufunc
    what = ast.unparse(node) if name or of_numpy else "a call"
    raise ParameterError(f"{what} in the formula does not look at one record at a time", hint=_HINT)


def _value(node: ast.expr, columns: Mapping[str, Array], aliases: tuple[str, ...]) -> Any:
    match node:
        case ast.Name():
            return columns[_unalias(node.id, aliases)]
        case ast.Constant(value=str()):
            return node.value
        case ast.Constant():
            return np.float64(node.value)  # type: ignore[arg-type] # a float overflows where 9**9**9 would never end
        case ast.UnaryOp() | ast.BinOp():
            function = _OPERATORS[type(node.op)]
        case ast.Compare():
            function = _OPERATORS[type(node.ops[0])]
        case ast.Call():
            function = _function(node.func)
        case _:
            return _CONSTANTS[_numpy_name(node)]
    return function(*(_value(part, columns, aliases) for part in _parts(node)))


def _degree(node: ast.expr, columns: set[str], aliases: tuple[str, ...]) -> int | None:
    if not any(isinstance(part, ast.Name) and _unalias(part.id, aliases) in columns for part in ast.walk(node)):
        return 0
    found: int | None = None
    match node:
        case ast.Name():
            found = 1
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner) | ast.Call(func=ast.Name(id="I"), args=[inner]):
            found = _degree(inner, columns, aliases)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))) if power >= 0:
            below = _degree(left, columns, aliases)
            found = None if below is None else power * below
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as sign, right=right):
            one, other = _degree(left, columns, aliases), _degree(right, columns, aliases)
            if one is not None and other is not None and not (isinstance(sign, ast.Div) and other):
                found = max(one, other) if isinstance(sign, ast.Add | ast.Sub) else one + other
    return found


def _without_identity(tree: ast.expr) -> ast.expr:
    while isinstance(tree, ast.Call) and _name_of(tree.func) == "I":
        tree = tree.args[0]
    return tree


def _name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _numpy_name(node: ast.expr) -> str:
    """Return f of `np.f`, the empty text for other nodes."""
    return node.attr if isinstance(node, ast.Attribute) and _name_of(node.value) == "np" else ""


def _unalias(name: str, aliases: tuple[str, ...]) -> str:
    number = name.removeprefix(_ALIAS)
    return aliases[int(number)] if number != name and number.isdigit() and int(number) < len(aliases) else name


def _words(node: ast.expr) -> str:
    if isinstance(node, ast.Compare | ast.BoolOp | ast.IfExp):
        return "condition like this (write (a > 1) & (b > 2), or np.where)"
    return {"Constant": "text", "Attribute": "method or attribute"}.get(
        type(node).__name__, type(node).__name__.lower()
    )
