"""Parsing of formulas by formulaic: from text to the factors of each term, of a bounded number of terms.

The number of terms is bounded before they are multiplied out: `(a + b + c) ** 40` would never end. With A terms in a

    a + b: A + B     a:b: A B     a * b: A + B + A B     a / b: A + A B     a ** k: (1 + A)^k

is an upper bound, read off the syntax tree of Python; text that Python cannot parse is left to formulaic if it has no
power and few products.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from versadp.errors import ParameterError
from versadp.formula.expression import quote

MOST_TERMS = 1000  # of a formula: chosen; a covariance of so many coefficients takes 8 MB, and a fit minutes
EXAMPLE = 'e.g. "y ~ age + np.log1p(income)"'
_INTERACTIONS = "write out the interactions that you mean, e.g. a + b + a:b"


def check_terms(right: str) -> None:
    """Raise if the right side of a formula would have too many terms.

    Examples
    --------
    >>> check_terms("(age + income) ** 2 + C(region)")
    >>> check_terms("(age + income) ** 40")
    Traceback (most recent call last):
        ...
    versadp.errors.ParameterError: the formula would have more than 1000 terms
      hint: write out the interactions that you mean, e.g. a + b + a:b
    """
    if len(right) > 20 * MOST_TERMS or _terms(right) > MOST_TERMS:
        raise ParameterError(f"the formula would have more than {MOST_TERMS} terms", hint=_INTERACTIONS)


def _terms(right: str) -> float:
    # Python has no `:` and `^` with the precedence of formulas, and no quoted names
    text = re.sub(r"`[^`]*`", "quoted", right).replace("^", "**").replace("%in%", "@").replace(":", "@")
    try:
        return _count(ast.parse(f"({text})", mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return float("inf") if "**" in text else 2.0 ** len(re.findall(r"[*/@]", text)) * (1 + text.count("+"))


def _count(node: ast.expr) -> float:
    match node:
        case ast.UnaryOp(operand=inner):
            return _count(inner)
        case ast.BinOp(left=left, op=ast.Pow(), right=power):
            times = power.value if isinstance(power, ast.Constant) and isinstance(power.value, int) else 99
            return (1 + _count(left)) ** min(times, 99)
        case ast.BinOp(left=left, op=sign, right=right):
            one, other = _count(left), _count(right)
            if isinstance(sign, ast.Add | ast.Sub):
                return one + other
            return one * other if isinstance(sign, ast.MatMult) else one + other + one * other
    return 1.0


def parse_formula(formula: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return the factors of each term on the left and on the right side of a formula."""
    from formulaic import Formula
    from formulaic.errors import FormulaicError

    if not isinstance(formula, str) or not formula.strip():
        raise ParameterError("the formula must be text", hint=EXAMPLE)
    sides = split_at(formula, "~")
    if len(sides) != 2 or not sides[0].strip():
        raise ParameterError("the formula needs a left and a right side", hint=EXAMPLE)
    if not sides[1].strip():
        raise ParameterError("the right side of the formula is empty", hint='"y ~ 1" fits the intercept alone')
    _check_written(sides[1])
    check_terms(sides[1])
    try:
        parsed = Formula(formula)
        left, right = parsed.lhs, parsed.rhs
        if isinstance(left, tuple) or isinstance(right, tuple):
            raise ParameterError("a formula cannot have |", hint=EXAMPLE)
        terms = [_factors(term) for term in left], [_factors(term) for term in right]
    except (FormulaicError, AttributeError, SyntaxError, RecursionError) as problem:
        # only the first line is the message; the others repeat the formula with terminal colours
        words = str(problem).split("\n", 1)[0] if isinstance(problem, FormulaicError) else type(problem).__name__
        raise ParameterError(f"the formula cannot be read: {words}", hint=EXAMPLE) from None
    if not terms[1]:
        raise ParameterError("the right side of the formula is empty", hint='"y ~ 1" fits the intercept alone')
    return terms


def _factors(term: Any) -> tuple[str, ...]:
    """Return the factors of a term as expressions; the intercept has none."""
    factors = []
    for factor in term.factors:
        method = factor.eval_method.value
        factors.append(quote(factor.expr) if method == "lookup" else str(factor.expr))
    return () if factors == ["1"] else tuple(factors)


def split_at(text: str, mark: str) -> list[str]:
    """Return the parts of a text between marks outside brackets and quotes."""
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
    """Raise for terms that formulaic drops silently: a repeated term, and age ** 2, which it reads as age."""
    parts = ["".join(part.split()) for part in split_at(right, "+")]
    if "." in parts:
        raise ParameterError("the formula must name its columns", hint="write the columns out in place of the dot")
    if squares := [part for part in parts if re.fullmatch(r"(\w+|`[^`]*`)(:\1|(\*\*|\^)\d+)", part)]:
        raise ParameterError(f"{squares[0]} in a formula is not a power of a column", hint="a square is I(age ** 2)")
    if repeated := sorted({part for part in parts if part and parts.count(part) > 1}):
        raise ParameterError(f"the formula repeats {', '.join(repeated)}", hint="a square is I(age ** 2)")
