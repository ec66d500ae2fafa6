"""Losses with one parameter vector per level of a category: shares of levels, and multinomial logit.

    Share:         sum over levels l of (theta_l - 1{x = l})²/2                theta_l is the share of level l
    Multinomial:   log sum_l e^{u_l} - sum_l 1{y = l} u_l,   u_l = m'theta_l,  theta of the reference level is 0

Both are linear in the indicators of the levels, so that the noise of a private category is removed level by level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from versadp.errors import ParameterError
from versadp.losses.record_loss import RecordLoss

if TYPE_CHECKING:
    from versadp.inputs import Array


class ByLevel:
    """Properties of losses with parameters per level: smooth, without a single index; their model has the start."""

    by_level: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    kinked: ClassVar[bool] = False
    natural: ClassVar[bool] = False
    margin: ClassVar[bool] = False
    residual: ClassVar[bool] = False
    by_line: ClassVar[bool] = False
    unscaled: ClassVar[bool] = False
    classes: ClassVar[None] = None

    def expansion(self) -> None:
        """Return None: there is no single index."""
        return


@dataclass(frozen=True)
class Share(ByLevel, RecordLoss):
    """The shares of all levels of a category, private or public.

    Parameters
    ----------
    of : str
        The category.
    missing : bool
        True to count missing as one more level; otherwise shares are among records with a known category.

    Examples
    --------
    >>> Share("region").name, Share("region").labels(("n", None))
    ('shares of region', ('region[n]', 'region[missing]'))
    """

    of: str
    missing: bool = False

    @property
    def name(self) -> str:
        """The name of the estimated quantity."""
        return f"shares of {self.of}"

    def labels(self, levels: tuple[Any, ...]) -> tuple[str, ...]:
        """Return the names of the shares of levels; None stands for missing."""
        return tuple(f"{self.of}[{'missing' if level is None else level}]" for level in levels)


@dataclass(frozen=True)
class Multinomial(ByLevel):
    """Multinomial logit: probabilities of levels by softmax, coefficients relative to a reference level.

    Parameters
    ----------
    reference : level, optional
        The level whose coefficients are 0; the first by default.

    Examples
    --------
    >>> Multinomial.probabilities(np.array([[0.0, np.log(2.0)]]))
    array([[0.25, 0.25, 0.5 ]])
    >>> Multinomial("s").labels(("n", "s", "w"), ("Intercept", "age"))
    ('n:Intercept', 'n:age', 'w:Intercept', 'w:age')
    """

    reference: Any = None
    name: ClassVar[str] = "multinomial"
    needs_formula: ClassVar[bool] = True

    @property
    def prediction(self) -> str:
        """The name of the link from its indices to probabilities."""
        return "softmax"

    def ordered(self, levels: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return levels with the reference first."""
        if self.reference is None:
            return levels
        if self.reference not in levels:
            raise ParameterError("the reference is not a level of the response", hint=f"choose from {levels}")
        return (self.reference, *(level for level in levels if level != self.reference))

    def labels(self, levels: tuple[Any, ...], names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the coefficients, level by level."""
        return tuple(f"{level}:{name}" for level in self.ordered(levels)[1:] for name in names)

    @staticmethod
    def probabilities(u: Array) -> Array:
        """Return the probabilities of the reference and the other levels from the indices u of the latter."""
        from scipy.special import softmax

        return np.asarray(softmax(np.column_stack([np.zeros(len(u)), u]), axis=1))
