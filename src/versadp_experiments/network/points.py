"""Data for the network: made-up and real, released, and as signed points.

A record is P points x with weights w: `E sum_p w_p l(f(x_p), y) = l(f(x), y)` for any f, so that the corrected loss of
a network is a signed sum. Points of one record stay together, since their noise cancels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import versadp as vdp

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

DRAWS = 6
SPREAD = 0.5  # of the made-up response around its mean


class People(NamedTuple):
    """True records on [-1, 1], a public response, and its mean where that is known."""

    x: Array
    y: Array
    mean: Array | None = None


class Points(NamedTuple):
    """Records as signed points: x (n, P, d), weight (n, P), response (n,)."""

    x: Array
    weight: Array
    y: Array


def surface(x: Array) -> Array:
    """Return what the made-up response is around: a ridge, a valley and a saddle, that no line is near."""
    return 2 * np.maximum(x[:, 0], 0) - 1.5 * np.abs(x[:, 1]) + x[:, 0] * x[:, 1]


def simulated(rows: int, rng: np.random.Generator) -> People:
    """Return made-up people."""
    x = rng.uniform(-1, 1, (rows, 2))
    mean = surface(x)
    return People(x, mean + SPREAD * rng.standard_normal(rows), mean)


def real(rows: int, rng: np.random.Generator) -> People:
    """Return people of the RAND health insurance experiment: visits to a doctor by chronic diseases and income.

    The response is `log(1 + visits)`. People are resampled, so that every replication has others.
    """
    from statsmodels.datasets import randhie

    data = randhie.load_pandas().data
    chosen = data.iloc[rng.permutation(len(data))[:rows]]
    pairs = [(chosen["disea"].to_numpy(), 0.0, 40.0), (chosen["lpi"].to_numpy(), 0.0, 8.0)]
    x = np.column_stack([2 * (np.clip(v, low, high) - low) / (high - low) - 1 for v, low, high in pairs])
    return People(x, np.log1p(chosen["mdvis"].to_numpy(dtype=float)))


def mechanisms() -> dict[str, vdp.Mechanism]:
    """Return the noises that are compared, on two columns in [-1, 1]."""
    schema = vdp.Schema({"a": vdp.Bounded(-1, 1), "b": vdp.Bounded(-1, 1), "y": vdp.Public()})
    window = vdp.noise.Window(epsilon=6, cells=16, window=1)  # a lattice without windows: few points undo any loss
    return {
        "zero-inflated Laplace": vdp.Mechanism(schema, scale=0.3, exact_rate=0.2),
        "window": vdp.Mechanism(schema, noise={("a", "b"): window}),
    }


SOURCES: dict[str, Callable[[int, np.random.Generator], People]] = {"simulated": simulated, "real": real}


def plain(x: Array, y: Array) -> Points:
    """Return records as they are: one point of weight 1 each."""
    return Points(x[:, None], np.ones((len(x), 1)), y)


def signed(release: vdp.Release, seed: int) -> tuple[Points, Points]:
    """Return released records as signed points, and as if there were no noise."""
    frame = release.to_arrow()
    x1 = np.column_stack([frame[name].to_numpy() for name in ("a", "b")])
    y = frame["y"].to_numpy()
    sample, weight, record = release.augment(DRAWS, "zero", columns=["a", "b"], return_record=True, random_state=seed)
    place = np.arange(len(record)) - np.searchsorted(record, record)  # of a point among its record's
    shape = (len(x1), int(place.max()) + 1)
    x, w = np.zeros((*shape, 2)), np.zeros(shape)
    w[record, place] = weight
    for j, name in enumerate(("a", "b")):
        x[record, place, j] = sample[name].to_numpy()
    return Points(x, w, y), plain(x1, y)
