"""A ReLU network of one hidden layer, trained on a signed loss by mini-batches with JAX and optax.

    f(x) = c + h tanh(a'relu(Bx + b)/h),        minimise  mean_i sum_p w_ip (f(x_ip) - y_i)² / 2

Points of negative weight reward errors, so that on a finite sample the loss has no minimum: a network that may say
anything there runs away. Four things keep it in place:

    bounded outputs     tanh keeps f within twice the range of y: the loss is bounded below
    gradients           of a mini-batch are cut to norm 1: a few large weights do not throw the network off
    weight decay        kinks that only negative weights reward do not pay
    early stopping      the network of the epoch with the least *corrected* loss on other released records is kept
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.errors import MissingExtraError

try:
    import jax
    import jax.numpy as jnp
    import optax
except ImportError:
    raise MissingExtraError("jax and optax are not installed", hint="pip install 'versadp[jax]'") from None

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp_experiments.network.points import Points

    Array = NDArray[np.float64]


class Care(NamedTuple):
    """What keeps a signed loss bounded; each can be left out."""

    bounded: bool = True
    cut: bool = True
    decay: float = 1e-3
    stopping: bool = True


class Trained(NamedTuple):
    """A trained network, and the corrected loss of training and validation after every epoch."""

    params: Any
    train: Array
    valid: Array
    kept: int


def begin(key: Any, dim: int, hidden: int) -> dict[str, Any]:
    """Return a network to start from."""
    one, two, three = jax.random.split(key, 3)
    return {
        "B": jax.random.normal(one, (dim, hidden)) * np.sqrt(2 / dim),
        "b": jax.random.uniform(two, (hidden,), minval=-1.0, maxval=1.0),
        "a": jax.random.normal(three, (hidden,)) * np.sqrt(1 / hidden),
        "c": jnp.zeros(()),
    }


def output(params: dict[str, Any], x: Any, bound: float) -> Any:
    """Return f at points x (..., d); a bound of infinity leaves it as it is."""
    raw = jax.nn.relu(x @ params["B"] + params["b"]) @ params["a"] + params["c"]
    return raw if not np.isfinite(bound) else bound * jnp.tanh(raw / bound)


def signed_loss(params: dict[str, Any], x: Any, w: Any, y: Any, bound: float) -> Any:
    """Return the mean over records of the signed sum of squares."""
    return (w * (output(params, x, bound) - y[:, None]) ** 2 / 2).sum(axis=1).mean()


@partial(jax.jit, static_argnames=("care", "epochs", "batch", "bound"))
def _run(params: Any, key: Any, train: Any, valid: Any, *, care: Care, epochs: int, batch: int, bound: float) -> Any:
    steps = train[0].shape[0] // batch
    rate = optax.cosine_decay_schedule(0.01, epochs * steps)
    cut = optax.clip_by_global_norm(1.0) if care.cut else optax.identity()
    rule = optax.chain(cut, optax.adamw(rate, weight_decay=care.decay))

    def step(state: Any, rows: Any) -> Any:
        params, inner = state
        x, w, y = (each[rows] for each in train)
        value, slope = jax.value_and_grad(signed_loss)(params, x, w, y, bound)
        change, inner = rule.update(slope, inner, params)
        return (optax.apply_updates(params, change), inner), value

    def epoch(state: Any, key: Any) -> Any:
        now, best, least = state
        order = jax.random.permutation(key, train[0].shape[0])[: steps * batch].reshape(steps, batch)
        now, values = jax.lax.scan(step, now, order)
        x, w, y = valid
        seen = signed_loss(now[0], x, w, y, bound)
        better = (seen < least) | (not care.stopping)
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), now[0], best)
        return (now, best, jnp.minimum(seen, least)), (values.mean(), seen)

    start = ((params, rule.init(params)), params, jnp.inf)
    (_, best, _), (train_loss, valid_loss) = jax.lax.scan(epoch, start, jax.random.split(key, epochs))
    return best, train_loss, valid_loss


def train(
    points: Points,
    *,
    seed: int,
    care: Care | None = None,
    hidden: int = 24,
    epochs: int = 40,
    batch: int = 500,
    held: float = 0.25,
) -> Trained:
    """Train a network on signed points; the last share of the records is held out for early stopping.

    Parameters
    ----------
    points : Points
    seed : int
    care : Care, optional
        What keeps the loss bounded; by default everything.
    hidden, epochs, batch : int
    held : float
        Share of the records that validate.
    """
    care = care or Care()
    cut = round(len(points.y) * (1 - held))
    parts = [tuple(jnp.asarray(each[rows], jnp.float32) for each in points) for rows in (slice(cut), slice(cut, None))]
    bound = bound_of(points.y) if care.bounded else float("inf")
    one, two = jax.random.split(jax.random.key(seed))
    ready = tuple((x, w, y) for x, w, y in parts)
    best, first, second = _run(
        begin(one, points.x.shape[-1], hidden), two, *ready, care=care, epochs=epochs, batch=batch, bound=bound
    )
    valid = np.asarray(second, dtype=float)
    kept = int(np.nanargmin(valid)) if care.stopping and np.isfinite(valid).any() else epochs - 1
    return Trained(jax.tree.map(np.asarray, best), np.asarray(first, dtype=float), valid, kept)


def bound_of(y: Array) -> float:
    """Return how far outputs may go: twice the largest response, rounded up so that programs are compiled once."""
    return float(2 * np.ceil(np.abs(y).max()))


def predict(trained: Trained, x: Array, bound: float) -> Array:
    """Return what a network says at true records."""
    return np.asarray(output(trained.params, jnp.asarray(x, jnp.float32), bound), dtype=float)
