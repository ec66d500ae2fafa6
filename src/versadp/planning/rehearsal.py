"""`rehearse`: release, fit, coverage and audit with simulated people, before any private data are used.

The page states assumptions, estimates, coverage and the result of the audit. Coverage is that of the population
coefficients over releases of independent samples of people; it fails if a binomial test rejects 95% at the level of
0.1%, corrected for the number of coefficients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp import inputs
from versadp.auditing.audit import Audit, audit
from versadp.display.progress import bar
from versadp.display.tables import render
from versadp.errors import ParameterError, VersadpError
from versadp.estimation import Outcome
from versadp.fitting.fit import fit
from versadp.planning.assumptions import Assumptions
from versadp.planning.precision import LEVEL, NORMAL, anew, release_of
from versadp.planning.simulate import make_people
from versadp.release.mechanism import Mechanism
from versadp.release.target.calibrate import calibrate
from versadp.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from versadp.inference import Results
    from versadp.planning.simulate import People

    Array = NDArray[np.float64]

# defaults: people per release, releases, and the time limit in seconds. 40 releases detect a true coverage of 70% with
# probability 0.9; the time limit bounds slow fits
RECORDS, REPS, SECONDS = 20_000, 40, 90.0
FALSE_ALARM = 1e-3  # level of the test of coverage over all coefficients: one valid rehearsal in a thousand fails
AUDIT_RECORDS = 100_000  # of the audit: chosen for seconds; a tenth of the default of `audit`


@dataclass(frozen=True)
class Rehearsal:
    """The results of a rehearsal, made by `rehearse`; `print` shows a page of text, `to_html` returns it as HTML.

    Attributes
    ----------
    table : list of dict
        One row per coefficient: its value in the population, the mean estimate and its standard deviation over
        releases, the root mean square standard error, the number of intervals that covered, their median width, the
        standard error without noise.
    outcomes : dict of str to int
        Number of fits by outcome.
    covered : bool
        False if the test of coverage rejects.
    audit : Audit
        The audit of the mechanism.
    passed : bool
        True if fits have estimates, intervals covered and the audit passed.
    """

    formula: str
    loss: str
    records: int
    reps: int
    wanted: int
    statement: str
    assumed: tuple[str, ...]
    table: list[dict[str, Any]]
    outcomes: dict[str, int]
    covered: bool
    audit: Audit
    mechanism: Mechanism

    @property
    def answered(self) -> bool:
        """True if at least nine fits in ten have intervals."""
        good = sum(self.outcomes.get(str(each), 0) for each in (Outcome.CONVERGED, Outcome.WEAK))
        return good >= 0.9 * self.reps

    @property
    def passed(self) -> bool:
        """True if fits have estimates, intervals covered and the audit passed."""
        return self.answered and self.covered and self.audit.passed

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain numbers and words."""
        return {
            "passed": self.passed,
            "formula": self.formula,
            "loss": self.loss,
            "records": self.records,
            "releases": self.reps,
            "assumed": list(self.assumed),
            "statement": self.statement,
            "outcomes": self.outcomes,
            "coefficients": self.table,
            "covered": self.covered,
            "audit": {
                "passed": self.audit.passed,
                "unit": self.audit.unit,
                "epsilon_found": float(self.audit.epsilon_found),
                "epsilon_claimed": float(self.audit.epsilon_claimed),
                "releases": self.audit.n,
                "law": self.audit.law,
            },
        }

    def sections(self) -> list[tuple[str, str]]:
        """Return the headings and texts of the page."""
        fewer = "" if self.reps == self.wanted else f" ({self.wanted} were asked for; time was up)"
        ended = ", ".join(f"{count} {outcome}" for outcome, count in self.outcomes.items())
        verdict = {True: "Intervals covered as often as they should.", False: "INTERVALS COVERED TOO SELDOM."}
        seen = (
            f"{self.reps} releases of {self.records:,} other people each{fewer}; fits: {ended}.\n\n{render(self.table)}"
        )
        alright = "All went well." if self.passed else "NOT ALL WENT WELL: " + "; ".join(self._wrong())
        return [
            (
                "What was rehearsed",
                f"{self.formula}, {self.loss} loss; people were made up, and nothing private was read.",
            ),
            ("Verdict", alright),
            ("What is promised", self.statement),
            ("What was assumed", "\n".join(self.assumed)),
            ("What an analyst would see", f"{seen}\n\n{verdict[self.covered] if self.answered else ''}".rstrip()),
            ("What an attacker would see", str(self.audit)),
        ]

    def _wrong(self) -> list[str]:
        said = {
            "many fits have no estimate": self.answered,
            "intervals covered too seldom": self.covered,
            "the audit failed": self.audit.passed,
        }
        return [what for what, fine in said.items() if not fine]

    def __str__(self) -> str:
        return "\n\n".join(f"{title}\n{'-' * len(title)}\n{text}" for title, text in self.sections())

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the page as HTML, and write it if a path is given."""
        parts = [f"<h2>{escape(title)}</h2>\n<pre>{escape(text)}</pre>" for title, text in self.sections()]
        body = "\n".join(["<h1>Rehearsal</h1>", *parts])
        page = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Rehearsal</title>\n{body}\n</html>\n'
        if path is not None:
            from pathlib import Path as File

            File(path).write_text(page, encoding="utf-8")
        return page


def rehearse(
    schema: Schema | Mechanism,
    *,
    formula: str,
    loss: Any = "squared",
    records: int = RECORDS,
    epsilon: float | None = None,
    delta: float | None = None,
    unit: str | None = None,
    shuffled: int | None = None,
    noise: str = "auto",
    exact_rate: float | None = None,
    assume: Mapping[str, Any] | str | Path | None = None,
    reps: int = REPS,
    seconds: float = SECONDS,
    random_state: int = 0,
) -> Rehearsal:
    """Return the results of release, fit, coverage and audit with simulated people.

    Parameters
    ----------
    schema : Schema or Mechanism
        A schema, with a target below; or the mechanism itself.
    formula : str
        The model that analysts will fit.
    loss : str or loss
        As in `fit`.
    records : int
        Number of people of each simulated release.
    epsilon, delta, unit, shuffled, noise, exact_rate
        The target, as in `calibrate`.
    assume : mapping or path of a TOML file, optional
        Assumptions about the people, as in `plan`.
    reps : int
        Number of simulated releases.
    seconds : float
        Time after which no further release is started; the page states their number.
    random_state : int
        Seed of the simulated people.

    Returns
    -------
    Rehearsal

    Examples
    --------
    >>> from versadp import Bounded, Public, Schema
    >>> schema = Schema({"age": Bounded(18, 90), "y": Public()})
    >>> page = rehearse(schema, formula="y ~ age", epsilon=8, records=2000, reps=4)
    >>> page.audit.passed, page.table[1]["coefficient"], page.reps
    (True, 'age', 4)
    """
    records, reps = inputs.whole("records", records, 50), inputs.whole("reps", reps, 2)
    if isinstance(schema, Mechanism):
        mechanism = schema
    elif isinstance(schema, Schema):
        mechanism = calibrate(
            schema, epsilon=epsilon, delta=delta, unit=unit, shuffled=shuffled, noise=noise, exact_rate=exact_rate
        )
    else:
        raise ParameterError("rehearse needs a Schema, or a Mechanism", hint="vdp.Schema.from_toml reads a file")
    people = make_people(mechanism.schema, formula, loss, Assumptions.read(assume))
    truth = people.raw()
    small = shuffled is not None and records < shuffled
    released_by = anew(mechanism) if small or mechanism.schema.public else mechanism
    fits = _fits(people, released_by, records, reps=reps, seconds=seconds, seed=random_state)
    table = _table(people, fits, truth.theta, truth.error, truth.bse(records))
    attacked = audit(mechanism, AUDIT_RECORDS, unit=unit)
    outcomes: dict[str, int] = {}
    for each in fits:
        name = "failed" if each is None else str(each.outcome)
        outcomes[name] = outcomes.get(name, 0) + 1
    return Rehearsal(
        formula,
        people.loss.name,
        records,
        len(fits),
        reps,
        mechanism.statement(),
        people.notes,
        table,
        outcomes,
        _covers(table),
        attacked,
        mechanism,
    )


def _fits(
    people: People, mechanism: Mechanism, records: int, *, reps: int, seconds: float, seed: int
) -> list[Results | None]:
    """Return fits to simulated releases, at least two, until the time limit; None for one that raised."""
    out: list[Results | None] = []
    began = monotonic()
    with bar("rehearsing") as tell:
        for rep in range(reps):
            release = release_of(people, mechanism, records, [seed, rep, 0x0FF1CE], shuffle=True)
            try:
                out.append(fit(release, people.formula, loss=people.loss, random_state=rep))
            except VersadpError:
                out.append(None)
            tell((rep + 1) / reps)
            if rep and monotonic() - began > seconds:
                break
    return out


def _table(people: People, fits: list[Results | None], theta: Array, error: Array, raw: Array) -> list[dict[str, Any]]:
    """Return the table of coefficients; `error` is the standard error of the population coefficients themselves."""
    good = [each for each in fits if each is not None and each.answered]
    sure = [each for each in good if each.converged]
    ends = np.array([np.array(each.conf_int(LEVEL)) for each in good]).reshape(len(good), -1, 2)
    params = np.array([each.params.values for each in sure]).reshape(len(sure), -1)
    bse = np.array([np.array(each.bse) for each in sure]).reshape(len(sure), -1)
    rows = []
    for j, name in enumerate(people.design.names):
        row: dict[str, Any] = {"coefficient": name, "truth": float(theta[j])}
        row["mean"] = float(params[:, j].mean()) if sure else None
        row["sd"] = float(params[:, j].std(ddof=1)) if len(sure) > 1 else None
        row["se"] = float(np.sqrt((bse[:, j] ** 2).mean())) if sure else None
        # the true coefficients come from finitely many people, whose error widens the target
        slack = 0.0 if not sure else NORMAL * (math.hypot(row["se"], error[j]) - row["se"])
        inside = (ends[:, j, 0] - slack <= theta[j]) & (theta[j] <= ends[:, j, 1] + slack)
        row["covered"], row["of"] = int(inside.sum()), len(good)
        width = ends[:, j, 1] - ends[:, j, 0]
        row["width"] = float(np.median(width)) if good and np.isfinite(np.median(width)) else None
        row["raw se"] = float(raw[j])
        rows.append(row)
    return rows


def _covers(table: list[dict[str, Any]]) -> bool:
    """Return False if coverage is significantly below the level for some coefficient."""
    from scipy.stats import binom

    chances = [float(binom.cdf(row["covered"], row["of"], LEVEL)) for row in table if row["of"]]
    return not chances or min(chances) >= FALSE_ALARM / len(chances)
