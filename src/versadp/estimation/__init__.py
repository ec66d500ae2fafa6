"""Solving corrected equations: families of members, Newton with named outcomes, the efficient combination."""

from versadp.estimation.combine import efficient, last_steps
from versadp.estimation.diagnostics import Diagnosis, Diagnostics, diagnose, sample_size_needed, score_sets
from versadp.estimation.distribution import Curve, Question, distribution, invert
from versadp.estimation.moments import Family, Moments, Source
from versadp.estimation.newton import Fit, SolveResult, solve, zero_of_line
from versadp.estimation.outcome import Outcome
from versadp.estimation.score_sets import ScoreSet
from versadp.estimation.start import bandwidths, descend, influence_scale, start

__all__ = [
    "Curve",
    "Diagnosis",
    "Diagnostics",
    "Family",
    "Fit",
    "Moments",
    "Outcome",
    "Question",
    "ScoreSet",
    "SolveResult",
    "Source",
    "bandwidths",
    "descend",
    "diagnose",
    "distribution",
    "efficient",
    "influence_scale",
    "invert",
    "last_steps",
    "sample_size_needed",
    "score_sets",
    "solve",
    "start",
    "zero_of_line",
]
