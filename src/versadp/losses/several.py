"""Losses with several numbers at once: the shares of a category's levels, and multinomial logit.

    Share:         sum over levels l of (theta_l - 1{x = l})²/2                theta_l is the share of level l
    Multinomial:   log sum_l e^{u_l} - sum_l 1{y = l} u_l,   u_l = m'theta_l,  theta of the reference level is 0

Both are linear in the indicators of a category's levels, so that the noise of a private one is undone level by level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from versadp.errors import ParameterError
from versadp.losses.record import RecordLoss

if TYPE_CHECKING:
    from versadp.inputs import Array


class ByLevel:
    """What a fit asks of a loss, where it has several numbers: it is smooth, and its model says where it starts."""

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
        """Return none: it has no single index."""
        return


@dataclass(frozen=True)
class Share(ByLevel, RecordLoss):
    """The shares of all levels of a category, private or public.

    Parameters
    ----------
    of : str
        The category.
    missing : bool
        True for missing as one more level; otherwise shares are among those in whom the category is known.

    Examples
    --------
    >>> Share("region").name, Share("region").labels(("n", None))
    ('shares of region', ('region[n]', 'region[missing]'))
    """

    of: str
    missing: bool = False

    @property
    def name(self) -> str:
        """What is estimated."""
        return f"shares of {self.of}"

    def labels(self, levels: tuple[Any, ...]) -> tuple[str, ...]:
        """Return the names of the shares of levels, None being what is missing."""
        return tuple(f"{self.of}[{'missing' if level is None else level}]" for level in levels)


@dataclass(frozen=True)
class Multinomial(ByLevel):
    """Multinomial logit: probabilities of levels by softmax, each coefficient against a reference level.

    Parameters
    ----------
    reference : level, optional
        Whose coefficients are 0; the first level if it is not given.

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
        """What makes a prediction of its indices."""
        return "softmax"

    def ordered(self, levels: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return levels with the reference first."""
        if self.reference is None:
            return levels
        if self.reference not in levels:
            raise ParameterError("the reference is no level of the response", hint=f"levels: {levels}")
        return (self.reference, *(level for level in levels if level != self.reference))

    def labels(self, levels: tuple[Any, ...], names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of all coefficients, level by level."""
        return tuple(f"{level}:{name}" for level in self.ordered(levels)[1:] for name in names)

    @staticmethod
    def probabilities(u: Array) -> Array:
        """Return the probabilities of the reference and the other levels, whose indices are the columns of u."""
        from scipy.special import softmax

        return np.asarray(softmax(np.column_stack([np.zeros(len(u)), u]), axis=1))
