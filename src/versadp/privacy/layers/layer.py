"""A profile built upon another, which answers for whatever the layer leaves as it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from versadp.privacy.profile import PrivacyProfile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Layer(PrivacyProfile):
    """`base` and something more."""

    base: PrivacyProfile

    @property
    def delta_floor(self) -> float:
        """That of the base."""
        return self.base.delta_floor

    @property
    def exact_share(self) -> float:
        """That of the base."""
        return self.base.exact_share

    @property
    def pure_epsilon(self) -> float:
        """That of the base."""
        return self.base.pure_epsilon

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the base."""
        return self.base.notes

    @property
    def _kinks(self) -> NDArray[np.float64]:
        return self.base._kinks

    def _title(self) -> str:
        return self.base._title()
