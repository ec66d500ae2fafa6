"""One total budget over m analyses: what each may spend.

Gaussian noise composes exactly, mu/sqrt(m) each. A pure method may spend the largest epsilon whose m-fold composition
(the exact one, of the worst pair: randomised response m times) meets the total.
"""

from __future__ import annotations

from functools import lru_cache

from versadp import privacy
from versadp_experiments.baselines.method import Budget


@lru_cache(maxsize=256)
def pure_share(total: Budget, m: int) -> Budget:
    """Return the pure budget of each of m analyses.

    Examples
    --------
    >>> round(pure_share(Budget(1.0, 1e-6), 100).epsilon, 3)
    0.024
    """
    if m == 1:
        return Budget(total.epsilon)
    goal = privacy.target(total.epsilon, total.delta)
    least, most = total.epsilon / m, min(total.epsilon, 600 / m)  # beyond, e^(m epsilon) is no number
    return Budget(
        privacy.solve_parameter(lambda e: privacy.approx_dp(e, 0.0).compose(m), goal, 0.9 * least, most, tolerance=1e-4)
    )


@lru_cache(maxsize=256)
def gaussian_share(total: Budget, m: int) -> Budget:
    """Return an (epsilon, delta) budget of each of m analyses whose Gaussian noise composes to the total, exactly.

    Examples
    --------
    >>> total = Budget(1.0, 1e-6)
    >>> round(gaussian_share(total, 100).mu / total.mu, 6)
    0.1
    """
    if m == 1:
        return total
    mu = total.mu / m**0.5
    return Budget(max(float(privacy.gaussian(mu).epsilon(total.delta)), 1e-9), total.delta)
