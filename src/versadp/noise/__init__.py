"""Noise: the blocks that a release goes through, with their guarantees and inverses.

Each is "keep with some probability, otherwise draw noise": `ZeroInflated` symmetric Laplace on numbers (the paper's
mechanism), `Response` on a category, `Window` on numbers and categories together, `Subset` on some of many columns. A
spec becomes a block when it is put
on columns. Blocks of one's own join with `register`. For researchers there are plain samplers and densities for arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from versadp.errors import ParameterError
from versadp.noise.block import UNITS, Block, Spec
from versadp.noise.distributions import SymmetricLaplace, ZeroInflatedSymmetricLaplace
from versadp.noise.extension import Box, Clip, Damped, Extension, Fade, Zero, as_extension
from versadp.noise.points import How, Points, product
from versadp.noise.response import Response, ResponseBlock
from versadp.noise.subset import Subset, SubsetBlock
from versadp.noise.window import Window, WindowBlock
from versadp.noise.zero_inflated import ZeroInflated, ZeroInflatedBlock

if TYPE_CHECKING:
    from collections.abc import Mapping

REGISTRY: dict[str, type[Spec]] = {kind.name: kind for kind in (ZeroInflated, Response, Window, Subset)}


def register(spec: type[Spec]) -> type[Spec]:
    """Make a spec of one's own known by its name, so that files that name it can be read.

    Examples
    --------
    >>> register(Response) is Response
    True
    """
    if not (isinstance(spec, type) and issubclass(spec, Spec)) or REGISTRY.get(spec.name, spec) is not spec:
        raise ParameterError("a block is registered as a subclass of Spec, under a name that no other has")
    REGISTRY[spec.name] = spec
    return spec


def spec_from_dict(data: Mapping[str, Any]) -> tuple[Spec, tuple[str, ...]]:
    """Read what `Block.to_dict` wrote: the spec, and the columns that it is on.

    Examples
    --------
    >>> from versadp import Bounded
    >>> spec_from_dict(Window(epsilon=2).on({"age": Bounded(18, 90)}).to_dict())[1]
    ('age',)
    """
    rest = dict(data)
    name, columns = rest.pop("noise", None), rest.pop("columns", None)
    if not isinstance(name, str) or name not in REGISTRY:
        raise ParameterError("the mechanism has noise that this versadp does not know", hint="register its block first")
    if not isinstance(columns, list) or not columns or not all(isinstance(column, str) for column in columns):
        raise ParameterError(f"{name} noise needs the names of its columns")
    return REGISTRY[name].from_dict(rest), tuple(columns)


__all__ = [
    "REGISTRY",
    "UNITS",
    "Block",
    "Box",
    "Clip",
    "Damped",
    "Extension",
    "Fade",
    "How",
    "Points",
    "Response",
    "ResponseBlock",
    "Spec",
    "Subset",
    "SubsetBlock",
    "SymmetricLaplace",
    "Window",
    "WindowBlock",
    "Zero",
    "ZeroInflated",
    "ZeroInflatedBlock",
    "ZeroInflatedSymmetricLaplace",
    "as_extension",
    "product",
    "register",
    "spec_from_dict",
]
