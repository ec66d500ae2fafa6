"""Solving corrected equations: families of members, Newton with named outcomes, the efficient combination."""

from versadp.estimation.efficient import efficient
from versadp.estimation.family import Family, Moments, Source
from versadp.estimation.newton import Fit, solve
from versadp.estimation.start import bandwidth, start

__all__ = ["Family", "Fit", "Moments", "Source", "bandwidth", "efficient", "solve", "start"]
