"""Attributes of other libraries' results that a release cannot have: each with the reason, and what to do instead.

A residual is a number of one person, and a release has no true record to take it of.
"""

from __future__ import annotations

from versadp.errors import UnavailableError

_PEOPLE = "release.people() makes weighted people without noise, whom any method takes"
_RESIDUALS = "there are no residuals: they belong to true records, and a release has none"
_FITTED = "there are no fitted values: they belong to true records, and a release has none"
_LIKELIHOOD = "this has no information criterion: fits assume no law of the response"
OF_RESULTS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("resid", "resid_pearson", "resid_deviance", "resid_response", "wresid", "ssr", "mse_resid", "scale"),
        (_RESIDUALS, f"specification_test() tests the model; {_PEOPLE}"),
    ),
    **dict.fromkeys(
        ("fittedvalues", "fitted"), (_FITTED, f"predict(table) predicts at records that you know; {_PEOPLE}")
    ),
    **dict.fromkeys(
        ("get_influence", "outlier_test"),
        ("there is no influence of single records: who a noisy record was is not known", _PEOPLE),
    ),
    **dict.fromkeys(
        ("bic", "bic_llf", "deviance"),
        (_LIKELIHOOD, "compare(smaller) tests nested models; aic exists of method='likelihood'"),
    ),
    "rsquared_adj": ("there is no adjusted R²: rsquared is corrected for noise, and of many records", "use rsquared"),
}


def unavailable_result(name: str) -> UnavailableError | None:
    """Return the error for an attribute of other libraries' results, None for other names.

    Examples
    --------
    >>> unavailable_result("resid").message
    'there are no residuals: they belong to true records, and a release has none'
    """
    found = OF_RESULTS.get(name)
    return None if found is None else UnavailableError(found[0], hint=found[1])
