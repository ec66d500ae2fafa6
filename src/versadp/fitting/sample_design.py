"""Sample design: subset, weights, clusters and offset of the records that a model is fitted to.

Each of them is by public columns. Noisy ones are refused: people who were selected, weighted or grouped by what noise
made of them are not the people that a model is about, and every answer would be biased.

    offset, Poisson loss        e^(u + o) - y u   =  e^o (e^u - (y e^-o) u)       weights e^o, response y e^-o
    offset, loss of residuals   rho(u + o - y)    =  rho(u - (y - o))              response y - o
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from versadp.errors import DataError, ParameterError, near
from versadp.fitting.design_covariance import ROWS, covariance_words
from versadp.fitting.source import is_number, values_of
from versadp.fitting.weights import record_weights
from versadp.formula.expression import parse_expression, quote
from versadp.formula.terms import read_columns
from versadp.release.subset import Selected

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from versadp.formula.expression import Expression
    from versadp.losses import IndexLoss
    from versadp.release.release import Release

    Array = NDArray[np.float64]

WEIGHT_TYPES = ("survey", "frequency")
COV_TYPES = ("robust", "cluster", ROWS)
SAME_COV_TYPES = {"HC1": "robust", "sandwich": "robust", "CRV1": "cluster"}  # names of others for the same estimator
OTHER_COV_TYPES = {
    "nonrobust": "noise makes errors of unequal size, so that no single variance describes them",
    "HC0": "HC1 is, which divides by records less coefficients and is a little larger",
    "HC2": "its leverages are those of true records, which are not known",
    "HC3": "its leverages are those of true records, which are not known",
    "HAC": "records have no order in time",
}


@dataclass(frozen=True)
class Condition:
    """A condition on public columns, record by record."""

    expression: Expression

    def __call__(self, table: pa.Table) -> NDArray[np.bool_]:
        """Return where it holds; where a column is missing it does not."""
        return np.asarray(values_at(self.expression, table) == 1.0)


def values_at(expression: Expression, table: pa.Table) -> Array:
    """Return the values of an expression of public columns, one a record."""
    columns = {name: values_of(table.column(name)) for name in expression.columns}
    read = read_columns(columns, expression.columns, {*expression.texts, *expression.missing})
    return np.broadcast_to(np.asarray(expression.evaluate(read), dtype=float), (table.num_rows,))


def public_expression(what: str, text: Any, release: Release, example: str) -> Expression:
    """Return an expression of public columns, or say why it is none."""
    schema = release.mechanism.schema
    if not isinstance(text, str) or not text.strip():
        raise ParameterError(f"{what} must be text", hint=example)
    text = quote(text) if text in schema.columns else text
    found = parse_expression(text)
    if not found.columns:
        raise ParameterError(f"{what} names no column", hint=example)
    for name in found.columns:
        if name in {*schema.numeric, *schema.categorical}:
            raise ParameterError(
                f"{what} by the noisy column {name!r} would bias every answer: noise decides who is in it",
                hint=f"use public columns: {', '.join(schema.public) or 'this release has none'}",
            )
        if name not in schema.public:
            raise ParameterError(f"{what} names a column that is not there: {name!r}", hint=near(name, schema.public))
    for name in found.columns:
        text_column = not is_number(release.types.field(name).type)
        if text_column and name not in {*found.texts, *found.missing}:
            raise ParameterError(f"public column {name!r} holds text", hint=f'compare it, as in {name} == "..."')
    return found


def subset_of(release: Release, text: str) -> tuple[Release, NDArray[np.bool_]]:
    """Return the records of a release for which a condition on public columns holds, and which these are.

    Examples
    --------
    >>> import pandas as pd, versadp as vdp
    >>> schema = vdp.Schema({"age": vdp.Bounded(18, 90), "year": vdp.Public()})
    >>> mech = vdp.Mechanism(schema, scale=0.1, exact_rate=0.2)
    >>> rel = mech.release(pd.DataFrame({"age": [30, 41, 77], "year": [1999, 2001, 2002]}))
    >>> len(subset_of(rel, "year > 2000")[0])
    2
    """
    example = 'e.g. subset="year > 2000", or subset=\'(year > 2000) & (sex == "f")\''
    found = public_expression("a subset", text, release, example)
    source, kept = Selected.of(release, Condition(found), found.columns)
    if not source.rows:
        raise DataError(f"no record is left where {text}", hint="look at the values of its columns")
    return release.with_source(source), kept


class Clusters(NamedTuple):
    """Which records belong together: the number of each record's cluster, and how many there are."""

    labels: Array
    clusters: int


