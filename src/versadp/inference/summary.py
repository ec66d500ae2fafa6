"""The summary of a fit: model, privacy, coefficients and notes, in any style.

The summary of a fit without an estimate says what happened and what to do, and has no table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from versadp.estimation.thresholds import SEEN, STRONG
from versadp.inference.chi_square import SURE_LEVEL
from versadp.inference.coefficient_table import ENDLESS
from versadp.inference.styles import as_style
from versadp.inference.trust import LOOK_FOR
from versadp.release.bounds.wording import bounds_line
from versadp.release.target.person import unit_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from versadp.inference.coefficient_table import CoefTable
    from versadp.inference.results import Results
    from versadp.release.release import Release

EPSILON = 4.0  # at which delta is stated where no target is known: a usual one, chosen
MOST_NAMED = 5  # coefficients that a note names: chosen, for one line
_LABELS = {
    "coefficient": "",
    "estimate": "estimate",
    "std_error": "std error",
    "z": "z",
    "p_value": "p value",
}


@dataclass(frozen=True)
class Summary:
    """The summary of a fit; `print` shows text, a notebook shows HTML.

    Attributes
    ----------
    title : str
    facts : dict of str to str
        The header: privacy, records, loss, method, outcome.
    table : CoefTable or None
        None if there is no estimate.
    notes : tuple of str

    Examples
    --------
    >>> print(Summary("y ~ age", {"method": "efficient", "outcome": "diverged"}, None, ("No estimate: diverged.",)))
    y ~ age
    =======
    method   efficient
    outcome  diverged
    <BLANKLINE>
    No estimate: diverged.
    """

    title: str
    facts: Mapping[str, str]
    table: CoefTable | None
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return self.render("text")

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.render("html")

    def _repr_latex_(self) -> str:
        return self.render("latex")

    def to_html(self) -> str:
        """Return the summary as HTML; all text in it is escaped."""
        return self.render("html")

    def render(self, style: str) -> str:
        """Return the summary in a style: text, html, latex or markdown."""
        page = as_style(style)
        table = None if self.table is None else self._rows(self.table)
        return page(self.title, self.facts, table, self.notes)

    @staticmethod
    def _rows(table: CoefTable) -> list[dict[str, str]]:
        """Return the rows with short numbers, bounds labelled by their level, and without empty columns."""
        labels = _LABELS | {"lower": f"lower {100 * table.level:.4g}%", "upper": f"upper {100 * table.level:.4g}%"}
        keys = [key for key in labels if key == "estimate" or any(row[key] is not None for row in table)]
        return [{labels[key]: _cell(key, row[key]) for key in keys} for row in table]


def summarise(results: Results, table: CoefTable | None, advice: str) -> Summary:
    """Return the summary of results; `table` is None for a fit without an estimate."""
    facts = dict(results.header) | {"records": f"{results.nobs:,}"}
    if results.effective_n is not None:
        error = results.trust.size_error
        size = f"{results.effective_n:,.0f}" + (f" ± {error:,.0f}" if error else "")
        facts["effective sample size"] = f"{size} records without noise would tell as much"
    facts |= {"loss": results.loss, "method": results.method, "outcome": results.outcome}
    title = results.formula or f"{results.loss} fit"
    if table is None:
        happened = f"What happened: {results.outcome.happened}"
        notes = [f"No estimate: {results.outcome}.", happened, f"What to do: {advice}", *_wrong(results)]
        return Summary(title, facts, None, tuple(notes))
    notes = [*_how_estimated(results), *_profiled(results), *_bias(results), *_unsure(results, table, advice)]
    return Summary(title, facts, table, (*notes, *_wrong(results)))


def _how_estimated(results: Results) -> list[str]:
    """Return notes on the members of a combination, and on intervals that are not by standard errors."""
    members = ", ".join(f"{member} {weight:.3g}" for member, weight in (results.weights or {}).items())
    notes = [f"combination of {members}"] if members else []
    if results.curves:
        half = "it holds also where a bootstrap, in which quantiles jump, is too short; se is half its length over 1.96"
        notes.append(
            f"interval of {', '.join(results.curves)} by inverting the corrected distribution function; {half}"
        )
    uncertain = [name for name, t in results.trust.strength.items() if SEEN <= t < STRONG and name in results.names]
    if results.trust.sets and uncertain:
        named = ", ".join(uncertain[:MOST_NAMED]) + (" and others" if len(uncertain) > MOST_NAMED else "")
        notes.append(f"hardly known: {named}; read intervals and p values, which are by what the scores cannot reject")
    return notes


def _bias(results: Results) -> list[str]:
    """Return a note on the largest bias that the estimates have been corrected for."""
    if not (results.converged and results.bias):
        return []
    errors = ((abs(off), float(results.bse[name])) for name, off in results.bias.items())
    most = max(off / error if error else float("inf") for off, error in errors)
    return [f"corrected for a bias of up to {most:.2g} standard errors, due to noise in a small sample"]


def _wrong(results: Results) -> list[str]:
    """Return a note if the specification test rejects."""
    test = results.trust.test
    if test is None or not test.rejects:
        return []
    sure = (
        "Something is wrong"
        if test.pvalue < SURE_LEVEL
        else "Something may be wrong (one good release in twenty says so)"
    )
    return [f"{sure}, {test}. Look for {LOOK_FOR}."]


def _unsure(results: Results, table: CoefTable, advice: str) -> list[str]:
    """Return notes on a weak fit, on missing estimates and on unbounded intervals."""
    notes = []
    if not results.converged:
        weak = [str(row["coefficient"]) for row in table if row["std_error"] is None]
        whole = "" if len(weak) == len(table) else f" Weak coefficients: {', '.join(weak)}; the others are known."
        notes = [f"Weak: {results.outcome.happened}.{whole}"]
    if any(row["estimate"] is None for row in table):
        notes.append("An empty estimate: the data do not determine the coefficient.")
    if any(row[end] in ENDLESS for row in table for end in ("lower", "upper")):
        notes.append("An infinite end: no value on that side can be rejected.")
    return notes if results.converged else [*notes, f"What to do: {advice}"]


def _profiled(results: Results) -> list[str]:
    """Return a note on profile likelihood intervals and how much they differ from Wald intervals."""
    if results.method == "likelihood" and results.converged and not results.likelihood_sets:
        return ["intervals are by standard errors, and may be short: the likelihood could not be profiled"]
    if not results.likelihood_sets:
        return []
    values, errors = results.params.values, results.bse.values
    sets = (results.likelihood_sets[name] for name in results.names)
    off = max(one.off(*here) for one, *here in zip(sets, values, errors, strict=True))
    elsewhere = f"Wald intervals would differ by up to {off:.2g} standard errors"
    if off in ENDLESS:
        elsewhere = "Wald intervals would be bounded where these are not"
    return [f"intervals are what the likelihood cannot reject; {elsewhere}"]


def _cell(key: str, value: str | float | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if key == "p_value":
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    return f"{value:.2f}" if key == "z" else f"{value:.4g}"


def guarantee(release: Release) -> dict[str, str]:
    """Return mechanism and guarantee, at the target that was calibrated for where that is known."""
    mechanism, target = release.mechanism, release.mechanism.target
    unit = (target and target.unit) or unit_of(mechanism.schema, None)
    epsilon = EPSILON if target is None or target.epsilon is None else target.epsilon
    hidden = target is not None and target.shuffled is not None
    profile, among = (release.privacy(unit) if hidden else mechanism.privacy(unit)), release.order.among
    noise = repr(mechanism).removeprefix("<Mechanism: ").removesuffix(">")
    return {
        "mechanism": noise + (", INSECURE (seeded)" if release.insecure else ""),
        "privacy unit": unit + (f", hidden among {among:,} in an order that tells nothing" if hidden and among else ""),
        "epsilon": f"{epsilon:g}",
        "delta": f"{profile.delta(epsilon):.4g}",
        "delta floor": f"{profile.delta_floor:.4g}",
        **({"bounds": clipped} if (clipped := bounds_line(mechanism.schema)) else {}),
    }
