"""Options that several commands share."""

from __future__ import annotations

from typing import Any

import click

from versadp.display.tables import FORMATS

style_option = click.option(
    "--format", "style", type=click.Choice(FORMATS), default="text", show_default=True, help="How to print."
)
unit_option = click.option(
    "--unit",
    type=click.Choice(["record", "attribute"]),
    default="record",
    show_default=True,
    help="Protect a whole record, or one attribute of it.",
)


def percentages(text: str) -> dict[str, Any] | float:
    """Read a number, or `column=number,column=number`."""
    if "=" not in text:
        return float(text)
    return {name.strip(): float(value) for name, value in (part.split("=", 1) for part in text.split(","))}
