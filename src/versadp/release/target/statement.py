"""The privacy statement: in words that a person understands, first of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from versadp.noise.block import UNITS

if TYPE_CHECKING:
    from versadp.release.mechanism import Mechanism

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
FALSE_ALARMS = 0.01
_UNIT_WORDS = {
    "record": "a whole record (all private columns of one person replaced by others)",
    "attribute": "one attribute (one private column of one person replaced by another value)",
}


def privacy_statement(mechanism: Mechanism, rows: int | None = None) -> str:
    """Return the guarantee of a mechanism in words.

    Parameters
    ----------
    mechanism : Mechanism
    rows : int, optional
        Number of records, to say how many to expect unchanged.
    """
    lines = [*_noise_words(mechanism, rows), ""]
    for unit in UNITS:
        profile = mechanism.privacy(unit)
        pairs = ", ".join(f"({epsilon:g}, {_up(profile.delta(epsilon))})" for epsilon in EPSILONS)
        found = _up(100 * (1 - profile.beta(FALSE_ALARMS)))
        attack = f"An attacker who may raise {FALSE_ALARMS:.0%} false alarms tells two versions apart in at most"
        lines += [
            f"Protecting {_UNIT_WORDS[unit]}:",
            f"  {attack} {found}% of cases.",
            f"  (epsilon, delta) for every pair of: {pairs}; delta is never below {_up(profile.delta_floor)}.",
        ]
    lines += [
        "",
        "This holds for replacing one record, with the number of records public. Public columns are not protected,",
        "and neither is anything that they reveal. Each further release of the same people adds to what can be learnt.",
    ]
    if mechanism.sampler_error:
        error = _up(mechanism.sampler_error)
        lines.append(f"The sampler's distance from ideal noise, at most {error} a record, is included.")
    return "\n".join(lines)


def privacy_figures(mechanism: Mechanism, rows: int) -> dict[str, Any]:
    """Return the guarantee as it stands in a manifest: words, and figures at both units."""
    figures: dict[str, Any] = {"statement": privacy_statement(mechanism, rows)}
    for unit in UNITS:
        profile = mechanism.privacy(unit)
        figures[unit] = {
            "delta_floor": float(profile.delta_floor),
            "epsilon_delta": [[epsilon, float(profile.delta(epsilon))] for epsilon in EPSILONS],
        }
    return figures


def _noise_words(mechanism: Mechanism, rows: int | None) -> list[str]:
    lines = [sentence for block in mechanism.blocks for sentence in block.sentences(rows)]
    where = [f"where {name} is missing" for name in mechanism.schema.public_patterns]
    if public := [*mechanism.schema.public, *where]:
        lines.append(f"Public, released as they are: {', '.join(public)}.")
    return lines


def _up(value: float) -> str:
    """Show three digits, rounded up: a statement never promises more than holds (a millionth of it aside)."""
    from decimal import ROUND_CEILING, Context, Decimal

    shown = Context(prec=3, rounding=ROUND_CEILING).create_decimal(Decimal(value * (1 - 1e-6)))
    return f"{float(shown):g}"
