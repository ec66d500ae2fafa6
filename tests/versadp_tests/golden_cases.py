"""Mechanisms of version 1, people, and fits: what the golden files are about."""

import json

import numpy as np
import pandas as pd

import versadp as vdp

KEY = bytes(range(7, 39))
RECORD = {"age": 41, "income": 55_000.5, "region": "e", "member": True, "bought": 1}


def mechanism_text(columns, scale, exact_rate, keep, name=None):
    """A mechanism of version 1 as it stands in files."""
    schema = {} if name is None else {"id": name}
    schema["columns"] = [{"name": column, **entry} for column, entry in columns.items()]
    return json.dumps(
        {
            "format": "versadp mechanism",
            "version": 1,
            "schema": schema,
            "scale": scale,
            "exact_rate": exact_rate,
            "keep": keep,
        }
    )


def bounded(lower, upper):
    return {"type": "bounded", "lower": float(lower), "upper": float(upper)}


PUBLIC = {"type": "public"}
LEVELS = ["n", "e", "s", "w"]
PEOPLE = {
    "age": bounded(18, 90),
    "region": {"type": "categorical", "levels": LEVELS},
    "income": bounded(0, 5e5),
    "bought": PUBLIC,
    "member": {"type": "categorical", "levels": [False, True]},
}
NUMBERS = {"a": bounded(-1, 1), "b": bounded(-1, 1), "c": bounded(0, 10), "y": PUBLIC, "v": PUBLIC}
MECHANISMS = {
    "people": mechanism_text(PEOPLE, {"age": 0.25, "income": 0.5}, 0.2, {"region": 0.4, "member": 0.7}, "pid"),
    "anonymous": mechanism_text(PEOPLE, {"age": 0.25, "income": 0.5}, 0.2, {"region": 0.4, "member": 0.7}),
    "smooth": mechanism_text(NUMBERS, {"a": 0.5, "b": 0.5, "c": 0.25}, 0.0, {}),
    "numbers": mechanism_text(NUMBERS, {"a": 0.5, "b": 0.5, "c": 0.25}, 0.2, {}),
    "one": mechanism_text({"x": bounded(0, 1)}, {"x": 0.7}, 0.1, {}),
    "categories": mechanism_text(
        {"region": PEOPLE["region"], "member": PEOPLE["member"]}, {}, 0.0, {"region": 0.4, "member": 0.7}
    ),
}
LARGE = MECHANISMS["numbers"]
PRIVATE = ("a", "b", "c")


def people(n=3000):
    rng = np.random.default_rng(11)
    age = rng.integers(18, 91, n)
    return pd.DataFrame(
        {
            "age": age,
            "region": rng.choice(LEVELS, n, p=[0.4, 0.3, 0.2, 0.1]),
            "income": np.minimum(rng.lognormal(10.5, 0.6, n), 5e5),
            "bought": (rng.random(n) < 1 / (1 + np.exp(-(age - 50) / 15))).astype(int),
            "member": rng.random(n) < 0.3,
        }
    )


def numbers(n):
    rng = np.random.default_rng(12)
    a, b, c = rng.uniform(-1, 1, n), np.clip(rng.normal(0, 0.5, n), -1, 1), rng.uniform(0, 10, n)
    u = 0.4 + a - 0.8 * b + 0.1 * c
    y = (rng.random(n) < 1 / (1 + np.exp(-u))).astype(float)
    return pd.DataFrame({"a": a, "b": b, "c": c, "y": y, "v": u + rng.normal(0, 0.5, n)})


def large_people():
    """More than two batches of rows."""
    return numbers(150_000)


def table_of(mech):
    names = set(mech.schema.columns)
    if "age" in names:
        table = people()
        return table if mech.schema.id is None else table.assign(pid=np.arange(len(table)) + 1000)
    if "region" in names:
        return people()[["region", "member"]]
    if "x" in names:
        return pd.DataFrame({"x": np.random.default_rng(13).beta(2, 3, 2000)})
    return numbers(6000)


def release_of(mech):
    return mech.release(table_of(mech), key=KEY, shuffle=False)


def absolute(x, theta):
    return np.abs(x[:, 0] - theta[0])


def bowl(x, theta):
    return np.logaddexp(0, x[:, 0] * theta[0] + theta[1]) - x[:, 3] * (x[:, 0] * theta[0] + theta[1])


class Huber(vdp.losses.Huber):
    """As the first version had it: a corner in units of the response, and a start among the released records."""

    name = "huber"
    by_line = False

    def __init__(self, corner=1.345):
        super().__init__(corner, scale=1.0)


def _fit(where, formula=None, **options):
    return where, lambda release: vdp.fit(release, formula, engine="serial", **options)


