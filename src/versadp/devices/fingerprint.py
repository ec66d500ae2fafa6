"""Name of a mechanism in device reports: SHA-256 over typed bytes of everything that a report depends on.

    fingerprint = SHA-256(text("versadp mechanism 4") || text(context)
                          || u64(number of released columns) || text(name) || text(kind) of each, in the schema's order
                          || u64(number of blocks) || u64(length in bytes) || law of each, in the mechanism's order)
    report id   = HMAC-SHA256(key, text("versadp report") || text(fingerprint) || text(round))

Both are lower-case hexadecimal. A block's law and the types are those of `docs/format.md`. A context is a collector's
name: mechanisms that differ in nothing else have other noise and other fingerprints.
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import TYPE_CHECKING

from versadp.errors import ParameterError
from versadp.noise.words import check_key
from versadp.release.path.device_words import check_context, text, u64
from versadp.schema.spacing import LINEAR

if TYPE_CHECKING:
    from versadp.release.mechanism import Mechanism

DOMAIN = "versadp mechanism 4"
REPORT_DOMAIN = "versadp report"
SERVED = ("window", "response")
MOST_WHOLE = 2**53 - 1  # whole numbers that JSON readers of all languages keep


def fingerprint(mechanism: Mechanism, context: str = "") -> str:
    """Return the name of a mechanism in device reports: 64 lower-case hexadecimal digits.

    It covers the format version, the context, every released column in order (name and kind), and the law of every
    block. The target that a mechanism was calibrated for is no part of it, since no answer depends on it.

    Parameters
    ----------
    mechanism : Mechanism
        Of version 4: the noise of earlier ones on devices changes with the whole mechanism.
    context : str
        Name of the collector, as in `Mechanism.privatize`.

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema, noise
    >>> mech = Mechanism(Schema({"age": Bounded(18, 90, step=1)}), noise={"age": noise.Window(epsilon=2)})
    >>> fingerprint(mech)[:16], fingerprint(mech, context="clinic")[:16]
    ('3730044ab575ced6', '38d8b2d53f428256')
    """
    return sha256(fingerprint_bytes(mechanism, context)).hexdigest()


def fingerprint_bytes(mechanism: Mechanism, context: str = "") -> bytes:
    """Return the typed bytes whose digest is the fingerprint.

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema, noise
    >>> mech = Mechanism(Schema({"age": Bounded(18, 90, step=1)}), noise={"age": noise.Window(epsilon=2)})
    >>> mech.block_laws[0] in fingerprint_bytes(mech)
    True
    """
    check_served(mechanism)
    released = mechanism.schema.columns
    columns = [text(name) + text(column.to_dict()["type"]) for name, column in released.items()]
    laws = [u64(len(law)) + law for law in mechanism.block_laws]
    head = text(DOMAIN) + text(check_context(context))
    return head + u64(len(columns)) + b"".join(columns) + u64(len(laws)) + b"".join(laws)


def check_served(mechanism: Mechanism) -> None:
    """Raise if there is something in a mechanism that device reports do not serve, and say what.

    Examples
    --------
    >>> from versadp import Bounded, Mechanism, Schema
    >>> check_served(Mechanism(Schema({"age": Bounded(18, 90)}), scale=0.25))
    Traceback (most recent call last):
        ...
    versadp.errors.ParameterError: device reports do not serve zero-inflated noise
      hint: give 'age' noise.Window: one person's report is unchanged with the whole exact rate, which is delta
    """
    schema = mechanism.schema
    if mechanism.version < 4:
        raise ParameterError(
            f"device reports need a mechanism of version 4, not {mechanism.version}",
            hint="mech.in_version(4), which redraws the noise of every answer",
        )
    if mechanism.totals is not None:
        raise ParameterError(
            "device reports have no totals: nobody has seen all people's values",
            hint="vdp.calibrate(..., totals=False), or mech.without_totals()",
        )
    if schema.id is not None:
        raise ParameterError(
            f"device reports have no id column, and the schema has {schema.id!r}",
            hint="a device has a key of its own: make the schema for devices without id",
        )
    for block in mechanism.blocks:
        if block.spec.name not in SERVED:
            raise ParameterError(
                f"device reports do not serve {block.spec.name} noise",
                hint=f"give {', '.join(map(repr, block.columns))} noise.Window"
                + ": one person's report is unchanged with the whole exact rate, which is delta"
                * (block.spec.name == "zero-inflated")
                + ", as calibrate does with columns_per_term=None" * (block.spec.name == "subset"),
            )
    columns = schema.columns.values()
    if schema.bounds or any(getattr(column, "declared", None) or getattr(column, "merged", ()) for column in columns):
        raise ParameterError(
            "device reports do not serve learnt bounds and merged levels",
            hint="make a schema with these bounds and levels as the declared ones",
        )
    if spaced := [name for name, column in schema.columns.items() if getattr(column, "spacing", LINEAR) != LINEAR]:
        raise ParameterError(
            f"device reports do not serve columns with a spacing: {', '.join(map(repr, spaced))}",
            hint="leave out the spacing, or report a function of the value, as a column with its own bounds",
        )
    for name in schema.categorical:
        levels = getattr(schema.columns[name], "levels", ())
        if any(isinstance(level, int) and abs(level) > MOST_WHOLE for level in levels):
            raise ParameterError(
                f"levels of {name!r} are beyond 2^53 in size, which not every client reads",
                hint="write them as text",
            )


def report_id(key: bytes, mechanism: str, round: str) -> str:  # noqa: A002 - the word of the report format
    """Return the id of a device's report in a round: a retry has the same, and two rounds are not linked by it.

    Parameters
    ----------
    key : bytes
        The device's own 32 secret random bytes.
    mechanism : str
        The mechanism's fingerprint.
    round : str
        Name of the round.

    Examples
    --------
    >>> key = bytes(range(32))  # a real one comes from versadp.fresh_key()
    >>> report_id(key, "0" * 64, "2026-11")[:16]
    '8ce1597c1f738c38'
    """
    return hmac.new(check_key(key), text(REPORT_DOMAIN) + text(mechanism) + text(round), "sha256").hexdigest()
