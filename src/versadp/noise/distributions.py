"""Plain samplers and densities for researchers: any covariance, numpy generators, arrays in and out.

    SL_d(Sigma) = sqrt(W) N(0, Sigma),  W ~ Exp(1);     characteristic function 1 / (1 + t'Sigma t / 2)
    ZIL(r, Sigma) = 0 with probability r, else SL;       characteristic function r + (1 - r) / (1 + t'Sigma t / 2)

These use an ordinary generator and floating-point noise. They are for simulation; `Mechanism.release` protects people.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from versadp.errors import ParameterError
from versadp.noise.settings import check_rate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SymmetricLaplace:
    """The symmetric multivariate Laplace distribution (the paper's section 3.1).

    Parameters
    ----------
    cov : array_like (d, d), or a number for d = 1
        Covariance matrix, positive definite.

    Examples
    --------
    >>> law = SymmetricLaplace([[1.0, 0.5], [0.5, 2.0]])
    >>> law.rvs(3, np.random.default_rng(0)).shape
    (3, 2)
    >>> float(SymmetricLaplace(1.0).pdf([0.0]).round(6))  # Laplace with scale sqrt(1/2)
    0.707107
    """

    cov: ArrayLike

    def __post_init__(self) -> None:
        cov = np.atleast_2d(np.asarray(self.cov, dtype=float))
        if cov.ndim != 2 or cov.shape[0] != cov.shape[1] or not np.allclose(cov, cov.T):
            raise ParameterError("cov must be a symmetric matrix")
        try:
            root = np.linalg.cholesky(cov)
        except np.linalg.LinAlgError:
            raise ParameterError("cov must be positive definite") from None
        object.__setattr__(self, "cov", cov)
        object.__setattr__(self, "_root", root)

    @property
    def dim(self) -> int:
        """Number of columns."""
        return int(self._root.shape[0])

    @cached_property
    def _root(self) -> Array:  # set in __post_init__
        raise AssertionError

    def rvs(self, size: int, random_state: int | np.random.Generator | None = None) -> Array:
        """Return `size` draws, array (size, d); one W a draw, shared by its columns."""
        rng = np.random.default_rng(random_state)
        root_w = np.sqrt(rng.standard_exponential(size))
        return (rng.standard_normal((size, self.dim)) @ self._root.T) * root_w[:, None]

    def logpdf(self, x: ArrayLike) -> Array:
        """Return the log density at each row of x; infinite at 0 from dimension 2 on."""
        from versadp.privacy.curves.radial import log_density

        z = np.linalg.solve(self._root, np.atleast_1d(np.asarray(x, dtype=float)).T)
        radius = np.sqrt(np.einsum("j...,j...->...", z, z))
        return np.asarray(log_density(self.dim, radius) - np.log(np.diag(self._root)).sum())

    def pdf(self, x: ArrayLike) -> Array:
        """Return the density at each row of x."""
        return np.asarray(np.exp(self.logpdf(x)))

    def cf(self, t: ArrayLike) -> Array:
        """Return the characteristic function at each row of t; it is real."""
        z = np.atleast_1d(np.asarray(t, dtype=float)) @ self._root
        return np.asarray(1 / (1 + np.einsum("...j,...j->...", z, z) / 2))


@dataclass(frozen=True, eq=False)
class ZeroInflatedSymmetricLaplace:
    """The zero-inflated symmetric multivariate Laplace distribution (the paper's section 3.1).

    Parameters
    ----------
    exact_rate : float
        Probability of 0, in [0, 1).
    cov : array_like (d, d), or a number for d = 1
        Covariance of the Laplace part.

    Examples
    --------
    >>> law = ZeroInflatedSymmetricLaplace(0.2, np.eye(2))
    >>> float((law.rvs(10_000, 0) == 0).all(axis=1).mean().round(1))
    0.2
    >>> float(law.cf([0.0, 0.0]))
    1.0
    """

    exact_rate: float
    cov: ArrayLike

    def __post_init__(self) -> None:
        check_rate("exact_rate", self.exact_rate)
        _ = self.laplace

    @cached_property
    def laplace(self) -> SymmetricLaplace:
        """The Laplace part."""
        return SymmetricLaplace(self.cov)

    def rvs(self, size: int, random_state: int | np.random.Generator | None = None) -> Array:
        """Return `size` draws, array (size, d)."""
        rng = np.random.default_rng(random_state)
        exact = rng.random(size) < self.exact_rate
        draws = self.laplace.rvs(size, rng)
        draws[exact] = 0.0
        return draws

    def pdf(self, x: ArrayLike) -> Array:
        """Return the density of the continuous part, of total mass `1 - exact_rate`; the rest is an atom at 0."""
        return (1 - self.exact_rate) * self.laplace.pdf(x)

    def cf(self, t: ArrayLike) -> Array:
        """Return the characteristic function at each row of t; it is real."""
        return self.exact_rate + (1 - self.exact_rate) * self.laplace.cf(t)
