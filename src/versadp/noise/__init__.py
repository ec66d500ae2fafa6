"""Noise: the channels that a release goes through, and their inverses.

Two channels, each "keep with some probability, otherwise draw noise": zero-inflated symmetric Laplace on the numeric
block, randomised response on each category. For researchers there are plain samplers and densities for arrays.
"""

from versadp.noise.distributions import SymmetricLaplace, ZeroInflatedSymmetricLaplace
from versadp.noise.extension import Box, Clip, Damped, Extension, Zero, as_extension
from versadp.noise.laplace import ZeroInflatedLaplace
from versadp.noise.response import RandomizedResponse

__all__ = [
    "Box",
    "Clip",
    "Damped",
    "Extension",
    "RandomizedResponse",
    "SymmetricLaplace",
    "Zero",
    "ZeroInflatedLaplace",
    "ZeroInflatedSymmetricLaplace",
    "as_extension",
]
