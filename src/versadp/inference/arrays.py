"""Arrays indexed by coefficient name, `params["age"]` as well as `params[1]`, and fields that hold estimates."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, NoReturn, Self, overload

import numpy as np

from versadp.errors import NoSuchName, ParameterError, near

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike

    from versadp.inference.estimates import Estimates


class NamedArray(np.ndarray[Any, np.dtype[np.float64]]):
    """A read-only array of numbers, indexed by name or by number; arithmetic gives plain arrays.

    Parameters
    ----------
    values : array_like
        One number per name, or one row per name; a square table has the names on both axes.
    names : sequence of str
    columns : sequence of str, optional
        Of a table that is not square, such as "lower" and "upper".

    Examples
    --------
    >>> params = NamedArray([0.5, -1.0], ("Intercept", "age"))
    >>> float(params["age"]), float(params[1])
    (-1.0, -1.0)
    >>> params
    Intercept   0.5
    age          -1
    >>> params + 1
    array([1.5, 0. ])
    >>> dict(params.items())
    {'Intercept': 0.5, 'age': -1.0}
    >>> float(NamedArray([[4.0, 1.0], [1.0, 9.0]], ("Intercept", "age"))["age", "Intercept"])
    1.0
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]

    def __new__(cls, values: ArrayLike, names: Sequence[str], columns: Sequence[str] = ()) -> Self:
        """Return a read-only copy of the values with names."""
        array = np.array(values, dtype=np.float64).view(cls)
        if array.ndim not in {1, 2} or len(array) != len(names):
            raise ParameterError("a named array needs one name per row", hint="give as many names as rows")
        if array.ndim == 2 and not columns and array.shape[1] == len(names):
            columns = names
        if columns and (array.ndim != 2 or array.shape[1] != len(columns)):
            raise ParameterError("a named table needs one name per column", hint="give as many as columns")
        array.names, array.columns = tuple(names), tuple(columns)
        array.flags.writeable = False
        return array

    def __array_finalize__(self, obj: object) -> None:
        self.names = self.columns = ()  # a slice or a sorted copy has no names

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Return the result for plain arrays."""
        plain = [np.asarray(x) if isinstance(x, NamedArray) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        """Return a number or a plain array, by name, names or numbers."""
        plain = np.asarray(self)
        if isinstance(key, tuple) and any(isinstance(part, str) for part in key):
            return plain[tuple(self._number(part, axis) for axis, part in enumerate(key))]
        if isinstance(key, list) and key and all(isinstance(part, str) for part in key):
            return plain[[self._number(part) for part in key]]
        return plain[self._number(key)]

    def __reduce__(self) -> tuple[Any, ...]:
        return (NamedArray, (np.array(self), self.names, self.columns)) if self.names else (np.array, (self.tolist(),))

    def __copy__(self) -> NamedArray:
        return self

    def __deepcopy__(self, memo: Any) -> NamedArray:
        return self

    @property
    def index(self) -> tuple[str, ...]:
        """The names, as pandas calls them."""
        return self.names

    @property
    def values(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """A plain copy."""
        return np.array(self)

    def keys(self) -> tuple[str, ...]:
        """Return the names."""
        return self.names

    def items(self) -> Iterator[tuple[str, Any]]:
        """Yield name and value."""
        plain = np.asarray(self)
        return zip(self.names, plain.tolist() if plain.ndim == 1 else plain, strict=True)

    def to_pandas(self) -> Any:
        """Return a pandas Series, or a DataFrame of a table."""
        import pandas as pd

        plain = np.array(self)
        if plain.ndim == 1:
            return pd.Series(plain, index=list(self.names))
        return pd.DataFrame(plain, index=list(self.names), columns=list(self.columns) or None)

    def __repr__(self) -> str:
        if not self.names:
            return repr(np.asarray(self))
        rows = np.asarray(self).reshape(len(self.names), -1)
        head = [["", *self.columns]] if self.columns else []
        return _aligned(
            [*head, *([name, *(f"{x:.6g}" for x in row)] for name, row in zip(self.names, rows, strict=True))]
        )

    __str__ = __repr__

    def __format__(self, how: str) -> str:
        return str(self) if not how or self.ndim else format(self.item(), how)

    def _repr_html_(self) -> str:
        rows = np.asarray(self).reshape(len(self.names), -1)
        head = "".join(f"<th>{escape(name)}</th>" for name in ("", *self.columns)) if self.columns else ""
        cells = (
            f"<th>{escape(name)}</th>" + "".join(f"<td>{x:.6g}</td>" for x in row)
            for name, row in zip(self.names, rows, strict=True)
        )
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>"

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a name, or a default."""
        return self[name] if name in self.names else default

    def __contains__(self, what: object) -> bool:
        return what in self.names if isinstance(what, str) else bool(np.isin(what, np.asarray(self)).any())  # type: ignore[arg-type] # a number

    def _number(self, key: Any, axis: int = 0) -> Any:
        if not isinstance(key, str):
            return key
        known = self.columns if axis else self.names
        if key not in known:
            raise NoSuchName(f"there is no {key!r}", hint=near(key, known))
        return known.index(key)


def _aligned(lines: list[list[str]]) -> str:
    """Return lines of cells, the first column flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(c.rjust(w + 1) for c, w in zip(line[1:], widths[1:], strict=True))])
        for line in lines
    )


class Estimated:
    """A field of a dataclass for an estimate: reading it raises if there is none.

    It is set like any field, and stored under its name with an underscore.

    Parameters
    ----------
    sure : bool
        True if a weak fit may have no value either.

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

    def __set_name__(self, owner: type[Estimates], name: str) -> None:
        self._kept = f"_{name}"

    @overload
    def __get__(self, results: None, owner: type[Estimates]) -> NoReturn: ...
    @overload
    def __get__(self, results: Estimates, owner: type[Estimates]) -> NamedArray: ...
    def __get__(self, results: Estimates | None, owner: type[Estimates]) -> NamedArray:
        """Return the estimate, or raise."""
        if results is None:  # a dataclass looks for a default in its class
            raise AttributeError(f"only instances of {owner.__name__} have this attribute")
        kept: NamedArray = getattr(results, self._kept)
        results.need_estimate(sure=self._sure and kept is None)
        return kept

    def __set__(self, results: Estimates, value: ArrayLike | None) -> None:
        """Store a value; a frozen dataclass does so once, in its `__init__`."""
        object.__setattr__(results, self._kept, value)
