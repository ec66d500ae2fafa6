"""`planner`: what every level of privacy would mean for a schema, on one page with sliders.

Each stop of the sliders is a mechanism that `calibrate` gives, with its exact curve; nothing is interpolated. The
precision beside it is that of plain corrections (`noise/cost.py`), for values spread evenly over their range:

    width of the 95% interval of a mean = 2 · 1.96 · cost · (upper - lower)/√12 / √records

and of a level's share the same with √(p (1 - p)), p one over the number of levels. Beside them stand the coefficients
of a model (`coefficients.py`).
"""

from __future__ import annotations

import base64
import hashlib
import json
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.errors import DeltaWarning, InfeasibleError, ParameterError
from versadp.noise.cost import EVEN
from versadp.release.target.calibrate import calibrate
from versadp.release.target.candidate import Candidate
from versadp.release.target.person import units_of
from versadp.release.target.statement import unit_words
from versadp.reporting.coefficients import RECORDS as RECORDS_OF_A_MODEL
from versadp.reporting.coefficients import Coefficients, some_model
from versadp.reporting.guarantee import found
from versadp.reporting.noise import declared
from versadp.reporting.page import Page, asset, checked, environment, render
from versadp.reporting.stops import RECORDS, WAYS, Way, key, stops_of
from versadp.schema import Bounded, Categorical, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from versadp.privacy import PrivacyProfile
    from versadp.release.mechanism import Mechanism

NORMAL = 1.959964
ALPHAS = (
    *(0.0, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.125, 0.15),
    *(round(0.2 + 0.05 * k, 2) for k in range(17)),
)


def planner(
    schema: Schema,
    path: str | Path | None = None,
    *,
    formula: str | None = None,
    loss: Any = "squared",
    assume: Mapping[str, Any] | str | Path | None = None,
    records: Sequence[int] = RECORDS,
    ways: Sequence[Way] = WAYS,
    progress: Callable[[float], None] | None = None,
) -> Page:
    """Return a page with sliders: how noise, guarantee and the widths of intervals move together.

    It is one file of HTML that needs no network and no server. Nothing is read off data. Needs the extra
    `versadp[report]`.

    Parameters
    ----------
    schema : Schema
    path : str or Path, optional
        File to write.
    formula : str, optional
        A model whose intervals are shown, such as `"y ~ age + income"`; by default one of the first columns.
    loss, assume
        Of the model, as in `plan`; what is left open of its people is filled by rules, which stand on the page.
    records : sequence of int
        The stops of the slider for the number of records; the page opens at the middle one.
    ways : sequence of Way
        Which noise, with its epsilons and deltas.
    progress : callable, optional
        Is told the share that is done.

    Returns
    -------
    Page

    Examples
    --------
    >>> import versadp as vdp
    >>> page = vdp.planner(vdp.Schema({"age": vdp.Bounded(18, 90)}), ways=WAYS[:1])  # one way, to be quick
    >>> "Planning a private release" in page.html
    True
    """
    if not isinstance(schema, Schema):
        raise ParameterError("a planner needs a Schema", hint='e.g. Schema({"age": Bounded(18, 90)})')
    environment()  # what is not installed, or cannot be written, is said before the work
    if path is not None:
        checked(path)
    counts = [inputs.whole("records", count, 2) for count in records]
    model = some_model(schema) if formula is None else Coefficients(schema, formula, loss, assume)
    script = asset("planner.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = render(
        "planner.html",
        data=_for_script(_data(schema, counts, ways, model, progress)),
        script=script,
        digest=digest,
        ways=ways,
        units=list(unit_words(schema).items()),
        model=None if model is None else model.facts,
        columns=[{"name": name, "declared": declared(column)} for name, column in schema.columns.items()],
    )
    if path is not None:
        page.save(path)
    return page


def _data(
    schema: Schema,
    records: list[int],
    ways: Sequence[Way],
    model: Coefficients | None,
    progress: Callable[[float], None] | None,
) -> dict[str, Any]:
    """Return all that the page shows, as JSON holds it."""
    stops = [(way, *stop) for way in ways for stop in stops_of(way, records, units_of(schema))]
    points = {}
    for done, (way, unit, epsilon, delta, count) in enumerate(stops):
        if progress is not None:
            progress(done / len(stops))
        points[key(way.name, unit, epsilon, delta, count)] = point(
            schema, way, unit=unit, epsilon=epsilon, delta=delta, count=count, model=model
        )
    return {
        "ways": [
            {
                "name": each.name,
                "words": each.words,
                "epsilons": each.epsilons,
                "deltas": each.deltas,
                "shuffled": each.shuffled,
            }
            for each in ways
        ],
        "records": records,
        "alphas": ALPHAS,
        "model": None if model is None else model.facts,
        "points": points,
    }


def point(
    schema: Schema,
    way: Way,
    *,
    unit: str,
    epsilon: float,
    delta: float,
    count: int | None = None,
    model: Coefficients | None = None,
) -> dict[str, Any]:
    """Return what the page shows at one stop: the noise, the curve, and what a thousandth of precision costs.

    Widths are for one record; those of n records are smaller by √n.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeltaWarning)  # the page shows levels side by side, also those to avoid
            mechanism = calibrate(
                schema,
                epsilon=epsilon,
                delta=delta or None,
                unit=unit,
                noise=way.noise,
                shuffled=count if way.shuffled else None,
            )
    except (InfeasibleError, ParameterError) as refusal:
        return {"refused": str(refusal).splitlines()[0]}
    profile = mechanism.privacy(unit, shuffled=count if way.shuffled else None)
    return {
        **_curve(profile),
        "noise": {label: text for block in mechanism.blocks for label, text in block.facts(None).items()},
        "widths": widths(schema, mechanism),
        "coefficients": {} if model is None else model.widths(mechanism, count or RECORDS_OF_A_MODEL),
    }


@lru_cache(maxsize=64)  # windows protect a record as well as an attribute of it: every curve is asked for twice
def _curve(profile: PrivacyProfile) -> dict[str, Any]:
    beta = np.atleast_1d(profile.beta(list(ALPHAS)))
    return {"beta": [round(float(each), 4) for each in beta], "found": found(profile)}


def widths(schema: Schema, mechanism: Mechanism) -> dict[str, dict[str, float]]:
    """Return the width of the 95% interval of each column's mean, or of a level's share, from one record.

    Also by how much the noise multiplies it.

    Examples
    --------
    >>> from versadp import Bounded, Schema, calibrate
    >>> schema = Schema({"age": Bounded(18, 90)})
    >>> found = widths(schema, calibrate(schema, epsilon=8))["age"]
    >>> 1 < found["times"] < 1.1, round(found["width"] / found["times"], 1)
    (True, 81.5)
    """
    out = {}
    for name, costs in Candidate("", mechanism).costs().items():
        column = schema.columns[name]
        cost = costs.get("mean", costs.get("share"))
        if cost is None or not np.isfinite(cost):
            continue
        if isinstance(column, Bounded):
            raw = column.width * EVEN
        else:
            assert isinstance(column, Categorical)
            p = 1 / len(column.levels)
            raw = (p * (1 - p)) ** 0.5
        out[name] = {"width": float(f"{2 * NORMAL * cost * raw:.6g}"), "times": float(f"{cost:.6g}")}
    return out


def _for_script(data: dict[str, Any]) -> str:
    """Return JSON that can stand inside a script element whatever is in it."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
