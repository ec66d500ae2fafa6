"""Arrays whose rows have names: `params["age"]` beside `params[1]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from versadp.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike


class NamedArray(np.ndarray[Any, np.dtype[np.float64]]):
    """A read-only array of numbers, indexed by name or by number; arithmetic gives plain arrays.

    Parameters
    ----------
    values : array_like
        One number a name, or one row a name; a square table is named along both axes.
    names : sequence of str

    Examples
    --------
    >>> params = NamedArray([0.5, -1.0], ("Intercept", "age"))
    >>> float(params["age"]), float(params[1])
    (-1.0, -1.0)
    >>> params + 1
    array([1.5, 0. ])
    >>> dict(params.items())
    {'Intercept': 0.5, 'age': -1.0}
    >>> float(NamedArray([[4.0, 1.0], [1.0, 9.0]], ("Intercept", "age"))["age", "Intercept"])
    1.0
    """

    names: tuple[str, ...]

    def __new__(cls, values: ArrayLike, names: Sequence[str]) -> Self:
        """Copy the values, so that nothing outside can change them."""
        array = np.array(values, dtype=np.float64).view(cls)
        if array.ndim not in {1, 2} or len(array) != len(names):
            raise ParameterError("a named array needs one name a row")
        array.names = tuple(names)
        array.flags.writeable = False
        return array

    def __array_finalize__(self, obj: object) -> None:
        self.names = ()  # names stay with the whole array only: a slice or a sorted copy has others

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Calculate on plain arrays."""
        plain = [np.asarray(x) if isinstance(x, NamedArray) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        """Return a number or a plain array, by name, names or numbers."""
        plain = np.asarray(self)
        if isinstance(key, tuple) and any(isinstance(part, str) for part in key):
            return plain[tuple(self._number(part) for part in key)]
        if isinstance(key, list) and key and all(isinstance(part, str) for part in key):
            return plain[[self._number(part) for part in key]]
        return plain[self._number(key)]

    def __reduce__(self) -> tuple[Any, ...]:
        return (NamedArray, (np.array(self), self.names)) if self.names else (np.array, (self.tolist(),))

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
        square = plain.shape[1] == len(self.names)
        return pd.DataFrame(plain, index=list(self.names), columns=list(self.names) if square else None)

    def __repr__(self) -> str:
        if not self.names:
            return repr(np.asarray(self))
        inner = ", ".join(f"{name}: {value}" for name, value in self.items())
        return f"NamedArray({inner})"

    __str__ = __repr__

    def _number(self, key: Any) -> Any:
        if not isinstance(key, str):
            return key
        if key not in self.names:
            raise KeyError(f"there is no {key!r}; there are {', '.join(self.names)}")
        return self.names.index(key)
