"""Tests of whole terms and of nested models.

A term of a formula such as `C(region)` has several coefficients; their numbers are found by reading the formula again
with the levels of its categories, so that results read from a file have them too.

    wald_test("C(region)")      all coefficients of the term are 0
    anova()                     one Wald test per term
    compare(smaller)            the coefficients that a smaller model lacks are 0; of likelihoods 2 (l - l_0)
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from versadp.errors import EstimationError, ParameterError, near
from versadp.formula.contrasts import spread
from versadp.formula.parsing import parse_formula, split_at
from versadp.inference.anova import AnovaTable, anova_table
from versadp.inference.chi_square import ChiSquareTest, FTest, LikelihoodRatioTest
from versadp.inference.estimates import Estimates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from versadp.formula.contrasts import Coefficient
    from versadp.inference.chi_square import WaldTest
    from versadp.inference.coefficient_table import CoefTable

ENDLESS = (-np.inf, np.inf)  # bounds of columns whose splines are named, not evaluated
LOG_LIKELIHOOD, PARAMETERS = "log likelihood", "parameters"  # facts of a fit by likelihood


class FactorTests(Estimates):
    """Tests of terms and of nested models; a base class of `Results`."""

    @cached_property
    def terms(self) -> dict[tuple[str, ...], tuple[int, ...]]:
        """The numbers of the coefficients of each term, by its factors."""
        if self.formula is None or self.design is None:
            raise EstimationError("there are no terms without a formula", hint="test coefficients by their names")
        levels = {name: [each for each in found if each is not None] for name, found in self.design.levels.items()}
        _, right = parse_formula(split_at(self.formula, "|")[0])  # instruments stand right of |
        written = [term for term in right if not any(factor.startswith("offset(") for factor in term)]
        found: dict[tuple[str, ...], tuple[int, ...]] = {}
        text = {name: seen for name, seen in levels.items() if isinstance(seen[0], str)}  # others may be whole numbers
        readings = [spread(written, some.get, levels.get, lambda _: ENDLESS) for some in (text, levels)]
        if "Intercept" not in self.names:  # absorbed levels take its place
            readings += [[one for one in some if one.name != "Intercept"] for some in readings]
        each = next((some for some in readings if self._has_names(some)), None)
        if each is None:
            raise EstimationError("the terms of this fit are unknown", hint="test coefficients by their names")
        for j, coefficient in enumerate(each):  # once for each class of a categorical response
            own = tuple(range(j, len(self.names), len(each)))
            found[coefficient.term] = (*found.get(coefficient.term, ()), *own)
        return found

    def wald_test(self, R: ArrayLike | str | Sequence[str], q: ArrayLike = 0.0) -> WaldTest:
        """Return the Wald test of linear constraints R θ = q, or that a whole term is 0.

        Parameters
        ----------
        R : array_like, str or list of str
            A term ("C(region)", "C(region):age"), a coefficient's name, constraints in words ("age = 0, income = 0",
            "age = income", "2 * age - income = 1"), a list of these, or a matrix with one column per coefficient.
        q : array_like
            Right sides.

        Examples
        --------
        >>> import versadp as vdp
        >>> result = vdp.fit(vdp.example(20_000), "visits ~ age + C(region)")
        >>> result.wald_test("C(region)").df
        3
        """
        return super().wald_test(self._by_term(R), q)

    def t_test(self, R: ArrayLike | str | Sequence[str], q: ArrayLike = 0.0, level: float = 0.95) -> CoefTable:
        """Return estimate, standard error, z, p-value and interval of linear combinations R θ - q, one row each.

        Parameters
        ----------
        R : array_like, str or list of str
            As for `wald_test`; a term gives one row per coefficient.
        q : array_like
            Right sides.
        level : float
            Of the intervals.
        """
        rows = self._rows_of(R)
        return super().t_test(R if rows is None else [self.names[j] for j in rows], q, level)

    def f_test(self, R: ArrayLike | str | Sequence[str], q: ArrayLike = 0.0) -> FTest:
        """Return the Wald test of constraints, or of a whole term, as an F test: F = W / df.

        The denominator has as many degrees of freedom as records less coefficients, as in statsmodels.

        Parameters
        ----------
        R, q
            As for `wald_test`.
        """
        return FTest.of(self.wald_test(R, q), self._df_denom)

    def anova(self, typ: Any = 2, *, test: str = "chi2") -> AnovaTable:
        """Return the ANOVA table: one Wald test per term of the formula.

        Parameters
        ----------
        typ : {2, 3, "II", "III"}
            2 (default) tests each term after all others but those that contain it, 3 after all others.
        test : {"chi2", "F"}

        Examples
        --------
        >>> import versadp as vdp
        >>> result = vdp.fit(vdp.example(20_000), "visits ~ age + C(region)")
        >>> [row["term"] for row in result.anova()]
        ['age', 'C(region)']
        """
        return anova_table(self.terms, self._all_zero, typ, test, self._df_denom)

    def compare(self, smaller: Any) -> ChiSquareTest:
        """Return the test of a nested model, whose coefficients are some of those of this fit.

        The hypothesis is that the coefficients that the smaller one lacks are 0: by the likelihood ratio if both are
        fits by likelihood (the larger one is maximised again, over the same law of noisy columns), else by Wald.

        Parameters
        ----------
        smaller : Results
            A fit of the same response to the same records.

        Examples
        --------
        >>> import versadp as vdp
        >>> release = vdp.example(20_000)
        >>> large, small = (vdp.fit(release, f"visits ~ age{more}") for more in (" + C(region)", ""))
        >>> large.compare(small) == large.wald_test("C(region)")
        True
        """
        if not isinstance(smaller, FactorTests):
            raise ParameterError("compare takes the results of a smaller fit", hint="larger.compare(smaller)")
        more = [name for name in self.names if name not in smaller.names]
        if not more or not set(smaller.names) <= set(self.names):
            raise ParameterError(
                "these fits are not nested: the coefficients of the smaller one must be among those of the larger",
                hint="larger.compare(smaller), e.g. y ~ age + C(region) with y ~ age",
            )
        for what in ("nobs", "loss", "method", "_response"):
            if getattr(self, what) != getattr(smaller, what):
                raise ParameterError(
                    f"these fits differ in their {what.removeprefix('_')}", hint="fit both to the same records"
                )
        rows = tuple(self.names.index(name) for name in more)
        return self._ratio(rows) if self.method == "likelihood" else self._all_zero(rows)

    def lr_test(self, R: str | Sequence[str]) -> LikelihoodRatioTest:
        """Return the likelihood ratio test that a term, or some coefficients, are 0: of a fit by likelihood.

        The likelihood is maximised again with them held at 0, over all other parameters and over the law of the noisy
        columns.

        Parameters
        ----------
        R : str or list of str
            A term such as "C(region)", a coefficient's name, or a list of these.
        """
        words = [R] if isinstance(R, str) else R
        rows = self._rows_of(R)
        if rows is None:
            known = [*self.names, *(":".join(factors) for factors in self.terms)]
            lost = [each for each in words if each not in known] if isinstance(words, list | tuple) else [R]
            hint = near((lost or [R])[0], known)
            raise ParameterError("a likelihood ratio test takes terms or coefficients", hint=hint)
        return self._ratio(rows)

    def _ratio(self, rows: tuple[int, ...]) -> LikelihoodRatioTest:
        """Return the likelihood ratio test that some coefficients are 0."""
        _ = self.llf  # refuses a fit without a likelihood
        deficit = getattr(self.profiles, "deficit", None)
        if deficit is None:
            raise EstimationError("a file of results has no likelihood to maximise again", hint="fit again")
        if (lost := deficit(rows)) is None:
            raise EstimationError("the likelihood without these coefficients has no maximum", hint="use wald_test")
        return LikelihoodRatioTest.of(2 * lost, len(rows))

    @property
    def llf(self) -> float:
        """The log likelihood at its maximum, of a fit by likelihood."""
        self.need_estimate(sure=True)
        if LOG_LIKELIHOOD not in self.header:
            raise EstimationError("this fit has no likelihood", hint='fit with method="likelihood"')
        return float(self.header[LOG_LIKELIHOOD])

    @property
    def aic(self) -> float:
        """Akaike's criterion, -2 l + 2 k, of a fit by likelihood.

        k counts coefficients and other parameters, not the law of the noisy columns: only differences between models
        with the same noisy columns mean anything.
        """
        return -2 * self.llf + 2 * int(self.header[PARAMETERS])

    def _has_names(self, coefficients: list[Coefficient]) -> bool:
        """Return True if the coefficients of a formula are those of this fit, once for each class of a response."""
        count = len(coefficients)
        named = (ours.endswith(one.name) for ours, one in zip(self.names[:count], coefficients, strict=False))
        return len(self.names) == count * max(len(self.classes) - 1, 1) and all(named)

    @property
    def _response(self) -> str:
        return (self.formula or "").partition("~")[0].strip()

    @property
    def _df_denom(self) -> int:
        return max(self.nobs - len(self.names), 1)

    def _all_zero(self, rows: tuple[int, ...]) -> WaldTest:
        """Return the Wald test that some coefficients are 0."""
        return super().wald_test(np.eye(len(self.names))[list(rows)])

    def _by_term(self, R: Any) -> Any:
        """Return constraints with terms as matrices; all else as it is."""
        rows = self._rows_of(R)
        return R if rows is None else np.eye(len(self.names))[list(rows)]

    def _rows_of(self, R: Any) -> tuple[int, ...] | None:
        """Return the coefficients of a term, of a name, or of a list of these; None if it is something else."""
        words = [R] if isinstance(R, str) else R
        if not isinstance(words, list | tuple) or not words or not all(isinstance(each, str) for each in words):
            return None
        if all(each.strip() in self.names for each in words):
            return tuple(self.names.index(each.strip()) for each in words)
        if self.design is None or self.formula is None:
            return None
        known = {frozenset(factors): rows for factors, rows in self.terms.items()}
        known |= {frozenset(map(_bare, factors)): rows for factors, rows in self.terms.items()}
        known |= {frozenset((name,)): (j,) for j, name in enumerate(self.names)}
        keys = [(frozenset((each,)), frozenset(each.replace(" ", "").split(":"))) for each in words]
        found = [known.get(whole, known.get(parts)) for whole, parts in keys]
        if any(each is None for each in found):
            return None
        return tuple(dict.fromkeys(j for each in found for j in each or ()))


def _bare(factor: str) -> str:
    """Return the column of C(column); other factors without spaces."""
    text = factor.replace(" ", "")
    return text[2:-1] if text.startswith("C(") and text.endswith(")") else text
