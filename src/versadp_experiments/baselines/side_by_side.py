"""All methods side by side: each on its task, at the same unit, neighbours and epsilon; ours on the same task.

Delta is 1e-6 where a method needs one. Errors are root mean squares over coefficients (over points, for densities) and
replications, beside those of the same task without privacy; "covered" is how often an interval of 95% holds the
truth, for methods that have one. Our releases hold all columns of the task and serve any number of other tasks:
"windows" as on a device, pure epsilon; "windows, shuffled" as from a server, (epsilon, 1e-6).

Each replication of a task is one line of a store, so that a run can be killed and continued. Some of our fits take many
seconds (`SLOW`: weak ones, and kinks); they are made in a twentieth of the replications.
"""

from __future__ import annotations

import math
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import versadp as vdp
from versadp.display.progress import bar
from versadp.errors import EstimationError, MissingExtraError
from versadp_experiments.baselines import tasks
from versadp_experiments.baselines.tasks import DELTA, EPSILONS, TASKS, Answer, Task, budget_of
from versadp_experiments.store import Store

if TYPE_CHECKING:
    from versadp_experiments.baselines import Method, Sample

Row = dict[str, Any]
KINDS = ("windows", "windows, shuffled")
SLOW = {("linear", "windows", 1.0), ("logistic", "windows", 1.0)} | {
    ("median regression", kind, epsilon) for kind in KINDS for epsilon in EPSILONS
}


