"""Fits by likelihood beside corrected scores: how much more a response model tells, where it is right.

Covariates on ±1, slopes 1, zero-inflated Laplace noise of standard deviation 1 to 2, one record in twenty or in a
hundred unchanged. Corrected scores are often weak there; a likelihood is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from versadp_bench.settings import EACH, Demands, Setting


@dataclass(frozen=True)
class LikelihoodSetting(Setting):
    """One row of the accuracy table by likelihood.

    Attributes
    ----------
    share : float
        Required: at most this share of the error of "efficient".
    """

    share: float = 1.0
    demands: ClassVar[Demands] = EACH


def _row(loss: str, n: int, dim: int, noise: tuple[float, float], share: float) -> LikelihoodSetting:
    return LikelihoodSetting(loss, n, dim, 1.0, *noise, 1.0, (1.0, 1.0), intercept=0.5, share=share)


LIKELIHOOD: dict[str, LikelihoodSetting] = {
    "likelihood poisson 1": _row("poisson", 5000, 1, (2.0, 0.05), 0.5),
    "likelihood poisson 2": _row("poisson", 10_000, 2, (1.5, 0.01), 1 / 3),
    "likelihood squared 1": _row("squared", 5000, 1, (2.0, 0.05), 1.0),
    "likelihood logistic 1": _row("logistic", 5000, 1, (1.0, 0.05), 1.0),
}
