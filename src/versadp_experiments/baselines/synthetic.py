"""Synthetic records from noisy marginals (McKenna, Sheldon and Miklau 2019; package `mbi`, `versadp[baselines]`).

Columns are cut into `cells`; all pairs of columns are counted, with Gaussian noise; `mbi` fits the graphical model of
most entropy that has these marginals, and records are drawn from it. One record replaced moves each of the K =
p(p-1)/2 tables by sqrt(2) in L2, so noise of standard deviation sigma has mu = sqrt(2K)/sigma, exactly. The records
serve any number of analyses, which treat them as if they were data: there are no honest standard errors, cells and
what the model leaves out are a bias, and nothing tells an analyst of either.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from versadp import privacy
from versadp.errors import MissingExtraError
from versadp_experiments.baselines.method import Budget, Estimate, Method, Sample
from versadp_experiments.baselines.scores import Logistic, Score, minimum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]


@contextmanager
def _package() -> Iterator[Any]:
    """Give mbi, in the double precision that it asks for; what else uses JAX in this process stays as it is."""
    try:
        import jax

        settings: Any = jax.config
        settings.update("jax_enable_compilation_cache", False)
        with jax.enable_x64(True):
            import mbi
    except ImportError:
        raise MissingExtraError("mbi is not installed", hint="pip install 'versadp[baselines]'") from None
    with jax.enable_x64(True):
        yield mbi


def _seeded(draw: Callable[[], Any], rng: np.random.Generator) -> Any:
    """Return a drawing of a library that uses numpy's global generator, as a function of ours."""
    before = np.random.get_state()  # noqa: NPY002 (the library's, not ours)
    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002 - the method draws from it
    try:
        return draw()
    finally:
        np.random.set_state(before)  # noqa: NPY002 - as it was found


@dataclass(frozen=True)
class SyntheticRecords(Method):
    """Records from all two-way marginals, then a smooth loss; `levels` are those of the response."""

    score: Score = field(default_factory=Logistic)
    cells: int = 10
    levels: int | None = 2
    iterations: int = 500
    name: ClassVar[str] = "synthetic records"
    reference: ClassVar[str] = "McKenna, Sheldon and Miklau 2019 (mbi)"
    reusable: ClassVar[bool] = True

    def sigma(self, columns: int, budget: Budget) -> float:
        """Return the standard deviation of a count's noise.

        Examples
        --------
        >>> round(SyntheticRecords().sigma(2, Budget(1.0, 1e-6)), 2)
        10.35
        """
        return math.sqrt(2 * math.comb(columns + 1, 2)) / budget.mu

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:  # noqa: ARG002 (as the others)
        """Return the Gaussian curve of all tables together."""
        return privacy.gaussian(math.sqrt(2 * math.comb(columns + 1, 2)) / self.sigma(columns, budget))

    def draw(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Sample:
        """Return as many synthetic records as there are true ones, even within their cells."""
        with _package() as mbi:
            return self._drawn(mbi, sample, budget, rng)

    def _drawn(self, mbi: Any, sample: Sample, budget: Budget, rng: np.random.Generator) -> Sample:
        n, d = sample.x.shape
        last = self.cells if self.levels is None else self.levels
        sizes = (*(self.cells,) * d, last)
        codes = [np.minimum(((c + 1) / 2 * self.cells).astype(int), self.cells - 1) for c in sample.x.T]
        codes.append(
            sample.y.astype(int) if self.levels else np.minimum(((sample.y + 1) / 2 * last).astype(int), last - 1)
        )
        names = tuple(f"c{j}" for j in range(d + 1))
        sigma, measured = self.sigma(d, budget), []
        for i, j in combinations(range(d + 1), 2):
            table = np.bincount(codes[i] * sizes[j] + codes[j], minlength=sizes[i] * sizes[j]).astype(float)
            noisy = table + rng.normal(0.0, sigma, table.size)
            measured.append(mbi.LinearMeasurement(noisy, (names[i], names[j]), max(sigma, 1e-3)))
        model = mbi.estimation.MirrorDescent().estimate(
            mbi.Domain(names, sizes), measured, known_total=n, iters=self.iterations
        )
        drawn = _seeded(lambda: model.synthetic_data(n), rng)
        found = np.column_stack([np.asarray(drawn.data[name]) for name in names]).astype(float)
        spread = (found + rng.random(found.shape)) * 2 / self.cells - 1
        return Sample(spread[:, :d], found[:, d] if self.levels else spread[:, d])

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Fit the synthetic records as if they were data."""
        drawn = self.draw(sample, budget, rng)
        return Estimate(minimum(self.score, drawn.design, drawn.y, ridge=1e-9))
