"""Privatise once, learn anything.

A provider adds noise to every record once; from then on any number of analysts fit any model to the released file and
get consistent estimates. Names are loaded when they are first used, so that importing versadp is fast.

Examples
--------
>>> import versadp as vdp
>>> schema = vdp.Schema({"age": vdp.Bounded(18, 90)})
>>> vdp.Mechanism(schema, scale=0.25, exact_rate=0.2)
<Mechanism: 1 numeric, 0 categorical columns, scale=0.25, exact_rate=0.2>
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from versadp import devices, engine, errors, losses, noise, privacy
    from versadp.auditing.audit import audit
    from versadp.describing.describe import describe
    from versadp.fitting.bootstrap import bootstrap
    from versadp.fitting.example import example
    from versadp.fitting.fit import fit
    from versadp.fitting.update import update
    from versadp.inference import Results, summary_col
    from versadp.learners.estimators import (
        HuberRegressor,
        LinearRegression,
        LinearSVC,
        LogisticRegression,
        MEstimator,
        PoissonRegressor,
        QuantileRegressor,
    )
    from versadp.learners.scaler import Scaler
    from versadp.learners.scoring import corrected_score, corrected_scorer
    from versadp.noise.words import fresh_key
    from versadp.people.people import People
    from versadp.planning.plan import plan
    from versadp.planning.rehearsal import rehearse
    from versadp.release.files.append import append_file
    from versadp.release.files.draft import draft_schema
    from versadp.release.files.finalize import finalize
    from versadp.release.files.queries import sql
    from versadp.release.files.release import release_file
    from versadp.release.files.sign import sign
    from versadp.release.folder.metadata import Metadata
    from versadp.release.mechanism import Mechanism
    from versadp.release.release import Release, load
    from versadp.release.target.calibrate import calibrate
    from versadp.reporting.dossier import dossier
    from versadp.reporting.planner import planner
    from versadp.reporting.report import report
    from versadp.schema import Bounded, Categorical, Dates, Omitted, Public, Schema
    from versadp.tabulating.table import table

_HOME = {
    "Bounded": "versadp.schema",
    "Categorical": "versadp.schema",
    "Dates": "versadp.schema",
    "Omitted": "versadp.schema",
    "Public": "versadp.schema",
    "Schema": "versadp.schema",
    "Mechanism": "versadp.release.mechanism",
    "Metadata": "versadp.release.folder.metadata",
    "People": "versadp.people.people",
    "Results": "versadp.inference",
    "HuberRegressor": "versadp.learners.estimators",
    "LinearRegression": "versadp.learners.estimators",
    "LinearSVC": "versadp.learners.estimators",
    "LogisticRegression": "versadp.learners.estimators",
    "MEstimator": "versadp.learners.estimators",
    "PoissonRegressor": "versadp.learners.estimators",
    "QuantileRegressor": "versadp.learners.estimators",
    "Scaler": "versadp.learners.scaler",
    "corrected_score": "versadp.learners.scoring",
    "corrected_scorer": "versadp.learners.scoring",
    "append_file": "versadp.release.files.append",
    "audit": "versadp.auditing.audit",
    "bootstrap": "versadp.fitting.bootstrap",
    "calibrate": "versadp.release.target.calibrate",
    "describe": "versadp.describing.describe",
    "Release": "versadp.release.release",
    "load": "versadp.release.release",
    "plan": "versadp.planning.plan",
    "planner": "versadp.reporting.planner",
    "rehearse": "versadp.planning.rehearsal",
    "release_file": "versadp.release.files.release",
    "report": "versadp.reporting.report",
    "dossier": "versadp.reporting.dossier",
    "draft_schema": "versadp.release.files.draft",
    "example": "versadp.fitting.example",
    "finalize": "versadp.release.files.finalize",
    "fit": "versadp.fitting.fit",
    "fit_bounds": "versadp.planning.bounds",
    "fresh_key": "versadp.noise.words",
    "sign": "versadp.release.files.sign",
    "sql": "versadp.release.files.queries",
    "summary_col": "versadp.inference",
    "table": "versadp.tabulating.table",
    "update": "versadp.fitting.update",
}
_ROOMS = ("devices", "engine", "errors", "losses", "noise", "privacy")

__all__ = [
    "Bounded",
    "Categorical",
    "Dates",
    "HuberRegressor",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "MEstimator",
    "Mechanism",
    "Metadata",
    "Omitted",
    "People",
    "PoissonRegressor",
    "Public",
    "QuantileRegressor",
    "Release",
    "Results",
    "Scaler",
    "Schema",
    "append_file",
    "audit",
    "bootstrap",
    "calibrate",
    "corrected_score",
    "corrected_scorer",
    "describe",
    "devices",
    "dossier",
    "draft_schema",
    "engine",
    "errors",
    "example",
    "finalize",
    "fit",
    "fit_bounds",
    "fresh_key",
    "load",
    "losses",
    "noise",
    "plan",
    "planner",
    "privacy",
    "rehearse",
    "release_file",
    "report",
    "sign",
    "sql",
    "summary_col",
    "table",
    "update",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used (PEP 562)."""
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"versadp.{name}")
    else:
        from versadp.errors import near

        refused = importlib.import_module("versadp.learners.unavailable").unavailable_learner(name)
        raise refused or AttributeError(f"versadp has no {name!r}: {near(name, __all__)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
