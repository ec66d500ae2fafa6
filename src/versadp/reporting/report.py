"""`report`: one release on one page, for who made it and for who learns from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.describing.describe import describe
from versadp.display.numbers import brief
from versadp.display.pictures import ranges
from versadp.display.svg import inline
from versadp.inference.checks import check_level
from versadp.release.release import as_release
from versadp.reporting import columns, guarantee
from versadp.reporting.code import code
from versadp.reporting.comparison import compare
from versadp.reporting.model import model
from versadp.reporting.noise import DRAWS, Spread, spreads, table
from versadp.reporting.page import Page, checked, environment, render
from versadp.schema import Bounded

if TYPE_CHECKING:
    from pathlib import Path

    from versadp.release.release import Release


def report(
    release: Release | str | Path,
    path: str | Path | None = None,
    *,
    fit: str | None = None,
    loss: Any = "squared",
    raw: Any = None,
    level: float = 0.95,
) -> Page:
    """Return a page about a release: what it promises, what its noise does, what it tells, and code to go on with.

    It is one file of HTML that needs no network, for screens of any width, paper and screen readers. The records are
    read once, batch by batch, so that a folder may be larger than memory. Needs the extra `versadp[report]`.

    Parameters
    ----------
    release : Release, str or Path
        A release, or the folder of one.
    path : str or Path, optional
        File to write.
    fit : str, optional
        A formula to fit, such as `"y ~ age + income"`.
    loss : str or loss
        As in `fit`.
    raw : table, str or Path, optional
        The original data, to compare with: columns, and the model if there is one (its columns are held in memory).
        **Such a page holds figures without noise and is for the provider alone.**
    level : float
        Of the intervals.

    Returns
    -------
    Page
        With the text as `html`, and `save(path)`.

    Examples
    --------
    >>> import pandas as pd, versadp as vdp
    >>> schema = vdp.Schema({"member": vdp.Categorical([False, True])})
    >>> release = vdp.calibrate(schema, epsilon=2).release(pd.DataFrame({"member": [True, False] * 100}))
    >>> "finds at most" in vdp.report(release).html
    True
    """
    opened = as_release(release)
    check_level(level)
    environment()  # what is not installed, or cannot be written, is said before the work
    if path is not None:
        checked(path)
    described = describe(opened, level=level)
    every = guarantee.guarantees(opened)
    found = spreads(opened.mechanism)
    told = {} if raw is None else _beside(compare(opened, described, raw))
    page = render(
        "report.html",
        records=f"{len(opened):,}",
        title=opened.metadata.title,
        said=_said(opened),
        insecure=opened.insecure,
        rows_per_person=opened.mechanism.schema.rows_per_person,
        level=f"{100 * level:g}%",
        headline=guarantee.headline(opened),
        unchanged=_unchanged(opened),
        order=_order(opened),
        statement=_paragraphs(opened.statement()),
        attacks=guarantee.attacks(every),
        pairs=guarantee.pairs(every),
        again=guarantee.again(opened),
        pictures=_pictures(opened, found),
        noise=table(opened.mechanism, found),
        draws=f"{DRAWS:,}",
        overview=columns.overview(opened),
        head=columns.head(opened),
        columns=columns.columns(described),
        correlations=columns.correlations(described),
        model=None if fit is None else model(opened, fit, loss, level, raw),
        code=code(opened, fit, loss),
        comparison=told.get("rows"),
        inside=told.get("inside"),
    )
    if path is not None:
        page.save(path)
    return page


def _pictures(release: Release, found: dict[str, Spread]) -> dict[str, str]:
    """Return the provider's pictures."""
    whole, local = release.privacy(), release.mechanism.privacy()
    beside = {} if whole == local else {"who knows the rows": local}
    label = "best attacker"
    numbers = {
        name: (each.truth, each.mostly, each.half)
        for name, each in found.items()
        if isinstance(release.mechanism.schema.columns[name], Bounded) and np.isfinite(each.half).all()
    }
    noise = ranges(numbers, x="share of the declared range") if numbers else None
    return {
        "tradeoff": inline(
            whole.plot(show="tradeoff", label=label, beside=beside),
            "tradeoff",
            "Trade-off curve of the best attacker",
            "Misses over false alarms; the dashed diagonal is guessing. The table beside it has points of it.",
        ),
        "profile": inline(
            whole.plot(show="profile", label=label, beside=beside),
            "profile",
            "Delta over epsilon",
            "It falls as epsilon grows. The table beside it has points of it.",
        ),
        "noise": ""
        if noise is None
        else inline(noise, "noisebars", "Noise beside each range", "The table beside it has the same in numbers."),
    }


def _unchanged(release: Release) -> dict[str, str]:
    """Return how many records are given away for certain, and why there are any or none."""
    share = release.mechanism.privacy("record").exact_share
    if share <= guarantee.NONE:
        return {
            "expected": "none",
            "words": "whatever is shown of a record can be denied",
            "reason": "No record is given away for certain: whatever is released of a record could have come from any "
            "other. Many are released near the truth all the same; nobody can tell which.",
        }
    return {
        "expected": f"about {share * len(release):,.0f}",
        "words": f"{100 * share:.3g}% of the records, at random",
        "reason": f"With probability {share:.3g} numbers of a record, all or some, are released unchanged, whatever "
        "they are. This is what lets analysts use any method later, and delta pays for it: assume that such records "
        "can be recognised. Nobody chooses who they are.",
    }


def _said(release: Release) -> list[tuple[str, str]]:
    """Return what the publisher says of the release, as far as it is said."""
    shown = {"Publisher": "curator", "Date": "date", "Contact": "contact", "Purpose": "purpose"}
    found = ((word, getattr(release.metadata, name)) for word, name in shown.items())
    return [(word, text) for word, text in found if text]


def _order(release: Release) -> dict[str, str]:
    among = release.order.among
    if among is None:
        return {"short": "as they came", "words": "their places must tell nothing"}
    return {"short": "tells nothing", "words": f"each record hides among at least {among:,}"}


def _paragraphs(statement: str) -> list[dict[str, Any]]:
    """Return a statement line by line, sentences whole: its text, how deep it stands, and whether it is a heading."""
    lines: list[str] = []
    for line in filter(None, statement.splitlines()):
        if lines and not line.startswith(" ") and not lines[-1].endswith((".", ":")):
            lines[-1] += " " + line
        else:
            lines.append(line)
    return [{"text": line.strip(), "heading": line.endswith(":"), "inner": line.startswith(" ")} for line in lines]


def _beside(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the comparison as texts, and how many intervals hold."""
    held = [row for row in rows if row.pop("inside")]
    texts = [{key: brief(cell) for key, cell in row.items()} for row in rows]
    return {"rows": texts, "inside": {"count": len(held), "of": len(rows)}}
