"""Solving corrected equations: families of members, Newton with named outcomes, the efficient combination."""

from versadp.estimation.efficient import efficient, last_steps
from versadp.estimation.family import Family, Form, Moments, Source
from versadp.estimation.newton import Fit, SolveResult, solve
from versadp.estimation.outcome import Outcome
from versadp.estimation.start import bandwidths, descend, influence_scale, start

__all__ = [
    "Family",
    "Fit",
    "Form",
    "Moments",
    "Outcome",
    "SolveResult",
    "Source",
    "bandwidths",
    "descend",
    "efficient",
    "influence_scale",
    "last_steps",
    "solve",
    "start",
]
