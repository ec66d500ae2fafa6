"""How many terms a formula has, at the most, before it is multiplied out: `(a + b + c) ** 40` would never end.

    a + b: A + B     a:b: A B     a * b: A + B + A B     a / b: A + A B     a ** k: (1 + A)^k

An upper bound, read off the tree that Python makes of the text; what Python cannot read is left to whoever reads
formulas if it has no power and few products.
"""

from __future__ import annotations

import ast
import re

from versadp.errors import ParameterError

MOST_TERMS = 1000
_HINT = "write out the interactions that you mean, e.g. a + b + a:b"


def check_terms(right: str) -> None:
    """Refuse the right side of a formula that would have too many terms.

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
        raise ParameterError(f"the formula would have more than {MOST_TERMS} terms", hint=_HINT)


def _terms(right: str) -> float:
    # `:` and `^` are no operators of Python of the same rank, and a quoted name is no name
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
