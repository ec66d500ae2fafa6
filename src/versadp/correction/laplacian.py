"""Correction by the Laplacian: smooth losses of an index, a design that is linear in the noisy columns, any exact rate.

    v(X1) - ((1 - r)/2) mean over draws of Lap v(X1 + S),      v(x) = psi(P(x)) A(q(x))

psi = s(u) m is the score; P clips softly, column by column, `P_j = c_j + e_j k/(k + |e_j|)` with c the nearest point of
the box and e = x - c; A is the profile, q = |e|^2. P and A have continuous gradients and bounded second derivatives on
the border of the box, so there are no surface terms. With `alpha` the slope of the index, g = 2 A_q e and
`Lap A = 4 q A_qq + 2 A_q #{e_j != 0}`,

    Lap v_i = m_i [A (s'' Σ a_j² P'_j² + s' Σ a_j P''_j) + 2 s' Σ a_j P'_j g_j + s Lap A]
              + (noisy i) [2 A s' a_c P'_c² + A s P''_c + 2 s g_c P'_c].

No factor 1/r appears, so the variance stays bounded as r goes to 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from versadp.correction.signed import stratified
from versadp.losses.record import differences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.model import Batch, CustomModel, LinearModel, Units
    from versadp.correction.profiles import Profile

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Place:
    """Points of a batch, with all of their geometry that does not depend on theta."""

    m: Array  # design (n, p)
    y: Array
    p1: Array  # P' and P'' of each block column (n, d)
    p2: Array
    e: Array
    q: Array
    outside: Array  # number of columns outside the box
    profile: tuple[Array, Array, Array]  # factor and derivatives in q, each (n, members)


@dataclass(frozen=True)
class Places:
    """X1 (or X2 in its stead) and the second randomisations of a batch."""

    first: tuple[Place, ...]
    second: tuple[Place, ...]
    weight: Array | None


@dataclass(frozen=True)
class Laplacian:
    """Members that share one set of draws.

    Attributes
    ----------
    profiles : tuple of Profile
        One member each.
    soft : float
        Length k of the soft clip in noise units; 0 leaves points where they are.
    count : int
        Draws, or pairs of draws, a record.
    paired : bool
        Antithetic pairs.
    at_second : bool
        The paper's SL: `v(X2) - (1/2) Lap v(X2)`, X1 is not used.
    """

    model: LinearModel
    units: Units
    profiles: tuple[Profile, ...]
    soft: float = 0.5
    count: int = 1
    paired: bool = True
    at_second: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The members."""
        return tuple("soft clip" if self.soft and p.name == "none" else p.name for p in self.profiles)

    def prepare(self, batch: Batch, rng: np.random.Generator) -> Places:
        """Draw the points of a batch and keep their geometry."""
        z, rate = batch.z, self.units.exact_rate
        if rate == 0:  # S vanishes
            here = self._place(z, batch)
            return Places((here,), (here,), batch.weight)
        s = stratified(rng, len(z), self.count, z.shape[1]) * np.sqrt(rate)
        signs = (1.0, -1.0) if self.paired else (1.0,)
        second = tuple(self._place(z + sign * s[:, k], batch) for k in range(self.count) for sign in signs)
        return Places(second if self.at_second else (self._place(z, batch),), second, batch.weight)

    def evaluate(self, places: Places, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return scores (n, G, p) of the G combinations in mix (G, members), and the Hessian of the first."""
        n, size = len(places.second[0].m), self.model.size
        out, total = np.zeros((n, len(mix), size)), np.zeros((size, size))
        half = 0.5 if self.at_second else (1 - self.units.exact_rate) / 2
        one = np.ones(n) if places.weight is None else places.weight
        for place in places.first:
            self._add_value(place, theta, mix, (out, total if hessian else None), one / len(places.first))
        for place in places.second:
            scale = -half / len(places.second) * one
            self._add_laplacian(place, theta, mix, (out, total if hessian else None), scale)
        return out, total

    def _place(self, z: Array, batch: Batch) -> Place:
        c = self.units.clip(z)
        e = z - c
        if self.soft:
            rho = self.soft / (self.soft + np.abs(e))
            points, p1, p2 = c + e * rho, rho * rho, (-2.0 / self.soft) * np.sign(e) * rho**3
        else:
            points, p1, p2 = z, np.ones_like(z), np.zeros_like(z)
        q = np.einsum("ij,ij->i", e, e)
        m, y = self.model.rows(points, np.arange(len(z)), batch)
        kinds = [profile.derivatives(q) for profile in self.profiles]
        profile = tuple(np.stack(parts, axis=1) for parts in zip(*kinds, strict=True))
        return Place(m, y, p1, p2, e, q, np.count_nonzero(e, axis=1).astype(float), profile)  # type: ignore[arg-type]

    def _add_value(
        self, place: Place, theta: Array, mix: Array, into: tuple[Array, Array | None], scale: Array
    ) -> None:
        out, total = into
        s, s1 = self.model.loss.derivatives(place.m @ theta, place.y, 2)
        factor = scale[:, None] * (place.profile[0] @ mix.T)
        for g in range(len(mix)):
            out[:, g] += place.m * (s * factor[:, g])[:, None]
        if total is not None:
            total += place.m.T @ (place.m * (s1 * factor[:, 0])[:, None])

    def _add_laplacian(
        self, place: Place, theta: Array, mix: Array, into: tuple[Array, Array | None], scale: Array
    ) -> None:
        out, total = into
        model, noisy = self.model, self.model.noisy
        columns = model.columns[noisy]
        alpha = model.slope(theta, self.units.dim)
        s, s1, s2, s3 = model.loss.derivatives(place.m @ theta, place.y, 4)
        a2, a1, ag = (place.p1**2) @ alpha**2, place.p2 @ alpha, (place.p1 * place.e) @ alpha
        square, bend, pull = place.p1[:, columns] ** 2, place.p2[:, columns], (place.e * place.p1)[:, columns]
        factors = [scale[:, None] * (part @ mix.T) for part in place.profile]
        for g in range(len(mix)):
            a, f1 = factors[0][:, g], 2 * factors[1][:, g]
            lap = 4 * factors[2][:, g] * place.q + f1 * place.outside
            out[:, g] += place.m * (a * (s2 * a2 + s1 * a1) + 2 * s1 * f1 * ag + s * lap)[:, None]
            extra = (2 * a * s1)[:, None] * alpha[columns] * square
            out[:, g, noisy] += extra + (a * s)[:, None] * bend + (2 * s * f1)[:, None] * pull
        if total is not None:
            a, f1 = factors[0][:, 0], 2 * factors[1][:, 0]
            lap = 4 * factors[2][:, 0] * place.q + f1 * place.outside
            rad = a * (s3 * a2 + s2 * a1) + 2 * s2 * f1 * ag + s1 * lap
            total += place.m.T @ (place.m * rad[:, None])
            b = (2 * a * s2)[:, None] * alpha[columns] * square
            b += (a * s1)[:, None] * bend + (2 * s1 * f1)[:, None] * pull
            cross = b.T @ place.m
            total[noisy] += cross
            total[:, noisy] += cross.T
            total[noisy, noisy] += (2 * a * s1) @ square


@dataclass(frozen=True)
class CustomLaplacian:
    """A user's loss with a Laplacian of its own: `loss(X1) - ((1 - r)/2) mean laplacian(X2)`, no extension."""

    model: CustomModel
    units: Units
    count: int = 1
    at_second: bool = False
    names: tuple[str, ...] = ("none",)

    def prepare(self, batch: Batch, rng: np.random.Generator) -> tuple[Array, tuple[Array, ...]]:
        """Draw the points of a batch."""
        every = np.arange(batch.rows)
        s = stratified(rng, batch.rows, self.count, self.units.dim) * np.sqrt(self.units.exact_rate)
        second = tuple(self.model.rows(batch.z + s[:, k], every, batch) for k in range(self.count))
        return self.model.rows(batch.z, every, batch), second

    def evaluate(
        self, places: tuple[Array, tuple[Array, ...]], theta: Array, mix: Array, *, hessian: bool
    ) -> tuple[Array, Array]:
        """Return scores (n, G, p), and the Hessian by differences."""
        out = self._score(places, theta)[:, None] * mix.sum(axis=1)[None, :, None]
        if not hessian:
            return out, np.zeros((theta.size, theta.size))
        total = differences(lambda t: self._score(places, t).sum(axis=0), theta)
        return out, (total + total.T) / 2

    def _score(self, places: tuple[Array, tuple[Array, ...]], theta: Array) -> Array:
        first, second = places
        half = 0.5 if self.at_second else (1 - self.units.exact_rate) / 2
        values = second if self.at_second else (first,)
        loss = self.model.loss
        out: Array = np.mean([loss.gradient(x, theta) for x in values], axis=0)
        for x in second:
            out -= half / len(second) * differences(partial(loss.laplacian, x), theta)
        return out
