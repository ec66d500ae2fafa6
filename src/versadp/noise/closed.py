"""Inverses in closed form: of products of columns, and of waves.

Some noise treats all records alike up to a shift: then what undoes it has the same few numbers for every record, and a
record's corrected products and waves are had without any points. With c the centre of a block and e = released - c,

    weight e                      has expectation x - c
    weight e e' + shift           has expectation (x - c)(x - c)'
    gain(t) e^{i t'e} + level(t)  has expectation e^{i t'(x - c)},    t real or complex

`weight` and `shift` are the derivatives of the last line at t = 0. Blocks have coins of their own, so across blocks the
inverses multiply; inside a block there is one coin and one weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Complex = NDArray[np.complex128]

EVEN = 1e-12  # relative: frequencies that are multiples of the first but for rounding


class Products(NamedTuple):
    """The inverse of a column and of a product of two: `weight e` and `weight e e' + shift`.

    Attributes
    ----------
    centre : array (columns,)
        c, in the columns' own units.
    weight : float
    shift : array (columns, columns)
        In the columns' own units.
    """

    centre: Array
    weight: float
    shift: Array


class Factor(NamedTuple):
    """A function of t for each of M frequencies, and its first two derivatives."""

    value: Complex  # (M,)
    first: Complex  # (M, columns)
    second: Complex  # (M, columns, columns)


class Waves(NamedTuple):
    """The inverse of a wave: `gain e^{i t'e} + level`."""

    gain: Factor
    level: Factor


def sinc(y: Complex) -> tuple[Complex, Complex, Complex]:
    """Return `sin(y)/y` and its first two derivatives, for real or complex y.

    Examples
    --------
    >>> [float(each.real.round(4)) for each in sinc(np.array(np.pi + 0j))]
    [0.0, -0.3183, 0.2026]
    """
    from versadp.noise.sinc_kernel import write_sinc  # compiled: whoever only releases need not load it

    out = np.empty((3, *y.shape), complex)
    write_sinc(np.ascontiguousarray(y, dtype=complex).ravel(), out.reshape(3, -1))
    return out[0], out[1], out[2]


def spread_ratio(t: Complex, above: Array, below: Array) -> tuple[Complex, Complex, Complex]:
    """Return `sinc(above t)/sinc(below t)` and its first two derivatives in t: of means of waves over two ranges.

    The mean of `e^{i t k h}` over n places k around 0, h apart, is `sinc(n h t/2)/sinc(h t/2)`.

    Examples
    --------
    >>> t, places = np.array([0.7 + 0j]), np.arange(5) - 2
    >>> value, first, _ = spread_ratio(t, np.array([2.5]), np.array([0.5]))
    >>> bool(np.isclose(value[0], np.exp(1j * t * places).mean()))
    True
    >>> bool(np.isclose(first[0], (1j * places * np.exp(1j * t * places)).mean()))
    True
    """
    up, down = sinc(above * t), sinc(below * t)
    value = up[0] / down[0]
    first = (above * up[1] - value * below * down[1]) / down[0]
    second = (above**2 * up[2] - 2 * first * below * down[1] - value * below**2 * down[2]) / down[0]
    return value, first, second


def product_of(factors: tuple[Complex, Complex, Complex], scale: float) -> Factor:
    """Return `scale Π_j f_j(t_j)` with its derivatives, from each f_j (M, columns) and its own.

    Examples
    --------
    >>> f = np.array([[2.0, 3.0]]), np.array([[1.0, 1.0]]), np.array([[0.0, 4.0]])
    >>> product_of(f, 10.0)
    Factor(value=array([60.]), first=array([[30., 20.]]), second=array([[[ 0., 10.],
            [10., 80.]]]))
    """
    value, first, second = factors
    size = value.shape[1]
    # times[m, j, l, q]: factor q, differentiated by t_j and by t_l
    times = np.broadcast_to(value[:, None, None], (len(value), size, size, size)).copy()
    every = np.arange(size)
    times[:, every, :, every] = first.T[:, :, None]
    times[:, :, every, every] = first[:, None, :]
    times[:, every, every, every] = second
    once = np.broadcast_to(value[:, None], (len(value), size, size)).copy()
    once[:, every, every] = first
    return Factor(scale * value.prod(axis=1), scale * once.prod(axis=2), scale * times.prod(axis=3))


def joined(*factors: Factor) -> Factor:
    """Return the product of factors of different columns.

    Examples
    --------
    >>> one = Factor(np.array([2.0]), np.array([[3.0]]), np.array([[[4.0]]]))
    >>> joined(one, one)
    Factor(value=array([4.]), first=array([[6., 6.]]), second=array([[[8., 9.],
            [9., 8.]]]))
    """
    whole, *others = factors
    for other in others:
        (v, f, s), (w, g, r) = whole, other
        first = np.concatenate([f * w[:, None], g * v[:, None]], axis=1)
        cross = f[:, :, None] * g[:, None, :]
        above = np.concatenate([s * w[:, None, None], cross], axis=2)
        below = np.concatenate([cross.swapaxes(1, 2), r * v[:, None, None]], axis=2)
        whole = Factor(v * w, first, np.concatenate([above, below], axis=1))
    return whole


def turning(phase: Array, tau: NDArray[Any]) -> NDArray[np.complex128]:
    """Return `e^{i tau phase}`, (phases, frequencies).

    Multiples of one frequency come by recurrence, with one sine and cosine per phase; rounding grows as their number,
    to 1e-14 at 64.

    Examples
    --------
    >>> phase, tau = np.linspace(-3, 3, 5), 0.7 * np.arange(1.0, 9.0)
    >>> bool(np.allclose(turning(phase, tau), np.exp(1j * np.outer(phase, tau)), rtol=0, atol=1e-14))
    True
    """
    if tau.size < 2 or np.abs(tau - tau[0] * np.arange(1, tau.size + 1)).max() > EVEN * abs(tau[0]):
        return np.asarray(np.exp(1j * np.multiply.outer(phase, tau)))
    out = np.empty((tau.size, phase.size), dtype=complex)
    out[0] = np.exp(1j * tau[0] * phase)
    for m in range(1, tau.size):
        np.multiply(out[m - 1], out[0], out=out[m])
    return out.T
