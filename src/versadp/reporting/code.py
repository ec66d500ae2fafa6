"""Python that an analyst can run as it stands: about this very release, its columns and its model.

Names stand in it as Python writes them (`repr`), and in formulas between backticks where they are no plain words: a
name is never more than a name. The folder is called `released`, wherever it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from versadp.fitting.source import public_numbers
from versadp.schema import Bounded, Categorical, Dates

if TYPE_CHECKING:
    from versadp.release.release import Release

MOST = 3  # columns on the right side of a formula


def code(release: Release, formula: str | None = None, loss: Any = "squared") -> str:
    """Return code that loads, describes and fits a release.

    Parameters
    ----------
    release : Release
    formula : str, optional
        The model; by default one of the first columns.
    loss : str or loss

    Examples
    --------
    >>> import versadp as vdp
    >>> print(code(vdp.example(1000)).splitlines()[-2])
    result = vdp.fit(release, 'age ~ income + C(region) + visits')
    """
    lines = [
        "import versadp as vdp",
        "",
        'release = vdp.load("released")      # the folder of this release',
        "print(release.statement())          # what is promised",
        "print(vdp.describe(release))        # means, spreads, quantiles, shares: corrected, with intervals",
    ]
    model = formula or guess(release)
    if model is not None:
        more = "" if loss == "squared" else f", loss={_loss(loss)}"
        lines += ["", f"result = vdp.fit(release, {model!r}{more})", "print(result.summary())"]
    elif shares := [
        name for name, column in release.mechanism.schema.columns.items() if isinstance(column, Categorical)
    ]:
        lines += ["", f"result = vdp.fit(release, loss=vdp.losses.Share({shares[0]!r}))", "print(result.summary())"]
    return "\n".join(lines) + "\n"


def guess(release: Release) -> str | None:
    """Return a formula of the first columns of a release that can stand in one; None where there are too few."""
    schema = release.mechanism.schema
    there = [name for name in schema.columns if "`" not in name and "\\" not in name]
    public = public_numbers(release)
    numbers = [n for n in there if (isinstance(schema.columns[n], Bounded) or n in public) and not _optional(schema, n)]
    left = next((name for name in numbers if not isinstance(schema.columns[name], Dates)), None)
    if left is None:
        return None
    terms = [
        f"C({quoted(n)})" if isinstance(schema.columns[n], Categorical) else quoted(n)
        for n in there
        if n != left and (n in numbers or isinstance(schema.columns[n], Categorical)) and not _optional(schema, n)
    ]
    return f"{quoted(left)} ~ {' + '.join(terms[:MOST]) or '1'}"


def _optional(schema: Any, name: str) -> bool:
    return bool(getattr(schema.columns[name], "nullable", False))


def quoted(name: str) -> str:
    """Return a name as a formula has it.

    Examples
    --------
    >>> quoted("age"), quoted("age at birth")
    ('age', '`age at birth`')
    """
    return name if name.isidentifier() and name.isascii() else f"`{name}`"


def _loss(loss: Any) -> str:
    """Return a loss as code: its name, or the call that makes it."""
    return repr(loss) if isinstance(loss, str) else f"vdp.losses.{loss!r}"
