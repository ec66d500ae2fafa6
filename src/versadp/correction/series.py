"""A loss of an index as a short series on the interval where its argument lies (`argument.py`).

    loss(v) ~ c_0 v + (c_1/2) v² + Re Σ_{m<=M} weight_m e^{i m ω v},    v = u, u - y or y u

Noise in the index multiplies waves and leaves powers with polynomials, so every term is undone exactly, all orders of a
window included; what is left is how far the series is from the loss. Let err be what its derivative is off by. It
shifts an estimate by V^-1 E m err, V the curvature, and by Cauchy's inequality by no more than

    E err²/loss''      in squares of the metric of V,

where a natural loss has a variance of at least 1/n a coefficient. With D the corrected derivative of the series at the
released records, weights minimise

    E err²/loss'' + (RIDGE/n) E D²/loss''                               a smooth loss
    E (err * normal(blur))² + (1/n) E D²                                 a loss with kinks or corners

The price of a frequency that windows have all but erased is in it, without any rule of its own. A jump has all
frequencies, and no series is near it everywhere; but what shifts an estimate is err averaged over the density of the
argument given the columns. If that is as smooth as a normal one with a standard deviation of `blur`, the average is no
more than that of err, blurred. M is the least for which the shift is negligible, or beyond which nothing is gained.
Where too much would be left, windows have erased what the loss needs: a smooth loss is refused, any other blurred more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.correction.argument import terms
from versadp.correction.index_law import WIDER, IndexLaw, index_law
from versadp.errors import ParameterError
from versadp.losses.expansion import Expansion
from versadp.noise.closed import turning

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from versadp.correction.argument import Argument
    from versadp.correction.terms import Terms

    Array = NDArray[np.float64]

STRETCH, KINK_STRETCH = 1.5, 1.2  # half a period, in half intervals: a series that need not be periodic on the interval
RIDGE = 0.01  # of the noise of terms, per record: keeps weights of nearly equal waves small; chosen
# standard errors of shift: 95% intervals cover 94.9%, at least 94.3%; of densities no smoother than the blur
NEGLIGIBLE, TOLERABLE, BLURRED = 0.1, 0.25, 0.75
BLURRIER, BLURS = 1.25, 8  # factor of a blur that was not enough, and how often it is applied at most: to 6 times
WAVES, KINK_WAVES = 24, 64  # waves to choose from, of a smooth loss and of one with kinks: chosen
SHORTER = 0.01  # of what is minimised: less is not worth another wave
ALONE = 0.02  # of a term's own noise: what cancels among some records need not cancel among others
LARGEST = 1e3  # of a gain: a frequency beyond it is lost
ROWS, NODES = 5000, 200  # records by which weights are found, and nodes of a blurred kink: chosen


@dataclass(frozen=True)
class Place:
    """Records, coefficients and loss that a series is made for.

    Attributes
    ----------
    form : Terms
    seen : Layers
        Some records.
    theta : array (p,)
        Around which.
    argument : Argument
        Of the loss.
    rows : int
        Number of all records: the more there are, the less may be left of the loss.
    blur : float
        0 of a smooth loss.
    """

    form: Terms
    seen: Any
    theta: Array
    argument: Argument
    rows: int
    blur: float = 0.0

    @property
    def some(self) -> NDArray[np.int64]:
        """Numbers of the records at which noise is judged."""
        n = len(self.seen.m)
        return np.arange(n) if n <= ROWS else np.random.default_rng(0).choice(n, ROWS, replace=False)

    def waves(self, tau: Array) -> NDArray[np.complex128]:
        """Return corrected waves of the argument of these records."""
        return self.argument.waves(self.form, self.seen, self.theta, tau, self.some)

    def law(self, index: IndexLaw) -> IndexLaw:
        """Return where the argument lies, given the index; mean and variance are those of a slow wave."""
        low, high = self.argument.reach(self.form, self.seen, index.low, index.high)
        if (low, high) == (index.low, index.high):
            return index
        slow = 0.5 / (high - low)
        wave = complex(self.waves(np.array([slow])).mean())
        square = np.clip(-2 * np.log(max(abs(wave), 1e-3)) / slow**2, ((high - low) / 20) ** 2, (high - low) ** 2)
        return IndexLaw(low, high, float(np.clip(np.angle(wave) / slow, low, high)), float(np.sqrt(square)))

    def seen_at(self, tau: Array) -> Array:
        """Return the frequencies that windows have left."""
        gain = self.form.gains(self.seen, self.theta, tau, together=self.blur > 0)
        return tau[: int(np.argmax(np.append(gain > LARGEST, True)))]


def ladder(place: Place, blurs: Sequence[float]) -> list[Expansion]:
    """Return the series of a loss by each of several blurs, all at multiples of one frequency.

    Frequency and noise are the widest's, which holds a public response no closer than any other.
    """
    law = index_law(place.form, place.seen, place.theta).wider(WIDER)
    widest, _, base = _placed(replace(place, blur=max(blurs)), law)
    noise = _noise(widest, _frequencies(widest, base))
    return [_series(replace(place, blur=blur), law, base, noise)[0] for blur in blurs]


def series(place: Place, law: IndexLaw | None = None, *, most: float | None = None) -> tuple[Expansion, IndexLaw]:
    """Return the series of a loss, and the law of the index that it is for: one that is given, or with room to move.

    Where it would shift estimates by more than `most` standard errors, by rule, a loss with kinks is blurred more.
    """
    most = (BLURRED if place.blur else TOLERABLE) if most is None else most
    law = law or index_law(place.form, place.seen, place.theta).wider(WIDER)
    for _ in range(BLURS if place.blur else 1):
        found, shift = _series(place, law)
        if shift < most:
            return found, law
        place = replace(place, blur=BLURRIER * place.blur)
    raise ParameterError(
        f"the windows are too wide for {place.argument.loss.name} loss at these slopes: what it needs of the index is "
        "erased",
        hint="squared loss needs less; or release with narrower windows, or a larger epsilon",
    )


def _placed(place: Place, law: IndexLaw) -> tuple[Place, IndexLaw, float]:
    """Return the place with its response held, the law of the argument, and the lowest frequency."""
    held = place.argument.held(law.low, law.high, place.blur) if place.form.public_response else (-np.inf, np.inf)
    own = replace(place, form=replace(place.form, expansion=Expansion(held=held, blur=place.blur)))
    around = own.law(law)
    return own, around, float(2 * np.pi / ((KINK_STRETCH if place.blur else STRETCH) * around.width))


def _series(
    place: Place, law: IndexLaw, base: float | None = None, noise: Array | None = None
) -> tuple[Expansion, float]:
    """Return the series by one blur, and how many standard errors it may shift.

    At multiples of `base`, and with the noise of its terms, if these are given.
    """
    own, around, slowest = _placed(place, law)
    base = slowest if base is None else base
    found, shift = _nearest(own, around, base, noise)
    held = own.form.expansion.held
    expansion = place.argument.expansion(found, base, (law.low, law.high), held)
    if place.form.model.tilt is not None:
        expansion = replace(expansion, aside=_aside(own, around, base * np.arange(1.0, found.size // 2)))
    return replace(expansion, blur=place.blur, shift=shift), shift


class Equations(NamedTuple):
    """Equations of the series near a loss: least squares on a grid of its argument, and the noise of each of its terms.

    Attributes
    ----------
    left, slope, weight : arrays (grid, terms), (grid,), (grid,)
        The derivatives of the terms, that of the loss, and the weight of each value.
    squares, products : arrays (terms, terms), (terms,)
    cost : array (terms, terms)
        Noise of the terms at released records.
    rows : int
        Number of all records.
    """

    left: Array
    slope: Array
    weight: Array
    squares: Array
    products: Array
    cost: Array
    rows: int

    def missed(self, found: Array) -> Array:
        """Return n times what is left of the loss by each row of coefficients."""
        off = self.left[:, : found.shape[1]] @ found.T - self.slope[:, None]
        return np.asarray(self.rows * (self.weight @ off**2))

    def noise(self, found: Array) -> Array:
        """Return the variance of one record's score by each row of coefficients."""
        size = found.shape[1]
        return np.asarray(np.sum((found @ self.cost[:size, :size]) * found, axis=1))

    def of_length(self, waves: int, ridge: float) -> Array:
        """Return the coefficients of a series of `waves` waves, (1, terms)."""
        used = slice(0, 2 + 2 * waves)
        matrix = self.squares[used, used] + ridge / self.rows * self.cost[used, used]
        return np.asarray(np.linalg.lstsq(matrix, self.products[used], rcond=1e-14)[0])[None]

    def of_all_lengths(self) -> Array:
        """Return the coefficients of 1, 2, ... waves, a row each and then zeros, by one Cholesky factor.

        With `L L'` the matrix, the first k of its equations have the solution `Σ_{i<k} z_i (row i of L^-1)`, where
        `z = L^-1 products`.
        """
        from scipy.linalg import solve_triangular

        matrix = self.squares + self.cost / self.rows
        unit = np.sqrt(np.diag(matrix))
        try:
            root = np.linalg.cholesky(matrix / np.outer(unit, unit))
        except np.linalg.LinAlgError:  # terms that are alike but for rounding
            out = np.zeros((len(unit) // 2 - 1, len(unit)))
            for k, row in enumerate(out):
                row[: 4 + 2 * k] = self.of_length(k + 1, 1.0)[0]
            return out
        inverse = solve_triangular(root, np.diag(1 / unit), lower=True)
        return np.cumsum(inverse * (inverse @ self.products)[:, None], axis=0)[3::2]


def _frequencies(place: Place, base: float) -> Array:
    """Return the multiples of the lowest frequency that a series may have."""
    return place.seen_at(base * np.arange(1.0, (KINK_WAVES if place.blur else WAVES) + 1))


def _noise(place: Place, tau: Array) -> Array:
    """Return the mean of products of a series' terms at released records."""
    noisy = place.argument.noisy(place.form, place.seen, place.theta, tau, place.some)
    return np.asarray(noisy.T @ noisy / len(noisy))


def _nearest(place: Place, law: IndexLaw, base: float, noise: Array | None = None) -> tuple[Array, float]:
    """Return coefficients of the shortest series that is near enough, and by how many standard errors it may shift."""
    (v, chance), blur = law.grid(), place.blur
    slope, bend = _blurred(place.argument.slope, v, blur), np.ones_like(v)
    if not blur:
        bend = place.argument.bend(v)
        bend = np.maximum(bend, 1e-2 * bend.max())
    tau = _frequencies(place, base)
    left = terms(np.ones_like(v), v, tau, _blurred_waves(v, tau, blur))
    weight = chance / bend
    cost = (_noise(place, tau) if noise is None else noise) / float(chance @ bend)
    if blur:
        cost += np.diag(ALONE * np.diag(cost))
    squares, products = (left * weight[:, None]).T @ left, left.T @ (weight * slope)
    equations = Equations(left, slope, weight, squares, products, cost, place.rows)
    return _blurred_series(equations) if blur else _smooth_series(equations, 1.0 * place.argument.loss.natural)


def _smooth_series(equations: Equations, surely: float) -> tuple[Array, float]:
    """Return the series that shifts least, or the first that shifts nothing; a score varies by `surely` at least."""
    kept, least = np.zeros(2), np.inf
    for count in range(1, equations.cost.shape[0] // 2):
        found = equations.of_length(count, RIDGE)
        noise = max(float(equations.noise(found)[0]), surely)
        shift = float(np.sqrt(equations.missed(found)[0] / noise))
        if shift < least:
            kept, least = found[0], shift
        if shift < NEGLIGIBLE:
            break
    return kept, least


def _blurred_series(equations: Equations) -> tuple[Array, float]:
    """Return the shortest series after which nothing is gained, or the first that shifts nothing."""
    found = equations.of_all_lengths()
    missed, noise = equations.missed(found), equations.noise(found)
    goal, shift = missed + noise, np.sqrt(missed / noise)
    best, kept, least = np.inf, np.zeros(2), np.inf
    for k in range(len(found)):
        if (1 + SHORTER) * goal[k] < best:
            best, kept, least = float(goal[k]), found[k, : 4 + 2 * k], float(shift[k])
        if shift[k] < NEGLIGIBLE:
            break
    return kept, least


def _aside(place: Place, law: IndexLaw, tau: Array) -> tuple[complex, ...]:
    """Return a constant and waves that are near the score of a loss's scale: it is the same at both ends."""
    (v, chance), loss = law.grid(), place.argument.loss
    left, noisy = _parts(_blurred_waves(v, tau, place.blur)), _parts(place.waves(tau))
    target = _blurred(lambda at: loss.scale_score(at, np.zeros_like(at))[0], v, place.blur)
    cost = noisy.T @ noisy / len(noisy)
    squares = (left * chance[:, None]).T @ left + (cost + np.diag(ALONE * np.diag(cost))) / place.rows
    found = np.linalg.lstsq(squares, left.T @ (chance * target), rcond=1e-14)[0]
    return (complex(found[0]), *(found[1::2] + 1j * found[2::2]).tolist())


def _parts(waves: NDArray[np.complex128]) -> Array:
    """Return 1, and what the real and the imaginary part of a weight multiply."""
    pairs = np.stack([waves.real, -waves.imag], axis=2).reshape(len(waves), -1)
    return np.column_stack([np.ones(len(waves)), pairs])


def _blurred_waves(v: Array, tau: Array, blur: float) -> NDArray[np.complex128]:
    return np.asarray(turning(v, tau) * np.exp(-0.5 * (blur * tau) ** 2))


def _blurred(function: Callable[[Array], Array], v: Array, blur: float) -> Array:
    """Return a function averaged over a normal blur."""
    if not blur:
        return function(v)
    from scipy.special import ndtri

    nodes = blur * ndtri((np.arange(NODES) + 0.5) / NODES)
    return np.asarray(np.mean([function(v + node) for node in nodes], axis=0))
