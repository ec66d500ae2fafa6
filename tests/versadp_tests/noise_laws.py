"""Tests that noise is zero-inflated symmetric Laplace: scores that are standard normal if it is.

Each score is (sample mean - theory) / its theoretical standard error. A sample is rejected if any score exceeds
LIMIT: for 30 scores the chance that right noise is rejected is below 30 * 6e-8 = 2e-6.
"""

import numpy as np

LIMIT = 5.4  # two-sided tail 6.7e-8


def scores(z, exact_rate, sigma):
    """z is (n, d); sigma is the noise scale of each column."""
    z, n = z / sigma, len(z)
    rest = 1 - exact_rate
    out = {}

    def score(name, sample, mean, second_moment):
        spread = np.sqrt((second_moment - mean**2) / n)
        difference = sample.mean() - mean
        out[name] = difference / spread if spread else np.inf * np.sign(difference) if difference else 0.0

    score("exact share", (z == 0).all(axis=1).astype(float), exact_rate, exact_rate)
    for j in range(z.shape[1]):
        c = z[:, j]
        score(f"mean {j}", c, 0.0, rest)
        score(f"variance {j}", c**2, rest, 6 * rest)  # E W^2 E N^4 = 2 * 3
        score(f"third {j}", c**3, 0.0, rest * 6 * 15)  # E W^3 E N^6
        for t in (0.5, 1.0, 3.0, 10.0):
            cf = exact_rate + rest / (1 + t**2 / 2)
            cf2 = exact_rate + rest / (1 + 2 * t**2)
            score(f"cf {t} {j}", np.cos(t * c), cf, (1 + cf2) / 2)
    if z.shape[1] > 1:
        a, b = z[:, 0], z[:, 1]
        score("uncorrelated", a * b, 0.0, 2 * rest)
        score("shared W", a**2 * b**2, 2 * rest, rest * 24 * 9)
        t = 1.0
        score("joint cf", np.cos(t * (a + b)), exact_rate + rest / (1 + t**2), (1 + exact_rate + rest / (1 + 4)) / 2)
    return out


def rejected(z, exact_rate, sigma):
    return {name: round(s, 1) for name, s in scores(z, exact_rate, sigma).items() if abs(s) > LIMIT}
