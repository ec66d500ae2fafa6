"""Fields of results that nobody can read unless the fit has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, overload

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from versadp.inference.named import NamedArray
    from versadp.inference.results import Results


class Estimated:
    """A field of a dataclass whose value is an estimate: to read it is an error if there is none.

    It is set like any field, and kept under its name with an underscore.

    Parameters
    ----------
    sure : bool
        True for what a weak fit has not either.

    Examples
    --------
    >>> from versadp.inference import Results
    >>> res = Results(None, None, ("age",), "stalled", 1000, loss="squared", method="efficient")
    >>> res.params
    Traceback (most recent call last):
    ...
    versadp.errors.EstimationError: not converged: stalled (no step reduces the corrected score)
      hint: another start, more records, a larger exact_rate or fewer coefficients may help
    """

    def __init__(self, *, sure: bool = False) -> None:
        self._sure = sure

    def __set_name__(self, owner: type[Results], name: str) -> None:
        self._kept = f"_{name}"

    @overload
    def __get__(self, results: None, owner: type[Results]) -> NoReturn: ...
    @overload
    def __get__(self, results: Results, owner: type[Results]) -> NamedArray: ...
    def __get__(self, results: Results | None, owner: type[Results]) -> NamedArray:
        """Return the estimate, or raise."""
        if results is None:  # a dataclass asks its class for a default: there is none
            raise AttributeError(f"{owner.__name__} has it on its instances")
        results.need_estimate(sure=self._sure)
        kept: NamedArray = getattr(results, self._kept)
        return kept

    def __set__(self, results: Results, value: ArrayLike | None) -> None:
        """Keep a value; a frozen dataclass does so once, while it is made."""
        object.__setattr__(results, self._kept, value)
