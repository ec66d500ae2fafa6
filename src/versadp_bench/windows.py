"""Fits from windows: how accurate they are at strict targets, and how fast beside plain fits and plain reading."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import expit, ndtr, ndtri

import versadp as vdp
from versadp_bench.measure import Figure, best_times
from versadp_bench.settings import EACH, Demands

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

CORRELATION, SIGMA = 0.3, 0.8
GAMMA_MEDIAN = 1.6783469900166605  # of shape 2


@dataclass(frozen=True)
class WindowSetting:
    """One row of the accuracy table: correlated covariates on ±1 under pure epsilon, a public response."""

    loss: str
    unit: str
    epsilon: float
    dim: int
    required: tuple[float, float]
    n: int = 100_000
    intercept: float = 0.0
    private_response: bool = False
    skewed: bool = False
    width: float = 1.0
    demands: ClassVar[Demands] = EACH

    @property
    def formula(self) -> str:
        """The model."""
        return "y ~ " + " + ".join(f"x{j}" for j in range(self.dim))

    @property
    def mechanism(self) -> vdp.Mechanism:
        """What releases the data: a window a column for an attribute, one for all of a record."""
        columns: dict[str, Any] = {f"x{j}": vdp.Bounded(-1, 1) for j in range(self.dim)}
        schema = vdp.Schema({**columns, "y": vdp.Public()})
        return vdp.calibrate(schema, epsilon=self.epsilon, unit=self.unit, width=self.width)

    def truth(self) -> Array:
        """Return the true coefficients."""
        return np.append(self.intercept, np.full(self.dim, 1.0 if self.dim == 3 else 0.7))

    def data(self, rng: np.random.Generator, n: int | None = None) -> dict[str, Array]:
        """Return raw records: normal covariates, correlated and bent into ±1, and a response."""
        n = n or self.n
        common, own = rng.standard_normal((n, 1)), rng.standard_normal((n, self.dim))
        low = ndtr(-1.0)
        x = ndtri(low + (1 - 2 * low) * ndtr(CORRELATION**0.5 * common + (1 - CORRELATION) ** 0.5 * own))
        u = self.truth()[0] + x @ self.truth()[1:]
        if self.loss in {"logistic", "hinge"}:
            steeper, other = (1.0, 0.0) if self.loss == "logistic" else (2.0, -1.0)
            y = np.where(rng.random(n) < expit(steeper * u), 1.0, other)
        elif self.skewed:  # the median of the errors is 0 everywhere, and nothing else of them is
            y = u + (0.5 + 0.4 * x[:, 0]) * (rng.gamma(2.0, 1.0, n) - GAMMA_MEDIAN)
        else:
            y = u + SIGMA * rng.standard_normal(n)
        return {f"x{j}": x[:, j] for j in range(self.dim)} | {"y": y}


_ROWS = (  # unit, epsilon, dim, records, required of squared and of logistic loss
    ("attribute", 4.0, 3, 100_000, 0.0092, 0.021),
    ("attribute", 4.0, 6, 100_000, 0.0092, 0.023),
    ("attribute", 2.0, 6, 100_000, 0.024, 0.046),
    ("attribute", 8.0, 3, 10_000, 0.019, 0.052),
    ("record", 8.0, 3, 100_000, 0.0075, 0.020),
    ("record", 8.0, 6, 100_000, 0.014, 0.029),
    ("record", 10.0, 6, 100_000, 0.0095, 0.0235),
)
WINDOWS: dict[str, WindowSetting] = {
    f"window {loss} {unit} {epsilon:g}, {dim}": WindowSetting(loss, unit, epsilon, dim, (required, np.inf), n)
    for unit, epsilon, dim, n, *both in _ROWS
    for loss, required in zip(("squared", "logistic"), both, strict=True)
}
WINDOWS |= {
    "window check attribute 4, 3": WindowSetting("check", "attribute", 4.0, 3, (0.0095, np.inf)),
    "window check attribute 4, 3, skewed": WindowSetting("check", "attribute", 4.0, 3, (0.0095, np.inf), skewed=True),
    "window check attribute 4, 3, narrower": WindowSetting("check", "attribute", 4.0, 3, (0.0095, np.inf), width=0.8),
    "window check attribute 4, 3, skewed, narrower": WindowSetting(
        "check", "attribute", 4.0, 3, (0.0095, np.inf), skewed=True, width=0.8
    ),
    "window check attribute 4, 6": WindowSetting("check", "attribute", 4.0, 6, (0.0115, np.inf)),
    "window huber attribute 4, 3": WindowSetting("huber", "attribute", 4.0, 3, (0.0092, np.inf)),
    "window huber record 8, 6": WindowSetting("huber", "record", 8.0, 6, (0.014, np.inf)),
    "window hinge attribute 4, 3": WindowSetting("hinge", "attribute", 4.0, 3, (0.023, np.inf)),
}


def windows(rows: int = 1_000_000) -> Iterator[Figure]:
    """Logistic regression against scikit-learn's plain fit, linear regression against reading its columns."""
    import pyarrow as pa
    from sklearn.linear_model import LogisticRegression

    for unit, epsilon in (("attribute", 4.0), ("record", 8.0)):
        row = WindowSetting("logistic", unit, epsilon, 6, (np.inf, np.inf))
        raw = row.data(np.random.default_rng(0), rows)
        release = row.mechanism.release(pa.table(raw))
        x, y = np.stack([raw[f"x{j}"] for j in range(6)], axis=1), raw["y"]
        fit = partial(vdp.fit, release, row.formula)
        fit(loss="logistic")
        plain, ours = best_times(
            partial(LogisticRegression(C=np.inf).fit, x, y), partial(fit, loss="logistic"), rounds=3
        )
        yield Figure(f"logistic from windows, {unit} / scikit-learn", ours / plain, "ratio of times", 5, higher=False)
        with tempfile.TemporaryDirectory() as folder:
            kept = f"{folder}/released"
            release.save(kept)
            reading, linear = best_times(partial(_read, kept), partial(vdp.fit, kept, row.formula), rounds=15)
        yield Figure(f"linear from windows, {unit} / reading", linear / reading, "ratio of times", 2, higher=False)


def _read(folder: str) -> list[Array]:
    """Read all columns as arrays, from the folder every time: a release that was read once stays in memory."""
    table = vdp.load(folder).to_arrow()
    return [table[name].to_numpy() for name in table.column_names]


BENCHMARKS = {"windows": windows}
