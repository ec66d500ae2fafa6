"""Benchmarks of fitting, against plain fits of the same rows by scikit-learn and statsmodels."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import versadp as vdp
from versadp_bench.measure import Figure, best_times

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = 10
FORMULA = "y ~ " + " + ".join(f"x{j}" for j in range(COLUMNS))


def released(rows: int, loss: str, exact_rate: float) -> vdp.Release:
    """Return a release of ten noisy columns and a public response."""
    import pyarrow as pa

    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (rows, COLUMNS))
    u = 0.5 * x.sum(axis=1)
    y = (rng.random(rows) < 1 / (1 + np.exp(-u))).astype(float) if loss == "logistic" else u + rng.normal(size=rows)
    schema = vdp.Schema({f"x{j}": vdp.Bounded(-1, 1) for j in range(COLUMNS)} | {"y": vdp.Public()})
    table = pa.table({f"x{j}": x[:, j] for j in range(COLUMNS)} | {"y": y})
    return vdp.Mechanism(schema, scale=1.0, exact_rate=exact_rate).release(table)


def _arrays(release: vdp.Release) -> tuple[Any, Any]:
    table = release.to_arrow()
    return np.stack([table[f"x{j}"].to_numpy() for j in range(COLUMNS)], axis=1), table["y"].to_numpy()


def logistic(rows: int = 1_000_000) -> Iterator[Figure]:
    """Logistic regression against scikit-learn's plain, unpenalised fit of the same rows."""
    from sklearn.linear_model import LogisticRegression

    release = released(rows, "logistic", 0.005)
    x, y = _arrays(release)
    fit = partial(vdp.fit, release, FORMULA, loss="logistic")
    fit(method="analytic")
    plain, analytic, efficient = best_times(
        lambda: LogisticRegression(C=np.inf).fit(x, y), partial(fit, method="analytic"), fit, rounds=3
    )
    yield Figure("logistic, analytic / scikit-learn", analytic / plain, "ratio of times", 3, higher=False)
    yield Figure("logistic, efficient / scikit-learn", efficient / plain, "ratio of times", 20, higher=False)
    half = released(rows // 2, "logistic", 0.005)
    (shorter,) = best_times(partial(vdp.fit, half, FORMULA, loss="logistic"), rounds=3)
    yield Figure("logistic, twice the rows", efficient / shorter, "ratio of times", 2.6, higher=False)


def median(rows: int = 100_000) -> Iterator[Figure]:
    """Median regression against statsmodels' plain fit of the same rows."""
    import statsmodels.api as sm

    release = released(rows, "check", 0.2)
    x, y = _arrays(release)
    design = sm.add_constant(x)
    plain, ours = best_times(
        lambda: sm.QuantReg(y, design).fit(q=0.5), partial(vdp.fit, release, FORMULA, loss="check"), rounds=2
    )
    yield Figure("median, efficient / statsmodels", ours / plain, "ratio of times", 10, higher=False)


_FIT = """
import sys, versadp as vdp
from versadp_bench.measure import peak_memory
result = vdp.fit(sys.argv[1], sys.argv[2], loss="logistic")
assert result.converged
print(peak_memory())
"""


def memory(rows: int = 10_000_000) -> Iterator[Figure]:
    """Measure the peak of memory of fitting a release on disk, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        released(rows, "logistic", 0.005).save(f"{folder}/released")
        command = [sys.executable, "-c", _FIT, f"{folder}/released", FORMULA]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    yield Figure(f"fit of {rows:,} rows on disk", float(out), "GiB", 1.5, higher=False)


BENCHMARKS = {"logistic": logistic, "median": median, "memory": memory}
__all__ = ["BENCHMARKS", "logistic", "median", "memory", "released"]
