"""A loss written in terms that noise can be undone in: powers and waves of an index.

    loss(u, y) = linear u + (quadratic/2) u² + cross y u
                 + Re Σ_m weight_m e^{i m base (u + along y)} + Re Σ_m odd_m e^{i (m base u + π y/2)}

up to what does not depend on u. Squared loss is such a sum (quadratic 1), and so is Poisson loss (base -i, for a real
exponential). Others are near one on the interval where their argument lies:

    natural     A(u) - y u       cross = -1
    residual    rho(u - y)       cross = -quadratic, along = -1
    margin      f(y u), y = ±1   the even part of f is one of u, and the odd one y times one: e^{i π y/2} = i y

A response is undone like any other column: nobody asks whether it is public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

QUARTER = math.pi / 2  # the frequency at which a response of ±1 turns a cosine into a sine


@dataclass(frozen=True)
class Expansion:
    """Coefficients of powers and waves.

    Attributes
    ----------
    linear, quadratic, cross : float
    base : complex
        The lowest frequency; the others are its multiples.
    weights : tuple of complex
        Of each wave.
    along : float
        So many times its frequency in the index is a wave's in the response.
    odd : tuple of complex
        Of waves that turn with the sign of the response.
    interval : tuple of float
        Where the argument may lie.
    aside : tuple of complex
        Of a loss with a scale: the scale's score, a constant and waves at the same frequencies.
    blur, shift : float
        Of a series of a loss with kinks: densities of its argument are taken to be as smooth as a normal one with the
        standard deviation `blur`, and then it shifts estimates by `shift` standard errors at most.
    held : tuple of float
        Where a public response is taken to be: beyond, the loss is straight and it makes no difference.

    Examples
    --------
    >>> Expansion(quadratic=1.0).weights
    ()
    """

    linear: float = 0.0
    quadratic: float = 0.0
    base: complex = 0.0
    weights: tuple[complex, ...] = ()
    interval: tuple[float, float] = (-math.inf, math.inf)
    cross: float = -1.0
    along: float = 0.0
    odd: tuple[complex, ...] = ()
    aside: tuple[complex, ...] = ()
    blur: float = 0.0
    shift: float = 0.0
    held: tuple[float, float] = (-math.inf, math.inf)

    @property
    def is_quadratic(self) -> bool:
        """True if there are powers alone: then the score is linear in the coefficients."""
        return not (self.weights or self.odd or self.aside)
