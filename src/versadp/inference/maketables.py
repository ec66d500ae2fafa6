"""Results as columns of tables by maketables, `ETable([res1, res2])`, which reads attributes of these names.

The tables have rows of privacy unit, epsilon and delta by default. maketables takes an object with `params`, `bse` and
`pvalues` for results of statsmodels before it looks for these attributes; hence `Published`, which has nothing else,
for `ETable([res.to_maketables()])`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from versadp.inference.arrays import NamedArray

_FACTS = {"privacy_unit": "privacy unit", "epsilon": "epsilon", "delta": "delta"}


class Publishing:
    """Attributes that maketables reads of results."""

    @property
    def _told(self) -> Any:
        """The results."""
        return self

    @property
    def __maketables_coef_table__(self) -> Any:
        """The coefficients as a pandas DataFrame with the columns b, se, t, p and intervals."""
        import pandas as pd

        this = self._told
        columns: dict[str, NamedArray] = {"b": this.params, "se": this.bse, "t": this.zvalues, "p": this.pvalues}
        table = {key: np.asarray(values) for key, values in columns.items()}
        for level in (95, 90):
            table[f"ci{level}l"], table[f"ci{level}u"] = np.asarray(this.conf_int(level / 100)).T
        return pd.DataFrame(table, index=pd.Index(list(this.names), name="Coefficient"))

    def __maketables_stat__(self, key: str) -> Any:
        """Return a statistic by its key, None if there is none."""
        this = self._told
        if key in _FACTS:
            return self._told.header.get(_FACTS[key])
        known = {
            "N": this.nobs,
            "loss": this.loss,
            "outcome": str(this.outcome),
            "se_type": this.header.get("covariance", "robust"),
        }
        return known.get(key)

    @property
    def __maketables_depvar__(self) -> str:
        """The response."""
        return (self._told.formula or "").partition("~")[0].strip() or "a loss of whole records"

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        """The keys of the rows below the coefficients."""
        return ["N", "loss", "se_type", *_FACTS]

    @property
    def __maketables_stat_labels__(self) -> dict[str, str]:
        """The labels of the rows below the coefficients."""
        return {"N": "records", "loss": "loss", "se_type": "standard errors", "outcome": "outcome"} | _FACTS

    @property
    def __maketables_vcov_info__(self) -> dict[str, Any]:
        """The type of the covariance estimator."""
        clustered = self._told.header.get("covariance", "")
        return (
            {"vcov_type": "CRV1", "clustervar": clustered.rpartition(" ")[2]} if clustered else {"vcov_type": "robust"}
        )


class Published(Publishing):
    """Results with the attributes of maketables only.

    Examples
    --------
    >>> from versadp.inference import Results
    >>> res = Results([0.5], [[0.01]], ("age",), "converged", 1000, loss="squared", method="efficient")
    >>> float(res.to_maketables().__maketables_coef_table__.loc["age", "b"])
    0.5
    """

    def __init__(self, results: Any) -> None:
        self._results = results

    @property
    def _told(self) -> Any:
        return self._results
