"""Estimators with known coverage, for the harness that measures it.

Each answers with the truth, 0, plus a normal error that its random state decides, and an interval around it. They are
functions of a module, so that other processes find them.
"""

from types import SimpleNamespace

import numpy as np
from scipy.special import ndtri

from versadp.errors import EstimationError
from versadp.losses import Mean
from versadp_bench.coverage.covariates import Covariates
from versadp_bench.coverage.populations import Bare
from versadp_bench.coverage.regime import Regime, Scaled

REGIME = Regime("stub", Bare(Covariates("uniform", 1)), 40, Scaled(0.3, 0.1), loss=Mean("x0"))
HALF = float(ndtri(0.975))


def answer(options, *, factor=1.0, shift=0.0, outcome="converged", unbounded=0.0, pvalue=None):
    rng = np.random.default_rng([options["random_state"], 77])
    estimate, half = rng.standard_normal() + shift, factor * HALF
    ends = [estimate - half, np.inf if rng.random() < unbounded else estimate + half]
    found = SimpleNamespace(outcome=outcome, params=[estimate], bse=[1.0], conf_int=lambda: [ends])
    if pvalue is not None:
        found.specification_test = lambda: SimpleNamespace(pvalue=pvalue(rng))
    return found


def right(regime, release, options):
    return answer(options)


def narrow(regime, release, options):
    """Covers 79%."""
    return answer(options, factor=0.64)


def open_ended(regime, release, options):
    """Covers nearly always, since it often says that it does not know."""
    return answer(options, factor=2.0, unbounded=0.5, outcome="weak")


def biased(regime, release, options):
    """Covers 96% and is off by seven tenths of a standard error, with an interval that is wide enough for it."""
    return answer(options, factor=1.25, shift=0.7)


def refusing(regime, release, options):
    if np.random.default_rng(options["random_state"]).random() < 0.2:
        raise EstimationError("not today", hint="tomorrow")
    return answer(options)


def crashing(regime, release, options):
    if np.random.default_rng(options["random_state"]).random() < 0.2:
        raise ZeroDivisionError("a bug")
    return answer(options)


def tested(regime, release, options):
    return answer(options, pvalue=lambda rng: rng.random())


def over_tested(regime, release, options):
    """Rejects 20%."""
    return answer(options, pvalue=lambda rng: rng.random() / 4)
