r"""Several guarantees at once: blocks of one record, or releases of the same people.

Losses add, and every part is treated by the sharpest means there is:

- zero inflation: all coins must spare the record, ``ρ = 1 - Π(1 - ρ_i)``, exactly;
- sampler errors add;
- Gaussians: ``μ² = Σ μ_i²``, exactly;
- discrete losses (randomised response) among themselves: their atoms multiply out, exactly;
- discrete with one other profile: `delta(ε) = Σ_l Q(L = l) delta(ε - l)`, exactly;
- two or more curves: `versadp.privacy.layers.mesh`, a convolution that bounds delta from above.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from versadp.privacy.curves.discrete import Discrete, identity, product
from versadp.privacy.curves.gaussian import Gaussian
from versadp.privacy.layers.inflation import ZeroInflated
from versadp.privacy.layers.layer import Layer
from versadp.privacy.layers.slack import WithSlack, slack_of, with_slack
from versadp.privacy.profile import PrivacyProfile, require_profile, up

Array = NDArray[np.float64]

_MANY = 1500  # atoms beyond this number are moved to a grid
_CHUNK = 200_000


@dataclass(frozen=True)
class Shifted(Layer):
    """`base` composed with a discrete loss of given atoms, which are finite: a mixture of shifted curves."""

    atoms: Discrete
    title: str = field(compare=False)

    @property
    def pure_epsilon(self) -> float:
        """The sum of the largest losses."""
        return float(up_any(self.base.pure_epsilon + self.atoms.pure_epsilon))

    @property
    def _kinks(self) -> Array:
        kinks = self.base._kinks
        return np.unique(np.abs(np.add.outer(np.append(kinks, -kinks), self.atoms.losses)))

    def _title(self) -> str:
        return self.title

    def _curve(self, epsilon: Array) -> tuple[Array, Array]:
        losses, masses = np.array(self.atoms.losses), np.array(self.atoms.masses)
        rows = max(1, _CHUNK // len(losses))
        parts = [self._mix(epsilon[i : i + rows], losses, masses) for i in range(0, len(epsilon), rows)]
        return np.concatenate([d for d, _ in parts]), np.concatenate([a for _, a in parts])

    def _mix(self, epsilon: Array, losses: Array, masses: Array) -> tuple[Array, Array]:
        points, where = np.unique(epsilon[:, None] - losses, return_inverse=True)
        delta, alarms = self.base._signed(points)
        where = where.reshape(len(epsilon), len(losses))
        return up((delta[where] * masses).sum(axis=1), 4), (alarms[where] * (masses * np.exp(-losses))).sum(axis=1)


def up_any(value: float) -> float:
    """Round a nonnegative number up by a few units in the last place.

    Parameters
    ----------
    value : float

    Returns
    -------
    float

    Examples
    --------
    >>> up_any(2.0) > 2.0
    True
    """
    return value * (1 + 2.0**-50)


@dataclass
class _Parts:
    """Parts of a list of profiles by how they compose."""

    exact_rate: float = 0.0
    tv: float = 0.0
    relative: Array = field(default_factory=lambda: np.zeros(3))  # tv, lost and far, where they are known
    mu_squared: float = 0.0
    losses: Array = field(default_factory=lambda: np.zeros(1))
    masses: Array = field(default_factory=lambda: np.ones(1))
    curves: list[PrivacyProfile] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)

    def add(self, profile: PrivacyProfile, weight: float = 1.0) -> None:
        """Take a profile apart; `weight` is the probability that its coins spare the record."""
        if isinstance(profile, WithSlack):
            if profile.lost < 1:
                self.relative += weight * profile.tv, profile.lost, weight * profile.far
            else:
                self.tv += weight * profile.tv
            self.add(profile.base, weight)
        elif isinstance(profile, ZeroInflated):
            more = (1 - self.exact_rate) * profile.exact_rate
            self.exact_rate = float(up(self.exact_rate + more)) if self.exact_rate else profile.exact_rate
            self.add(profile.base, weight * (1 - profile.exact_rate))
        elif isinstance(profile, Gaussian):
            self.mu_squared += profile.mu**2
        elif isinstance(profile, Discrete):
            self._discrete(profile)
        elif isinstance(profile, Shifted):
            self._discrete(profile.atoms)
            self.add(profile.base, weight)
        elif hasattr(profile, "members_of_grid"):
            self.curves.extend(profile.members_of_grid)
        else:
            self.curves.append(profile)

    def _discrete(self, profile: Discrete) -> None:
        self.losses, self.masses = product(self.losses, self.masses, np.array(profile.losses), np.array(profile.masses))
        if len(self.losses) > _MANY:
            from versadp.privacy.layers.mesh import coarsen

            self.losses, self.masses = coarsen(self.losses, self.masses, _MANY // 3)


def _trivial(profile: PrivacyProfile) -> bool:
    return isinstance(profile, Discrete) and profile.pure_epsilon == 0


def _core(profile: PrivacyProfile) -> PrivacyProfile:
    """Return what stands under the inflation and the slack, which are told for all parts together."""
    while isinstance(profile, ZeroInflated | WithSlack):
        profile = profile.base
    return profile


def compose(*profiles: PrivacyProfile) -> PrivacyProfile:
    """Return the profile of independent mechanisms applied to the same record.

    Parameters
    ----------
    *profiles : PrivacyProfile
        Blocks of one record, or releases of the same people; none at all is perfect privacy.

    Returns
    -------
    PrivacyProfile
        Exact with at most one curve among them; with more, an upper bound on delta, and `notes` says how tight.

    Examples
    --------
    >>> from versadp.privacy import randomized_response, symmetric_laplace
    >>> p = compose(symmetric_laplace(3, 0.5), randomized_response(4, 0.2), randomized_response(2, 0.1))
    >>> round(p.delta(1.0), 6)
    0.103295
    """
    for profile in profiles:
        require_profile("profiles", profile)
    real = [p for p in profiles if not _trivial(p)]
    if len(real) <= 1:
        return real[0] if real else identity()
    parts = _Parts()
    for profile in real:
        parts.add(profile)
    counted = Counter(_core(p)._title() for p in real)
    title = " + ".join(f"{n} times {name}" if n > 1 else name for name, n in counted.items())
    return _assemble(parts, title)


def _assemble(parts: _Parts, title: str) -> PrivacyProfile:
    if parts.mu_squared:
        parts.curves.append(Gaussian(float(up_any(np.sqrt(parts.mu_squared)))))
    atoms = Discrete(tuple(parts.losses.tolist()), tuple(parts.masses.tolist()), title)
    whole: PrivacyProfile
    if not parts.curves:
        whole = atoms
    else:
        if len(parts.curves) == 1:
            base = parts.curves[0]
        else:
            from versadp.privacy.layers.mesh import convolve

            base = convolve(tuple(parts.curves))
        whole = base if _trivial(atoms) else Shifted(base, atoms, title)
    if parts.exact_rate:
        whole = ZeroInflated(whole, parts.exact_rate)
    if parts.relative[0]:
        whole = slack_of(whole, *parts.relative.tolist())
    return with_slack(whole, parts.tv)
