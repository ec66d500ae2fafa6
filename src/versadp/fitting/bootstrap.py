"""A bootstrap over records, as a check of the sandwich.

Records are independent, so drawing them again with replacement shows how estimates vary. A drawing is a weight for each
record, and every replication goes through the same `fit`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.display.progress import bar
from versadp.engine import at_work
from versadp.errors import EstimationError
from versadp.fitting.design_covariance import refuse_people
from versadp.fitting.fit import fit
from versadp.inference.checks import check_level
from versadp.release.release import as_release

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from versadp.release.release import Release

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Bootstrap:
    """Estimates of the replications that converged, (reps, p), and how many did not."""

    names: tuple[str, ...]
    estimates: Array
    failed: int

    @property
    def bse(self) -> dict[str, float]:
        """Standard errors."""
        return dict(zip(self.names, self.estimates.std(axis=0, ddof=1).tolist(), strict=True))

    def conf_int(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Return percentile intervals."""
        tail = (1 - check_level(level)) / 2
        low, high = np.quantile(self.estimates, [tail, 1 - tail], axis=0)
        return {name: (float(a), float(b)) for name, a, b in zip(self.names, low, high, strict=True)}


def bootstrap(
    release: Release | str | Path, formula: str | None = None, *, reps: int = 200, random_state: int = 0, **options: Any
) -> Bootstrap:
    """Fit a model to records drawn again with replacement.

    Parameters
    ----------
    release, formula, options
        As for `fit`.
    reps : int
        Replications.
    random_state : int
        Of the drawings, and of the draws within each fit.

    Examples
    --------
    >>> import numpy as np, pandas as pd, versadp as vdp
    >>> schema = vdp.Schema({"x": vdp.Bounded(0, 1)})
    >>> people = pd.DataFrame({"x": np.linspace(0, 1, 500)})
    >>> release = vdp.Mechanism(schema, scale=0.2, exact_rate=0.2).release(people)
    >>> found = vdp.bootstrap(release, loss=vdp.losses.Mean("x"), reps=10)
    >>> found.estimates.shape
    (10, 1)
    """
    reps, random_state = inputs.whole("reps", reps, 2), inputs.whole("random_state", random_state, 0)
    opened = as_release(release)
    refuse_people(opened, "a bootstrap over rows")
    n = len(opened)
    rng = np.random.default_rng([random_state, 0xB007])  # no stream that a user may have drawn data from
    found = []
    with bar("bootstrap") as tell, at_work(options.pop("engine", "auto")) as engine:
        for done in range(reps):
            weights = rng.multinomial(n, np.full(n, 1 / n)).astype(float)
            # the same draws each time: a record's draws belong to the record
            found.append(fit(opened, formula, weights=weights, random_state=random_state, engine=engine, **options))
            tell((done + 1) / reps)
    kept = [np.asarray(result.params) for result in found if result.converged]
    if len(kept) < 2:
        raise EstimationError("hardly any replication of the bootstrap converged", hint="more records would help")
    return Bootstrap(tuple(found[0].names), np.array(kept), reps - len(kept))