def clusters_of(release: Release, name: Any) -> Clusters:
    """Return the clusters that a public column names."""
    schema = release.mechanism.schema
    example = 'e.g. cov_type="cluster", groups="school"'
    if not isinstance(name, str):
        raise ParameterError("groups must name a public column", hint=example)
    if name in {*schema.numeric, *schema.categorical}:
        raise ParameterError(
            f"clusters by the noisy column {name!r} are not those that people belong to", hint="name a public column"
        )
    if name not in schema.public:
        raise ParameterError(f"there is no public column {name!r}", hint=near(name, schema.public))
    import pyarrow as pa

    column = pa.chunked_array(
        [chunk for handle in release.handles() for chunk in release.read(handle, [name]).column(name).chunks]
    )
    if column.null_count:
        raise DataError(f"public column {name!r} has missing values", hint="give them a cluster of their own")
    codes = column.combine_chunks().dictionary_encode()
    codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
    count = len(codes.dictionary)
    if count < 2:
        raise DataError(f"all records are in one cluster of {name!r}", hint="standard errors need several clusters")
    return Clusters(codes.indices.to_numpy(zero_copy_only=False).astype(float), count)


class Offset(NamedTuple):
    """A formula and weights that say the same without an offset."""

    formula: str
    factor: Array | None
    text: str


def offset_in(formula: str | None, offset: str | None) -> tuple[str | None, str | None]:
    """Return a formula without its `offset(...)`, and that.

    Examples
    --------
    >>> offset_in("visits ~ age + offset(np.log(months))", None)
    ('visits ~ age', 'np.log(months)')
    """
    if not isinstance(formula, str) or "offset(" not in formula.replace(" ", ""):
        return formula, offset
    start = formula.index("offset")
    depth, end = 0, len(formula)
    for at in range(formula.index("(", start), len(formula)):
        depth += (formula[at] == "(") - (formula[at] == ")")
        if not depth:
            end = at + 1
            break
    inner = formula[formula.index("(", start) + 1 : end - 1]
    before, after = formula[:start].rstrip(), formula[end:].strip()
    if depth or offset is not None or "offset(" in after or not before.endswith(("+", "~")):
        raise ParameterError(
            "a formula has one offset, added to its terms", hint="e.g. visits ~ age + offset(exposure)"
        )
    if before.endswith("+"):
        return f"{before[:-1].rstrip()} {after}".strip(), inner
    return f"{before} {after.removeprefix('+').strip() or '1'}", inner


def without_offset(release: Release, formula: str, offset: str, loss: IndexLoss) -> Offset:
    """Return a formula and weights that say the same without an offset."""
    found = public_expression("an offset", offset, release, 'e.g. offset="log_exposure"')
    left, mark, right = formula.partition("~")
    if not mark:
        raise ParameterError("the formula needs a left and a right side", hint='e.g. "visits ~ age"')
    left = left.strip()
    if loss.name == "poisson":
        values = np.concatenate([values_at(found, release.read(h, list(found.columns))) for h in release.handles()])
        if not np.isfinite(values).all() or np.abs(values).max() > 50:
            raise DataError("the offset is missing, not finite or beyond ±50 in some records", hint="it is a logarithm")
        return Offset(f"I(({left}) * np.exp(-({found.text}))) ~ {right}", np.exp(values), found.text)
    if getattr(loss, "residual", False):
        return Offset(f"I(({left}) - ({found.text})) ~ {right}", None, found.text)
    raise ParameterError(
        f"{loss.name} loss takes no offset", hint="poisson, squared, check and huber loss do; or add it as a term"
    )


class SampleDesign(NamedTuple):
    """Records and formula as they are fitted, and how standard errors count the records.

    Attributes
    ----------
    release : Release
    formula : str or None
        As it is fitted, without an offset.
    weights : array or None
    labels : array or None
        Clusters, or how many records each stands for.
    clusters : int
    counted : bool
    offset : str or None
    notes : dict of str to str
        What the summary says of it.
    weight : float
        Mean weight of a record.
    rows_per_person : int
        How many rows of one person may depend on each other; 1 where clusters hold them together.
    """

    release: Release
    formula: str | None
    weights: Array | None = None
    labels: Array | None = None
    clusters: int = 0
    counted: bool = False
    offset: str | None = None
    notes: dict[str, str] = {}  # noqa: RUF012 - a tuple's default, which nobody writes to
    weight: float = 1.0
    rows_per_person: int = 1

    @property
    def is_plain(self) -> bool:
        """True if every record stands for itself: no clusters, frequencies, or people with several rows."""
        return self.labels is None and self.rows_per_person == 1


