r"""Derivatives of a user's function of a vector, for all records at once: by JAX, or by central differences.

    f' = (f(t + h) - f(t - h))/(2h),      error  h²/6 times the third derivative, and by rounding 1e-16 |f|/h

With h = 6e-6 and quantities of order 1 both are about 1e-11. Coefficients of large columns are not of order 1: an
income of 1e5 times a step of 6e-6 is a step of 0.6 in the index. So a step is shortened where the second difference
`|f(t + h) - 2 f(t) + f(t - h)|` exceeds a thousandth of the first, `|f(t + h) - f(t - h)|`.

A function is taken to be written in JAX if it is an object of JAX (`jax.jit`), or if a name that it uses is. JAX is
never imported here before the user has imported it.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from versadp.inputs import Array

STEP = 6e-6  # relative to max(|theta|, 1): the cube root of the rounding error 2e-16, which balances both errors
MOST_BENT = 1e-3  # second over first difference from which a step is shortened; the relative error is about its square
AIMED_BEND = 1e-5  # the ratio at which a shortened step aims, so that one shortening is mostly enough: chosen


def differences(function: Callable[[Array], Array], theta: Array, steps: Array | None = None) -> Array:
    """Return derivatives of a vector function of theta by central differences, array (n, p).

    Parameters
    ----------
    function : callable
        From theta to (n,).
    theta : array (p,)
    steps : array (p,), optional
        Used without shortening; wide steps serve functions with kinks.

    Examples
    --------
    >>> found = differences(lambda t: np.exp(t[:1] * t[1]), np.array([1.0, 2.0]))
    >>> bool(np.abs(found / np.exp(2) - [[2.0, 1.0]]).max() < 1e-9)
    True
    """
    middle = None if steps is not None else function(theta)
    chosen = STEP * np.maximum(np.abs(theta), 1.0) if steps is None else steps
    return np.stack([_along(function, theta, j, h, middle) for j, h in enumerate(chosen)], axis=-1)


def _along(function: Callable[[Array], Array], theta: Array, j: int, h: float, middle: Array | None) -> Array:
    """Return one column of differences; a step is shortened if the value in the `middle` is given."""
    while True:
        e = np.zeros_like(theta)
        e[j] = h
        above, below = function(theta + e), function(theta - e)
        narrower = h if middle is None else h * _narrowing(above, middle, below)
        if narrower == h:
            return np.asarray((above - below) / (2 * h))
        h = narrower


def _narrowing(above: Array, middle: Array, below: Array) -> float:
    """Return the factor for a step: 1 if the function is linear over it up to `MOST_BENT`, or up to rounding."""
    slope, bend = float(np.abs(above - below).mean()), float(np.abs(above - 2 * middle + below).mean())
    if bend <= max(MOST_BENT * slope, 1e-12 * float(np.abs(middle).mean())):
        return 1.0
    return min(max(AIMED_BEND * slope / bend, 1e-3), 0.1)


def is_jax(function: Any) -> bool:
    """Return True if a function is written in JAX, without importing it.

    Examples
    --------
    >>> is_jax(lambda x, theta: np.abs(x[:, 0] - theta[0]))
    False
    """
    if "jax" not in sys.modules:  # the author of a function in JAX has imported it
        return False
    if type(function).__module__.partition(".")[0] in {"jax", "jaxlib"}:
        return True
    code = getattr(function, "__code__", None)
    spaces = getattr(function, "__globals__", {})
    cells = zip(getattr(code, "co_freevars", ()), getattr(function, "__closure__", None) or (), strict=False)
    inner = {name: cell.cell_contents for name, cell in cells}
    used = [inner.get(name, spaces.get(name)) for name in (*getattr(code, "co_names", ()), *inner)]
    homes = [
        getattr(each, "__name__", "") if hasattr(each, "__spec__") else getattr(each, "__module__", "") for each in used
    ]
    return any((home or "").partition(".")[0] in {"jax", "jaxlib"} for home in homes)


def jax_gradient(function: Callable[..., Any]) -> Callable[[Array, Array], Array]:
    """Return the compiled gradient in theta of `function(x, theta) -> (n,)` per record, in double precision."""
    import jax

    def one(row: Any, theta: Any) -> Any:
        return function(row[None], theta)[0]

    compiled = jax.jit(jax.vmap(jax.grad(one, argnums=1), in_axes=(0, None)))
    return lambda x, theta: _double(compiled, x, theta)


@lru_cache(maxsize=16)
def jax_laplacian(function: Callable[..., Any], unit: tuple[float, ...]) -> Callable[[Array, Array], Array]:
    """Return `sum_j unit_j² d²/dx_j²` of `function(x, theta) -> (n,)` per record, by forward over reverse mode."""
    import jax
    import jax.numpy as jnp

    def one(row: Any, theta: Any) -> Any:
        slope = jax.grad(lambda r: function(r[None], theta)[0])

        def along(direction: Any) -> Any:
            return jax.jvp(slope, (row,), (direction,))[1] @ direction

        return sum(along(each) for each in jnp.diag(jnp.asarray(unit)))

    compiled = jax.jit(jax.vmap(one, in_axes=(0, None)))
    return lambda x, theta: _double(compiled, x, theta)


def jax_value(function: Callable[..., Any]) -> Callable[[Array, Array], Array]:
    """Return the function in double precision."""
    return lambda x, theta: _double(function, x, theta)


def _double(function: Callable[..., Any], x: Array, theta: Array) -> Array:
    import jax

    with jax.enable_x64(True):  # JAX is single by default, and corrections multiply rounding by 1/exact_rate
        return np.asarray(function(x, theta), dtype=np.float64)
