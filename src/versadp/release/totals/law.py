"""Noise of the totals, and what it costs: a share of the squared mu of the release's own target.

A target (epsilon, delta) is that of Gaussian noise with some mu. The totals spend `share` mu² of it, divided among the
sheets A, B and C; the records have what is left of the target, by exact composition (`target/accounting.py`). A sheet
whose totals change by at most Δ in Euclidean norm has noise of standard deviation Δ/mu_sheet per count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from versadp import inputs
from versadp.errors import ParameterError
from versadp.release.totals.features import SHEETS, sensitivities

if TYPE_CHECKING:
    from versadp.release.totals.features import Features

SHARE = 0.5  # of mu²: within 3% of the best share over seven analyses (docs/theory/totals.md)
SPLIT = (0.2, 0.6, 0.2)  # of it for sheets A, B and C, from the same comparison
SCALES = (1e-3, 1e12)  # standard deviations that a mechanism may state


@dataclass(frozen=True)
class TotalsLaw:
    """Noise of a mechanism's totals.

    Attributes
    ----------
    columns : tuple of str
        What is summed: the columns of the totals.
    share : float
        Of the target's squared mu.
    split : tuple of float
        Of that, for sheets A, B and C.
    scale : tuple of float
        Standard deviation of the noise of one count in each sheet, before rounding; 0 where a sheet is empty.
    """

    columns: tuple[str, ...]
    share: float
    split: tuple[float, float, float]
    scale: tuple[float, float, float]

    def __post_init__(self) -> None:
        named = all(isinstance(name, str) for name in self.columns) and len(set(self.columns)) == len(self.columns)
        if not self.columns or not named:
            raise ParameterError("totals name the columns that they are of, each once")
        inputs.number("share of the totals", self.share, 0, 1, open_low=True, open_high=True)
        for name, values in (("split", self.split), ("scale", self.scale)):
            if len(values) != len(SHEETS):
                raise ParameterError(f"the totals have a {name} of three numbers, one per sheet")
        for part in self.split:
            inputs.number("split of the totals", part, 0, 1)
        if not math.isclose(sum(self.split), 1, abs_tol=1e-9):
            raise ParameterError("the totals' split adds up to 1")
        for scale in self.scale:
            if scale:
                inputs.number("scale of the totals", scale, *SCALES)

    @classmethod
    def of(
        cls,
        features: Features,
        mu: float,
        *,
        unit: str = "record",
        rows: int = 1,
        share: float = SHARE,
        split: tuple[float, float, float] = SPLIT,
    ) -> TotalsLaw:
        """Return the noise that spends a share of mu² on the totals of some features.

        Parameters
        ----------
        features : Features
        mu : float
            Of the Gaussian curve through the target.
        unit : {"record", "attribute"}
            What the target protects; a person's rows are counted by `rows`.
        rows : int
            Most rows of one person.
        share, split
            As above; the part of an empty sheet is divided among the others.

        Examples
        --------
        >>> from versadp import Bounded, Mechanism, Schema
        >>> from versadp.noise import Window
        >>> from versadp.release.totals.features import features_of
        >>> schema = Schema({"k": Bounded(0, 2, step=1), "m": Bounded(0, 1, step=1)})
        >>> features = features_of(Mechanism(schema, noise={("k", "m"): Window(2.0)}).blocks, schema)
        >>> law = TotalsLaw.of(features, 0.237)
        >>> [round(scale, 1) for scale in law.scale], round(law.mu("record") ** 2 / 0.237**2, 9)
        ([26.7, 23.1, 18.9], 0.5)
        """
        held = [part if features.count(sheet) else 0.0 for sheet, part in zip(SHEETS, split, strict=True)]
        kept = [part / sum(held) for part in held]
        changes = sensitivities(len(features.columns), unit)
        a, b, c = (
            rows * math.sqrt(change / (share * part)) / mu if part else 0.0
            for change, part in zip(changes, kept, strict=True)
        )
        return cls(tuple(c.name for c in features.columns), share, (kept[0], kept[1], kept[2]), (a, b, c))

    def mu(self, unit: str, rows: int = 1) -> float:
        """Return the mu of all sheets together, for a record, or for one attribute."""
        spent = zip(sensitivities(len(self.columns), unit), self.scale, strict=True)
        return rows * math.sqrt(sum(change / scale**2 for change, scale in spent if scale))

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "columns": list(self.columns),
            "share": self.share,
            "split": list(self.split),
            "scale": list(self.scale),
        }

    @classmethod
    def from_dict(cls, data: Any) -> TotalsLaw:
        """Read what `to_dict` wrote."""
        if not isinstance(data, Mapping) or set(data) != {"columns", "share", "split", "scale"}:
            raise ParameterError("a mechanism's totals have just: columns, share, split, scale")
        if not all(isinstance(data[name], list) for name in ("columns", "split", "scale")):
            raise ParameterError("columns, split and scale of the totals are lists")
        split, scale = (
            tuple(inputs.number(name, value, 0, SCALES[1]) for value in data[name]) for name in ("split", "scale")
        )
        share = inputs.number("share", data["share"], 0, 1)
        return cls(tuple(data["columns"]), share, split, scale)  # type: ignore[arg-type] # lengths are checked
