"""Numbers as people read them: few digits, thousands apart, no powers of ten where people would not write them."""

from __future__ import annotations

import math


def brief(value: float | str | None, digits: int = 4) -> str:
    """Return a number with few digits; a text as it is, and nothing for what is not known.

    Examples
    --------
    >>> brief(44712.3), brief(2019.58), brief(0.0277312), brief(1.9e-7), brief(None), brief("2020-02-01")
    ('44,710', '2019.6', '0.02773', '1.9e-07', '', '2020-02-01')
    """
    if value is None or isinstance(value, str):
        return value or ""
    if not math.isfinite(value):
        return "" if math.isnan(value) else "∞" if value > 0 else "-∞"
    if 1e4 <= abs(value) < 1e12:
        step = 10 ** max(math.floor(math.log10(abs(value))) + 1 - digits, 0)
        return f"{round(value / step) * step:,.0f}"
    return f"{value:.{digits + (abs(value) >= 1000)}g}"  # years need a fifth


def between(low: float | str | None, high: float | str | None) -> str:
    """Return an interval in words.

    Examples
    --------
    >>> between(0.5, 1200.0)
    '0.5 to 1200'
    """
    ends = brief(low), brief(high)
    return f"{ends[0]} to {ends[1]}" if all(ends) else ""
