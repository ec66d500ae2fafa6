"""A property that is computed once, for objects that threads work on side by side.

`functools.cached_property` before Python 3.12 lets one thread at a time compute it, whatever the object: lots of
records that are prepared when somebody asks would be prepared one after the other.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as once
else:

    class once:  # noqa: N801 - it stands where functools.cached_property does
        """A property that is kept in its object when it was asked for; who asks at the same time computes it too.

        Examples
        --------
        >>> class Lot:
        ...     @once
        ...     def rows(self):
        ...         print("counting")
        ...         return 3
        >>> lot = Lot()
        >>> lot.rows + lot.rows
        counting
        6
        """

        def __init__(self, function: Any) -> None:
            self.function, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, found: Any, owner: type | None = None) -> Any:
            if found is None:
                return self
            value = found.__dict__[self.name] = self.function(found)
            return value


__all__ = ["once"]