def _check_weighed(weights: Array, kind: str) -> None:
    if not weights.any():
        raise DataError("all weights are 0", hint="give those records a weight that shall count")
    if kind == "frequency" and (weights != np.rint(weights)).any():
        raise DataError("frequencies must be whole numbers", hint='weight_type="survey" takes any weights')


def read_cov_type(cov_type: Any, groups: Any = None) -> str:
    """Return how the covariance is estimated, from our names or those of statsmodels; groups alone mean clusters.

    Examples
    --------
    >>> read_cov_type("HC1"), read_cov_type("robust", "school")
    ('robust', 'cluster')
    """
    named = SAME_COV_TYPES.get(cov_type, cov_type) if isinstance(cov_type, str) else cov_type
    if isinstance(named, str) and named in OTHER_COV_TYPES:
        raise ParameterError(
            f"cov_type {named!r} is not estimated here: {OTHER_COV_TYPES[named]}",
            hint='"robust" is the sandwich of the corrected scores, HC1 where nothing is noisy; cov_type="cluster", '
            'groups="school" is for clusters',
        )
    if not isinstance(named, str) or named not in COV_TYPES:
        raise ParameterError(f"there is no cov_type {cov_type!r}", hint=near(cov_type, (*COV_TYPES, *SAME_COV_TYPES)))
    if groups is not None and named == "robust":
        return "cluster"
    if (named == "cluster") != (groups is not None):
        raise ParameterError(
            "clusters need a column, and a column its cov_type", hint='cov_type="cluster", groups="school"'
        )
    return named


def make_sample_design(
    release: Release,
    formula: str | None,
    loss: Any,
    *,
    weights: Any = None,
    weight_type: str = "survey",
    offset: str | None = None,
    cov_type: str = "robust",
    groups: str | None = None,
    subset: str | None = None,
) -> SampleDesign:
    """Return records, formula and weights as they are fitted, and how standard errors count records."""
    if weight_type not in WEIGHT_TYPES:
        raise ParameterError(f"there is no weight_type {weight_type!r}", hint=near(weight_type, WEIGHT_TYPES))
    several = release.mechanism.schema.rows_per_person
    cov_type = read_cov_type(cov_type, groups)
    notes: dict[str, str] = {}
    weighed = record_weights(weights, release)
    if subset is not None:
        release, kept = subset_of(release, subset)
        weighed = None if weighed is None else weighed[kept]
        notes["subset"] = subset
    if weighed is not None:
        _check_weighed(weighed, weight_type)
        notes["weights"] = f"{weights if isinstance(weights, str) else 'given'} ({weight_type})"
    labels, clusters = (weighed, 0) if weight_type == "frequency" else (None, 0)
    counted = labels is not None and groups is None
    words = covariance_words(release, cov_type, groups)
    if groups is not None:
        labels, clusters = clusters_of(release, groups)
        words = f"by {clusters:,} clusters of {groups}" + words
    notes |= {"covariance": words} if words else {}
    mean = 1.0 if weighed is None else float(weighed.mean())
    formula, offset = offset_in(formula, offset)
    if offset is not None:
        formula, weighed, offset = _with_offset(release, formula, offset, loss, weighed)
        notes["offset"] = offset
    together = several if cov_type == "robust" else 1
    return SampleDesign(release, formula, weighed, labels, clusters, counted, offset, notes, mean, together)


def _with_offset(
    release: Release, formula: str | None, offset: str, loss: Any, weights: Array | None
) -> tuple[str, Array | None, str]:
    """Return formula and weights that say the same without an offset, and the offset."""
    if formula is None:
        raise ParameterError("an offset belongs to a formula", hint='e.g. "visits ~ age"')
    found = without_offset(release, formula, offset, loss)
    if found.factor is not None:
        weights = found.factor if weights is None else weights * found.factor
    return found.formula, weights, found.text
