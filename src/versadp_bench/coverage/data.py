"""Tables that are resampled as if they were populations: then what is true of them is known exactly.

Fair, RAND HIE and ANES 96 come with statsmodels, breast cancer and diabetes with scikit-learn; nothing is fetched.
**Gems are made up**, once for all, in the shape of a well-known table of diamonds that no package here ships: weights
in carat, log-normal with heaps at round numbers, and prices that go like `carat^1.68` with a factor exp(0.26 N).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Columns = dict[str, NDArray[np.float64]]

GEMS = 50_000
_HEAPS = (0.3, 0.4, 0.5, 0.7, 0.9, 1.0, 1.2, 1.5, 2.0)
_HEAP_SHARES = (0.2, 0.1, 0.13, 0.15, 0.08, 0.18, 0.05, 0.08, 0.03)


def _fair() -> Columns:
    from statsmodels.datasets import fair

    table = fair.load_pandas().data
    columns = ("rate_marriage", "age", "yrs_married", "children")
    return {name: table[name].to_numpy(float) for name in columns} | {
        "affair": (table["affairs"] > 0).to_numpy(float),
    }


def _rand() -> Columns:
    from statsmodels.datasets import randhie

    table = randhie.load_pandas().data
    return {name: table[name].to_numpy(float) for name in ("lncoins", "disea", "physlm", "mdvis")}


def _anes() -> Columns:
    from statsmodels.datasets import anes96

    table = anes96.load_pandas().data
    return {name: table[name].to_numpy(float) for name in ("income", "educ", "vote")}


def _cancer() -> Columns:
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    names = list(found.feature_names)
    radius, texture = (found.data[:, names.index(f"mean {name}")] for name in ("radius", "texture"))
    return {"radius": radius, "texture": texture, "malignant": 1.0 - found.target}


def _diabetes() -> Columns:
    from sklearn.datasets import load_diabetes

    found = load_diabetes(scaled=False)
    names = list(found.feature_names)
    return {name: found.data[:, names.index(name)] for name in ("bmi", "bp")} | {"progression": found.target}


def _gems() -> Columns:
    rng = np.random.default_rng(20_000)
    heaped = rng.random(GEMS) < 0.4
    carat = np.where(heaped, rng.choice(_HEAPS, GEMS, p=_HEAP_SHARES), rng.lognormal(-0.4, 0.58, GEMS))
    carat = np.clip(np.round(carat, 2), 0.2, 5.0)
    price = np.round(np.exp(8.45 + 1.68 * np.log(carat) + 0.26 * rng.standard_normal(GEMS)))
    return {"carat": carat, "price": np.clip(price, 300.0, 20_000.0)}


_LOADERS: Mapping[str, Callable[[], Columns]] = {
    "fair": _fair,
    "rand": _rand,
    "anes": _anes,
    "cancer": _cancer,
    "diabetes": _diabetes,
    "gems": _gems,
}
BOUNDS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "fair": {"rate_marriage": (1, 5), "age": (17.5, 42), "yrs_married": (0, 23), "children": (0, 5.5)},
    "rand": {"lncoins": (0, 4.7), "disea": (0, 60), "physlm": (0, 1)},
    "anes": {"income": (1, 24), "educ": (1, 7)},
    "cancer": {"radius": (5, 30), "texture": (5, 40)},
    "diabetes": {"bmi": (15, 45), "bp": (60, 140)},
    "gems": {"carat": (0.2, 5), "price": (300, 20_000)},
}


@lru_cache(maxsize=len(_LOADERS))
def table(name: str) -> Columns:
    """Return a table by its name.

    Examples
    --------
    >>> sorted(table("gems")), len(table("gems")["carat"])
    (['carat', 'price'], 50000)
    """
    return _LOADERS[name]()
