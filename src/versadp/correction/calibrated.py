"""A form of the correction with what totals add: patched scores, record by record.

    r_i(theta)  =  psi_s(Z_i; theta)  +  patch(theta)  -  c_i(theta),        patch(theta) = Σ_k lambda_k E_U[s 𝒩 phi_k]

Their mean is the calibrated mean score, since `c_i = B (psi_phi(Z_i) - mean)` has mean 0 over all records; and their
spread is that of what the totals leave of the records' noise. B is the gain at the estimate, and its derivative there,

    c_i(theta)  =  [B + Σ_k (theta - theta_0)_k dB_k] (psi_phi(Z_i) - mean).

What the totals bring along, their own noise and the sampling error that they share with the records, does not vary
between records: it is added to products of scores (`Beyond`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.correction.form import Form

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.calibration import Calibration
    from versadp.correction.form import Sums
    from versadp.correction.model import Model
    from versadp.correction.records import Records

    Array = NDArray[np.float64]

KEPT_THETAS = 8  # parameters whose patch is kept: lots of records that are worked on together ask for the same


@dataclass(frozen=True, eq=False)
class UniformScores:
    """The model's score on weighted uniform points, summed up.

    Attributes
    ----------
    model : Model
    rows : object
        Of the model, at the points.
    weight : array (N,)
        Masses times the density of the totals.
    """

    model: Model
    rows: Any
    weight: Array
    _known: dict[bytes, tuple[Array, Array]] = field(default_factory=dict, init=False, repr=False)

    def at(self, theta: Array) -> tuple[Array, Array]:
        """Return what totals add to the mean score, (p,), and to the mean Hessian."""
        key = theta.tobytes()
        found = self._known.get(key)
        if found is None:
            score = np.zeros((1, 1, self.model.size))
            nobody = np.zeros(self.weight.size, np.int64)
            bend = self.model.add_up(self.rows, theta, self.weight[None], nobody, score, hessian=True)
            found = score[0, 0], bend
            while len(self._known) >= KEPT_THETAS:
                self._known.pop(next(iter(self._known)), None)
            self._known[key] = found
        return found


@dataclass(frozen=True, eq=False)
class Controls:
    """Control variates of totals: the part taken off each record's score, and the part added to the mean.

    Attributes
    ----------
    calibration : Calibration
    gain : array (p (1 + p), features) or (p, features)
        B, and its derivatives by each parameter.
    theta : array (p,)
        Where they were taken.
    beyond : array (p, p)
        What is added to the covariance of scores, per record.
    raw : array (p, p)
        The covariance of scores without any noise.
    alone : array (p, p), optional
        That of the records without totals.
    """

    calibration: Calibration
    gain: Array
    theta: Array
    beyond: Array
    raw: Array
    alone: Array | None = None

    def of(self, codes: NDArray[np.int16]) -> Array:
        """Return `B (psi_phi(Z_i) - mean)` of records by their outputs (n, columns), (n, K)."""
        own = self.calibration.features
        place = {name: j for j, name in enumerate(own.columns)}
        out = np.tile(-(self.gain @ self.calibration.by_records), (len(codes), 1))
        for support, table in own.tables(self.gain).items():
            undone = np.moveaxis(own.undone(support, table), 0, -1)
            at = codes[:, place[support[0]]].astype(np.int64)
            if len(support) == 2:
                at = at * undone.shape[1] + codes[:, place[support[1]]]
            out += np.take(undone.reshape(-1, len(self.gain)), at, axis=0)
        return out

    def taken(self, values: Array, theta: Array) -> Array:
        """Return what is taken off scores at theta, (n, p)."""
        p = self.theta.size
        here = values[:, :p]
        if values.shape[1] == p:
            return here
        return np.asarray(here + values[:, p:].reshape(-1, p, p) @ (theta - self.theta))


@dataclass(frozen=True, eq=False)
class Calibrated(Form):
    """One form of one member, calibrated to totals.

    Attributes
    ----------
    form : Form
    scores : UniformScores
    controls : Controls, optional
        Known once there is an estimate.
    spread : array (p, p), optional
        The covariance of calibrated scores, where it is that of a random part of the records.
    told : Controls, optional
        Those by which that was found.
    """

    form: Form
    scores: UniformScores
    controls: Controls | None = None
    spread: Array | None = None
    told: Controls | None = None

    @property
    def known(self) -> Controls | None:
        """The controls, of all records or of a random part."""
        return self.controls or self.told

    @property
    def names(self) -> tuple[str, ...]:
        """The one member."""
        return tuple(self.form.names)

    @property
    def said(self) -> str:
        """The correction of the records, in words."""
        return str(self.form.said)

    @property
    def points(self) -> int:
        """Numbers that are kept for a record."""
        return int(self.form.points) + (0 if self.controls is None else len(self.controls.gain))

    @property
    def evaluations(self) -> int:
        """Points per record at which a function of records is evaluated."""
        return int(self.form.evaluations)

    @property
    def placed(self) -> bool:  # type: ignore[override] # as the form of the records has it
        """True if draws are by the place of a record."""
        return bool(self.form.placed)

    @property
    def evaluator(self) -> str:  # type: ignore[override] # as above
        """Evaluation of scores."""
        return str(self.form.evaluator)

    def prepare(self, records: Records, rng: np.random.Generator) -> tuple[Any, Array | None]:
        """Return all that does not depend on theta."""
        taken = None
        if self.controls is not None:
            assert records.codes is not None
            taken = self.controls.of(records.codes)
        return self.form.prepare(records, rng), taken

    def evaluate(self, prepared: Any, theta: Array, mix: Array, *, hessian: bool) -> tuple[Array, Array]:
        """Return calibrated scores (n, G, p), and the Hessian."""
        seen, taken = prepared
        score, bend = self.form.evaluate(seen, theta, mix, hessian=hessian)
        added, bending = self.scores.at(theta)
        own = added if taken is None else added - self.controls.taken(taken, theta)[:, None]  # type: ignore[union-attr] # with controls
        share = mix.sum(axis=1)[None, :, None]
        return score + own * share, bend + len(score) * bending * mix[0].sum() if hessian else bend

    def sums(self, prepared: Any, theta: Array, mix: Array, *, hessian: bool) -> Sums:
        """Return number, sum of scores, of their products with what is beyond, and of Hessians."""
        if self.controls is None:
            n, total, outer, bend = self.form.sums(prepared[0], theta, mix, hessian=hessian)
            added, bending = self.scores.at(theta)
            cross = np.outer(total.ravel(), added)
            outer = outer + cross + cross.T + n * np.outer(added, added)
            total, bend = total + n * added, bend + n * bending if hessian else bend
        else:
            n, total, outer, bend = super().sums(prepared, theta, mix, hessian=hessian)
        if self.spread is not None:
            outer = n * self.spread + np.outer(total.ravel(), total.ravel()) / n
        elif self.controls is not None:
            outer = outer + n * self.controls.beyond
        return n, total, outer, bend
