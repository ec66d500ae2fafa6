"""A loss written in terms that noise can be undone in: powers and waves of an index.

    loss(u, y) = linear u + (quadratic/2) u² + Re Σ_m weight_m e^{i m base u} - y u,    up to what does not depend on u

Squared loss is such a sum (quadratic 1), and so is Poisson loss (base -i, for a real exponential). Others are near one
on the interval where their index lies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Expansion:
    """Coefficients of powers and waves.

    Attributes
    ----------
    linear, quadratic : float
    base : complex
        The lowest frequency; the others are its multiples.
    weights : tuple of complex
        Of each wave.
    interval : tuple of float
        Where the index may lie.

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
