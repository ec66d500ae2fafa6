"""Noise on the columns of a schema: each private column in one block."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from versadp.errors import ParameterError
from versadp.noise import Block, Response, Spec, ZeroInflated
from versadp.noise.settings import each_column
from versadp.schema import Dates, Schema
from versadp.schema.spacing import LINEAR


def short_form(schema: Schema, scale: Any, exact_rate: Any, keep: Any) -> dict[str | tuple[str, ...], Spec]:
    """Return the paper's mechanism as noise by column."""
    scales = each_column("scale", scale, schema.numeric)
    keeps = each_column("keep", keep, schema.categorical)
    noise: dict[str | tuple[str, ...], Spec] = {}
    if schema.numeric:
        noise[schema.numeric] = ZeroInflated(scales, exact_rate)
    return noise | {name: Response(value) for name, value in keeps.items()}


def spelled(schema: Schema, scale: Any, exact_rate: float, keep: Any) -> list[tuple[tuple[str, ...], Spec]]:
    """Return the paper's mechanism as its blocks spell it."""
    noise = short_form(schema, scale or None, exact_rate, keep or None)
    return [(block.columns, block.spec) for block in put_on(schema, noise)]


def put_on(schema: Schema, noise: Any) -> tuple[Block, ...]:
    """Put noise on the schema's columns: each private column once."""
    if not isinstance(noise, Mapping):
        raise ParameterError("noise is a mapping", hint='e.g. noise={"age": vdp.noise.ZeroInflated(scale=0.5)}')
    blocks, seen, private = [], set(), dict.fromkeys(schema.private)
    for key, spec in noise.items():
        names = (key,) if isinstance(key, str) else key
        if not isinstance(spec, Spec) or not isinstance(names, tuple) or not names:
            raise ParameterError("noise has a Spec for each column, or tuple of columns", hint="see versadp.noise")
        for name in names:
            if name not in private:
                raise ParameterError(f"{name!r} is no private column", hint=f"private: {', '.join(private)}")
            if name in seen:
                raise ParameterError(f"column {name!r} has noise twice", hint="each private column is in one block")
            seen.add(name)
        block = spec.on({name: schema.columns[name] for name in names})
        _refuse_unserved(schema, block)
        blocks.append(block)
    if missing := [name for name in private if name not in seen]:
        raise ParameterError(
            f"private columns without noise: {', '.join(map(repr, missing))}",
            hint="give them some, or make them Public",
        )
    return tuple(blocks)


def released_schema(schema: Schema, blocks: tuple[Block, ...]) -> Schema:
    """Return the schema as released tables are read: a column that a record does not give is missing, as all can see.

    Examples
    --------
    >>> from versadp import Bounded, Schema
    >>> from versadp.noise import Subset
    >>> schema = Schema({name: Bounded(0, 1) for name in "abc"})
    >>> released_schema(schema, put_on(schema, {tuple("abc"): Subset(2, given=2)})).columns["a"]
    Bounded(lower=0.0, upper=1.0, nullable='public')
    """
    some = {name for block in blocks if block.complete_rate < 1 for name in block.columns}
    if not some:
        return schema
    columns: dict[str, Any] = dict(schema.columns)
    for name in some:
        columns[name] = copy(columns[name])
        object.__setattr__(columns[name], "nullable", "public")
    return Schema(columns, bounds=schema.bounds)


def _refuse_unserved(schema: Schema, block: Block) -> None:
    """Refuse what a block would let pass: missing values that it does not hide, spacings, days that are no days."""
    for name in block.columns:
        column = schema.columns[name]
        if getattr(column, "nullable", False) and name not in block.nullable:
            raise ParameterError(
                f"{block.spec.name} noise does not serve column {name!r}, whose values may be missing",
                hint="use noise.Window, or noise.Response for a category",
            )
        if getattr(column, "spacing", LINEAR) != LINEAR and name not in block.spaced:
            raise ParameterError(
                f"{block.spec.name} noise does not serve column {name!r}, which has a spacing",
                hint="use noise.Window, or leave out the spacing",
            )
        if isinstance(column, Dates) and name not in block.whole:
            raise ParameterError(
                f"{block.spec.name} noise does not release whole days of column {name!r}",
                hint="use noise.Window, with cells that divide the days and an odd window, or let it choose",
            )
