"""Results in tables of maketables (`ETable([res1, res2])`), which asks for attributes of these names.

Beside the coefficients there are the privacy unit, epsilon and delta as rows, so that nobody prints a table without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from versadp.inference.named import NamedArray

_FACTS = {"privacy_unit": "privacy unit", "epsilon": "epsilon", "delta": "delta"}


class Publishing:
    """What maketables asks of results; it is not needed for it."""

    names: tuple[str, ...]
    formula: str | None
    header: Mapping[str, str]

    @property
    def __maketables_coef_table__(self) -> Any:
        """The coefficients as a pandas DataFrame with the columns b, se, t, p and intervals."""
        import pandas as pd

        this: Any = self
        columns: dict[str, NamedArray] = {"b": this.params, "se": this.bse, "t": this.zvalues, "p": this.pvalues}
        table = {key: np.asarray(values) for key, values in columns.items()}
        for level in (95, 90):
            table[f"ci{level}l"], table[f"ci{level}u"] = np.asarray(this.conf_int(level / 100)).T
        return pd.DataFrame(table, index=pd.Index(list(self.names), name="Coefficient"))

    def __maketables_stat__(self, key: str) -> Any:
        """Return a fact by its key; None if there is none."""
        this: Any = self
        if key in _FACTS:
            return self.header.get(_FACTS[key])
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
        return (self.formula or "").partition("~")[0].strip() or "a loss of whole records"

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        """The rows below the coefficients."""
        return ["N", "loss", "se_type", *_FACTS]

    @property
    def __maketables_stat_labels__(self) -> dict[str, str]:
        """What they are called."""
        return {"N": "records", "loss": "loss", "se_type": "standard errors", "outcome": "outcome"} | _FACTS

    @property
    def __maketables_vcov_info__(self) -> dict[str, Any]:
        """How the covariance was estimated."""
        clustered = self.header.get("covariance", "")
        return (
            {"vcov_type": "CRV1", "clustervar": clustered.rpartition(" ")[2]} if clustered else {"vcov_type": "robust"}
        )
