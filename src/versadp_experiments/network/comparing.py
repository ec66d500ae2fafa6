"""One replication of the network's comparison, and the table.

Error is the root mean square of `f_hat(x) - f(x)` over fresh true records where f is known; over `f_hat(x) - y` of
held-out true records in real data, where the spread of y itself is most of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import versadp as vdp
from versadp.display.progress import bar
from versadp_experiments.network.points import SOURCES, Points, mechanisms, plain, signed
from versadp_experiments.network.training import Care, bound_of, predict, train

ROWS, TEST = 16_000, 4_000
CARES = {
    "all of it": Care(),
    "without bounded outputs": Care(bounded=False),
    "without cut gradients": Care(cut=False),
    "without weight decay": Care(decay=0.0),
    "without early stopping": Care(stopping=False),
    "without any": Care(bounded=False, cut=False, decay=0.0, stopping=False),
}


def replicate(source: str, noise: str, rep: int, seed: int, *, rows: int = ROWS, epochs: int = 40) -> dict[str, float]:
    """Return the errors of all methods in one replication."""
    from hashlib import sha256

    rng = np.random.default_rng([seed, rep, len(source)])
    people = SOURCES[source](rows + TEST, rng)
    fresh, truth = people.x[rows:], (people.y if people.mean is None else people.mean)[rows:]
    mechanism = mechanisms()[noise]
    table = pa.table({"a": people.x[:rows, 0], "b": people.x[:rows, 1], "y": people.y[:rows]})
    release = mechanism.release(table, key=sha256(repr((seed, rep, source, noise)).encode()).digest())
    corrected, naive = signed(release, rep)
    bound = bound_of(people.y[:rows])
    inputs = {"oracle": plain(people.x[:rows], people.y[:rows]), "naive": naive, "corrected": corrected}
    out = {name: _error(predict(_trained(each, rep, epochs), fresh, bound), truth) for name, each in inputs.items()}
    line = vdp.fit(release, "y ~ a + b")
    out["line"] = (
        _error(line.params.values @ np.column_stack([np.ones(len(fresh)), fresh]).T, truth)
        if line.converged
        else np.nan
    )
    out["constant"] = _error(np.full(len(fresh), people.y[:rows].mean()), truth)
    return out


def rows_of(reps: int, seed: int, rows: int = ROWS, epochs: int = 40) -> list[dict[str, Any]]:
    """Return the table: errors by data, noise and method, with their Monte Carlo error."""
    cells = [(source, noise) for source in SOURCES for noise in mechanisms()]
    out = []
    with bar("network") as tell:
        for k, (source, noise) in enumerate(cells):
            found = []
            for rep in range(reps):
                found.append(replicate(source, noise, rep, seed, rows=rows, epochs=epochs))
                tell((k + (rep + 1) / reps) / len(cells))
            for name in found[0]:
                each = np.array([one[name] for one in found])
                gap = each - np.array([one["line"] for one in found])
                out.append(
                    {
                        "data": source,
                        "noise": noise,
                        "method": name,
                        "error": float(np.nanmean(each)),
                        "+-": float(np.nanstd(each, ddof=1) / reps**0.5),
                        "less the line's": float(np.nanmean(gap)),
                        "+- of that": float(np.nanstd(gap, ddof=1) / reps**0.5),
                    }
                )
    return out


def care_rows(reps: int, seed: int, rows: int = ROWS, epochs: int = 40) -> list[dict[str, Any]]:
    """Return what each thing that keeps the signed loss bounded is worth, on made-up people."""
    out = []
    for noise, mechanism in mechanisms().items():
        errors: dict[str, list[float]] = {name: [] for name in CARES}
        for rep in range(reps):
            rng = np.random.default_rng([seed, rep, 99])
            people = SOURCES["simulated"](rows + TEST, rng)
            table = pa.table({"a": people.x[:rows, 0], "b": people.x[:rows, 1], "y": people.y[:rows]})
            points, _ = signed(mechanism.release(table, key=rng.bytes(32)), rep)
            assert people.mean is not None
            for name, care in CARES.items():
                bound = bound_of(points.y) if care.bounded else float("inf")
                net = train(points, seed=rep, care=care, epochs=epochs)
                errors[name].append(_error(predict(net, people.x[rows:], bound), people.mean[rows:]))
        for name, each in errors.items():
            finite = np.array(each)[np.isfinite(each)]
            row = {"noise": noise, "training": name, "error": float(finite.mean()) if finite.size else float("nan")}
            out.append(row | {"worst": float(np.max(each)), "+-": float(np.std(each, ddof=1) / reps**0.5)})
    return out


def _trained(points: Points, rep: int, epochs: int) -> Any:
    return train(points, seed=rep, epochs=epochs)


def _error(found: Any, truth: Any) -> float:
    return float(np.sqrt(np.mean((np.asarray(found) - truth) ** 2)))
