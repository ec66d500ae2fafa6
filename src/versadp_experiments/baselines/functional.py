"""Linear functionals E g(X) by one bit a person (Rohde and Steinberger 2020).

    send +-B, P(+B) = (1 + g(x)/B)/2,  B = |g|_max (e^eps + 1)/(e^eps - 1):  E = g(x), n Var = B² - (E g)²

for bounded g this attains their minimax rate. A density at a point, f(t) = lim E K_h(t - X), is such a functional of
a kernel of height 1/h, with h of order (n eps²)^(-1/(2 beta + 2)) for smoothness beta. One functional a person: the
next one needs another budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp.errors import ParameterError
from versadp_experiments.baselines.method import DEVICE, Budget, Estimate, Method, Sample, pure

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from versadp.privacy import PrivacyProfile

    Array = NDArray[np.float64]

FUNCTIONALS: dict[str, Callable[[Array], Array]] = {
    "mean": lambda x: x,
    "second moment": lambda x: x * x,
    "positive": lambda x: (x > 0).astype(float),
    "density at 0": lambda x: np.where(np.abs(x) <= 0.1, 5.0, 0.0),
}


@dataclass(frozen=True)
class OneBit(Method):
    """A linear functional of the first covariate; `largest` bounds |g| on [-1, 1]."""

    functional: str = "mean"
    largest: float = 1.0
    name: ClassVar[str] = "one-bit functional"
    reference: ClassVar[str] = "Rohde and Steinberger 2020"
    where: ClassVar[str] = DEVICE

    def __post_init__(self) -> None:
        if self.functional not in FUNCTIONALS:
            raise ParameterError(f"no functional {self.functional!r}", hint=f"choose from {', '.join(FUNCTIONALS)}")
        if np.abs(FUNCTIONALS[self.functional](np.linspace(-1, 1, 2001))).max() > self.largest:
            raise ParameterError("`largest` is below the functional's values", hint="raise it: it is what is protected")

    def size(self, epsilon: float) -> float:
        """Return B.

        Examples
        --------
        >>> round(OneBit().size(math.log(3)), 6)
        2.0
        """
        return self.largest / math.tanh(epsilon / 2)

    def guarantee(self, records: int, columns: int, budget: Budget) -> PrivacyProfile:  # noqa: ARG002 (as the others)
        """Return pure epsilon: the largest odds of one answer."""
        share = self.largest / self.size(budget.epsilon)
        return pure(math.log((1 + share) / (1 - share)))

    def fit(self, sample: Sample, budget: Budget, rng: np.random.Generator) -> Estimate:
        """Return the mean of what is sent, with its error."""
        g, size = FUNCTIONALS[self.functional](sample.x[:, 0]), self.size(budget.epsilon)
        if math.isinf(budget.epsilon):
            return Estimate(g.mean(keepdims=True), g.std(keepdims=True) / math.sqrt(len(g)))
        sent = np.where(rng.random(len(g)) < (1 + g / size) / 2, size, -size)
        return Estimate(sent.mean(keepdims=True), sent.std(keepdims=True) / math.sqrt(len(g)))
