"""Losses as sums of powers and waves of an index, from which noise is removed in closed form.

    loss(u, y) = linear u + (quadratic/2) u² + cross y u
                 + Re Σ_m weight_m e^{i m base (u + along y)} + Re Σ_m odd_m e^{i (m base u + π y/2)}

up to terms without u. Squared loss is such a sum (quadratic 1), and so is Poisson loss (base -i, for a real
exponential). Other losses are approximated by one on the interval of their argument:

    natural     A(u) - y u       cross = -1
    residual    rho(u - y)       cross = -quadratic, along = -1
    margin      f(y u), y = ±1   the even part of f is one of u, and the odd one y times one: e^{i π y/2} = i y

A response is corrected as any other column, private or public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

QUARTER = math.pi / 2  # frequency in radians per unit of a response of ±1, by e^{i π y/2} = i y


@dataclass(frozen=True)
class Expansion:
    """Coefficients of the powers and waves of a loss.

    Attributes
    ----------
    linear, quadratic, cross : float
    base : complex
        The lowest frequency; the others are its multiples.
    weights : tuple of complex
        One per wave.
    along : float
        Frequency of a wave in the response, in multiples of its frequency in the index.
    odd : tuple of complex
        Weights of the waves that change sign with the response.
    interval : tuple of float
        Range of the argument.
    aside : tuple of complex
        Of a loss with a scale: the score of the scale, a constant and waves at the same frequencies.
    shift : float
        Of a series: by how many standard errors it shifts estimates at most.
    blur : float
        Of a series of a loss with kinks: the density of its argument is taken to be as smooth as a normal one with this
        standard deviation.
    held : tuple of float
        Range to which a public response is clipped: beyond it the loss is linear.

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
        """True if there are only powers: the score is then linear in the coefficients."""
        return not (self.weights or self.odd or self.aside)

    @property
    def is_squares(self) -> bool:
        """True if the loss is half the square of the index less `y u`: least squares."""
        return self.is_quadratic and (self.quadratic, self.cross, self.linear) == (1.0, -1.0, 0.0)