_LINEAR = "v ~ a + b + c"
FITS = {
    f"{loss}, {method}": _fit(
        "numbers",
        _LINEAR if loss not in {"logistic", "hinge", "poisson"} else "y ~ a + b + c",
        loss=Huber() if loss == "huber" else loss,
        method=method,
    )
    for loss in ("squared", "logistic", "poisson", "check", "hinge", "huber")
    for method in ("efficient", "analytic", "drcl", "naive")
} | {
    "squared, sl": _fit("numbers", _LINEAR, method="sl"),
    "squared, sdrcl": _fit("numbers", _LINEAR, method="sdrcl"),
    "squared, sdrcl, damped": _fit("numbers", _LINEAR, method="sdrcl", extension="damped"),
    "squared, drcl, zero": _fit("numbers", _LINEAR, method="drcl", extension="zero", draws=5),
    "squared, drcl, clip": _fit("numbers", _LINEAR, method="drcl", extension="clip", draws=5),
    "squared, drcl, damped": _fit("numbers", _LINEAR, method="drcl", extension="damped", draws=5),
    "smooth, squared": _fit("smooth", _LINEAR),
    "smooth, logistic": _fit("smooth", "y ~ a + b + c", loss="logistic"),
    "smooth, logistic, analytic": _fit("smooth", "y ~ a + b", loss="logistic", method="analytic"),
    "without intercept": _fit("numbers", "v ~ 0 + a + b"),
    "functions": _fit("numbers", "v ~ a + np.exp(b) + a:c"),
    "only public": _fit("numbers", "v ~ y"),
    "public and noisy": _fit("numbers", "v ~ y + a + a:y"),
    "private response": _fit("numbers", "c ~ a + b"),
    "private response, check": _fit("numbers", "c ~ a + b", loss="check"),
    "private response, huber": _fit("numbers", "c ~ a + b", loss=Huber(2.0)),
    "quantile 0.3": _fit("numbers", _LINEAR, loss=vdp.losses.Check(0.3)),
    "mean": _fit("one", loss=vdp.losses.Mean("x")),
    "mean of a function": _fit("one", loss=vdp.losses.Mean(lambda x: (x[:, 0] > 0.5).astype(float))),
    "median": _fit("one", loss=vdp.losses.Quantile("x", 0.5)),
    "income": _fit("anonymous", loss=vdp.losses.Quantile("income", 0.5)),
    "bought": _fit("anonymous", "bought ~ age + np.sqrt(income)", loss="logistic"),
    "own": _fit("one", loss=absolute, start=[0.4]),
    "own with a public column": _fit("numbers", loss=bowl, start=[0.0, 0.0]),
    "weights": _fit("numbers", _LINEAR, weights=np.linspace(0.5, 1.5, 6000)),
    "large squared": _fit("large", _LINEAR),
    "large logistic": _fit("large", "y ~ a + b + c", loss="logistic"),
    "large median": _fit("large", _LINEAR, loss="check"),
}
# quantiles that version 1 found as roots of smoothed scores and that are had by inversion now; quantile regressions,
# whose start and bandwidth version 1 took from noisy records
# floors of delta that were higher, when every sampler's error was charged with e^epsilon
FLOORS = {
    "smooth": {"8.13e-07": "3.57e-08", "3.05e-07": "3.4e-09"},
    "numbers": {"below 0.201": "below 0.2"},
    "categories": {"7.09e-18": "3.26e-19", "7.08e-18": "3.25e-19", "1.02e-18": "2.17e-19", "1.01e-18": "2.17e-19"},
}

MOVED = (
    "median",
    "income",
    "check, efficient",
    "check, analytic",
    "check, drcl",
    "private response, check",
    "quantile 0.3",
    "large median",
    "large squared",  # later records get as many draws as their place among all of them asks for
    "large logistic",
)
# fits by draws: since a record's draws belong to its place (`correction/random.py`) they have been what
# `golden/drawn.json` says, which is what another seed would have made of them
DRAWN = (
    "squared, efficient",
    "squared, drcl",
    "logistic, efficient",
    "logistic, drcl",
    "poisson, efficient",
    "hinge, efficient",
    "hinge, drcl",
    "huber, efficient",
    "huber, drcl",
    "squared, sl",
    "squared, sdrcl, damped",
    "squared, drcl, zero",
    "squared, drcl, clip",
    "squared, drcl, damped",
    "without intercept",
    "functions",
    "public and noisy",
    "private response",
    "private response, huber",
    "mean",
    "mean of a function",
    "own",
    "own with a public column",
    "weights",
)
# fits whose curvature does not stand out from its sampling error: estimates of version 1 that could not be trusted, and
# one that had none. The analytic correction of a count stops short of B = 1, where its variance is infinite
WEAK = ("poisson, analytic", "poisson, drcl", "bought")
