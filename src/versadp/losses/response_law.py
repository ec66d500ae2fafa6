"""Laws of a response given its index, for losses that are the negative logarithm of one: what a likelihood needs.

    squared     y normal around u, one variance sigma² for all         log p = -(y - u)²/(2 sigma²) - log sigma
    logistic    y is 1 with probability 1/(1 + e^-u), else 0           log p = y u - log(1 + e^u)
    poisson     y Poisson with mean e^u                                log p = y u - e^u - log y!

A public response is asked for its log density. A private one is not known, only how likely each cell is that it may lie
in; the first and the last reach to infinity, since values were moved to the bounds. So it is asked for its distribution
function.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp.errors import DataError, ParameterError

if TYPE_CHECKING:
    from versadp.inputs import Array

    Sloped = tuple[Array, Array, Array | None]

LARGEST = 50.0  # of an index of counts


class ResponseLaw(ABC):
    """A law of the response with an index u, and a parameter `log sigma` if it has a scale.

    Attributes
    ----------
    words : str
        What is assumed, as a summary says it.
    scaled : bool
        True if it has a scale.
    """

    words: ClassVar[str]
    scaled: ClassVar[bool] = False

    def check(self, y: Array) -> None:  # noqa: B027 - any response by default
        """Raise if a response is none of this law's."""

    def cells(self, ends: Array, lower: float, step: float | None) -> Array:
        """Return the ends of the cells of a private response as the law counts them, or raise if they are none of it.

        Parameters
        ----------
        ends : array (cells + 1,)
            In the column's own units.
        lower, step : float
            Its least value, and what values are steps of.
        """
        return ends

    @abstractmethod
    def start(self, mean: float, spread: float) -> tuple[float, float]:
        """Return the index of all records and `log sigma`, given mean and standard deviation of the response."""

    @abstractmethod
    def log_density(self, u: Array, y: Array, log_scale: float = 0.0) -> Sloped:
        """Return log p(y | u), up to what depends on y alone, and its derivatives in u and in `log sigma`."""

    @abstractmethod
    def distribution(self, u: Array, t: float, log_scale: float = 0.0) -> Sloped:
        """Return P(y <= t | u) and its derivatives in u and in `log sigma`."""


class Normal(ResponseLaw):
    """Normal with one variance.

    Examples
    --------
    >>> value, slope, by_scale = Normal().log_density(np.array([0.0]), np.array([2.0]))
    >>> value, slope, by_scale
    (array([-2.]), array([2.]), array([3.]))
    """

    words = "a normal law around its index, with one variance for all records"
    scaled = True

    def start(self, mean: float, spread: float) -> tuple[float, float]:
        """Return mean and log standard deviation."""
        return mean, float(np.log(max(spread, 1e-300)))

    def log_density(self, u: Array, y: Array, log_scale: float = 0.0) -> Sloped:
        """Return `-e²/2 - log sigma`, e the residual over sigma."""
        sigma = np.exp(log_scale)
        e = (y - u) / sigma
        square = e * e
        return -0.5 * square - log_scale, e / sigma, square - 1

    def distribution(self, u: Array, t: float, log_scale: float = 0.0) -> Sloped:
        """Return the normal distribution function."""
        from scipy.special import ndtr

        if np.isinf(t):
            return np.full_like(u, float(t > 0)), np.zeros_like(u), np.zeros_like(u)
        sigma = np.exp(log_scale)
        e = (t - u) / sigma
        height = np.exp(-0.5 * e * e) / np.sqrt(2 * np.pi)
        return ndtr(e), -height / sigma, -e * height


class Bernoulli(ResponseLaw):
    """One of two classes, 0 and 1.

    Examples
    --------
    >>> [float(each[0]) for each in Bernoulli().distribution(np.array([0.0]), 0.5)[:2]]
    [0.5, -0.25]
    """

    words = "a logistic model of its index"

    def check(self, y: Array) -> None:
        """Raise if there is another value."""
        if not np.isin(y, (0.0, 1.0)).all():
            raise DataError("a likelihood of two classes needs a response of 0 and 1")

    def cells(self, ends: Array, lower: float, step: float | None) -> Array:
        """Return the ends of two cells: the smaller value is 0, the larger 1."""
        if step is None or ends.size != 3:
            raise ParameterError(
                "a likelihood of two classes needs a noisy response of two values",
                hint="declare it so: Bounded(0, 1, step=1)",
            )
        return np.array([-0.5, 0.5, 1.5])

    def start(self, mean: float, spread: float) -> tuple[float, float]:
        """Return the log odds."""
        share = np.clip(mean, 0.01, 0.99)
        return float(np.log(share / (1 - share))), 0.0

    def log_density(self, u: Array, y: Array, log_scale: float = 0.0) -> Sloped:
        """Return `y u - log(1 + e^u)`."""
        from scipy.special import expit

        return y * u - np.logaddexp(0.0, u), y - expit(u), None

    def distribution(self, u: Array, t: float, log_scale: float = 0.0) -> Sloped:
        """Return the probability of 0, between 0 and 1."""
        from scipy.special import expit

        if t < 0 or t >= 1:
            return np.full_like(u, float(t >= 1)), np.zeros_like(u), None
        p = expit(u)
        return 1 - p, -p * (1 - p), None


class Counts(ResponseLaw):
    """Poisson counts.

    Examples
    --------
    >>> Counts().log_density(np.array([0.0]), np.array([2.0]))[1]
    array([1.])
    """

    words = "a Poisson law whose mean is the exponential of its index"

    def check(self, y: Array) -> None:
        """Raise if a value is no count."""
        if (y < 0).any() or (y != np.rint(y)).any():
            raise DataError("a likelihood of counts needs a response of whole numbers, 0 or more")

    def cells(self, ends: Array, lower: float, step: float | None) -> Array:
        """Return the ends, if every cell holds one count."""
        if step != 1 or lower < 0 or lower % 1 or not np.allclose(np.diff(ends)[1:-1], 1):
            raise ParameterError(
                "a likelihood of counts needs a noisy response of few whole numbers, 0 or more",
                hint="declare it so: Bounded(0, 20, step=1)",
            )
        return ends

    def start(self, mean: float, spread: float) -> tuple[float, float]:
        """Return the log of the mean."""
        return float(np.log(max(mean, 1e-3))), 0.0

    def log_density(self, u: Array, y: Array, log_scale: float = 0.0) -> Sloped:
        """Return `y u - e^u`."""
        u = np.minimum(u, LARGEST)
        e = np.exp(u)
        return y * u - e, y - e, None

    def distribution(self, u: Array, t: float, log_scale: float = 0.0) -> Sloped:
        """Return the Poisson distribution function; its derivative in the mean is minus the last probability."""
        from scipy.special import gammaln, pdtr

        if t < 0 or np.isinf(t):
            return np.full_like(u, float(t > 0)), np.zeros_like(u), None
        k, u = np.floor(t), np.minimum(u, LARGEST)
        mean = np.exp(u)
        return pdtr(k, mean), -np.exp((k + 1) * u - mean - gammaln(k + 1)), None
