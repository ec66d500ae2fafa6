"""Wald tests of linear constraints, in words or as a matrix: `age = 0, income = 2 * age` is R θ = q.

W = (R θ - q)' (R V R')⁻¹ (R θ - q)  →  χ² with rank(R) degrees of freedom   under R θ₀ = q

Names of coefficients are matched whole, longest first, so that `np.log1p(income)` and `age:income` need no quotes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import EstimationError, ParameterError
from versadp.inference.chi_square import WaldTest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from versadp.inputs import Array


def wald(params: Array, cov: Array, R: Array, q: Array) -> WaldTest:
    """Return the Wald test of R θ = q.

    Examples
    --------
    >>> wald(np.array([2.0, 0.0]), np.eye(2), np.array([[1.0, 0.0]]), np.array([0.0])).statistic
    4.0
    """
    # rows of length one: the rank must not depend on the units of the constraints
    scale = np.linalg.norm(R, axis=1)
    if not scale.all() or np.linalg.matrix_rank(R / scale[:, None]) < len(R):
        raise ParameterError("the constraints repeat or contradict each other", hint="give each constraint once")
    gap = (R @ params - q) / scale
    spread = (R / scale[:, None]) @ cov @ (R / scale[:, None]).T
    sd = np.sqrt(np.maximum(np.diag(spread), 0))
    if not sd.all():
        raise EstimationError("the variance of a constraint is 0", hint="test constraints on estimated coefficients")
    try:
        root = np.linalg.cholesky(spread / np.outer(sd, sd))
    except np.linalg.LinAlgError:
        raise EstimationError(
            "the covariance of the constraints is not positive definite", hint="test fewer constraints at a time"
        ) from None
    statistic = float(np.sum(np.linalg.solve(root, gap / sd) ** 2))
    return WaldTest.of(statistic, len(R))


_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_HINT = 'e.g. "age = 0, income = 0", "age = income" or "2 * age - income = 1"'


def read_constraints(R: ArrayLike | str | Sequence[str], q: ArrayLike, names: tuple[str, ...]) -> tuple[Array, Array]:
    """Return the matrix R and the vector q of R θ = q.

    Parameters
    ----------
    R : array_like or str or list of str
        A matrix with one column per coefficient, one row of it, a name, names, or constraints in words.
    q : array_like
        Right sides, added to those in words.
    names : tuple of str

    Examples
    --------
    >>> read_constraints("age = income, Intercept = 2", 0, ("Intercept", "age", "income"))
    (array([[ 0.,  1., -1.],
           [ 1.,  0.,  0.]]), array([0., 2.]))
    """
    if isinstance(R, str):
        return _from_words(R, q, names)
    if isinstance(R, list | tuple) and R and all(isinstance(part, str) for part in R):
        rows, right = zip(*(_from_words(str(part), 0.0, names) for part in R), strict=True)
        return np.vstack(rows), np.concatenate(right) + _right(q, sum(map(len, right)))
    matrix = _matrix(R, len(names))
    return matrix, _right(q, len(matrix))


def _matrix(R: ArrayLike, size: int) -> Array:
    try:
        matrix = np.atleast_2d(np.asarray(R, dtype=np.float64))
    except (TypeError, ValueError):
        raise ParameterError("R must be a matrix, a coefficient's name, or constraints in words", hint=_HINT) from None
    if matrix.ndim != 2 or matrix.shape[1] != size or not len(matrix) or not np.isfinite(matrix).all():
        raise ParameterError(f"R must be a finite matrix with {size} columns, one per coefficient", hint=_HINT)
    return matrix


def _right(q: ArrayLike, rows: int) -> Array:
    try:
        right = np.asarray(q, dtype=np.float64)
    except (TypeError, ValueError):
        right = np.array(np.nan)
    if right.shape not in {(), (1,), (rows,)} or not np.isfinite(right).all():
        raise ParameterError(f"q must be a finite number, or {rows} of them, one per constraint", hint=_HINT)
    return np.array(np.broadcast_to(right, rows))


def _from_words(text: str, q: ArrayLike, names: tuple[str, ...]) -> tuple[Array, Array]:
    if text.strip() in names:  # before splitting, since a name may contain commas and equals signs
        return _side(text, names)[0][None, :], _right(q, 1)
    rows, right = [], []
    # names are matched first, so that a comma inside np.where(a, b, c) does not separate constraints
    for constraint in _split(text, ",", names):
        sides = _split(constraint, "=", names)
        if len(sides) > 2 or not all(side.strip() for side in sides):
            raise ParameterError("a constraint has two sides", hint=_HINT)
        (left, shift), (other, constant) = _side(sides[0], names), _side(sides[1] if len(sides) == 2 else "0", names)
        rows.append(left - other)
        right.append(constant - shift)
    return np.array(rows), np.array(right) + _right(q, len(right))


def _pattern(names: tuple[str, ...]) -> str:
    """Return a pattern that matches any name, and no part of a longer word."""
    ordered = sorted(names, key=len, reverse=True)
    return "|".join(
        (r"(?<!\w)" if n[0].isalnum() else "") + re.escape(n) + r"(?!\w)" * n[-1].isalnum() for n in ordered
    )


def _split(text: str, mark: str, names: tuple[str, ...]) -> list[str]:
    parts = [""]
    for piece in re.findall(f"(?:{_pattern(names)})|.", text, flags=re.DOTALL):
        if piece == mark:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def _side(text: str, names: tuple[str, ...]) -> tuple[Array, float]:
    """Return the coefficients and the constant of one side, such as `2 * age - income / 3 + 1`."""
    row, constant, position = np.zeros(len(names)), 0.0, 0
    name = f"(?P<name>{_pattern(names)})"
    term = re.compile(
        rf"\s*(?P<sign>[+-])?\s*(?:(?:(?P<times>{_NUMBER})\s*\*\s*)?{name}(?:\s*(?P<op>[*/])\s*(?P<by>{_NUMBER}))?"
        rf"|(?P<number>{_NUMBER}))\s*"
    )
    while position < len(text):
        found = term.match(text, position)
        if found is None or (position and not found["sign"]):
            known = f"coefficients: {', '.join(names)}"
            raise ParameterError(f"cannot read the constraint {text.strip()!r}", hint=f"{_HINT}; {known}")
        sign = -1.0 if found["sign"] == "-" else 1.0
        if found["name"] is None:
            constant += sign * float(found["number"])
        else:
            by = float(found["by"] or 1)
            row[names.index(found["name"])] += (
                sign * float(found["times"] or 1) * (_inverse(by) if found["op"] == "/" else by)
            )
        position = found.end()
    return row, constant


def _inverse(number: float) -> float:
    if number == 0:
        raise ParameterError("a constraint divides by zero", hint=_HINT)
    return 1 / number
