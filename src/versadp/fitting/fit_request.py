"""Arguments of `fit`, checked once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from versadp import inputs
from versadp.errors import ParameterError
from versadp.fitting.methods import METHODS
from versadp.fitting.weights import vector
from versadp.losses import as_loss
from versadp.release.bounds.wording import beyond, beyond_words
from versadp.release.release import as_release
from versadp.schema import Bounded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from versadp.engine import Engine
    from versadp.inputs import Array
    from versadp.noise.extension import Extension
    from versadp.release.release import Release


@dataclass(frozen=True, eq=False)
class FitRequest:
    """A model, the records that it is fitted to, and the method.

    Attributes
    ----------
    release : Release
    formula : str or None
    loss : str, loss or callable
        As it was given; `minimised` is the loss object.
    method : str
    extension : str or Extension, optional
    draws : int
        Per record.
    begin : array (p,), optional
        Start, in the units of the answer.
    weights : array or str, optional
        As they were given.
    seed : int
    engine : str or Engine
    design : mapping
        How records were drawn, and which are used: weight_type, offset, cov_type, groups, subset.
    """

    release: Release
    formula: str | None
    loss: Any
    minimised: Any
    method: str
    extension: str | Extension | None
    draws: int
    begin: Array | None
    weights: Any
    seed: int
    engine: str | Engine
    design: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, release: Any, formula: str | None, loss: Any, method: str, start: Any, **given: Any) -> FitRequest:
        """Return the arguments of `fit`, or an error that says what is wrong with them."""
        opened = as_release(release)
        draws = inputs.whole("draws", given.pop("draws"), 1)
        seed = inputs.whole("random_state", given.pop("random_state"), 0)
        inputs.choice("method", method, METHODS)
        begin = None if start is None else vector("start", start)
        extension, weights, engine = (given.pop(name) for name in ("extension", "weights", "engine"))
        minimised = as_loss(loss)
        _refuse_beyond_bounds(opened, formula, minimised)
        return cls(
            opened, formula, loss, minimised, method, extension, draws, begin, weights, seed, engine, design=given
        )

    @property
    def free(self) -> bool:
        """True if the form of the correction is ours to choose, or there is none."""
        return self.extension is None and self.method in {"efficient", "naive"}

    def options(self) -> dict[str, Any]:
        """Return the arguments of `fit` that another fit to the same records shares."""
        own = {"formula": self.formula, "loss": self.loss, "method": self.method, "weights": self.weights}
        return own | dict(self.design) | {"random_state": self.seed, "engine": self.engine}

    def kept(self) -> dict[str, Any]:
        """Return the arguments that a saved state holds."""
        names = ("formula", "method", "extension", "draws", "seed", "weights")
        own = {name: getattr(self, name) for name in names}
        return own | {"loss": self.minimised, "offset": self.design["offset"], "subset": self.design["subset"]}


def _refuse_beyond_bounds(release: Release, formula: str | None, loss: Any) -> None:
    """Refuse quantiles of a column, or of a response, that may lie beyond bounds that were learnt for it."""
    tau, schema = getattr(loss, "tau", None), release.mechanism.schema
    name = getattr(loss, "of", None) if formula is None else str(formula).partition("~")[0].strip()
    column = schema.columns.get(name) if isinstance(name, str) else None
    if tau is None or not isinstance(column, Bounded):
        return
    assert isinstance(name, str)
    low, high = beyond(schema.bounds, name, column)
    if not low <= tau <= high:
        raise ParameterError(beyond_words(name, column), hint=f"ask for a quantile from {low:.2g} to {high:.2g}")
