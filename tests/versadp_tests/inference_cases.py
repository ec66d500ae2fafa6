"""Results that the tests of inference share."""

import numpy as np

from versadp.inference import Results, Terms

NAMES = ("Intercept", "age", "np.log1p(income)")
HEADER = {
    "mechanism": "2 numeric columns",
    "privacy unit": "record",
    "epsilon": "4",
    "delta": "0.06",
    "delta floor": "0.05",
}
TERMS = Terms(NAMES, ((), ("age",), ("np.log1p(income)",)))


def make(**changes):
    root = np.array([[0.3, 0.0, 0.0], [0.1, 0.2, 0.0], [-0.05, 0.1, 0.15]])
    arguments = {
        "params": [0.1, -1 / 3, 2.5],
        "cov": root @ root.T,
        "names": NAMES,
        "outcome": "converged",
        "nobs": 1000,
        "loss": "logistic",
        "method": "efficient",
        "formula": "y ~ age + np.log1p(income)",
        "header": HEADER,
        "effective_n": 321.5,
        "weights": {"zero": 0.75, "clip": 0.25},
        "predict_link": "logistic",
        "design": TERMS,
    }
    return Results(**(arguments | changes))
