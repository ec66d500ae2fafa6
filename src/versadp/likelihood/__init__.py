"""Likelihood of released records with a free law of the noisy columns: support, mixture, profile sets, histograms."""

from versadp.likelihood.mixture import Mixed, Sums, maximise, score_test
from versadp.likelihood.profile import LikelihoodSet, likelihood_set, maximum_without
from versadp.likelihood.semiparametric import Likelihood, Lot, total

__all__ = [
    "Likelihood",
    "LikelihoodSet",
    "Lot",
    "Mixed",
    "Sums",
    "likelihood_set",
    "maximise",
    "maximum_without",
    "score_test",
    "total",
]
