"""Models with private categories and private responses: how accurate they are, and what a category costs in time.

An estimate can be no better than the sandwich of its own corrected score at the truth says,

    V^-1 A V^-1 / n,      V = E Hessian,  A = Cov score,  both at the true coefficients,

and a fit is as good as that if it is near enough to normal at its n. So a row asks for at most 1.15 times that error,
taken from a release of a million records, where the estimate is as good as the truth.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import expit, ndtr, ndtri

import versadp as vdp
from versadp.errors import InsecureWarning
from versadp_bench.measure import Figure, best_times
from versadp_bench.settings import EACH, Demands
from versadp_bench.windows import CORRELATION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEVELS = ("n", "e", "s", "w")
EFFECTS = (0.0, 0.5, -0.5, 0.3)
LARGE = 1_000_000
SLACK = 1.15


@dataclass(frozen=True)
class CategorySetting:
    """One row: logistic regression on correlated numbers on ±1, perhaps a category, and a response of two levels.

    Attributes
    ----------
    epsilon : float
        Of each column's own window, or of one for all of the record if it is `joint`.
    response : float
        Epsilon of the response's own window; 0 for a public one.
    """

    epsilon: float
    dim: int
    n: int
    category: bool = True
    joint: bool = False
    response: float = 0.0
    loss: str = "logistic"
    intercept: float = 0.0
    private_response: bool = False  # the truth is by formula
    demands: ClassVar[Demands] = EACH

    @property
    def formula(self) -> str:
        """The model."""
        return "y ~ " + " + ".join([*(f"x{j}" for j in range(self.dim)), *(["C(g)"] if self.category else [])])

    @property
    def mechanism(self) -> vdp.Mechanism:
        """What releases the data."""
        columns: dict[str, Any] = {f"x{j}": vdp.Bounded(-1, 1) for j in range(self.dim)}
        columns |= {"g": vdp.Categorical(list(LEVELS))} if self.category else {}
        hidden = self.joint or self.response > 0
        schema = vdp.Schema({**columns, "y": vdp.Categorical([0, 1]) if hidden else vdp.Public()})
        if self.joint:
            return vdp.Mechanism(schema, noise={(*columns, "y"): vdp.noise.Window(self.epsilon)})
        noise: dict[Any, Any] = {name: vdp.noise.Window(self.epsilon) for name in columns}
        return vdp.Mechanism(schema, noise=noise | ({"y": vdp.noise.Window(self.response)} if hidden else {}))

    def truth(self) -> Array:
        """Return the true coefficients."""
        return np.array([self.intercept, *[1.0] * self.dim, *(EFFECTS[1:] if self.category else ())])

    def data(self, rng: np.random.Generator, n: int | None = None) -> dict[str, Any]:
        """Return raw records; who has which level depends on the first number."""
        n = n or self.n
        common, own = rng.standard_normal((n, 1)), rng.standard_normal((n, self.dim))
        low = ndtr(-1.0)
        x = ndtri(low + (1 - 2 * low) * ndtr(CORRELATION**0.5 * common + (1 - CORRELATION) ** 0.5 * own))
        level = np.digitize(x[:, 0] + 0.5 * rng.standard_normal(n), [-0.5, 0.0, 0.5])
        u = self.intercept + x.sum(axis=1) + (np.array(EFFECTS)[level] if self.category else 0.0)
        raw: dict[str, Any] = {f"x{j}": x[:, j] for j in range(self.dim)}
        raw |= {"g": np.array(LEVELS)[level]} if self.category else {}
        return raw | {"y": (rng.random(n) < expit(u)).astype(int)}

    @property
    def required(self) -> tuple[float, float]:
        """The largest error of the slopes and of the intercept."""
        errors = sandwich(self)
        return SLACK * float(np.sqrt(np.mean(errors[1:] ** 2))), SLACK * float(errors[0])


@lru_cache(maxsize=8)
def sandwich(row: CategorySetting) -> Array:
    """Return the standard errors that the score of a fit has at the truth, by one large release."""
    import pyarrow as pa

    raw = row.data(np.random.default_rng(1), LARGE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureWarning)
        release = row.mechanism.release(pa.table(raw), insecure_seed=1)
    found = vdp.fit(release, row.formula, loss=row.loss)
    return np.asarray(found.bse, dtype=float) * float(np.sqrt(LARGE / row.n))


CATEGORIES: dict[str, CategorySetting] = {
    "category of 4 levels, 2 numbers, 2 each": CategorySetting(2.0, 2, 50_000),
    "private response 2, 3 numbers, 4 each": CategorySetting(4.0, 3, 100_000, category=False, response=2.0),
    "all private in one block of 8": CategorySetting(8.0, 3, 100_000, joint=True),
}


def categories(rows: int = 1_000_000) -> Iterator[Figure]:
    """Logistic regression from windows on six numbers with a private category of four levels, against one without."""
    import pyarrow as pa

    for joint, epsilon in ((False, 4.0), (True, 8.0)):
        row = CategorySetting(epsilon, 6, rows, joint=joint)
        release = row.mechanism.release(pa.table(row.data(np.random.default_rng(0))))
        plain = row.formula.removesuffix(" + C(g)")
        for formula in (row.formula, plain):
            vdp.fit(release, formula, loss="logistic")
        without, with_levels = best_times(
            *(partial(vdp.fit, release, formula, loss="logistic") for formula in (plain, row.formula)), rounds=3
        )
        name = "jointly" if joint else "column by column"
        yield Figure(
            f"logistic with C(g) of 4 levels / without, {name}",
            with_levels / without,
            "ratio of times",
            3,
            higher=False,
        )


BENCHMARKS = {"categories": categories}