def slow_of(reps: int) -> int:
    """Return in how many replications slow fits are made.

    Examples
    --------
    >>> slow_of(10), slow_of(60)
    (1, 3)
    """
    return max(1, reps // 20)


@lru_cache(maxsize=32)
def mechanism(name: str, kind: str, epsilon: float, columns: int) -> vdp.Mechanism:
    """Return the noise of our release of a task's columns."""
    schema: dict[str, Any] = {f"x{j}": vdp.Bounded(-1, 1) for j in range(columns)}
    if TASKS[name].response is not None:
        schema["y"] = TASKS[name].response
    how: dict[str, Any] = {"delta": DELTA, "shuffled": tasks.RECORDS} if kind.endswith("shuffled") else {}
    return vdp.calibrate(vdp.Schema(schema), epsilon=epsilon, **how)


def ours(name: str, kind: str, epsilon: float, sample: Sample, tag: object) -> Answer:
    """Return what is found from one release; nan where the fit has no answer."""
    task, table = TASKS[name], {f"x{j}": column for j, column in enumerate(sample.x.T)}
    if task.response is not None:
        table["y"] = sample.y.astype(int) if isinstance(task.response, vdp.Categorical) else sample.y
    key = sha256(repr((tag, name, kind, epsilon)).encode()).digest()
    release = mechanism(name, kind, epsilon, sample.x.shape[1]).release(pa.table(table), key=key)
    try:
        return task.ours(release)
    except EstimationError:
        return Answer(np.full(len(task.truth), np.nan))


def theirs(task: Task, method: Method, epsilon: float, sample: Sample, seed: list[int]) -> Answer:
    """Return what a baseline finds, with intervals if it has standard errors."""
    found = method.fit(sample, budget_of(method, epsilon), np.random.default_rng(seed))
    values = found.values[-len(task.truth) :]
    if found.errors is None:
        return Answer(values)
    reach = 1.959964 * found.errors[-len(task.truth) :]
    return Answer(values, values - reach, values + reach)


def replicate(name: str, rep: int, seed: int, *, slow: bool) -> dict[str, Any]:
    """Return what one replication of a task found: a pure function of its arguments."""
    task = TASKS[name]
    sample = task.draw(np.random.default_rng([seed, rep]))
    found: dict[str, Any] = {"no privacy": _kept(task, Answer(task.plain(sample)))}
    late: dict[str, Any] = {}
    for epsilon in EPSILONS:
        for method in task.methods:
            try:
                answer = theirs(task, method, epsilon, sample, [seed, rep, 5])
            except MissingExtraError:
                continue
            found[f"{method.name}|{epsilon:g}"] = _kept(task, answer)
        for kind in KINDS:
            takes_long = (name, kind, epsilon) in SLOW
            if slow or not takes_long:
                where = late if takes_long else found
                where[f"versadp, {kind}|{epsilon:g}"] = _kept(task, ours(name, kind, epsilon, sample, (seed, rep)))
    line = {"n": tasks.RECORDS, "block": list(TASKS).index(name), "rep": rep, "paper": found}
    return line | ({"ours": late} if slow else {})


def _kept(task: Task, answer: Answer) -> dict[str, Any]:
    """Return the mean square error of an answer, and the share of its intervals that hold the truth."""
    square = float(np.mean((answer.values - task.truth) ** 2))
    if answer.low is None or answer.high is None or not np.isfinite(square):
        return {"square": square, "covered": None}
    inside = (answer.low <= task.truth) & (task.truth <= answer.high)
    return {"square": square, "covered": float(inside.mean())}


def run(reps: int, seed: int, out: str | None = None) -> Store:
    """Run what is not yet there, one line a replication of a task, and return all."""
    path = None if out is None else Path(out) / f"baselines-{tasks.RECORDS}-{seed}.jsonl"
    store = Store(path, {"table": "baselines", "seed": seed, "format": 1})
    late = slow_of(reps)
    left = [
        (name, rep)
        for rep in range(reps)
        for block, name in enumerate(TASKS)
        if not store.has(tasks.RECORDS, block, rep, with_ours=rep < late)
    ]
    with bar(f"baselines, {len(left)} replications") as tell:
        for k, (name, rep) in enumerate(left):
            store.add([replicate(name, rep, seed, slow=rep < late)])
            tell((k + 1) / len(left))
    return store


def tables(store: Store, reps: int) -> dict[str, list[Row]]:
    """Return one table a task: a row a method, errors at every epsilon."""
    out = {}
    for block, name in enumerate(TASKS):
        lines = [store.lines[tasks.RECORDS, block, rep] for rep in range(reps)]
        cells = [line["paper"] | line.get("ours", {}) for line in lines]
        raw = _summary([cell["no privacy"] for cell in cells])["error"]
        out[name] = [{"task": name, "no privacy": raw} | row for row in _rows(TASKS[name], cells)]
    return out


def _rows(task: Task, cells: list[dict[str, Any]]) -> list[Row]:
    known = {method.name: method for method in task.methods}
    out = []
    seen = {key.partition("|")[0] for cell in cells for key in cell}
    for name in (each for each in (*known, *(f"versadp, {kind}" for kind in KINDS)) if each in seen):
        method, shuffled = known.get(name), name.endswith("shuffled")
        delta = budget_of(method, 1.0).delta if method else DELTA * shuffled
        row: Row = {"method": name, "where": method.where if method else ("server" if shuffled else "device")}
        row |= {"delta": delta, "serves more": "yes" if method is None or method.reusable else "no"}
        for epsilon in EPSILONS:
            key = f"{name}|{epsilon:g}"
            found = _summary([cell[key] for cell in cells if key in cell])
            row |= {f"{label} at {epsilon:g}": value for label, value in found.items()}
        out.append(row)
    return out


def _summary(found: list[dict[str, Any]]) -> dict[str, float | int | None]:
    """Return the error, its relative Monte Carlo error, shares of answers and of intervals that hold, and the count."""
    square = np.array([each["square"] for each in found], dtype=float)
    told = np.isfinite(square)
    covered = [each["covered"] for each in found if each["covered"] is not None]
    if not told.any():
        return {"error": None, "+-": None, "answered": 0.0, "covered": None, "reps": len(found)}
    mean = float(square[told].mean())
    wobble = float(square[told].std() / (2 * mean * math.sqrt(told.sum()))) if told.sum() > 1 else None
    return {
        "error": math.sqrt(mean),
        "+-": wobble,
        "answered": float(told.mean()),
        "covered": float(np.mean(covered)) if covered else None,
        "reps": len(found),
    }
