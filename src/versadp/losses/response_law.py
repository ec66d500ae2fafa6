"""Laws of a response given its index, for the likelihood of losses that are a negative log density.

    squared     y normal with mean u and variance sigma²               log p = -(y - u)²/(2 sigma²) - log sigma
    logistic    y is 1 with probability 1/(1 + e^-u), else 0           log p = y u - log(1 + e^u)
    poisson     y Poisson with mean e^u                                log p = y u - e^u - log y!

A public response enters by its log density. A private one is known up to a cell of its lattice and enters by its
distribution function at the ends of the cells; the first and the last cell are unbounded, since values were clipped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from versadp.errors import DataError, ParameterError

if TYPE_CHECKING:
    from versadp.inputs import Array

    Sloped = tuple[Array, Array, Array | None]

LARGEST_INDEX = 50.0  # cap of a log mean of counts: chosen; e^50 is beyond any count, and far from overflow at e^709


class ResponseLaw(ABC):
    """A law of the response given the index u, with a parameter `log sigma` if it has a scale.

    Attributes
    ----------
    words : str
        The assumption as summaries state it.
    scaled : bool
        True if it has a scale.
    """

    words: ClassVar[str]
    scaled: ClassVar[bool] = False

    def check(self, y: Array) -> None:  # noqa: B027 - any response by default
        """Raise if the law does not allow a value of the response."""

    def cells(self, ends: Array, lower: float, step: float | None) -> Array:
        """Return the ends of the cells of a private response in the units of the law, or raise if they do not fit it.

        Parameters
        ----------
        ends : array (cells + 1,)
            In the column's own units.
        lower, step : float
            Its lower bound, and the step of its values.
        """
        return ends

    @abstractmethod
    def start(self, mean: float, spread: float) -> tuple[float, float]:
        """Return starting values of a common index and of `log sigma`, from mean and standard deviation of y."""

    @abstractmethod
    def log_density(self, u: Array, y: Array, log_scale: float = 0.0) -> Sloped:
        """Return log p(y | u), up to terms in y alone, and its derivatives in u and in `log sigma`."""

    @abstractmethod
    def distribution(self, u: Array, t: float, log_scale: float = 0.0) -> Sloped:
        """Return P(y <= t | u) and its derivatives in u and in `log sigma`."""


class Normal(ResponseLaw):
    """The normal law with mean u and a common variance.

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
        """Return `-e²/2 - log sigma` with e the residual over sigma, and its derivatives."""
        sigma = np.exp(log_scale)
        e = (y - u) / sigma
        square = e * e
        return -0.5 * square - log_scale, e / sigma, square - 1

    def distribution(self, u: Array, t: float, log_scale: float = 0.0) -> Sloped:
        """Return the normal distribution function and its derivatives."""
        from scipy.special import ndtr

        if np.isinf(t):
            return np.full_like(u, float(t > 0)), np.zeros_like(u), np.zeros_like(u)
        sigma = np.exp(log_scale)
        e = (t - u) / sigma
        height = np.exp(-0.5 * e * e) / np.sqrt(2 * np.pi)
        return ndtr(e), -height / sigma, -e * height


class Bernoulli(ResponseLaw):
    """The Bernoulli law of classes 0 and 1 with a logit link.

    Examples
    --------
    >>> [float(each[0]) for each in Bernoulli().distribution(np.array([0.0]), 0.5)[:2]]
    [0.5, -0.25]
    """

    words = "a logistic model of its index"

    def check(self, y: Array) -> None:
        """Raise if there is a value other than 0 and 1."""
        if not np.isin(y, (0.0, 1.0)).all():
            raise DataError(
                "a likelihood of two classes needs a response of 0 and 1",
                hint="compare, as in I(income > 50000) ~ age",
            )

    def cells(self, ends: Array, lower: float, step: float | None) -> Array:
        """Return the ends of two cells: 0 for the smaller value, 1 for the larger."""
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
        """Return `y u - log(1 + e^u)` and its derivative."""
        from scipy.special import expit

        return y * u - np.logaddexp(0.0, u), y - expit(u), None

    def distribution(self, u: Array, t: float, log_scale: float = 0.0) -> Sloped:
        """Return the probability of 0 for 0 <= t < 1, and its derivative."""
        from scipy.special import expit

        if t < 0 or t >= 1:
            return np.full_like(u, float(t >= 1)), np.zeros_like(u), None
        p = expit(u)
        return 1 - p, -p * (1 - p), None


class Counts(ResponseLaw):
    """The Poisson law of counts with a log link.

    Examples
    --------
    >>> Counts().log_density(np.array([0.0]), np.array([2.0]))[1]
    array([1.])
    """

    words = "a Poisson law whose mean is the exponential of its index"

    def check(self, y: Array) -> None:
        """Raise if a value is not a count."""
        if (y < 0).any() or (y != np.rint(y)).any():
            raise DataError(
                "a likelihood of counts needs a response of whole numbers, 0 or more",
                hint="use squared loss for other responses",
            )

    def cells(self, ends: Array, lower: float, step: float | None) -> Array:
        """Return the ends of cells of one count each."""
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
        """Return `y u - e^u` and its derivative."""
        u = np.minimum(u, LARGEST_INDEX)
        e = np.exp(u)
        return y * u - e, y - e, None

    def distribution(self, u: Array, t: float, log_scale: float = 0.0) -> Sloped:
        """Return the Poisson distribution function; its derivative in the mean is minus the last probability."""
        from scipy.special import gammaln, pdtr

        if t < 0 or np.isinf(t):
            return np.full_like(u, float(t > 0)), np.zeros_like(u), None
        k, u = np.floor(t), np.minimum(u, LARGEST_INDEX)
        mean = np.exp(u)
        return pdtr(k, mean), -np.exp((k + 1) * u - mean - gammaln(k + 1)), None
