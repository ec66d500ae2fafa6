"""Records whose terms are undone alike: layers of some records, and what they come to together.

A layer has coefficients of its own, `T theta`, and a factor per record; scores and Hessians of all layers add up,

    score  =  Σ over layers of factor T' score(T theta),      Hessian  =  Σ of T' Hessian T.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from versadp.engine.once import once

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.correction.powers import Seen
    from versadp.correction.waves import IndexTerms

    Array = NDArray[np.float64]
    Numbers = NDArray[np.int64]


class Layer(NamedTuple):
    """Records of one stratum with the same cases, as far as they do not depend on the parameters.

    The redrawn part of an inverse is the same for records that are alike in public: those are worked on once.
    """

    rows: Numbers | slice
    weight: Array | None  # factor of the layer's records beside those that stand in `seen`
    change: Array | None  # T, (q, p)
    form: IndexTerms
    seen: Seen  # of all kinds of records
    kind: Numbers | slice  # of each record
    times: Array | float  # how often its kind is there

    def there(self, theta: Array) -> Array:
        """Return the coefficients of the layer."""
        return theta if self.change is None else self.change @ theta

    def back(self, score: Array) -> Array:
        """Return scores in the model's coefficients."""
        return score if self.change is None else score @ self.change

    def bent(self, hessian: Array) -> Array:
        """Return a Hessian in the model's coefficients."""
        return hessian if self.change is None else np.asarray(self.change.T @ hessian @ self.change)

    def of_records(self, each: Array) -> Array:
        """Return numbers of each record, (rows,) or (rows, k), from those of its kind, with its factor."""
        own = each[self.kind]
        return own if self.weight is None else own * (self.weight if own.ndim == 1 else self.weight[:, None])

    def spread(self, score: Array) -> Array:
        """Return each record's score in the model's coefficients, from the sums of its kind."""
        out = self.back(score)
        return out if isinstance(self.kind, slice) else out[self.kind] / np.reshape(self.times, (-1, 1))


@dataclass(frozen=True)
class Layers:
    """All layers of some records, and what they come to together; each array is made when it is first asked for."""

    layers: tuple[Layer, ...]
    rows: int
    size: int
    given: Array | None  # weights of the records

    @property
    def alone(self) -> Layer | None:
        """The one layer, if all records are in it as they are."""
        first = self.layers[0] if len(self.layers) == 1 else None
        return first if first is not None and first.weight is None and isinstance(first.rows, slice) else None

    @once
    def m(self) -> Array:
        """Corrected design, (n, p)."""
        if self.alone is not None:
            return self.alone.seen.m
        out = np.zeros((self.rows, self.size))
        for layer in self.layers:
            out[layer.rows] += layer.of_records(layer.back(layer.seen.m))
        return out

    @once
    def y(self) -> Array:
        """Corrected response, (n,)."""
        if self.alone is not None:
            return self.alone.seen.y
        out = np.zeros(self.rows)
        for layer in self.layers:
            out[layer.rows] += layer.of_records(layer.seen.y)
        return out

    @once
    def weight(self) -> Array | None:
        """Weights of the records, with the factors of layers that are not in `m` and `y`."""
        if self.alone is not None or any(layer.weight is not None for layer in self.layers):
            return self.given
        out = np.zeros(self.rows)
        for layer in self.layers:
            assert layer.seen.weight is not None
            out[layer.rows] = layer.seen.weight
        return out

    @once
    def squares(self) -> Array:
        """Sum of corrected products of the design, (p, p)."""
        out = np.zeros((self.size, self.size))
        for layer in self.layers:
            out += layer.bent(layer.seen.squares)
        return out

    @once
    def total(self) -> float:
        """Sum of all weights."""
        return float(sum(layer.seen.total for layer in self.layers))
